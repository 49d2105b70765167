//! The service account may not do something.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use joiner_cloud::{
    bootstrap::provider_id::IdCloud,
    class::SpecHash,
    needs::{IdNeed, JoinNeeds},
    testing::TEST_NODE_CLASS,
};
use serde_json::{Value, json};

use super::running::Running;
use crate::stage::pool;

/// Takes a verb away from the start: the engine names it, and works once it has it.
async fn denied(verb: &str, plural: &str, expected: &Expect) {
    let mut running = Running::prepared();
    running.stage.create_pool("general");
    running.create_pod("web");
    running.roles.deny(verb, plural);
    running.start();
    running.pass(90).await;
    let lines = running.readiness.why_not();
    let named: Vec<&str> = lines.lines().filter(|line| line.contains("may not")).collect();
    expected.assert_eq(&named.join("\n"));
    let logged = running.said("may not").len() + running.said("is forbidden").len();
    assert!(logged > 0, "the log says it too");
    assert!(!running.runs("web"), "{verb} {plural} is needed");
    running.roles.allow_all();
    running.pass(300).await;
    assert_eq!(running.readiness.why_not(), "");
    running.expect_running("web");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_may_not_be_listed_is_named() {
    denied(
        "list",
        "pods",
        &expect![
            "caches: the service account may not list pods: add the verb list on pods to its role"
        ],
    )
    .await;
    denied("list", "nodepools", &expect!["caches: the service account may not list nodepools.karpenter.sh: add the verb list on nodepools.karpenter.sh to its role"]).await;
    denied("watch", "nodes", &expect!["caches: the service account may not watch nodes: add the verb watch on nodes to its role"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_may_not_be_written_is_named() {
    denied("create", "nodeclaims", &expect!["permissions: the service account may not create nodeclaims.karpenter.sh: add the verb create on nodeclaims.karpenter.sh to its role"]).await;
    denied("patch", "nodeclaims", &expect!["permissions: the service account may not patch nodeclaims.karpenter.sh: add the verb patch on nodeclaims.karpenter.sh to its role"]).await;
    denied("patch", "nodepools", &expect![[r"
        permissions: the service account may not patch nodepools.karpenter.sh: add the verb patch on nodepools.karpenter.sh to its role
        permissions: the service account may not patch nodepools.karpenter.sh/status: add the verb patch on nodepools.karpenter.sh/status to its role"]]).await;
}

#[tokio::test(start_paused = true)]
async fn which_cluster_it_is_has_to_be_readable() {
    denied("get", "namespaces", &expect!["permissions: the service account may not get namespaces: add the verb get on namespaces to its role"]).await;
}

#[tokio::test(start_paused = true)]
async fn leases_that_may_not_be_had_are_named() {
    denied("get", "leases", &expect!["leases: the service account may not get leases.coordination.k8s.io in namespace default: add the verb get on leases.coordination.k8s.io in namespace default to its role"]).await;
    denied("create", "leases", &expect!["leases: the service account may not create leases.coordination.k8s.io in namespace default: add the verb create on leases.coordination.k8s.io in namespace default to its role"]).await;
}

#[tokio::test(start_paused = true)]
async fn definitions_that_may_not_be_looked_at_are_done_without() {
    let mut running = Running::prepared();
    running.stage.create_pool("general");
    running.create_pod("web");
    running.roles.deny("get", "customresourcedefinitions");
    running.start();
    running.pass(180).await;
    running.expect_running("web");
    assert_eq!(running.readiness.why_not(), "");
    expect!["whether CustomResourceDefinitions are new enough is not known, since they may not be looked at: add the verb get on customresourcedefinitions.apiextensions.k8s.io to the role"].assert_eq(&running.said("are new enough is not known").join("\n"));
}

/// What people apply for every provider, and for KWOK's besides. The test cloud's class takes the place
/// of KWOK's.
fn manifest() -> Vec<Value> {
    let text = concat!(
        include_str!("../../../../../examples/rbac/controller.yaml"),
        "---\n",
        include_str!("../../../../../examples/rbac/kwok.yaml"),
    );
    objects(&text.replace("kwoknodeclasses", "testnodeclasses").replace("kwok.sh", "test.sh"))
}

/// The same for those whose instances join by a text of ours. The test cloud's class takes the place
/// of vSphere's.
fn manifest_for_joining() -> Vec<Value> {
    let text = concat!(
        include_str!("../../../../../examples/rbac/controller.yaml"),
        "---\n",
        include_str!("../../../../../examples/rbac/joining.yaml"),
    );
    let text = text.replace("vspherenodeclasses", "testnodeclasses");
    // Everybody who has logged in may ask what they may do.
    let asking = json!({"rules": [{
        "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews"],
        "verbs": ["create"],
    }]});
    [objects(&text.replace("vsphere.com", "test.sh")), vec![asking]].concat()
}

/// What a manifest says. The engine under test is in the namespace `default`.
fn objects(text: &str) -> Vec<Value> {
    let text = text.replace("namespace: joiner-system", "namespace: default");
    serde_saphyr::from_multiple(&text).unwrap()
}

/// An engine that may do what these objects say, and nothing else.
fn with_rights(objects: &[Value]) -> Running {
    let running = Running::prepared();
    running.roles.grant_only(objects);
    running
}

/// Nothing was refused, and the engine misses nothing.
fn expect_content(running: &Running) {
    assert_eq!(running.readiness.why_not(), "");
    assert_eq!(running.roles.refused(), [""; 0]);
}

/// A pod gets a node, and the node goes again.
async fn from_a_pod_to_the_end_of_its_instance(running: &mut Running) {
    running.stage.create_pool("general");
    running.create_pod("web");
    running.start();
    running.pass(180).await;
    running.expect_running("web");
    let [claim] = running.claims().try_into().unwrap();
    running.stage.delete("karpenter.sh", "nodeclaims", &claim);
    running.pass(300).await;
    assert!(!running.claims().contains(&claim), "its instance is gone");
    expect_content(running);
}

/// The same where instances join by a text of ours, with a token each.
async fn an_instance_that_joins(running: &mut Running) {
    {
        let mut cloud = running.stage.cloud.state();
        let id = IdNeed { cloud: IdCloud::Vsphere, setting: None };
        let joining = JoinNeeds { provider_id: Some(id), ..JoinNeeds::default() };
        cloud.needs.joining = Some(joining);
        cloud.class_finalizer = Some("karpenter.test.sh/termination");
        let (key, version_key) = ("karpenter.test.sh/hash", "karpenter.test.sh/hash-version");
        cloud.hashes = vec![SpecHash::of_drift(key, version_key, "v2", "1")];
    }
    running.stage.create_pool("general");
    running.create_pod("web");
    running.start();
    running.pass(180).await;
    running.expect_running("web");
    let [claim] = running.claims().try_into().unwrap();
    running.stage.delete("karpenter.sh", "nodeclaims", &claim);
    running.stage.delete(TEST_NODE_CLASS.group, TEST_NODE_CLASS.plural, "default");
    running.pass(300).await;
    assert!(!running.claims().contains(&claim), "its instance is gone");
    expect_content(running);
}

/// Everything that a feature gate turns on.
async fn static_pools_buffers_and_overlays(running: &mut Running) {
    let stage = &running.stage;
    stage.create_class("default");
    let mut kept = pool("kept");
    kept["spec"]["replicas"] = 2.into();
    stage.create("karpenter.sh", "nodepools", kept);
    let buffer = json!({
        "apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityBuffer",
        "metadata": {"name": "spare", "namespace": "default"},
        "spec": {"scalableRef": {"kind": "Deployment", "name": "gone"}, "replicas": 1},
    });
    stage.create("autoscaling.x-k8s.io", "capacitybuffers", buffer);
    let overlay = json!({
        "apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay",
        "metadata": {"name": "dear"}, "spec": {"requirements": [], "price": "9"},
    });
    stage.create("karpenter.sh", "nodeoverlays", overlay);
    running.start_with(|settings| {
        let gates = &mut settings.planner.gates;
        (gates.static_capacity, gates.capacity_buffer, gates.node_overlay) = (true, true, true);
        settings.planner.index.capacity_buffer = true;
    });
    running.pass(120).await;
    assert_eq!(running.instances(), 2);
    let said = |group: &str, plural: &str, name: &str| {
        let found: Value = running.stage.find(group, plural, name).unwrap();
        found["status"]["conditions"][0]["type"].clone()
    };
    let buffer = said("autoscaling.x-k8s.io", "capacitybuffers", "default/spare");
    assert_eq!(buffer, "ReadyForProvisioning");
    assert_eq!(said("karpenter.sh", "nodeoverlays", "dear"), "ValidationSucceeded");
    running.stage.merge(
        "karpenter.sh",
        "nodepools",
        "kept",
        None,
        json!({"spec": {"replicas": 1}}),
    );
    running.pass(300).await;
    assert_eq!(running.instances(), 1);
    expect_content(running);
}

#[tokio::test(start_paused = true)]
async fn the_roles_of_the_manifest_are_enough_from_a_pod_to_the_end_of_its_instance() {
    from_a_pod_to_the_end_of_its_instance(&mut with_rights(&manifest())).await;
}

#[tokio::test(start_paused = true)]
async fn the_roles_of_the_manifests_are_enough_for_instances_that_join() {
    let mut running = with_rights(&manifest_for_joining());
    running.stage = running.stage.made_by_kubeadm();
    an_instance_that_joins(&mut running).await;
}

#[tokio::test(start_paused = true)]
async fn the_roles_of_the_manifest_are_enough_for_static_pools_buffers_and_overlays() {
    static_pools_buffers_and_overlays(&mut with_rights(&manifest())).await;
}

/// What is granted and not asked for in the stories above, and who asks for it.
const ASKED_FOR_ELSEWHERE: [(&str, &str); 18] = [
    ("create ipaddressclaims in default", "addresses from pools"),
    ("get ipaddressclaims in default", "addresses from pools"),
    ("get ipaddresses in default", "addresses from pools"),
    ("create nodes", "KWOK's cloud"),
    ("delete pods", "pods that may not stay longer in a drain"),
    ("get replicationcontrollers", "a default topology spread (--scheduler-config)"),
    ("list replicationcontrollers", "a default topology spread"),
    ("watch replicationcontrollers", "a default topology spread"),
    ("get services", "a default topology spread"),
    ("list services", "a default topology spread"),
    ("watch services", "a default topology spread"),
    ("get secrets joiner-join-token, joiner-user-data in default", "classes that refer to them"),
    ("list endpointslices in default", "RKE2, k3s and Talos without CLUSTER_ENDPOINT"),
    ("list resourceslices", "pods that use Dynamic Resource Allocation"),
    ("patch events", "events that are told again"),
    (
        "update nodeclaims/finalizers",
        "the API server: an owner that must stay until what it owns is gone",
    ),
    ("update nodepools/finalizers", "the API server, likewise"),
    ("update secrets in kube-system", "a join token that has to last longer"),
];

#[tokio::test(start_paused = true)]
async fn the_roles_of_the_manifests_grant_nothing_that_is_never_asked_for() {
    let all = [manifest(), manifest_for_joining()].concat();
    let mut short = with_rights(&all);
    from_a_pod_to_the_end_of_its_instance(&mut short).await;
    let mut joining = with_rights(&all);
    joining.stage = joining.stage.made_by_kubeadm();
    an_instance_that_joins(&mut joining).await;
    let mut gated = with_rights(&all);
    static_pools_buffers_and_overlays(&mut gated).await;
    let unused = &(&short.roles.unused() & &joining.roles.unused()) & &gated.roles.unused();
    let named: BTreeSet<String> =
        ASKED_FOR_ELSEWHERE.iter().map(|(right, _)| (*right).to_owned()).collect();
    assert_eq!(unused, named, "every right that no story asks for has a line above, and no other");
}

#[tokio::test(start_paused = true)]
async fn a_right_to_one_lease_is_no_right_to_another() {
    let mut running = with_rights(&manifest_for_joining());
    running.stage.create_pool("general");
    running.start_with(|settings| settings.leader_election.name = "another".to_owned());
    running.pass(60).await;
    assert_eq!(running.roles.refused(), ["get leases"]);
}

#[tokio::test(start_paused = true)]
async fn a_verb_that_is_missing_in_the_manifest_would_be_noticed() {
    let mut running = Running::prepared();
    let without = |rule: &Value| rule["resources"] != json!(["pods/eviction"]);
    let mut objects = manifest();
    for rules in objects.iter_mut().filter_map(|object| object["rules"].as_array_mut()) {
        rules.retain(without);
    }
    running.roles.grant_only(&objects);
    running.stage.create_pool("general");
    running.create_pod("web");
    running.start();
    running.pass(180).await;
    let [claim] = running.claims().try_into().unwrap();
    running.stage.delete("karpenter.sh", "nodeclaims", &claim);
    running.pass(60).await;
    assert_eq!(running.roles.refused(), ["create pods/eviction"]);
    expect![[r"
        permissions: the service account may not create pods/eviction: add the verb create on pods/eviction to its role
    "]].assert_eq(&running.readiness.why_not());
}
