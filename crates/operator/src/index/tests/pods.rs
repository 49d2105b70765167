//! Which pods want a place, and what they ask for.

use std::sync::Arc;

use expect_test::{Expect, expect};
use joiner_core::{
    pod::{
        AffinityTerm, HostPort, InclusionPolicy, NodeTerm, PodSpec, SpreadConstraint, Weighted,
        WhenUnsatisfiable,
    },
    requirement::{Operator, RequirementSpec},
    selector::{LabelSelector, SelectorTerm},
    taint::{Effect, Toleration, TolerationOperator},
    testing::{affinity_term, labels, requirement, resources, selector, spread_constraint},
};

use super::*;

fn check(yaml: &str, pending: Pending, expected: Expect) {
    let settings = IndexSettings { pending, ..IndexSettings::default() };
    expected.assert_eq(&show_pods(&index(yaml, &settings).snapshot.pods));
}

const PODS: &str = "
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Pod, metadata: {name: fresh}}
- {apiVersion: v1, kind: Pod, metadata: {name: running}, spec: {nodeName: n, containers: []}}
- {apiVersion: v1, kind: Pod, metadata: {name: done}, status: {phase: Succeeded}}
- {apiVersion: v1, kind: Pod, metadata: {name: failed}, status: {phase: Failed}}
- {apiVersion: v1, kind: Pod, metadata: {name: ending, deletionTimestamp: '2026-01-01T00:00:00Z'}}
- {apiVersion: v1, kind: Pod, metadata: {name: gated}, spec: {containers: [], schedulingGates: [{name: g}]}}
- apiVersion: v1
  kind: Pod
  metadata: {name: daemon, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: u}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: static, ownerReferences: [{apiVersion: v1, kind: Node, name: n, uid: u}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: refused}
  status: {conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: preempting}
  status: {nominatedNodeName: n, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: gated-live}
  status: {conditions: [{type: PodScheduled, status: 'False', reason: SchedulingGated}]}
- {apiVersion: v1, kind: Node, metadata: {name: n}}
";

#[test]
fn unbound_pods_are_those_that_may_get_a_node() {
    check(
        PODS,
        Pending::Unbound,
        expect![[r#"
            default/fresh waits
            default/gated-live waits
            default/preempting waits
            default/refused waits"#]],
    );
}

#[test]
fn unschedulable_pods_are_those_the_scheduler_gave_up_on() {
    check(PODS, Pending::Unschedulable, expect!["default/refused waits"]);
}

#[test]
fn a_pod_without_uid_and_time_is_known_by_its_name_and_comes_first() {
    let snapshot = index_default(
        "
{apiVersion: v1, kind: Pod, metadata: {name: a}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, uid: '7', creationTimestamp: '1970-01-01T00:01:00Z'}}
",
    );
    let shown: Vec<(&str, i64)> =
        snapshot.pods.iter().map(|pod| (&*pod.uid, pod.created)).collect();
    assert_eq!(shown, [("default/a", i64::MIN), ("7", 60)]);
}

#[test]
fn pods_of_nodes_that_are_not_there_are_left_out_and_noted() {
    let yaml =
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeName: gone, containers: []}}";
    let indexed = index(yaml, &IndexSettings::default());
    assert!(indexed.snapshot.pods.is_empty());
    assert_eq!(indexed.notes, ["1 pods are bound to nodes that are not there: they are left out"]);
}

#[test]
fn pods_of_one_workload_share_what_they_ask_for() {
    let pod = |name: &str, cpu: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {{app: web}}}}, spec: \
             {{containers: [{{name: main, resources: {{requests: {{cpu: {cpu}}}}}}}]}}}}\n---\n"
        )
    };
    let yaml = pod("a", "1") + &pod("b", "1000m") + &pod("c", "2");
    let pods = index_default(&yaml).pods;
    assert!(Arc::ptr_eq(&pods[0].spec, &pods[1].spec));
    assert!(!Arc::ptr_eq(&pods[0].spec, &pods[2].spec));
    assert!(Arc::ptr_eq(&pods[0].labels, &pods[2].labels));
    assert!(Arc::ptr_eq(&pods[0].volumes, &pods[2].volumes));
    assert!(Arc::ptr_eq(&pods[0].namespace, &pods[2].namespace));
}

/// A pod that says something of everything.
const TALKATIVE: &str = "
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  hostNetwork: true
  nodeSelector: {disk: ssd}
  tolerations:
  - {operator: Exists}
  - {key: k, value: v, effect: NoSchedule}
  - {key: size, operator: Gt, value: '3'}
  containers:
  - name: main
    ports:
    - {containerPort: 80}
    - {containerPort: 53, hostPort: 5353, protocol: UDP, hostIP: 10.0.0.1}
  - name: devices
    resources: {claims: [{name: gpu}]}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: zone, operator: In, values: [a, b]}]
        - matchFields: [{key: metadata.name, operator: In, values: [n]}]
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 5, preference: {matchExpressions: [{key: size, operator: Gt, values: ['4']}]}}
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: zone, labelSelector: {matchLabels: {app: db}}, namespaces: [x]}
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 1, podAffinityTerm: {topologyKey: host, namespaceSelector: {}}}
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: host
        labelSelector: {matchExpressions: [{key: app, operator: NotIn, values: [db]}]}
  topologySpreadConstraints:
  - {topologyKey: zone, maxSkew: 2, minDomains: 3, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [rev]}
  - topologyKey: host
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {}
    nodeAffinityPolicy: Ignore
    nodeTaintsPolicy: Honor
";

#[test]
fn a_pod_asks_for_what_is_written() {
    let term = |expressions: Vec<RequirementSpec>| NodeTerm { expressions, has_fields: false };
    let toleration = |key: &str, operator, value: &str, effect| Toleration {
        key: key.to_owned(),
        operator,
        value: value.to_owned(),
        effect,
    };
    let port = |ip: &str, port, protocol: &str| HostPort {
        ip: ip.to_owned(),
        port,
        protocol: protocol.to_owned(),
    };
    let not_db = SelectorTerm::NotIn("app".to_owned(), ["db".to_owned()].into());
    let expected = PodSpec {
        requests: resources([("pods", "1")]),
        node_selector: labels([("disk", "ssd")]),
        node_affinity: vec![
            term(vec![requirement("zone", Operator::In, ["a", "b"])]),
            NodeTerm { expressions: vec![], has_fields: true },
        ],
        preferred_node_affinity: vec![Weighted {
            weight: 5,
            term: term(vec![requirement("size", Operator::Gt, ["4"])]),
        }],
        affinity: vec![AffinityTerm {
            namespaces: ["x".to_owned()].into(),
            ..affinity_term("zone", selector([("app", "db")]))
        }],
        preferred_affinity: vec![Weighted {
            weight: 1,
            term: AffinityTerm {
                selector: None,
                namespace_selector: Some(LabelSelector::default()),
                ..affinity_term("host", LabelSelector::default())
            },
        }],
        anti_affinity: vec![affinity_term("host", LabelSelector::new([not_db]))],
        preferred_anti_affinity: vec![],
        spread: vec![
            SpreadConstraint {
                min_domains: Some(3),
                selector: None,
                match_label_keys: vec!["rev".to_owned()],
                ..spread_constraint("zone", 2, LabelSelector::default())
            },
            SpreadConstraint {
                when_unsatisfiable: WhenUnsatisfiable::ScheduleAnyway,
                node_affinity_policy: InclusionPolicy::Ignore,
                node_taints_policy: InclusionPolicy::Honor,
                ..spread_constraint("host", 1, LabelSelector::default())
            },
        ],
        tolerations: vec![
            toleration("", TolerationOperator::Exists, "", None),
            toleration("k", TolerationOperator::Equal, "v", Some(Effect::NoSchedule)),
            toleration("size", TolerationOperator::Gt, "3", None),
        ],
        host_ports: [port("0.0.0.0", 80, "TCP"), port("10.0.0.1", 5353, "UDP")].into(),
        uses_dra: true,
        unread: None,
    };
    assert_eq!(*index_default(TALKATIVE).pods[0].spec, expected);
}

#[test]
fn a_leaving_nodes_pods_move_if_they_can_be_evicted() {
    let yaml = "
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n, deletionTimestamp: '2026-01-01T00:00:00Z'}}
- {apiVersion: v1, kind: Pod, metadata: {name: plain}, spec: {nodeName: n, containers: []}}
- {apiVersion: v1, kind: Pod, metadata: {name: done}, spec: {nodeName: n, containers: []}, status: {phase: Succeeded}}
- apiVersion: v1
  kind: Pod
  metadata: {name: daemon, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: u}]}
  spec: {nodeName: n, containers: []}
- apiVersion: v1
  kind: Pod
  metadata: {name: stateful, deletionTimestamp: '2026-01-01T00:00:00Z', ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: s, uid: u}]}
  spec: {nodeName: n, containers: []}
- apiVersion: v1
  kind: Pod
  metadata: {name: replica, deletionTimestamp: '2026-01-01T00:00:00Z', ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: s, uid: u}]}
  spec: {nodeName: n, containers: []}
- apiVersion: v1
  kind: Pod
  metadata: {name: blocked, labels: {app: db}}
  spec: {nodeName: n, containers: []}
- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {maxUnavailable: 0, selector: {matchLabels: {app: db}}}}
";
    for pending in [Pending::Unbound, Pending::Unschedulable] {
        let settings = IndexSettings { pending, ..IndexSettings::default() };
        let snapshot = index(yaml, &settings).snapshot;
        expect![[r#"
            default/plain moves
            default/stateful moves"#]]
        .assert_eq(&show_pods(&snapshot.pods));
        expect![[r#"
            default/blocked stays
            default/daemon stays for default/d
            default/replica stays, terminating"#]]
        .assert_eq(&show_pods(&snapshot.nodes[0].pods));
    }
}
