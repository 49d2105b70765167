package main

import (
	"math"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	karpscheduling "sigs.k8s.io/karpenter/pkg/scheduling"
)

// plan is what "joiner plan -o json" prints.
type plan struct {
	Claims        []claim    `json:"claims"`
	Existing      []existing `json:"existing"`
	Unschedulable []unplaced `json:"unschedulable"`
	Deferred      []unplaced `json:"deferred"`
	Summary       summary    `json:"summary"`
}

type claim struct {
	NodePool      string              `json:"nodePool"`
	Pods          []string            `json:"pods"`
	InstanceTypes []string            `json:"instanceTypes"`
	Requirements  requirements        `json:"requirements"`
	Requests      corev1.ResourceList `json:"requests"`
	Labels        map[string]string   `json:"labels"`
	Annotations   map[string]string   `json:"annotations"`
	Taints        []corev1.Taint      `json:"taints"`
	StartupTaints []corev1.Taint      `json:"startupTaints"`
	Price         float64             `json:"price"`
}

type existing struct {
	Node      string   `json:"node"`
	NodeClaim string   `json:"nodeClaim"`
	Pods      []string `json:"pods"`
}

type unplaced struct {
	Pod     string   `json:"pod"`
	Message string   `json:"message"`
	Reasons []reason `json:"reasons"`
}

type reason struct {
	ID      string `json:"id"`
	Message string `json:"message"`
}

type summary struct {
	Pods         int     `json:"pods"`
	Placed       int     `json:"placed"`
	Claims       int     `json:"claims"`
	Price        float64 `json:"price"`
	LowerBound   float64 `json:"lowerBound"`
	SolveSeconds float64 `json:"solveSeconds"`
	Checked      bool    `json:"checked"`
}

func newPlan(sol *solution) plan {
	p := plan{Claims: []claim{}, Existing: []existing{}, Unschedulable: []unplaced{}, Deferred: []unplaced{}}
	p.Summary.Pods, p.Summary.SolveSeconds = sol.pods, sol.seconds
	p.Existing = destinations(sol.results.ExistingNodes)
	for _, node := range p.Existing {
		p.Summary.Placed += len(node.Pods)
	}
	for _, nodeClaim := range sol.results.NewNodeClaims {
		c := newClaim(nodeClaim)
		p.Claims = append(p.Claims, c)
		p.Summary.Placed += len(c.Pods)
		p.Summary.Claims++
		p.Summary.Price += c.Price
	}
	for pod, err := range sol.results.PodErrors {
		switch {
		case scheduling.IsReservedOfferingError(err):
			p.Deferred = append(p.Deferred, newUnplaced(pod, "waiting.reservation", err))
		case scheduling.IsDRAError(err):
			p.Unschedulable = append(p.Unschedulable, newUnplaced(pod, "dra.ignored", err))
		default:
			p.Unschedulable = append(p.Unschedulable, newUnplaced(pod, "karpenter", err))
		}
	}
	for pod, err := range sol.refused {
		p.Unschedulable = append(p.Unschedulable, newUnplaced(pod, "karpenter", err))
	}
	for pod, err := range sol.deferred {
		p.Deferred = append(p.Deferred, newUnplaced(pod, "karpenter", err))
	}
	for _, list := range [][]unplaced{p.Unschedulable, p.Deferred} {
		sort.Slice(list, func(i, j int) bool { return list[i].Pod < list[j].Pod })
	}
	return p
}

// destinations are the instances that receive pods.
func destinations(nodes []*scheduling.ExistingNode) []existing {
	receiving := []existing{}
	for _, node := range nodes {
		if len(node.Pods) == 0 {
			continue
		}
		e := existing{Pods: podNames(node.Pods)}
		if node.Node != nil {
			e.Node = node.Node.Name
		}
		if node.NodeClaim != nil {
			e.NodeClaim = node.NodeClaim.Name
		}
		receiving = append(receiving, e)
	}
	return receiving
}

func newClaim(simulated *scheduling.NodeClaim) claim {
	object := simulated.ToNodeClaim()
	types, price := byPrice(simulated.InstanceTypeOptions, simulated.Requirements)
	reqs := requirements(object.Spec.Requirements)
	sort.SliceStable(reqs, func(i, j int) bool { return reqs[i].Key < reqs[j].Key })
	return claim{
		NodePool:      simulated.NodePoolName,
		Pods:          podNames(simulated.Pods),
		InstanceTypes: types,
		Requirements:  reqs,
		Requests:      object.Spec.Resources.Requests,
		Labels:        object.Labels,
		Annotations:   object.Annotations,
		Taints:        append([]corev1.Taint{}, object.Spec.Taints...),
		StartupTaints: append([]corev1.Taint{}, object.Spec.StartupTaints...),
		Price:         price,
	}
}

// byPrice orders as Karpenter does and breaks ties, which Karpenter leaves open, by name.
func byPrice(types cloudprovider.InstanceTypes, reqs karpscheduling.Requirements) (names []string, cheapest float64) {
	price := map[string]float64{}
	for _, it := range types {
		price[it.Name] = math.MaxFloat64
		for _, o := range it.Offerings.Available().Compatible(reqs) {
			price[it.Name] = math.Min(price[it.Name], o.Price)
		}
		names = append(names, it.Name)
	}
	sort.Slice(names, func(i, j int) bool {
		if price[names[i]] != price[names[j]] {
			return price[names[i]] < price[names[j]]
		}
		return names[i] < names[j]
	})
	if len(names) > 0 && price[names[0]] != math.MaxFloat64 {
		cheapest = price[names[0]]
	}
	return names, cheapest
}

func newUnplaced(pod *corev1.Pod, id string, err error) unplaced {
	return unplaced{Pod: podName(pod), Message: err.Error(), Reasons: []reason{{ID: id, Message: err.Error()}}}
}

func podName(pod *corev1.Pod) string { return client.ObjectKeyFromObject(pod).String() }

func podNames(pods []*corev1.Pod) []string {
	names := make([]string, len(pods))
	for i, pod := range pods {
		names[i] = podName(pod)
	}
	return names
}
