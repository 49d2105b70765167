//! What providers need of the cluster is fetched for them, and what is missing is said.

mod addresses;
mod joining;
mod secrets;
mod tokens;

use joiner_cloud::{bootstrap::Facts, needs::JoinNeeds};
use joiner_lab::history::Entry;
use joiner_operator::{classes::ClassResolution, settings::Settings};
use serde_json::{Value, json};

use crate::{lifecycle::with_lifecycle, stage::Stage};

/// A certificate authority.
const PEM: &str = include_str!("../../../cloud/tests/it/ca.pem");

/// A stage whose cloud writes texts by which instances join, with the class that it makes them of.
fn stage() -> Stage {
    stage_with(|_| {})
}

/// The same, with other settings.
fn stage_with(change: impl FnOnce(&mut Settings)) -> Stage {
    let stage = with_lifecycle(Stage::bare().set(change)).with(ClassResolution::new);
    stage.cloud.state().needs.joining = Some(JoinNeeds::default());
    stage
}

impl Stage {
    pub(crate) fn publish(&self, name: &str, data: &Value) {
        let (namespace, name) = name.split_once('/').unwrap();
        let map = json!({"metadata": {"namespace": namespace, "name": name}, "data": data});
        self.create("", "configmaps", map);
    }

    /// What `kubeadm` leaves in a cluster for those who join.
    fn publish_cluster_info(&self) {
        let kubeconfig = "apiVersion: v1\nkind: Config\nclusters:\n- name: \"\"\n  cluster:\n    \
                          server: https://10.0.0.10:6443\n";
        self.publish("kube-public/cluster-info", &json!({"kubeconfig": kubeconfig}));
    }

    /// What every namespace has of the cluster's authority.
    fn publish_root_ca(&self) {
        self.publish("default/kube-root-ca.crt", &json!({"ca.crt": PEM}));
    }

    /// Everything that a cluster made by `kubeadm` has.
    pub(crate) fn made_by_kubeadm(self) -> Self {
        self.publish_cluster_info();
        self.publish_root_ca();
        self
    }

    /// Whether everything is there that instances join with.
    fn bootstrap_ready(&self) -> String {
        self.class_condition("default", "BootstrapReady")
    }

    /// What the cloud was last given for its class.
    fn facts(&self) -> Option<Facts> {
        self.cloud.state().class_inputs.clone()?.joining
    }
}

/// How often the controllers have asked the API server for objects of a kind, in whatever way.
fn calls(stage: &Stage, plural: &str) -> usize {
    let entries = stage.lab.history().entries();
    let is_meant = |entry: &&Entry| match entry {
        Entry::Call(call) => *call.caller == *"joiner" && *call.resource.plural == *plural,
        _ => false,
    };
    entries.iter().filter(is_meant).count()
}
