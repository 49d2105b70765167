//! What daemon sets would put on a node.

use super::*;

/// `key: requests, node affinity, volumes` of every daemon set.
fn show(snapshot: &Snapshot) -> Vec<String> {
    let daemons = snapshot.daemons.iter().map(|daemon| {
        let alternatives: Vec<String> =
            daemon.spec.requirement_alternatives().iter().map(ToString::to_string).collect();
        let claims: Vec<&str> =
            daemon.volumes.attached.iter().map(|volume| volume.claim.as_str()).collect();
        format!(
            "{}: {}; {}; {}",
            daemon.key,
            daemon.spec.requests,
            alternatives.join(" or "),
            claims.join(" ")
        )
    });
    daemons.collect()
}

/// A daemon set whose template has limits only.
const SET: &str = "
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: infra, uid: ds}
spec:
  selector: {}
  template:
    spec:
      nodeSelector: {os: linux}
      containers: [{name: main, resources: {limits: {cpu: 300m, memory: 1Gi}, requests: {memory: 512Mi}}}]
      initContainers: [{name: init, resources: {limits: {cpu: 400m}}}]
---
";

fn pod(name: &str, created: &str, cpu: &str, owner: &str) -> String {
    format!(
        "
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  namespace: infra
  creationTimestamp: '{created}'
  ownerReferences: [{{apiVersion: apps/v1, kind: DaemonSet, name: agent, {owner}}}]
spec:
  nodeName: n
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{{matchFields: [{{key: metadata.name, operator: In, values: [n]}}]}}]
  containers: [{{name: main, resources: {{requests: {{cpu: {cpu}}}}}}}]
---
"
    )
}

const OURS: &str = "uid: ds, controller: true";

#[test]
fn a_daemon_set_without_pods_stands_for_its_template() {
    let snapshot = index_default(SET);
    assert_eq!(show(&snapshot), ["infra/agent: cpu 400m, memory 512Mi, pods 1; os In [linux]; "]);
}

#[test]
fn a_daemon_set_stands_for_its_newest_pod() {
    let yaml = SET.to_owned()
        + "{apiVersion: v1, kind: Node, metadata: {name: n}}\n---\n"
        + &pod("old", "2026-01-01T00:00:00Z", "1", OURS)
        + &pod("b", "2026-01-02T00:00:00Z", "2", OURS)
        + &pod("a", "2026-01-02T00:00:00Z", "3", OURS)
        + &pod("foreign", "2026-01-03T00:00:00Z", "4", "uid: ds");
    let snapshot = index_default(&yaml);
    assert_eq!(show(&snapshot), ["infra/agent: cpu 3, pods 1; ; "]);
}

#[test]
fn pods_of_an_earlier_daemon_set_of_that_name_do_not_count() {
    let yaml = SET.to_owned()
        + "{apiVersion: v1, kind: Node, metadata: {name: n}}\n---\n"
        + &pod("a", "2026-01-01T00:00:00Z", "3", "uid: before, controller: true");
    assert!(show(&index_default(&yaml))[0].starts_with("infra/agent: cpu 400m"));
}

#[test]
fn required_node_affinity_is_the_templates() {
    let set = SET.replace(
        "nodeSelector: {os: linux}",
        "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: \
         [{matchExpressions: [{key: zone, operator: In, values: [a]}]}, \
         {matchExpressions: [{key: zone, operator: In, values: [b]}]}]}}}",
    );
    let yaml = set
        + "{apiVersion: v1, kind: Node, metadata: {name: n}}\n---\n"
        + &pod("a", "2026-01-01T00:00:00Z", "3", OURS);
    let snapshot = index_default(&yaml);
    assert_eq!(show(&snapshot), ["infra/agent: cpu 3, pods 1; zone In [a] or zone In [b]; "]);
    assert!(snapshot.daemons[0].spec.node_affinity.iter().all(|term| !term.has_fields));
}

#[test]
fn volumes_of_a_daemon_are_attached() {
    let set = SET.replace(
        "nodeSelector: {os: linux}",
        "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]",
    );
    let yaml = set
        + "
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: infra}, spec: {storageClassName: s}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: s}, provisioner: csi.example.com}
";
    assert!(show(&index_default(&yaml))[0].ends_with("; infra/data"));
}

#[test]
fn daemons_with_devices_are_left_out_while_those_are_ignored() {
    let set = SET.replace("nodeSelector: {os: linux}", "resourceClaims: [{name: gpu}]");
    let count = |ignore_dra| {
        let settings = IndexSettings { ignore_dra, ..IndexSettings::default() };
        index(&set, &settings).snapshot.daemons.len()
    };
    assert_eq!((count(true), count(false)), (0, 1));
}
