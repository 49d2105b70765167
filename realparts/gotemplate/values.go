package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// The data that templates of nodes are executed on.
type (
	NodeData struct {
		Metadata   MetaData
		Network    NetworkConfig
		Resources  Resources
		Kubernetes Kubernetes
		Values     map[string]string
	}
	MetaData struct {
		Hostname     string
		InstanceID   string
		InstanceUUID string
		InstanceType string
		ProviderID   string
		Region       string
		Zone         string
		Tags         []string
		NodeClass    string
	}
	NetworkConfig struct {
		Interfaces    []InterfaceConfig
		SearchDomains []string `yaml:"search_domains,omitempty"`
		NameServers   []string `yaml:"name_servers,omitempty"`
	}
	InterfaceConfig struct {
		Name     string   `yaml:"name"`
		MacAddr  string   `yaml:"mac_address,omitempty"`
		DHCPv4   bool     `yaml:"dhcp4,omitempty"`
		DHCPv6   bool     `yaml:"dhcp6,omitempty"`
		Address4 []string `yaml:"addresses4,omitempty"`
		Gateway4 string   `yaml:"gateway4,omitempty"`
		MTU      uint32   `yaml:"mtu,omitempty"`
	}
	Resources struct {
		CPU          int64
		Memory       int64
		Hugepages2Mi int `yaml:"hugepages2Mi"`
	}
	Kubernetes struct {
		RootCA               string
		BootstrapToken       string
		KubeletConfiguration *KubeletConfiguration
	}
	KubeletConfiguration struct {
		CPUManagerPolicy string            `yaml:"cpuManagerPolicy,omitempty"`
		CPUCFSQuota      *bool             `yaml:"cpuCFSQuota,omitempty"`
		MaxPods          *int32            `yaml:"maxPods,omitempty"`
		ClusterDNS       []string          `yaml:"clusterDNS,omitempty"`
		KubeReserved     map[string]string `yaml:"kubeReserved,omitempty"`
		Taints           []Taint           `yaml:"registerWithTaints,omitempty"`
	}
	Taint struct {
		Key    string `yaml:"key,omitempty" json:"key"`
		Value  string `yaml:"value,omitempty" json:"value,omitempty"`
		Effect string `yaml:"effect,omitempty" json:"effect"`
	}
	// Anything has a place for each kind of value.
	Anything struct {
		Any   any
		Small uint8
		Ratio float64
		Inner Taint
	}
)

var named = map[string]reflect.Type{
	"interface {}": reflect.TypeFor[any](),
	"bool":         reflect.TypeFor[bool](),
	"string":       reflect.TypeFor[string](),
	"float64":      reflect.TypeFor[float64](),
	"int":          reflect.TypeFor[int](),
	"int8":         reflect.TypeFor[int8](),
	"int16":        reflect.TypeFor[int16](),
	"int32":        reflect.TypeFor[int32](),
	"int64":        reflect.TypeFor[int64](),
	"uint":         reflect.TypeFor[uint](),
	"uint8":        reflect.TypeFor[uint8](),
	"uint16":       reflect.TypeFor[uint16](),
	"uint32":       reflect.TypeFor[uint32](),
	"uint64":       reflect.TypeFor[uint64](),

	"main.NodeData":             reflect.TypeFor[NodeData](),
	"main.MetaData":             reflect.TypeFor[MetaData](),
	"main.NetworkConfig":        reflect.TypeFor[NetworkConfig](),
	"main.InterfaceConfig":      reflect.TypeFor[InterfaceConfig](),
	"main.Resources":            reflect.TypeFor[Resources](),
	"main.Kubernetes":           reflect.TypeFor[Kubernetes](),
	"main.KubeletConfiguration": reflect.TypeFor[KubeletConfiguration](),
	"main.Taint":                reflect.TypeFor[Taint](),
	"main.Anything":             reflect.TypeFor[Anything](),
}

// callable are the functions that data can have as values.
var callable = map[string]any{
	"shout": func(text string, more ...any) string {
		text = strings.ToUpper(text)
		for _, is := range more {
			switch is := is.(type) {
			case string:
				text += is
			case int:
				text += strconv.Itoa(is)
			default:
				text += "?"
			}
		}
		return text
	},
	"add": func(one, other int) int { return one + other },
}

// typeOf is the type of a Go name.
func typeOf(name string) (reflect.Type, error) {
	if of, ok := named[name]; ok {
		return of, nil
	}
	for prefix, made := range map[string]func(reflect.Type) reflect.Type{
		"[]":          reflect.SliceOf,
		"*":           reflect.PointerTo,
		"map[string]": func(of reflect.Type) reflect.Type { return reflect.MapOf(named["string"], of) },
	} {
		if inner, ok := strings.CutPrefix(name, prefix); ok {
			of, err := typeOf(inner)
			if err != nil {
				return nil, err
			}
			return made(of), nil
		}
	}
	return nil, fmt.Errorf("no type is called %q", name)
}

// typed is a value with its Go type: of a number or text the word that says it, of a list its items, of a map or
// struct what is in it by names, of a pointer where it leads, of a function its name.
type typed struct {
	Type  string                     `json:"type"`
	Word  *string                    `json:"word"`
	Bytes []byte                     `json:"bytes"`
	Items []json.RawMessage          `json:"items"`
	Named map[string]json.RawMessage `json:"named"`
	To    json.RawMessage            `json:"to"`
	Calls string                     `json:"calls"`
}

// read makes a value of its JSON; null is the value that does not exist.
func read(source json.RawMessage) (reflect.Value, error) {
	if len(source) == 0 || string(source) == "null" {
		return reflect.Value{}, nil
	}
	var is typed
	if err := json.Unmarshal(source, &is); err != nil {
		return reflect.Value{}, err
	}
	if is.Calls != "" {
		return reflect.ValueOf(callable[is.Calls]), nil
	}
	of, err := typeOf(is.Type)
	if err != nil {
		return reflect.Value{}, err
	}
	value := reflect.New(of).Elem()
	if is.Word != nil {
		return value, word(value, *is.Word)
	}
	switch of.Kind() {
	case reflect.String:
		value.SetString(string(is.Bytes))
	case reflect.Slice:
		if is.Items == nil {
			return value, nil
		}
		value.Set(reflect.MakeSlice(of, len(is.Items), len(is.Items)))
		for i, item := range is.Items {
			if err := put(value.Index(i), item); err != nil {
				return value, err
			}
		}
	case reflect.Map:
		if is.Named == nil {
			return value, nil
		}
		value.Set(reflect.MakeMap(of))
		for key, item := range is.Named {
			inner := reflect.New(of.Elem()).Elem()
			if err := put(inner, item); err != nil {
				return value, err
			}
			value.SetMapIndex(reflect.ValueOf(key), inner)
		}
	case reflect.Struct:
		for name, item := range is.Named {
			if err := put(value.FieldByName(name), item); err != nil {
				return value, err
			}
		}
	case reflect.Pointer:
		if is.To == nil {
			return value, nil
		}
		value.Set(reflect.New(of.Elem()))
		return value, put(value.Elem(), is.To)
	default:
		return value, fmt.Errorf("nothing says what the %s is", of)
	}
	// What cannot be changed is what data is made of.
	return reflect.ValueOf(value.Interface()), nil
}

func put(place reflect.Value, source json.RawMessage) error {
	value, err := read(source)
	if err == nil && value.IsValid() {
		place.Set(value)
	}
	return err
}

func word(place reflect.Value, text string) error {
	switch place.Kind() {
	case reflect.Bool:
		place.SetBool(text == "true")
	case reflect.Float64:
		number, err := strconv.ParseFloat(text, 64)
		place.SetFloat(number)
		return err
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		number, err := strconv.ParseInt(text, 10, 64)
		place.SetInt(number)
		return err
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		number, err := strconv.ParseUint(text, 10, 64)
		place.SetUint(number)
		return err
	default:
		return fmt.Errorf("a %s is no word", place.Type())
	}
	return nil
}
