package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// instance is a node of the pool "default" with its claim, and how much cpu each of its pods asks for.
type instance struct {
	name, instanceType, zone string
	pods                     []string
	conditions               []string // of the claim, besides those that every instance has
	annotations              map[string]string
}

func line(pool map[string]any, disrupt string, instances ...instance) string {
	return lineWith([]any{map[string]any{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []any{"on-demand"}}}, pool, disrupt, instances...)
}

func lineWith(requirements []any, pool map[string]any, disrupt string, instances ...instance) string {
	objects := []any{map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "default"},
		"spec": map[string]any{"disruption": pool, "template": map[string]any{"spec": map[string]any{"nodeClassRef": nodeClassRef, "requirements": requirements}}},
	}}
	for _, m := range instances {
		objects = append(objects, m.objects()...)
	}
	raw, err := json.Marshal(map[string]any{
		"id": 1, "objects": objects, "instanceTypes": "testdata/types.json", "disrupt": disrupt,
		"flags": map[string]any{"now": "2026-04-01T00:00:00Z"},
	})
	if err != nil {
		panic(err)
	}
	return string(raw) + "\n"
}

var nodeClassRef = map[string]any{"group": "example.com", "kind": "AnyClass", "name": "default"}

func (m instance) objects() []any {
	labels := map[string]any{
		"karpenter.sh/nodepool": "default", "node.kubernetes.io/instance-type": m.instanceType,
		"topology.kubernetes.io/zone": m.zone, "karpenter.sh/capacity-type": "on-demand",
		"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": m.name,
		"karpenter.sh/registered": "true", "karpenter.sh/initialized": "true",
	}
	cpu := map[string]string{"small": "1900m", "c-4x-amd64-linux": "4"}[m.instanceType]
	room := map[string]any{"cpu": cpu, "memory": "4Gi", "pods": "10"}
	var conditions []any
	for _, reached := range append([]string{"Launched", "Registered", "Initialized", "Consolidatable"}, m.conditions...) {
		conditions = append(conditions, map[string]any{"type": reached, "status": "True", "reason": reached, "lastTransitionTime": "2026-01-01T00:00:00Z"})
	}
	objects := []any{
		map[string]any{
			"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": map[string]any{"name": m.name, "labels": labels},
			"spec":   map[string]any{"nodeClassRef": nodeClassRef, "requirements": []any{}},
			"status": map[string]any{"providerID": "x://" + m.name, "nodeName": m.name, "capacity": room, "allocatable": room, "conditions": conditions},
		},
		map[string]any{
			"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": m.name, "labels": labels, "annotations": m.annotations},
			"spec": map[string]any{"providerID": "x://" + m.name},
			"status": map[string]any{"capacity": room, "allocatable": room,
				"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
		},
	}
	for i, cpu := range m.pods {
		objects = append(objects, map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": fmt.Sprintf("%s-%d", m.name, i), "namespace": "default"},
			"spec":   map[string]any{"nodeName": m.name, "containers": []any{map[string]any{"name": "main", "resources": map[string]any{"requests": map[string]any{"cpu": cpu}}}}},
			"status": map[string]any{"phase": "Running"},
		})
	}
	return objects
}

// told is what was done, a line for each command and one for what it came to.
func told(t *testing.T, in string) string {
	out, warn, code := call(in, "batch", "--runs", "1")
	var a answer
	if err := json.Unmarshal([]byte(out), &a); err != nil || code != 0 || a.Error != "" {
		t.Fatal(err, code, warn, a.Error)
	}
	d, text := a.Disruptions[0], strings.Builder{}
	for _, r := range d.Rounds {
		for _, c := range r.Commands {
			fmt.Fprintf(&text, "%s %s", c.Method, c.Decision)
			for _, going := range c.Candidates {
				fmt.Fprintf(&text, " %s(%s)", going.Node, strings.Join(going.Pods, ","))
			}
			for _, to := range c.Destinations {
				fmt.Fprintf(&text, " to %s(%s)", to.Node, strings.Join(to.Pods, ","))
			}
			for _, coming := range c.Replacements {
				fmt.Fprintf(&text, " by %s(%s)", coming.InstanceTypes[0], strings.Join(coming.Pods, ","))
			}
			fmt.Fprintf(&text, " price %.2f", c.Price)
			if c.ReplacementPrice != 0 {
				fmt.Fprintf(&text, " to %.2f", c.ReplacementPrice)
			}
			fmt.Fprintln(&text)
		}
		if r.Provisioned != nil {
			fmt.Fprintf(&text, "provisioned %d\n", r.Provisioned.Summary.Claims)
		}
	}
	fmt.Fprintf(&text, "%d instances for %.2f, then %d for %.2f, %d evictions, converged %t\n",
		d.Before.Instances, d.Before.Price, d.After.Instances, d.After.Price, d.Evictions, d.Converged)
	return text.String()
}

var always = map[string]any{"consolidateAfter": "0s", "budgets": []any{map[string]any{"nodes": "100%"}}}

func TestDisruptions(t *testing.T) {
	large, small := "c-4x-amd64-linux", "small"
	for _, test := range []struct{ name, in, want string }{
		{
			"an empty instance goes, and once means once",
			line(always, "once", instance{name: "empty", instanceType: small, zone: "a"}),
			"emptiness delete empty() price 0.10\n" +
				"1 instances for 0.10, then 1 for 0.10, 0 evictions, converged false\n",
		}, {
			"two instances become a smaller one",
			line(always, "converge",
				instance{name: "one", instanceType: large, zone: "b", pods: []string{"500m"}},
				instance{name: "two", instanceType: large, zone: "b", pods: []string{"500m", "500m"}}),
			"multiNodeConsolidation replace one(default/one-0) two(default/two-0,default/two-1) by small(default/one-0,default/two-0,default/two-1) price 0.40 to 0.10\n" +
				"2 instances for 0.40, then 1 for 0.10, 3 evictions, converged true\n",
		}, {
			"a replacement that may be spot has to be, also where there is no spot",
			lineWith(nil, always, "converge", instance{name: "one", instanceType: large, zone: "b", pods: []string{"500m"}}),
			"singleNodeConsolidation replace one(default/one-0) by small(default/one-0) price 0.20\n" +
				"1 instances for 0.20, then 1 for 0.20, 0 evictions, converged false\n",
		}, {
			"a budget of none keeps everything",
			line(map[string]any{"consolidateAfter": "0s", "budgets": []any{map[string]any{"nodes": "0"}}}, "converge",
				instance{name: "empty", instanceType: small, zone: "a"}),
			"1 instances for 0.10, then 1 for 0.10, 0 evictions, converged true\n",
		}, {
			"a budget with a schedule holds at the time of the snapshot",
			line(map[string]any{"consolidateAfter": "0s", "budgets": []any{
				map[string]any{"nodes": "0", "schedule": "0 0 1 4 *", "duration": "1h0m0s"}}}, "converge",
				instance{name: "empty", instanceType: small, zone: "a"}),
			"1 instances for 0.10, then 1 for 0.10, 0 evictions, converged true\n",
		}, {
			"a pool that does not say allows one in ten, without waiting",
			line(nil, "converge",
				instance{name: "empty", instanceType: small, zone: "a"},
				instance{name: "kept", instanceType: small, zone: "a", annotations: map[string]string{"karpenter.sh/do-not-disrupt": "true"}}),
			"emptiness delete empty() price 0.10\n" +
				"2 instances for 0.20, then 1 for 0.10, 0 evictions, converged true\n",
		}, {
			"a drifted instance is replaced though it saves nothing",
			line(map[string]any{"consolidateAfter": "Never"}, "converge",
				instance{name: "old", instanceType: small, zone: "a", pods: []string{"1"}, conditions: []string{"Drifted"}}),
			"drift replace old(default/old-0) by small(default/old-0) price 0.10 to 0.10\n" +
				"1 instances for 0.10, then 1 for 0.10, 1 evictions, converged true\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := told(t, test.in); got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
		})
	}
}

func TestDisruptMustBeKnown(t *testing.T) {
	out, _, _ := call(line(always, "sometimes"), "batch")
	if !strings.Contains(out, `disrupt is \"sometimes\": use once or converge`) {
		t.Error(out)
	}
}
