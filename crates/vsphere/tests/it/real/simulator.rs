//! A simulator with a provider that uses it, in virtual time.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    path::Path,
    sync::{Arc, LazyLock},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use joiner_clock::Clock;
use joiner_cloud::{CloudProvider, class::NodeClass, order::Order, testing::mishaps::Mishaps};
use joiner_realparts::vcsim::{PASSWORD, Refusal, USER, Vcsim};
use joiner_vim::{
    Credentials, Https, MoRef, Object, TlsSettings, Transport, Uuid, Vim, VimSettings,
    spec::ConfigSpec,
    tags::{Cardinality, NewCategory},
    transport::TransportError,
};
use joiner_vsphere::{ProviderSettings, Vsphere};
use serde_json::{Value, json};
use tokio::{
    runtime::{Builder, Runtime},
    sync::oneshot,
};

use crate::bench::{
    CLUSTER, CLUSTER_UID, Line, Places, SIMULATED, Site, all_instances, at, class,
    clone_as_somebody, copy_as_somebody, order,
};

/// The simulator's datastores, by the names that it gives them.
pub(super) const DATASTORES: [&str; 2] = ["LocalDS_0", "LocalDS_1"];
const TEMPLATE: &str = "ubuntu-2404";
/// Where somebody else makes instances.
const PLACES: Places = Places { template: "/DC0/vm/ubuntu-2404", ..SIMULATED };
/// How often it is looked whether the simulator has done its work.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(10);
/// More than the client asks for at once.
const MORE_THAN_A_PAGE: u32 = 201;

/// Where the network is waited for.
static NETWORK: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().expect("there are threads")
});

/// Waits for the network while virtual time stands still: deadlines are kept, and a simulator that
/// is slow does not exceed them. Whoever stops waiting lets time go on.
async fn at_a_standstill<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let (waits, stopped_waiting) = oneshot::channel::<Infallible>();
    let work = async {
        tokio::select! {
            answer = work => Some(answer),
            _ = stopped_waiting => None,
        }
    };
    let answer = tokio::task::spawn_blocking(move || NETWORK.block_on(work)).await;
    drop(waits);
    answer.ok().flatten().expect("somebody waits, and the network does not panic")
}

/// The way to the simulator.
struct Still(Arc<Https>);

#[async_trait]
impl Transport for Still {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let https = Arc::clone(&self.0);
        at_a_standstill(async move { https.send(request).await }).await
    }
}

/// A simulator, and everybody who uses it.
pub(super) struct Simulator {
    vcsim: Arc<Vcsim>,
    clock: Clock,
    mishaps: Arc<Mishaps>,
    way: Arc<dyn Transport>,
    /// Somebody else, with whom nothing goes wrong.
    admin: Vim,
}

impl Simulator {
    /// One cluster, two datastores, a template, and no instance.
    pub(super) async fn start(program: &Path) -> Self {
        let program = program.to_owned();
        let started = at_a_standstill(async move {
            let size = ["-vm", "1", "-standalone-host", "0", "-host", "2", "-ds", "2"];
            Vcsim::start(&program, &[&size[..], &["-template", TEMPLATE]].concat()).await
        });
        let vcsim = started.await.expect("the simulator starts");
        let tls = TlsSettings { insecure: true, ..TlsSettings::default() };
        let endpoint = vcsim.url().parse().expect("it has an address");
        let https = Https::new(endpoint, &tls).expect("nothing is asked of TLS");
        let way: Arc<dyn Transport> = Arc::new(Still(Arc::new(https)));
        let clock = Clock::following_runtime("2026-11-15T00:00:00Z".parse().expect("a moment"));
        let admin = vim(&way, &clock);
        let vcsim = Arc::new(vcsim);
        Self { vcsim, clock, mishaps: Arc::default(), way, admin }
    }

    async fn named(&self, object: &MoRef) -> String {
        let read = self.admin.read(std::slice::from_ref(object), &["name"]).await;
        read.expect("it answers")[0].text("name").expect("it has a name").to_owned()
    }

    /// A provider in a process that was started just now.
    pub(super) fn provider(&self) -> Vsphere {
        let way = Line { way: Arc::clone(&self.way), mishaps: Arc::clone(&self.mishaps) };
        let vim = vim(&(Arc::new(way) as Arc<dyn Transport>), &self.clock);
        let provider = Vsphere::new(vim, self.clock.clone(), ProviderSettings::new(CLUSTER, "/"));
        provider.acts_for(CLUSTER_UID);
        provider
    }

    pub(super) async fn refuse(&self, refusal: Refusal) {
        let vcsim = Arc::clone(&self.vcsim);
        let refused = at_a_standstill(async move { vcsim.refuse(&refusal).await });
        refused.await.expect("it takes orders");
    }

    pub(super) async fn accept_all(&self) {
        let vcsim = Arc::clone(&self.vcsim);
        let accepted = at_a_standstill(async move { vcsim.accept_all().await });
        accepted.await.expect("it takes orders");
    }

    /// Marks both datastores as fit for instances.
    pub(super) async fn tag_datastores(&self) {
        let tags = self.admin.tags();
        let category = NewCategory {
            name: "k8s".to_owned(),
            description: String::new(),
            cardinality: Cardinality::Single,
            associable_types: vec!["Datastore".to_owned()],
        };
        let category = tags.create_category(&category).await.expect("it is new");
        let tag = tags.create_tag(&category, "yes", "").await.expect("it is new");
        for name in DATASTORES {
            let datastore = at(&self.admin, &format!("/DC0/datastore/{name}")).await;
            tags.attach(&datastore, std::slice::from_ref(&tag)).await.expect("it can be tagged");
        }
    }

    /// The name of the datastore that an instance lies on.
    pub(super) async fn datastore_of(&self, provider_id: &str) -> String {
        let uuid = provider_id.strip_prefix("vsphere://").expect("it is an instance of vSphere");
        let found = self.admin.find_by_uuid(None, uuid, Uuid::Bios).await.expect("it answers");
        let vm = found.expect("the instance is there");
        let read = self.admin.read(&[vm], &["datastore"]).await.expect("it answers");
        self.named(&read[0].references("datastore")[0]).await
    }

    /// How many instances there are, whoever's they are.
    pub(super) async fn count(&self) -> usize {
        self.instances().await.len()
    }

    /// Waits until everything is done that was asked for; whoever asked may be gone.
    async fn settle(&self) {
        let manager = MoRef::new("TaskManager", "TaskManager");
        loop {
            let read = self.admin.read(std::slice::from_ref(&manager), &["recentTask"]).await;
            let tasks = read.expect("it answers")[0].references("recentTask");
            let states = self.admin.read(&tasks, &["info.state"]).await.expect("it answers");
            let is_open =
                |task: &Object| matches!(task.text("info.state"), Some("queued" | "running"));
            if !states.iter().any(is_open) {
                return;
            }
            at_a_standstill(async { tokio::time::sleep(LOOK_AGAIN_AFTER).await }).await;
        }
    }
}

fn vim(way: &Arc<dyn Transport>, clock: &Clock) -> Vim {
    let mut settings = VimSettings::new(Credentials::new(USER, PASSWORD));
    // Virtual time stands still while the simulator holds a question back.
    settings.long_poll = Duration::from_secs(1);
    Vim::new(settings, Arc::clone(way), clock.clone())
}

/// The n-th order of a test, of a class with what the test adds.
pub(super) fn order_of(number: u32, more: Value) -> Order {
    order(&simulators_class(more), number)
}

/// A class whose selectors lead somewhere in the simulator.
fn simulators_class(more: Value) -> Arc<NodeClass> {
    let mut spec = json!({
        "computeSelector": {"name": "DC0_C0"},
        "datastoreSelector": {"name": "LocalDS_0"},
        "networkSelector": {"name": "DC0_DVPG0"},
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    class(spec)
}

#[async_trait(?Send)]
impl Site for Simulator {
    fn provider(&self) -> Vsphere {
        self.provider()
    }

    fn mishaps(&self) -> &Arc<Mishaps> {
        &self.mishaps
    }

    fn class(&self) -> Arc<NodeClass> {
        simulators_class(json!({}))
    }

    async fn instances(&self) -> BTreeMap<String, String> {
        self.settle().await;
        all_instances(&self.admin).await
    }

    async fn clone_as_somebody(&self, name: &str, config: ConfigSpec) -> String {
        clone_as_somebody(&self.admin, &PLACES, name, config).await
    }

    async fn copy_as_somebody(&self, provider_id: &str) -> String {
        let nothing = ConfigSpec::default();
        copy_as_somebody(&self.admin, &PLACES, provider_id, "copy", nothing).await
    }

    /// The simulator's hosts have room for everything, so it is ordered to say otherwise.
    async fn without_room(&self, order: Order) -> Order {
        let method = "CloneVM_Task".to_owned();
        let fault = "InsufficientHostCapacityFault".to_owned();
        self.refuse(Refusal { method, fault, ..Refusal::default() }).await;
        order
    }

    fn more_than_a_page(&self) -> u32 {
        MORE_THAN_A_PAGE
    }
}
