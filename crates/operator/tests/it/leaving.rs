//! Nodes that go away, on a stage: where tests of drains and evictions begin.

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Call, DeleteOptions, Key, Resource};
use joiner_cloud::{instance::Instance, order::ClaimId};
use joiner_lab::{cluster::instances::InstanceSpec, history::Entry};
use joiner_operator::{
    eviction::{EvictionQueue, Evictions, PodId},
    termination::NodeTermination,
};
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};

use crate::stage::{Stage, claim};

/// The label that makes a node one of the test cloud's.
pub(crate) const CLASS_LABEL: &str = "karpenter.test.sh/testnodeclass";
pub(crate) const FINALIZER: &str = "karpenter.sh/termination";
pub(crate) const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";
const DEADLINE: &str = "karpenter.sh/nodeclaim-termination-timestamp";

/// A stage on which nodes are drained.
pub(crate) struct Leaving {
    pub(crate) stage: Stage,
    pub(crate) evictions: Evictions,
}

impl Leaving {
    /// Nodes are drained, and pods evicted; nobody but the test ends pods.
    pub(crate) fn new() -> Self {
        Self::on(Stage::bare(), true)
    }

    /// Pods are evicted, if the test wants them to be.
    pub(crate) fn evictions_only() -> Self {
        Self::on(Stage::bare(), false)
    }

    /// Nodes are drained in a whole cluster.
    pub(crate) fn whole() -> Self {
        Self::on(Stage::whole(), true)
    }

    fn on(stage: Stage, drains: bool) -> Self {
        let evictions = Evictions::new(&stage.context.clock);
        let stage = stage.with(|context| EvictionQueue::new(context, evictions.clone()));
        let stage = if drains {
            stage.with(|context| NodeTermination::new(context, evictions.clone()))
        } else {
            stage
        };
        Self { stage, evictions }
    }

    pub(crate) async fn pass(&mut self, seconds: i64) {
        self.stage.pass(seconds).await;
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.stage.context.now()
    }

    /// A ready node with its claim and its instance.
    pub(crate) fn node(&self, name: &str) {
        self.claim(name, name);
        self.instance(name);
        self.node_object(name, "True");
    }

    /// A claim for the instance of a node.
    pub(crate) fn claim(&self, name: &str, node: &str) {
        self.stage.create_class("default");
        let mut object = claim(name);
        object["metadata"]["finalizers"] = json!([FINALIZER]);
        self.stage.create("karpenter.sh", "nodeclaims", object);
        let status = json!({"status": {"providerID": provider_id(node), "nodeName": node}});
        self.stage.merge("karpenter.sh", "nodeclaims", name, Some("status"), status);
    }

    /// An instance in the cloud.
    pub(crate) fn instance(&self, name: &str) {
        let instance = Instance {
            provider_id: provider_id(name),
            claim: Some(ClaimId { name: name.to_owned(), uid: String::new() }),
            ..Instance::default()
        };
        self.stage.cloud.state().instances.insert(instance.provider_id.clone(), instance);
    }

    /// A node that is ready, or not.
    pub(crate) fn node_object(&self, name: &str, ready: &str) {
        self.node_of_instance(name, name, ready);
    }

    /// A node that goes by another name than its instance.
    pub(crate) fn node_of_instance(&self, name: &str, instance: &str, ready: &str) {
        let metadata =
            json!({"name": name, "labels": {CLASS_LABEL: "default"}, "finalizers": [FINALIZER]});
        let spec = json!({"providerID": provider_id(instance)});
        self.stage.create("", "nodes", json!({"metadata": metadata, "spec": spec}));
        let condition = json!({"type": "Ready", "status": ready});
        let status = json!({"status": {"conditions": [condition]}});
        self.stage.merge("", "nodes", name, Some("status"), status);
    }

    /// Boots an instance of the laboratory whose node, once it has joined, is ours.
    pub(crate) async fn boot(&mut self, name: &str, spec: InstanceSpec) {
        let labels = [(CLASS_LABEL.to_owned(), "default".to_owned())].into();
        let spec = InstanceSpec { provider_id: provider_id(name), labels, ..spec };
        self.stage.lab.instances().boot(spec).unwrap();
        self.claim(name, name);
        self.instance(name);
        self.pass(60).await;
        let finalizer = json!({"metadata": {"finalizers": [FINALIZER]}});
        self.stage.merge("", "nodes", name, None, finalizer);
    }

    /// Has the node's pods gone so many seconds from now.
    pub(crate) fn set_deadline(&self, claim: &str, seconds: i64) {
        let deadline = self.now() + SignedDuration::from_secs(seconds);
        self.annotate_claim(claim, DEADLINE, &deadline.to_string());
    }

    pub(crate) fn annotate_claim(&self, claim: &str, key: &str, value: &str) {
        let patch = json!({"metadata": {"annotations": {key: value}}});
        self.stage.merge("karpenter.sh", "nodeclaims", claim, None, patch);
    }

    pub(crate) fn delete_node(&self, name: &str) {
        self.stage.delete("", "nodes", name);
    }

    /// A running pod on the node `node-1`, with some fields more.
    pub(crate) fn pod(&self, name: &str, more: Value) {
        let mut pod = json!({
            "metadata": {"name": name, "namespace": "shop", "labels": {"app": name}},
            "spec": {
                "nodeName": "node-1",
                "containers": [{"name": "app", "image": "app"}],
            },
        });
        json_merge(&mut pod, more);
        if self.stage.find::<Value>("", "namespaces", "shop").is_none() {
            self.stage.create("", "namespaces", json!({"metadata": {"name": "shop"}}));
        }
        self.stage.create("", "pods", pod);
        let ready = json!([{"type": "Ready", "status": "True"}]);
        self.set_status(name, &json!({"phase": "Running", "conditions": ready}));
    }

    /// Changes a pod's status.
    pub(crate) fn set_status(&self, name: &str, status: &Value) {
        let patch = json!({"status": status});
        self.stage.merge("", "pods", &format!("shop/{name}"), Some("status"), patch);
    }

    /// Deletes a pod with so many seconds to end.
    pub(crate) fn delete_pod(&self, name: &str, grace_seconds: i64) {
        let options =
            DeleteOptions { grace_period_seconds: Some(grace_seconds), ..DeleteOptions::default() };
        let (pods, key) = (Resource::new("", "pods"), Key::new("shop", name));
        self.stage.lab.caller("admin").delete(&pods, &key, options).unwrap();
    }

    /// Ends a pod, as its kubelet would when its containers have stopped.
    pub(crate) fn end_pod(&self, name: &str) {
        self.delete_pod(name, 0);
    }

    pub(crate) fn find_pod(&self, name: &str) -> Option<Pod> {
        self.stage.find("", "pods", &format!("shop/{name}"))
    }

    /// Whether a pod is there and was asked to leave.
    pub(crate) fn is_leaving(&self, name: &str) -> bool {
        self.find_pod(name).unwrap().metadata.deletion_timestamp.is_some()
    }

    /// The pods that were asked to leave, by name.
    pub(crate) fn leaving(&self, names: &[&'static str]) -> Vec<&'static str> {
        names.iter().copied().filter(|name| self.is_leaving(name)).collect()
    }

    /// What a pod was last given to end, in seconds.
    pub(crate) fn grace(&self, name: &str) -> Option<i64> {
        self.find_pod(name)?.metadata.deletion_grace_period_seconds
    }

    pub(crate) fn find_node(&self, name: &str) -> Option<Node> {
        self.stage.find_node(name)
    }

    /// A budget for the pods with a label `app` of this value that allows so many evictions.
    pub(crate) fn budget(&self, name: &str, app: &str, allowed: i64) {
        let selector = json!({"matchLabels": {"app": app}});
        let metadata = json!({"name": name, "namespace": "shop"});
        let budget = json!({"metadata": metadata, "spec": {"selector": selector}});
        self.stage.create("policy", "poddisruptionbudgets", budget);
        self.allow(name, allowed);
    }

    /// Lets a budget allow so many evictions.
    pub(crate) fn allow(&self, budget: &str, allowed: i64) {
        let status = json!({"status": {
            "observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 1,
            "desiredHealthy": 1, "expectedPods": 1,
        }});
        let name = format!("shop/{budget}");
        self.stage.merge("policy", "poddisruptionbudgets", &name, Some("status"), status);
    }

    /// Wants a pod to leave, by `deadline` if there is one.
    pub(crate) fn evict(&self, name: &str, deadline: Option<Timestamp>) -> PodId {
        let pod = self.find_pod(name).unwrap();
        self.evictions.add(&pod, deadline);
        PodId::of(&pod)
    }

    /// What the API server was asked to do to a pod, and its code: `evict 429`, `delete 200`.
    pub(crate) fn asked(&self, name: &str) -> Vec<String> {
        let entries = self.stage.lab.history().entries();
        let calls = entries.iter().filter_map(|entry| match entry {
            Entry::Call(call) if *call.caller == *"joiner" && *call.key.name == *name => Some(call),
            _ => None,
        });
        let show = |call: &Call| match call.subresource.as_deref() {
            Some("eviction") => format!("evict {}", call.code),
            _ => format!("{} {}", call.verb, call.code),
        };
        calls.map(show).collect()
    }

    /// `type=status reason` of a claim's condition.
    pub(crate) fn condition(&self, claim: &str, type_: &str) -> Option<String> {
        let conditions = self.stage.claim(claim).status?.conditions;
        let condition = conditions.into_iter().find(|condition| condition.type_ == type_)?;
        Some(format!("{} {}", condition.status, condition.reason))
    }
}

fn provider_id(node: &str) -> String {
    format!("test://{node}")
}

fn json_merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (field, value) in more {
                json_merge(into.entry(field).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more,
    }
}
