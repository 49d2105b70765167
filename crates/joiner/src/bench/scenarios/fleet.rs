//! What a controller made of a load: its instances, what they cost, how full they are, and when the
//! pods got theirs.

use std::{collections::BTreeMap, ops::Add as _};

use jiff::Timestamp;
use joiner_core::{
    instance_type::InstanceType,
    label,
    resources::{CPU, MEMORY, Resources},
};
use serde::{Deserialize, Serialize};

/// The instances of a cluster, and when its pods came to them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::bench) struct Fleet {
    pub(in crate::bench) nodes: usize,
    /// Pods that have a node.
    pub(in crate::bench) pods: usize,
    /// What all nodes cost in an hour.
    pub(in crate::bench) price: f64,
    /// The share of a node's CPU that its pods ask for, on average over the nodes.
    pub(in crate::bench) cpu_requested: f64,
    /// The same for memory.
    pub(in crate::bench) memory_requested: f64,
    /// Seconds until the last pod was given a node. Kubernetes keeps whole seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::bench) last_bound_seconds: Option<f64>,
    /// Seconds until the last pod ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::bench) last_running_seconds: Option<f64>,
}

/// A node, as far as it matters here.
#[derive(Debug, Deserialize)]
pub(in crate::bench) struct Node {
    metadata: Metadata,
    #[serde(default)]
    status: NodeStatus,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
struct NodeStatus {
    #[serde(default)]
    allocatable: Resources,
}

/// A pod, as far as it matters here.
#[derive(Debug, Deserialize)]
pub(in crate::bench) struct Pod {
    spec: PodSpec,
    #[serde(default)]
    status: PodStatus,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodSpec {
    node_name: Option<String>,
    containers: Vec<Container>,
}

#[derive(Debug, Deserialize)]
struct Container {
    resources: ContainerResources,
}

#[derive(Debug, Deserialize)]
struct ContainerResources {
    #[serde(default)]
    requests: Resources,
}

#[derive(Debug, Default, Deserialize)]
struct PodStatus {
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    last_transition_time: Option<Timestamp>,
}

impl Pod {
    /// Whether the scheduler has looked for a node and found none.
    pub(in crate::bench) fn is_unschedulable(&self) -> bool {
        let mut conditions = self.status.conditions.iter();
        conditions.any(|found| found.kind == "PodScheduled" && found.status == "False")
    }

    fn since(&self, condition: &str) -> Option<Timestamp> {
        let mut conditions = self.status.conditions.iter();
        let met = conditions.find(|found| found.kind == condition && found.status == "True");
        met?.last_transition_time
    }
}

impl Fleet {
    /// The nodes and pods of a cluster, and how long pods waited if their load came at `start`.
    ///
    /// A node of a type that is not among `types` has no price, which is an error: a price that
    /// leaves nodes out would look better than it is.
    pub(in crate::bench) fn new(
        nodes: &[Node],
        pods: &[Pod],
        types: &[InstanceType],
        start: Option<Timestamp>,
    ) -> Result<Self, String> {
        let mut requested: BTreeMap<&str, Resources> = BTreeMap::new();
        for pod in pods {
            if let Some(node) = &pod.spec.node_name {
                let sum = requested.entry(node).or_default();
                pod.spec.containers.iter().for_each(|one| sum.add(&one.resources.requests));
            }
        }
        let share = |resource: &str| {
            let of_node = |node: &Node| {
                let room = node.status.allocatable.get(resource).as_f64();
                let used = requested.get(node.metadata.name.as_str());
                used.map_or(0.0, |used| used.get(resource).as_f64()) / room.max(f64::MIN_POSITIVE)
            };
            let sum = nodes.iter().map(of_node).fold(0.0, f64::add);
            sum / nodes.len().max(1) as f64
        };
        let last = |condition: &str| {
            let last = pods.iter().filter_map(|pod| pod.since(condition)).max();
            Some(last?.duration_since(start?).as_secs_f64())
        };
        let prices: Vec<f64> =
            nodes.iter().map(|node| price(node, types)).collect::<Result<_, _>>()?;
        Ok(Self {
            nodes: nodes.len(),
            pods: pods.iter().filter(|pod| pod.spec.node_name.is_some()).count(),
            price: prices.into_iter().fold(0.0, f64::add),
            cpu_requested: share(CPU),
            memory_requested: share(MEMORY),
            last_bound_seconds: last("PodScheduled"),
            last_running_seconds: last("Ready"),
        })
    }
}

/// What a node costs in an hour, by its labels.
fn price(node: &Node, types: &[InstanceType]) -> Result<f64, String> {
    let Metadata { name, labels } = &node.metadata;
    let wanted = labels.get(label::INSTANCE_TYPE);
    let found = types.iter().find(|one| Some(&one.name) == wanted);
    let offerings = found.into_iter().flat_map(|one| &one.offerings);
    let mut suiting = offerings.filter(|offering| {
        let values = offering.requirements.single_values();
        values.iter().all(|(key, value)| labels.get(key) == Some(value))
    });
    suiting.next().map(|offering| offering.price).ok_or_else(|| {
        format!("node {name} has labels of no instance that KWOK offers, so its price is not known")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(name: &str, instance_type: &str) -> Node {
        let object = json!({
            "metadata": {"name": name, "labels": {
                label::INSTANCE_TYPE: instance_type,
                label::CAPACITY_TYPE: "on-demand",
                label::ZONE: "test-zone-a",
            }},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi"}},
        });
        serde_json::from_value(object).unwrap()
    }

    fn pod(node: Option<&str>, conditions: &Value) -> Pod {
        let object = json!({
            "spec": {"nodeName": node, "containers": [
                {"resources": {"requests": {"cpu": "1", "memory": "4Gi"}}},
                {"resources": {}},
            ]},
            "status": {"conditions": conditions},
        });
        serde_json::from_value(object).unwrap()
    }

    fn met(kind: &str, at: &str) -> Value {
        json!({"type": kind, "status": "True", "lastTransitionTime": at})
    }

    #[test]
    fn a_fleet_is_counted_priced_and_timed() {
        let nodes = [node("a", "c-1x-amd64-linux"), node("b", "c-1x-amd64-linux")];
        let pods = [
            pod(
                Some("a"),
                &json!([
                    met("PodScheduled", "2026-01-01T00:00:20Z"),
                    met("Ready", "2026-01-01T00:00:22Z")
                ]),
            ),
            pod(Some("a"), &json!([met("PodScheduled", "2026-01-01T00:00:10Z")])),
            pod(None, &json!([{"type": "PodScheduled", "status": "False"}])),
        ];
        let start = "2026-01-01T00:00:00Z".parse().ok();
        let fleet = Fleet::new(&nodes, &pods, &joiner_kwok::instance_types(), start).unwrap();
        let expected = Fleet {
            nodes: 2,
            pods: 2,
            price: 2.0 * 0.027_147_483_648,
            cpu_requested: 0.25,
            memory_requested: 0.5,
            last_bound_seconds: Some(20.0),
            last_running_seconds: Some(22.0),
        };
        assert_eq!(fleet, expected);
        let waits: Vec<bool> = pods.iter().map(Pod::is_unschedulable).collect();
        assert_eq!(waits, [false, false, true]);
    }

    #[test]
    fn a_node_without_a_known_price_is_an_error() {
        let types = joiner_kwok::instance_types();
        let problem = Fleet::new(&[node("a", "m5.large")], &[], &types, None).unwrap_err();
        assert_eq!(
            problem,
            "node a has labels of no instance that KWOK offers, so its price is not known"
        );
    }

    #[test]
    fn no_nodes_cost_nothing() {
        let fleet = Fleet::new(&[], &[], &[], None).unwrap();
        // An empty sum of floats is -0.0, which would be printed.
        assert_eq!(format!("{} {} {}", fleet.nodes, fleet.price, fleet.cpu_requested), "0 0 0");
    }
}
