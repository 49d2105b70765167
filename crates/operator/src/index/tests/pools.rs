//! Pools and whether they can be used.

use joiner_core::{
    pool::{NodeClassRef, NodePool, Readiness},
    requirement::{Operator, RequirementSpec},
    taint::Effect,
    testing::{labels, requirement, resources, taint},
};

use super::*;

fn pool(metadata: &str, template: &str, rest: &str) -> String {
    format!(
        "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: p{metadata}}}
spec:
  template:
    spec:
      nodeClassRef: {{group: example.com, kind: SomeNodeClass, name: c}}
{template}
{rest}
---
"
    )
}

fn readiness(yaml: &str) -> Readiness {
    index_default(yaml).pools.remove(0).readiness
}

#[track_caller]
fn refused(yaml: &str, why: &str) {
    assert_eq!(readiness(yaml), Readiness::NotReady(why.to_owned()));
}

#[test]
fn a_pool_is_read_as_written() {
    let yaml = "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: p, uid: u1}
spec:
  weight: 7
  limits: {cpu: 10, nodes: 3}
  template:
    metadata: {labels: {team: blue}, annotations: {note: hi}}
    spec:
      expireAfter: 720h
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints: [{key: special, value: v, effect: NoSchedule}]
      startupTaints: [{key: starting, effect: NoExecute}]
      requirements:
      - {key: kubernetes.io/arch, operator: In, values: [amd64, arm64], minValues: 2}
      - {key: karpenter.sh/capacity-type, operator: NotIn, values: [spot]}
";
    let expected = NodePool {
        name: "p".to_owned(),
        uid: "u1".to_owned(),
        weight: 7,
        is_static: false,
        readiness: Readiness::Ready,
        failing: None,
        node_class: NodeClassRef {
            group: "karpenter.k8s.aws".to_owned(),
            kind: "EC2NodeClass".to_owned(),
            name: "default".to_owned(),
        },
        labels: labels([("team", "blue")]),
        annotations: labels([("note", "hi")]),
        taints: vec![taint("special", "v", Effect::NoSchedule)],
        startup_taints: vec![taint("starting", "", Effect::NoExecute)],
        requirements: vec![
            RequirementSpec {
                min_values: Some(2),
                ..requirement("kubernetes.io/arch", Operator::In, ["amd64", "arm64"])
            },
            requirement("karpenter.sh/capacity-type", Operator::NotIn, ["spot"]),
        ],
        limits: resources([("cpu", "10"), ("nodes", "3")]),
        hash: "9327158424985870528".to_owned(),
    };
    assert_eq!(index_default(yaml).pools, [expected]);
}

#[test]
fn the_hash_is_karpenters() {
    let yaml = "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: p}
spec:
  template:
    spec:
      expireAfter: 720h
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
";
    assert_eq!(index_default(yaml).pools[0].hash, "6821555240594823858");
}

#[test]
fn a_pool_is_ready_unless_something_says_otherwise() {
    assert_eq!(readiness(&pool("", "", "")), Readiness::Ready);
    let status = |status: &str| {
        format!(
            "status: {{conditions: [{{type: Ready, status: '{status}', reason: Why, message: so it is}}]}}"
        )
    };
    assert_eq!(readiness(&pool("", "", &status("True"))), Readiness::Ready);
    assert_eq!(readiness(&pool("", "", &status("Unknown"))), Readiness::Ready);
    refused(&pool("", "", &status("False")), "Why: so it is");
    refused(
        &pool("", "", "status: {conditions: [{type: Ready, status: 'False'}]}"),
        "Ready is False",
    );
    let caused = "status: {conditions: [
        {type: NodeClassReady, status: 'False', reason: NoTemplate, message: name one},
        {type: Ready, status: 'False', reason: UnhealthyDependents, message: NodeClassReady=False}]}";
    refused(&pool("", "", caused), "NoTemplate: name one");
    let deleting = ", deletionTimestamp: '2026-01-01T00:00:00Z'";
    assert_eq!(readiness(&pool(deleting, "", "")), Readiness::Deleting);
}

#[test]
fn a_pool_is_as_ready_as_its_class() {
    let class = |metadata: &str, status: &str| {
        pool("", "", "")
            + &format!(
                "{{apiVersion: example.com/v1, kind: SomeNodeClass, metadata: {{name: c{metadata}}}, \
                 status: {{conditions: [{status}]}}}}"
            )
    };
    assert_eq!(readiness(&class("", "")), Readiness::Ready);
    assert_eq!(readiness(&class("", "{type: Ready, status: 'True'}")), Readiness::Ready);
    refused(
        &class(
            "",
            "{type: Ready, status: 'False', reason: NoTemplate, message: no template found}",
        ),
        "SomeNodeClass \"c\" is not ready: NoTemplate: no template found",
    );
    refused(
        &class(", deletionTimestamp: '2026-01-01T00:00:00Z'", ""),
        "SomeNodeClass \"c\" is being deleted: name another one in \
         spec.template.spec.nodeClassRef, or create it again once it is gone",
    );
}

#[test]
fn a_pool_that_breaks_a_rule_at_run_time_is_not_ready() {
    let template = |line: &str| pool("", &format!("      {line}"), "");
    let labels = |labels: &str| pool("", &format!("    metadata: {{labels: {{{labels}}}}}"), "");
    refused(
        &template(
            "taints: [{key: a, effect: NoSchedule}]\n      startupTaints: [{key: a, value: x, effect: NoSchedule}]",
        ),
        "startupTaints: a=x:NoSchedule is there twice; remove one",
    );
    refused(
        &template("taints: [{key: 'a b', effect: NoSchedule}]"),
        "taints: \"a b\" is not a valid key of a taint",
    );
    refused(
        &template("requirements: [{key: karpenter.sh/nodepool, operator: In, values: [p]}]"),
        "requirements: karpenter.sh/nodepool is set by the pool itself",
    );
    refused(
        &template("requirements: [{key: size, operator: NotIn, values: ['very large']}]"),
        "requirements: value \"very large\" of label \"size\" is not a valid label value: write at \
         most 63 letters, digits, '-', '_' or '.' that begin and end with a letter or digit",
    );
    refused(
        &labels("karpenter.sh/nodepool: p"),
        "labels: karpenter.sh/nodepool is set by the pool itself",
    );
    refused(&labels("'a b': c"), "labels: \"a b\" is not a valid key of a label");
    refused(&labels("a: 'b c'"), "labels: \"b c\" of a is not a valid value of a label");
    refused(
        &labels("x.karpenter.sh/a: b"),
        "labels: x.karpenter.sh/a is restricted; use a domain of your own",
    );
}

#[test]
fn a_pool_of_fixed_size_is_noted_while_the_gate_is_off() {
    let yaml = pool("", "", "  replicas: 3");
    let notes = |static_capacity| {
        let settings = IndexSettings { static_capacity, ..IndexSettings::default() };
        let indexed = index(&yaml, &settings);
        assert!(indexed.snapshot.pools[0].is_static);
        indexed.notes
    };
    assert_eq!(
        notes(false),
        [
            "NodePool \"p\" has replicas, but the feature gate StaticCapacity is off: nothing is made for it"
        ]
    );
    assert_eq!(notes(true), [] as [&str; 0]);
}

#[test]
fn a_pool_whose_instances_do_not_join_is_tried_last() {
    let said = |status: &str, generation: u32| {
        let condition = format!(
            "status: {{conditions: [{{type: NodeRegistrationHealthy, status: '{status}', reason: \
             RegistrationFailed, message: Failed to register node, observedGeneration: {generation}, \
             lastTransitionTime: '2026-06-01T10:00:00Z'}}]}}"
        );
        let indexed = index(&pool(", generation: 2", "", &condition), &IndexSettings::default());
        (indexed.snapshot.pools[0].failing.clone(), indexed.notes)
    };
    let why = "RegistrationFailed: Failed to register node";
    let note = format!(
        "NodePool \"p\" is tried after all others, for its last instances have not joined ({why})"
    );
    assert_eq!(said("False", 2), (Some(why.to_owned()), vec![note]));
    assert_eq!(said("True", 2), (None, vec![]));
    assert_eq!(said("Unknown", 2), (None, vec![]));
    assert_eq!(said("False", 1), (None, vec![]), "the pool has been changed since");
}
