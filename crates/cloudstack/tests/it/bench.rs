//! A CloudStack in the process with providers that use it, and what goes wrong between them.

mod line;

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use joiner_clock::Clock;
use joiner_cloud::{
    CloudProvider,
    bootstrap::{Distro, Facts, GuestLookup, ProviderId},
    class::NodeClass,
    conformance::{AtOnce, Bench, Mishap, Notebooks, Process},
    inputs::OrderInputs,
    order::{ClaimId, Order},
    testing::{mishaps::Mishaps, scenes::Scene},
};
use joiner_cloudstack::{
    CloudStack, NODE_CLASS, ProviderSettings,
    client::{
        Api, Client, ClientSettings, Command, Scoped,
        requests::{Deploy, Tagged, create_tags},
    },
    marks, names,
    provider_id::{Form, uuid_of},
};
use joiner_core::{quantity::Quantity, resources::CPU};
use joiner_line::{Credentials, Transport};
use joiner_sim_cloudstack::{Inventory, VmPicture, VmState, inventory::Host};
use serde_json::{Value, json};

pub(crate) use self::line::Line;

/// The cluster that instances are made for.
pub(crate) const CLUSTER: &str = "prod";
/// Which cluster of this name it is.
pub(crate) const CLUSTER_UID: &str = "uid-of-prod";
/// How many objects the server answers at once.
const PAGE: u32 = 20;
/// How many requests a client has under way at once.
const REQUESTS_AT_ONCE: usize = 10;
/// What the guests of the tests join with.
pub(crate) const TOKEN: &str = "s3cret";

/// A CloudStack, and everybody who uses it.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) server: joiner_sim_cloudstack::CloudStack,
    pub(crate) clock: Clock,
    pub(crate) line: Arc<Line>,
    pub(crate) settings: ProviderSettings,
    pub(crate) cluster_uid: String,
    /// The class of its orders.
    pub(crate) class: Arc<NodeClass>,
    pub(crate) notebooks: Notebooks,
}

impl World {
    /// A small cloud with room for some hundred instances.
    pub(crate) fn new() -> Self {
        Self::of(Self::inventory())
    }

    /// What is in it.
    pub(crate) fn inventory() -> Inventory {
        let mut inventory = Inventory::small();
        inventory.hosts = (0..40)
            .map(|number| Host {
                name: format!("host-{number}"),
                zone: ["zone-1", "zone-2"][number % 2].to_owned(),
                cores: 32,
                mhz: 2000,
                memory_mib: 256 * 1024,
                ..Host::default()
            })
            .collect();
        inventory.behaviour.page_size_max = PAGE;
        inventory
    }

    pub(crate) fn of(inventory: Inventory) -> Self {
        let start = "2026-11-15T00:00:00Z".parse().unwrap();
        let clock = Clock::following_runtime(start);
        let server = joiner_sim_cloudstack::CloudStack::new(inventory, clock.clone()).unwrap();
        Self {
            line: Arc::new(Line::new(server.clone())),
            server,
            clock,
            settings: ProviderSettings::new(CLUSTER, "https://cloud.example.com/client/api"),
            cluster_uid: CLUSTER_UID.to_owned(),
            class: class(json!({})),
            notebooks: Notebooks::default(),
        }
    }

    /// The same with the status that a provider writes into the class.
    pub(crate) async fn with_status(self) -> Self {
        let inputs = OrderInputs::joining(rke2());
        let status = self.provider().resolve_class(&self.class, Some(&inputs.class)).await.unwrap();
        let class = NodeClass { status: Value::Object(status.fields), ..(*self.class).clone() };
        Self { class: Arc::new(class), ..self }
    }

    /// A client of the provider's account. Things go wrong with it if it is the provider's.
    pub(crate) fn client(&self, is_providers: bool) -> Client {
        let settings = ClientSettings::new(Credentials::new("user-key", "user-secret"));
        let way: Arc<dyn Transport> = if is_providers {
            Arc::<Line>::clone(&self.line)
        } else {
            Arc::new(Line::new(self.server.clone()))
        };
        Client::new(settings, way, self.clock.clone())
    }

    /// A provider in a process that was started just now.
    pub(crate) fn provider(&self) -> CloudStack {
        let provider =
            CloudStack::new(self.client(true), self.clock.clone(), self.settings.clone());
        provider.begin(&joiner_cloud::cluster::Cluster::new(&self.cluster_uid));
        provider
    }

    /// The n-th order of a test.
    pub(crate) fn order(&self, number: u32) -> Order {
        let claim = ClaimId {
            name: format!("general-{number}"),
            uid: format!("5f0e7a10-1111-4222-8333-{number:012x}"),
        };
        let mut order = Order::plain(claim, "general", Arc::clone(&self.class));
        order.requests.set(CPU, Quantity::whole(1));
        order.inputs = OrderInputs::joining(rke2());
        order
    }

    /// The instances that are not removed.
    pub(crate) fn vms(&self) -> Vec<VmPicture> {
        let is_there =
            |vm: &VmPicture| !matches!(vm.state, VmState::Destroyed | VmState::Expunging);
        self.server.vms().into_iter().filter(is_there).collect()
    }

    /// Makes an instance as somebody else of the account would, and answers its provider id.
    pub(crate) async fn deploy_as_somebody(
        &self,
        name: &str,
        details: BTreeMap<String, String>,
        tags: &BTreeMap<String, String>,
    ) -> String {
        let client = self.client(false);
        let id = |kind, name| self.server.id(kind, name).unwrap();
        let deploy = Deploy {
            zone_id: id("zone", "zone-1"),
            service_offering_id: id("serviceoffering", "small"),
            template_id: id("template", "ubuntu-2404"),
            network_ids: vec![id("network", "nodes")],
            name: name.to_owned(),
            job_id: names::deploy_job(name, 0),
            details,
            ..Deploy::default()
        };
        let made = self.done(&client, deploy.command()).await;
        if !tags.is_empty() {
            self.done(&client, create_tags(Tagged::Instance, &made, tags)).await;
        }
        Form::Guest.id("", &made)
    }

    /// Has a command done, and answers the object that it made.
    pub(crate) async fn done(&self, client: &Client, command: Command) -> String {
        let submitted = client.submit(command).await.unwrap();
        client.wait(&submitted, std::time::Duration::from_hours(1)).await.unwrap();
        submitted.object.unwrap_or_default()
    }

    /// Changes an instance as somebody else would.
    pub(crate) async fn update(&self, id: &str, field: &str, value: &str) {
        let update = Api::new("updateVirtualMachine", Scoped::No);
        let command = Command::new(update).with("id", id).with(field, value);
        self.client(false).call(command).await.unwrap();
    }
}

/// A class whose selectors lead somewhere, with what a test adds.
pub(crate) fn class(more: Value) -> Arc<NodeClass> {
    let names =
        |names: &[&str]| -> Value { names.iter().map(|name| json!({"name": name})).collect() };
    let mut spec = json!({
        "zone": "zone-1",
        "networkSelectorTerms": names(&["nodes"]),
        "serviceOfferingSelectorTerms": names(&["small", "medium", "huge"]),
        "templateSelectorTerms": names(&["ubuntu-2404"]),
        "bootstrap": {"distro": "rke2"},
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
        provider_id: Some(ProviderId::Guest(GuestLookup::Metadata)),
        ..Facts::given(Distro::Rke2, "https://10.0.0.10:9345", "v1.33.4+rke2r1", TOKEN)
    }
}

fn described(vm: &VmPicture) -> String {
    format!("{} {:?} {:?} {:?}", vm.name, vm.state, vm.details, vm.tags)
}

#[async_trait(?Send)]
impl Bench for World {
    fn start(&self) -> Process {
        let line = Arc::clone(&self.line);
        Process {
            provider: Arc::new(self.provider()),
            killed: Box::pin(async move { line.mishaps.kills().await }),
        }
    }

    fn start_elsewhere(&self) -> Option<Process> {
        let elsewhere = Self { cluster_uid: "uid-of-staging".to_owned(), ..self.clone() };
        let provider = Arc::new(elsewhere.provider());
        Some(Process { provider, killed: Box::pin(std::future::pending()) })
    }

    fn notebooks(&self) -> &Notebooks {
        &self.notebooks
    }

    fn class(&self) -> Arc<NodeClass> {
        Arc::clone(&self.class)
    }

    fn inputs(&self) -> OrderInputs {
        OrderInputs::joining(rke2())
    }

    fn arm(&self, mishap: Mishap, after: u32) {
        self.line.mishaps.arm(mishap, after);
    }

    fn disarm(&self) -> bool {
        self.line.mishaps.disarm()
    }

    async fn instances(&self) -> BTreeMap<String, String> {
        let vms = self.vms();
        vms.iter().map(|vm| (Form::Guest.id("", &vm.id), described(vm))).collect()
    }

    async fn add_foreign(&self, order: &Order) -> Vec<String> {
        let of_another = BTreeMap::from([
            (marks::CLUSTER.to_owned(), "prod-eu".to_owned()),
            (marks::CLAIM.to_owned(), order.claim.name.clone()),
            (marks::CLAIM_UID.to_owned(), order.claim.uid.clone()),
        ]);
        let namesake = self.provider().instance_name(&order.claim);
        let none = BTreeMap::new();
        vec![
            self.deploy_as_somebody("somebodys", BTreeMap::new(), &none).await,
            self.deploy_as_somebody("karpenter-of-eu", of_another, &none).await,
            self.deploy_as_somebody(&namesake, BTreeMap::new(), &none).await,
        ]
    }

    async fn add_copy(&self, provider_id: &str) -> String {
        let id = uuid_of(provider_id).unwrap();
        let original = self.vms().into_iter().find(|vm| vm.id == id).unwrap();
        self.deploy_as_somebody("copy", original.details, &original.tags).await
    }

    async fn without_room(&self, mut order: Order) -> Order {
        // Only the type serves it that no host has room for: it is deployed and cannot be started.
        order.requests.set(CPU, Quantity::whole(20));
        order
    }

    fn more_than_a_page(&self) -> u32 {
        PAGE + 1
    }

    fn secrets(&self) -> Vec<String> {
        vec![TOKEN.to_owned(), "user-secret".to_owned()]
    }

    async fn lose(&self, provider_id: &str) -> bool {
        let id = uuid_of(provider_id).unwrap();
        let vm = self.vms().into_iter().find(|vm| vm.id == id).unwrap();
        self.server.set_state(&vm.name, VmState::Error).unwrap();
        true
    }

    fn calls_at_once(&self) -> Option<AtOnce> {
        Some(AtOnce { limit: REQUESTS_AT_ONCE, most: self.line.most_under_way() })
    }
}

#[async_trait(?Send)]
impl Scene for World {
    fn provider(&self) -> Arc<dyn CloudProvider> {
        Arc::new(self.provider())
    }

    fn mishaps(&self) -> &Mishaps {
        &self.line.mishaps
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn order(&self, number: u32) -> Order {
        self.order(number)
    }

    async fn instances(&self) -> BTreeMap<String, String> {
        Bench::instances(self).await
    }

    async fn check_runs(&self, order: &Order) {
        let vms = self.vms();
        let own = vms.iter().find(|vm| vm.details.get(marks::CLAIM_UID) == Some(&order.claim.uid));
        assert_eq!(own.map(|vm| vm.state), Some(VmState::Running), "{vms:?}");
    }
}
