//! A vCenter in the process with providers that use it, and what goes wrong between them.

mod line;
mod site;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{Request, Response};
use joiner_clock::Clock;
use joiner_cloud::{
    CloudProvider,
    bootstrap::{Distro, Facts, GuestLookup, ProviderId},
    class::NodeClass,
    conformance::Mishap,
    inputs::OrderInputs,
    order::{ClaimId, Order},
    testing::{
        mishaps::Mishaps,
        scenes::{Scene, remove},
    },
};
use joiner_core::{quantity::Quantity, resources::CPU};
use joiner_vim::{
    Credentials, Method, MoRef, Transport, Vim, VimSettings,
    spec::{ConfigSpec, ExtraConfig},
    transport::TransportError,
};
use joiner_vsphere::{Metrics, NODE_CLASS, ProviderSettings, Vsphere};
use serde_json::{Value, json};

pub(crate) use self::{
    line::Line,
    site::{
        OnSite, Places, SIMULATED, Site, at, clone_as_somebody, copy_as_somebody,
        template_as_somebody,
    },
};

/// The cluster that instances are made for.
pub(crate) const CLUSTER: &str = "prod";
/// Which cluster of this name it is.
pub(crate) const CLUSTER_UID: &str = "uid-of-prod";
/// How many objects the vCenter answers at once.
const PAGE: usize = 20;
pub(crate) const USER: &str = "administrator@vsphere.local";
pub(crate) const PASSWORD: &str = "secret";
/// Where somebody else makes instances.
const PLACES: Places = Places {
    template: "/dc1/vm/templates/ubuntu-2404",
    folder: "/dc1/vm/k8s",
    pool: "/dc1/host/cluster1/Resources",
    datastore: "/dc1/datastore/datastore1",
};

/// The way to a vCenter in the process.
struct InProcess(joiner_vcenter::VCenter);

#[async_trait]
impl Transport for InProcess {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        self.0.answer(request).await.map_err(|lost| TransportError::NoAnswer(lost.to_string()))
    }
}

/// A vCenter, and everybody who uses it.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) server: joiner_vcenter::VCenter,
    pub(crate) clock: Clock,
    pub(crate) mishaps: Arc<Mishaps>,
    /// Somebody else, with whom nothing goes wrong.
    pub(crate) admin: Vim,
    pub(crate) settings: ProviderSettings,
    pub(crate) cluster_uid: String,
    /// The class of its orders.
    pub(crate) class: Arc<NodeClass>,
}

impl World {
    /// A small vCenter with room for some hundred instances.
    pub(crate) fn new() -> Self {
        Self::of(Self::inventory())
    }

    /// What is in it.
    pub(crate) fn inventory() -> joiner_vcenter::Inventory {
        let mut inventory = joiner_vcenter::Inventory::small();
        let hosts =
            (1..=8).map(|n| joiner_vcenter::inventory::Host::new(&format!("esx{n}"), 32, 1024));
        inventory.datacenters[0].clusters[0].hosts = hosts.collect();
        inventory.behaviour.page_max = PAGE;
        inventory
    }

    pub(crate) fn of(inventory: joiner_vcenter::Inventory) -> Self {
        let start = "2026-11-15T00:00:00Z".parse().expect("it is a time");
        let clock = Clock::following_runtime(start);
        let server = joiner_vcenter::VCenter::new(inventory, clock.clone())
            .expect("the description holds together");
        let admin = vim(&server, None, &clock);
        let settings = ProviderSettings::new(CLUSTER, "k8s");
        let cluster_uid = CLUSTER_UID.to_owned();
        Self {
            server,
            clock,
            mishaps: Arc::default(),
            admin,
            settings,
            cluster_uid,
            class: class(json!({})),
        }
    }

    /// A provider in a process that was started just now.
    pub(crate) fn provider(&self) -> Vsphere {
        let vim = vim(&self.server, Some(&self.mishaps), &self.clock);
        self.acting(Vsphere::new(vim, self.clock.clone(), self.settings.clone()))
    }

    /// A provider that acts for the cluster of the tests.
    fn acting(&self, provider: Vsphere) -> Vsphere {
        provider.acts_for(&self.cluster_uid);
        provider
    }

    /// The same vCenter as another cluster of the same name sees it.
    pub(crate) fn elsewhere(&self) -> Self {
        Self { cluster_uid: "uid-of-staging".to_owned(), ..self.clone() }
    }

    /// A provider whose client goes by settings of its own.
    pub(crate) fn provider_of(&self, settings: VimSettings, metrics: Metrics) -> Vsphere {
        let line = InProcess(self.server.clone());
        let vim = Vim::new(settings, Arc::new(line), self.clock.clone());
        self.acting(Vsphere::counted(vim, self.clock.clone(), self.settings.clone(), metrics))
    }

    /// Lets the first call of this name go wrong.
    pub(crate) fn arm_at(&self, mishap: Mishap, call: &'static str) {
        self.mishaps.arm_at(mishap, call);
    }

    /// Has a new process do something until it is done or killed.
    pub(crate) async fn until_killed<T>(&self, work: impl AsyncFnOnce(Vsphere) -> T) -> Option<T> {
        self.mishaps.until_killed(work(self.provider())).await
    }

    /// An object of the inventory by its path.
    pub(crate) async fn at(&self, path: &str) -> MoRef {
        at(&self.admin, path).await
    }

    /// Makes an instance as somebody else would.
    pub(crate) async fn clone_as_somebody(&self, name: &str, config: ConfigSpec) -> String {
        clone_as_somebody(&self.admin, &PLACES, name, config).await
    }

    /// Clones an instance into a folder as an administrator would.
    pub(crate) async fn copy_as_somebody(
        &self,
        provider_id: &str,
        folder: &'static str,
        name: &str,
        config: ConfigSpec,
    ) -> String {
        let places = Places { folder, ..PLACES };
        copy_as_somebody(&self.admin, &places, provider_id, name, config).await
    }

    /// Every instance by its provider id, with all that could be changed about it.
    pub(crate) async fn all_instances(&self) -> BTreeMap<String, String> {
        all_instances(&self.admin).await
    }

    /// What one instance's property says.
    pub(crate) async fn property(&self, name: &str, path: &str) -> Option<String> {
        let vm = self.at(&format!("/dc1/vm/k8s/{name}")).await;
        let read = self.admin.read(&[vm], &[path]).await.expect("it answers");
        read[0].text(path).map(str::to_owned)
    }
}

fn vim(server: &joiner_vcenter::VCenter, mishaps: Option<&Arc<Mishaps>>, clock: &Clock) -> Vim {
    let way: Arc<dyn Transport> = Arc::new(InProcess(server.clone()));
    let way = match mishaps {
        Some(mishaps) => Arc::new(Line { way, mishaps: Arc::clone(mishaps) }),
        None => way,
    };
    let settings = VimSettings::new(Credentials::new(USER, PASSWORD));
    Vim::new(settings, way, clock.clone())
}

/// Every instance that somebody sees, by its provider id, with all that could be changed about it.
pub(crate) async fn all_instances(admin: &Vim) -> BTreeMap<String, String> {
    let root = admin.service_content().await.expect("it answers").root_folder.clone();
    let paths = [
        "name",
        "config.uuid",
        "config.template",
        "config.annotation",
        "config.extraConfig",
        "config.hardware.numCPU",
        "config.hardware.memoryMB",
        "runtime.powerState",
    ];
    let all = admin.list(&root, "VirtualMachine", &paths).await.expect("it answers");
    all.iter()
        .filter(|own| own.parse("config.template") != Some(true))
        .map(|own| {
            let uuid = own.text("config.uuid").unwrap_or_default();
            (format!("vsphere://{uuid}"), format!("{:?}", own.values))
        })
        .collect()
}

/// A class whose selectors lead somewhere, with what a test adds.
pub(crate) fn class(more: Value) -> Arc<NodeClass> {
    let mut spec = json!({
        "computeSelector": {"name": "cluster1"},
        "datastoreSelector": {"name": "datastore1"},
        "networkSelector": {"name": "workers"},
        "imageSelector": {"name": "ubuntu-2404"},
        "instanceTypes": [
            {"os": "linux", "cpu": 2, "memory": 4, "zone": "az1", "region": "dc1"},
            {"os": "linux", "cpu": 8, "memory": 32, "zone": "az1", "region": "dc1"},
            {"os": "linux", "cpu": 256, "memory": 4096, "zone": "az1", "region": "dc1"},
        ],
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    Arc::new(NodeClass {
        group: NODE_CLASS.group.to_owned(),
        api_version: NODE_CLASS.version.to_owned(),
        kind: NODE_CLASS.kind.to_owned(),
        name: "general".to_owned(),
        uid: "class-uid".to_owned(),
        generation: 1,
        spec,
        ..NodeClass::default()
    })
}

/// What instances join an RKE2 cluster with.
pub(crate) fn rke2() -> Facts {
    Facts {
        provider_id: Some(ProviderId::Guest(GuestLookup::Dmi)),
        ..Facts::given(Distro::Rke2, "https://10.0.0.10:9345", "v1.33.4+rke2r1", "s3cret")
    }
}

/// The n-th order of a test.
pub(crate) fn order(class: &Arc<NodeClass>, number: u32) -> Order {
    let claim = ClaimId {
        name: format!("general-{number}"),
        uid: format!("5f0e7a10-1111-4222-8333-{number:012x}"),
    };
    let mut order = Order::plain(claim, "general", Arc::clone(class));
    order.requests.set(CPU, Quantity::whole(1));
    order.inputs = OrderInputs::joining(rke2());
    order
}

#[async_trait(?Send)]
impl Site for World {
    fn provider(&self) -> Vsphere {
        self.provider()
    }

    fn elsewhere(&self) -> Option<Vsphere> {
        Some(self.elsewhere().provider())
    }

    fn mishaps(&self) -> &Arc<Mishaps> {
        &self.mishaps
    }

    fn class(&self) -> Arc<NodeClass> {
        class(json!({}))
    }

    async fn instances(&self) -> BTreeMap<String, String> {
        self.all_instances().await
    }

    async fn clone_as_somebody(&self, name: &str, config: ConfigSpec) -> String {
        self.clone_as_somebody(name, config).await
    }

    async fn copy_as_somebody(&self, provider_id: &str) -> String {
        self.copy_as_somebody(provider_id, "/dc1/vm/k8s", "copy", ConfigSpec::default()).await
    }

    async fn without_room(&self, mut order: Order) -> Order {
        // No host has as much, so it is cloned and cannot be switched on.
        order.requests.set(CPU, Quantity::whole(200));
        order
    }

    fn more_than_a_page(&self) -> u32 {
        PAGE as u32 + 1
    }
}

#[async_trait(?Send)]
impl Scene for World {
    fn provider(&self) -> Arc<dyn CloudProvider> {
        Arc::new(self.provider())
    }

    fn mishaps(&self) -> &Mishaps {
        &self.mishaps
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn order(&self, number: u32) -> Order {
        order(&self.class, number)
    }

    async fn instances(&self) -> BTreeMap<String, String> {
        self.all_instances().await
    }

    async fn check_runs(&self, order: &Order) {
        let name = format!("{CLUSTER}-karp-{}", order.claim.name);
        let power = self.property(&name, "runtime.powerState").await;
        assert_eq!(power.as_deref(), Some("poweredOn"));
    }
}

/// What a condition of a class says.
pub(crate) async fn condition(
    provider: &Vsphere,
    class: &NodeClass,
    type_: &str,
) -> (Option<bool>, String, String) {
    let inputs = OrderInputs::joining(rke2());
    let status = provider.resolve_class(class, Some(&inputs.class)).await.expect("it answers");
    let found = status.conditions.iter().find(|own| own.type_ == type_);
    let found = found.expect("the class has the condition");
    (found.holds, found.reason.clone(), found.message.clone())
}

impl World {
    /// What a guest is given.
    pub(crate) async fn guest_text(&self, name: &str, key: &str) -> String {
        let vm = self.at(&format!("/dc1/vm/k8s/{name}")).await;
        let read = self.admin.read(&[vm], &["config.extraConfig"]).await.expect("it answers");
        let settings = read[0].value("config.extraConfig").expect("there are settings");
        decoded(&setting(settings, key))
    }

    /// Changes settings of an instance as somebody else would; empty values take them away.
    pub(crate) async fn change_settings(&self, name: &str, settings: &[(&str, &str)]) {
        let extra_config = settings.iter().map(|(key, value)| ExtraConfig::new(*key, *value));
        let spec = ConfigSpec { extra_config: extra_config.collect(), ..ConfigSpec::default() };
        let vm = self.at(&format!("/dc1/vm/k8s/{name}")).await;
        let changed = self.admin.start(&vm, Method::Reconfigure(Box::new(spec))).await;
        let task = changed.expect("it is taken");
        self.admin.wait(&task, Duration::from_mins(1)).await.expect("it is changed");
    }

    /// Asks for a deletion until the instance is gone.
    pub(crate) async fn remove(&self, provider: &Vsphere, claim: &ClaimId, id: Option<&str>) {
        remove(provider, &self.clock, claim, id).await;
    }
}

/// The value of one of an instance's settings; empty where it has none.
pub(crate) fn setting(settings: &joiner_vim::Element, key: &str) -> String {
    let is_it = |own: &&joiner_vim::Element| own.text_at("key") == Some(key);
    let found = settings.children.iter().find(is_it);
    found.and_then(|own| own.text_at("value")).unwrap_or_default().to_owned()
}

/// What a guest reads of a text that it is given.
pub(crate) fn decoded(text: &str) -> String {
    let bytes = STANDARD.decode(text).expect("guests' texts are base64");
    String::from_utf8(bytes).expect("and texts")
}
