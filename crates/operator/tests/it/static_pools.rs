//! §11.4 ST-01 to ST-30: pools that keep a fixed number of nodes.

mod deprovisioning;
mod provisioning;
mod story;

use joiner_api::node_claim::NodeClaim;
use joiner_apiserver::Resource;
use joiner_operator::claims::is_deleting;
use serde_json::{Value, json};

use crate::{
    play::pool_claim,
    stage::{Stage, pool},
};

/// A pool with this many nodes.
pub(crate) fn static_pool(name: &str, replicas: i64) -> Value {
    let mut pool = pool(name);
    pool["spec"]["replicas"] = replicas.into();
    pool
}

/// With static pools on.
fn gated(stage: Stage) -> Stage {
    stage.set(|settings| {
        settings.planner.gates.static_capacity = true;
        settings.planner.index.static_capacity = true;
    })
}

impl Stage {
    /// Creates a pool that can be used.
    fn create_ready_pool(&self, pool: Value) -> Value {
        self.create_class("default");
        let name = pool["metadata"]["name"].as_str().unwrap().to_owned();
        self.create("karpenter.sh", "nodepools", pool);
        self.say_ready(&name, true)
    }

    /// Says of a pool whether it can be used.
    fn say_ready(&self, pool: &str, ready: bool) -> Value {
        let status = if ready { "True" } else { "False" };
        let said = json!({"status": {"conditions": [{
            "type": "Ready", "status": status, "reason": "Said", "message": "",
            "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]}});
        self.merge("karpenter.sh", "nodepools", pool, Some("status"), said)
    }

    /// Does what `kubectl scale nodepool` does.
    fn scale_pool(&self, pool: &str, replicas: i64) {
        let scale = json!({"spec": {"replicas": replicas}});
        self.merge("karpenter.sh", "nodepools", pool, Some("scale"), scale);
    }

    /// All claims, in order of name.
    fn all_claims(&self) -> Vec<NodeClaim> {
        let claims =
            self.lab.caller("admin").list(&Resource::new("karpenter.sh", "nodeclaims"), None);
        let read = |claim: Value| serde_json::from_value(claim).unwrap();
        claims.iter().map(|claim| read(claim.value())).collect()
    }

    /// Names of the claims that nobody wants gone, in order.
    fn staying(&self) -> Vec<String> {
        let claims = self.all_claims();
        let staying = claims.into_iter().filter(|claim| !is_deleting(claim));
        staying.map(|claim| claim.metadata.name.unwrap()).collect()
    }

    /// A claim of a pool that was launched. A finalizer keeps it, so that its end can be seen.
    fn launched(&self, name: &str, pool: &Value) {
        self.unlaunched(name, pool);
        let status = json!({"status": {"providerID": format!("test://{name}"), "nodeName": name}});
        self.merge("karpenter.sh", "nodeclaims", name, Some("status"), status);
        self.create(
            "",
            "nodes",
            json!({
                "metadata": {"name": name}, "spec": {"providerID": format!("test://{name}")},
            }),
        );
    }

    /// A claim of a pool that has no instance yet.
    fn unlaunched(&self, name: &str, pool: &Value) {
        let mut claim = pool_claim(name, pool);
        claim["metadata"]["finalizers"] = json!(["example.com/keep"]);
        self.create_claim_as(claim);
    }

    /// A command is about to replace a claim.
    fn mark_disrupted(&self, claim: &str) {
        let said = json!({"status": {"conditions": [{
            "type": "DisruptionReason", "status": "True", "reason": "Drifted", "message": "Drifted",
            "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]}});
        self.merge("karpenter.sh", "nodeclaims", claim, Some("status"), said);
    }
}
