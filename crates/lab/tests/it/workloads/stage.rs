//! A cluster on a stage: the controllers are real, the hands that place and run pods are simple.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Caller, Change, DeleteOptions, Key, Propagation, Resource, Server, Status};
use joiner_clock::Clock;
use joiner_lab::cluster::{Cluster, Controller, workloads};
use serde_json::{Value, json};

/// The stage: a server, the controllers, and the hands.
pub(crate) struct Stage {
    pub(crate) server: Server,
    caller: Caller,
    cluster: Cluster,
    silent: Arc<Mutex<BTreeSet<String>>>,
}

/// A resource by the name that kubectl takes.
pub(crate) fn resource(name: &str) -> Resource {
    let (plural, group) = name.split_once('.').unwrap_or((name, ""));
    Resource::new(group, plural)
}

impl Stage {
    /// A cluster with so many nodes, `n1` and so on, each of which is ready and in a zone of its
    /// own.
    pub(crate) async fn with_nodes(count: usize) -> Self {
        let clock = Clock::following_runtime("2026-01-01T00:00:00Z".parse().unwrap());
        let server = Server::new(clock, 7);
        let silent = Arc::new(Mutex::new(BTreeSet::new()));
        let mut controllers = workloads::controllers(&server);
        let hands = Hands {
            caller: server.caller("hands"),
            silent: Arc::clone(&silent),
            next_beat: None,
            turn: 0,
            pods: BTreeSet::new(),
        };
        controllers.push(Box::new(hands));
        let cluster = Cluster::new(server.clone(), controllers);
        let caller = server.caller("test");
        let mut stage = Self { server, caller, cluster, silent };
        stage.pass(0).await;
        for number in 1..=count {
            stage.add_node(&format!("n{number}"));
        }
        stage.pass(1).await;
        stage
    }

    /// Adds a node that is ready.
    pub(crate) fn add_node(&self, name: &str) {
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": name}},
        });
        self.create("nodes", node);
        self.patch_status(
            "nodes",
            name,
            json!({"conditions": [
                {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""},
            ]}),
        );
    }

    /// Lets a node fall silent.
    pub(crate) fn silence(&self, node: &str) {
        self.silent.lock().unwrap().insert(node.to_owned());
    }

    /// Lets this much time pass.
    pub(crate) async fn pass(&mut self, seconds: i64) {
        let end = self.server.clock().now() + SignedDuration::from_secs(seconds);
        loop {
            let due = self.cluster.settle();
            match due.filter(|due| *due <= end) {
                Some(due) => self.server.clock().sleep_until(due).await,
                None => {
                    self.server.clock().sleep_until(end).await;
                    break;
                }
            }
        }
        self.cluster.settle();
    }

    pub(crate) fn try_create(&self, name: &str, mut object: Value) -> Result<(), Status> {
        let cluster_scoped = ["nodes", "namespaces", "persistentvolumes"].contains(&name);
        if !cluster_scoped && object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = "default".into();
        }
        self.caller.create(&resource(name), object).map(drop)
    }

    pub(crate) fn create(&self, name: &str, object: Value) {
        if let Err(status) = self.try_create(name, object) {
            panic!("{name}: {status}");
        }
    }

    fn key(resource: &str, name: &str) -> Key {
        let cluster_scoped = resource == "nodes" || resource == "namespaces";
        Key::new(if cluster_scoped { "" } else { "default" }, name)
    }

    /// An object; null when it is not there.
    pub(crate) fn get(&self, kind: &str, name: &str) -> Value {
        let object = self.caller.get(&resource(kind), &Self::key(kind, name));
        object.map(|object| object.value()).unwrap_or_default()
    }

    /// All objects of a resource.
    pub(crate) fn list(&self, kind: &str) -> Vec<Value> {
        self.caller.list(&resource(kind), None).iter().map(|object| object.value()).collect()
    }

    /// The names of the objects of a resource in the default namespace.
    pub(crate) fn names(&self, kind: &str) -> String {
        let objects = self.caller.list(&resource(kind), Some("default"));
        objects.iter().map(|object| object.key.name.to_string()).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn patch(&self, kind: &str, name: &str, patch: Value) {
        let key = Self::key(kind, name);
        self.caller.merge(&resource(kind), &key, None, patch).unwrap();
    }

    pub(crate) fn patch_status(&self, kind: &str, name: &str, status: Value) {
        let key = Self::key(kind, name);
        let patch = json!({"status": status});
        self.caller.merge(&resource(kind), &key, Some("status"), patch).unwrap();
    }

    pub(crate) fn delete(&self, kind: &str, name: &str, propagation: Option<Propagation>) {
        let options = DeleteOptions { propagation, ..DeleteOptions::default() };
        self.caller.delete(&resource(kind), &Self::key(kind, name), options).unwrap();
    }

    pub(crate) fn evict(&self, pod: &str) -> Result<(), Status> {
        self.caller.evict(&Key::new("default", pod))
    }

    /// `reason xcount: message` of all events of these reasons, in the order of their objects.
    pub(crate) fn events(&self, reasons: &[&str]) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.list("events")
            .iter()
            .filter(|event| reasons.contains(&event["reason"].as_str().unwrap_or_default()))
            .map(|event| format!("{}: {}", text(&event["reason"]), text(&event["message"])))
            .collect()
    }

    /// How often anything was written.
    pub(crate) fn version(&self) -> u64 {
        self.server.version()
    }
}

/// `type=status reason` of each condition.
pub(crate) fn conditions(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let one = |condition: &Value| {
        let (kind, status) = (text(&condition["type"]), text(&condition["status"]));
        format!("{kind}={status} {}", text(&condition["reason"]))
    };
    list.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The template of a pod that does nothing, with a label and some more of its spec.
pub(crate) fn template(app: &str, more: Value) -> Value {
    let mut spec = json!({"containers": [{"name": "c", "image": "i"}]});
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    json!({"metadata": {"labels": {"app": app}}, "spec": spec})
}

/// Places and runs pods at once. A pod with the label `broken` never gets ready; one with the
/// label `ends` ends, with success or failure.
struct Hands {
    caller: Caller,
    silent: Arc<Mutex<BTreeSet<String>>>,
    next_beat: Option<Timestamp>,
    turn: usize,
    pods: BTreeSet<Key>,
}

impl Hands {
    fn handle(&mut self, key: &Key, now: Timestamp) {
        let pods = resource("pods");
        let Ok(object) = self.caller.get(&pods, key) else { return };
        let pod = object.value();
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        if self.silent.lock().unwrap().contains(node) {
            return;
        }
        if object.deleting {
            let options = DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
            let _ = self.caller.delete(&pods, key, options);
        } else if node.is_empty() {
            if let Some(node) = self.place(&pod) {
                self.caller.bind(key, &node).unwrap();
            }
        } else if pod["status"]["phase"] == "Pending" {
            let status = started(&pod, now);
            self.caller.merge(&pods, key, Some("status"), json!({"status": status})).unwrap();
        }
    }

    fn place(&mut self, pod: &Value) -> Option<String> {
        let terms = &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            ["nodeSelectorTerms"];
        if let Some(node) = terms[0]["matchFields"][0]["values"][0].as_str() {
            return Some(node.to_owned());
        }
        let nodes = self.caller.list(&resource("nodes"), None);
        let open: Vec<_> = nodes
            .iter()
            .filter(|node| node.value()["spec"]["taints"].is_null())
            .map(|node| node.key.name.to_string())
            .collect();
        self.turn += 1;
        (!open.is_empty()).then(|| open[self.turn % open.len()].clone())
    }

    fn beat(&mut self, now: Timestamp) {
        let leases = resource("leases.coordination.k8s.io");
        for node in self.caller.list(&resource("nodes"), None) {
            let name = node.key.name.to_string();
            if self.silent.lock().unwrap().contains(&name) {
                continue;
            }
            let key = Key::new("kube-node-lease", &name);
            let spec = json!({
                "holderIdentity": name,
                "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string(),
            });
            if self.caller.get(&leases, &key).is_ok() {
                self.caller.merge(&leases, &key, None, json!({"spec": spec})).unwrap();
                continue;
            }
            let lease = json!({
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": name, "namespace": "kube-node-lease"},
                "spec": spec,
            });
            self.caller.create(&leases, lease).unwrap();
        }
    }
}

/// What a kubelet says of a pod that it has started.
fn started(pod: &Value, now: Timestamp) -> Value {
    let labels = &pod["metadata"]["labels"];
    let ready = |status: &str| json!([{"type": "Ready", "status": status, "lastTransitionTime": now.to_string()}]);
    match labels["ends"].as_str() {
        None if labels["broken"].is_string() => {
            json!({"phase": "Running", "conditions": ready("False")})
        }
        None => json!({"phase": "Running", "conditions": ready("True")}),
        Some(end) => {
            let code = i32::from(end != "well");
            let terminated = json!({"exitCode": code, "finishedAt": now.to_string()});
            json!({
                "phase": if code == 0 { "Succeeded" } else { "Failed" },
                "conditions": ready("False"),
                "containerStatuses": [{
                    "name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
                    "state": {"terminated": terminated},
                }],
            })
        }
    }
}

impl Controller for Hands {
    fn name(&self) -> &'static str {
        "hands"
    }

    fn observe(&mut self, change: &Change, _: Timestamp) {
        if change.resource.is("", "pods") {
            self.pods.insert(change.object.key.clone());
        }
    }

    fn act(&mut self, now: Timestamp) -> Option<Timestamp> {
        if self.next_beat.is_none_or(|next| next <= now) {
            self.beat(now);
            self.next_beat = Some(now + SignedDuration::from_secs(10));
        }
        let seen = std::mem::take(&mut self.pods);
        for key in &seen {
            self.handle(key, now);
        }
        self.next_beat
    }
}
