//! What runs in the simulator's instances: they read what they were given and join the cluster,
//! where KWOK plays their kubelets from then on.

use std::{collections::BTreeSet, convert::Infallible};

use joiner_core::resources::Resources;
use joiner_lab::{cluster::instances::InstanceSpec, guest::Given};
use serde_json::{Value, json};

use super::{
    cluster::{Cluster, LOOK_EVERY, NODES},
    vcenter::{Instance, VCenter},
};

/// The size of the template's disk is nothing that a node here depends on.
const DISK_GIB: u64 = 20;

/// Has every instance that is switched on join the cluster, once.
pub(super) async fn join_for_ever(vcenter: &VCenter, cluster: &Cluster) -> Infallible {
    let mut joined = BTreeSet::new();
    loop {
        for instance in vcenter.instances().await.into_iter().filter(|own| own.is_on) {
            if joined.insert(instance.provider_id.clone()) {
                join(&instance, cluster).await;
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn join(instance: &Instance, cluster: &Cluster) {
    let info = |key: &str| instance.settings.get(key).map(String::as_str).unwrap_or_default();
    let given = Given {
        user_data: info("guestinfo.userdata"),
        encoding: info("guestinfo.userdata.encoding"),
        own_id: &instance.provider_id,
        cpus: instance.cpus,
        memory_mib: instance.memory_mib,
        disk_gib: DISK_GIB,
    };
    let spec = given.instance().unwrap();
    let token = spec.join_token.clone().unwrap();
    let (id, _) = token.split_once('.').unwrap();
    let secret = format!("/api/v1/namespaces/kube-system/secrets/bootstrap-token-{id}");
    assert!(cluster.get(&secret).await.is_some(), "{} would not be let in", instance.name);
    cluster.create(NODES, node(&spec)).await;
}

fn node(spec: &InstanceSpec) -> Value {
    let amounts = |all: &Resources| -> Value {
        all.iter().map(|(name, amount)| (name, amount.to_string())).collect()
    };
    let mut labels = spec.labels.clone();
    for (key, value) in [
        ("kubernetes.io/hostname", spec.name.as_str()),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
    ] {
        labels.insert(key.to_owned(), value.to_owned());
    }
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": spec.name, "labels": labels,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "spec": {"providerID": spec.provider_id, "taints": spec.taints},
        "status": {
            "capacity": amounts(&spec.capacity), "allocatable": amounts(&spec.allocatable),
        },
    })
}
