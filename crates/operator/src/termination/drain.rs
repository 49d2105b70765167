//! Which pods leave a node now, and which later.

use std::{collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use joiner_api::node_claim::NodeClaim;
use k8s_openapi::api::core::v1::Pod;

use crate::{
    conditions::{Conditioned, DRAINED},
    pods::{Owner, forced_since, is_active, is_owned_by, is_waiting_eviction},
};

/// For how long a node is drained at least, even if it is empty: a scheduler that had not seen the
/// taint may just have put a pod there.
const LEAST_TIME: SignedDuration = SignedDuration::from_secs(5);

/// Pods that others need to run, whose deletion waits for those.
const CRITICAL_PRIORITY_CLASSES: [&str; 2] = ["system-cluster-critical", "system-node-critical"];

/// What to do to have a node's pods leave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Drain {
    /// How many pods the node waits for.
    pub waiting: usize,
    /// Those that are to leave now.
    pub leave_now: Vec<Arc<Pod>>,
}

/// When pods leave: one group after the other, each when the one before is completely gone. Pods
/// that others depend on leave after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// What users run.
    Workload,
    /// What daemon sets run on every node.
    Daemon,
    /// What the cluster needs to run.
    CriticalWorkload,
    /// What the cluster needs to run on every node.
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

/// The pods that have to leave a node before it goes, in the order in which they do.
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

/// What to do to have a node's pods leave: those whose time is over now, of any tier, and of the
/// others the first tier that is still there.
///
/// COMPAT: upstream does not count pods whose time is over as there, so that the next tier may leave
/// a moment before they do.
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

/// Whether an empty node has been drained for long enough, if it was not found to be already.
pub fn lasted_long_enough(claim: &NodeClaim, now: Timestamp) -> bool {
    claim.holds(DRAINED)
        || claim.since(DRAINED).is_some_and(|since| now.duration_since(since) >= LEAST_TIME)
}
