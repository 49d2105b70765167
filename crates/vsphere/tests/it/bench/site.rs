//! A vCenter of whichever kind, as the checks of all providers use it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use joiner_cloud::{
    class::NodeClass,
    conformance::{Bench, Mishap, Process},
    inputs::OrderInputs,
    order::Order,
    testing::mishaps::Mishaps,
};
use joiner_vim::{
    Method, MoRef, Uuid, Vim,
    spec::{CloneSpec, ConfigSpec, ExtraConfig, RelocateSpec},
};
use joiner_vsphere::Vsphere;

use super::{CLUSTER, rke2};

/// How long a clone may take.
const LIMIT: Duration = Duration::from_hours(1);

/// A vCenter with everybody who uses it: what is its own about it.
#[async_trait(?Send)]
pub(crate) trait Site {
    /// A provider in a process that was started just now.
    fn provider(&self) -> Vsphere;

    /// The same of another cluster of the same name.
    fn elsewhere(&self) -> Option<Vsphere> {
        None
    }

    /// What goes wrong between its providers and it.
    fn mishaps(&self) -> &Arc<Mishaps>;

    /// A class whose selectors lead somewhere.
    fn class(&self) -> Arc<NodeClass>;

    /// Every instance, by its provider id, with all that could be changed about it.
    async fn instances(&self) -> BTreeMap<String, String>;

    /// Makes an instance as somebody else would, and answers its provider id.
    async fn clone_as_somebody(&self, name: &str, config: ConfigSpec) -> String;

    /// Clones an instance within its folder as an administrator would, and answers the clone's
    /// provider id.
    async fn copy_as_somebody(&self, provider_id: &str) -> String;

    /// The order changed, or the vCenter filled, so that there is no room for it.
    async fn without_room(&self, order: Order) -> Order;

    /// How many instances are more than a list answers at once.
    fn more_than_a_page(&self) -> u32;
}

/// A site that the checks of all providers are run on.
pub(crate) struct OnSite<S>(pub(crate) S);

#[async_trait(?Send)]
impl<S: Site> Bench for OnSite<S> {
    fn start(&self) -> Process {
        let mishaps = Arc::clone(self.0.mishaps());
        Process {
            provider: Arc::new(self.0.provider()),
            killed: Box::pin(async move { mishaps.kills().await }),
        }
    }

    fn start_elsewhere(&self) -> Option<Process> {
        let provider = Arc::new(self.0.elsewhere()?);
        Some(Process { provider, killed: Box::pin(std::future::pending()) })
    }

    fn class(&self) -> Arc<NodeClass> {
        self.0.class()
    }

    fn inputs(&self) -> OrderInputs {
        OrderInputs::joining(rke2())
    }

    fn arm(&self, mishap: Mishap, after: u32) {
        self.0.mishaps().arm(mishap, after);
    }

    fn disarm(&self) -> bool {
        self.0.mishaps().disarm()
    }

    async fn instances(&self) -> BTreeMap<String, String> {
        self.0.instances().await
    }

    async fn add_foreign(&self, order: &Order) -> Vec<String> {
        let of_another = ConfigSpec {
            extra_config: vec![
                ExtraConfig::new("joiner.cluster", "prod-eu"),
                ExtraConfig::new("joiner.nodeclaim-uid", &order.claim.uid),
            ],
            ..ConfigSpec::default()
        };
        let namesake = format!("{CLUSTER}-karp-{}", order.claim.name);
        let mut ids = Vec::new();
        for (name, config) in [
            ("somebodys", ConfigSpec::default()),
            ("prod-eu-karp-general-1", of_another),
            (&namesake, ConfigSpec::default()),
        ] {
            ids.push(self.0.clone_as_somebody(name, config).await);
        }
        ids
    }

    async fn add_copy(&self, provider_id: &str) -> String {
        self.0.copy_as_somebody(provider_id).await
    }

    async fn without_room(&self, order: Order) -> Order {
        self.0.without_room(order).await
    }

    fn more_than_a_page(&self) -> u32 {
        self.0.more_than_a_page()
    }
}

/// Where somebody else makes instances, by paths.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    pub(crate) template: &'static str,
    pub(crate) folder: &'static str,
    pub(crate) pool: &'static str,
    pub(crate) datastore: &'static str,
}

/// Places of govmomi's simulator, with the instance that it starts with as what is cloned.
pub(crate) const SIMULATED: Places = Places {
    template: "/DC0/vm/DC0_C0_RP0_VM0",
    folder: "/DC0/vm",
    pool: "/DC0/host/DC0_C0/Resources",
    datastore: "/DC0/datastore/LocalDS_0",
};

/// An object of the inventory by its path.
pub(crate) async fn at(vim: &Vim, path: &str) -> MoRef {
    vim.find_by_path(path).await.expect("it answers").expect("the path leads somewhere")
}

/// Makes an instance as somebody else would, and answers its provider id.
pub(crate) async fn clone_as_somebody(
    admin: &Vim,
    places: &Places,
    name: &str,
    config: ConfigSpec,
) -> String {
    let template = at(admin, places.template).await;
    let spec = CloneSpec { config: Some(config), ..CloneSpec::default() };
    provider_id_of(admin, &clone(admin, &template, places, name, spec).await).await
}

/// Clones an instance as an administrator would, and answers the clone's provider id. Its settings are
/// given again: a simulator may not copy them, and vCenter does.
pub(crate) async fn copy_as_somebody(
    admin: &Vim,
    places: &Places,
    provider_id: &str,
    name: &str,
    config: ConfigSpec,
) -> String {
    let uuid = provider_id.strip_prefix("vsphere://").expect("it is an instance of vSphere");
    let found = admin.find_by_uuid(None, uuid, Uuid::Bios).await.expect("it answers");
    let original = found.expect("the instance is there");
    let read = admin.read(std::slice::from_ref(&original), &["config.extraConfig"]).await;
    let read = read.expect("it answers");
    let settings = &read[0].value("config.extraConfig").expect("there are settings").children;
    let extra_config = settings.iter().filter_map(|own| {
        Some(ExtraConfig::new(own.text_at("key")?, own.text_at("value").unwrap_or_default()))
    });
    let config = ConfigSpec { extra_config: extra_config.collect(), ..config };
    let spec = CloneSpec { config: Some(config), ..CloneSpec::default() };
    provider_id_of(admin, &clone(admin, &original, places, name, spec).await).await
}

async fn provider_id_of(admin: &Vim, vm: &MoRef) -> String {
    let read = admin.read(std::slice::from_ref(vm), &["config.uuid"]).await.expect("it answers");
    format!("vsphere://{}", read[0].text("config.uuid").expect("it has one"))
}

/// Makes a template as somebody else would.
pub(crate) async fn template_as_somebody(
    admin: &Vim,
    places: &Places,
    name: &str,
    config: ConfigSpec,
) {
    let spec = CloneSpec { template: true, config: Some(config), ..CloneSpec::default() };
    clone(admin, &at(admin, places.template).await, places, name, spec).await;
}

async fn clone(
    admin: &Vim,
    source: &MoRef,
    places: &Places,
    name: &str,
    mut spec: CloneSpec,
) -> MoRef {
    spec.location = RelocateSpec {
        pool: Some(at(admin, places.pool).await),
        datastore: Some(at(admin, places.datastore).await),
        ..RelocateSpec::default()
    };
    let folder = at(admin, places.folder).await;
    let method = Method::Clone { folder, name: name.to_owned(), spec: Box::new(spec) };
    let task = admin.start(source, method).await.expect("it is taken");
    let done = admin.wait(&task, LIMIT).await.expect("it is cloned");
    done.object().expect("a clone is an instance")
}
