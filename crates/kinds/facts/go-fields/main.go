// Prints how Go holds the fields of Kubernetes' types: what OpenAPI does not say.
//
// One block per struct, in the order of the names; below it one line per field: its JSON name, its
// Go type, `keep` or `zero` when its tag has no `omitempty` or has `omitzero`, and `in=` when it is
// a field of a struct that is written in place. Named types that are no structs come first, as
// `= name type`. crates/kinds/src/bin/read-openapi.rs reads this.
package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	certificates "k8s.io/api/certificates/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	events "k8s.io/api/events/v1"
	flowcontrol "k8s.io/api/flowcontrol/v1"
	networking "k8s.io/api/networking/v1"
	node "k8s.io/api/node/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	dra "k8s.io/api/resource/v1"
	scheduling "k8s.io/api/scheduling/v1"
	storage "k8s.io/api/storage/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Types that decode themselves; their fields are nobody's business.
var opaque = map[string]bool{
	"meta.v1.Time": true, "meta.v1.MicroTime": true, "meta.v1.Duration": true,
	"meta.v1.FieldsV1": true, "api.resource.Quantity": true, "util.intstr.IntOrString": true,
	"runtime.RawExtension": true, "apiextensions.v1.JSON": true,
	"apiextensions.v1.JSONSchemaProps": true,
}

var blocks = map[string][]string{}
var aliases = map[string]string{}

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistration.AddToScheme, apps.AddToScheme, authentication.AddToScheme,
		authorization.AddToScheme, autoscalingv1.AddToScheme, autoscalingv2.AddToScheme,
		batch.AddToScheme, certificates.AddToScheme, coordination.AddToScheme, core.AddToScheme,
		discovery.AddToScheme, events.AddToScheme, flowcontrol.AddToScheme, networking.AddToScheme,
		node.AddToScheme, policy.AddToScheme, rbac.AddToScheme, dra.AddToScheme,
		scheduling.AddToScheme, storage.AddToScheme, apiextensions.AddToScheme,
		apiregistration.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	for gvk, kind := range scheme.AllKnownTypes() {
		if gvk.Version != runtime.APIVersionInternal && !strings.Contains(kind.PkgPath(), "/meta/") &&
			!strings.HasSuffix(gvk.Kind, "List") {
			describe(kind)
		}
	}
	describe(reflect.TypeOf(meta.DeleteOptions{}))
	printSorted(aliases, func(name string) { fmt.Printf("= %s %s\n", name, aliases[name]) })
	printSorted(blocks, func(name string) {
		fmt.Println(name)
		for _, line := range blocks[name] {
			fmt.Println(" " + line)
		}
	})
}

func printSorted[T any](m map[string]T, print func(string)) {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		print(name)
	}
}

// The package's last two parts and the name, such as core.v1.Pod.
func short(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	if len(parts) > 2 {
		parts = parts[len(parts)-2:]
	}
	if parts[len(parts)-1] == "runtime" {
		parts = parts[len(parts)-1:]
	}
	return strings.Join(append(parts, t.Name()), ".")
}

// The notation of a type; describes what it mentions on the way.
func notation(t reflect.Type) string {
	if t.PkgPath() != "" && t.Kind() != reflect.Struct {
		if _, known := aliases[short(t)]; !known {
			aliases[short(t)] = "…"
			aliases[short(t)] = underlying(t)
		}
		return short(t)
	}
	return underlying(t)
}

func underlying(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + notation(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "[]byte"
		}
		return "[]" + notation(t.Elem())
	case reflect.Map:
		return "map[" + notation(t.Key()) + "]" + notation(t.Elem())
	case reflect.Struct:
		describe(t)
		return short(t)
	}
	return t.Kind().String()
}

func describe(t reflect.Type) {
	name := short(t)
	if _, known := blocks[name]; known || opaque[name] {
		return
	}
	blocks[name] = nil
	blocks[name] = fields(t)
}

func fields(t reflect.Type) []string {
	var lines []string
	if _, typed := t.FieldByName("TypeMeta"); typed {
		lines = append(lines, "kind string", "apiVersion string")
	}
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() {
			continue
		}
		if name == "" {
			if field.Anonymous && field.Name != "TypeMeta" {
				for _, line := range fields(field.Type) {
					if strings.Contains(line, " in=") {
						line = strings.Replace(line, " in=", " in="+field.Name+".", 1)
					} else {
						line += " in=" + field.Name
					}
					lines = append(lines, line)
				}
			}
			continue
		}
		line := name + " " + notation(field.Type)
		if strings.Contains(options, "omitzero") {
			line += " zero"
		} else if !strings.Contains(options, "omitempty") {
			line += " keep"
		}
		lines = append(lines, line)
	}
	return lines
}
