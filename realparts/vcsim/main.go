// Vcsim is govmomi's vCenter simulator as a program, with a way to order faults.
//
//	vcsim [flags]
//
// It prints its URL, credentials included, as its only line and serves until it is ended. Beside the simulator's own
// interfaces there is /test/faults: POST a Rule as JSON to have calls refused, DELETE to have them accepted again.
package main

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"reflect"
	"strconv"
	"strings"
	"syscall"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	// Interfaces beside /sdk: tags and sessions over REST, storage policies, cluster modules.
	_ "github.com/vmware/govmomi/pbm/simulator"
	_ "github.com/vmware/govmomi/vapi/cluster/simulator"
	_ "github.com/vmware/govmomi/vapi/simulator"
)

// Rule says which calls are refused, and how.
type Rule struct {
	// Method is the call's name, "CloneVM_Task", or "*" for all.
	Method string
	// Fault is the type of the fault, "NoDiskSpace".
	Fault string
	// Message is what people read.
	Message string
	// Max is how often calls are refused; 0 is always.
	Max int
	// Skip is how many calls are let through before that.
	Skip int
	// Delay is how long a refusal takes, in milliseconds.
	Delay int
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "vcsim: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	model := simulator.VPX()
	flag.IntVar(&model.Datacenter, "dc", model.Datacenter, "datacenters")
	flag.IntVar(&model.Cluster, "cluster", model.Cluster, "clusters per datacenter")
	flag.IntVar(&model.ClusterHost, "host", model.ClusterHost, "hosts per cluster")
	flag.IntVar(&model.Host, "standalone-host", model.Host, "hosts without a cluster per datacenter")
	flag.IntVar(&model.Pool, "pool", model.Pool, "resource pools per cluster")
	flag.IntVar(&model.Machine, "vm", model.Machine, "virtual machines per resource pool and standalone host")
	flag.IntVar(&model.Datastore, "ds", model.Datastore, "datastores per datacenter")
	flag.IntVar(&model.Pod, "pod", model.Pod, "datastore clusters per datacenter")
	flag.IntVar(&model.Portgroup, "pg", model.Portgroup, "distributed port groups per datacenter")
	flag.IntVar(&model.OpaqueNetwork, "nsx", model.OpaqueNetwork, "opaque networks per datacenter")
	flag.IntVar(&model.Folder, "folder", model.Folder, "levels of folders")
	flag.BoolVar(&model.Autostart, "autostart", model.Autostart, "start the virtual machines")
	flag.IntVar(&model.DelayConfig.Delay, "delay", 0, "milliseconds that each call takes")
	flag.Float64Var(&model.DelayConfig.DelayJitter, "delay-jitter", 0, "by how much delays differ, as a share")
	delays := flag.String("method-delay", "", "milliseconds that some calls or tasks take: CloneVM_Task:1500,CloneVm:3000")
	template := flag.String("template", "", "make the first virtual machine a template of this name")
	apiVersion := flag.String("api-version", "", "the interface's version, if it is to be another")
	listen := flag.String("listen", "127.0.0.1:0", "where to listen; port 0 is any that is free")
	username := flag.String("username", "user", "who may log in")
	password := flag.String("password", "pass", "with which password")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("there are no arguments, only flags: %q", flag.Args())
	}

	var err error
	if model.DelayConfig.MethodDelay, err = methodDelays(*delays); err != nil {
		return err
	}
	// Calls and tasks are delayed by different hands; their names do not meet.
	simulator.TaskDelay.MethodDelay = model.DelayConfig.MethodDelay
	defer model.Remove()
	if err := model.Create(); err != nil {
		return err
	}
	if *template != "" {
		if err := makeTemplate(model, *template); err != nil {
			return err
		}
	}
	if *apiVersion != "" {
		content := model.Map().Get(types.ManagedObjectReference{Type: "ServiceInstance", Value: "ServiceInstance"})
		instance, ok := content.(*simulator.ServiceInstance)
		if !ok {
			return errors.New("the simulator has no service instance to give a version to")
		}
		instance.Content.About.ApiVersion = *apiVersion
	}
	service := model.Service
	service.TLS = new(tls.Config)
	service.Listen = &url.URL{Host: *listen, User: url.UserPassword(*username, *password)}
	service.RegisterEndpoints = true
	service.HandleFunc("/test/faults", func(w http.ResponseWriter, r *http.Request) { faults(service, w, r) })
	server := service.NewServer()
	defer server.Close()
	fmt.Println(server.URL)

	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	<-ended
	return nil
}

// makeTemplate makes a template of the first virtual machine.
func makeTemplate(model *simulator.Model, name string) error {
	vm, ok := model.Map().Any("VirtualMachine").(*simulator.VirtualMachine)
	if !ok {
		return errors.New("-template: there is no virtual machine to make it of; give -vm 1 or more")
	}
	vm.Name, vm.Config.Name, vm.Summary.Config.Name = name, name, name
	vm.Config.Template, vm.Summary.Config.Template = true, true
	off := types.VirtualMachinePowerStatePoweredOff
	vm.Runtime.PowerState, vm.Summary.Runtime.PowerState = off, off
	vm.ResourcePool = nil
	return nil
}

// methodDelays reads what the flag of that name says.
func methodDelays(text string) (map[string]int, error) {
	delays := map[string]int{}
	for _, one := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		name, amount, _ := strings.Cut(one, ":")
		milliseconds, err := strconv.Atoi(amount)
		if err != nil {
			return nil, fmt.Errorf("-method-delay: %q is not NAME:MILLISECONDS", one)
		}
		delays[name] = milliseconds
	}
	return delays, nil
}

// faults adds a rule, or takes all of them back.
func faults(service *simulator.Service, w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodDelete:
		service.ClearFaultRules()
	case http.MethodPost:
		var rule Rule
		decoder := json.NewDecoder(r.Body)
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&rule); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fault, err := named(rule.Fault)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		service.AddFaultRule(&simulator.FaultInjectionRule{
			MethodName:  rule.Method,
			ObjectType:  "*",
			ObjectName:  "*",
			Probability: 1,
			FaultType:   simulator.FaultTypeCustom,
			Fault:       fault,
			Message:     rule.Message,
			MaxCount:    rule.Max,
			SkipCount:   rule.Skip,
			Delay:       rule.Delay,
			Enabled:     true,
		})
	default:
		http.Error(w, "POST a rule or DELETE all", http.StatusMethodNotAllowed)
	}
}

// named is a fault of the type of that name, with nothing in it.
func named(name string) (types.BaseMethodFault, error) {
	kind, ok := types.TypeFunc()(name)
	if !ok {
		return nil, fmt.Errorf("no type is called %q", name)
	}
	fault, ok := reflect.New(kind).Interface().(types.BaseMethodFault)
	if !ok {
		return nil, fmt.Errorf("%q is not a fault", name)
	}
	return fault, nil
}
