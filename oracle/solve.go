package main

import (
	"context"
	"errors"
	"math"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/overlay"
	"sigs.k8s.io/karpenter/pkg/controllers/dynamicresources/deviceallocation"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeoverlay"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"
)

// The two rules for which pods are to be placed.
const (
	pendingUnbound       = "unbound"
	pendingUnschedulable = "unschedulable"
)

// settings are Karpenter's own, and what only a snapshot on disk needs.
type settings struct {
	karpenter        options.Options
	pending          string
	reservedFallback bool
	clock            clock.Clock
}

// planner is Karpenter's provisioner over a snapshot, ready to solve as often as one likes: whatever a pass changes
// (nodes, pods, daemon pods, NodePools) it gets as a copy.
type planner struct {
	*settings
	ctx         context.Context // Karpenter's scheduler reads its options and its controller's name from it
	store       *store
	provider    cloudprovider.CloudProvider
	cluster     *state.Cluster
	provisioner *provisioning.Provisioner
	volumes     *scheduling.VolumeTopology
}

// solution is one pass: what Karpenter decided, and the pods that never reached its scheduler.
type solution struct {
	results  scheduling.Results
	pods     int
	refused  map[*corev1.Pod]error // Karpenter's validation would ignore these pods for good
	deferred map[*corev1.Pod]error // these wait for something
	seconds  float64               // building the scheduler and solving; not reading the files
}

func newPlanner(settings *settings, s *store, file *fileProvider) (*planner, error) {
	ctx := injection.WithControllerName(settings.karpenter.ToContext(context.Background()), "oracle")
	file.use()
	file.supportNodeClassesOf(s)
	overlays := nodeoverlay.NewInstanceTypeStore()
	provider := overlay.Decorate(file, s, overlays)
	cluster := state.NewCluster(settings.clock, s, provider)
	if settings.karpenter.FeatureGates.NodeOverlay {
		if _, err := nodeoverlay.NewController(settings.clock, s, file, overlays, cluster).Reconcile(ctx, reconcile.Request{}); err != nil {
			return nil, err
		}
	}
	if err := fillCluster(ctx, cluster, s); err != nil {
		return nil, err
	}
	devices := deviceallocation.NewController(s) // a snapshot has no devices, but Karpenter asks
	devices.Hydrate(ctx)
	return &planner{
		settings:    settings,
		ctx:         ctx,
		store:       s,
		provider:    provider,
		cluster:     cluster,
		provisioner: provisioning.NewProvisioner(s, silent{}, provider, cluster, settings.clock, devices, nil),
		volumes:     scheduling.NewVolumeTopology(s),
	}, nil
}

// fillCluster does what Karpenter's informers do as objects arrive.
func fillCluster(ctx context.Context, cluster *state.Cluster, s *store) error {
	var errs []error
	each(s, func(claim *karpv1.NodeClaim) { cluster.UpdateNodeClaim(claim.DeepCopy()) })
	each(s, func(node *corev1.Node) { errs = append(errs, cluster.UpdateNode(ctx, node.DeepCopy())) })
	each(s, func(pod *corev1.Pod) {
		// A pod may outlive its node; Karpenter retries, a snapshot cannot.
		if err := cluster.UpdatePod(ctx, pod.DeepCopy()); !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	})
	each(s, func(daemonSet *appsv1.DaemonSet) { errs = append(errs, cluster.UpdateDaemonSet(ctx, daemonSet)) })
	return errors.Join(errs...)
}

func (p *planner) plan() (plan, error) {
	sol, err := p.solve()
	if err != nil {
		return plan{}, err
	}
	return newPlan(sol), nil
}

// solve is one pass of Karpenter's provisioning loop, without its time limit of a minute: a comparison wants the whole
// answer.
func (p *planner) solve() (*solution, error) {
	sol := &solution{refused: map[*corev1.Pod]error{}, deferred: map[*corev1.Pod]error{}}
	nodes := p.cluster.DeepCopyNodes()
	pods := p.validPending(sol)
	leaving, err := nodes.Deleting().CurrentlyReschedulablePods(p.ctx, p.store, p.clock, silent{})
	if err != nil {
		return nil, err
	}
	pods = append(pods, leaving...)
	sol.pods += len(leaving)
	if len(pods) == 0 {
		return sol, nil
	}
	leavingUIDs := sets.New[types.UID]()
	for _, pod := range leaving {
		leavingUIDs.Insert(pod.UID)
	}

	start := time.Now()
	scheduler, err := p.provisioner.NewScheduler(p.ctx, pods, nodes.Active(), leavingUIDs, p.options()...)
	if errors.Is(err, provisioning.ErrNodePoolsNotFound) {
		for _, pod := range pods {
			sol.refused[pod] = errors.New("no dynamic nodepools found")
		}
		return sol, nil
	}
	if err != nil {
		return nil, err
	}
	results, err := scheduler.Solve(p.ctx, pods)
	if err != nil {
		return nil, err
	}
	sol.results = results.TruncateInstanceTypes(p.ctx, scheduling.MaxInstanceTypes)
	sol.seconds = time.Since(start).Seconds()
	return sol, nil
}

// options are those of Karpenter's provisioning loop.
func (p *planner) options() []scheduling.Options {
	chosen := []scheduling.Options{
		scheduling.NumConcurrentReconciles(int(math.Ceil(float64(p.karpenter.CPURequests) / 1000))),
		scheduling.MinValuesPolicy(p.karpenter.MinValuesPolicy),
	}
	if !p.reservedFallback {
		chosen = append(chosen, scheduling.DisableReservedCapacityFallback)
	}
	if p.karpenter.PreferencePolicy == options.PreferencePolicyIgnore {
		chosen = append(chosen, scheduling.IgnorePreferences)
	}
	return chosen
}

// validPending returns the pods to place, after sorting out those that Karpenter would not consider.
func (p *planner) validPending(sol *solution) []*corev1.Pod {
	var pods []*corev1.Pod
	each(p.store, func(stored *corev1.Pod) {
		if !p.isPending(stored) {
			return
		}
		sol.pods++
		pod := stored.DeepCopy()
		if err := p.volumes.ValidatePersistentVolumeClaims(p.ctx, pod); err != nil {
			sol.deferred[pod] = err
		} else if err := p.provisioner.Validate(p.ctx, pod); err != nil {
			sol.refused[pod] = err
		} else {
			pods = append(pods, pod)
		}
	})
	return pods
}

func (p *planner) isPending(pod *corev1.Pod) bool {
	if p.pending == pendingUnschedulable {
		return podutils.IsProvisionable(pod)
	}
	return pod.Spec.NodeName == "" && podutils.IsActive(pod) && len(pod.Spec.SchedulingGates) == 0 &&
		!podutils.IsOwnedByDaemonSet(pod) && !podutils.IsOwnedByNode(pod)
}

// silent is an event recorder for which nobody listens.
type silent struct{}

func (silent) Publish(...events.Event) {}
