package main

import (
	"fmt"
	"maps"
	"sort"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	karpscheduling "sigs.k8s.io/karpenter/pkg/scheduling"
)

// launch makes the instance of a simulated claim, as the cheapest that it may be, and returns the name of its node. The
// instance is ready, and has been quiet for long enough to be looked at again.
func (w *world) launch(simulated *scheduling.NodeClaim) (string, error) {
	claim := simulated.ToNodeClaim()
	instanceType, offering := cheapestOf(simulated.InstanceTypeOptions, simulated.Requirements)
	if offering == nil {
		return "", fmt.Errorf("an instance of NodePool %s cannot be had: no available offering serves %s", simulated.NodePoolName, simulated.Requirements)
	}
	name := w.nextName()
	labels := maps.Clone(claim.Labels)
	maps.Copy(labels, singleValues(instanceType.Requirements))
	maps.Copy(labels, singleValues(offering.Requirements))
	labels[corev1.LabelInstanceTypeStable] = instanceType.Name

	claim.ObjectMeta = metav1.ObjectMeta{Name: name, Labels: labels, Annotations: claim.Annotations}
	claim.Status = karpv1.NodeClaimStatus{
		NodeName: name, ProviderID: "example://" + name,
		Capacity: instanceType.Capacity, Allocatable: instanceType.Allocatable(),
	}
	conditions := claim.StatusConditions(status.WithClock(clocktesting.NewFakeClock(w.longAgo().Time)))
	for _, reached := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered,
		karpv1.ConditionTypeInitialized, karpv1.ConditionTypeConsolidatable} {
		conditions.SetTrue(reached)
	}
	w.add(claim)

	labels = maps.Clone(labels)
	labels[corev1.LabelHostname] = name
	labels[karpv1.NodeRegisteredLabelKey] = "true"
	labels[karpv1.NodeInitializedLabelKey] = "true"
	w.add(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: claim.Status.ProviderID, Taints: claim.Spec.Taints},
		Status: corev1.NodeStatus{
			Capacity: claim.Status.Capacity, Allocatable: claim.Status.Allocatable,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	})
	return name, nil
}

// canLaunch says whether a cloud could make the instance at all. Karpenter asks for spot wherever a replacement may be
// spot, also where there is none.
func canLaunch(simulated *scheduling.NodeClaim) bool {
	_, offering := cheapestOf(simulated.InstanceTypeOptions, simulated.Requirements)
	return offering != nil
}

// cheapestOf breaks ties, which Karpenter leaves to the cloud, by the names of type, zone and capacity type.
func cheapestOf(types cloudprovider.InstanceTypes, reqs karpscheduling.Requirements) (*cloudprovider.InstanceType, *cloudprovider.Offering) {
	names, _ := byPrice(types, reqs)
	for _, it := range types {
		if len(names) == 0 || it.Name != names[0] {
			continue
		}
		offerings := it.Offerings.Available().Compatible(reqs)
		sort.SliceStable(offerings, func(i, j int) bool {
			a, b := offerings[i], offerings[j]
			if a.Price != b.Price {
				return a.Price < b.Price
			}
			if a.Zone() != b.Zone() {
				return a.Zone() < b.Zone()
			}
			return a.CapacityType() < b.CapacityType()
		})
		if len(offerings) > 0 {
			return it, offerings[0]
		}
	}
	return nil, nil
}

func singleValues(reqs karpscheduling.Requirements) map[string]string {
	labels := map[string]string{}
	for key, requirement := range reqs {
		if requirement.Operator() == corev1.NodeSelectorOpIn && requirement.Len() == 1 {
			labels[key] = requirement.Any()
		}
	}
	return labels
}
