//! The provider: makes, finds and removes virtual machines through a vCenter.
//!
//! A thin shell: every decision is a pure function beside it (`choose`, `places`, `clone_spec`,
//! `faults`, `drift`, `vm`); what is here asks vCenter and carries out.

mod adopt;
mod apart;
mod check_room;
mod create;
mod delete;
mod examine;
mod grouping;
mod join_data;
mod look;
mod namesakes;
mod placing;
mod resolve;
mod state;
mod status;
mod strays;
mod tagging;
mod tags_ready;
mod troubles;
mod zones_ready;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use joiner_clock::Clock;
use joiner_cloud::{
    CloudError, CloudProvider, Deletion, InstanceTypes, RepairPolicy,
    adoption::Adoption,
    class::{self, ClassKind, ClassStatus, SpecHash},
    cluster,
    deadline::within,
    doctor::{Finding, Patient},
    homes::Homes,
    inputs::ClassInputs,
    instance::{Instance, Measured},
    limiter::Gates,
    listing::Listing,
    mark::Cluster,
    needs::Needs,
    notes::Notes,
    order::{ClaimId, Order},
    unavailable::offered,
};
use joiner_core::{
    evenness::ZoneRoom,
    instance_type::InstanceType,
    label::{self, WellKnown},
};
use joiner_vim::Vim;

use self::{
    state::{ClassMemory, ClassVersion, State},
    tagging::TagDirectory,
};
use crate::{
    FINALIZER, HASH, HASH_VERSION, HASH_VERSION_KEY, Metrics, NODE_CLASS, Settings,
    TopologyCategories, inventory::Template, names, networks, node_class::NodeClass, types,
    user_data, vm_settings::PowerOff,
};

/// The lease that the predecessor holds while it acts.
const PREDECESSOR_LEASE: &str = "karpenter-leader-election";

/// Which conditions of a node mean that its instance should be replaced. vSphere needs minutes to
/// restart the instances of a failed host elsewhere, so the toleration is long.
const REPAIR_POLICIES: &[RepairPolicy] = &[
    RepairPolicy { condition: "Ready", status: "False", toleration: Duration::from_mins(30) },
    RepairPolicy { condition: "Ready", status: "Unknown", toleration: Duration::from_mins(30) },
];

/// The predecessor's capacity type for on-demand instances, which plans do not accept.
const PREDECESSORS_ON_DEMAND: &str = "OnDemand";

/// How long an answer may take in all: some calls, each of them tried again for a while.
const ANSWER_WITHIN: Duration = Duration::from_mins(5);
/// How long a removal may take until it is asked for again.
const REMOVE_WITHIN: Duration = Duration::from_mins(10);

/// What the user can choose about the provider.
#[derive(Debug, Clone)]
pub struct ProviderSettings {
    /// Name of the cluster: instances are named after it and marked with it.
    pub cluster: String,
    /// Folder of the instances, below a datacenter's folder of virtual machines.
    pub folder: String,
    /// The datacenter of classes that name none; by default the only datacenter.
    pub datacenter: Option<String>,
    /// About instances of all classes.
    pub instances: Settings,
    /// Where the cloud controller reads zones and regions.
    pub topology: TopologyCategories,
    /// The limits on simultaneous requests to the vCenter.
    pub limits: Limits,
    /// How long a launch may take.
    pub launch_timeout: Duration,
}

impl ProviderSettings {
    /// The default settings.
    pub fn new(cluster: impl Into<String>, folder: impl Into<String>) -> Self {
        Self {
            cluster: cluster.into(),
            folder: folder.into(),
            datacenter: None,
            instances: Settings::default(),
            topology: TopologyCategories::default(),
            limits: Limits::default(),
            launch_timeout: Duration::from_mins(15),
        }
    }
}

/// The limits on simultaneous requests to a vCenter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Copies of templates of one host. A host has sixteen units for such work, and a copy takes
    /// four of two hosts.
    pub full_clones: usize,
    /// Linked clones of templates of one host.
    pub linked_clones: usize,
    /// Instances that are started.
    pub power_ons: usize,
    /// Instances that are removed.
    pub destroys: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { full_clones: 8, linked_clones: 32, power_ons: 16, destroys: 16 }
    }
}

/// A vCenter's instances for one cluster. Cheap to clone.
#[derive(Clone)]
pub struct Vsphere(Arc<Inner>);

struct Inner {
    vim: Vim,
    tags: TagDirectory,
    clock: Clock,
    settings: ProviderSettings,
    /// The UID of the cluster's namespace `kube-system`, once it was told.
    cluster_uid: OnceLock<String>,
    gates: Gates,
    notes: Notes,
    metrics: Metrics,
    /// One look at the inventory at a time; others wait for it and share it.
    gathering: tokio::sync::Mutex<resolve::Gathered>,
    state: Mutex<State>,
    homes: Homes,
}

impl fmt::Debug for Vsphere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vsphere").field("cluster", &self.0.settings.cluster).finish_non_exhaustive()
    }
}

impl Vsphere {
    /// A provider without state, whose metrics are not published.
    pub fn new(vim: Vim, clock: Clock, settings: ProviderSettings) -> Self {
        Self::counted(vim, clock, settings, Metrics::default())
    }

    /// A provider without state that records in `metrics`. Its client may record there too.
    pub fn counted(vim: Vim, clock: Clock, settings: ProviderSettings, metrics: Metrics) -> Self {
        let tags = TagDirectory::new(vim.tags(), clock.clone());
        let inner = Arc::new(Inner {
            vim,
            tags,
            clock,
            settings,
            cluster_uid: OnceLock::new(),
            gates: Gates::default(),
            notes: Notes::default(),
            metrics,
            gathering: tokio::sync::Mutex::default(),
            state: Mutex::default(),
            homes: Homes::default(),
        });
        let asked = Arc::downgrade(&inner);
        inner.metrics.shared.ask_for_unavailable(move || {
            let inner = asked.upgrade();
            inner.map(|own| own.state().unavailable_offerings(own.now())).unwrap_or_default()
        });
        Self(inner)
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The cluster, as marks tell clusters apart.
    fn cluster(&self) -> Cluster<'_> {
        let uid = self.cluster_uid.get().map(String::as_str);
        Cluster { name: &self.settings.cluster, uid }
    }

    /// The cluster's UID. It is needed to recognize the cluster's own instances.
    fn cluster_uid(&self) -> Result<&str, CloudError> {
        self.cluster().uid.ok_or_else(|| {
            CloudError::Unknown(format!(
                "it is not known yet which cluster of the name {:?} this is: the namespace \
                 kube-system has not been read",
                self.settings.cluster
            ))
        })
    }

    /// Does some work with a deadline.
    async fn within<T>(
        &self,
        limit: Duration,
        what: &str,
        work: impl Future<Output = Result<T, CloudError>>,
    ) -> Result<T, CloudError> {
        within(&self.clock, limit, what, work).await
    }

    /// Reads a class, with what the template adds to it.
    fn read_class(&self, class: &class::NodeClass) -> Result<NodeClass, CloudError> {
        let read = NodeClass::read(&class.object());
        let read = read.map_err(|error| CloudError::NodeClassNotReady(error.to_string()))?;
        let state = self.state();
        let image = state.resolutions.of(class).map(|own| &own.image);
        let template_disk = image.and_then(Template::disk_gib);
        let measured = image.map(|image| state.measured.of_image(&image.named.path));
        Ok(read
            .with_template_disk(template_disk)
            .with_measured_memory(measured.unwrap_or_default()))
    }

    /// What instances of a class are like.
    fn class_memory(
        &self,
        class: &class::NodeClass,
        read: &NodeClass,
    ) -> Result<ClassMemory, CloudError> {
        let version = ClassVersion {
            uid: class.uid.clone(),
            generation: class.generation,
            template_disk_gib: read.template_disk_gib,
            measured_memory: read.measured_memory.clone(),
        };
        if let Some(known) = self.state().classes.get(&class.name)
            && known.version == version
        {
            return Ok(known.clone());
        }
        let instances = read
            .instances(&self.settings.instances)
            .map_err(|not_ready| CloudError::NodeClassNotReady(not_ready.to_string()))?;
        let spec = &read.spec;
        let memory = ClassMemory {
            version,
            types: instances.types.into_iter().map(Arc::new).collect(),
            hardware: Arc::new(instances.hardware),
            devices: Arc::new(instances.devices),
            power_off: PowerOff::read(
                spec.power_off_mode.as_deref(),
                spec.guest_soft_power_off_timeout.as_ref(),
            )
            .unwrap_or_default(),
        };
        self.state().classes.insert(class.name.clone(), memory.clone());
        Ok(memory)
    }

    /// The types of a class, with recently unavailable offerings marked.
    fn offered(&self, class: &str, types: &[Arc<InstanceType>]) -> InstanceTypes {
        let (now, state) = (self.now(), self.state());
        offered(types, |name, zone| state.why_unavailable(class, name, zone, now))
    }
}

#[async_trait]
impl CloudProvider for Vsphere {
    fn name(&self) -> &'static str {
        "vsphere"
    }

    fn begin(&self, cluster: &cluster::Cluster) {
        self.0.cluster_uid.get_or_init(|| cluster.uid.clone());
    }

    fn class_kinds(&self) -> &'static [ClassKind] {
        &[NODE_CLASS]
    }

    fn well_known(&self) -> WellKnown {
        types::well_known()
    }

    fn labels_of(&self, types: &[Arc<InstanceType>]) -> Vec<String> {
        types::labels_of(types)
    }

    fn predecessor_lease(&self) -> Option<&'static str> {
        Some(PREDECESSOR_LEASE)
    }

    fn corrected_label(&self, key: &str, value: &str) -> Option<String> {
        let is_wrong = key == label::CAPACITY_TYPE && value == PREDECESSORS_ON_DEMAND;
        is_wrong.then(|| label::CAPACITY_TYPE_ON_DEMAND.to_owned())
    }

    fn notes(&self) -> Option<&Notes> {
        Some(&self.0.notes)
    }

    async fn keep_alive(&self) {
        self.0.vim.keep_alive().await;
    }

    async fn close(&self) {
        self.0.vim.logout().await;
    }

    fn launch_timeout(&self) -> Duration {
        self.0.settings.launch_timeout
    }

    fn class_finalizer(&self, _class: &class::NodeClass) -> Option<&'static str> {
        Some(FINALIZER)
    }

    fn hashes(&self, class: &class::NodeClass) -> Vec<SpecHash> {
        // An unreadable class has no hash. Its status reports the error.
        let read = NodeClass::read(&class.object()).ok();
        let hash =
            |read: NodeClass| SpecHash::of_drift(HASH, HASH_VERSION_KEY, HASH_VERSION, read.hash());
        read.map(hash).into_iter().collect()
    }

    fn needs(&self, class: &class::NodeClass) -> Needs {
        // An unreadable class has no needs. Its status reports the error.
        let read = NodeClass::read(&class.object()).ok();
        Needs {
            secrets: read.iter().filter_map(user_data::secret_need).collect(),
            joining: read.as_ref().map(|read| user_data::class_text(read).join_needs()),
            addresses: read.iter().flat_map(|read| networks::address_needs(&read.spec)).collect(),
            objects: Vec::new(),
        }
    }

    fn instance_name(&self, claim: &ClaimId) -> String {
        names::instance(&self.0.settings.cluster, &claim.name)
    }

    async fn resolve_class(
        &self,
        class: &class::NodeClass,
        inputs: Option<&ClassInputs>,
    ) -> Result<ClassStatus, CloudError> {
        let judging = Box::pin(self.0.resolve_class(class, inputs));
        self.0.within(ANSWER_WITHIN, "judging a class", judging).await
    }

    fn instance_types(
        &self,
        _pool: &str,
        class: &class::NodeClass,
    ) -> Result<InstanceTypes, CloudError> {
        let read = self.0.read_class(class)?;
        let memory = self.0.class_memory(class, &read)?;
        Ok(self.0.offered(&class.name, &memory.types))
    }

    fn room(&self, class: &class::NodeClass) -> ZoneRoom {
        self.0.room(&class.name)
    }

    async fn create(&self, order: &Order) -> Result<Instance, CloudError> {
        // A clone has all of its time once it has left vCenter's queue, so there is twice as much
        // for all of it together.
        let limit = self.0.settings.launch_timeout * 2;
        self.0.within(limit, "making an instance", Box::pin(self.0.create(order))).await
    }

    async fn delete(
        &self,
        claim: &ClaimId,
        provider_id: Option<&str>,
    ) -> Result<Deletion, CloudError> {
        let removing = Box::pin(self.0.delete(claim, provider_id));
        self.0.within(REMOVE_WITHIN, "removing an instance", removing).await
    }

    async fn get(
        &self,
        claim: &ClaimId,
        provider_id: &str,
    ) -> Result<Option<Instance>, CloudError> {
        let looking = Box::pin(self.0.get(claim, provider_id));
        self.0.within(ANSWER_WITHIN, "looking for an instance", looking).await
    }

    async fn list(&self) -> Result<Listing, CloudError> {
        let listing = self.0.within(ANSWER_WITHIN, "listing instances", Box::pin(self.0.list()));
        listing.await.map(Listing::from)
    }

    fn measured(&self, measured: &Measured<'_>) -> bool {
        self.0.state().measured.learn(measured)
    }

    async fn adopt(&self, instance: &Instance, by: &Adoption) -> Result<bool, CloudError> {
        self.0
            .within(ANSWER_WITHIN, "marking an instance", Box::pin(self.0.adopt(instance, by)))
            .await
    }

    async fn empty_join_data(&self, claim: &ClaimId, provider_id: &str) -> Result<(), CloudError> {
        let emptying = Box::pin(self.0.empty_join_data(claim, provider_id));
        self.0.within(ANSWER_WITHIN, "emptying what a guest joined with", emptying).await
    }

    async fn drift(
        &self,
        instance: &Instance,
        class: &class::NodeClass,
    ) -> Result<Option<String>, CloudError> {
        let looking = Box::pin(self.0.drift(instance, class));
        self.0.within(ANSWER_WITHIN, "looking for drift", looking).await
    }

    async fn examine(&self, patient: &Patient) -> Vec<Finding> {
        let findings = self.0.examine(patient).await;
        self.0.vim.logout().await;
        findings
    }

    fn repair_policies(&self) -> &'static [RepairPolicy] {
        REPAIR_POLICIES
    }
}
