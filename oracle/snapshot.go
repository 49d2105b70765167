package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	karpv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
)

// kinds are the objects that Karpenter's scheduler can look at. Others are counted and left alone: this Karpenter has no
// default topology spread, so it needs neither Services nor the owners of pods.
var kinds = map[schema.GroupKind]func() client.Object{
	{Kind: "Pod"}:                                   func() client.Object { return &corev1.Pod{} },
	{Kind: "Node"}:                                  func() client.Object { return &corev1.Node{} },
	{Kind: "Namespace"}:                             func() client.Object { return &corev1.Namespace{} },
	{Kind: "PersistentVolume"}:                      func() client.Object { return &corev1.PersistentVolume{} },
	{Kind: "PersistentVolumeClaim"}:                 func() client.Object { return &corev1.PersistentVolumeClaim{} },
	{Group: "apps", Kind: "DaemonSet"}:              func() client.Object { return &appsv1.DaemonSet{} },
	{Group: "storage.k8s.io", Kind: "StorageClass"}: func() client.Object { return &storagev1.StorageClass{} },
	{Group: "storage.k8s.io", Kind: "CSINode"}:      func() client.Object { return &storagev1.CSINode{} },
	{Group: "policy", Kind: "PodDisruptionBudget"}:  func() client.Object { return &policyv1.PodDisruptionBudget{} },
	{Group: "karpenter.sh", Kind: "NodePool"}:       func() client.Object { return &karpv1.NodePool{} },
	{Group: "karpenter.sh", Kind: "NodeClaim"}:      func() client.Object { return &karpv1.NodeClaim{} },
	{Group: "karpenter.sh", Kind: "NodeOverlay"}:    func() client.Object { return &karpv1alpha1.NodeOverlay{} },
}

// snapshot collects objects until finish turns them into a store.
type snapshot struct {
	store   *store
	ignored map[string]int
}

func newSnapshot() *snapshot {
	return &snapshot{store: newStore(), ignored: map[string]int{}}
}

// readPaths reads files, folders and, for "-", in.
func (s *snapshot) readPaths(paths []string, in io.Reader) error {
	for _, path := range paths {
		if path == "-" {
			raw, err := io.ReadAll(in)
			if err != nil {
				return err
			}
			if err := s.addDocuments("stdin", raw); err != nil {
				return err
			}
			continue
		}
		files, err := snapshotFiles(path)
		if err != nil {
			return err
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := s.addDocuments(file, raw); err != nil {
				return err
			}
		}
	}
	return nil
}

func snapshotFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		switch filepath.Ext(p) {
		case ".yaml", ".yml", ".json":
			if err == nil && !d.IsDir() {
				files = append(files, p)
			}
		}
		return err
	})
	return files, err
}

func (s *snapshot) addDocuments(file string, raw []byte) error {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096)
	for document := 1; ; document++ {
		object := map[string]any{}
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: document %d: %w", file, document, err)
		}
		if len(object) == 0 {
			continue
		}
		if err := s.add(object); err != nil {
			return fmt.Errorf("%s: document %d: %w", file, document, err)
		}
	}
}

func (s *snapshot) add(object map[string]any) error {
	u := &unstructured.Unstructured{Object: object}
	if strings.HasSuffix(u.GetKind(), "List") {
		items, _, err := unstructured.NestedSlice(object, "items")
		if err != nil {
			return fmt.Errorf("%s: %w", u.GetKind(), err)
		}
		for i, item := range items {
			object, ok := item.(map[string]any)
			if !ok {
				return fmt.Errorf("%s: item %d is not an object", u.GetKind(), i+1)
			}
			if err := s.add(object); err != nil {
				return err
			}
		}
		return nil
	}
	create, known := kinds[u.GroupVersionKind().GroupKind()]
	if !known {
		s.ignored[u.GetKind()]++
		return nil
	}
	if u.GetKind() == "NodePool" {
		if err := defaultDisruption(object); err != nil {
			return fmt.Errorf("NodePool %s: %w", u.GetName(), err)
		}
	}
	typed := create()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, typed); err != nil {
		if raw, e := u.MarshalJSON(); e == nil {
			// The JSON decoder is slower, but its complaint names the field.
			if e = json.Unmarshal(raw, create()); e != nil {
				err = e
			}
		}
		return fmt.Errorf("%s %s/%s: %w", u.GetKind(), u.GetNamespace(), u.GetName(), err)
	}
	s.store.add(typed)
	return nil
}

// defaultDisruption fills in what the API server would: Karpenter reads a pool without consolidateAfter as one that is
// never consolidated.
func defaultDisruption(pool map[string]any) error {
	given, _, err := unstructured.NestedFieldNoCopy(pool, "spec", "disruption")
	if err != nil {
		return err
	}
	disruption, ok := given.(map[string]any)
	if given != nil && !ok {
		return errors.New("spec.disruption is not an object")
	}
	if given == nil {
		disruption = map[string]any{"consolidateAfter": "0s"}
	}
	if disruption["budgets"] == nil {
		disruption["budgets"] = []any{map[string]any{"nodes": "10%"}}
	}
	return unstructured.SetNestedMap(pool, disruption, "spec", "disruption")
}

// finish reads absence kindly, since an API server or a controller would have set these fields, and says what was not
// read.
func (s *snapshot) finish(warn io.Writer) (*store, error) {
	for _, kind := range sortedKeys(s.ignored) {
		fmt.Fprintf(warn, "oracle: %d %s not read\n", s.ignored[kind], kind)
	}
	inDefaultNamespace[*corev1.Pod](s.store)
	inDefaultNamespace[*corev1.PersistentVolumeClaim](s.store)
	inDefaultNamespace[*appsv1.DaemonSet](s.store)
	inDefaultNamespace[*policyv1.PodDisruptionBudget](s.store)
	each(s.store, func(pod *corev1.Pod) {
		// Karpenter keys pods by UID: two pods without one would be the same pod.
		if pod.UID == "" {
			pod.UID = types.UID(pod.Namespace + "/" + pod.Name)
		}
		namePortProtocols(&pod.Spec)
	})
	each(s.store, func(daemonSet *appsv1.DaemonSet) { namePortProtocols(&daemonSet.Spec.Template.Spec) })
	each(s.store, func(node *corev1.Node) {
		if node.Spec.ProviderID == "" {
			node.Spec.ProviderID = node.Name
		}
	})
	each(s.store, func(claim *karpv1.NodeClaim) { s.findNode(claim, warn) })
	var errs []error
	each(s.store, func(pool *karpv1.NodePool) {
		if pool.Spec.Template.Spec.NodeClassRef == nil {
			errs = append(errs, fmt.Errorf("NodePool %s: spec.template.spec.nodeClassRef is missing", pool.Name))
		}
		if ready := pool.StatusConditions().Get("Ready"); ready == nil || ready.IsUnknown() {
			pool.StatusConditions().SetTrue(karpv1.ConditionTypeValidationSucceeded)
			pool.StatusConditions().SetTrue(karpv1.ConditionTypeNodeClassReady)
		}
	})
	return s.store, errors.Join(errs...)
}

// findNode gives a claim the provider ID of the node it names. A claim that names none has not been launched, and
// Karpenter does not count on it.
func (s *snapshot) findNode(claim *karpv1.NodeClaim, warn io.Writer) {
	if claim.Status.ProviderID != "" {
		return
	}
	node := &corev1.Node{}
	if claim.Status.NodeName != "" && s.store.Get(nil, client.ObjectKey{Name: claim.Status.NodeName}, node) == nil {
		claim.Status.ProviderID = node.Spec.ProviderID
		return
	}
	fmt.Fprintf(warn, "oracle: NodeClaim %s has no status.providerID: not launched, so not capacity\n", claim.Name)
}

func inDefaultNamespace[T client.Object](s *store) {
	each(s, func(object T) {
		if object.GetNamespace() == "" {
			s.rename(object, corev1.NamespaceDefault)
		}
	})
}

func namePortProtocols(spec *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for _, container := range containers {
			for i := range container.Ports {
				if container.Ports[i].Protocol == "" {
					container.Ports[i].Protocol = corev1.ProtocolTCP
				}
			}
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
