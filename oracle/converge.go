package main

import (
	"errors"
	"fmt"

	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"
)

// roundsMax is a bound and no limit: every round but those for drift lowers the price.
const roundsMax = 1000

// disruptions is everything that was done, and what it came to.
type disruptions struct {
	Rounds []round `json:"rounds"`
	// What all instances that Karpenter owns cost, and how many there are.
	Before    fleet `json:"before"`
	After     fleet `json:"after"`
	Evictions int   `json:"evictions"`
	// Whether nothing more was found in the end. Otherwise the last command cannot be carried out, and Karpenter would try
	// it over and over.
	Converged bool `json:"converged"`
}

type fleet struct {
	Instances int     `json:"instances"`
	Price     float64 `json:"price"`
}

// round is one pass of Karpenter's disruption controller, and what its provisioner then does for pods that the pass left
// without a place.
type round struct {
	Commands    []command `json:"commands"`
	Provisioned *plan     `json:"provisioned,omitempty"`
}

type command struct {
	Method       string      `json:"method"`
	Decision     string      `json:"decision"`
	Candidates   []candidate `json:"candidates"`
	Replacements []claim     `json:"replacements"`
	Destinations []existing  `json:"destinations"`
	// What the candidates cost, and the cheapest that the replacements can be.
	Price            float64 `json:"price"`
	ReplacementPrice float64 `json:"replacementPrice"`
}

type candidate struct {
	NodeClaim string   `json:"nodeClaim"`
	Node      string   `json:"node"`
	Pods      []string `json:"pods"` // those that move
}

// errCannotLaunch is a command whose replacement no cloud can make.
var errCannotLaunch = errors.New("a replacement cannot be launched")

// disrupt asks which instances go. To converge, it does what Karpenter says (instances go, others come as the cheapest of
// what they may be, pods run where the simulation put them) and asks again until nothing more is found.
//
// Between two rounds so much time passes that every instance has been quiet for long enough, and that every budget of
// pods allows again what it allowed before.
func disrupt(s *settings, given *store, provider *fileProvider, converge bool) (disruptions, error) {
	world := &world{store: given.clone(), provider: provider, clock: s.clock}
	d := disruptions{Rounds: []round{}, Before: world.fleet()}
	for len(d.Rounds) < roundsMax {
		p, err := newPlanner(s, world.store, provider)
		if err != nil {
			return d, err
		}
		found, method, err := p.commands()
		if err != nil {
			return d, err
		}
		if len(found) == 0 {
			d.Converged = true
			break
		}
		r := round{}
		for _, c := range found {
			r.Commands = append(r.Commands, world.tell(c, method))
		}
		if converge {
			var evicted int
			evicted, r.Provisioned, err = world.carryOut(found, s)
			d.Evictions += evicted
		}
		d.Rounds = append(d.Rounds, r)
		if errors.Is(err, errCannotLaunch) || !converge {
			break
		}
		if err != nil {
			return d, err
		}
	}
	d.After = world.fleet()
	return d, nil
}

// world is a cluster in which things are done.
type world struct {
	*store
	provider *fileProvider
	clock    clock.Clock
	made     int // instances so far, for their names
}

// carryOut does what commands say, and returns how many pods were evicted and what was then provisioned.
func (w *world) carryOut(commands []disruption.Command, s *settings) (evicted int, provisioned *plan, err error) {
	for _, c := range commands {
		replacements := claimsOf(c.Replacements)
		if !lo.EveryBy(replacements, canLaunch) {
			return evicted, nil, errCannotLaunch
		}
		evicted += w.remove(c.Candidates)
		if err := w.place(c.Results.ExistingNodes, replacements); err != nil {
			return evicted, nil, err
		}
	}
	provisioned, err = w.provision(s)
	return evicted, provisioned, err
}

func (w *world) tell(c disruption.Command, method string) command {
	told := command{
		Method: method, Decision: string(c.Decision()), Price: c.SourceCost(),
		Candidates: []candidate{}, Replacements: []claim{}, Destinations: destinations(c.Results.ExistingNodes),
	}
	for _, going := range c.Candidates {
		moving := []string{}
		for _, pod := range w.movingFrom(going.Node.Name) {
			moving = append(moving, podName(pod))
		}
		told.Candidates = append(told.Candidates, candidate{NodeClaim: going.NodeClaim.Name, Node: going.Node.Name, Pods: moving})
	}
	for _, coming := range claimsOf(c.Replacements) {
		made := newClaim(coming)
		told.Replacements = append(told.Replacements, made)
		told.ReplacementPrice += made.Price
	}
	return told
}

func claimsOf(replacements []*disruption.Replacement) []*scheduling.NodeClaim {
	return lo.Map(replacements, func(r *disruption.Replacement, _ int) *scheduling.NodeClaim { return r.NodeClaim })
}

// movingFrom lists the pods that need another place when their node goes.
func (w *world) movingFrom(node string) []*corev1.Pod {
	var moving []*corev1.Pod
	for _, object := range w.podsOn(node) {
		if pod := object.(*corev1.Pod); podutils.IsReschedulable(pod) {
			moving = append(moving, pod)
		}
	}
	return moving
}

// remove lets instances go and returns how many of their pods are left without a place. The others end with the instance.
func (w *world) remove(candidates []*disruption.Candidate) (evicted int) {
	for _, going := range candidates {
		moving := w.movingFrom(going.Node.Name)
		for _, object := range append([]client.Object{}, w.podsOn(going.Node.Name)...) {
			w.delete(object)
		}
		w.delete(going.Node)
		w.delete(going.NodeClaim)
		for _, pod := range moving {
			pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = nil, nil
			pod.Spec.NodeName = ""
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			}}}
			w.add(pod)
			evicted++
		}
	}
	return evicted
}

// place does what a simulation said: makes its instances and lets pods run on them and on those that were there.
func (w *world) place(nodes []*scheduling.ExistingNode, claims []*scheduling.NodeClaim) error {
	for _, node := range nodes {
		if node.Node != nil { // a pod cannot run before its instance has joined
			w.bind(node.Pods, node.Node.Name)
		}
	}
	for _, simulated := range claims {
		node, err := w.launch(simulated)
		if err != nil {
			return err
		}
		w.bind(simulated.Pods, node)
	}
	return nil
}

func (w *world) bind(pods []*corev1.Pod, node string) {
	for _, simulated := range pods {
		pod := &corev1.Pod{}
		if w.Get(nil, client.ObjectKeyFromObject(simulated), pod) != nil || pod.Spec.NodeName != "" {
			continue // the simulation also moves pods of instances that were leaving before; they wait for that
		}
		pod.Spec.NodeName = node
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: w.longAgo()}
		w.add(pod)
	}
}

// longAgo is when everything began that is made in a world, so that nobody waits for it to be old enough.
func (w *world) longAgo() *metav1.Time {
	return &metav1.Time{Time: w.clock.Now().AddDate(0, -3, 0)}
}

// provision does what Karpenter's provisioner would for pods without a place.
func (w *world) provision(s *settings) (*plan, error) {
	waiting := false
	for _, object := range w.podsOn("") {
		waiting = waiting || podutils.IsProvisionable(object.(*corev1.Pod))
	}
	if !waiting {
		return nil, nil
	}
	p, err := newPlanner(s, w.store, w.provider)
	if err != nil {
		return nil, err
	}
	solved, err := p.solve()
	if err != nil {
		return nil, err
	}
	made := newPlan(solved)
	if made.Summary.Placed == 0 {
		return nil, nil
	}
	return &made, w.place(solved.results.ExistingNodes, solved.results.NewNodeClaims)
}

// fleet counts instances that have a claim, each with the price of its offering.
func (w *world) fleet() fleet {
	f := fleet{}
	each(w.store, func(claim *karpv1.NodeClaim) {
		f.Instances++
		for _, it := range w.provider.typesFor(claim.Labels[karpv1.NodePoolLabelKey]) {
			if it.Name == claim.Labels[corev1.LabelInstanceTypeStable] {
				price, _ := it.OfferingPrice(claim.Labels[corev1.LabelTopologyZone], claim.Labels[karpv1.CapacityTypeLabelKey])
				f.Price += price
			}
		}
	})
	return f
}

func (w *world) nextName() string {
	w.made++
	return fmt.Sprintf("new-%d", w.made)
}
