//! The objects that a scenario puts into a cluster.

use joiner_core::label;
use joiner_kwok::{INSTANCE_SIZE, NODE_CLASS_GROUP, NODE_CLASS_KIND};
use serde_json::{Value, json};

use super::scenario::Load;
use crate::bench::objects;

pub(super) const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
pub(super) const NODE_CLASSES: &str = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses";
pub(super) const NODE_POOLS: &str = "/apis/karpenter.sh/v1/nodepools";
pub(super) const NODE_CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";
pub(super) const PODS: &str = "/api/v1/namespaces/default/pods";

/// The name of the only pool and the only class.
pub(super) const NAME: &str = "default";

/// The nodes of the pool.
pub(super) fn nodes_path() -> String {
    format!("/api/v1/nodes?labelSelector={}", label::NODE_POOL)
}

pub(super) fn node_class() -> Value {
    json!({
        "apiVersion": format!("{NODE_CLASS_GROUP}/v1alpha1"), "kind": NODE_CLASS_KIND,
        "metadata": {"name": NAME},
    })
}

/// The pool of Karpenter's performance suite: on demand, fewer than 32 CPUs, no limits, and machines
/// that go 30 seconds after they are not needed, all at once if need be.
pub(super) fn node_pool() -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
        "metadata": {"name": NAME},
        "spec": {
            "disruption": {
                "consolidationPolicy": "WhenEmptyOrUnderutilized",
                "consolidateAfter": "30s",
                "budgets": [{"nodes": "100%"}],
            },
            "template": {"spec": {
                "expireAfter": "Never",
                "nodeClassRef": {"group": NODE_CLASS_GROUP, "kind": NODE_CLASS_KIND, "name": NAME},
                "requirements": [
                    objects::one_of(label::OS, &["linux"]),
                    objects::one_of(label::CAPACITY_TYPE, &[label::CAPACITY_TYPE_ON_DEMAND]),
                    {"key": INSTANCE_SIZE, "operator": "Lt", "values": ["32"]},
                ],
            }},
        },
    })
}

/// A deployment without pods, or with all that it is to have.
pub(super) fn deployment(load: &Load, replicas: usize) -> Value {
    let labels = json!({"app": load.name, "testing/cluster": "unspecified"});
    let mut spec = json!({
        "containers": [objects::container(load.size)],
        "terminationGracePeriodSeconds": 0,
    });
    if load.spread_over_hosts {
        spec["topologySpreadConstraints"] = objects::spread(label::HOSTNAME, &labels);
    }
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": load.name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    })
}
