//! The demonstration on vSphere: a vCenter in the process, whose instances join the laboratory's
//! cluster.
//!
//! The provider is the one that `joiner run` has, with its client; only the way to the vCenter is
//! shorter. What an instance becomes is up to the text that it was given: [`guests`] boot with it, and
//! the [`mod@cloud_controller`] gives their nodes what a vSphere cluster's does.

#[cfg(test)]
mod burst;
mod cloud_controller;
mod estate;
mod guests;
mod picture;

use std::sync::Arc;

use joiner_clock::Clock;
use joiner_cloud::CloudProvider;
use joiner_lab::{Lab, cluster::instances::InstanceSpec};
use joiner_sim_vcenter::{Serving, VCenter};
use joiner_view::{prices::Prices, site::Site};
use joiner_vim::{Credentials, VimSettings};
use joiner_vsphere::{NodeClass, ProviderSettings, Settings, Vsphere};
use serde_json::json;

pub(super) use cloud_controller::cloud_controller;
pub(super) use estate::{DATASTORES, class};

use crate::{
    clouds,
    errors::{Failure, chain},
    lab, vcenter,
};

/// The name of the cluster, which its instances' names begin with.
const CLUSTER: &str = "demo";
/// The certificate of an authority without a private key. Instances get its hash, and the laboratory
/// never checks it.
const AUTHORITY: &str = include_str!("vsphere/ca.pem");

/// A vCenter with the laboratory's instances.
#[derive(Clone, Debug)]
pub(super) struct Estate {
    vcenter: VCenter,
    clock: Clock,
}

impl Estate {
    /// A vCenter whose guests join the laboratory's cluster, which is made ready for them: it has a
    /// control plane, and says how to join it as `kubeadm` does.
    pub(super) fn new(lab: &Lab, seed: u64) -> Self {
        let clock = lab.server().clock().clone();
        let vcenter = VCenter::new(estate::inventory(), clock.clone())
            .expect("the demonstration's inventory holds together");
        for datastore in DATASTORES {
            vcenter
                .tag(&format!("{}/datastore/{datastore}", estate::DATACENTER), "k8s", "yes")
                .expect("the datastores are in the inventory");
        }
        guests::join(&vcenter, lab.instances(), seed);
        let estate = Self { vcenter, clock };
        estate.furnish(lab);
        estate
    }

    fn furnish(&self, lab: &Lab) {
        let admin = lab.caller("admin");
        let kubeconfig = "apiVersion: v1\nkind: Config\nclusters:\n- name: \"\"\n  cluster:\n    \
                          server: https://10.0.0.10:6443\n";
        let published = |namespace: &str, name: &str, key: &str, text: &str| {
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"namespace": namespace, "name": name}, "data": {key: text},
            })
        };
        let classes = (clouds::vsphere::KIND.crds)()
            .into_iter()
            .map(|definition| serde_json::to_value(definition).expect("definitions are data"));
        let objects = [
            published("kube-public", "cluster-info", "kubeconfig", kubeconfig),
            published("kube-system", "kube-root-ca.crt", "ca.crt", AUTHORITY),
            cloud_controller::deployment(),
        ];
        for object in classes.chain(objects) {
            lab::create(lab.server(), &admin, object)
                .expect("what a cluster on vSphere has is valid");
        }
        let control_plane = self.vcenter.vm(estate::CONTROL_PLANE);
        let control_plane = control_plane.expect("the control plane is in the inventory");
        let role = ("node-role.kubernetes.io/control-plane".to_owned(), String::new());
        let spec = InstanceSpec {
            provider_id: provider_id(&control_plane.uuid),
            labels: [role].into(),
            taints: vec![cloud_controller::control_plane_taint()],
            boot_delay: jiff::SignedDuration::ZERO,
            join_delay: jiff::SignedDuration::ZERO,
            ready_delay: jiff::SignedDuration::ZERO,
            ..InstanceSpec::new(estate::CONTROL_PLANE)
        };
        lab.instances().boot(spec).expect("it is the first instance");
    }

    /// The provider, as a program has it that was started just now.
    pub(super) fn provider(&self) -> Arc<dyn CloudProvider> {
        let credentials = Credentials::new(estate::USER, estate::PASSWORD);
        let vim = vcenter::client(&self.vcenter, VimSettings::new(credentials), &self.clock);
        let settings = ProviderSettings::new(CLUSTER, estate::FOLDER);
        Arc::new(Vsphere::new(vim, self.clock.clone(), settings))
    }

    /// Opens the vCenter to programs on this computer, as a real one is reached: with a certificate,
    /// which has no authority here.
    pub(super) async fn open(&self) -> Result<Opened, Failure> {
        let serving = self.vcenter.serve(true).await;
        let serving = serving.map_err(|error| Failure::bad_input(chain(&error)))?;
        Ok(Opened { serving })
    }

    /// What instances cost.
    pub(super) fn prices() -> Prices {
        let class = NodeClass::read(&class()).expect("the demonstration's class is valid");
        let instances = class.instances(&Settings::default());
        Prices::of(&instances.expect("its sizes are valid").types)
    }

    /// Lets everything happen in the vCenter when it is due.
    pub(super) async fn run(&self) -> std::convert::Infallible {
        self.vcenter.run().await;
        std::future::pending().await
    }

    /// What it looks like now.
    pub(super) fn look(&self) -> Site {
        picture::site(&self.vcenter.picture())
    }

    /// The host dies that runs the most instances; the control plane's is spared.
    pub(super) fn fail_busiest_host(&self) {
        let spared = self.vcenter.vm(estate::CONTROL_PLANE).map(|vm| vm.host);
        let hosts = self.vcenter.picture().hosts;
        let alive =
            hosts.iter().filter(|host| host.connected && Some(&host.name) != spared.as_ref());
        // Of equals the first.
        if let Some(host) = alive.rev().max_by_key(|host| host.vms) {
            self.vcenter.fail_host(&host.name).expect("the picture shows hosts that are there");
        }
    }

    /// Fills a datastore, except for the space of running clones.
    pub(super) fn fill(&self, datastore: &str) {
        self.vcenter.leave_free(datastore, 1).expect("the story names datastores of the inventory");
    }

    /// Deletes an instance as a user would. False if none has this name.
    pub(super) fn delete(&self, instance: &str) -> bool {
        self.vcenter.remove_vm(instance).is_ok()
    }
}

/// The vCenter on a port of this computer, for as long as this is kept.
#[derive(Debug)]
pub(super) struct Opened {
    serving: Serving,
}

impl Opened {
    /// Where it is and how to log on, in a line.
    pub(super) fn told(&self) -> String {
        format!("vCenter {} {} {}", self.serving.url(), estate::USER, estate::PASSWORD)
    }

    /// How `govc` is pointed at it.
    pub(super) fn govc(&self) -> Vec<String> {
        let values = [
            ("GOVC_URL", self.serving.url()),
            ("GOVC_USERNAME", estate::USER.to_owned()),
            ("GOVC_PASSWORD", estate::PASSWORD.to_owned()),
            ("GOVC_INSECURE", "true".to_owned()),
            // Newer clients ask for a newer version, which is refused.
            ("GOVC_VIM_VERSION", estate::API_VERSION.to_owned()),
        ];
        values.map(|(name, value)| format!("export {name}={value}")).into()
    }
}

/// What the node of a virtual machine is known by.
fn provider_id(uuid: &str) -> String {
    format!("vsphere://{uuid}")
}
