//! Selectors, scales, bindings and events.

use expect_test::expect;
use joiner_kinds::{
    bind, event_from_core, event_to_core, find, grace_period, scale, selectable_field,
    selectable_fields, set_scale,
};
use serde_json::{Value, json};

use crate::{describe::changes, world::Fixed};

#[test]
fn fields_to_select_by() {
    let fields = |plural: &str, object: Value| {
        let resource = find("", "v1", plural).expect("a resource");
        let fields = selectable_fields(resource, &object);
        let lines: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        lines.join("\n") + "\n"
    };
    expect![[r#"
        metadata.name=a
        metadata.namespace=b
        spec.nodeName=n
        spec.restartPolicy=
        spec.schedulerName=
        spec.serviceAccountName=
        spec.hostNetwork=true
        status.phase=Running
        status.podIP=
        status.podIPs=
        status.nominatedNodeName=
    "#]]
    .assert_eq(&fields(
        "pods",
        json!({
            "metadata": { "name": "a", "namespace": "b" },
            "spec": { "nodeName": "n", "hostNetwork": true },
            "status": { "phase": "Running" },
        }),
    ));
    expect![[r#"
        metadata.name=a
        spec.unschedulable=false
    "#]]
    .assert_eq(&fields("nodes", json!({ "metadata": { "name": "a" } })));
    expect![[r#"
        metadata.name=a
        metadata.namespace=
    "#]]
    .assert_eq(&fields("configmaps", json!({ "metadata": { "name": "a" } })));
}

#[test]
fn fields_that_cannot_be_selected_by() {
    for (group, plural, name, expected) in [
        ("", "pods", "spec.host", expect!["spec.nodeName"]),
        ("", "pods", "spec.foo", expect!["field label not supported: spec.foo"]),
        (
            "",
            "nodes",
            "metadata.namespace",
            expect!["field label not supported: metadata.namespace"],
        ),
        (
            "apps",
            "deployments",
            "spec.replicas",
            expect![[
                r#""spec.replicas" is not a known field selector: only "metadata.name", "metadata.namespace""#
            ]],
        ),
        ("batch", "jobs", "spec.foo", expect![[r#"field label "spec.foo" not supported for Job"#]]),
        ("events.k8s.io", "events", "regarding.name", expect!["involvedObject.name"]),
        (
            "events.k8s.io",
            "events",
            "involvedObject.name",
            expect!["field label not supported: involvedObject.name"],
        ),
    ] {
        let resource = find(group, "v1", plural).expect("a resource");
        let answer = selectable_field(resource, name).map_or_else(|error| error, str::to_owned);
        expected.assert_eq(&answer);
    }
}

#[test]
fn a_workload_as_a_number() {
    let deployments = find("apps", "v1", "deployments").expect("deployments");
    let mut deployment = json!({
        "metadata": { "name": "a", "namespace": "b", "uid": "u", "labels": { "x": "y" } },
        "spec": {
            "replicas": 3,
            "selector": {
                "matchLabels": { "app": "web" },
                "matchExpressions": [
                    { "key": "tier", "operator": "In", "values": ["b", "a"] },
                    { "key": "old", "operator": "DoesNotExist" },
                ],
            },
        },
        "status": { "replicas": 2 },
    });
    let scale = scale(deployments, &deployment).expect("a scale");
    expect![[r#"{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a","namespace":"b","uid":"u"},"spec":{"replicas":3},"status":{"replicas":2,"selector":"app=web,!old,tier in (a,b)"}}"#]].assert_eq(&serde_json::to_string(&scale).expect("JSON"));
    set_scale(&mut deployment, &json!({ "spec": {} })).expect("a number");
    assert_eq!(deployment["spec"]["replicas"], 0);
    let refusal = set_scale(&mut deployment, &json!({ "spec": { "replicas": -1 } }));
    expect!["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]
        .assert_eq(&refusal.expect_err("too few").to_string());
    let pods = find("", "v1", "pods").expect("pods");
    assert_eq!(joiner_kinds::scale(pods, &json!({})), None);
}

#[test]
fn a_pod_is_bound_once() {
    let mut pod = json!({ "metadata": { "name": "a" }, "spec": {}, "status": {} });
    let before = pod.clone();
    let binding = json!({ "metadata": { "annotations": { "x": "y" } }, "target": { "name": "n" } });
    let labels = json!({ "topology.kubernetes.io/zone": "z", "other": "o" });
    bind(&mut pod, &binding, &labels, &Fixed).expect("a free pod");
    expect![[r#"
        + metadata.annotations: {"x":"y"}
        + metadata.labels: {"topology.kubernetes.io/zone":"z"}
        + spec.nodeName: "n"
        + status.conditions: [{"lastProbeTime":null,"lastTransitionTime":"2030-01-01T00:00:00Z","status":"True","type":"PodScheduled"}]
    "#]].assert_eq(&changes(&before, &pod));
    let refusal = bind(&mut pod, &binding, &labels, &Fixed).expect_err("bound");
    expect![[r#"pod a is already assigned to node "n""#]].assert_eq(&refusal);
    pod["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z".into();
    let refusal = bind(&mut pod, &binding, &labels, &Fixed).expect_err("leaving");
    expect!["pod a is being deleted, cannot be assigned to a host"].assert_eq(&refusal);
}

#[test]
fn a_pod_that_runs_nowhere_needs_no_time_to_end() {
    let pod = |node: &str, phase: &str| {
        json!({
            "spec": { "nodeName": node, "terminationGracePeriodSeconds": 30 },
            "status": { "phase": phase },
        })
    };
    assert_eq!(grace_period(&pod("n", "Running"), None), 30);
    assert_eq!(grace_period(&pod("n", "Running"), Some(5)), 5);
    assert_eq!(grace_period(&pod("n", "Running"), Some(-5)), 1);
    assert_eq!(grace_period(&pod("n", "Succeeded"), None), 0);
    assert_eq!(grace_period(&pod("", "Pending"), Some(5)), 0);
}

#[test]
fn events_have_two_faces() {
    let event = json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": { "name": "a" },
        "eventTime": "2030-01-01T00:00:00.000000Z",
        "reportingController": "c",
        "regarding": { "kind": "Pod", "name": "p" },
        "note": "n",
        "type": "Normal",
        "deprecatedSource": {},
        "deprecatedFirstTimestamp": null,
        "deprecatedLastTimestamp": null,
    });
    let core = event_to_core(&event);
    expect![[r#"
        ~ apiVersion: "events.k8s.io/v1" -> "v1"
        - deprecatedFirstTimestamp: null
        - deprecatedLastTimestamp: null
        - deprecatedSource: {}
        + firstTimestamp: null
        + involvedObject: {"kind":"Pod","name":"p"}
        + lastTimestamp: null
        + message: "n"
        - note: "n"
        - regarding: {"kind":"Pod","name":"p"}
        + reportingComponent: "c"
        - reportingController: "c"
        + reportingInstance: ""
        + source: {}
    "#]]
    .assert_eq(&changes(&event, &core));
    assert_eq!(event_from_core(&core), event);
}
