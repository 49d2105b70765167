//! From a cluster to commands: what is proposed, what is looked at once more, and what is told.

use joiner_core::disruption::Method;
use joiner_lab::faults::Fault;
use joiner_operator::conditions::{Conditioned, DRIFTED};
use serde_json::json;

use super::{
    meanwhile::instead,
    scene::{NAMESPACE, Scene},
};

const EMPTY: &str = r#"consolidation_type="empty""#;
const SINGLE: &str = r#"consolidation_type="single""#;
const MULTI: &str = r#"consolidation_type="multi""#;

/// Instances that hold nothing.
async fn empty_instances(names: &[&str]) -> Scene {
    let mut scene = Scene::looked_after().await;
    scene.allow("0");
    for name in names {
        scene.instance(name).await;
    }
    scene.allow("100%");
    scene
}

/// A large instance with a pod that would fit on a smaller one.
async fn large_instance() -> Scene {
    let mut scene = Scene::looked_after().await;
    scene.allow("0");
    scene.instance_of("a", "test-16x").await;
    scene.pod("web-1", "a");
    scene.allow("100%");
    scene
}

/// Two instances whose pods would fit on one that costs less than both.
async fn two_instances() -> Scene {
    let mut scene = Scene::looked_after().await;
    scene.allow("0");
    for name in ["a", "b"] {
        scene.instance_of(name, "test-16x").await;
        for pod in 0..5 {
            scene.pod(&format!("web-{name}-{pod}"), name);
        }
    }
    scene.allow("100%");
    scene
}

/// A second pool beside the first. Neither lets anything go yet.
async fn two_pools() -> Scene {
    let mut scene = Scene::looked_after().await;
    scene.stage.create_pool("batch");
    for pool in ["general", "batch"] {
        allow(&scene, pool, "0");
    }
    scene.stage.pass(1).await;
    scene
}

/// So many instances of a pool may go at once.
fn allow(scene: &Scene, pool: &str, nodes: &str) {
    let budgets = json!({"spec": {"disruption": {"budgets": [{"nodes": nodes}]}}});
    scene.stage.merge("karpenter.sh", "nodepools", pool, None, budgets);
}

/// Nobody is to remove an instance any more.
fn protect_node(scene: &Scene, name: &str) {
    let wish = json!({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}});
    scene.stage.merge("", "nodes", name, None, wish);
}

fn count(scene: &Scene, name: &str, kind: &str) -> f64 {
    let series = scene.stage.series(name).into_iter().filter(|series| series.contains(kind));
    series.filter_map(|series| series.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

fn assert_count(scene: &Scene, name: &str, kind: &str, expected: f64) {
    let found = count(scene, name, kind);
    let all = scene.stage.series(name);
    assert!((found - expected).abs() < f64::EPSILON, "{found} of {kind}, not {expected}: {all:?}");
}

const FAILED: &str = "karpenter_voluntary_disruption_failed_validations_total";
const DECISIONS: &str = "karpenter_voluntary_disruption_decisions_total";

/// P-19, O-69.
#[tokio::test(start_paused = true)]
async fn a_proposal_is_looked_at_once_more_after_15_seconds() {
    let mut scene = empty_instances(&["a"]).await;
    scene.stage.pass(2).await;
    assert_eq!(scene.proposed().len(), 1);
    scene.stage.pass(11).await;
    assert_eq!(scene.marks("a"), "none", "nothing is written before");
    scene.stage.pass(6).await;
    assert_eq!(scene.claims(), [""; 0]);
}

/// O-07.
#[tokio::test(start_paused = true)]
async fn dashboards_see_how_many_instances_could_go() {
    let mut scene = Scene::looked_after().await;
    scene.allow("0");
    scene.instance("a").await;
    scene.instance("b").await;
    scene.stage.pass(2).await;
    let eligible = "karpenter_voluntary_disruption_eligible_nodes";
    assert_count(&scene, eligible, r#"reason="empty""#, 2.0);
    assert_count(&scene, eligible, r#"reason="drifted""#, 0.0);
    let allowed = "karpenter_nodepools_allowed_disruptions";
    assert_count(&scene, allowed, r#"nodepool="general",reason="Empty""#, 0.0);
    let told = scene.stage.events("NodePool", "general");
    let blocked = "DisruptionBlocked: No allowed disruptions for disruption reason Empty due to \
                   blocking budget";
    assert!(told.contains(&blocked.to_owned()), "{told:?}");
}

/// Instances about which one command is proposed, of the kind that is named, and how many they are.
async fn proposed(kind: &str) -> (Scene, f64) {
    let (mut scene, instances) = match kind {
        EMPTY => (empty_instances(&["a"]).await, 1.0),
        SINGLE => (large_instance().await, 1.0),
        _ => (two_instances().await, 2.0),
    };
    scene.stage.pass(5).await;
    assert_eq!(scene.proposed().len(), 1, "{kind}");
    (scene, instances)
}

/// O-08, O-11, O-14: a budget that closes meanwhile.
#[tokio::test(start_paused = true)]
async fn a_budget_that_closes_meanwhile_stops_a_proposal() {
    for kind in [EMPTY, SINGLE, MULTI] {
        let (mut scene, instances) = proposed(kind).await;
        let before = scene.claims();
        scene.allow("0");
        scene.stage.pass(60).await;
        assert_eq!(scene.claims(), before, "{kind}");
        assert_count(&scene, FAILED, kind, instances);
        let told = scene.stage.events("Node", "a");
        assert!(told.iter().any(|event| event.contains("reason: budget")), "{told:?}");
    }
}

/// O-09, O-12, O-15: a candidate that is none any more.
#[tokio::test(start_paused = true)]
async fn an_instance_that_is_protected_meanwhile_stays() {
    for kind in [EMPTY, SINGLE, MULTI] {
        let (mut scene, instances) = proposed(kind).await;
        protect_node(&scene, "a");
        scene.stage.pass(16).await;
        assert!(scene.stays("a"), "{kind}");
        assert_count(&scene, FAILED, kind, instances);
        let told = scene.stage.events("NodeClaim", "a");
        assert!(told.iter().any(|event| event.contains("reason: churn")), "{told:?}");
    }
}

/// O-81: what is left of a proposal is looked at anew at once.
#[tokio::test(start_paused = true)]
async fn an_instance_that_cannot_go_with_another_any_more_goes_alone() {
    let (mut scene, instances) = proposed(MULTI).await;
    protect_node(&scene, "b");
    scene.stage.pass(16).await;
    assert_count(&scene, FAILED, MULTI, instances);
    let proposed = scene.proposed();
    let going = proposed.iter().flat_map(|command| &command.candidates);
    assert_eq!(going.map(|candidate| candidate.node.as_str()).collect::<Vec<_>>(), ["a"]);
    scene.stage.pass(16).await;
    assert_count(&scene, DECISIONS, SINGLE, 1.0);
    assert_eq!([scene.marks("a"), scene.marks("b")], ["all", "none"]);
}

/// O-25..30: a cluster in which a budget is all that keeps instances is not done with until it is looked at again after
/// five minutes.
#[tokio::test(start_paused = true)]
async fn what_a_budget_has_kept_goes_as_soon_as_the_others_are_gone() {
    let (one, both) = (&["general"][..], &["general", "batch"][..]);
    for (kind, pools, at_once) in
        [(EMPTY, one, 1), (EMPTY, both, 1), (SINGLE, one, 1), (MULTI, one, 2), (MULTI, both, 1)]
    {
        let mut scene = two_pools().await;
        // There is room for all pods, so nothing comes in place of what goes.
        scene.stage.join(json!({"metadata": {"name": "other"}, "spec": {}}));
        let mut instances = Vec::new();
        for pool in pools {
            for i in 0..2 * at_once {
                let name = format!("{pool}-{i}");
                scene.instance_in(pool, &name).await;
                if kind != EMPTY {
                    scene.pod(&format!("web-{name}"), &name);
                }
                instances.push(name);
            }
        }
        for pool in pools {
            allow(&scene, pool, &at_once.to_string());
        }
        scene.stage.pass(20).await;
        let left = scene.claims();
        assert_eq!(left.len(), instances.len() / 2, "{kind} {pools:?}: {left:?}");
        scene.stage.pass(60).await;
        assert_eq!(scene.claims(), left, "{kind} {pools:?}: the others are not gone yet");
        for gone in instances.iter().filter(|name| !left.contains(name)) {
            let free = json!({"metadata": {"finalizers": null}});
            scene.stage.merge("", "nodes", gone, None, free);
        }
        scene.stage.pass(25).await;
        assert_eq!(scene.claims(), [""; 0], "{kind} {pools:?}");
        assert_count(&scene, DECISIONS, kind, 2.0);
    }
}

/// R-15, and time alone is enough.
#[tokio::test(start_paused = true)]
async fn a_drifted_instance_goes_once_the_last_of_its_pods_is_free() {
    let mut scene = Scene::looked_after().await;
    scene.allow("0");
    scene.cheapest_instance("a").await;
    let started = scene.stage.context.now();
    for (pod, duration) in [("web-1", "10m"), ("web-2", "30m"), ("web-3", "20m")] {
        scene.pod(pod, "a");
        let (wish, name) =
            (json!({"karpenter.sh/do-not-disrupt": duration}), format!("default/{pod}"));
        scene.stage.merge("", "pods", &name, None, json!({"metadata": {"annotations": wish}}));
        let status = json!({"status": {"startTime": started.to_string()}});
        scene.stage.merge("", "pods", &name, Some("status"), status);
    }
    scene.stage.cloud.state().drift = Some("ImageDrift".to_owned());
    scene.allow("100%");
    scene.stage.pass(30 * 60 - 1).await;
    assert!(scene.stage.claim("a").holds(DRIFTED));
    assert_eq!(scene.marks("a"), "none");
    scene.stage.pass(5).await;
    assert_eq!(scene.marks("a"), "all");
}

/// O-10, O-13, O-16: a pod was promised a place on a candidate.
#[tokio::test(start_paused = true)]
async fn an_instance_that_pods_are_expected_on_meanwhile_stays() {
    for kind in [EMPTY, SINGLE, MULTI] {
        let (mut scene, instances) = proposed(kind).await;
        let until = scene.stage.context.now() + jiff::SignedDuration::from_secs(20);
        scene.stage.context.cache.intend(|intended| intended.nominate("a", until));
        scene.stage.pass(16).await;
        assert!(scene.stays("a"), "{kind}");
        assert_count(&scene, FAILED, kind, instances);
        scene.stage.pass(60).await;
        assert!(scene.claims() != ["a"] || scene.marks("a") == "all", "it is free again: {kind}");
    }
}

/// O-72, O-73.
#[tokio::test(start_paused = true)]
async fn a_pod_that_is_protected_meanwhile_keeps_its_instance() {
    let protect: [fn(&Scene); 2] = [
        |scene| {
            let wish =
                json!({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}});
            scene.stage.merge("", "pods", "default/web-1", None, wish);
        },
        |scene| {
            scene.stage.create(
                "policy",
                "poddisruptionbudgets",
                json!({
                    "metadata": {"name": "web", "namespace": "default"},
                    "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
                }),
            );
        },
    ];
    for protect in protect {
        let (mut scene, _) = proposed(SINGLE).await;
        protect(&scene);
        scene.stage.pass(60).await;
        assert_eq!(scene.claims(), ["a"]);
        assert_eq!(scene.marks("a"), "none");
        assert_count(&scene, FAILED, SINGLE, 1.0);
        let told = scene.stage.events("Node", "a");
        assert!(told.iter().any(|event| event.starts_with("DisruptionBlocked: ")), "{told:?}");
    }
}

/// O-103, O-106: what is decided about empty instances.
#[tokio::test(start_paused = true)]
async fn dashboards_count_decisions_about_empty_instances() {
    let mut scene = empty_instances(&["a", "b"]).await;
    scene.stage.pass(30).await;
    assert_eq!(
        scene.stage.series(DECISIONS),
        [r#"{consolidation_type="empty",decision="delete",reason="empty"} 1"#]
    );
    assert_eq!(
        scene.stage.series("karpenter_voluntary_disruption_decisions_by_nodepool_total"),
        [r#"{consolidation_type="empty",decision="delete",nodepool="general",reason="empty"} 1"#]
    );
}

/// O-105, O-108.
#[tokio::test(start_paused = true)]
async fn dashboards_count_instances_that_are_replaced() {
    for (kind, name) in [(SINGLE, "single"), (MULTI, "multi")] {
        let (mut scene, _) = proposed(kind).await;
        scene.stage.pass(30).await;
        assert_eq!(
            scene.stage.series(DECISIONS),
            [format!(
                r#"{{consolidation_type="{name}",decision="replace",reason="underutilized"}} 1"#
            )]
        );
        let moves = scene.stage.series("karpenter_consolidation_moves_total");
        assert_eq!(
            moves,
            [r#"{decision="approved",nodepool="general",policy="WhenEmptyOrUnderutilized"} 1"#]
        );
    }
}

/// O-104, O-107.
#[tokio::test(start_paused = true)]
async fn dashboards_count_instances_whose_pods_fit_elsewhere() {
    for (kind, going) in [("single", 1), ("multi", 2)] {
        let mut scene = Scene::looked_after().await;
        scene.allow("0");
        for name in &["a", "b", "c"][..=going] {
            scene.instance(name).await;
            scene.pod(&format!("web-{name}"), name);
        }
        scene.allow(&going.to_string());
        scene.stage.pass(30).await;
        assert_eq!(
            scene.stage.series(DECISIONS),
            [format!(
                r#"{{consolidation_type="{kind}",decision="delete",reason="underutilized"}} 1"#
            )]
        );
        assert_eq!(scene.claims().len(), 1);
        let moved = "karpenter_pods_disruption_initiated_total";
        assert_count(&scene, moved, r#"reason="underutilized""#, going as f64);
    }
}

/// §9.2.
#[tokio::test(start_paused = true)]
async fn candidates_are_told_of_what_is_proposed() {
    let mut scene = large_instance().await;
    scene.stage.pass(5).await;
    for kind in ["Node", "NodeClaim"] {
        let told = scene.stage.events(kind, "a");
        let wanted = "ConsolidationCandidate: Consolidation candidate: replace: [a] -> [1 \
                      replacement] (savings: $0.45)";
        assert!(told.contains(&wanted.to_owned()), "{told:?}");
    }
}

/// Approvals that were told of an object.
fn approvals(scene: &Scene, kind: &str, name: &str) -> Vec<String> {
    let told = scene.stage.events(kind, name);
    told.into_iter().filter(|event| event.starts_with("ConsolidationApproved: ")).collect()
}

/// Has a pool ask whether a move is worth it.
fn balance(scene: &Scene, pool: &str) {
    let policy = json!({"spec": {"disruption": {"consolidationPolicy": "Balanced"}}});
    scene.stage.merge("karpenter.sh", "nodepools", pool, None, policy);
}

/// §3.6, §9.2.
#[tokio::test(start_paused = true)]
async fn a_balanced_pools_approval_is_told_of_the_instance_it_is_about() {
    let mut scene = large_instance().await;
    balance(&scene, "general");
    scene.stage.pass(5).await;
    let wanted = ["ConsolidationApproved: score 0.94 >= threshold 0.50 (k: 2, savings 93.7%, \
                   disruption 100.0%)"];
    assert_eq!(approvals(&scene, "Node", "a"), wanted);
    assert_eq!(approvals(&scene, "NodeClaim", "a"), wanted);
    assert_eq!(approvals(&scene, "NodePool", "general"), [""; 0]);
}

/// §3.6, §9.2.
#[tokio::test(start_paused = true)]
async fn an_approval_about_several_instances_is_told_of_the_pool() {
    let mut scene = two_instances().await;
    balance(&scene, "general");
    scene.stage.pass(5).await;
    assert_eq!(scene.proposed().len(), 1);
    let told = approvals(&scene, "NodePool", "general");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(">= threshold 0.50 (k: 2, savings "), "{told:?}");
    assert_eq!(approvals(&scene, "Node", "a"), [""; 0]);
}

/// A-01..20: an approval is told of every pool that was asked, and of no other.
#[tokio::test(start_paused = true)]
async fn an_approval_about_instances_of_several_pools_is_told_of_those_that_were_asked() {
    for asked in [&["general"][..], &["batch", "general"]] {
        let mut scene = two_pools().await;
        for (pool, instance) in [("general", "a"), ("batch", "b")] {
            scene.instance_in(pool, instance).await;
            scene.pod(&format!("web-{instance}"), instance);
        }
        for pool in asked {
            balance(&scene, pool);
        }
        for pool in ["general", "batch"] {
            allow(&scene, pool, "100%");
        }
        scene.stage.pass(5).await;
        let [command] = &scene.proposed()[..] else { panic!("{:?}", scene.proposed()) };
        assert_eq!(command.candidates.len(), 2, "{command:?}");
        for pool in ["general", "batch"] {
            let told = approvals(&scene, "NodePool", pool);
            let wanted = "ConsolidationApproved: score 0.88 >= threshold 0.50 (k: 2, savings \
                          87.5%, disruption 100.0%)";
            let wanted = if asked.contains(&pool) { vec![wanted] } else { Vec::new() };
            assert_eq!(told, wanted, "{pool} of {asked:?}");
        }
        assert_eq!(approvals(&scene, "Node", "a"), [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn pools_that_ask_for_no_score_approve_of_nothing() {
    let (scene, _) = proposed(SINGLE).await;
    assert_eq!(approvals(&scene, "Node", "a"), [""; 0]);
    assert_eq!(approvals(&scene, "NodePool", "general"), [""; 0]);
}

/// §9.2.
#[tokio::test(start_paused = true)]
async fn who_asks_why_an_instance_stays_is_told() {
    let mut scene = Scene::looked_after().await;
    scene.allow("0");
    scene.cheapest_instance("a").await;
    scene.pod("web-1", "a");
    scene.allow("100%");
    scene.stage.pass(60).await;
    let told = scene.stage.events("Node", "a");
    assert!(told.iter().any(|event| event.starts_with("Unconsolidatable: ")), "{told:?}");
    assert_eq!(scene.claims(), ["a"]);
}

/// §3.5: a cluster in which nothing happens is not looked at again and again.
#[tokio::test(start_paused = true)]
async fn a_cluster_in_which_nothing_happens_costs_nothing() {
    let mut scene = Scene::looked_after().await;
    scene.allow("0");
    scene.cheapest_instance("a").await;
    scene.pod("web-1", "a");
    scene.allow("100%");
    scene.stage.pass(30).await;
    let before = scene.looks();
    scene.stage.pass(240).await;
    assert!(scene.looks() - before <= 1.0, "{} looks in 4 minutes", scene.looks() - before);
    scene.stage.pass(3600).await;
    let looks = scene.looks() - before;
    assert!((12.0..=14.0).contains(&looks), "{looks} looks in 64 minutes");
}

#[tokio::test(start_paused = true)]
async fn while_everything_is_paused_nothing_is_proposed() {
    let mut scene = empty_instances(&[]).await;
    scene.stage.pause("namespaces", NAMESPACE, Some("ops: freeze"));
    scene.stage.pass(2).await;
    scene.instance("a").await;
    scene.stage.pass(60).await;
    assert_eq!(scene.claims(), ["a"]);
    let told = scene.stage.events("Node", "a");
    assert!(told.iter().any(|event| event.contains("ops: freeze")), "{told:?}");
    scene.stage.pause("namespaces", NAMESPACE, None);
    scene.stage.pass(30).await;
    assert_eq!(scene.claims(), [""; 0]);
}

/// A DaemonSet that is not known would make instances too small, a budget that is not known would be overrun.
#[tokio::test(start_paused = true)]
async fn while_something_that_counts_cannot_be_watched_nothing_is_proposed() {
    for plural in ["daemonsets", "poddisruptionbudgets"] {
        let mut scene = empty_instances(&[]).await;
        for verb in ["watch", "list"] {
            instead(&scene, verb, plural, Fault::Unavailable, 1000);
        }
        // The watch that is open comes to its end.
        scene.stage.pass(600).await;
        scene.instance("a").await;
        scene.stage.pass(60).await;
        assert_eq!(scene.claims(), ["a"], "{plural}");
    }
}

/// A schedule that opens is waited for, although nothing happens in the cluster.
#[tokio::test(start_paused = true)]
async fn a_budget_that_opens_is_noticed_in_time() {
    let mut scene = Scene::looked_after().await;
    // The laboratory begins at midnight; nothing goes for two minutes.
    let closed = json!([{"nodes": "0", "schedule": "0 0 * * *", "duration": "2m"}]);
    let patch = json!({"spec": {"disruption": {"budgets": closed}}});
    scene.stage.merge("karpenter.sh", "nodepools", "general", None, patch);
    scene.instance("a").await;
    scene.stage.pass(60).await;
    assert_eq!(scene.claims(), ["a"]);
    scene.stage.pass(85).await;
    assert_eq!(scene.claims(), [""; 0]);
}

/// A move that has to be made again within half an hour is not made again for a while.
#[tokio::test(start_paused = true)]
async fn a_move_that_is_undone_is_held_back() {
    let mut scene = Scene::looked_after().await;
    scene.allow("0");
    for name in ["a", "b"] {
        scene.cheapest_instance(name).await;
        scene.pod(&format!("web-{name}"), name);
    }
    scene.allow("100%");
    scene.stage.pass(30).await;
    let [left] = &scene.claims()[..] else { panic!("{:?}", scene.claims()) };
    let left = left.clone();
    // Somebody needs such an instance again, and then does not.
    scene.cheapest_instance("c").await;
    scene.pod("web-c", "c");
    scene.stage.pass(600).await;
    assert_eq!(scene.claims(), [left.clone(), "c".to_owned()]);
    let told = scene.stage.events("Node", "c");
    assert!(told.iter().any(|event| event.starts_with("Unconsolidatable: ")), "{told:?}");
    scene.stage.pass(600).await;
    assert_eq!(scene.claims().len(), 1, "a quarter of an hour is over");
}

/// §3.1: while a proposal waits, others are made.
#[tokio::test(start_paused = true)]
async fn what_is_proposed_or_begun_keeps_nothing_else_from_going() {
    let mut scene = empty_instances(&["a"]).await;
    scene.stage.pass(5).await;
    let going = |scene: &Scene| -> Vec<String> {
        let proposed = scene.proposed();
        proposed.iter().map(|command| command.candidates[0].node.clone()).collect()
    };
    assert_eq!(going(&scene), ["a"]);
    // It comes while the first proposal waits.
    scene.instance("z").await;
    scene.stage.pass(3).await;
    assert_eq!(going(&scene), ["a", "z"]);
    scene.stage.pass(20).await;
    assert_eq!(scene.claims(), [""; 0]);
}

/// While an empty instance waits to go, another is proposed whose pod would fit there as well as elsewhere.
#[tokio::test(start_paused = true)]
async fn what_is_proposed_later_keeps_nothing_that_was_proposed_before() {
    let mut scene = empty_instances(&["a", "b", "c"]).await;
    let protected = |wanted: serde_json::Value| json!({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": wanted}}});
    for (instance, pod) in [("b", "web-1"), ("c", "web-2")] {
        scene.pod(pod, instance);
        scene.stage.merge("", "pods", &format!("default/{pod}"), None, protected(json!("true")));
    }
    scene.stage.pass(5).await;
    assert_eq!(scene.proposed().len(), 1, "the empty one");
    scene.stage.merge("", "pods", "default/web-1", None, protected(json!(null)));
    scene.stage.pass(5).await;
    assert_eq!(scene.proposed().len(), 2, "and the one whose pod is free now");
    scene.stage.pass(8).await;
    assert_eq!(scene.claims(), ["b", "c"]);
    assert_count(&scene, FAILED, EMPTY, 0.0);
    scene.stage.pass(10).await;
    assert_eq!(scene.claims(), ["c"]);
}

/// M-02: one replacement after the other.
#[tokio::test(start_paused = true)]
async fn a_second_instance_is_replaced_once_the_first_replacement_is_ready() {
    let (mut scene, _) = proposed(SINGLE).await;
    scene.stage.pass(15).await;
    assert_eq!(scene.marks("a"), "all");
    scene.instance_of("b", "test-16x").await;
    // It is full, so that the first one's pod does not go there.
    for pod in 0..8 {
        scene.pod(&format!("web-b-{pod}"), "b");
    }
    scene.stage.pass(30).await;
    assert_eq!(scene.marks("b"), "none", "nobody knows yet whether the first replacement comes");
    let claims = scene.claims();
    let first = claims.iter().find(|name| !["a", "b"].contains(&name.as_str())).unwrap();
    scene.join(first).await;
    assert!(!scene.stays("a"));
    scene.stage.pass(30).await;
    assert_eq!(scene.marks("b"), "all", "{:?}", scene.stage.events("Node", "b"));
}

/// However many instances a command was about, it has failed once.
#[tokio::test(start_paused = true)]
async fn a_command_that_fails_is_held_back_for_a_minute_however_many_instances_it_was_about() {
    let (mut scene, _) = proposed(MULTI).await;
    scene.stage.pass(15).await;
    assert_eq!(scene.marks("a"), "all");
    let claims = scene.claims();
    let replacement = claims.iter().find(|name| !["a", "b"].contains(&name.as_str())).unwrap();
    scene.stage.delete_claim(replacement);
    scene.stage.pass(50).await;
    assert_eq!(scene.marks("a"), "none");
    assert_eq!(scene.proposed(), []);
    scene.stage.pass(20).await;
    assert_eq!(scene.proposed().len(), 1);
}

/// What waits is measured by how much time has passed, and not by what the clock says.
#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_delays_no_proposal() {
    let mut scene = empty_instances(&["a"]).await;
    scene.allow("0");
    scene.stage.pass(60).await;
    scene.allow("100%");
    scene.stage.pass(2).await;
    assert_eq!(scene.proposed().len(), 1);
    scene.stage.context.clock.jump(jiff::SignedDuration::from_secs(-30));
    scene.stage.pass(17).await;
    assert_eq!(scene.claims(), [""; 0]);
}

/// It holds nothing yet, and pods are about to come to it.
#[tokio::test(start_paused = true)]
async fn a_replacement_whose_command_is_under_way_stays_and_keeps_no_other() {
    let mut scene = empty_instances(&["a"]).await;
    scene.allow("0");
    let record = scene.begin(Method::Drift, &["a"], 2);
    let [ready, coming] = &record.replacements[..] else { panic!("{record:?}") };
    scene.stage.pass(1).await;
    scene.join(ready).await;
    scene.instance("zero").await;
    scene.allow("100%");
    scene.stage.pass(60).await;
    assert!(!scene.stays("zero"));
    assert!(scene.stays(ready) && scene.stays(coming) && scene.stays("a"));
    assert_eq!(scene.marks("a"), "all", "the command goes on");
}
