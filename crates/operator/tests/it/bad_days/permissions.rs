//! The service account may not do something.

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

/// The rules that people apply. The test cloud's class takes the place of KWOK's.
fn manifest() -> Vec<Value> {
    let text = include_str!("../../../../../examples/rbac/controller.yaml");
    rules(&text.replace("kwoknodeclasses", "testnodeclasses").replace("kwok.sh", "test.sh"))
}

/// The rules for those whose machines join by a text of ours. The test cloud's class takes the place
/// of vSphere's.
fn manifest_for_joining() -> Vec<Value> {
    let text = include_str!("../../../../../examples/rbac/joining.yaml");
    let text = text.replace("vspherenodeclasses", "testnodeclasses");
    // Everybody who has logged in may ask what they may do.
    let asking = json!({
        "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews"],
        "verbs": ["create"],
    });
    [rules(&text.replace("vsphere.com", "test.sh")), manifest(), vec![asking]].concat()
}

fn rules(text: &str) -> Vec<Value> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    let rules = objects.iter().filter_map(|object| object["rules"].as_array());
    rules.flatten().cloned().collect()
}

#[tokio::test(start_paused = true)]
async fn the_roles_of_the_manifest_are_enough_from_a_pod_to_the_end_of_its_machine() {
    let mut running = Running::prepared();
    running.roles.grant_only(manifest());
    running.stage.create_pool("general");
    running.create_pod("web");
    running.start();
    running.pass(180).await;
    running.expect_running("web");
    let [claim] = running.claims().try_into().unwrap();
    running.stage.delete("karpenter.sh", "nodeclaims", &claim);
    running.pass(300).await;
    assert!(!running.claims().contains(&claim), "its machine is gone");
    assert_eq!(running.readiness.why_not(), "");
    assert_eq!(running.roles.refused(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_roles_of_the_manifests_are_enough_for_machines_that_join() {
    let mut running = Running::prepared();
    running.roles.grant_only(manifest_for_joining());
    running.stage = running.stage.made_by_kubeadm();
    {
        let mut cloud = running.stage.cloud.state();
        let id = IdNeed { cloud: IdCloud::Vsphere, setting: None };
        let joining = JoinNeeds { provider_id: Some(id), ..JoinNeeds::default() };
        cloud.needs.joining = Some(joining);
        cloud.class_finalizer = Some("karpenter.test.sh/termination");
        let (key, version_key) = ("karpenter.test.sh/hash", "karpenter.test.sh/hash-version");
        cloud.class_hash = Some(SpecHash { key, version_key, version: "v2", hash: "1".into() });
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
    assert!(!running.claims().contains(&claim), "its machine is gone");
    assert_eq!(running.readiness.why_not(), "");
    assert_eq!(running.roles.refused(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_roles_of_the_manifest_are_enough_for_static_pools_buffers_and_overlays() {
    let mut running = Running::prepared();
    running.roles.grant_only(manifest());
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
    assert_eq!(running.machines(), 2);
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
    assert_eq!(running.machines(), 1);
    assert_eq!(running.readiness.why_not(), "");
    assert_eq!(running.roles.refused(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_verb_that_is_missing_in_the_manifest_would_be_noticed() {
    let mut running = Running::prepared();
    let without = |rule: &Value| rule["resources"] != json!(["pods/eviction"]);
    running.roles.grant_only(manifest().into_iter().filter(without).collect());
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
