//! The life of nodes: who stops sending is unknown, and what a node says becomes taints.

mod pace;

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use joiner_apiserver::{Caller, Key, Resource, Server, Status};
use serde_json::{Value, json};

use self::pace::Pace;
use super::{
    Part,
    events::{About, Recorder},
    facts::{find_condition, later, stamp},
    owned::unless_gone,
    pods::Pod,
    queue::Queue,
    world::{Both, News, Node, World},
};

/// How long a node may be silent (`--node-monitor-grace-period`).
const GRACE_SECONDS: i64 = 50;
/// How long a new node may take to speak for the first time (`--node-startup-grace-period`).
const STARTUP_GRACE_SECONDS: i64 = 60;

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// What a node's conditions are as `NoSchedule` taints: condition, status, taint.
const CONDITION_TAINTS: [(&str, &str, &str); 6] = [
    ("Ready", "False", NOT_READY),
    ("Ready", "Unknown", UNREACHABLE),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ("NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
];
/// The taint of a cordoned node.
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// The conditions that become unknown when a node is silent.
const KUBELET_CONDITIONS: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/// The controller of nodes' lives.
pub(super) struct Nodes {
    caller: Caller,
    recorder: Recorder,
    resource: Resource,
    pods: Resource,
    health: BTreeMap<Arc<str>, Health>,
    pace: Pace,
    /// Whether waiting nodes have to ask for their turn again.
    restless: bool,
    queue: Queue<Arc<str>>,
    /// Nodes that came or went, to be told about.
    registered: Vec<(Arc<str>, Arc<str>, bool)>,
}

/// How a node is.
#[derive(Debug)]
struct Health {
    /// When it was last heard of.
    heard: Timestamp,
    zone: String,
    ready: bool,
    /// It was ready and no longer is: its pods have to be told.
    lost: bool,
    /// When it may be declared lost.
    turn: Option<Timestamp>,
}

/// The zone by which the pace of a node is set.
fn zone(node: &Node) -> String {
    let label = |key: &str| node.labels.get(key).map(String::as_str).unwrap_or_default();
    format!("{}:{}", label("topology.kubernetes.io/region"), label("topology.kubernetes.io/zone"))
}

/// The taints a node should have of those that are ours to set: key and effect. `may_evict` says
/// whether it may drive out pods already.
fn wanted_taints(node: &Node, may_evict: bool) -> Vec<(&'static str, &'static str)> {
    let mut wanted: Vec<_> = CONDITION_TAINTS
        .into_iter()
        .filter(|(condition, status, _)| node.says(condition, status))
        .map(|(_, _, taint)| (taint, "NoSchedule"))
        .collect();
    if node.unschedulable {
        wanted.push((UNSCHEDULABLE, "NoSchedule"));
    }
    if may_evict && let Some(taint) = evicting_taint(node) {
        wanted.push((taint, "NoExecute"));
    }
    wanted
}

/// The taint by which a node in this state drives out pods.
fn evicting_taint(node: &Node) -> Option<&'static str> {
    if node.says("Ready", "Unknown") {
        Some(UNREACHABLE)
    } else if node.says("Ready", "False") {
        Some(NOT_READY)
    } else {
        None
    }
}

/// Whether a taint is one of ours.
fn is_ours(key: &str, effect: &str) -> bool {
    match effect {
        "NoSchedule" => {
            key == UNSCHEDULABLE || CONDITION_TAINTS.iter().any(|(_, _, taint)| *taint == key)
        }
        "NoExecute" => key == NOT_READY || key == UNREACHABLE,
        _ => false,
    }
}

/// A node's list of taints with ours as wanted; nothing when it is so already. A node that does
/// not say whether it is ready keeps what it was registered with.
fn retainted(
    taints: &Value,
    wanted: &[(&str, &str)],
    speaks: bool,
    now: Timestamp,
) -> Option<Vec<Value>> {
    let present = taints.as_array().cloned().unwrap_or_default();
    let text = |taint: &Value, field: &str| taint[field].as_str().unwrap_or_default().to_owned();
    let identity = |taint: &Value| (text(taint, "key"), text(taint, "effect"));
    let mut result: Vec<Value> = present
        .iter()
        .filter(|taint| {
            let (key, effect) = identity(taint);
            let ours = is_ours(&key, &effect) && (speaks || key == UNSCHEDULABLE);
            !ours || wanted.contains(&(&key, &effect))
        })
        .cloned()
        .collect();
    for (key, effect) in wanted {
        if !result.iter().any(|taint| taint["key"] == *key && taint["effect"] == *effect) {
            result.push(json!({"key": key, "effect": effect, "timeAdded": stamp(now)}));
        }
    }
    (result != present).then_some(result)
}

/// Whether a node has just the taints that it should have, of those that are ours to set.
fn has_taints(node: &Node, wanted: &[(&str, &str)], speaks: bool) -> bool {
    let of_node = || node.taints.iter().map(|taint| (taint.key.as_str(), taint.effect.as_str()));
    let is_set =
        |(key, effect): (&str, &str)| is_ours(key, effect) && (speaks || key == UNSCHEDULABLE);
    wanted.iter().all(|taint| of_node().any(|present| present == *taint))
        && of_node().filter(|taint| is_set(*taint)).all(|taint| wanted.contains(&taint))
}

impl Nodes {
    /// The controller of nodes' lives.
    pub(super) fn new(server: &Server) -> Self {
        Self {
            caller: server.caller("node-controller"),
            recorder: Recorder::new(server, "node-controller"),
            resource: Resource::new("", "nodes"),
            pods: Resource::new("", "pods"),
            health: BTreeMap::new(),
            pace: Pace::default(),
            restless: false,
            queue: Queue::default(),
            registered: Vec::new(),
        }
    }

    fn observe_node(&mut self, node: &Both<Node>, now: Timestamp) {
        let Some(name) = node.last().map(|node| Arc::clone(&node.name)) else { return };
        if let Some(health) = self.health.get(&name) {
            self.restless |= self.pace.count(&health.zone, health.ready, false);
        }
        let Some(after) = &node.after else {
            self.health.remove(&name);
            self.queue.forget(&name);
            if let Some(before) = &node.before {
                self.registered.push((name, Arc::clone(&before.uid), false));
            }
            return;
        };
        let ready = after.says("Ready", "True");
        let zone = zone(after);
        self.restless |= self.pace.count(&zone, ready, true);
        let heartbeat = |node: &Node| {
            node.condition("Ready").and_then(|ready| ready.last_heartbeat_time.clone())
        };
        let spoke = node.before.as_ref().is_none_or(|before| heartbeat(before) != heartbeat(after));
        if node.before.is_none() {
            self.registered.push((Arc::clone(&name), Arc::clone(&after.uid), true));
        }
        let health = self.health.entry(Arc::clone(&name)).or_insert_with(|| Health {
            heard: now,
            zone: String::new(),
            ready: false,
            lost: false,
            turn: None,
        });
        if spoke {
            health.heard = now;
        }
        health.lost |= health.ready && !ready;
        if ready {
            (health.lost, health.turn) = (false, None);
        }
        (health.ready, health.zone) = (ready, zone);
        self.queue.add(name);
    }

    fn sync(
        &mut self,
        world: &World,
        name: &Arc<str>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let (Some(node), Some(health)) = (world.node(name), self.health.get(name)) else {
            return Ok(None);
        };
        let speaks = node.condition("Ready").is_some();
        let silent_at = if speaks {
            later(health.heard, GRACE_SECONDS)
        } else {
            later(node.created.max(health.heard), STARTUP_GRACE_SECONDS)
        };
        let unknown = KUBELET_CONDITIONS.iter().all(|kind| node.says(kind, "Unknown"));
        if silent_at <= now && !unknown {
            // The taints follow when this change comes back.
            self.mark_unknown(name, now)?;
            return Ok(None);
        }
        if self.health.get(name).is_some_and(|health| health.lost) {
            self.tell_pods(world, node, now)?;
        }
        let turn = self.turn(node, now);
        let wanted = wanted_taints(node, turn.is_some_and(|turn| turn <= now));
        if !has_taints(node, &wanted, speaks) {
            self.set_taints(name, &wanted, speaks, now)?;
        }
        let silent_at = (!unknown).then_some(silent_at);
        Ok([silent_at, turn.filter(|turn| *turn > now)].into_iter().flatten().min())
    }

    /// When a node may drive out pods; nothing when it should not or has to wait for others.
    fn turn(&mut self, node: &Node, now: Timestamp) -> Option<Timestamp> {
        evicting_taint(node)?;
        if self.pace.all_dark() {
            return None;
        }
        let health = self.health.get_mut(&node.name)?;
        let drives_out = [NOT_READY, UNREACHABLE].iter().any(|key| {
            node.taints
                .iter()
                .any(|taint| taint.key == *key && taint.effect.as_str() == "NoExecute")
        });
        if drives_out {
            return Some(now);
        }
        if health.turn.is_none() {
            health.turn = self.pace.turn(&health.zone, now);
        }
        health.turn
    }

    fn mark_unknown(&self, name: &Arc<str>, now: Timestamp) -> Result<(), Status> {
        let key = Key::new("", name);
        let object = self.caller.get(&self.resource, &key)?.value();
        let mut conditions = object["status"]["conditions"].clone();
        if !conditions.is_array() {
            conditions = json!([]);
        }
        for kind in KUBELET_CONDITIONS {
            let known = find_condition(&conditions, kind).is_some();
            let list = conditions.as_array_mut().expect("made a list above");
            if !known {
                list.push(json!({
                    "type": kind,
                    "status": "Unknown",
                    "reason": "NodeStatusNeverUpdated",
                    "message": "Kubelet never posted node status.",
                    "lastHeartbeatTime": object["metadata"]["creationTimestamp"],
                    "lastTransitionTime": stamp(now),
                }));
                continue;
            }
            for present in list {
                if present["type"] == kind && present["status"] != "Unknown" {
                    present["status"] = "Unknown".into();
                    present["reason"] = "NodeStatusUnknown".into();
                    present["message"] = "Kubelet stopped posting node status.".into();
                    present["lastTransitionTime"] = stamp(now).into();
                }
            }
        }
        let patch = json!({"status": {"conditions": conditions}});
        unless_gone(self.caller.merge(&self.resource, &key, Some("status"), patch))
    }

    /// Tells that a node is no longer ready, and that its pods are not either.
    fn tell_pods(&mut self, world: &World, node: &Node, now: Timestamp) -> Result<(), Status> {
        let pods: Vec<Arc<Pod>> =
            world.pods_on(&node.name).filter(|pod| pod.ready).cloned().collect();
        for pod in pods {
            let Ok(object) = self.caller.get(&self.pods, &pod.key) else { continue };
            let mut conditions = object.value()["status"]["conditions"].take();
            for present in conditions.as_array_mut().into_iter().flatten() {
                if present["type"] == "Ready" && present["status"] == "True" {
                    present["status"] = "False".into();
                    present["lastTransitionTime"] = stamp(now).into();
                }
            }
            let patch = json!({"status": {"conditions": conditions}});
            unless_gone(self.caller.merge(&self.pods, &pod.key, Some("status"), patch))?;
            let about = About::pod(&pod.key, &pod.uid);
            self.recorder.warning(&about, "NodeNotReady", "Node is not ready", now);
        }
        let about = About::node(&node.name, &node.uid);
        let message = format!("Node {} status is now: NodeNotReady", node.name);
        self.recorder.normal(&about, "NodeNotReady", &message, now);
        if let Some(health) = self.health.get_mut(&node.name) {
            health.lost = false;
        }
        Ok(())
    }

    fn set_taints(
        &self,
        name: &Arc<str>,
        wanted: &[(&str, &str)],
        speaks: bool,
        now: Timestamp,
    ) -> Result<(), Status> {
        let key = Key::new("", name);
        let Ok(object) = self.caller.get(&self.resource, &key) else { return Ok(()) };
        let object = object.value();
        let Some(taints) = retainted(&object["spec"]["taints"], wanted, speaks, now) else {
            return Ok(());
        };
        let taints = if taints.is_empty() { Value::Null } else { taints.into() };
        let version = &object["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"resourceVersion": version}, "spec": {"taints": taints}});
        unless_gone(self.caller.merge(&self.resource, &key, None, patch))
    }
}

impl Part for Nodes {
    fn observe(&mut self, _: &World, news: &News<'_>) {
        if let Some(node) = &news.node {
            self.observe_node(node, news.now);
        }
        if let Some((lease, gone)) = news.of("coordination.k8s.io", "leases")
            && !gone
            && &*lease.key.namespace == "kube-node-lease"
            && let Some(health) = self.health.get_mut(&lease.key.name)
        {
            health.heard = news.now;
        }
    }

    fn act(&mut self, world: &World, now: Timestamp) -> Option<Timestamp> {
        for (name, uid, came) in std::mem::take(&mut self.registered) {
            let about = About::node(&name, &uid);
            let (reason, what) = if came {
                ("RegisteredNode", format!("Registered Node {name} in Controller"))
            } else {
                ("RemovingNode", format!("Removing Node {name} from Controller"))
            };
            self.recorder.normal(&about, reason, &format!("Node {name} event: {what}"), now);
        }
        if std::mem::take(&mut self.restless) {
            for (name, health) in self.health.iter_mut().filter(|(_, health)| !health.ready) {
                health.turn = None;
                self.queue.add(Arc::clone(name));
            }
        }
        for name in self.queue.take(now) {
            let result = self.sync(world, &name, now);
            self.queue.settle(name, now, &result);
        }
        self.queue.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taints_of_others_stay_and_ours_follow_the_conditions() {
        let now = Timestamp::UNIX_EPOCH;
        let taints = json!([
            {"key": "gpu", "effect": "NoSchedule", "value": "a"},
            {"key": NOT_READY, "effect": "NoSchedule"},
        ]);
        let result = retainted(&taints, &[(UNREACHABLE, "NoExecute")], true, now).unwrap();
        let text: Vec<_> = result
            .iter()
            .map(|taint| format!("{}:{}", taint["key"].as_str().unwrap(), taint["effect"]))
            .collect();
        assert_eq!(text, ["gpu:\"NoSchedule\"", "node.kubernetes.io/unreachable:\"NoExecute\""]);
        assert_eq!(retainted(&result.into(), &[(UNREACHABLE, "NoExecute")], true, now), None);
        // Before a node has said whether it is ready, it keeps what it came with.
        assert_eq!(retainted(&taints, &[], false, now), None);
    }
}
