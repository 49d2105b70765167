//! Annotations, labels and taints that Joiner writes for other programs, besides conditions.

pub use joiner_core::label::{DO_NOT_DISRUPT, PAUSE_DISRUPTION};
use joiner_core::taint::{Effect, Taint};
use k8s_openapi::api::core::v1::{self as core, Node};

/// Finalizer of claims and nodes, until the instance is removed.
pub const TERMINATION_FINALIZER: &str = "karpenter.sh/termination";

/// Key of the taint of nodes that leave, or may leave soon.
pub const DISRUPTED: &str = "karpenter.sh/disrupted";

/// Annotation of claims that a disruption command removes or has created. It contains the command,
/// so that the next process can continue it.
pub const DISRUPTION_COMMAND: &str = "joiner.sh/disruption-command";

/// Annotation of pods: the cost of their deletion, as `ReplicaSets` read it when they scale down.
pub const POD_DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// Annotation of a `PersistentVolumeClaim`: it is bound for good.
pub const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// Annotation of claims: when the last pods are deleted despite their protection.
pub const TERMINATION_TIMESTAMP: &str = "karpenter.sh/nodeclaim-termination-timestamp";

/// Annotation of classes: how long their leaving nodes wait for volumes to detach. Without it they
/// wait until the claim's termination timestamp, if there is one.
pub const VOLUME_DETACH_TIMEOUT: &str = "joiner.sh/volume-detach-timeout";

/// Annotation of static pools: with [`DELETE_FIRST`], a drifted node is removed before its
/// replacement is created. It suits pools whose limit has no room for both.
pub const STATIC_DRIFT: &str = "joiner.sh/static-drift";

/// The one value of [`STATIC_DRIFT`].
pub const DELETE_FIRST: &str = "delete-first";

/// Label of nodes that external load balancers must stop using.
pub const EXCLUDE_FROM_LOAD_BALANCERS: &str =
    "node.kubernetes.io/exclude-from-external-load-balancers";

/// Annotation of a claim: the drivers whose devices its node is expected to have.
pub const REQUESTED_DRA_DRIVERS: &str = "karpenter.sh/requested-dra-drivers";

/// Label of a node: with the value `true`, another program manages its taints.
pub const DO_NOT_SYNC_TAINTS: &str = "karpenter.sh/do-not-sync-taints";

/// Annotation of a pool or a class: how long an instance may take to be made.
pub const LAUNCH_TIMEOUT: &str = "joiner.sh/launch-timeout";

/// Annotation of a pool or a class: how long an instance may take to join.
pub const REGISTRATION_TIMEOUT: &str = "joiner.sh/registration-timeout";

/// Annotation of a pool or a class: how long a node may take to be ready for pods.
pub const INITIALIZATION_TIMEOUT: &str = "joiner.sh/initialization-timeout";

/// Annotation of a pool: the number or percentage (`30%`) of unhealthy nodes above which none is
/// repaired.
pub const REPAIR_MAX_UNHEALTHY: &str = "joiner.sh/repair-max-unhealthy";

/// Annotation of a pool or a class: the time until which instances may be removed although the
/// cluster has no claims.
pub const REMOVE_UNCLAIMED_UNTIL: &str = "joiner.sh/remove-unclaimed-until";

/// Key of the taint of nodes that Karpenter 1.15 reboots.
pub const REBOOTING_TAINT: &str = "karpenter.sh/rebooting";

/// Annotation of claims whose node Karpenter 1.15 reboots: the boot ID from before the reboot.
pub const REBOOT_PRE_BOOT_ID: &str = "karpenter.sh/reboot-pre-boot-id";

/// The taint of nodes that leave, or may leave soon.
pub fn disrupted_taint() -> Taint {
    Taint { key: DISRUPTED.to_owned(), value: String::new(), effect: Effect::NoSchedule }
}

/// Whether a node has the disruption taint.
pub fn is_disrupted(node: &Node) -> bool {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default();
    taints.iter().any(is_disrupted_taint)
}

/// Adds the disruption taint to a node.
pub fn disrupt(node: &mut Node) {
    if !is_disrupted(node) {
        let Taint { key, effect, .. } = disrupted_taint();
        let taints = node.spec.get_or_insert_default().taints.get_or_insert_default();
        taints.retain(|taint| taint.key != key);
        let effect = effect.as_str().to_owned();
        taints.push(core::Taint { key, effect, ..core::Taint::default() });
    }
}

/// Removes the disruption taint from a node that stays.
pub fn undisrupt(node: &mut Node) {
    if let Some(taints) = node.spec.as_mut().and_then(|spec| spec.taints.as_mut()) {
        taints.retain(|taint| !is_disrupted_taint(taint));
    }
}

fn is_disrupted_taint(taint: &core::Taint) -> bool {
    let disrupted = disrupted_taint();
    taint.key == disrupted.key && taint.effect == disrupted.effect.as_str()
}

/// Whether a taint marks a node that has not registered yet.
pub fn is_unregistered_taint(taint: &core::Taint) -> bool {
    let unregistered = Taint::unregistered();
    taint.key == unregistered.key && taint.effect == unregistered.effect.as_str()
}
