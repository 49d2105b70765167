//! What keeps one instance is told with its name and what helps, and keeps no other.

use joiner_api::condition::find;
use joiner_operator::conditions::Conditioned;
use serde_json::{Value, json};

use super::scene::Scene;
use crate::{play::node, stage::pool};

/// Asserts that somebody who looks at an object is told all of this in one event.
#[track_caller]
fn assert_told(scene: &Scene, kind: &str, name: &str, parts: &[&str]) {
    let told = scene.stage.events(kind, name);
    let has_all = |event: &String| parts.iter().all(|part| event.contains(part));
    assert!(told.iter().any(has_all), "{parts:?} of {told:#?}");
}

/// An instance with a pod of its own, and another that holds nothing: the one is about to be judged,
/// the other goes whatever becomes of it.
async fn one_in_use_and_one_empty(pod: impl FnOnce(&Scene)) -> Scene {
    let mut scene = Scene::looked_after().await;
    scene.allow("0");
    scene.instance_of("used", "test-16x").await;
    pod(&scene);
    scene.instance("empty").await;
    scene.allow("100%");
    scene
}

fn budget(scene: &Scene, name: &str, spec: &Value) {
    let mut spec = spec.clone();
    spec["selector"] = json!({"matchLabels": {"app": "web"}});
    let metadata = json!({"name": name, "namespace": "default"});
    let budget = json!({"metadata": metadata, "spec": spec});
    scene.stage.create("policy", "poddisruptionbudgets", budget);
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_allows_nothing_is_named() {
    let mut scene = one_in_use_and_one_empty(|scene| {
        scene.pod("web-1", "used");
        budget(scene, "never", &json!({"maxUnavailable": 0}));
    })
    .await;
    scene.stage.pass(400).await;
    assert_eq!(scene.claims(), ["used"]);
    for kind in ["Node", "NodeClaim"] {
        assert_told(
            &scene,
            kind,
            "used",
            &[
                "DisruptionBlocked: PodDisruptionBudget default/never allows no eviction of pod \
                 default/web-1",
                "What helps: let PodDisruptionBudget default/never allow an eviction",
            ],
        );
    }
}

#[tokio::test(start_paused = true)]
async fn budgets_that_overlap_are_all_named() {
    let mut scene = one_in_use_and_one_empty(|scene| {
        scene.pod("web-1", "used");
        budget(scene, "one", &json!({"maxUnavailable": "100%"}));
        budget(scene, "two", &json!({"minAvailable": 0}));
    })
    .await;
    scene.stage.pass(60).await;
    assert_eq!(scene.claims(), ["used"]);
    assert_told(
        &scene,
        "Node",
        "used",
        &["Pod default/web-1", "default/one, default/two", "a pod must match no more than one"],
    );
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_protected_for_a_time_keeps_its_instance_for_that_time() {
    let mut scene = Scene::looked_after().await;
    scene.allow("0");
    scene.instance_of("used", "test-16x").await;
    scene.pod("web-1", "used");
    let started = jiff::Timestamp::from_second(scene.stage.context.now().as_second()).unwrap();
    let status = json!({"status": {"startTime": started.to_string()}});
    scene.stage.merge("", "pods", "default/web-1", Some("status"), status);
    let wish = json!({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "10m"}}});
    scene.stage.merge("", "pods", "default/web-1", None, wish);
    scene.instance("empty").await;
    scene.allow("100%");
    scene.stage.pass(9 * 60).await;
    assert_eq!(scene.claims(), ["used"]);
    let annotation = "annotation karpenter.sh/do-not-disrupt";
    let ends = format!("which ends at {}", started + jiff::SignedDuration::from_mins(10));
    assert_told(&scene, "Node", "used", &["Pod default/web-1", annotation, &ends, "What helps"]);
    scene.stage.pass(2 * 60).await;
    assert_eq!(scene.marks("used"), "all", "its time is over: a smaller instance comes");
}

#[tokio::test(start_paused = true)]
async fn a_pod_without_an_owner_is_told_so_and_keeps_nothing() {
    let mut scene = one_in_use_and_one_empty(|scene| {
        scene.pod("web-1", "used");
        let orphan = json!({"metadata": {"ownerReferences": null}});
        scene.stage.merge("", "pods", "default/web-1", None, orphan);
    })
    .await;
    scene.allow("0");
    scene.stage.pass(5).await;
    assert_told(
        &scene,
        "Pod",
        "web-1",
        &["PodWithoutOwner: Pod default/web-1 has no owner", "What helps: let a Deployment"],
    );
    scene.allow("100%");
    scene.stage.pass(60).await;
    assert_eq!(scene.marks("used"), "all", "its instance is too large");
    assert!(!scene.stays("empty"));
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_pool_is_gone_is_told_of_and_left_alone() {
    let mut scene = Scene::looked_after().await;
    scene.allow("0");
    scene.instance_in("gone", "stray").await;
    scene.instance("empty").await;
    scene.allow("100%");
    scene.stage.pass(400).await;
    assert_eq!(scene.claims(), ["stray"]);
    for kind in ["Node", "NodeClaim"] {
        let named = "stray belongs to NodePool \"gone\", which does not exist";
        let helps = "What helps: create NodePool gone again, or delete the NodeClaim";
        assert_told(&scene, kind, "stray", &["DisruptionBlocked: ", named, helps]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_class_that_is_being_deleted_closes_its_pools_and_no_other() {
    let mut scene = Scene::looked_after().await;
    scene.stage.create_class("other");
    let mut other = pool("other");
    other["spec"]["template"]["spec"]["nodeClassRef"]["name"] = "other".into();
    scene.stage.create("karpenter.sh", "nodepools", other);
    let class = joiner_cloud::testing::TEST_NODE_CLASS;
    let hold = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    scene.stage.merge(class.group, class.plural, "other", None, hold);
    scene.stage.delete(class.group, class.plural, "other");
    scene.instance("empty").await;
    scene.stage.pass(60).await;
    let said = scene.stage.pool("other");
    let condition = find(said.conditions(), "NodeClassReady").unwrap();
    assert_eq!((&*condition.status, &*condition.reason), ("False", "NodeClassTerminating"));
    for part in ["\"other\" is being deleted", "spec.template.spec.nodeClassRef"] {
        assert!(condition.message.contains(part), "{}", condition.message);
    }
    assert!(scene.stage.pool("general").holds("Ready"));
    assert_eq!(scene.claims(), [""; 0], "the other pool's empty instance has gone");
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_cannot_be_read_closes_its_pool_and_no_other() {
    let mut scene = Scene::looked_after().await;
    scene.allow("0");
    let garbage =
        json!([{"nodes": "1", "schedule": "every day at nine o'clock", "duration": "1h"}]);
    let mut other = pool("other");
    other["spec"]["disruption"] = json!({"budgets": garbage});
    scene.stage.create("karpenter.sh", "nodepools", other);
    scene.stage.pass(1).await;
    scene.instance_in("other", "kept").await;
    scene.instance("empty").await;
    scene.allow("100%");
    scene.stage.pass(60).await;
    assert_eq!(scene.claims(), ["kept"]);
    let said = scene.stage.pool("other");
    assert!(said.holds("Ready"), "pods that wait still get instances of it");
    let condition = find(said.conditions(), "BudgetsValid").unwrap();
    let named = "spec.disruption.budgets[0].schedule \"every day at nine o'clock\"";
    assert!(condition.message.starts_with(named), "{}", condition.message);
}

/// Whoever writes it learns it at once, and not when the pod is lost.
#[tokio::test(start_paused = true)]
async fn a_wish_that_cannot_be_read_is_told_before_anything_is_disrupted() {
    let mut scene = Scene::looked_after().await;
    scene.allow("0");
    scene.instance_of("used", "test-16x").await;
    scene.pod("web-1", "used");
    scene.pod("web-2", "used");
    let wish =
        |wish: &str| json!({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": wish}}});
    scene.stage.merge("", "pods", "default/web-1", None, wish("soon"));
    scene.stage.merge("", "pods", "default/web-2", None, wish("1h"));
    scene.stage.pass(5).await;
    assert_told(
        &scene,
        "Pod",
        "web-1",
        &["InvalidDoNotDisruptAnnotation: ", "\"soon\"", "write it as 720h or 1h30m"],
    );
    assert_eq!(scene.stage.events("Pod", "web-2"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_wish_that_does_not_protect_a_node_is_told() {
    let mut scene = Scene::looked_after().await;
    scene.allow("0");
    for (node, wish) in [("timed", "1h"), ("free", "false"), ("kept", "true")] {
        scene.instance(node).await;
        let wish = json!({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": wish}}});
        scene.stage.merge("", "nodes", node, None, wish);
    }
    scene.stage.pass(5).await;
    let parts =
        ["InvalidDoNotDisruptAnnotation: ", "\"1h\" does not protect a node, only \"true\""];
    assert_told(&scene, "Node", "timed", &parts);
    for node in ["free", "kept"] {
        let told = scene.stage.events("Node", node);
        assert!(!told.iter().any(|event| event.starts_with(parts[0])), "{told:?}");
    }
}

/// An instance would be too small, or too dear, or kept for nobody.
#[tokio::test(start_paused = true)]
async fn while_something_that_counts_cannot_be_read_nothing_is_proposed() {
    let mut scene = Scene::looked_after_on(|stage| {
        stage.allow_anything("nodeoverlays.karpenter.sh");
        stage.set(|settings| settings.planner.gates.node_overlay = true)
    })
    .await;
    let overlay = json!({
        "apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay",
        "metadata": {"name": "odd"}, "spec": {"requirements": "none"},
    });
    scene.stage.create("karpenter.sh", "nodeoverlays", overlay);
    scene.stage.pass(1).await;
    scene.instance("empty").await;
    scene.stage.pass(60).await;
    assert_eq!(scene.claims(), ["empty"]);
    scene.stage.delete("karpenter.sh", "nodeoverlays", "odd");
    scene.stage.pass(330).await;
    assert_eq!(scene.claims(), [""; 0]);
}

/// Its pods may be bound to the one node or to the other.
#[tokio::test(start_paused = true)]
async fn an_instance_that_two_nodes_say_they_are_is_told_of_and_left_alone() {
    let mut scene = Scene::looked_after().await;
    scene.allow("0");
    scene.instance("twice").await;
    scene.stage.join(node("yet-another", "twice"));
    scene.instance("empty").await;
    scene.allow("100%");
    scene.stage.pass(400).await;
    assert_eq!(scene.claims(), ["twice"]);
    let parts = [
        "DisruptionBlocked: The instance stays while 2 nodes have this provider ID: twice, yet-another",
        "delete those that are not this instance",
    ];
    for (kind, name) in [("NodeClaim", "twice"), ("Node", "twice"), ("Node", "yet-another")] {
        assert_told(&scene, kind, name, &parts);
    }
    scene.stage.delete("", "nodes", "yet-another");
    scene.stage.pass(60).await;
    assert_eq!(scene.claims(), [""; 0]);
}
