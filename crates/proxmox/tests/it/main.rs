//! What classes, templates, files and resource lists say, and what follows from them.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes expectations so")]

mod capacity;
mod configuration;
mod definitions;
mod hashes;
mod instance_types;
mod kinds;
mod ledger;
mod node_settings;
mod packed;

use joiner_proxmox::object::{Object, Spec};
use serde_json::Value;

/// The spec of a class with all documented fields.
const ALL_FIELDS: &str = "
region: cluster-1
placementStrategy: {zoneBalance: AvailabilityFirst}
instanceTemplateRef: {kind: ProxmoxTemplate, name: ubuntu}
metadataOptions:
  type: cdrom
  templatesRef: {name: karpenter-template, namespace: kube-system}
  valuesRef: {name: karpenter-template-values, namespace: kube-system}
kubeletConfiguration:
  maxPods: 110
  allowedUnsafeSysctls: [net.core.somaxconn]
  topologyManagerPolicy: best-effort
  shutdownGracePeriod: 30s
bootDevice: {size: 50G, storage: local-lvm}
securityGroups: [{name: kubernetes, interface: net0}]
resourcePool: k8s-pool
tags: [karpenter]
";

/// An object that the test writes in YAML.
fn value(yaml: &str) -> Value {
    serde_saphyr::from_str(yaml).expect("the test is YAML")
}

/// Reads an object named `general` with this spec, in YAML.
fn read<S: Spec>(spec: &str) -> Result<Object<S>, String> {
    let spec = value(spec);
    let object = serde_json::json!({"metadata": {"name": "general"}, "spec": spec});
    Object::read(&object).map_err(|error| error.to_string())
}

/// The same, of a spec that the schema accepts.
#[track_caller]
fn accepted<S: Spec>(spec: &str) -> Object<S> {
    read(spec).expect("the schema accepts it")
}
