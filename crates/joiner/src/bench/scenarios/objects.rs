//! The objects that a scenario puts into a cluster.

use joiner_core::label;
use joiner_kwok::{INSTANCE_SIZE, NODE_CLASS_GROUP, NODE_CLASS_KIND};
use joiner_operator::marks::DO_NOT_DISRUPT;
use serde_json::{Value, json};

use super::Load;
use crate::bench::objects;

pub(in crate::bench) const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
pub(in crate::bench) const NODE_CLASSES: &str = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses";
pub(in crate::bench) const NODE_POOLS: &str = "/apis/karpenter.sh/v1/nodepools";
pub(in crate::bench) const NODE_CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";
pub(in crate::bench) const PODS: &str = "/api/v1/namespaces/default/pods";

/// The name of the only pool and the only class.
pub(in crate::bench) const NAME: &str = "default";

/// The nodes of the pool.
pub(in crate::bench) fn nodes_path() -> String {
    format!("/api/v1/nodes?labelSelector={}", label::NODE_POOL)
}

pub(in crate::bench) fn node_class() -> Value {
    json!({
        "apiVersion": format!("{NODE_CLASS_GROUP}/v1alpha1"), "kind": NODE_CLASS_KIND,
        "metadata": {"name": NAME},
    })
}

/// The pool of Karpenter's performance suite: on demand, fewer than 32 CPUs, no limits, and instances
/// that go 30 seconds after they are not needed, all at once if need be.
pub(in crate::bench) fn node_pool() -> Value {
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

/// The template of a pool that all its instances differ from: one more annotation.
pub(in crate::bench) fn drifting_template() -> Value {
    json!({"spec": {"template": {"metadata": {"annotations": {"testing/drift": "true"}}}}})
}

/// A deployment with all its pods.
pub(in crate::bench) fn deployment(load: &Load) -> Value {
    let labels = json!({"app": load.name, "testing/cluster": "unspecified"});
    let mut spec = json!({
        "containers": [objects::container(load.size)],
        "terminationGracePeriodSeconds": 0,
    });
    let keys = [(label::HOSTNAME, load.spread_over_hosts), (label::ZONE, load.spread_over_zones)];
    let spread = keys.iter().filter(|(_, wanted)| *wanted);
    let constraints: Vec<Value> = spread.map(|(key, _)| objects::spread(key, &labels)).collect();
    if !constraints.is_empty() {
        spec["topologySpreadConstraints"] = Value::from(constraints);
    }
    if load.one_per_host {
        spec["affinity"] = objects::affinity("podAntiAffinity", label::HOSTNAME, &labels);
    }
    let mut metadata = json!({"labels": labels});
    if load.protected {
        metadata["annotations"] = json!({DO_NOT_DISRUPT: "true"});
    }
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": load.name, "namespace": "default"},
        "spec": {
            "replicas": load.replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": metadata, "spec": spec},
        },
    })
}
