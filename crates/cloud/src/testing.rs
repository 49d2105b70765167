//! A cloud for tests: it does what it is told, and remembers what it was asked. The shapes of a
//! cloud's own tests are in [`scenes`].

pub mod mishaps;
pub mod scenes;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use joiner_core::{
    instance_type::{Catalog, InstanceType},
    label::{self, WellKnown},
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::{
    CloudError, CloudProvider, Deletion, InstanceTypes, LabelCorrection, RepairPolicy,
    adoption::Adoption,
    choice,
    class::{ClassCondition, ClassKind, ClassStatus, NodeClass, SpecHash},
    conformance::Mishap,
    inputs::{ClassInputs, OrderInputs},
    instance::{Instance, Measured},
    needs::Needs,
    notes::Notes,
    order::{ClaimId, Order},
    shape::{Shape, Terms},
};

/// The class that the cloud for tests serves.
pub const TEST_NODE_CLASS: ClassKind = ClassKind {
    group: "karpenter.test.sh",
    version: "v1alpha1",
    kind: "TestNodeClass",
    plural: "testnodeclasses",
};

/// How long the cloud may take to answer.
const DEADLINE: Duration = Duration::from_secs(30);

/// Which conditions of a node mean that its instance should be replaced, unless a test says otherwise.
const REPAIR_POLICIES: &[RepairPolicy] =
    &[RepairPolicy { condition: "BadNode", status: "False", toleration: Duration::from_mins(30) }];

/// A definition of [`TEST_NODE_CLASS`] for an API server.
pub fn test_node_class_crd() -> Value {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    TEST_NODE_CLASS.definition(&anything)
}

/// Everything about the types of pools that a plan depends on, as text.
pub fn describe(catalog: &Catalog) -> String {
    let mut lines = Vec::new();
    for (pool, types) in &catalog.by_pool {
        lines.push(format!("pool {pool}"));
        for instance_type in types.iter() {
            lines.push(format!("  type {}", instance_type.name));
            lines.push(format!("    requires {}", instance_type.requirements));
            lines.push(format!("    capacity {}", instance_type.capacity));
            lines.push(format!("    overhead {}", instance_type.overhead.total()));
            if !instance_type.volume_limits.is_empty() {
                lines.push(format!("    volumes {:?}", instance_type.volume_limits));
            }
            for offering in &instance_type.offerings {
                let available = if offering.available { "" } else { " unavailable" };
                lines.push(format!(
                    "    offers {} for {}{available} left {} capacity [{}] overhead [{}]",
                    offering.requirements,
                    offering.price,
                    offering.reservation_capacity,
                    offering.capacity,
                    offering.overhead
                ));
            }
        }
    }
    let extra: Vec<&str> =
        catalog.well_known.iter().filter(|key| !label::WELL_KNOWN.contains(key)).collect();
    lines.push(format!("well known: {}", extra.join(" ")));
    lines.push(format!("reservations: {}", catalog.reservation_id_label.as_deref().unwrap_or("-")));
    lines.join("\n")
}

/// A cloud that lives in memory. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct TestCloud {
    state: Arc<Mutex<State>>,
    killed: Arc<Notify>,
    /// What the cloud has to say besides its answers.
    pub notes: Notes,
}

/// What the cloud has, and what it will do.
#[derive(Debug)]
pub struct State {
    /// Instances by their provider's name.
    pub instances: BTreeMap<String, Instance>,
    /// Instances of others, by their provider's name.
    pub foreign: BTreeMap<String, Instance>,
    /// Copies that people made of instances, with their marks, by their provider's name.
    pub copies: BTreeMap<String, Instance>,
    /// What was asked, in order: `create web-1`, `delete test://web-1`, `list`.
    pub calls: Vec<String>,
    /// What the next creations answer instead of making an instance; none makes one.
    pub next_create: VecDeque<Option<CloudError>>,
    /// What the next deletions answer instead of removing an instance.
    pub next_delete: VecDeque<Option<CloudError>>,
    /// What the next questions for an instance, or for all, answer instead.
    pub next_get: VecDeque<Option<CloudError>>,
    /// What goes wrong with a call, and how many calls get through first.
    pub mishap: Option<(Mishap, u32)>,
    /// How often a deletion has to be asked for until the instance is gone.
    pub asks_until_gone: u32,
    /// Why every instance is not as it should be.
    pub drift: Option<String>,
    /// What the next questions whether an instance is as it should be answer instead.
    pub next_drift: VecDeque<Option<CloudError>>,
    /// Which conditions of a node mean that its instance should be replaced.
    pub repair_policies: &'static [RepairPolicy],
    /// Types that instances can have.
    pub types: InstanceTypes,
    /// What every class is said to be.
    pub class: ClassCondition,
    /// How long a launch may take.
    pub launch_timeout: Duration,
    /// What is needed of the cluster for every class.
    pub needs: Needs,
    /// How often a class was judged.
    pub judgements: u32,
    /// What was given for a class when it was last judged.
    pub class_inputs: Option<ClassInputs>,
    /// What was given with each order.
    pub order_inputs: BTreeMap<ClaimId, OrderInputs>,
    /// The lease that the predecessor holds.
    pub predecessor_lease: Option<&'static str>,
    /// The finalizer of classes.
    pub class_finalizer: Option<&'static str>,
    /// What instances of every class are made from.
    pub class_hash: Option<SpecHash>,
    /// What the predecessor wrote into labels.
    pub label_corrections: &'static [LabelCorrection],
    asked_to_go: BTreeMap<String, u32>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            instances: BTreeMap::new(),
            foreign: BTreeMap::new(),
            copies: BTreeMap::new(),
            calls: Vec::new(),
            next_create: VecDeque::new(),
            next_delete: VecDeque::new(),
            next_get: VecDeque::new(),
            mishap: None,
            asks_until_gone: 0,
            drift: None,
            next_drift: VecDeque::new(),
            repair_policies: REPAIR_POLICIES,
            types: instance_types(),
            class: ClassCondition {
                type_: "Valid",
                holds: Some(true),
                blocks: true,
                reason: String::new(),
                message: String::new(),
            },
            launch_timeout: Duration::from_mins(5),
            needs: Needs::default(),
            judgements: 0,
            class_inputs: None,
            order_inputs: BTreeMap::new(),
            predecessor_lease: None,
            class_finalizer: None,
            class_hash: None,
            label_corrections: &[],
            asked_to_go: BTreeMap::new(),
        }
    }
}

/// Instances of 2, 4, 8 and 16 CPUs with 4 GiB for each, in two zones, on demand and spot.
pub fn instance_types() -> InstanceTypes {
    [2, 4, 8, 16].into_iter().map(instance_type).collect()
}

fn instance_type(cpus: i64) -> Arc<InstanceType> {
    let price = 0.03 * cpus as f64;
    let terms = ["test-zone-a", "test-zone-b"].into_iter().flat_map(|zone| {
        [(label::CAPACITY_TYPE_ON_DEMAND, price), (label::CAPACITY_TYPE_SPOT, price / 2.0)]
            .map(|(capacity_type, price)| Terms { zone, capacity_type, price, available: true })
    });
    let shape = Shape { name: format!("test-{cpus}x"), cpus, gib: 4 * cpus };
    Arc::new(shape.instance_type(&terms.collect::<Vec<_>>()))
}

impl TestCloud {
    /// A cloud without instances.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the cloud has, and what it will do, to be looked at and changed.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often something was asked that starts with this.
    pub fn calls(&self, start: &str) -> usize {
        self.state().calls.iter().filter(|call| call.starts_with(start)).count()
    }

    /// Waits until a mishap kills the process that calls.
    pub async fn killed(&self) {
        self.killed.notified().await;
    }

    /// A call, with what goes wrong with it.
    async fn call<T>(
        &self,
        what: String,
        take_effect: impl FnOnce(&mut State) -> Result<T, CloudError> + Send,
    ) -> Result<T, CloudError> {
        let mishap = {
            let mut state = self.state();
            state.calls.push(what);
            state.strike()
        };
        match mishap {
            None => take_effect(&mut self.state()),
            Some(Mishap::KilledBefore) => self.die().await,
            Some(Mishap::KilledAfter) => {
                // Nobody is left to hear what it answers.
                drop(take_effect(&mut self.state()));
                self.die().await
            }
            Some(Mishap::NoAnswer) => {
                tokio::time::sleep(DEADLINE).await;
                Err(CloudError::Unknown("the cloud did not answer within 30 s".to_owned()))
            }
            Some(Mishap::AnswerLost) => {
                take_effect(&mut self.state())?;
                Err(CloudError::Unknown("the answer of the cloud was lost".to_owned()))
            }
            Some(Mishap::Failed) => Err(CloudError::Unknown("the cloud failed".to_owned())),
        }
    }

    async fn die<T>(&self) -> T {
        self.killed.notify_one();
        std::future::pending().await
    }
}

impl State {
    fn strike(&mut self) -> Option<Mishap> {
        let (mishap, skip) = self.mishap.as_mut()?;
        if *skip > 0 {
            *skip -= 1;
            return None;
        }
        let mishap = *mishap;
        self.mishap = None;
        Some(mishap)
    }

    fn create(&mut self, order: &Order) -> Result<Instance, CloudError> {
        if let Some(Some(error)) = self.next_create.pop_front() {
            return Err(error);
        }
        let own =
            self.instances.values().find(|instance| instance.claim.as_ref() == Some(&order.claim));
        if let Some(instance) = own {
            return Ok(instance.clone());
        }
        let provider_id = format!("test://{}", order.claim.name);
        if self.instances.contains_key(&provider_id) || self.foreign.contains_key(&provider_id) {
            return Err(CloudError::Create {
                reason: "NameTaken",
                message: format!(
                    "instance {provider_id:?} exists and was not made for NodeClaim {}: remove it",
                    order.claim.name
                ),
            });
        }
        let Some(choice) = choice::cheapest(order, &self.types, &WellKnown::default()) else {
            return Err(CloudError::InsufficientCapacity("no type serves the order".to_owned()));
        };
        let instance = Instance {
            provider_id,
            claim: Some(order.claim.clone()),
            image_id: Some("test-image".to_owned()),
            labels: choice.labels(),
            capacity: choice.instance_type.offered_capacity(choice.offering),
            allocatable: choice.instance_type.allocatable(choice.offering),
            holds_join_data: true,
            ..Instance::default()
        };
        self.instances.insert(instance.provider_id.clone(), instance.clone());
        Ok(instance)
    }

    fn delete(
        &mut self,
        claim: &ClaimId,
        provider_id: Option<&str>,
    ) -> Result<Deletion, CloudError> {
        if let Some(Some(error)) = self.next_delete.pop_front() {
            return Err(error);
        }
        let is_meant = |instance: &Instance| match provider_id {
            // An instance of another claim is not meant, whatever it is called. A mark without an
            // identity does not say whose it is.
            Some(id) => {
                let own = instance.claim.as_ref().map_or("", |own| &own.uid);
                instance.provider_id == id && (own.is_empty() || own == claim.uid)
            }
            None => instance.claim.as_ref() == Some(claim),
        };
        let Some(id) = self
            .instances
            .values()
            .find(|instance| is_meant(instance))
            .map(|instance| instance.provider_id.clone())
        else {
            return Ok(Deletion::Gone);
        };
        let asked = self.asked_to_go.entry(id.clone()).or_default();
        *asked += 1;
        if *asked > self.asks_until_gone {
            self.asked_to_go.remove(&id);
            self.instances.remove(&id);
        } else if let Some(instance) = self.instances.get_mut(&id) {
            instance.deleting = true;
        }
        Ok(Deletion::Requested)
    }

    /// What is answered to a question, unless something else is to be.
    fn look<T>(&mut self, see: impl FnOnce(&Self) -> T) -> Result<T, CloudError> {
        match self.next_get.pop_front().flatten() {
            Some(error) => Err(error),
            None => Ok(see(self)),
        }
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

    fn predecessor_lease(&self) -> Option<&'static str> {
        self.state().predecessor_lease
    }

    fn class_finalizer(&self) -> Option<&'static str> {
        self.state().class_finalizer
    }

    fn class_hash(&self, _class: &NodeClass) -> Option<SpecHash> {
        self.state().class_hash.clone()
    }

    fn needs(&self, _class: &NodeClass) -> Needs {
        self.state().needs.clone()
    }

    fn label_corrections(&self) -> &'static [LabelCorrection] {
        self.state().label_corrections
    }

    fn notes(&self) -> Option<&Notes> {
        Some(&self.notes)
    }

    async fn keep_alive(&self) {
        self.state().calls.push("keep alive".to_owned());
        std::future::pending::<()>().await;
    }

    async fn close(&self) {
        self.state().calls.push("close".to_owned());
    }

    fn measured(&self, measured: &Measured<'_>) -> bool {
        let Measured { provider_id, instance_type, capacity, .. } = measured;
        let what = format!("measured {provider_id}: {instance_type} has {capacity}");
        let mut state = self.state();
        state.calls.push(what);
        state.instances.contains_key(*provider_id)
    }

    async fn adopt(&self, instance: &Instance, by: &Adoption) -> Result<bool, CloudError> {
        self.call(format!("adopt {}", instance.provider_id), |state| {
            if let Some(instance) = state.instances.get_mut(&instance.provider_id) {
                instance.claim = Some(by.claim.clone());
                instance.cluster_unproven = false;
            }
            Ok(true)
        })
        .await
    }

    async fn empty_join_data(&self, claim: &ClaimId, provider_id: &str) -> Result<(), CloudError> {
        self.call(format!("empty join data {provider_id}"), |state| {
            let instance = state.instances.get_mut(provider_id);
            if let Some(instance) =
                instance.filter(|instance| instance.claim.as_ref() == Some(claim))
            {
                instance.holds_join_data = false;
            }
            Ok(())
        })
        .await
    }

    async fn resolve_class(
        &self,
        _class: &NodeClass,
        inputs: Option<&ClassInputs>,
    ) -> Result<ClassStatus, CloudError> {
        let mut state = self.state();
        state.judgements += 1;
        state.class_inputs = inputs.cloned();
        let conditions = vec![state.class.clone()];
        Ok(ClassStatus { conditions, ..ClassStatus::default() })
    }

    fn instance_types(&self, _pool: &str, _class: &NodeClass) -> Result<InstanceTypes, CloudError> {
        Ok(Arc::clone(&self.state().types))
    }

    async fn create(&self, order: &Order) -> Result<Instance, CloudError> {
        self.call(format!("create {}", order.claim.name), |state| {
            state.order_inputs.insert(order.claim.clone(), order.inputs.clone());
            state.create(order)
        })
        .await
    }

    async fn delete(
        &self,
        claim: &ClaimId,
        provider_id: Option<&str>,
    ) -> Result<Deletion, CloudError> {
        let what = format!("delete {}", provider_id.unwrap_or(&claim.name));
        self.call(what, |state| state.delete(claim, provider_id)).await
    }

    async fn get(&self, provider_id: &str) -> Result<Option<Instance>, CloudError> {
        let find = |state: &State| {
            state.instances.get(provider_id).filter(|instance| !instance.deleting).cloned()
        };
        self.call(format!("get {provider_id}"), |state| state.look(find)).await
    }

    async fn list(&self) -> Result<Vec<Instance>, CloudError> {
        let all = |state: &State| state.instances.values().cloned().collect();
        self.call("list".to_owned(), |state| state.look(all)).await
    }

    async fn drift(
        &self,
        instance: &Instance,
        _class: &NodeClass,
    ) -> Result<Option<String>, CloudError> {
        self.call(format!("drift {}", instance.provider_id), |state| {
            match state.next_drift.pop_front().flatten() {
                Some(error) => Err(error),
                None => Ok(state.drift.clone()),
            }
        })
        .await
    }

    fn repair_policies(&self) -> &'static [RepairPolicy] {
        self.state().repair_policies
    }
}
