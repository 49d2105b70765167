//! How long pods take to start, and how long pending pods have waited.
//!
//! A pod is tracked from its first pending state until it is ready. So only pods that are about to
//! start use memory.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use super::{
    Metrics,
    gauge_set::{GaugeSet, Series},
    seconds,
};
use crate::{
    pods::{is_provisionable, is_terminal},
    world::{Change, Diff, Kept, Key},
};

/// How far pods that have not started yet have come.
#[derive(Debug, Default)]
pub struct PodTimes(Mutex<BTreeMap<Key, Times>>);

/// How far one pod has come.
#[derive(Debug, Clone, Copy)]
struct Times {
    created: Timestamp,
    /// When it was seen to want a place that the scheduler did not find.
    seen: Option<Timestamp>,
    /// When a plan first included it.
    decided: Option<Timestamp>,
    /// When a plan first had a place for it.
    placed: Option<Timestamp>,
    bound: bool,
}

impl PodTimes {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Times>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Metrics {
    /// Records a change of a pod.
    pub fn pod_changed(&self, change: &Change, now: Timestamp) {
        let Change::Pod(diff) = change else { return };
        let key = diff.latest().key();
        let mut all = self.pod_times().lock();
        let Some(pod) = diff.new.as_ref().filter(|pod| !is_terminal(pod)) else {
            all.remove(&key);
            return;
        };
        if is_another(diff) {
            all.remove(&key);
        }
        let Some(created) = pod.metadata.creation_timestamp.as_ref().map(|time| time.0) else {
            return;
        };
        if is_waiting(pod) {
            let begin = Times { created, seen: None, decided: None, placed: None, bound: false };
            all.entry(key.clone()).or_insert(begin);
        }
        let Some(times) = all.get_mut(&key) else { return };
        if times.seen.is_none() && is_provisionable(pod) {
            times.seen = Some(now);
        }
        if !times.bound
            && let Some(bound) = since(pod, "PodScheduled")
        {
            times.bound = true;
            self.pods_bound_duration().observe(seconds(created, bound));
            if let Some(placed) = times.placed {
                self.pods_provisioning_bound_duration().observe(seconds(placed, bound));
            }
        }
        if let Some(ready) = since(pod, "Ready") {
            self.pods_startup_duration().observe(seconds(created, ready));
            if let Some(placed) = times.placed {
                self.pods_provisioning_startup_duration().observe(seconds(placed, ready));
            }
            all.remove(&key);
        }
    }

    /// Records that a plan included pods, each `namespace/name`, and whether it placed them.
    pub fn pods_planned<'p>(
        &self,
        pods: impl IntoIterator<Item = (&'p str, bool)>,
        now: Timestamp,
    ) {
        let mut all = self.pod_times().lock();
        if all.is_empty() {
            return;
        }
        for (pod, has_place) in pods {
            let Some((namespace, name)) = pod.split_once('/') else { continue };
            let Some(times) = all.get_mut(&Key::new(Some(namespace), name)) else { continue };
            if times.decided.is_none() {
                times.decided = Some(now);
                let seen = times.seen.unwrap_or(now);
                self.pods_scheduling_decision_duration().observe(seconds(seen, now));
            }
            if has_place {
                times.placed.get_or_insert(now);
            }
        }
    }

    /// Updates the waiting times of pods.
    pub fn work_out_pod_times(&self, now: Timestamp) {
        let all: Vec<(Key, Times)> =
            self.pod_times().lock().iter().map(|(key, times)| (key.clone(), *times)).collect();
        let say = |gauges: &GaugeSet, began: &dyn Fn(&Times) -> Option<Timestamp>| {
            let series = all.iter().filter_map(|(key, times)| {
                let namespace = key.namespace().unwrap_or_default();
                let labels = [key.name(), namespace];
                let waited = seconds(began(times)?, now);
                Some((key.to_string(), vec![Series::new(&labels, waited)]))
            });
            gauges.replace_all(series.collect());
        };
        say(self.pods_unstarted_time(), &|times| Some(times.created));
        say(self.pods_unbound_time(), &|times| (!times.bound).then_some(times.created));
        say(self.pods_provisioning_unbound_time(), &|times| times.placed.filter(|_| !times.bound));
        say(self.pods_provisioning_unstarted_time(), &|times| times.placed);
        say(self.pods_provisioning_scheduling_undecided_time(), &|times| {
            times.seen.filter(|_| times.decided.is_none())
        });
    }
}

/// Whether another pod has taken the name of the one before.
fn is_another(diff: &Diff<Pod>) -> bool {
    let uid = |pod: &Pod| pod.metadata.uid.clone();
    match (&diff.old, &diff.new) {
        (Some(old), Some(new)) => uid(old) != uid(new),
        _ => false,
    }
}

/// Whether a pod has not begun to run.
fn is_waiting(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, None | Some("" | "Pending"))
}

/// Since when a condition of a pod holds, if it does.
fn since(pod: &Pod, type_: &str) -> Option<Timestamp> {
    let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let holds = conditions.find(|known| known.type_ == type_ && known.status == "True")?;
    holds.last_transition_time.as_ref().map(|time| time.0)
}
