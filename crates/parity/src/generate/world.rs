//! A scenario while it is being made.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::catalog::{self, Shape};
use crate::{
    rng::Rng,
    scenario::{Kind, Scenario},
};

pub(super) const ZONE: &str = "topology.kubernetes.io/zone";
pub(super) const HOSTNAME: &str = "kubernetes.io/hostname";
pub(super) const CAPACITY_TYPE: &str = "karpenter.sh/capacity-type";
pub(super) const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
pub(super) const ARCH: &str = "kubernetes.io/arch";
pub(super) const OS: &str = "kubernetes.io/os";
pub(super) const NODE_POOL: &str = "karpenter.sh/nodepool";
/// A label of the provider: which line of instances a type belongs to.
pub(super) const FAMILY: &str = "example.com/family";
/// A label of the provider with an integer: the number of CPUs.
pub(super) const CPUS: &str = "example.com/cpus";
/// A label that only pools know.
pub(super) const TEAM: &str = "example.com/team";
/// Another label that only pools know, with several values to choose from.
pub(super) const RACK: &str = "example.com/rack";

/// A label that nothing has.
pub(super) const UNKNOWN: &str = "example.com/unknown";

/// Namespaces of every scenario, each with the value of its label `group`.
pub(super) const NAMESPACES: [(&str, &str); 3] =
    [("default", "red"), ("blue-1", "blue"), ("blue-2", "blue")];

/// A scenario while it is being made.
pub(super) struct World {
    pub(super) zones: Vec<String>,
    pub(super) shapes: Vec<Shape>,
    pub(super) pools: Vec<Value>,
    pub(super) workloads: Vec<Workload>,
    /// The names of nodes, for what hangs on them later.
    pub(super) nodes: Vec<String>,
    /// Everything that is neither a pool nor a pending pod of a workload.
    pub(super) objects: Vec<Value>,
    pub(super) reservation_label: Option<&'static str>,
    flags: BTreeMap<String, Value>,
}

/// Pods of one template.
#[derive(Clone)]
pub(super) struct Workload {
    pub(super) name: String,
    pub(super) replicas: usize,
    /// A pod; its name and creation time are added per replica.
    pub(super) pod: Value,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = Rng::child(seed, u64::MAX);
        let zones = ["zone-a", "zone-b", "zone-c", "zone-d"];
        let zones: Vec<String> =
            zones[..rng.between(2, 4)].iter().map(ToString::to_string).collect();
        let shapes = catalog::shapes(&zones, &mut rng);
        let workloads = workloads(&mut rng);
        Self {
            zones,
            shapes,
            pools: vec![pool("pool-a")],
            workloads,
            nodes: Vec::new(),
            objects: NAMESPACES.iter().map(|(name, group)| namespace(name, group)).collect(),
            reservation_label: None,
            flags: BTreeMap::new(),
        }
    }

    pub(super) fn set_flag(&mut self, flag: &str, value: impl Into<Value>) {
        self.flags.insert(flag.to_owned(), value.into());
    }

    /// Some workloads, one at least, to which a kind applies.
    pub(super) fn some_workloads(&mut self, rng: &mut Rng) -> Vec<&mut Workload> {
        let certain = rng.below(self.workloads.len());
        self.workloads
            .iter_mut()
            .enumerate()
            .filter(|(index, _)| *index == certain || rng.chance(45))
            .map(|(_, workload)| workload)
            .collect()
    }

    /// The names of all types.
    pub(super) fn type_names(&self) -> Vec<String> {
        self.shapes.iter().map(|shape| shape.name.clone()).collect()
    }

    /// A label of the provider's or of a pool's with a value that something has.
    pub(super) fn label(&self, rng: &mut Rng) -> (&'static str, String) {
        let shape = rng.pick(&self.shapes);
        match rng.below(6) {
            0 | 1 => (ZONE, rng.pick(&self.zones).clone()),
            2 => (CAPACITY_TYPE, (*rng.pick(&["spot", "on-demand"])).to_owned()),
            3 => (ARCH, shape.arch.to_owned()),
            4 => (FAMILY, shape.family.to_owned()),
            _ => (INSTANCE_TYPE, shape.name.clone()),
        }
    }

    /// Adds a label that pods can select on to a pool, and returns one of its values.
    pub(super) fn pool_label(&mut self, rng: &mut Rng) -> (&'static str, String) {
        let index = rng.below(self.pools.len());
        let spec = &mut self.pools[index]["spec"]["template"];
        if rng.chance(50) {
            spec["metadata"]["labels"][TEAM] = json!("green");
            (TEAM, "green".to_owned())
        } else {
            require(&mut self.pools[index], RACK, "In", &["r1", "r2", "r3"]);
            (RACK, (*rng.pick(&["r1", "r2", "r3"])).to_owned())
        }
    }

    pub(super) fn into_scenario(self, seed: u64, kinds: BTreeSet<Kind>) -> Scenario {
        let mut objects = self.objects;
        objects.extend(self.pools);
        objects.extend(self.workloads.iter().flat_map(Workload::pods));
        let mut instance_types =
            json!({"instanceTypes": self.shapes.iter().map(Shape::to_json).collect::<Vec<_>>()});
        if let Some(label) = self.reservation_label {
            instance_types["reservationIDLabel"] = json!(label);
        }
        Scenario { seed, kinds, objects, instance_types, flags: self.flags }
    }
}

impl Workload {
    pub(super) fn namespace(&self) -> &str {
        self.pod["metadata"]["namespace"].as_str().unwrap_or("default")
    }

    /// A selector of exactly this workload's pods.
    pub(super) fn selector(&self) -> Value {
        json!({"matchLabels": {"app": self.name}})
    }

    /// A selector of this workload's pods: by name, by an expression, or by a label that other
    /// workloads share.
    pub(super) fn some_selector(&self, rng: &mut Rng) -> Value {
        match rng.below(5) {
            0 => all_of([condition("app", "In", &[&self.name])]),
            1 => json!({"matchLabels": {"tier": self.pod["metadata"]["labels"]["tier"]}}),
            _ => self.selector(),
        }
    }

    /// A pod of this workload that runs on a node.
    pub(super) fn bound_pod(&self, index: usize, node: &str) -> Value {
        let mut pod = self.pod.clone();
        pod["metadata"]["name"] = json!(format!("{}-on-{node}-{index}", self.name));
        pod["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        pod["spec"]["nodeName"] = json!(node);
        pod["status"] = json!({"phase": "Running", "startTime": "2026-01-01T00:00:00Z"});
        pod
    }

    fn pods(&self) -> impl Iterator<Item = Value> + '_ {
        (0..self.replicas).map(|index| {
            let mut pod = self.pod.clone();
            pod["metadata"]["name"] = json!(format!("{}-{index}", self.name));
            // Ages come in threes, so that both the age and the name decide the order.
            pod["metadata"]["creationTimestamp"] =
                json!(format!("2026-02-01T00:00:{:02}Z", index / 3));
            pod
        })
    }
}

fn namespace(name: &str, group: &str) -> Value {
    let metadata = json!({"name": name, "labels": {"group": group}});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
}

/// A pool that takes anything.
pub(super) fn pool(name: &str) -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name},
        "spec": {"template": {"spec": {
            "nodeClassRef": {"group": "example.com", "kind": "AnyClass", "name": "default"},
            "requirements": [],
        }}},
    })
}

/// A condition on node labels as pools, pods and overlays write it.
pub(super) fn condition(key: &str, operator: &str, values: &[impl AsRef<str>]) -> Value {
    let values: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
    json!({"key": key, "operator": operator, "values": values})
}

/// A condition without values.
pub(super) fn bare_condition(key: &str, operator: &str) -> Value {
    json!({"key": key, "operator": operator})
}

/// A term of conditions that must all hold.
pub(super) fn all_of(conditions: impl IntoIterator<Item = Value>) -> Value {
    json!({"matchExpressions": conditions.into_iter().collect::<Vec<_>>()})
}

/// Makes a pod spec require nodes on which any one of the terms holds.
pub(super) fn require_nodes(spec: &mut Value, terms: impl IntoIterator<Item = Value>) {
    spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        json!({"nodeSelectorTerms": terms.into_iter().collect::<Vec<_>>()});
}

/// Adds a required term of pod affinity or anti-affinity.
pub(super) fn require_pods(workload: &mut Workload, field: &str, term: Value) {
    let affinity = &mut workload.pod["spec"]["affinity"][field];
    push(&mut affinity["requiredDuringSchedulingIgnoredDuringExecution"], term);
}

/// Adds a requirement to a pool.
pub(super) fn require(pool: &mut Value, key: &str, operator: &str, values: &[impl AsRef<str>]) {
    let condition = condition(key, operator, values);
    push(&mut pool["spec"]["template"]["spec"]["requirements"], condition);
}

/// The owner references of an object that a workload controller has made.
pub(crate) fn owner(kind: &str, name: &str) -> Value {
    let uid = format!("uid-{name}");
    json!([{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": true}])
}

/// Appends to a list, which is made where there is none.
pub(super) fn push(list: &mut Value, item: Value) {
    match list {
        Value::Array(items) => items.push(item),
        _ => *list = json!([item]),
    }
}

/// Between five and sixty pods in up to six workloads.
fn workloads(rng: &mut Rng) -> Vec<Workload> {
    let count = rng.between(1, 6);
    let pods = rng.between(5, 60);
    let mut cuts: Vec<usize> = (1..count).map(|_| rng.between(0, pods)).collect();
    cuts.extend([0, pods]);
    cuts.sort_unstable();
    (0..count)
        .map(|index| {
            let name = format!("w{index}");
            let cpu = *rng.pick(&[100, 250, 250, 500, 500, 750, 1000, 1500, 2000, 3000]);
            let memory = cpu * *rng.pick(&[1, 2, 2, 4, 6]);
            let tier = *rng.pick(&["front", "back", "data"]);
            let requests = json!({"cpu": format!("{cpu}m"), "memory": format!("{memory}Mi")});
            let container = json!({
                "name": "main", "image": "example.com/app", "resources": {"requests": requests},
            });
            Workload {
                replicas: (cuts[index + 1] - cuts[index]).max(1),
                pod: json!({
                    "apiVersion": "v1", "kind": "Pod",
                    "metadata": {"namespace": "default", "labels": {"app": name, "tier": tier}},
                    "spec": {"containers": [container]},
                }),
                name,
            }
        })
        .collect()
}
