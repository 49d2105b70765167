//! Pods as controllers see them, and which of several pods goes first.

use std::{cmp::Ordering, collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Key, Object};
use joiner_core::label::Labels;
use serde::Deserialize;

use super::facts::{ConditionJson, ExpressionJson, Meta, moment, read};

/// The finalizer by which a Job makes sure that it counts every pod once.
pub(super) const JOB_TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// The annotation with a pod's index in an indexed Job.
pub(super) const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// What controllers need to know of a pod.
#[derive(Clone, Debug)]
pub(super) struct Pod {
    pub(super) key: Key,
    pub(super) uid: Arc<str>,
    pub(super) labels: Labels,
    /// The uid of the owner that controls it.
    pub(super) controller: Option<Arc<str>>,
    pub(super) node: Option<Arc<str>>,
    /// The one node that it may be on, as pods of DaemonSets have it.
    pub(super) target: Option<Arc<str>>,
    pub(super) phase: Phase,
    pub(super) ready: bool,
    /// Since when it is ready, or not.
    pub(super) ready_since: Option<Timestamp>,
    /// When it is to be gone, if it is being deleted.
    pub(super) deleted: Option<Timestamp>,
    pub(super) created: Timestamp,
    /// When its last container ended, if it has finished.
    pub(super) finished: Option<Timestamp>,
    /// The restarts of the container with the most.
    pub(super) restarts: i64,
    /// How much it costs to delete this one rather than a sibling.
    pub(super) deletion_cost: i64,
    /// Its index in an indexed Job.
    pub(super) index: Option<u32>,
    /// Whether a Job still has to count it.
    pub(super) tracked: bool,
    /// The names of the claims behind its volumes.
    pub(super) claims: Vec<String>,
}

/// How far a pod is in its life, in the order in which idle ones are given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Pending,
    Unknown,
    Running,
    Succeeded,
    Failed,
}

#[derive(Deserialize)]
struct PodJson {
    metadata: Meta,
    spec: SpecJson,
    status: Option<StatusJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpecJson {
    node_name: Option<String>,
    volumes: Option<Vec<VolumeJson>>,
    affinity: Option<AffinityJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AffinityJson {
    node_affinity: Option<NodeAffinityJson>,
}

#[derive(Deserialize)]
struct NodeAffinityJson {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: Option<RequiredJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequiredJson {
    node_selector_terms: Option<Vec<TermJson>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TermJson {
    match_fields: Option<Vec<ExpressionJson>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VolumeJson {
    name: String,
    persistent_volume_claim: Option<ClaimJson>,
    ephemeral: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimJson {
    claim_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatusJson {
    phase: Option<String>,
    conditions: Option<Vec<ConditionJson>>,
    container_statuses: Option<Vec<ContainerJson>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContainerJson {
    restart_count: Option<i64>,
    state: Option<ContainerStateJson>,
}

#[derive(Deserialize)]
struct ContainerStateJson {
    terminated: Option<TerminatedJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TerminatedJson {
    finished_at: Option<String>,
}

impl Pod {
    /// What an object says of its pod.
    pub(super) fn of(object: &Object) -> Self {
        let PodJson { metadata, spec, status } = read(object);
        let status = status.as_ref();
        let conditions = || status.and_then(|status| status.conditions.as_ref()).into_iter();
        let ready = conditions().flatten().find(|condition| condition.kind == "Ready");
        let containers =
            || status.and_then(|status| status.container_statuses.as_ref()).into_iter().flatten();
        let phase = Phase::of(status.and_then(|status| status.phase.as_deref()));
        let ended = containers()
            .filter_map(|container| container.state.as_ref()?.terminated.as_ref())
            .filter_map(|terminated| moment(terminated.finished_at.as_deref()))
            .max();
        let ready_since = ready.and_then(|ready| moment(ready.last_transition_time.as_deref()));
        let created = metadata.created();
        let cost = metadata.annotation("controller.kubernetes.io/pod-deletion-cost");
        let finished = phase.is_final().then(|| ended.or(ready_since).unwrap_or(created));
        Self {
            key: object.key.clone(),
            uid: Arc::clone(&object.uid),
            controller: metadata.controller().map(|owner| owner.uid.as_str().into()),
            node: spec.node_name.filter(|node| !node.is_empty()).map(Into::into),
            target: spec.affinity.and_then(target),
            phase,
            ready: ready.is_some_and(|ready| ready.status == "True"),
            ready_since,
            deleted: metadata.deleted(),
            created,
            finished,
            restarts: containers().filter_map(|one| one.restart_count).max().unwrap_or(0),
            deletion_cost: cost.and_then(|cost| cost.parse().ok()).unwrap_or(0),
            index: metadata.annotation(COMPLETION_INDEX).and_then(|index| index.parse().ok()),
            tracked: metadata.finalizers.iter().flatten().any(|one| one == JOB_TRACKING),
            claims: claims(&metadata.name, spec.volumes.unwrap_or_default()),
            labels: metadata.labels.unwrap_or_default(),
        }
    }

    /// The node that it is on or waits for.
    pub(super) fn home(&self) -> Option<&Arc<str>> {
        self.node.as_ref().or(self.target.as_ref())
    }

    /// Whether it counts as one of its owner's pods: neither finished nor on its way out.
    pub(super) fn is_active(&self) -> bool {
        !self.phase.is_final() && self.deleted.is_none()
    }

    /// When it will have been ready for this long; nothing when it is not ready.
    pub(super) fn available_at(&self, min_ready_seconds: i64) -> Option<Timestamp> {
        if !self.ready {
            return None;
        }
        let since = if min_ready_seconds == 0 { Some(Timestamp::MIN) } else { self.ready_since };
        let wait = SignedDuration::from_secs(min_ready_seconds);
        since.map(|since| since.saturating_add(wait).unwrap_or(Timestamp::MAX))
    }

    /// Whether it has been ready for this long.
    pub(super) fn is_available(&self, min_ready_seconds: i64, now: Timestamp) -> bool {
        self.available_at(min_ready_seconds).is_some_and(|moment| moment <= now)
    }
}

impl Phase {
    fn of(text: Option<&str>) -> Self {
        match text {
            Some("Running") => Self::Running,
            Some("Succeeded") => Self::Succeeded,
            Some("Failed") => Self::Failed,
            Some("Unknown") => Self::Unknown,
            _ => Self::Pending,
        }
    }

    /// Whether the pod will never run again.
    pub(super) fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// The node that an affinity names.
fn target(affinity: AffinityJson) -> Option<Arc<str>> {
    let terms = affinity.node_affinity?.required?.node_selector_terms?;
    let mut fields = terms.into_iter().filter_map(|term| term.match_fields).flatten();
    let by_name = fields.find(|field| field.key == "metadata.name" && field.operator == "In")?;
    by_name.values?.into_iter().next().map(Into::into)
}

fn claims(pod: &str, volumes: Vec<VolumeJson>) -> Vec<String> {
    let name = |volume: VolumeJson| match (volume.persistent_volume_claim, volume.ephemeral) {
        (Some(claim), _) => Some(claim.claim_name),
        (None, Some(_)) => Some(format!("{pod}-{}", volume.name)),
        (None, None) => None,
    };
    volumes.into_iter().filter_map(name).collect()
}

/// When the next of these pods will have been ready for long enough.
pub(super) fn next_available<'a>(
    pods: impl IntoIterator<Item = &'a Arc<Pod>>,
    min_ready_seconds: i64,
    now: Timestamp,
) -> Option<Timestamp> {
    let moments = pods.into_iter().filter_map(|pod| pod.available_at(min_ready_seconds));
    moments.filter(|moment| *moment > now).min()
}

/// Sorts pods so that those come first which are the smallest loss: not placed, not started, not
/// ready, cheap, doubled up on a node, ready for a short time, often restarted, young.
pub(super) fn sort_for_deletion(pods: &mut [Arc<Pod>], now: Timestamp) {
    let mut on_node: BTreeMap<Option<Arc<str>>, usize> = BTreeMap::new();
    for pod in pods.iter() {
        *on_node.entry(pod.node.clone()).or_default() += 1;
    }
    let neighbours = |pod: &Pod| if pod.node.is_some() { on_node[&pod.node] } else { 0 };
    pods.sort_by(|a, b| {
        let younger_first =
            |a: Option<Timestamp>, b: Option<Timestamp>| magnitude(now, a).cmp(&magnitude(now, b));
        a.node
            .is_some()
            .cmp(&b.node.is_some())
            .then(a.phase.cmp(&b.phase))
            .then(a.ready.cmp(&b.ready))
            .then(a.deletion_cost.cmp(&b.deletion_cost))
            .then(neighbours(b).cmp(&neighbours(a)))
            .then_with(|| {
                if a.ready { younger_first(a.ready_since, b.ready_since) } else { Ordering::Equal }
            })
            .then(b.restarts.cmp(&a.restarts))
            .then_with(|| younger_first(Some(a.created), Some(b.created)))
            .then_with(|| a.uid.cmp(&b.uid))
    });
}

/// The order of magnitude of an age. Pods of about the same age are equals, so that the ones of
/// the latest scale-up are not always the ones that go.
fn magnitude(now: Timestamp, since: Option<Timestamp>) -> u32 {
    let age = since.map_or(0, |since| now.duration_since(since).as_nanos().max(0));
    i128::BITS - age.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pod(name: &str) -> Pod {
        Pod {
            key: Key::new("a", name),
            uid: name.into(),
            labels: Labels::new(),
            controller: None,
            node: Some(name.into()),
            target: None,
            phase: Phase::Running,
            ready: true,
            ready_since: Some(at(0)),
            deleted: None,
            created: at(0),
            finished: None,
            restarts: 0,
            deletion_cost: 0,
            index: None,
            tracked: false,
            claims: Vec::new(),
        }
    }

    #[test]
    fn the_smallest_loss_goes_first() {
        let mut pods: Vec<_> = [
            Pod { node: Some("shared".into()), ..pod("g-doubled-up") },
            Pod { node: Some("shared".into()), ..pod("h-doubled-up") },
            pod("z-veteran"),
            Pod { ready_since: Some(at(9_000)), ..pod("i-fresh") },
            Pod { created: at(9_000), ..pod("k-young") },
            Pod { restarts: 3, ..pod("j-restarted") },
            Pod { deletion_cost: -1, ..pod("f-cheap") },
            Pod { deletion_cost: 1, ..pod("zz-dear") },
            Pod { ready: false, ..pod("e-not-ready") },
            Pod { phase: Phase::Pending, ready: false, ..pod("c-not-started") },
            Pod { phase: Phase::Unknown, ready: false, ..pod("d-unknown") },
            Pod { node: None, phase: Phase::Pending, ready: false, ..pod("b-not-placed") },
        ]
        .into_iter()
        .map(Arc::new)
        .collect();
        sort_for_deletion(&mut pods, at(10_000));
        let order: Vec<_> = pods.iter().map(|pod| &*pod.key.name).collect();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(order, sorted);
    }

    #[test]
    fn available_is_ready_for_long_enough() {
        let pod = Pod { ready_since: Some(at(100)), ..pod("a") };
        assert!(pod.is_available(0, at(100)));
        assert!(!pod.is_available(10, at(109)));
        assert!(pod.is_available(10, at(110)));
        let pods = [Arc::new(pod.clone())];
        assert_eq!(next_available(&pods, 10, at(105)), Some(at(110)));
        assert_eq!(next_available(&pods, 10, at(110)), None);
        assert!(!Pod { ready: false, ..pod }.is_available(0, at(1_000)));
    }
}
