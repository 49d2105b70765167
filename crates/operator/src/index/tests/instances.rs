//! How Nodes and claims become instances.

use expect_test::{Expect, expect};
use joiner_core::testing::{instance_type, pool, snapshot as builder};

use super::*;

fn check(yaml: &str, expected: Expect) {
    expected.assert_eq(&show_nodes(&index_default(yaml)));
}

#[test]
fn a_node_of_nobodys_is_taken_as_it_is() {
    check(
        "
apiVersion: v1
kind: Node
metadata: {name: n, labels: {zone: a}}
spec: {unschedulable: true, taints: [{key: node.kubernetes.io/not-ready, effect: NoExecute}]}
status: {allocatable: {cpu: 2, pods: 10}, capacity: {cpu: 3}}
---
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: n}
spec: {drivers: [{name: csi.example.com, nodeID: n, allocatable: {count: 3}}, {name: other, nodeID: n}]}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {nodeName: n, containers: []}
",
        expect![[r#"
            node n claim - pool - hostname n initialized
              labels zone=a
              taints node.kubernetes.io/not-ready:NoExecute node.kubernetes.io/unschedulable:NoSchedule
              object taints node.kubernetes.io/not-ready:NoExecute node.kubernetes.io/unschedulable:NoSchedule
              allocatable cpu 2, pods 10
              capacity cpu 3
              volumes {"csi.example.com": 3}
              default/p stays"#]],
    );
}

/// A node and its claim: `LABELS` of the node, `PROVIDER` of the claim's status.
const PAIR: &str = "
apiVersion: v1
kind: Node
metadata: {name: n, labels: {LABELS zone: a, kubernetes.io/hostname: host}}
spec:
  providerID: x://1
  taints:
  - {key: node.kubernetes.io/not-ready, effect: NoExecute}
  - {key: starting, value: x, effect: NoSchedule}
  - {key: special, effect: NoSchedule}
status: {allocatable: {cpu: 2, example.com/gpu: 0}, capacity: {cpu: 2}}
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: c, labels: {karpenter.sh/nodepool: p, zone: b}}
spec:
  requirements: []
  taints: [{key: of-claim, effect: NoSchedule}]
  startupTaints: [{key: starting, value: y, effect: NoSchedule}]
status:
  STATUS
  allocatable: {cpu: 9, example.com/gpu: 4, memory: 1Gi}
  capacity: {cpu: 9, memory: 2Gi}
";

fn pair(labels: &str, status: &str) -> String {
    PAIR.replace("LABELS", labels).replace("STATUS", status)
}

#[test]
fn until_it_is_registered_an_instance_is_what_its_claim_says() {
    check(
        &pair("", "providerID: x://1"),
        expect![[r#"
        node n claim c pool p hostname c
          labels karpenter.sh/nodepool=p zone=b
          taints of-claim:NoSchedule
          object taints node.kubernetes.io/not-ready:NoExecute starting=x:NoSchedule special:NoSchedule
          allocatable cpu 2, example.com/gpu 4, memory 1Gi
          capacity cpu 2, memory 2Gi"#]],
    );
}

#[test]
fn until_it_is_initialized_startup_taints_do_not_count_and_the_claim_fills_in_zeros() {
    check(
        &pair("karpenter.sh/registered: 'true',", "providerID: x://1"),
        expect![[r#"
        node n claim c pool - hostname host
          labels karpenter.sh/registered=true kubernetes.io/hostname=host zone=a
          taints special:NoSchedule
          object taints node.kubernetes.io/not-ready:NoExecute starting=x:NoSchedule special:NoSchedule
          allocatable cpu 2, example.com/gpu 4, memory 1Gi
          capacity cpu 2, memory 2Gi"#]],
    );
}

#[test]
fn once_it_is_initialized_an_instance_is_what_its_node_says() {
    check(
        &pair(
            "karpenter.sh/registered: 'true', karpenter.sh/initialized: 'true',",
            "providerID: x://1",
        ),
        expect![[r#"
            node n claim c pool - hostname host initialized
              labels karpenter.sh/initialized=true karpenter.sh/registered=true kubernetes.io/hostname=host zone=a
              taints node.kubernetes.io/not-ready:NoExecute starting=x:NoSchedule special:NoSchedule
              object taints node.kubernetes.io/not-ready:NoExecute starting=x:NoSchedule special:NoSchedule
              allocatable cpu 2, example.com/gpu 0
              capacity cpu 2"#]],
    );
}

#[test]
fn a_claim_without_provider_id_belongs_to_the_node_it_names() {
    check(
        &pair("karpenter.sh/registered: 'true',", "nodeName: n"),
        expect![[r#"
        node n claim c pool - hostname host
          labels karpenter.sh/registered=true kubernetes.io/hostname=host zone=a
          taints special:NoSchedule
          object taints node.kubernetes.io/not-ready:NoExecute starting=x:NoSchedule special:NoSchedule
          allocatable cpu 2, example.com/gpu 4, memory 1Gi
          capacity cpu 2, memory 2Gi"#]],
    );
}

#[test]
fn a_node_without_provider_id_goes_by_its_name() {
    check(
        "
{apiVersion: v1, kind: Node, metadata: {name: n}}
---
{apiVersion: karpenter.sh/v1, kind: NodeClaim, metadata: {name: c}, spec: {requirements: []}, status: {providerID: n}}
",
        expect![[r#"
            node n claim c pool - hostname c
              labels 
              allocatable 
              capacity "#]],
    );
}

#[test]
fn a_launched_claim_without_node_is_in_flight() {
    check(
        "
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: c, labels: {karpenter.sh/nodepool: p}}
spec: {requirements: [], taints: [{key: karpenter.sh/unregistered, effect: NoExecute}, {key: special, effect: NoSchedule}]}
status: {providerID: x://1, allocatable: {cpu: 1}, capacity: {cpu: 2}}
",
        expect![[r#"
            node - claim c pool p hostname c
              labels karpenter.sh/nodepool=p
              taints special:NoSchedule
              allocatable cpu 1
              capacity cpu 2"#]],
    );
}

#[test]
fn an_instance_leaves_with_its_claim_and_a_node_of_nobodys_with_itself() {
    let leaving = |yaml: &str| {
        let snapshot = index_default(yaml);
        snapshot.nodes.iter().map(|node| node.leaving).collect::<Vec<_>>()
    };
    let node = |deleting: &str| {
        format!("{{apiVersion: v1, kind: Node, metadata: {{name: n{deleting}}}}}\n---\n")
    };
    let claim = |deleting: &str, conditions: &str| {
        format!(
            "{{apiVersion: karpenter.sh/v1, kind: NodeClaim, metadata: {{name: c{deleting}}}, \
             spec: {{requirements: []}}, status: {{nodeName: n, conditions: [{conditions}]}}}}"
        )
    };
    let deleting = ", deletionTimestamp: '2026-01-01T00:00:00Z'";
    assert_eq!(leaving(&node("")), [false]);
    assert_eq!(leaving(&node(deleting)), [true]);
    assert_eq!(leaving(&(node(deleting) + &claim("", ""))), [false]);
    assert_eq!(leaving(&(node("") + &claim(deleting, ""))), [true]);
    let terminating = "{type: InstanceTerminating, status: 'True'}";
    assert_eq!(leaving(&(node("") + &claim("", terminating))), [true]);
    assert_eq!(leaving(&(node("") + &claim("", &terminating.replace("True", "False")))), [false]);
}

#[test]
fn two_claims_of_one_instance_are_noted() {
    let claim = |name: &str| {
        format!(
            "{{apiVersion: karpenter.sh/v1, kind: NodeClaim, metadata: {{name: {name}}}, \
             spec: {{requirements: []}}, status: {{providerID: x}}}}\n---\n"
        )
    };
    let indexed = index(&(claim("a") + &claim("b")), &IndexSettings::default());
    assert_eq!(indexed.snapshot.nodes.len(), 1);
    assert_eq!(
        indexed.notes,
        ["NodeClaims \"a\" and \"b\" have the same provider ID \"x\": the second counts; \
          delete the one that is wrong"]
    );
}

/// Nodes `a` and `b` with one provider ID, and its claim, whose status says more.
fn two_nodes_of_one_instance(status: &str) -> Indexed {
    let node = |name: &str| {
        format!(
            "{{apiVersion: v1, kind: Node, metadata: {{name: {name}}}, spec: {{providerID: x}}}}\n---\n"
        )
    };
    let claim = format!(
        "{{apiVersion: karpenter.sh/v1, kind: NodeClaim, metadata: {{name: c}}, \
         spec: {{requirements: []}}, status: {{providerID: x, {status}}}}}"
    );
    index(&(node("a") + &node("b") + &claim), &IndexSettings::default())
}

fn nodes_and_claims(indexed: &Indexed) -> Vec<(Option<&str>, Option<&str>)> {
    let nodes = indexed.snapshot.nodes.iter();
    nodes.map(|node| (node.node.as_deref(), node.claim.as_deref())).collect()
}

#[test]
fn of_two_nodes_of_one_instance_the_claim_gets_the_one_that_it_names() {
    let indexed = two_nodes_of_one_instance("nodeName: b");
    assert_eq!(nodes_and_claims(&indexed), [(Some("a"), None), (Some("b"), Some("c"))]);
}

#[test]
fn two_nodes_of_one_instance_are_noted_and_one_gets_the_claim() {
    let indexed = two_nodes_of_one_instance("");
    assert_eq!(nodes_and_claims(&indexed), [(Some("b"), None), (Some("a"), Some("c"))]);
    assert_eq!(
        indexed.notes,
        [
            "Node \"b\" has the same provider ID \"x\" as another: only one of them can be its NodeClaim's, \
             and the instance stays meanwhile; delete the one that is wrong"
        ]
    );
}

/// A claim that nobody has answered, of a pool with three types.
fn unlaunched(requirements: &str, requests: &str) -> String {
    let catalog = builder()
        .pool(
            pool("p"),
            [
                instance_type("small").cpu("2").mem("8Gi").zones(["a", "b"]).keeps("cpu", "100m"),
                instance_type("large").cpu("8").mem("4Gi").zones(["a"]).has("example.com/gpu", "1"),
                instance_type("tiny").cpu("1").mem("1Gi").zones(["a"]),
            ],
        )
        .build()
        .catalog;
    let yaml = format!(
        "
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {{name: c, labels: {{karpenter.sh/nodepool: p}}}}
spec:
  requirements: [{requirements}]
  resources: {{requests: {{{requests}}}}}
  taints: [{{key: special, effect: NoSchedule}}]
  startupTaints: [{{key: starting, effect: NoSchedule}}]
"
    );
    let indexed = index_with(&yaml, catalog, &IndexSettings::default());
    show_nodes(&indexed.snapshot)
}

#[test]
fn an_unlaunched_claim_counts_with_the_room_that_every_type_has() {
    expect![[r#"
        node - claim c pool p hostname c
          labels karpenter.sh/nodepool=p topology.kubernetes.io/zone=a
          taints special:NoSchedule
          allocatable cpu 1900m, memory 4Gi, pods 110
          capacity cpu 8, example.com/gpu 1, memory 8Gi, pods 110"#]].assert_eq(&unlaunched(
        "{key: topology.kubernetes.io/zone, operator: In, values: [a]}, {key: size, operator: Exists}",
        "cpu: 1500m, memory: 1Gi, pods: 2",
    ));
}

#[test]
fn an_unlaunched_claims_requirements_rule_types_out() {
    expect![[r#"
        node - claim c pool p hostname c
          labels karpenter.sh/nodepool=p node.kubernetes.io/instance-type=small
          taints special:NoSchedule
          allocatable cpu 1900m, memory 8Gi, pods 110
          capacity cpu 2, memory 8Gi, pods 110"#]]
    .assert_eq(&unlaunched(
        "{key: node.kubernetes.io/instance-type, operator: In, values: [small]}",
        "cpu: 1",
    ));
    expect![[r#"
        node - claim c pool p hostname c
          labels karpenter.sh/nodepool=p topology.kubernetes.io/zone=b
          taints special:NoSchedule
          allocatable cpu 1900m, memory 8Gi, pods 110
          capacity cpu 2, memory 8Gi, pods 110"#]]
    .assert_eq(&unlaunched(
        "{key: topology.kubernetes.io/zone, operator: In, values: [b]}",
        "cpu: 1",
    ));
}

#[test]
fn an_unlaunched_claim_of_unknown_types_has_room_for_its_requests() {
    expect![[r#"
        node - claim c pool p hostname c
          labels karpenter.sh/nodepool=p node.kubernetes.io/instance-type=unknown
          taints special:NoSchedule
          allocatable cpu 3, memory 1Gi
          capacity cpu 3, memory 1Gi"#]]
    .assert_eq(&unlaunched(
        "{key: node.kubernetes.io/instance-type, operator: In, values: [unknown]}",
        "cpu: 3, memory: 1Gi",
    ));
}

#[test]
fn an_unlaunched_claim_that_is_deleted_leaves() {
    let snapshot = index_default(
        "{apiVersion: karpenter.sh/v1, kind: NodeClaim, metadata: {name: c, deletionTimestamp: \
         '2026-01-01T00:00:00Z'}, spec: {requirements: []}}",
    );
    assert!(snapshot.nodes[0].leaving);
}
