//! Names that Karpenter gave to what it leaves on objects. Whoever switches keeps them.

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

/// Annotation of a pool or a class: how long a machine may take to be made.
pub const LAUNCH_TIMEOUT: &str = "joiner.sh/launch-timeout";
/// Annotation of a pool or a class: how long a machine may take to join.
pub const REGISTRATION_TIMEOUT: &str = "joiner.sh/registration-timeout";
/// Annotation of a pool or a class: how long a node may take to be ready for pods.
pub const INITIALIZATION_TIMEOUT: &str = "joiner.sh/initialization-timeout";

/// Whether a taint marks a node that has not registered yet.
pub fn is_unregistered_taint(taint: &Taint) -> bool {
    taint.key == UNREGISTERED_TAINT && taint.effect == "NoExecute"
}
