//! A cloud for tests: it does what it is told, and remembers what it was asked.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use joiner_core::{
    instance_type::{InstanceType, Offering, Overhead},
    label::{self, WellKnown},
    quantity::Quantity,
    requirement::{Requirement, Requirements},
    resources::{CPU, MEMORY, PODS, Resources},
};
use serde_json::{Value, json};

use crate::{
    CloudError, CloudProvider, Deletion, InstanceTypes, RepairPolicy, choice,
    class::{ClassCondition, ClassKind, ClassStatus, NodeClass},
    machine::Machine,
    order::{ClaimId, Order},
};

/// The class that the cloud for tests serves.
pub const TEST_NODE_CLASS: ClassKind = ClassKind {
    group: "karpenter.test.sh",
    version: "v1alpha1",
    kind: "TestNodeClass",
    plural: "testnodeclasses",
};

/// A definition of [`TEST_NODE_CLASS`] for an API server.
pub fn test_node_class_crd() -> Value {
    let ClassKind { group, version, kind, plural } = TEST_NODE_CLASS;
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {
                "kind": kind,
                "listKind": format!("{kind}List"),
                "plural": plural,
                "singular": kind.to_lowercase(),
            },
            "versions": [{
                "name": version,
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {"spec": anything, "status": anything},
                }},
            }],
        },
    })
}

/// A cloud that lives in memory. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct TestCloud(Arc<Mutex<State>>);

/// What the cloud has, and what it will do.
#[derive(Debug)]
pub struct State {
    /// Machines by their provider's name.
    pub machines: BTreeMap<String, Machine>,
    /// What was asked, in order: `create web-1`, `delete test://web-1`, `list`.
    pub calls: Vec<String>,
    /// What the next creations answer instead of making a machine; none makes one.
    pub next_create: VecDeque<Option<CloudError>>,
    /// What the next deletions answer instead of removing a machine.
    pub next_delete: VecDeque<Option<CloudError>>,
    /// What the next questions for a machine, or for all, answer instead.
    pub next_get: VecDeque<Option<CloudError>>,
    /// How often a deletion has to be asked for until the machine is gone.
    pub asks_until_gone: u32,
    /// Why every machine is not as it should be.
    pub drift: Option<String>,
    /// Types that machines can have.
    pub types: InstanceTypes,
    /// What every class is said to be.
    pub class: ClassCondition,
    /// How long a launch may take.
    pub launch_timeout: Duration,
    asked_to_go: BTreeMap<String, u32>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            machines: BTreeMap::new(),
            calls: Vec::new(),
            next_create: VecDeque::new(),
            next_delete: VecDeque::new(),
            next_get: VecDeque::new(),
            asks_until_gone: 0,
            drift: None,
            types: instance_types(),
            class: ClassCondition {
                type_: "Valid",
                holds: Some(true),
                reason: String::new(),
                message: String::new(),
            },
            launch_timeout: Duration::from_mins(5),
            asked_to_go: BTreeMap::new(),
        }
    }
}

/// Machines of 2, 4, 8 and 16 CPUs with 4 GiB for each, in two zones, on demand and spot.
pub fn instance_types() -> InstanceTypes {
    [2, 4, 8, 16].into_iter().map(|cpus| Arc::new(instance_type(cpus))).collect()
}

fn instance_type(cpus: i64) -> InstanceType {
    let name = format!("test-{cpus}x");
    let mut requirements = Requirements::new();
    for (key, values) in [
        (label::INSTANCE_TYPE, &[name.as_str()][..]),
        (label::ARCH, &["amd64"]),
        (label::OS, &["linux"]),
        (label::ZONE, &["test-zone-a", "test-zone-b"]),
        (label::CAPACITY_TYPE, &[label::CAPACITY_TYPE_ON_DEMAND, label::CAPACITY_TYPE_SPOT]),
    ] {
        requirements.add(key, Requirement::one_of(values.iter().copied()));
    }
    let offering = |zone: &str, capacity_type: &str, price: f64| {
        let mut requirements = Requirements::new();
        requirements.add(label::ZONE, Requirement::one_of([zone]));
        requirements.add(label::CAPACITY_TYPE, Requirement::one_of([capacity_type]));
        Offering { requirements, price, ..Offering::default() }
    };
    let price = 0.03 * cpus as f64;
    let offerings = ["test-zone-a", "test-zone-b"]
        .into_iter()
        .flat_map(|zone| {
            [
                offering(zone, label::CAPACITY_TYPE_ON_DEMAND, price),
                offering(zone, label::CAPACITY_TYPE_SPOT, price / 2.0),
            ]
        })
        .collect();
    InstanceType {
        name,
        requirements,
        capacity: Resources::from_iter([
            (CPU, Quantity::whole(cpus)),
            (MEMORY, Quantity::bytes(cpus << 32)),
            (PODS, Quantity::whole(110)),
        ]),
        overhead: Overhead {
            kube_reserved: Resources::from_iter([(CPU, Quantity::milli(100))]),
            ..Overhead::default()
        },
        offerings,
        ..InstanceType::default()
    }
}

impl TestCloud {
    /// A cloud without machines.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the cloud has, and what it will do, to be looked at and changed.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often something was asked that starts with this.
    pub fn calls(&self, start: &str) -> usize {
        self.state().calls.iter().filter(|call| call.starts_with(start)).count()
    }
}

#[async_trait]
impl CloudProvider for TestCloud {
    fn name(&self) -> &'static str {
        "test"
    }

    fn class_kinds(&self) -> &'static [ClassKind] {
        &[TEST_NODE_CLASS]
    }

    fn well_known(&self) -> WellKnown {
        WellKnown::default()
    }

    fn launch_timeout(&self) -> Duration {
        self.state().launch_timeout
    }

    async fn resolve_class(&self, _class: &NodeClass) -> Result<ClassStatus, CloudError> {
        let conditions = vec![self.state().class.clone()];
        Ok(ClassStatus { conditions, ..ClassStatus::default() })
    }

    fn instance_types(&self, _pool: &str, _class: &NodeClass) -> Result<InstanceTypes, CloudError> {
        Ok(Arc::clone(&self.state().types))
    }

    async fn create(&self, order: &Order) -> Result<Machine, CloudError> {
        let state = &mut *self.state();
        state.calls.push(format!("create {}", order.claim.name));
        if let Some(Some(error)) = state.next_create.pop_front() {
            return Err(error);
        }
        let own =
            state.machines.values().find(|machine| machine.claim.as_ref() == Some(&order.claim));
        if let Some(machine) = own {
            return Ok(machine.clone());
        }
        let Some(choice) = choice::cheapest(order, &state.types, &WellKnown::default()) else {
            return Err(CloudError::InsufficientCapacity("no type serves the order".to_owned()));
        };
        let machine = Machine {
            provider_id: format!("test://{}", order.claim.name),
            claim: Some(order.claim.clone()),
            image_id: Some("test-image".to_owned()),
            labels: choice.labels(),
            capacity: choice.instance_type.offered_capacity(choice.offering),
            allocatable: choice.instance_type.allocatable(choice.offering),
            ..Machine::default()
        };
        state.machines.insert(machine.provider_id.clone(), machine.clone());
        Ok(machine)
    }

    async fn delete(
        &self,
        claim: &ClaimId,
        provider_id: Option<&str>,
    ) -> Result<Deletion, CloudError> {
        let state = &mut *self.state();
        state.calls.push(format!("delete {}", provider_id.unwrap_or(&claim.name)));
        if let Some(Some(error)) = state.next_delete.pop_front() {
            return Err(error);
        }
        let is_meant = |machine: &Machine| match provider_id {
            Some(id) => machine.provider_id == id,
            None => machine.claim.as_ref() == Some(claim),
        };
        let Some(id) = state
            .machines
            .values()
            .find(|machine| is_meant(machine))
            .map(|machine| machine.provider_id.clone())
        else {
            return Ok(Deletion::Gone);
        };
        let asked = state.asked_to_go.entry(id.clone()).or_default();
        *asked += 1;
        if *asked > state.asks_until_gone {
            state.machines.remove(&id);
        } else if let Some(machine) = state.machines.get_mut(&id) {
            machine.deleting = true;
        }
        Ok(Deletion::Requested)
    }

    async fn get(&self, provider_id: &str) -> Result<Option<Machine>, CloudError> {
        let state = &mut *self.state();
        state.calls.push(format!("get {provider_id}"));
        match state.next_get.pop_front().flatten() {
            Some(error) => Err(error),
            None => {
                Ok(state.machines.get(provider_id).filter(|machine| !machine.deleting).cloned())
            }
        }
    }

    async fn list(&self) -> Result<Vec<Machine>, CloudError> {
        let state = &mut *self.state();
        state.calls.push("list".to_owned());
        match state.next_get.pop_front().flatten() {
            Some(error) => Err(error),
            None => Ok(state.machines.values().cloned().collect()),
        }
    }

    async fn drift(
        &self,
        _machine: &Machine,
        _class: &NodeClass,
    ) -> Result<Option<String>, CloudError> {
        Ok(self.state().drift.clone())
    }

    fn repair_policies(&self) -> &'static [RepairPolicy] {
        const POLICIES: &[RepairPolicy] = &[RepairPolicy {
            condition: "BadNode",
            status: "False",
            toleration: Duration::from_mins(30),
        }];
        POLICIES
    }
}
