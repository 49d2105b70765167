//! A Node as its kubelet writes it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use joiner_core::{
    label::{ARCH, HOSTNAME, Labels, OS},
    resources::Resources,
};
use serde_json::{Value, json};

use crate::cluster::{
    conditions,
    instances::{Fate, InstanceSpec, NodeCondition},
    selection::{labels, list},
    times::seconds,
};

/// The Node that a kubelet registers.
pub(super) fn node(spec: &InstanceSpec) -> Value {
    let mut taints: Vec<_> = spec.taints.iter().map(|taint| json!(taint)).collect();
    let not_ready = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    if !taints.contains(&not_ready) {
        taints.push(not_ready);
    }
    let mut own = json!({"taints": taints});
    let provider_id = match &spec.fate {
        Fate::WrongProviderId(other) => other.as_str(),
        Fate::LateProviderId(_) => "",
        _ => &spec.provider_id,
    };
    if !provider_id.is_empty() {
        own["providerID"] = json!(provider_id);
    }
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": spec.name,
            "labels": node_labels(&spec.name, &spec.labels),
            "annotations": spec.annotations,
        },
        "spec": own,
    })
}

fn node_labels(name: &str, own: &Labels) -> Labels {
    let mut all: Labels = [(HOSTNAME, name), (ARCH, "amd64"), (OS, "linux")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    all.extend(own.clone());
    all
}

/// Everything in a node's status that does not change from minute to minute.
pub(super) fn instance_status(spec: &InstanceSpec, address: &str, boots: u32) -> Value {
    let amounts = |all: &Resources| -> Value {
        all.iter().map(|(name, amount)| (name, amount.to_string())).collect()
    };
    let own = node_labels(&spec.name, &spec.labels);
    json!({
        "addresses": [
            {"type": "InternalIP", "address": address},
            {"type": "Hostname", "address": spec.name},
        ],
        "capacity": amounts(&spec.capacity),
        "allocatable": amounts(&spec.allocatable),
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "machineID": spec.name,
            "systemUUID": spec.name,
            "bootID": format!("{}-{boots}", spec.name),
            "kernelVersion": "6.12.0",
            "osImage": "Joiner Laboratory",
            "containerRuntimeVersion": "containerd://2.2.0",
            "kubeletVersion": spec.kubelet_version,
            "kubeProxyVersion": "",
            "operatingSystem": own[OS],
            "architecture": own[ARCH],
        },
    })
}

/// The conditions of a node with what its kubelet says of it. Conditions of others stay.
pub(super) fn node_conditions(
    current: &Value,
    ready: bool,
    reported: &BTreeMap<String, NodeCondition>,
    healed: &[String],
    now: Timestamp,
) -> Value {
    let usual = [
        (
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        if ready {
            ("Ready", "True", "KubeletReady", "kubelet is posting ready status")
        } else {
            (
                "Ready",
                "False",
                "KubeletNotReady",
                "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
            )
        },
    ];
    let usual = usual.into_iter().filter(|(kind, ..)| !reported.contains_key(*kind)).map(
        |(kind, status, reason, message)| {
            json!({"type": kind, "status": status, "reason": reason, "message": message})
        },
    );
    let special = reported.values().map(|own| {
        json!({
            "type": own.kind, "status": own.status, "reason": own.reason, "message": own.message,
        })
    });
    let is_healed = |condition: &Value| healed.iter().any(|kind| condition["type"] == **kind);
    let kept = list(current).iter().filter(|condition| !is_healed(condition)).cloned();
    let mut all = Value::Array(kept.collect());
    let mut own_kinds = Vec::new();
    for condition in usual.chain(special) {
        own_kinds.push(condition["type"].clone());
        if let Some(changed) = conditions::with(&all, condition, now) {
            all = changed;
        }
    }
    for condition in all.as_array_mut().into_iter().flatten() {
        if own_kinds.contains(&condition["type"]) {
            condition["lastHeartbeatTime"] = json!(seconds(now));
        }
    }
    all
}

/// The instance that a Node of KWOK stands for.
pub(super) fn instance_of(name: &str, node: &Value) -> InstanceSpec {
    let status = &node["status"];
    let usual = InstanceSpec::new(name);
    let amounts = |field: &str, usual: &Resources| {
        if says_amounts(&status[field]) {
            crate::cluster::requests::resources(&status[field])
        } else {
            usual.clone()
        }
    };
    let capacity = amounts("capacity", &usual.capacity);
    InstanceSpec {
        labels: labels(&node["metadata"]["labels"]),
        allocatable: amounts("allocatable", &capacity),
        capacity,
        kubelet_version: "fake".to_owned(),
        ..usual
    }
}

/// Whether a status says how much there is: an empty list says nothing.
pub(super) fn says_amounts(value: &Value) -> bool {
    value.as_object().is_some_and(|amounts| !amounts.is_empty())
}
