package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"reflect"
	"regexp"
	"strings"
	"text/template"

	"github.com/apparentlymart/go-cidr/cidr"
	"go.yaml.in/yaml/v3"
)

// functions are those that templates of nodes use besides Go's own, without the defects that others have.
var functions = template.FuncMap{
	"default":  choose,
	"coalesce": func(values ...any) any { return first(values) },
	"ternary": func(one, other any, condition bool) any {
		if condition {
			return one
		}
		return other
	},
	"empty": empty,
	"get": func(from any, key string) (any, error) {
		found, err := lookUp(from, key)
		if err == nil && !found.IsValid() {
			return "", nil
		}
		return contents(found), err
	},
	"hasKey": func(from any, key string) (bool, error) {
		found, err := lookUp(from, key)
		return found.IsValid(), err
	},
	"hasTag": func(tags []string, tag string) bool {
		for _, known := range tags {
			if known == tag && tag != "" {
				return true
			}
		}
		return false
	},
	"toJson":       func(value any) string { text, _ := json.Marshal(value); return string(text) },
	"toPrettyJson": func(value any) string { text, _ := json.MarshalIndent(value, "", "  "); return string(text) },
	"toYaml":       func(value any) string { return document(value, 4) },
	"toYamlPretty": func(value any) string { return document(value, 2) },
	"toPrettyYaml": func(value any) string { return document(value, 2) },

	"indent":     indent,
	"nindent":    func(columns int, text string) string { return "\n" + indent(columns, text) },
	"quote":      quote,
	"upper":      strings.ToUpper,
	"lower":      strings.ToLower,
	"trim":       strings.TrimSpace,
	"trimSuffix": func(suffix, text string) string { return strings.TrimSuffix(text, suffix) },
	"trimPrefix": func(prefix, text string) string { return strings.TrimPrefix(text, prefix) },
	"split":      func(text, separator string) []string { return clipped(strings.Split(text, separator)) },
	"join":       strings.Join,
	"replace":    func(old, by, text string) string { return strings.ReplaceAll(text, old, by) },
	"getValue": func(text, key string) string {
		for part := range strings.SplitSeq(text, ";") {
			if words := strings.Split(part, "="); words[0] == key {
				return append(words, "")[1]
			}
		}
		return ""
	},
	"contains":  func(part, text string) bool { return strings.Contains(text, part) },
	"hasPrefix": func(part, text string) bool { return strings.HasPrefix(text, part) },
	"hasSuffix": func(part, text string) bool { return strings.HasSuffix(text, part) },
	"b64enc":    func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) },
	"b64dec": func(text string) (string, error) {
		plain, err := base64.StdEncoding.DecodeString(text)
		return string(plain), err
	},

	"regexFind": func(pattern, text string) (string, error) {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return "", err
		}
		return compiled.FindString(text), nil
	},
	"regexFindString": func(pattern, text string, group int) (string, error) {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return "", err
		}
		if groups := compiled.FindStringSubmatch(text); group < len(groups) {
			return groups[group], nil
		}
		return "", nil
	},
	"regexReplaceAll": func(pattern, text, by string) (string, error) {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return "", err
		}
		return compiled.ReplaceAllString(text, by), nil
	},

	"cidrhost": func(network string, number ...int) (string, error) {
		address, base, err := net.ParseCIDR(network)
		if err == nil && len(number) > 0 {
			address, err = cidr.Host(base, number[0])
		}
		if err != nil {
			return "", err
		}
		return address.String(), nil
	},
	"cidrslaac": slaac,
}

func empty(value any) bool {
	is := reflect.ValueOf(value)
	return !is.IsValid() || is.IsZero()
}

func choose(otherwise any, given ...any) any {
	if len(given) == 0 || empty(given[0]) {
		return otherwise
	}
	return given[0]
}

func first(values []any) any {
	for _, value := range values {
		if !empty(value) {
			return value
		}
	}
	return nil
}

// lookUp is the value of a key in a map of any type.
func lookUp(from any, key string) (reflect.Value, error) {
	is := reflect.ValueOf(from)
	for is.Kind() == reflect.Pointer && !is.IsNil() {
		is = is.Elem()
	}
	if is.IsValid() && is.Kind() != reflect.Map {
		return reflect.Value{}, fmt.Errorf("wrong type for value; expected a map; got %s", is.Type())
	}
	if !is.IsValid() {
		return is, nil
	}
	return is.MapIndex(reflect.ValueOf(key)), nil
}

func contents(value reflect.Value) any {
	if !value.IsValid() {
		return nil
	}
	return value.Interface()
}

func document(value any, columns int) string {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(columns)
	if err := encoder.Encode(value); err != nil {
		return ""
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// clipped is a list that cannot be sliced beyond its end.
func clipped(list []string) []string { return list[:len(list):len(list)] }

func indent(columns int, text string) string {
	margin := strings.Repeat(" ", columns)
	return margin + strings.ReplaceAll(text, "\n", "\n"+margin)
}

func quote(values ...any) string {
	var quoted []string
	for _, value := range values {
		if value == nil {
			continue
		}
		is := reflect.ValueOf(value)
		for is.Kind() == reflect.Pointer && !is.IsNil() {
			is = is.Elem()
		}
		quoted = append(quoted, fmt.Sprintf("%q", fmt.Sprint(is.Interface())))
	}
	return strings.Join(quoted, " ")
}

func slaac(mac, network string) (string, error) {
	_, base, err := net.ParseCIDR(network)
	if err != nil {
		return "", err
	}
	card, err := net.ParseMAC(mac)
	if err != nil {
		return "", err
	}
	ones, bits := base.Mask.Size()
	if ones > 112 {
		return "", errors.New("slaac generator requires a mask of /64 to /112")
	}
	if bits != 128 {
		return "", errors.New("slaac generator requires an IPv6 network")
	}
	if len(card) != 6 {
		return "", fmt.Errorf("address %s: invalid MAC address", mac)
	}
	host := []byte{card[0] ^ 2, card[1], card[2], 0xff, 0xfe, card[3], card[4], card[5]}
	for at := max(ones/8, 8); at < 16; at++ {
		base.IP[at] = host[at-8]
	}
	return base.String(), nil
}
