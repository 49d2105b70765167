//! A simulated cloud for tests. Tests script its answers, and it records its calls. The scenarios for
//! the tests of a real cloud are in [`scenes`].

pub mod mishaps;
pub mod scenes;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use joiner_core::{
    instance_type::{Catalog, InstanceType},
    label::{self, Labels, WellKnown},
};
use serde_json::{Value, json};
use tokio::{
    sync::{Notify, Semaphore},
    time::Instant,
};

use crate::{
    CloudError, CloudProvider, Deletion, InstanceTypes, RepairPolicy,
    adoption::Adoption,
    choice,
    class::{ClassCondition, ClassKind, ClassStatus, NodeClass, ObjectName, Role, SpecHash},
    cluster::{Cluster, ClusterChange},
    conformance::Mishap,
    inputs::{ClassInputs, OrderInputs, SecretData},
    instance::{Instance, Lost, Measured},
    listing::{Listing, PlaceAway},
    needs::{JoinNeeds, Needs, SecretName},
    notes::Notes,
    order::{ClaimId, Order},
    progress::Progress,
    registration::RegistrationHook,
    shape::{Shape, Terms},
};

/// The class that the cloud for tests serves.
pub const TEST_NODE_CLASS: ClassKind = ClassKind {
    role: Role::NodeClass,
    group: "karpenter.test.sh",
    version: "v1alpha1",
    kind: "TestNodeClass",
    plural: "testnodeclasses",
};

/// What classes of the cloud for tests may be made of.
pub const TEST_TEMPLATE: ClassKind = ClassKind {
    role: Role::Ingredient,
    group: "karpenter.test.sh",
    version: "v1alpha1",
    kind: "TestTemplate",
    plural: "testtemplates",
};

/// A label that another program writes wrongly, and what it should say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelCorrection {
    /// The label.
    pub key: &'static str,
    /// The wrong value.
    pub wrong: &'static str,
    /// The right value.
    pub right: &'static str,
}

/// How many instances the provider makes at once.
pub const CREATIONS_AT_ONCE: usize = 100;
/// How long an offering without capacity stays unavailable.
const UNAVAILABLE_FOR: Duration = Duration::from_mins(10);
/// How long the cloud may take to answer.
const DEADLINE: Duration = Duration::from_secs(30);

/// Which conditions of a node mean that its instance should be replaced, unless a test says otherwise.
const REPAIR_POLICIES: &[RepairPolicy] =
    &[RepairPolicy { condition: "BadNode", status: "False", toleration: Duration::from_mins(30) }];

/// A definition of [`TEST_NODE_CLASS`] for an API server.
pub fn test_node_class_crd() -> Value {
    TEST_NODE_CLASS.definition(&anything())
}

/// A definition of [`TEST_TEMPLATE`] for an API server.
pub fn test_template_crd() -> Value {
    TEST_TEMPLATE.definition(&anything())
}

fn anything() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
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
#[derive(Debug, Clone)]
pub struct TestCloud {
    state: Arc<Mutex<State>>,
    killed: Arc<Notify>,
    turns: Arc<Semaphore>,
    /// The cloud's notes.
    pub notes: Notes,
}

/// The contents of the cloud, and its scripted behaviour.
#[derive(Debug)]
pub struct State {
    /// Instances by their provider's name.
    pub instances: BTreeMap<String, Instance>,
    /// Instances of others, by their provider's name.
    pub foreign: BTreeMap<String, Instance>,
    /// Copies that people made of instances, with their marks, by their provider's name.
    pub copies: BTreeMap<String, Instance>,
    /// The calls in order: `create web-1`, `delete test://web-1`, `list`.
    pub calls: Vec<String>,
    /// What the next creations answer instead of making an instance; none makes one.
    pub next_create: VecDeque<Option<CloudError>>,
    /// What the next deletions answer instead of removing an instance.
    pub next_delete: VecDeque<Option<CloudError>>,
    /// What the next questions for an instance, or for all, answer instead.
    pub next_get: VecDeque<Option<CloudError>>,
    /// The mishap of a call, and the number of calls that succeed before it.
    pub mishap: Option<(Mishap, u32)>,
    /// How often a deletion has to be asked for until the instance is gone.
    pub asks_until_gone: u32,
    /// The drift reason of every instance.
    pub drift: Option<String>,
    /// The scripted answers of the next drift checks.
    pub next_drift: VecDeque<Option<CloudError>>,
    /// Which conditions of a node mean that its instance should be replaced.
    pub repair_policies: &'static [RepairPolicy],
    /// Types that instances can have.
    pub types: InstanceTypes,
    /// The condition of every class.
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
    /// Hashes of what instances of every class are made from.
    pub hashes: Vec<SpecHash>,
    /// What the predecessor wrote into labels.
    pub label_corrections: &'static [LabelCorrection],
    /// The kinds that are served.
    pub kinds: &'static [ClassKind],
    /// What is needed of the cluster for classes of these names, instead of `needs`.
    pub needs_of: BTreeMap<String, Needs>,
    /// How instances join once the Secrets are read; none for what `needs` says.
    pub join_needs: Option<JoinNeeds>,
    /// When classes are to be judged again.
    pub look_again: Option<Duration>,
    /// Names of the objects that were judged, in order.
    pub judged: Vec<String>,
    /// The place that the next instances go to; none for a cloud that is one place.
    pub place: Option<String>,
    /// Whether there is no room for anything.
    pub full: bool,
    /// When offerings become available again, by type, zone and capacity type.
    pub unavailable: BTreeMap<[String; 3], Instant>,
    /// What instances were updated to, by provider id: the spec of their class.
    pub updated: BTreeMap<String, Value>,
    /// The duration of each call.
    pub takes: Duration,
    /// How many calls are under way, and how many there were at most.
    pub under_way: [usize; 2],
    /// Places that cannot be listed. An instance is in the place that follows the scheme of its id, as
    /// in `test://west/web-1`.
    pub away: BTreeSet<String>,
    /// What the next updates in place answer instead of being done.
    pub next_update: VecDeque<Result<Progress, CloudError>>,
    /// What the next settlements answer instead of being done.
    pub next_settled: VecDeque<Result<Progress, CloudError>>,
    /// The annotation of claims that are settled.
    pub settled_mark: Option<&'static str>,
    /// What has to be done before nodes are registered.
    pub hooks: Vec<Arc<dyn RegistrationHook>>,
    /// What is kept in the notebook of each creation before an instance is made.
    pub kept_first: Labels,
    /// What each order found in its claim's annotations.
    pub found_kept: BTreeMap<ClaimId, Labels>,
    /// What happened to offerings of instances that were lost before they joined.
    pub lost: Vec<Lost>,
    /// The cluster, as it was told.
    pub cluster: Option<Cluster>,
    /// What was told of the cluster's changes, in order.
    pub changes: Vec<ClusterChange>,
    /// What the next disposals answer instead of being done.
    pub next_dispose: VecDeque<Deletion>,
    /// Parts of image names of the cloud's own controller.
    pub cloud_controllers: &'static [&'static str],
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
            hashes: Vec::new(),
            label_corrections: &[],
            kinds: &[TEST_NODE_CLASS],
            needs_of: BTreeMap::new(),
            join_needs: None,
            look_again: None,
            judged: Vec::new(),
            place: None,
            full: false,
            unavailable: BTreeMap::new(),
            updated: BTreeMap::new(),
            takes: Duration::ZERO,
            under_way: [0; 2],
            away: BTreeSet::new(),
            next_update: VecDeque::new(),
            next_settled: VecDeque::new(),
            settled_mark: None,
            hooks: Vec::new(),
            kept_first: Labels::new(),
            found_kept: BTreeMap::new(),
            lost: Vec::new(),
            cluster: None,
            changes: Vec::new(),
            next_dispose: VecDeque::new(),
            cloud_controllers: &[],
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

impl Default for TestCloud {
    fn default() -> Self {
        Self {
            state: Arc::default(),
            killed: Arc::default(),
            turns: Arc::new(Semaphore::new(CREATIONS_AT_ONCE)),
            notes: Notes::default(),
        }
    }
}

impl TestCloud {
    /// A cloud without instances.
    pub fn new() -> Self {
        Self::default()
    }

    /// The contents of the cloud and its scripted behaviour, for tests to read and change.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same cloud, with its own limit on simultaneous creations.
    pub fn with_turns_of_its_own(&self) -> Self {
        Self { turns: Self::default().turns, ..self.clone() }
    }

    /// The number of calls that start with this text.
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
        let (mishap, takes) = {
            let mut state = self.state();
            state.calls.push(what);
            (state.strike(), state.takes)
        };
        if !takes.is_zero() {
            let _under_way = UnderWay::begin(self);
            tokio::time::sleep(takes).await;
        }
        match mishap {
            None => take_effect(&mut self.state()),
            Some(Mishap::KilledBefore) => self.die().await,
            Some(Mishap::KilledAfter) => {
                // The killed process never receives the answer.
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

/// A call that is under way.
struct UnderWay<'c>(&'c TestCloud);

impl<'c> UnderWay<'c> {
    fn begin(cloud: &'c TestCloud) -> Self {
        let [now, most] = &mut cloud.state().under_way;
        *now += 1;
        *most = (*most).max(*now);
        Self(cloud)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.state().under_way[0] -= 1;
    }
}

/// The values of labels that make an offering: type, zone and capacity type.
fn offering(labels: &Labels) -> [String; 3] {
    [label::INSTANCE_TYPE, label::ZONE, label::CAPACITY_TYPE]
        .map(|key| labels.get(key).cloned().unwrap_or_default())
}

impl State {
    /// The types, without offerings that are unavailable now.
    fn offered(&self) -> InstanceTypes {
        if self.unavailable.is_empty() {
            return Arc::clone(&self.types);
        }
        let now = Instant::now();
        let offered = |own: &Arc<InstanceType>| {
            let mut own = InstanceType::clone(own);
            for terms in &mut own.offerings {
                let labels = Labels::from([(label::INSTANCE_TYPE.to_owned(), own.name.clone())]);
                let labels = terms.requirements.single_values().into_iter().chain(labels);
                let until = self.unavailable.get(&offering(&labels.collect()));
                terms.available &= until.is_none_or(|until| *until <= now);
            }
            Arc::new(own)
        };
        self.types.iter().map(offered).collect()
    }

    /// Marks every offering that serves an order as unavailable for a while.
    fn is_full_for(&mut self, order: &Order) {
        let until = Instant::now() + UNAVAILABLE_FOR;
        let types = Arc::clone(&self.types);
        let well_known = WellKnown::default();
        let choices = choice::every(order, &types, &well_known);
        let failed = choices.map(|choice| (offering(&choice.labels()), until));
        self.unavailable.extend(failed);
    }

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
        let provider_id = match &self.place {
            Some(place) => format!("test://{place}/{}", order.claim.name),
            None => format!("test://{}", order.claim.name),
        };
        if self.instances.contains_key(&provider_id) || self.foreign.contains_key(&provider_id) {
            return Err(CloudError::Create {
                reason: "NameTaken",
                message: format!(
                    "instance {provider_id:?} exists and was not made for NodeClaim {}: remove it",
                    order.claim.name
                ),
            });
        }
        if self.full {
            self.is_full_for(order);
            return Err(CloudError::InsufficientCapacity("there is no room".to_owned()));
        }
        let types = self.offered();
        let Some(choice) = choice::cheapest(order, &types, &WellKnown::default()) else {
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
            // An instance of another claim never matches, even with the same name. A mark without a
            // UID identifies no claim.
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

    /// The answer to a query, unless a test scripted another one.
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
        self.state().kinds
    }

    fn begin(&self, cluster: &Cluster) {
        self.state().cluster = Some(cluster.clone());
    }

    fn changed(&self, change: &ClusterChange) {
        self.state().changes.push(change.clone());
    }

    /// The id in upper-case letters means the same as in lower-case ones.
    fn canonical<'i>(&self, provider_id: &'i str) -> Cow<'i, str> {
        let is_other = provider_id.starts_with("TEST://");
        if is_other { Cow::Owned(provider_id.to_lowercase()) } else { Cow::Borrowed(provider_id) }
    }

    fn place_of(&self, provider_id: &str) -> Option<String> {
        let (place, _) = provider_id.strip_prefix("test://")?.split_once('/')?;
        Some(place.to_owned())
    }

    fn cloud_controllers(&self) -> &'static [&'static str] {
        self.state().cloud_controllers
    }

    fn registration_hooks(&self) -> Vec<Arc<dyn RegistrationHook>> {
        self.state().hooks.clone()
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

    fn class_finalizer(&self, _class: &NodeClass) -> Option<&'static str> {
        self.state().class_finalizer
    }

    async fn dispose(&self, class: &NodeClass) -> Result<Deletion, CloudError> {
        self.call(format!("dispose of {}", class.name), |state| {
            Ok(state.next_dispose.pop_front().unwrap_or(Deletion::Gone))
        })
        .await
    }

    fn hashes(&self, _class: &NodeClass) -> Vec<SpecHash> {
        self.state().hashes.clone()
    }

    /// By default, a class needs the templates that `spec.templates` names.
    fn needs(&self, class: &NodeClass) -> Needs {
        let state = self.state();
        let mut needs = state.needs_of.get(&class.name).unwrap_or(&state.needs).clone();
        let templates = class.spec["templates"].as_array().into_iter().flatten();
        needs.objects.extend(templates.filter_map(Value::as_str).map(|name| ObjectName {
            group: TEST_TEMPLATE.group.to_owned(),
            kind: TEST_TEMPLATE.kind.to_owned(),
            name: name.to_owned(),
        }));
        needs
    }

    fn join_needs(
        &self,
        class: &NodeClass,
        _secrets: &BTreeMap<SecretName, SecretData>,
    ) -> Option<JoinNeeds> {
        let read = self.state().join_needs.clone();
        read.or_else(|| self.needs(class).joining)
    }

    fn corrected_label(&self, key: &str, value: &str) -> Option<String> {
        let state = self.state();
        let mut corrections = state.label_corrections.iter();
        let wrong = corrections.find(|own| own.key == key && own.wrong == value)?;
        Some(wrong.right.to_owned())
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
        class: &NodeClass,
        inputs: Option<&ClassInputs>,
    ) -> Result<ClassStatus, CloudError> {
        let mut state = self.state();
        state.judgements += 1;
        state.judged.push(class.name.clone());
        state.class_inputs = inputs.cloned();
        let (conditions, look_again) = (vec![state.class.clone()], state.look_again);
        Ok(ClassStatus { conditions, look_again, ..ClassStatus::default() })
    }

    fn instance_types(&self, _pool: &str, _class: &NodeClass) -> Result<InstanceTypes, CloudError> {
        Ok(self.state().offered())
    }

    async fn create(&self, order: &Order) -> Result<Instance, CloudError> {
        let first = {
            let mut state = self.state();
            state.found_kept.insert(order.claim.clone(), order.kept.clone());
            state.kept_first.clone()
        };
        if first.iter().any(|(key, value)| order.kept.get(key) != Some(value)) {
            order.notebook.keep(first).await?;
        }
        let _turn = self.turns.acquire().await;
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

    async fn get(
        &self,
        claim: &ClaimId,
        provider_id: &str,
    ) -> Result<Option<Instance>, CloudError> {
        let id = self.canonical(provider_id);
        let is_meant = |found: &&Instance| !found.deleting && found.may_be_of(claim);
        let place = self.place_of(&id);
        let find = |state: &State| {
            let is_away = place.is_some_and(|place| state.away.contains(&place));
            let away = || CloudError::Unknown("its place does not answer".to_owned());
            let found = state.instances.get(&*id).filter(is_meant).cloned();
            if is_away { Err(away()) } else { Ok(found) }
        };
        self.call(format!("get {id}"), |state| state.look(find)).await?
    }

    async fn list(&self) -> Result<Listing, CloudError> {
        let all = |state: &State| {
            let is_away = |id: &str| self.place_of(id).is_some_and(|own| state.away.contains(&own));
            let there = state.instances.values().filter(|own| !is_away(&own.provider_id));
            let away = state.away.iter().map(|place| PlaceAway {
                place: place.clone(),
                why: "it does not answer".to_owned(),
            });
            Listing { instances: there.cloned().collect(), away: away.collect() }
        };
        self.call("list".to_owned(), |state| state.look(all)).await
    }

    async fn update(&self, instance: &Instance, class: &NodeClass) -> Result<Progress, CloudError> {
        self.call(format!("update {}", instance.provider_id), |state| {
            if let Some(answer) = state.next_update.pop_front() {
                return answer;
            }
            state.updated.insert(instance.provider_id.clone(), class.spec.clone());
            Ok(Progress::done())
        })
        .await
    }

    fn settled_mark(&self) -> Option<&'static str> {
        self.state().settled_mark
    }

    async fn settled(&self, _claim: &ClaimId, provider_id: &str) -> Result<Progress, CloudError> {
        self.call(format!("settle {provider_id}"), |state| {
            state.next_settled.pop_front().unwrap_or(Ok(Progress::done()))
        })
        .await
    }

    fn lost_before_it_joined(&self, _class: &NodeClass, lost: &Lost) {
        let mut state = self.state();
        state.lost.push(lost.clone());
        state.unavailable.insert(offering(&lost.offering), Instant::now() + UNAVAILABLE_FOR);
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
