//! The laboratory's cloud does what every provider has to.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use jiff::SignedDuration;
use joiner_cloud::{
    CloudProvider,
    class::NodeClass,
    cluster::Cluster,
    conformance::{self, Bench, Mishap, Notebooks, Process},
    instance::Instance,
    order::Order,
};
use joiner_lab::{
    Client, Lab, Setup,
    cloud::{Guest, Host, LabCloud},
    cluster::instances::InstanceSpec,
};
use serde_json::json;

/// The cluster whose instances are ours.
const CLUSTER: &str = "tested";
const CLIENT: &str = "joiner";

struct Tested {
    lab: Lab,
    client: Client,
    notebooks: Notebooks,
}

impl Tested {
    fn new() -> Self {
        let lab = Lab::new(Setup { bare: true, ..Setup::new(1) });
        // So much room that pages are what is met first.
        let hosts = (0..20).map(|number| Host::new(&format!("host-{number}"), "zone-a", 64, 256));
        lab.data_centre().furnish(hosts.collect());
        let client = lab.client(CLIENT);
        Self { lab, client, notebooks: Notebooks::default() }
    }

    fn start_for(&self, cluster_uid: &str) -> Process {
        let connection = self.client.connect();
        let provider = Arc::new(LabCloud::new(&connection, self.lab.data_centre(), CLUSTER));
        provider.begin(&Cluster::new(cluster_uid));
        Process { provider, killed: Box::pin(async move { connection.killed().await }) }
    }

    /// An instance that somebody else put there.
    fn add(&self, name: &str, cluster: &str) -> String {
        let spec = InstanceSpec::new(name);
        let provider_id = spec.provider_id.clone();
        let instance = Instance { provider_id: provider_id.clone(), ..Instance::default() };
        let guest =
            Guest { cluster: cluster.to_owned(), instance, removal_delay: SignedDuration::ZERO };
        assert!(self.lab.data_centre().add(guest, spec, "host-1"));
        provider_id
    }
}

#[async_trait(?Send)]
impl Bench for Tested {
    fn start(&self) -> Process {
        self.start_for("uid-of-ours")
    }

    fn start_elsewhere(&self) -> Option<Process> {
        Some(self.start_for("uid-of-theirs"))
    }

    fn notebooks(&self) -> &Notebooks {
        &self.notebooks
    }

    fn class(&self) -> Arc<NodeClass> {
        super::class(json!({}))
    }

    fn arm(&self, mishap: Mishap, after: u32) {
        self.lab.faults().arm(CLIENT, mishap, after);
    }

    fn disarm(&self) -> bool {
        self.lab.faults().disarm()
    }

    async fn instances(&self) -> BTreeMap<String, String> {
        let (centre, now) = (self.lab.data_centre(), self.client.clock().now());
        let described = |name: &str| format!("{:?}", centre.find(name, now));
        // The hosts look first: what is gone by now is gone.
        centre.hosts(now);
        let all = self.lab.instances().list();
        all.iter()
            .map(|view| {
                let text = format!("{view:?} {}", described(&view.spec.name));
                (format!("lab://{}", view.spec.name), text)
            })
            .collect()
    }

    async fn add_foreign(&self, order: &Order) -> Vec<String> {
        self.lab.instances().boot(InstanceSpec::new("of-nobody")).unwrap();
        let taken = self.add(&order.claim.name, "another");
        vec![taken, self.add("of-others", "another"), "lab://of-nobody".to_owned()]
    }

    async fn add_copy(&self, provider_id: &str) -> String {
        let (centre, now) = (self.lab.data_centre(), self.client.clock().now());
        let name = provider_id.strip_prefix("lab://").unwrap();
        let original = centre.find(name, now).expect("it is there");
        let spec = InstanceSpec::new("copy");
        let id = spec.provider_id.clone();
        let instance = Instance { provider_id: id.clone(), ..original.instance };
        assert!(centre.add(Guest { instance, ..original }, spec, "host-1"));
        id
    }

    async fn without_room(&self, order: Order) -> Order {
        self.lab.data_centre().furnish(vec![Host::new("small", "zone-a", 1, 4)]);
        order
    }

    fn more_than_a_page(&self) -> u32 {
        250
    }
}

#[tokio::test(start_paused = true)]
async fn the_laboratorys_cloud_does_what_every_provider_has_to() {
    let report = conformance::check(async || Tested::new()).await;
    assert!(report.is_clean(), "{report}");
}
