//! Which pods leave a node now, and which later.

use std::{collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use joiner_api::node_claim::NodeClaim;
use k8s_openapi::api::core::v1::Pod;

use crate::{
    conditions::{Conditioned, DRAINED},
    pods::{Owner, forced_since, is_active, is_owned_by, is_waiting_eviction},
};

/// The shortest drain, even of an empty node: a scheduler that has not seen the taint may have just
/// bound a pod there. The value is Karpenter's.
const LEAST_TIME: SignedDuration = SignedDuration::from_secs(5);

/// The priority classes of pods that other pods depend on; these pods are deleted last.
const CRITICAL_PRIORITY_CLASSES: [&str; 2] = ["system-cluster-critical", "system-node-critical"];

/// The next action of a drain.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Drain {
    /// The number of pods that the node waits for.
    pub waiting: usize,
    /// The pods to evict now.
    pub leave_now: Vec<Arc<Pod>>,
}

/// The drain order: each tier starts when the one before is completely gone. Pods that others
/// depend on leave after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Ordinary pods.
    Workload,
    /// DaemonSet pods.
    Daemon,
    /// Critical pods.
    CriticalWorkload,
    /// Critical DaemonSet pods.
    CriticalDaemon,
}

impl Tier {
    fn of(pod: &Pod) -> Self {
        let class = pod.spec.as_ref().and_then(|spec| spec.priority_class_name.as_deref());
        let is_critical = class.is_some_and(|class| CRITICAL_PRIORITY_CLASSES.contains(&class));
        match (is_critical, is_owned_by(pod, Owner::DaemonSet)) {
            (false, false) => Self::Workload,
            (false, true) => Self::Daemon,
            (true, false) => Self::CriticalWorkload,
            (true, true) => Self::CriticalDaemon,
        }
    }
}

/// The pods that must leave a node before its removal, in drain order.
pub fn order<'p>(
    pods: impl IntoIterator<Item = &'p Arc<Pod>>,
    now: Timestamp,
) -> BTreeMap<Tier, Vec<&'p Arc<Pod>>> {
    let mut tiers: BTreeMap<Tier, Vec<_>> = BTreeMap::new();
    for pod in pods.into_iter().filter(|pod| is_waiting_eviction(pod, now)) {
        tiers.entry(Tier::of(pod)).or_default().push(pod);
    }
    tiers
}

/// The next action of a drain: pods past their deadline leave now, whatever their tier. Of the
/// others, the first remaining tier leaves.
///
/// COMPAT: upstream treats pods past their deadline as gone, so the next tier may leave slightly
/// earlier.
pub fn decide<'p>(
    pods: impl IntoIterator<Item = &'p Arc<Pod>>,
    deadline: Option<Timestamp>,
    now: Timestamp,
) -> Drain {
    let tiers = order(pods, now);
    let first = tiers.keys().next().copied();
    let is_forced = |pod: &Pod| {
        deadline.and_then(|deadline| forced_since(pod, deadline)).is_some_and(|since| since <= now)
    };
    let leaves_now =
        |tier: Tier, pod: &Pod| is_forced(pod) || (is_active(pod) && Some(tier) == first);
    let waiting = tiers.values().map(Vec::len).sum();
    let all = tiers.into_iter().flat_map(|(tier, pods)| pods.into_iter().map(move |p| (tier, p)));
    let leave_now =
        all.filter(|(tier, pod)| leaves_now(*tier, pod)).map(|(_, pod)| Arc::clone(pod));
    Drain { waiting, leave_now: leave_now.collect() }
}

/// Whether an empty node has drained for long enough, unless the claim is already drained.
pub fn lasted_long_enough(claim: &NodeClaim, now: Timestamp) -> bool {
    claim.holds(DRAINED)
        || claim.since(DRAINED).is_some_and(|since| now.duration_since(since) >= LEAST_TIME)
}
