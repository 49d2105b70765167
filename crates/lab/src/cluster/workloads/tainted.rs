//! Pods leave nodes with a `NoExecute` taint that they do not put up with, at once or after as
//! long as they tolerate it.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use joiner_apiserver::{Caller, DeleteOptions, Key, Resource, Server, Status};
use joiner_core::taint::{Effect, Taint};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Part,
    events::{About, Recorder},
    facts::{Condition, TolerationJson, later, read, set_condition},
    owned::unless_gone,
    pods::Pod,
    queue::Queue,
    world::{News, World},
};

/// The controller that evicts pods from tainted nodes.
pub(super) struct Tainted {
    caller: Caller,
    recorder: Recorder,
    pods: Resource,
    /// Pods that will have to leave, and since when that is known.
    leaving: BTreeMap<Key, Timestamp>,
    queue: Queue<Key>,
}

#[derive(Deserialize)]
struct PodJson {
    spec: SpecJson,
}

#[derive(Deserialize)]
struct SpecJson {
    tolerations: Option<Vec<TolerationJson>>,
}

/// For how long a pod may stay on a node with taints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stay {
    Forever,
    Seconds(i64),
    Leave,
}

/// For how long a pod with these tolerations may stay: every taint needs a toleration, and the
/// shortest of those that are limited counts.
fn stay(taints: &[&Taint], tolerations: &[TolerationJson]) -> Stay {
    let mut shortest: Option<i64> = None;
    for taint in taints {
        let mut answers = tolerations.iter().filter(|one| one.toleration().tolerates(taint));
        let Some(first) = answers.next() else { return Stay::Leave };
        let limits = std::iter::once(first).chain(answers).filter_map(|one| one.toleration_seconds);
        if let Some(limit) = limits.min() {
            shortest = Some(shortest.map_or(limit, |shortest| shortest.min(limit)));
        }
    }
    match shortest {
        None => Stay::Forever,
        Some(seconds) if seconds <= 0 => Stay::Leave,
        Some(seconds) => Stay::Seconds(seconds),
    }
}

impl Tainted {
    /// The controller that evicts pods from tainted nodes.
    pub(super) fn new(server: &Server) -> Self {
        Self {
            caller: server.caller("taint-eviction-controller"),
            recorder: Recorder::new(server, "taint-eviction-controller"),
            pods: Resource::new("", "pods"),
            leaving: BTreeMap::new(),
            queue: Queue::default(),
        }
    }

    fn sync(
        &mut self,
        world: &World,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let pod = world.pod(key).filter(|pod| pod.deleted.is_none());
        let node = pod.and_then(|pod| world.node(pod.node.as_ref()?));
        let (Some(pod), Some(node)) = (pod, node) else {
            self.leaving.remove(key);
            return Ok(None);
        };
        let taints: Vec<_> =
            node.taints.iter().filter(|taint| taint.effect == Effect::NoExecute).collect();
        let tolerations = if taints.is_empty() {
            Vec::new()
        } else {
            let object = match self.caller.get(&self.pods, key) {
                Ok(object) => object,
                Err(status) => return unless_gone::<()>(Err(status)).map(|()| None),
            };
            read::<PodJson>(&object).spec.tolerations.unwrap_or_default()
        };
        match stay(&taints, &tolerations) {
            Stay::Forever => {
                if self.leaving.remove(key).is_some() {
                    let message = format!("Cancelling deletion of Pod {key}");
                    let about = About::pod(&pod.key, &pod.uid);
                    self.recorder.normal(&about, "TaintManagerEviction", &message, now);
                }
                Ok(None)
            }
            Stay::Leave => self.evict(pod, now),
            Stay::Seconds(seconds) => {
                let since = *self.leaving.entry(key.clone()).or_insert(now);
                let until = later(since, seconds);
                if until > now { Ok(Some(until)) } else { self.evict(pod, now) }
            }
        }
    }

    fn evict(&mut self, pod: &Arc<Pod>, now: Timestamp) -> Result<Option<Timestamp>, Status> {
        let about = About::pod(&pod.key, &pod.uid);
        let message = format!("Marking for deletion Pod {}", pod.key);
        self.recorder.normal(&about, "TaintManagerEviction", &message, now);
        let condition = Condition {
            kind: "DisruptionTarget",
            status: "True",
            reason: "DeletionByTaintManager",
            message: "Taint manager: deleting due to NoExecute taint",
        };
        add_pod_condition(&self.caller, &self.pods, &pod.key, condition, now)?;
        let options = DeleteOptions { uid: Some((*pod.uid).into()), ..DeleteOptions::default() };
        unless_gone(self.caller.delete(&self.pods, &pod.key, options))?;
        self.leaving.remove(&pod.key);
        Ok(None)
    }
}

/// Adds a condition to a pod's status, if the pod is still there.
pub(super) fn add_pod_condition(
    caller: &Caller,
    pods: &Resource,
    pod: &Key,
    condition: Condition<'_>,
    now: Timestamp,
) -> Result<(), Status> {
    let Ok(object) = caller.get(pods, pod) else { return Ok(()) };
    let mut conditions: Value = object.value()["status"]["conditions"].take();
    if set_condition(&mut conditions, condition, now) {
        let patch = json!({"status": {"conditions": conditions}});
        unless_gone(caller.merge(pods, pod, Some("status"), patch))?;
    }
    Ok(())
}

impl Part for Tainted {
    fn observe(&mut self, world: &World, news: &News<'_>) {
        if let Some(node) = &news.node {
            let evicting = |taint: &&Taint| taint.effect == Effect::NoExecute;
            let before = node.before.iter().flat_map(|node| &node.taints).filter(evicting);
            let after = node.after.iter().flat_map(|node| &node.taints).filter(evicting);
            if !before.eq(after)
                && let Some(node) = node.last()
            {
                for pod in world.pods_on(&node.name) {
                    self.queue.add(pod.key.clone());
                }
            }
        }
        if let Some(pod) = &news.pod {
            let node = |pod: &Option<Arc<Pod>>| pod.as_ref().and_then(|pod| pod.node.clone());
            match &pod.after {
                None => {
                    if let Some(before) = &pod.before {
                        self.queue.forget(&before.key);
                        self.leaving.remove(&before.key);
                    }
                }
                Some(after) => {
                    let evicts =
                        after.node.as_ref().and_then(|name| world.node(name)).is_some_and(|node| {
                            node.taints.iter().any(|taint| taint.effect == Effect::NoExecute)
                        });
                    if evicts && node(&pod.before) != node(&pod.after) {
                        self.queue.add(after.key.clone());
                    }
                }
            }
        }
    }

    fn act(&mut self, world: &World, now: Timestamp) -> Option<Timestamp> {
        for key in self.queue.take(now) {
            let result = self.sync(world, &key, now);
            self.queue.settle(key, now, &result);
        }
        self.queue.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_a_pod_stays() {
        let taint = |key: &str| Taint {
            key: key.to_owned(),
            value: String::new(),
            effect: Effect::NoExecute,
        };
        let (a, b) = (taint("a"), taint("b"));
        let tolerate = |key: &str, seconds: Option<i64>| {
            let mut toleration = json!({"key": key, "operator": "Exists"});
            if let Some(seconds) = seconds {
                toleration["tolerationSeconds"] = seconds.into();
            }
            TolerationJson::deserialize(&toleration).unwrap()
        };
        for (taints, tolerations, expected) in [
            (vec![], vec![], Stay::Forever),
            (vec![&a], vec![], Stay::Leave),
            (vec![&a], vec![tolerate("a", None)], Stay::Forever),
            (vec![&a], vec![tolerate("a", Some(300))], Stay::Seconds(300)),
            (vec![&a], vec![tolerate("a", Some(0))], Stay::Leave),
            (vec![&a, &b], vec![tolerate("a", Some(300))], Stay::Leave),
            (
                vec![&a, &b],
                vec![tolerate("a", Some(300)), tolerate("b", Some(30))],
                Stay::Seconds(30),
            ),
            (vec![&a], vec![tolerate("a", None), tolerate("a", Some(5))], Stay::Seconds(5)),
        ] {
            assert_eq!(stay(&taints, &tolerations), expected);
        }
    }
}
