//! Objects for tests.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{Change, Seen, View, prices::Prices};

/// A view to which objects are shown at seconds of its time.
pub(crate) struct Stand {
    pub(crate) view: View,
}

impl Stand {
    pub(crate) fn new() -> Self {
        let prices = Prices::from_iter([(["c-8x", "spot", "a"].map(str::to_owned), 0.2)]);
        Self { view: View::new(moment(0.0), prices) }
    }

    pub(crate) fn see(&mut self, at: f64, object: Value) {
        self.show(at, object, Change::There);
    }

    pub(crate) fn gone(&mut self, at: f64, object: Value) {
        self.show(at, object, Change::Gone);
    }

    fn show(&mut self, at: f64, object: Value, change: Change) {
        let (group, plural) = match object["kind"].as_str().unwrap() {
            "Pod" => ("", "pods"),
            "Node" => ("", "nodes"),
            "Event" => ("", "events"),
            "NodeClaim" => ("karpenter.sh", "nodeclaims"),
            "NodePool" => ("karpenter.sh", "nodepools"),
            other => panic!("no {other} is shown"),
        };
        let seen = Seen::read(group, plural, object).unwrap().unwrap();
        self.view.see(moment(at), &seen, change);
    }
}

/// A moment of the view's time.
pub(crate) fn moment(seconds: f64) -> Timestamp {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    start + SignedDuration::from_secs_f64(seconds)
}

/// A pod of the Deployment `shop/web` that asks for 2 cores and a GiB.
pub(crate) fn pod(name: &str) -> Value {
    json!({
        "kind": "Pod",
        "metadata": {
            "namespace": "shop", "name": name,
            "labels": {"pod-template-hash": "7d4b9"},
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7d4b9", "uid": "1",
                "controller": true,
            }],
        },
        "spec": {"containers": [{
            "name": "web", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}},
        }]},
    })
}

/// A pod on a node.
pub(crate) fn pod_on(name: &str, node: &str, ready: bool) -> Value {
    let mut pod = pod(name);
    pod["spec"]["nodeName"] = node.into();
    let ready = if ready { "True" } else { "False" };
    pod["status"] = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]});
    pod
}

/// The pod of a DaemonSet on a node.
pub(crate) fn daemon(name: &str, node: &str) -> Value {
    let mut pod = pod_on(name, node, true);
    pod["metadata"]["ownerReferences"][0]["kind"] = "DaemonSet".into();
    pod["metadata"]["ownerReferences"][0]["name"] = "agent".into();
    pod["spec"]["containers"][0]["resources"]["requests"] = json!({"cpu": "100m"});
    pod
}

/// A node of 8 cores and 16 GiB.
pub(crate) fn node(name: &str, ready: bool) -> Value {
    let (status, message) = if ready { ("True", "") } else { ("Unknown", "kubelet is silent") };
    json!({
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {"providerID": format!("lab://{name}")},
        "status": {
            "allocatable": {"cpu": "8", "memory": "16Gi"},
            "conditions": [{"type": "Ready", "status": status, "message": message}],
        },
    })
}

/// The same node before its kubelet has said anything.
pub(crate) fn silent(mut node: Value) -> Value {
    node["status"]["conditions"] = json!([]);
    node
}

/// A claim of the pool `batch` for 3 pods, for which these conditions are true. One that is
/// launched has a shape and the provider id of the node of its name.
pub(crate) fn claim(name: &str, conditions: &[&str]) -> Value {
    let mut claim = json!({
        "kind": "NodeClaim",
        "metadata": {"name": name, "labels": {"karpenter.sh/nodepool": "batch"}},
        "spec": {
            "requirements": [{
                "key": "node.kubernetes.io/instance-type", "operator": "In",
                "values": ["c-8x", "s-8x"],
            }],
            "resources": {"requests": {"cpu": "6", "memory": "3Gi", "pods": "3"}},
        },
        "status": {"conditions": conditions.iter().map(|kind| {
            json!({"type": kind, "status": "True", "reason": kind})
        }).collect::<Vec<_>>()},
    });
    if conditions.contains(&"Launched") {
        let labels = &mut claim["metadata"]["labels"];
        labels["node.kubernetes.io/instance-type"] = "c-8x".into();
        labels["karpenter.sh/capacity-type"] = "spot".into();
        labels["topology.kubernetes.io/zone"] = "a".into();
        claim["status"]["providerID"] = format!("lab://{name}").into();
        claim["status"]["allocatable"] = json!({"cpu": "7900m", "memory": "15Gi"});
    }
    claim
}

/// The same claim while it is being deleted.
pub(crate) fn leaving(mut claim: Value, why: &str) -> Value {
    claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    let reason = json!({"type": "DisruptionReason", "status": "True", "reason": why});
    claim["status"]["conditions"].as_array_mut().unwrap().push(reason);
    claim
}

/// The same claim with a step that has failed.
pub(crate) fn failed(mut claim: Value, step: &str, why: &str) -> Value {
    let condition = json!({"type": step, "status": "False", "reason": "Failed", "message": why});
    claim["status"]["conditions"].as_array_mut().unwrap().push(condition);
    claim
}

/// An event about a claim.
pub(crate) fn event_of_claim(claim: &str, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Event",
        "metadata": {"namespace": "default", "name": format!("{claim}.1")},
        "involvedObject": {"kind": "NodeClaim", "name": claim},
        "source": {"component": "karpenter"},
        "reason": reason, "message": message,
    })
}

/// An event about a pod of the shop.
pub(crate) fn event(pod: &str, component: &str, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Event",
        "metadata": {"namespace": "shop", "name": format!("{pod}.1")},
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": pod},
        "source": {"component": component},
        "reason": reason, "message": message,
    })
}

/// A pool that may have 64 cores.
pub(crate) fn pool(name: &str) -> Value {
    json!({
        "kind": "NodePool", "metadata": {"name": name},
        "spec": {"template": {"spec": {}}, "limits": {"cpu": "64"}},
    })
}

/// A small cluster in which something of everything happens, at its 100th second.
pub(crate) fn busy() -> View {
    let mut stand = Stand::new();
    stand.see(0.0, pool("batch"));
    stand.see(0.0, pool("general"));
    stand.view.tell(moment(1.0), "A burst", "Many pods at once.");
    for name in ["web-1", "web-2", "web-3", "web-4", "web-5"] {
        stand.see(2.0, pod(name));
    }
    let all = ["Launched", "Registered", "Initialized"];
    for name in ["batch-one", "batch-two"] {
        stand.see(3.0, claim(name, &[]));
        stand.see(4.0, claim(name, &all[..1]));
        stand.see(38.0, node(name, true));
        stand.see(40.0, claim(name, &all));
        stand.see(41.0, daemon(&format!("agent-{name}"), name));
    }
    stand.see(42.0, pod_on("web-1", "batch-one", true));
    stand.see(42.0, pod_on("web-2", "batch-one", true));
    stand.see(42.0, pod_on("web-3", "batch-two", true));
    stand.view.pass(moment(45.0));
    stand.see(60.0, node("batch-two", false));
    stand.see(61.0, pod_on("web-3", "batch-two", false));
    stand.see(70.0, claim("batch-three", &[]));
    stand.see(71.0, claim("batch-three", &all[..1]));
    stand.see(
        72.0,
        event("web-4", "karpenter", "Nominated", "Pod should schedule on: nodeclaim/batch-three"),
    );
    let why = "Failed to schedule pod, no instance type has enough resources: the pod needs cpu 24";
    stand.see(73.0, event("web-5", "karpenter", "FailedScheduling", why));
    stand.view.pass(moment(100.0));
    stand.view
}
