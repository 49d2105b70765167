//! What the demonstration's vCenter has, and the class that describes instances in it.

use joiner_sim_vcenter::{
    Inventory,
    inventory::{About, Account, Cluster, Datacenter, Datastore, Host, Network, Vm},
};
use serde_json::{Value, json};

pub(super) const DATACENTER: &str = "dc1";
/// Zones, each a cluster of hosts of that name.
const ZONES: [&str; 2] = ["az1", "az2"];
/// Where instances may lie; the first has the most room.
pub(in crate::demo) const DATASTORES: [&str; 2] = ["ssd-1", "ssd-2"];
/// The folder of instances.
pub(super) const FOLDER: &str = "k8s";
/// The instance of the control plane, which is there from the beginning.
pub(super) const CONTROL_PLANE: &str = "control-plane-1";
/// The version of the interface that the vCenter speaks.
pub(super) const API_VERSION: &str = "8.0.3.0";
pub(super) const USER: &str = "joiner@vsphere.local";
/// It is no secret: every user of this computer may ask the vCenter of a demonstration.
pub(super) const PASSWORD: &str = "joiner-demo";

/// Two clusters of three hosts with HA, two datastores, and two templates.
pub(super) fn inventory() -> Inventory {
    let clusters = ZONES.map(|zone| {
        let hosts = (1..=3).map(|n| Host::new(&format!("esx-{zone}-{n}"), 32, 192));
        Cluster { hosts: hosts.collect(), ha: true, ..Cluster::new(zone) }
    });
    let [first, second] = DATASTORES;
    let template = |name: &str| Vm {
        folder: "templates".to_owned(),
        snapshots: vec!["base".to_owned()],
        ..Vm::template(name)
    };
    let control_plane = Vm {
        folder: FOLDER.to_owned(),
        powered_on: true,
        cpus: 4,
        memory_mib: 16 << 10,
        ..Vm::new(CONTROL_PLANE)
    };
    let datacenter = Datacenter {
        folders: vec![FOLDER.to_owned(), "templates".to_owned()],
        clusters: clusters.into(),
        datastores: vec![Datastore::new(first, 600), Datastore::new(second, 500)],
        networks: vec![Network::new("workers")],
        vms: vec![template("ubuntu-2404-1"), template("ubuntu-2404-2"), control_plane],
        ..Datacenter::new(DATACENTER)
    };
    Inventory {
        accounts: vec![Account::administrator(USER, PASSWORD)],
        about: About { api_version: API_VERSION.to_owned(), ..About::default() },
        datacenters: vec![datacenter],
        ..Inventory::default()
    }
}

/// The class of all instances.
pub(in crate::demo) fn class() -> Value {
    let zones = ZONES
        .map(|zone| json!({"name": zone, "region": DATACENTER, "computeSelector": {"name": zone}}));
    let sizes = [(4, 16), (8, 32), (16, 32)]
        .map(|(cpu, memory)| json!({"os": "linux", "cpu": cpu, "memory": memory}));
    json!({
        "apiVersion": "karpenter.vsphere.com/v1alpha1", "kind": "VsphereNodeClass",
        "metadata": {"name": "workers"},
        "spec": {
            "zones": zones,
            "datastoreSelector": {"tags": {"k8s": "yes"}},
            "networkSelector": {"name": "workers"},
            "imageSelector": {"pattern": "ubuntu-2404-*"},
            // Larger than the template's, so that instances are copied and not linked.
            "diskSize": 40,
            "instanceTypes": sizes,
        },
    })
}
