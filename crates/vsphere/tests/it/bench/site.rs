//! A vCenter of whichever kind, as the checks of all providers use it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use joiner_cloud::{
    class::NodeClass,
    conformance::{Bench, Mishap, Process},
    inputs::OrderInputs,
    order::Order,
};
use joiner_vim::{
    Method, MoRef, Vim,
    spec::{CloneSpec, ConfigSpec, ExtraConfig, RelocateSpec},
};
use joiner_vsphere::Vsphere;

use super::{CLUSTER, Faults, rke2};

/// How long a clone may take.
const LIMIT: Duration = Duration::from_hours(1);

/// A vCenter with everybody who uses it: what is its own about it.
#[async_trait(?Send)]
pub(crate) trait Site {
    /// A provider in a process that was started just now.
    fn provider(&self) -> Vsphere;

    /// What goes wrong between its providers and it.
    fn faults(&self) -> &Arc<Faults>;

    /// A class whose selectors lead somewhere.
    fn class(&self) -> Arc<NodeClass>;

    /// Every machine, by its provider id, with all that could be changed about it.
    async fn machines(&self) -> BTreeMap<String, String>;

    /// Makes a machine as somebody else would, and answers its provider id.
    async fn clone_as_somebody(&self, name: &str, config: ConfigSpec) -> String;

    /// The order changed, or the vCenter filled, so that there is no room for it.
    async fn without_room(&self, order: Order) -> Order;

    /// How many machines are more than a list answers at once.
    fn more_than_a_page(&self) -> u32;
}

/// A site that the checks of all providers are run on.
pub(crate) struct OnSite<S>(pub(crate) S);

#[async_trait(?Send)]
impl<S: Site> Bench for OnSite<S> {
    fn start(&self) -> Process {
        let faults = Arc::clone(self.0.faults());
        Process {
            provider: Arc::new(self.0.provider()),
            killed: Box::pin(async move { faults.kills().await }),
        }
    }

    fn class(&self) -> Arc<NodeClass> {
        self.0.class()
    }

    fn inputs(&self) -> OrderInputs {
        OrderInputs::joining(rke2())
    }

    fn arm(&self, mishap: Mishap, after: u32) {
        self.0.faults().arm(mishap, after);
    }

    fn disarm(&self) -> bool {
        self.0.faults().disarm()
    }

    async fn machines(&self) -> BTreeMap<String, String> {
        self.0.machines().await
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

    async fn without_room(&self, order: Order) -> Order {
        self.0.without_room(order).await
    }

    fn more_than_a_page(&self) -> u32 {
        self.0.more_than_a_page()
    }
}

/// Where somebody else makes machines, by paths.
pub(crate) struct Places {
    pub(crate) template: &'static str,
    pub(crate) folder: &'static str,
    pub(crate) pool: &'static str,
    pub(crate) datastore: &'static str,
}

/// Places of govmomi's simulator, with the machine that it starts with as what is cloned.
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

/// Makes a machine as somebody else would, and answers its provider id.
pub(crate) async fn clone_as_somebody(
    admin: &Vim,
    places: &Places,
    name: &str,
    config: ConfigSpec,
) -> String {
    let vm = clone(admin, places, name, CloneSpec { config: Some(config), ..CloneSpec::default() });
    let read = admin.read(&[vm.await], &["config.uuid"]).await.expect("it answers");
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
    clone(admin, places, name, spec).await;
}

async fn clone(admin: &Vim, places: &Places, name: &str, mut spec: CloneSpec) -> MoRef {
    spec.location = RelocateSpec {
        pool: Some(at(admin, places.pool).await),
        datastore: Some(at(admin, places.datastore).await),
        ..RelocateSpec::default()
    };
    let folder = at(admin, places.folder).await;
    let method = Method::Clone { folder, name: name.to_owned(), spec: Box::new(spec) };
    let task = admin.start(&at(admin, places.template).await, method).await.expect("it is taken");
    let done = admin.wait(&task, LIMIT).await.expect("it is cloned");
    done.object().expect("a clone is a machine")
}
