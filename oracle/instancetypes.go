package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"

	kwokapis "sigs.k8s.io/karpenter/kwok/apis"
	kwokv1alpha1 "sigs.k8s.io/karpenter/kwok/apis/v1alpha1"
	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	kwokoptions "sigs.k8s.io/karpenter/kwok/options"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// instanceTypeFile is a list of instance types with the two facts about labels that a provider otherwise keeps in code.
// A bare list is accepted too.
type instanceTypeFile struct {
	InstanceTypes      []json.RawMessage `json:"instanceTypes"`
	WellKnownLabels    []string          `json:"wellKnownLabels"`
	ReservationIDLabel string            `json:"reservationIDLabel"`
}

// instanceTypeEntry is one entry in the full form.
type instanceTypeEntry struct {
	Name         string              `json:"name"`
	Requirements requirements        `json:"requirements"`
	Capacity     corev1.ResourceList `json:"capacity"`
	Overhead     *overhead           `json:"overhead"`
	Offerings    []offeringEntry     `json:"offerings"`
	NodePools    []string            `json:"nodePools"`
	// Only KWOK's form has these; their presence is how the two are told apart.
	Architecture string              `json:"architecture"`
	Resources    corev1.ResourceList `json:"resources"`
}

type offeringEntry struct {
	Price               float64      `json:"price"`
	Available           bool         `json:"available"`
	ReservationCapacity int          `json:"reservationCapacity"`
	Requirements        requirements `json:"requirements"`
	// What this offering changes in the type's own capacity and overhead, resource by resource.
	Capacity corev1.ResourceList `json:"capacity"`
	Overhead *overhead           `json:"overhead"`
}

type overhead struct {
	KubeReserved      corev1.ResourceList `json:"kubeReserved"`
	SystemReserved    corev1.ResourceList `json:"systemReserved"`
	EvictionThreshold corev1.ResourceList `json:"evictionThreshold"`
}

type requirements []karpv1.NodeSelectorRequirementWithMinValues

func (r requirements) scheduling() scheduling.Requirements {
	return scheduling.NewNodeSelectorRequirementsWithMinValues(r...)
}

func (o *overhead) cloudprovider() *cloudprovider.InstanceTypeOverhead {
	if o == nil {
		return nil
	}
	return &cloudprovider.InstanceTypeOverhead{
		KubeReserved: o.KubeReserved, SystemReserved: o.SystemReserved, EvictionThreshold: o.EvictionThreshold,
	}
}

func (e instanceTypeEntry) cloudprovider() *cloudprovider.InstanceType {
	it := &cloudprovider.InstanceType{
		Name:         e.Name,
		Requirements: e.Requirements.scheduling(),
		Capacity:     e.Capacity,
		Overhead:     e.Overhead.cloudprovider(),
	}
	if it.Overhead == nil {
		it.Overhead = &cloudprovider.InstanceTypeOverhead{}
	}
	for _, o := range e.Offerings {
		it.Offerings = append(it.Offerings, &cloudprovider.Offering{
			Requirements:        o.Requirements.scheduling(),
			Price:               o.Price,
			Available:           o.Available,
			ReservationCapacity: o.ReservationCapacity,
			CapacityOverride:    o.Capacity,
			OverheadOverride:    o.Overhead.cloudprovider(),
		})
	}
	return it
}

// Karpenter keeps what it knows about labels in process-wide variables. Its KWOK provider, which is linked in to read
// KWOK's form, has added its own keys to them by the time main starts; a file without KWOK entries must not see those.
var (
	kwokLabels = sets.New(kwokv1alpha1.InstanceSizeLabelKey, kwokv1alpha1.InstanceFamilyLabelKey,
		kwokv1alpha1.InstanceCPULabelKey, kwokv1alpha1.InstanceMemoryLabelKey)
	karpenterLabels  = karpv1.WellKnownLabels.Difference(kwokLabels)
	karpenterDomains = karpv1.RestrictedLabelDomains.Difference(sets.New(kwokapis.Group))
)

// fileProvider is a Karpenter cloud provider which only knows what an instance type file says.
type fileProvider struct {
	cloudprovider.CloudProvider // planning launches nothing: any other call is a bug and panics

	everyPool          []*cloudprovider.InstanceType
	byPool             map[string][]*cloudprovider.InstanceType
	labels             sets.Set[string] // well known beyond Karpenter's own
	restrictedDomains  sets.Set[string] // likewise
	reservationIDLabel string
	nodeClasses        []status.Object
}

// use makes this the provider whose labels Karpenter knows, in place of any other.
func (p *fileProvider) use() {
	karpv1.WellKnownLabels = karpenterLabels.Union(p.labels)
	karpv1.RestrictedLabelDomains = karpenterDomains.Union(p.restrictedDomains)
	cloudprovider.ReservationIDLabel = p.reservationIDLabel
}

// parseInstanceTypes reads the text of an instance type file; name is for messages.
func parseInstanceTypes(name string, raw []byte) (*fileProvider, error) {
	file := instanceTypeFile{}
	raw, err := yaml.YAMLToJSON(raw)
	if err == nil && bytes.HasPrefix(raw, []byte("[")) {
		err = json.Unmarshal(raw, &file.InstanceTypes)
	} else if err == nil {
		err = json.Unmarshal(raw, &file)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	provider := &fileProvider{
		byPool:             map[string][]*cloudprovider.InstanceType{},
		labels:             sets.New(file.WellKnownLabels...),
		reservationIDLabel: file.ReservationIDLabel,
	}
	var kwokEntries []json.RawMessage
	for i, rawEntry := range file.InstanceTypes {
		entry := instanceTypeEntry{}
		if err := json.Unmarshal(rawEntry, &entry); err != nil {
			return nil, fmt.Errorf("%s: entry %d: %w", name, i+1, err)
		}
		if entry.Architecture != "" || entry.Resources != nil {
			kwokEntries = append(kwokEntries, rawEntry)
			continue
		}
		provider.add(entry, file.WellKnownLabels == nil)
	}
	if err := provider.addKWOK(kwokEntries); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return provider, provider.checkNames(name)
}

func (p *fileProvider) add(entry instanceTypeEntry, learnLabels bool) {
	it := entry.cloudprovider()
	if learnLabels {
		// What a provider writes on its types is what it knows: Karpenter asks that of every provider.
		p.labels.Insert(sets.List(it.Requirements.Keys())...)
		for _, o := range it.Offerings {
			p.labels.Insert(sets.List(o.Requirements.Keys())...)
		}
	}
	if len(entry.NodePools) == 0 {
		p.everyPool = append(p.everyPool, it)
	}
	for _, pool := range entry.NodePools {
		p.byPool[pool] = append(p.byPool[pool], it)
	}
}

// addKWOK gives KWOK's entries to Karpenter's own KWOK provider, which insists on reading a file.
func (p *fileProvider) addKWOK(entries []json.RawMessage) error {
	if len(entries) == 0 {
		return nil
	}
	p.labels = p.labels.Union(kwokLabels)
	p.restrictedDomains = sets.New(kwokapis.Group)
	raw, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp("", "kwok-*.json")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if _, err = file.Write(raw); err != nil {
		return err
	}
	if err = file.Close(); err != nil {
		return err
	}
	ctx := (&kwokoptions.Options{InstanceTypesFilePath: file.Name()}).ToContext(context.Background())
	types, err := kwok.ConstructInstanceTypes(ctx)
	p.everyPool = append(p.everyPool, types...)
	return err
}

func (p *fileProvider) checkNames(file string) error {
	for _, pool := range append(sortedKeys(p.byPool), "") {
		seen := sets.New[string]()
		for _, it := range p.typesFor(pool) {
			if seen.Has(it.Name) {
				return fmt.Errorf("%s: instance type %q is there twice for NodePool %q", file, it.Name, pool)
			}
			seen.Insert(it.Name)
		}
	}
	return nil
}

func (p *fileProvider) typesFor(pool string) []*cloudprovider.InstanceType {
	return append(append([]*cloudprovider.InstanceType{}, p.byPool[pool]...), p.everyPool...)
}

func (p *fileProvider) GetInstanceTypes(_ context.Context, pool *karpv1.NodePool) ([]*cloudprovider.InstanceType, error) {
	return p.typesFor(pool.Name), nil
}

func (p *fileProvider) Name() string { return "file" }

// GetSupportedNodeClasses answers with whatever the snapshot's NodePools and NodeClaims refer to: a file serves every
// NodeClass.
func (p *fileProvider) GetSupportedNodeClasses() []status.Object { return p.nodeClasses }

func (p *fileProvider) supportNodeClassesOf(s *store) {
	p.nodeClasses = nil
	seen := sets.New[schema.GroupKind]()
	support := func(ref *karpv1.NodeClassReference) {
		if ref != nil && !seen.Has(ref.GroupKind()) {
			seen.Insert(ref.GroupKind())
			class := nodeClass{&unstructured.Unstructured{}}
			class.SetGroupVersionKind(ref.GroupKind().WithVersion("v1"))
			p.nodeClasses = append(p.nodeClasses, class)
		}
	}
	each(s, func(pool *karpv1.NodePool) { support(pool.Spec.Template.Spec.NodeClassRef) })
	each(s, func(claim *karpv1.NodeClaim) { support(claim.Spec.NodeClassRef) })
}

// nodeClass is a NodeClass of which only group and kind matter.
type nodeClass struct{ *unstructured.Unstructured }

func (nodeClass) GetConditions() []status.Condition { return nil }
func (nodeClass) SetConditions([]status.Condition)  {}
func (nodeClass) StatusConditions(...status.ForOption) status.ConditionSet {
	return status.ConditionSet{}
}
