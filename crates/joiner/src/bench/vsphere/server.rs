//! The servers that are measured on.

use std::{path::Path, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use joiner_clock::Clock;
use joiner_cloud::class::NodeClass;
use joiner_realparts::vcsim::{self, Vcsim};
use joiner_sim_vcenter::{Inventory, VCenter, inventory::Vm};
use joiner_vim::{
    Credentials, Https, Method, Observer, TlsSettings, Unobserved, Vim, VimSettings,
    spec::{CloneSpec, ConfigSpec, ExtraConfig, RelocateSpec},
};
use joiner_vsphere::NODE_CLASS;
use serde_json::json;

use super::failed;
use crate::{errors::Failure, vcenter};

/// The cluster that instances are made for.
pub(super) const CLUSTER: &str = "bench";
const TEMPLATE: &str = "template";
const LIMIT: Duration = Duration::from_mins(10);
/// How many instances are made at once before anything is measured.
const FILLED_AT_ONCE: usize = 16;

/// A vCenter with instances of the cluster in it.
pub(super) enum Server {
    /// In the process.
    InProcess(VCenter),
    /// govmomi's simulator.
    Vcsim(Box<Vcsim>),
}

impl Server {
    /// Starts the simulator, or the vCenter in the process without one, with so many instances in
    /// it, whose clones take so long.
    pub(super) async fn start(
        vcsim: Option<&Path>,
        instances: usize,
        clones: Duration,
    ) -> Result<Self, Failure> {
        let Some(program) = vcsim else {
            let vcenter = VCenter::new(inventory(instances, clones), Clock::wall());
            return Ok(Self::InProcess(vcenter.map_err(|error| failed(&error))?));
        };
        // What is cloned must not be locked as long as it takes.
        let delays = format!("CloneVm:{},LockHandoff:0", clones.as_millis());
        let size = ["-vm", "1", "-standalone-host", "0"];
        let flags = [&size[..], &["-template", TEMPLATE, "-method-delay", &delays]].concat();
        let started = Vcsim::start(program, &flags).await.map_err(|error| failed(&error))?;
        let server = Self::Vcsim(Box::new(started));
        server.fill(instances).await?;
        Ok(server)
    }

    /// A client whose calls are counted.
    pub(super) fn client(&self, observer: Arc<dyn Observer>) -> Vim {
        let of = |user, password| VimSettings {
            observer,
            ..VimSettings::new(Credentials::new(user, password))
        };
        match self {
            Self::InProcess(server) => {
                let [account] = &Inventory::small().accounts[..] else {
                    unreachable!("the small inventory has one account")
                };
                let settings = of(account.user.as_str(), account.password.as_str());
                vcenter::client(server, settings, &Clock::wall())
            }
            Self::Vcsim(server) => {
                let endpoint = server.url().parse().expect("the simulator says where it is");
                let tls = TlsSettings { insecure: true, ..TlsSettings::default() };
                let https = Https::new(endpoint, &tls).expect("nothing is asked of TLS");
                let settings = of(vcsim::USER, vcsim::PASSWORD);
                Vim::new(settings, Arc::new(https), Clock::wall())
            }
        }
    }

    /// The class of instances.
    pub(super) fn class(&self) -> Arc<NodeClass> {
        let (compute, datastore, network) = match self {
            Self::InProcess(_) => ("cluster1", "datastore1", "workers"),
            Self::Vcsim(_) => ("DC0_C0", "LocalDS_0", "DC0_DVPG0"),
        };
        let spec = json!({
            "computeSelector": {"name": compute},
            "datastoreSelector": {"name": datastore},
            "networkSelector": {"name": network},
            "imageSelector": {"name": TEMPLATE},
            "cloneMode": "fullClone",
            "instanceTypes": [{"os": "linux", "cpu": 2, "memory": 4, "zone": "az1"}],
        });
        Arc::new(NodeClass {
            group: NODE_CLASS.group.to_owned(),
            api_version: NODE_CLASS.version.to_owned(),
            kind: NODE_CLASS.kind.to_owned(),
            name: "bench".to_owned(),
            uid: "bench".to_owned(),
            generation: 1,
            spec,
            ..NodeClass::default()
        })
    }

    /// Makes instances in a simulator.
    async fn fill(&self, instances: usize) -> Result<(), Failure> {
        let admin = self.client(Arc::new(Unobserved));
        let at = async |path: &str| {
            let found = admin.find_by_path(path).await.map_err(|error| failed(&error))?;
            found.ok_or_else(|| Failure::bad_input(format!("the simulator has no {path}")))
        };
        let folder = at("/DC0/vm").await?;
        let location = RelocateSpec {
            pool: Some(at("/DC0/host/DC0_C0/Resources").await?),
            datastore: Some(at("/DC0/datastore/LocalDS_0").await?),
            ..RelocateSpec::default()
        };
        let source = at(&format!("/DC0/vm/{TEMPLATE}")).await?;
        let clone = async |number: usize| -> Result<(), Failure> {
            let extra_config =
                mark(number).into_iter().map(|(key, value)| ExtraConfig::new(key, value));
            let config =
                ConfigSpec { extra_config: extra_config.collect(), ..ConfigSpec::default() };
            let spec = Box::new(CloneSpec {
                location: location.clone(),
                config: Some(config),
                ..CloneSpec::default()
            });
            let clone = Method::Clone { folder: folder.clone(), name: name(number), spec };
            let task = admin.start(&source, clone).await.map_err(|error| failed(&error))?;
            admin.wait(&task, LIMIT).await.map_err(|error| failed(&error)).map(drop)
        };
        let clones = stream::iter((0..instances).map(clone)).buffer_unordered(FILLED_AT_ONCE);
        clones.try_collect::<()>().await?;
        admin.logout().await;
        Ok(())
    }
}

/// What says whose an instance is.
fn mark(number: usize) -> Vec<(&'static str, String)> {
    vec![
        ("joiner.cluster", CLUSTER.to_owned()),
        ("joiner.nodeclaim", format!("old-{number}")),
        ("joiner.nodeclaim-uid", format!("0d2f5e11-6666-4777-8888-{number:012x}")),
        ("joiner.zone", "az1".to_owned()),
        ("joiner.nodeclass", "bench".to_owned()),
    ]
}

fn name(number: usize) -> String {
    format!("{CLUSTER}-karp-old-{number}")
}

/// Hosts and datastores with room for everything, and instances of the cluster.
fn inventory(instances: usize, clones: Duration) -> Inventory {
    let mut inventory = Inventory::small();
    let behaviour = &mut inventory.behaviour;
    behaviour.durations.clone = clones;
    behaviour.durations.copy_gib = Duration::ZERO;
    behaviour.durations.power_on = Duration::ZERO;
    // No host is in the way of as many clones as the provider starts.
    behaviour.full_clone_units = 1;
    let datacenter = &mut inventory.datacenters[0];
    for host in &mut datacenter.clusters[0].hosts {
        host.cores = 100_000;
        host.memory_mib = 1 << 40;
    }
    for datastore in &mut datacenter.datastores {
        datastore.capacity_gib = 1 << 30;
    }
    datacenter.vms = vec![Vm::template(TEMPLATE)];
    datacenter.vms.extend((0..instances).map(|number| {
        let extra = mark(number).into_iter().map(|(key, value)| (key.to_owned(), value));
        Vm { extra_config: extra.collect(), ..Vm::new(&name(number)) }
    }));
    inventory
}
