//! What is written on objects, besides labels and conditions, for others to see.

use joiner_core::taint::{Effect, Taint};

/// Finalizer of claims and nodes: the machine has to be gone first.
pub const TERMINATION_FINALIZER: &str = "karpenter.sh/termination";

/// Key of the taint of nodes that go away, or may soon.
pub const DISRUPTED: &str = "karpenter.sh/disrupted";

/// Annotation of pods: not to be evicted, for ever (`true`) or for so long after the start.
pub const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";

/// Annotation of claims: when the last pod will be gone, whatever protects it.
pub const TERMINATION_TIMESTAMP: &str = "karpenter.sh/nodeclaim-termination-timestamp";

/// Annotation of classes: for how long their nodes wait for volumes to be detached when they go
/// away. Without it they wait until the claim's termination timestamp, if there is one.
pub const VOLUME_DETACH_TIMEOUT: &str = "joiner.sh/volume-detach-timeout";

/// Label of nodes that load balancers outside the cluster are to forget.
pub const EXCLUDE_FROM_LOAD_BALANCERS: &str =
    "node.kubernetes.io/exclude-from-external-load-balancers";

/// The taint of nodes that go away, or may soon.
pub fn disrupted_taint() -> Taint {
    Taint { key: DISRUPTED.to_owned(), value: String::new(), effect: Effect::NoSchedule }
}
