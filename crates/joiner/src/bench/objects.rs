//! Kubernetes objects of the workloads, as JSON, so that any planner can read the same ones.

use joiner_core::{
    instance_type::{InstanceType, Offering},
    label,
    resources::Resources,
};
use serde_json::{Value, json};

use super::random::Random;

/// Zones of Karpenter's fake types.
pub(super) const ZONES: [&str; 3] = ["test-zone-1", "test-zone-2", "test-zone-3"];

/// Requests that pods of Karpenter's benchmark draw from.
const CPUS: [u32; 5] = [100, 250, 500, 1000, 1500];
/// The same for memory, in MiB.
const MEMORIES: [u32; 6] = [100, 256, 512, 1024, 2048, 4096];

/// All objects are of one age, so that pods of equal size come in the order of their UIDs.
const CREATED: &str = "2026-01-01T00:00:00Z";

/// CPU in thousandths and memory in MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    /// Thousandths of a CPU.
    pub(super) cpu: u32,
    /// MiB.
    pub(super) memory: u32,
}

impl Size {
    /// One of the sizes of Karpenter's benchmark.
    pub(super) fn draw(random: &mut Random) -> Self {
        Self { cpu: random.one_of(&CPUS), memory: random.one_of(&MEMORIES) }
    }

    /// As Kubernetes writes it.
    pub(super) fn requests(self) -> Value {
        json!({"cpu": format!("{}m", self.cpu), "memory": format!("{}Mi", self.memory)})
    }
}

/// Names the next object of a kind: `pod-000000`, `pod-000001`, ….
#[derive(Debug)]
pub(super) struct Names(&'static str, usize);

impl Names {
    /// Names that start with `prefix`.
    pub(super) fn new(prefix: &'static str) -> Self {
        Self(prefix, 0)
    }

    /// The next name.
    pub(super) fn next(&mut self) -> String {
        self.1 += 1;
        format!("{}-{:06}", self.0, self.1 - 1)
    }
}

/// A pod without a node.
pub(super) fn pod(name: &str, random: &mut Random, labels: &Value, size: Size) -> Value {
    let mut labels = labels.clone();
    labels["testing/cluster"] = json!("unspecified");
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "default", "uid": random.uid(), "labels": labels,
            "creationTimestamp": CREATED,
        },
        "spec": {"containers": [container(size)]},
    })
}

/// A container that asks for `size`.
pub(super) fn container(size: Size) -> Value {
    json!({"name": "main", "image": "pause", "resources": {"requests": size.requests()}})
}

/// Spreads a pod evenly.
pub(super) fn spread(key: &str, labels: &Value) -> Value {
    json!({
        "maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    })
}

/// A term of pod affinity or anti-affinity.
pub(super) fn term(key: &str, labels: &Value) -> Value {
    json!({"topologyKey": key, "labelSelector": {"matchLabels": labels}})
}

/// Required terms of `podAffinity` or `podAntiAffinity`.
pub(super) fn affinity(kind: &str, key: &str, labels: &Value) -> Value {
    json!({kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term(key, labels)]}})
}

/// A pool like the one of Karpenter's benchmark: any type, and limits that nothing reaches. They are
/// a hundred times Karpenter's, since each claim counts with the largest type it may become.
pub(super) fn pool(name: &str) -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
        "metadata": {"name": name, "uid": format!("pool-{name}")},
        "spec": {
            "template": {
                "metadata": {"labels": {"testing/cluster": "unspecified"}},
                "spec": {
                    "nodeClassRef": {
                        "group": "karpenter.test.sh", "kind": "TestNodeClass", "name": "default",
                    },
                    "requirements": [],
                },
            },
            "limits": {"cpu": "1000000000", "memory": "1000000000Gi"},
        },
    })
}

/// `key` must be one of `values`.
pub(super) fn one_of(key: &str, values: &[&str]) -> Value {
    json!({"key": key, "operator": "In", "values": values})
}

/// An instance of `instance_type` that runs, and its claim.
pub(super) fn running_instance(
    index: usize,
    pool: &str,
    instance_type: &InstanceType,
    offering: &Offering,
) -> [Value; 2] {
    let (node, claim) = (format!("node-{index:05}"), format!("{pool}-{index:05}"));
    let provider_id = format!("bench://{node}");
    let mut labels: joiner_core::label::Labels = instance_type.requirements.single_values();
    labels.extend(offering.requirements.single_values());
    labels.extend(
        [
            (label::HOSTNAME, node.as_str()),
            (label::NODE_POOL, pool),
            (label::REGISTERED, "true"),
            (label::INITIALIZED, "true"),
            (label::OS, "linux"),
            ("testing/cluster", "unspecified"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    let status = json!({
        "capacity": instance_type.offered_capacity(offering),
        "allocatable": instance_type.allocatable(offering),
    });
    let mut claim = json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "metadata": {"name": claim, "labels": labels, "creationTimestamp": CREATED},
        "spec": {
            "nodeClassRef": {
                "group": "karpenter.test.sh", "kind": "TestNodeClass", "name": "default",
            },
            "requirements": [],
        },
        "status": status,
    });
    claim["status"]["providerID"] = json!(provider_id);
    claim["status"]["nodeName"] = json!(node);
    claim["status"]["conditions"] =
        ["Launched", "Registered", "Initialized"].iter().map(|kind| condition(kind)).collect();
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": node, "labels": labels, "creationTimestamp": CREATED},
        "spec": {"providerID": provider_id},
        "status": status,
    });
    node["status"]["conditions"] = json!([condition("Ready")]);
    [node, claim]
}

fn condition(kind: &str) -> Value {
    json!({"type": kind, "status": "True", "reason": kind, "lastTransitionTime": CREATED})
}

/// An instance type file of these types.
pub(super) fn instance_type_file(types: &[InstanceType], well_known: &[&str]) -> Value {
    let entries: Vec<Value> = types.iter().map(full_form).collect();
    json!({"instanceTypes": entries, "wellKnownLabels": well_known})
}

/// One entry of an instance type file.
fn full_form(instance_type: &InstanceType) -> Value {
    let offerings: Vec<Value> = instance_type
        .offerings
        .iter()
        .map(|offering| {
            json!({
                "price": offering.price, "available": offering.available,
                "requirements": offering.requirements.to_specs(),
            })
        })
        .collect();
    let overhead = &instance_type.overhead;
    let reserved = |resources: &Resources| json!(resources);
    json!({
        "name": instance_type.name,
        "requirements": instance_type.requirements.to_specs(),
        "capacity": instance_type.capacity,
        "overhead": {
            "kubeReserved": reserved(&overhead.kube_reserved),
            "systemReserved": reserved(&overhead.system_reserved),
            "evictionThreshold": reserved(&overhead.eviction_threshold),
        },
        "offerings": offerings,
    })
}
