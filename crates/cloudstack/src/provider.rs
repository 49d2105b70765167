//! The provider: makes, finds and removes instances through a management server.
//!
//! A thin shell: every decision is a pure function beside it (`resolve`, `offerings`, `marks`,
//! `names`, `vm`); what is here asks CloudStack and carries out.

mod adopt;
mod create;
mod delete;
mod drift;
mod find;
mod look;
mod resolve;
mod scope;
mod state;
mod status;
mod strays;
mod tagging;
mod troubles;
mod watch;

use std::{
    borrow::Cow,
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
    cluster::{self, ClusterChange},
    deadline::within,
    homes::Homes,
    inputs::ClassInputs,
    instance::{Instance, Lost},
    listing::Listing,
    mark::Cluster,
    needs::Needs,
    notes::Notes,
    order::{ClaimId, Order},
    unavailable::{Scarce, offered},
};
use joiner_core::{
    instance_type::InstanceType,
    label::{self, WellKnown},
};

pub(crate) use self::state::Resolved;
use self::state::State;
use crate::{
    FINALIZER, HASH, HASH_VERSION, HASH_VERSION_KEY, Metrics, NODE_CLASS,
    client::Client,
    labels, names,
    node_class::NodeClass,
    offerings::Settings,
    provider_id::{Form, FormSetting, uuid_of},
    user_data,
};

/// Parts of the names of images of CloudStack's cloud controller.
const CLOUD_CONTROLLERS: &[&str] = &["cloudstack-kubernetes-provider"];

/// Which conditions of a node mean that its instance should be replaced: upstream's.
const REPAIR_POLICIES: &[RepairPolicy] = &[
    RepairPolicy { condition: "Ready", status: "False", toleration: Duration::from_mins(30) },
    RepairPolicy { condition: "Ready", status: "Unknown", toleration: Duration::from_mins(30) },
];

/// How long an answer may take in all: some calls, each of them tried again for a while.
const ANSWER_WITHIN: Duration = Duration::from_mins(15);

/// Whether removed instances are expunged at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expunge {
    /// Where the server allows it to the key.
    #[default]
    Auto,
    /// Always. Where that is refused, they are removed without.
    Always,
    /// Never.
    Never,
}

/// What the user can choose about the provider.
#[derive(Debug, Clone)]
pub struct ProviderSettings {
    /// Name of the cluster: instances are marked with it.
    pub cluster: String,
    /// The server's address. It tells servers apart, and is not used to reach one.
    pub endpoint: String,
    /// How names of instances begin.
    pub name_prefix: String,
    /// About instances of all classes.
    pub instances: Settings,
    /// Which form provider ids get.
    pub provider_ids: FormSetting,
    /// Whether removed instances are expunged at once.
    pub expunge: Expunge,
    /// How long a creation waits for its job.
    pub launch_wait: Duration,
    /// How long a launch may take.
    pub launch_timeout: Duration,
    /// The longest user data in base64 that the server takes, where it is known.
    pub user_data_max: Option<usize>,
}

impl ProviderSettings {
    /// The settings that nobody has changed.
    pub fn new(cluster: impl Into<String>, endpoint: impl Into<String>) -> Self {
        Self {
            cluster: cluster.into(),
            endpoint: endpoint.into(),
            name_prefix: names::DEFAULT_PREFIX.to_owned(),
            instances: Settings::default(),
            provider_ids: FormSetting::default(),
            expunge: Expunge::default(),
            launch_wait: Duration::from_secs(45),
            launch_timeout: Duration::from_mins(15),
            user_data_max: None,
        }
    }
}

/// A CloudStack's instances for one cluster. Cheap to clone.
#[derive(Clone)]
pub struct CloudStack(Arc<Inner>);

struct Inner {
    client: Client,
    clock: Clock,
    settings: ProviderSettings,
    /// The UID of the cluster's namespace `kube-system`, once it was told.
    cluster_uid: OnceLock<String>,
    notes: Notes,
    metrics: Metrics,
    /// One look at what classes come to at a time.
    gathering: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    homes: Homes,
}

impl fmt::Debug for CloudStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cluster = &self.0.settings.cluster;
        f.debug_struct("CloudStack").field("cluster", cluster).finish_non_exhaustive()
    }
}

impl CloudStack {
    /// A provider that knows nothing yet, whose metrics nobody sees.
    pub fn new(client: Client, clock: Clock, settings: ProviderSettings) -> Self {
        Self::counted(client, clock, settings, Metrics::default())
    }

    /// A provider that knows nothing yet, and tells `metrics` what it sees. Its client may tell them
    /// what it does.
    pub fn counted(
        client: Client,
        clock: Clock,
        settings: ProviderSettings,
        metrics: Metrics,
    ) -> Self {
        let inner = Arc::new(Inner {
            client,
            clock,
            settings,
            cluster_uid: OnceLock::new(),
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

    /// The cluster's identity. Without it nobody can say which instances are its own.
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
        what: &str,
        work: impl Future<Output = Result<T, CloudError>>,
    ) -> Result<T, CloudError> {
        within(&self.clock, ANSWER_WITHIN, what, Box::pin(work)).await
    }

    /// The form of provider ids.
    fn form(&self) -> Form {
        let state = self.state();
        self.settings.provider_ids.form(state.nodes.values().map(String::as_str), false)
    }

    /// The types of a class, those that could not be had lately marked as such.
    fn offered(&self, class: &str, types: &[Arc<InstanceType>]) -> InstanceTypes {
        let (now, state) = (self.now(), self.state());
        offered(types, |name, zone| state.why_unavailable(class, name, zone, now))
    }
}

#[async_trait]
impl CloudProvider for CloudStack {
    fn name(&self) -> &'static str {
        "cloudstack"
    }

    fn begin(&self, cluster: &cluster::Cluster) {
        self.0.cluster_uid.get_or_init(|| cluster.uid.clone());
        self.0.state().begin(cluster);
    }

    fn changed(&self, change: &ClusterChange) {
        self.0.state().change(change);
    }

    fn class_kinds(&self) -> &'static [ClassKind] {
        &[NODE_CLASS]
    }

    fn well_known(&self) -> WellKnown {
        labels::well_known()
    }

    fn corrected_label(&self, key: &str, value: &str) -> Option<String> {
        let state = self.0.state();
        state.aliases.ours(key, value).filter(|ours| *ours != value).map(str::to_owned)
    }

    fn canonical<'i>(&self, provider_id: &'i str) -> Cow<'i, str> {
        match uuid_of(provider_id) {
            Some(uuid) => Cow::Owned(Form::Guest.id("", &uuid)),
            None => Cow::Borrowed(provider_id),
        }
    }

    fn cloud_controllers(&self) -> &'static [&'static str] {
        CLOUD_CONTROLLERS
    }

    fn notes(&self) -> Option<&Notes> {
        Some(&self.0.notes)
    }

    async fn keep_alive(&self) {
        self.0.watch_launches().await;
    }

    fn launch_timeout(&self) -> Duration {
        self.0.settings.launch_timeout
    }

    fn class_finalizer(&self, _class: &class::NodeClass) -> Option<&'static str> {
        Some(FINALIZER)
    }

    fn hashes(&self, class: &class::NodeClass) -> Vec<SpecHash> {
        // A class that cannot be read has no hash: it is told so.
        let read = NodeClass::read(&class.object()).ok();
        let hash =
            |read: NodeClass| SpecHash::of_drift(HASH, HASH_VERSION_KEY, HASH_VERSION, read.hash());
        read.map(hash).into_iter().collect()
    }

    fn needs(&self, class: &class::NodeClass) -> Needs {
        // Of a class that cannot be read nothing is needed: it is told so.
        let read = NodeClass::read(&class.object()).ok();
        let joining = read.as_ref().and_then(user_data::join_needs);
        Needs { joining, ..Needs::default() }
    }

    fn instance_name(&self, claim: &ClaimId) -> String {
        names::instance(&self.0.settings.name_prefix, &claim.name, &claim.uid, 0)
    }

    async fn resolve_class(
        &self,
        class: &class::NodeClass,
        inputs: Option<&ClassInputs>,
    ) -> Result<ClassStatus, CloudError> {
        self.0.within("judging a class", self.0.judge(class, inputs)).await
    }

    fn instance_types(
        &self,
        _pool: &str,
        class: &class::NodeClass,
    ) -> Result<InstanceTypes, CloudError> {
        self.0.types_of(class)
    }

    async fn create(&self, order: &Order) -> Result<Instance, CloudError> {
        self.0.within("making an instance", self.0.create(order)).await
    }

    async fn delete(
        &self,
        claim: &ClaimId,
        provider_id: Option<&str>,
    ) -> Result<Deletion, CloudError> {
        self.0.within("removing an instance", self.0.delete(claim, provider_id)).await
    }

    async fn get(
        &self,
        claim: &ClaimId,
        provider_id: &str,
    ) -> Result<Option<Instance>, CloudError> {
        self.0.within("looking for an instance", self.0.get(claim, provider_id)).await
    }

    async fn list(&self) -> Result<Listing, CloudError> {
        self.0.within("listing instances", self.0.list()).await.map(Listing::from)
    }

    async fn drift(
        &self,
        instance: &Instance,
        class: &class::NodeClass,
    ) -> Result<Option<String>, CloudError> {
        self.0.within("looking for drift", self.0.drift(instance, class)).await
    }

    async fn adopt(&self, instance: &Instance, by: &Adoption) -> Result<bool, CloudError> {
        self.0.within("marking an instance", self.0.adopt(instance, by)).await
    }

    fn lost_before_it_joined(&self, class: &class::NodeClass, lost: &Lost) {
        let zone = lost.offering.get(label::ZONE).map(String::as_str);
        if let Some(name) = lost.offering.get(label::INSTANCE_TYPE) {
            let now = self.0.now();
            let scarce = Scarce::room(&class.name, name, zone);
            self.0.state().unavailable.remember(scarce, now);
        }
    }

    fn repair_policies(&self) -> &'static [RepairPolicy] {
        REPAIR_POLICIES
    }
}
