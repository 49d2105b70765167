//! Names that Karpenter gave to what it leaves on objects. Whoever switches keeps them.

use joiner_core::taint;
use k8s_openapi::api::core::v1::Taint;

/// Finalizer of claims and nodes: the machine has to go first.
pub const TERMINATION_FINALIZER: &str = "karpenter.sh/termination";
/// Annotation of a claim: until when its node may take to be drained.
pub const TERMINATION_TIMESTAMP: &str = "karpenter.sh/nodeclaim-termination-timestamp";
/// Annotation of a claim: the drivers whose devices its node is expected to have.
pub const REQUESTED_DRA_DRIVERS: &str = "karpenter.sh/requested-dra-drivers";
/// Label of a node: set to `true`, somebody else cares for its taints.
pub const DO_NOT_SYNC_TAINTS: &str = "karpenter.sh/do-not-sync-taints";
/// Taint that kubelets register with: nobody may use the node before it has its labels and taints.
pub const UNREGISTERED_TAINT: &str = "karpenter.sh/unregistered";
/// Key of the taint of nodes that go away, or may soon.
pub const DISRUPTED_TAINT: &str = "karpenter.sh/disrupted";
/// Annotation of a pod: not to be evicted, for ever (`true`) or for so long after its start.
pub const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";
/// Label of nodes that load balancers outside the cluster are to forget.
pub const EXCLUDE_FROM_LOAD_BALANCERS: &str =
    "node.kubernetes.io/exclude-from-external-load-balancers";

/// Annotation of a pool or a class: how long a machine may take to be made.
pub const LAUNCH_TIMEOUT: &str = "joiner.sh/launch-timeout";
/// Annotation of a pool or a class: how long a machine may take to join.
pub const REGISTRATION_TIMEOUT: &str = "joiner.sh/registration-timeout";
/// Annotation of a pool or a class: how long a node may take to be ready for pods.
pub const INITIALIZATION_TIMEOUT: &str = "joiner.sh/initialization-timeout";
/// Annotation of a class: for how long its nodes wait for volumes to be detached when they go away.
/// Without it they wait until the claim's termination timestamp, if there is one.
pub const VOLUME_DETACH_TIMEOUT: &str = "joiner.sh/volume-detach-timeout";

/// The taint of nodes that go away, or may soon.
pub fn disrupted_taint() -> taint::Taint {
    taint::Taint {
        key: DISRUPTED_TAINT.to_owned(),
        value: String::new(),
        effect: taint::Effect::NoSchedule,
    }
}

/// Whether a taint marks a node that has not registered yet.
pub fn is_unregistered_taint(taint: &Taint) -> bool {
    taint.key == UNREGISTERED_TAINT && taint.effect == "NoExecute"
}
