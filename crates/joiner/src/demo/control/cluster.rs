//! The objects that the control loop reads and writes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use joiner_apiserver::{Caller, Key, Object, Resource, Server, Status};
use joiner_core::instance_type::Catalog;
use joiner_lab::{chance::Chance, cluster::machines::Machines};
use serde_json::{Value, json};

/// A kind of objects: group, API version, plural and kind. Stored objects do not say theirs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind(&'static str, &'static str, &'static str, &'static str);

pub(super) const PODS: Kind = Kind("", "v1", "pods", "Pod");
pub(super) const NODES: Kind = Kind("", "v1", "nodes", "Node");
pub(super) const NAMESPACES: Kind = Kind("", "v1", "namespaces", "Namespace");
pub(super) const DAEMON_SETS: Kind = Kind("apps", "apps/v1", "daemonsets", "DaemonSet");
pub(super) const NODE_POOLS: Kind =
    Kind("karpenter.sh", "karpenter.sh/v1", "nodepools", "NodePool");
pub(super) const NODE_CLAIMS: Kind =
    Kind("karpenter.sh", "karpenter.sh/v1", "nodeclaims", "NodeClaim");

impl Kind {
    pub(super) fn resource(self) -> Resource {
        Resource::new(self.0, self.2)
    }
}

/// A cluster, its cloud, and what has to be remembered between turns.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) caller: Caller,
    pub(super) machines: Machines,
    pub(super) chance: Chance,
    pub(super) catalog: Catalog,
    /// Pods as of this turn.
    pub(super) pods: Vec<Value>,
    /// The uids of pods that wait and were planned for, and when that was.
    pub(super) planned: (BTreeSet<String>, Timestamp),
    /// Since when nodes have had no pods but daemons'.
    pub(super) empty_since: BTreeMap<String, Timestamp>,
    /// What was last said about each pod, so that it is said once.
    pub(super) said: BTreeMap<String, String>,
    events: u64,
}

impl Cluster {
    pub(super) fn new(server: &Server, machines: Machines, chance: Chance) -> Self {
        Self {
            caller: server.caller("karpenter"),
            machines,
            chance,
            catalog: Catalog::default(),
            pods: Vec::new(),
            planned: (BTreeSet::new(), Timestamp::MIN),
            empty_since: BTreeMap::new(),
            said: BTreeMap::new(),
            events: 0,
        }
    }

    /// Does what can be done now.
    pub(super) fn turn(&mut self, now: Timestamp) {
        self.pods = self.all(PODS);
        let pools = self.all(NODE_POOLS);
        if !pools.iter().map(name).eq(self.catalog.by_pool.keys()) {
            self.catalog = joiner_kwok::catalog(pools.iter().map(name));
        }
        for claim in self.all(NODE_CLAIMS) {
            if claim["metadata"]["deletionTimestamp"].is_null() {
                self.bring_up(&claim, now);
            } else {
                self.take_down(&claim);
            }
        }
        self.remove_unneeded(now);
        self.provision(now);
    }

    /// All objects of a kind, in the order of their names.
    pub(super) fn all(&self, kind: Kind) -> Vec<Value> {
        let whole = |object: &Arc<Object>| {
            let mut value = object.value();
            value["apiVersion"] = kind.1.into();
            value["kind"] = kind.3.into();
            value
        };
        self.caller.list(&kind.resource(), None).iter().map(whole).collect()
    }

    pub(super) fn node_of(&self, claim: &Value) -> Option<Value> {
        let key = Key::new("", name(claim));
        self.caller.get(&NODES.resource(), &key).ok().map(|node| node.value())
    }

    /// Pods on a node that are neither over nor daemons'.
    pub(super) fn pods_on(&self, node: &str) -> impl Iterator<Item = &Value> {
        self.pods.iter().filter(move |pod| {
            let phase = pod["status"]["phase"].as_str().unwrap_or_default();
            let owner = &pod["metadata"]["ownerReferences"][0]["kind"];
            let over = matches!(phase, "Succeeded" | "Failed");
            pod["spec"]["nodeName"] == node && !over && owner != "DaemonSet"
        })
    }

    pub(super) fn patch(
        &self,
        kind: Kind,
        object: &str,
        subresource: Option<&'static str>,
        patch: Value,
    ) -> Result<(), Status> {
        let key = Key::new("", object);
        self.caller.merge(&kind.resource(), &key, subresource, patch).map(drop)
    }

    /// Sets conditions of a claim, together with other fields of its status.
    pub(super) fn set_conditions(
        &self,
        claim: &Value,
        now: Timestamp,
        new: &[(&str, &str, &str)],
        mut status: Value,
    ) {
        let old = claim["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let mut conditions = old;
        for (kind, reason, message) in new {
            conditions.retain(|condition| condition["type"] != *kind);
            conditions.push(json!({
                "type": kind, "status": "True", "reason": reason, "message": message,
                "lastTransitionTime": seconds(now),
            }));
        }
        status["conditions"] = conditions.into();
        let patch = json!({"status": status});
        // A claim that has just gone needs no condition; anything else is tried at the next turn.
        let _ = self.patch(NODE_CLAIMS, name(claim), Some("status"), patch);
    }

    /// Says something about an object.
    pub(super) fn tell(&mut self, about: &Value, now: Timestamp, reason: &str, message: &str) {
        self.events += 1;
        let namespace = about["metadata"]["namespace"].as_str().unwrap_or("default");
        let normal = reason != "FailedScheduling";
        let event = json!({
            "metadata": {
                "namespace": namespace,
                "name": format!("{}.{:x}", name(about), self.events),
            },
            "involvedObject": {
                "apiVersion": about["apiVersion"], "kind": about["kind"],
                "namespace": about["metadata"]["namespace"], "name": name(about),
                "uid": about["metadata"]["uid"],
            },
            "reason": reason, "message": message,
            "type": if normal { "Normal" } else { "Warning" },
            "source": {"component": "karpenter"},
            "firstTimestamp": seconds(now), "lastTimestamp": seconds(now), "count": 1,
        });
        // Events are best effort.
        let _ = self.caller.create(&Resource::new("", "events"), event);
    }
}

pub(super) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Whether a condition is true.
pub(super) fn is(object: &Value, condition: &str) -> bool {
    condition_of(object, condition).is_some_and(|own| own["status"] == "True")
}

pub(super) fn condition_of<'o>(object: &'o Value, kind: &str) -> Option<&'o Value> {
    object["status"]["conditions"].as_array()?.iter().find(|own| own["type"] == kind)
}

/// A moment as Kubernetes writes it.
fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
