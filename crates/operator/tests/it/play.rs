//! What happens to claims on a stage: nodes join them, somebody deletes them, conditions appear.

use joiner_api::{condition::find, node_claim::NodeClaim};
use joiner_operator::conditions::Conditioned;
use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};

use crate::stage::{Stage, claim};

/// The taint that kubelets of new instances register with.
pub(crate) fn unregistered() -> Value {
    json!({"key": "karpenter.sh/unregistered", "effect": "NoExecute"})
}

/// What the nodes of these tests have.
pub(crate) fn amounts() -> Value {
    json!({"cpu": "4", "memory": "16Gi", "pods": "110"})
}

/// A node of a claim's instance.
pub(crate) fn node(name: &str, claim: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"providerID": format!("test://{claim}"), "taints": [unregistered()]},
    })
}

/// A claim of a pool.
pub(crate) fn pool_claim(name: &str, pool: &Value) -> Value {
    let mut claim = claim(name);
    let pool_name = pool["metadata"]["name"].clone();
    claim["metadata"]["labels"] = json!({"karpenter.sh/nodepool": pool_name});
    claim["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "name": pool_name,
        "uid": pool["metadata"]["uid"], "blockOwnerDeletion": true,
    }]);
    claim
}

/// A claim of a provider that is not here.
pub(crate) fn foreign_claim(name: &str) -> Value {
    let mut foreign = claim(name);
    foreign["spec"]["nodeClassRef"]["kind"] = "OtherNodeClass".into();
    foreign
}

impl Stage {
    /// A claim, if it is there.
    pub(crate) fn find_claim(&self, name: &str) -> Option<NodeClaim> {
        self.find("karpenter.sh", "nodeclaims", name)
    }

    /// A node, if it is there.
    pub(crate) fn find_node(&self, name: &str) -> Option<Node> {
        self.find("", "nodes", name)
    }

    /// Creates a claim that is written out.
    pub(crate) fn create_claim_as(&self, claim: Value) -> Value {
        self.create_class("default");
        self.create("karpenter.sh", "nodeclaims", claim)
    }

    /// Deletes a claim as an administrator would.
    pub(crate) fn delete_claim(&self, name: &str) {
        self.delete("karpenter.sh", "nodeclaims", name);
    }

    /// Has a node join: its kubelet creates it as it is written out. It is ready.
    pub(crate) fn join(&self, node: Value) {
        let name = node["metadata"]["name"].as_str().unwrap().to_owned();
        let taints = node["spec"]["taints"].clone();
        self.create("", "nodes", node);
        // The API server taints nodes that are not ready, which this one soon is.
        self.merge("", "nodes", &name, None, json!({"spec": {"taints": taints}}));
        self.report(&name, true, &amounts());
    }

    /// What the kubelet says of its node.
    pub(crate) fn report(&self, node: &str, is_ready: bool, amounts: &Value) {
        let ready = if is_ready { "True" } else { "False" };
        let status = json!({"status": {
            "conditions": [{"type": "Ready", "status": ready}],
            "capacity": amounts, "allocatable": amounts,
        }});
        self.merge("", "nodes", node, Some("status"), status);
    }

    /// Sets the taints of a node.
    pub(crate) fn taint(&self, node: &str, taints: &Value) {
        self.merge("", "nodes", node, None, json!({"spec": {"taints": taints}}));
    }

    /// A condition of a claim: its status, reason and message; nothing if it is not there.
    pub(crate) fn condition(&self, claim: &str, type_: &str) -> Option<(String, String, String)> {
        let claim = self.claim(claim);
        let condition = find(claim.conditions(), type_)?.clone();
        Some((condition.status, condition.reason, condition.message))
    }

    /// The status of a condition of a claim.
    pub(crate) fn status_of(&self, claim: &str, type_: &str) -> Option<String> {
        self.condition(claim, type_).map(|(status, ..)| status)
    }

    /// The taints of a node, in short.
    pub(crate) fn taints_of(&self, node: &str) -> Vec<String> {
        let spec = self.find_node(node).unwrap().spec.unwrap_or_default();
        let taints = spec.taints.unwrap_or_default();
        taints.iter().map(|taint| format!("{}:{}", taint.key, taint.effect)).collect()
    }

    /// The value of a label of a node.
    pub(crate) fn label_of(&self, node: &str, label: &str) -> Option<String> {
        self.find_node(node)?.metadata.labels?.remove(label)
    }

    /// How a pool's instances are doing, by its condition.
    pub(crate) fn health_of(&self, pool: &str) -> Option<(String, String)> {
        let pool = self.pool(pool);
        let condition = find(pool.conditions(), "NodeRegistrationHealthy")?;
        Some((condition.status.clone(), condition.reason.clone()))
    }
}
