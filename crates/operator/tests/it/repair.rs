//! §11.4 HE-01 to HE-15: nodes that stay unhealthy.

use std::time::Duration;

use joiner_apiserver::Resource;
use joiner_cloud::RepairPolicy;
use joiner_lab::{Lab, cluster::instances::Fault};
use joiner_operator::{disruption::pause::Pause, pools::PoolValidation, repair::NodeRepair};
use serde_json::{Value, json};

use crate::{
    play::{node, pool_claim},
    stage::{Stage, claim},
    whole::{change_pool, create, deployment, furnished, pass_with},
};

const MINUTE: i64 = 60;
const TIMESTAMP: &str = "karpenter.sh/nodeclaim-termination-timestamp";

/// A stage with a pool of so many nodes, all healthy: `node-1` of `web-1` and so on.
fn stage(nodes: usize) -> Stage {
    with_nodes(Stage::bare(), nodes)
}

fn with_nodes(stage: Stage, nodes: usize) -> Stage {
    let stage = stage.with(|context| NodeRepair::new(context, Pause::by("kube-system")));
    let general = stage.create_pool("general");
    for n in 1..=nodes {
        add_node(&stage, n, pool_claim(&format!("web-{n}"), &general), Some("general"));
    }
    stage
}

/// Adds a claim and its node. A finalizer keeps the claim, so that its end can be seen.
fn add_node(stage: &Stage, n: usize, mut claim: Value, pool: Option<&str>) {
    let claim_name = format!("web-{n}");
    claim["metadata"]["finalizers"] = json!(["example.com/keep"]);
    stage.create_claim_as(claim);
    let launched = json!({"status": {
        "providerID": format!("test://{claim_name}"), "imageID": "image-1",
        "nodeName": format!("node-{n}"),
    }});
    stage.merge("karpenter.sh", "nodeclaims", &claim_name, Some("status"), launched);
    let mut node = node(&format!("node-{n}"), &claim_name);
    node["metadata"]["labels"] = json!({"karpenter.test.sh/testnodeclass": "default"});
    if let Some(pool) = pool {
        node["metadata"]["labels"]["karpenter.sh/nodepool"] = pool.into();
    }
    stage.join(node);
}

/// A condition that holds since now.
fn condition(stage: &Stage, type_: &str, status: &str) -> Value {
    json!({"type": type_, "status": status, "lastTransitionTime": stage.context.now().to_string()})
}

/// Has a node say these conditions, and no others.
fn say_all(stage: &Stage, n: usize, conditions: &[Value]) {
    let patch = json!({"status": {"conditions": conditions}});
    stage.merge("", "nodes", &format!("node-{n}"), Some("status"), patch);
}

/// A condition of a node, since now.
fn say(stage: &Stage, n: usize, type_: &str, status: &str) {
    say_all(stage, n, &[condition(stage, type_, status)]);
}

/// A node is as its provider tolerates it for half an hour.
fn fall_ill(stage: &Stage, n: usize) {
    say(stage, n, "BadNode", "False");
}

fn is_deleted(stage: &Stage, n: usize) -> bool {
    stage.claim(&format!("web-{n}")).metadata.deletion_timestamp.is_some()
}

fn timestamp(stage: &Stage, n: usize) -> Option<String> {
    stage.claim(&format!("web-{n}")).metadata.annotations?.remove(TIMESTAMP)
}

#[tokio::test(start_paused = true)]
async fn he01_a_node_that_stays_unhealthy_is_replaced() {
    let mut stage = stage(5);
    fall_ill(&stage, 1);
    stage.pass(30 * MINUTE + 1).await;
    assert!(is_deleted(&stage, 1));
    assert!(!is_deleted(&stage, 2));
    let why =
        "Condition BadNode of node node-1 was not healthy for longer than its provider tolerates";
    let told = stage.events("NodeClaim", "web-1");
    assert!(
        told.contains(&format!("DisruptionTerminating: Disrupting NodeClaim: {why}")),
        "{told:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn while_its_pool_is_paused_an_unhealthy_node_stays() {
    let mut stage = stage(5);
    stage.pause("nodepools", "general", Some("netops, new switches"));
    fall_ill(&stage, 1);
    stage.pass(40 * MINUTE).await;
    assert!(!is_deleted(&stage, 1));
    let told = stage.events("Node", "node-1");
    assert!(told.iter().any(|event| event.contains("paused by netops, new switches")), "{told:?}");
    stage.pause("nodepools", "general", None);
    stage.pass(90).await;
    assert!(is_deleted(&stage, 1));
}

/// Karpenter 1.15 has begun to reboot the node, which makes it unready.
#[tokio::test(start_paused = true)]
async fn a_node_that_is_rebooted_is_replaced_only_once_that_has_failed() {
    let mut stage = stage(5);
    stage.pass(10 * MINUTE).await;
    fall_ill(&stage, 1);
    stage.pass(20 * MINUTE).await;
    let rebooting = json!({"status": {"conditions": [{
        "type": "Rebooting", "status": "True", "reason": "RebootRequested", "message": "",
        "lastTransitionTime": stage.context.now().to_string(),
    }]}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), rebooting);
    stage.pass(25 * MINUTE - 1).await;
    assert!(!is_deleted(&stage, 1));
    stage.pass(2).await;
    assert!(is_deleted(&stage, 1));
}

#[tokio::test(start_paused = true)]
async fn he02_other_conditions_are_nobodys_business() {
    let mut stage = stage(5);
    say(&stage, 1, "OtherNode", "False");
    stage.pass(60 * MINUTE).await;
    assert!(!is_deleted(&stage, 1));
}

#[tokio::test(start_paused = true)]
async fn he03_so_are_other_statuses() {
    let mut stage = stage(5);
    say(&stage, 1, "BadNode", "True");
    stage.pass(60 * MINUTE).await;
    assert!(!is_deleted(&stage, 1));
}

#[tokio::test(start_paused = true)]
async fn he04_it_is_not_too_early() {
    let mut stage = stage(5);
    fall_ill(&stage, 1);
    stage.pass(30 * MINUTE - 2).await;
    assert!(!is_deleted(&stage, 1));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_recovers_in_time_stays() {
    let mut stage = stage(5);
    fall_ill(&stage, 1);
    stage.pass(20 * MINUTE).await;
    say(&stage, 1, "BadNode", "True");
    stage.pass(60 * MINUTE).await;
    assert!(!is_deleted(&stage, 1));
}

#[tokio::test(start_paused = true)]
async fn he05_the_time_of_its_pods_has_come() {
    let mut stage = stage(5);
    fall_ill(&stage, 1);
    stage.pass(30 * MINUTE + 1).await;
    let ended = timestamp(&stage, 1).unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(ended <= stage.context.now());
}

#[tokio::test(start_paused = true)]
async fn he06_a_termination_grace_period_gives_no_time() {
    let mut stage = stage(4);
    let mut patient = pool_claim("web-5", &json!(stage.pool("general")));
    patient["spec"]["terminationGracePeriod"] = "100h".into();
    add_node(&stage, 5, patient, Some("general"));
    fall_ill(&stage, 5);
    stage.pass(30 * MINUTE + 1).await;
    assert!(is_deleted(&stage, 5));
    let ended = timestamp(&stage, 5).unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(ended <= stage.context.now());
}

#[tokio::test(start_paused = true)]
async fn he07_a_time_that_has_come_already_stays() {
    for (written, kept) in [("2025-12-31T00:00:00Z", true), ("2027-01-01T00:00:00Z", false)] {
        let mut stage = stage(5);
        let annotated = json!({"metadata": {"annotations": {TIMESTAMP: written}}});
        stage.merge("karpenter.sh", "nodeclaims", "web-1", None, annotated);
        fall_ill(&stage, 1);
        stage.pass(30 * MINUTE + 1).await;
        assert!(is_deleted(&stage, 1));
        assert_eq!(timestamp(&stage, 1).unwrap() == written, kept);
    }
}

#[tokio::test(start_paused = true)]
async fn he08_of_two_policies_the_one_counts_whose_time_comes_first() {
    const POLICIES: &[RepairPolicy] = &[
        RepairPolicy { condition: "BadNode", status: "False", toleration: Duration::from_mins(30) },
        RepairPolicy { condition: "BadDisk", status: "True", toleration: Duration::from_mins(5) },
    ];
    for (disk_fails, replaced, why) in [(10, 15, "bad_disk"), (28, 30, "bad_node")] {
        let mut stage = stage(5);
        stage.cloud.state().repair_policies = POLICIES;
        let bad_node = condition(&stage, "BadNode", "False");
        say_all(&stage, 1, std::slice::from_ref(&bad_node));
        stage.pass(disk_fails * MINUTE).await;
        say_all(&stage, 1, &[bad_node, condition(&stage, "BadDisk", "True")]);
        stage.pass((replaced - disk_fails) * MINUTE - 2).await;
        assert!(!is_deleted(&stage, 1), "{why}");
        stage.pass(3).await;
        assert!(is_deleted(&stage, 1), "{why}");
        let labels = format!(
            r#"{{capacity_type="",condition="{why}",image_id="image-1",nodepool="general"}}"#
        );
        let counted = stage.series("karpenter_nodeclaims_unhealthy_disrupted_total");
        assert_eq!(counted, [format!("{labels} 1")]);
    }
}

#[tokio::test(start_paused = true)]
async fn he09_a_node_is_looked_at_again_at_the_very_moment() {
    let mut stage = stage(5);
    fall_ill(&stage, 1);
    stage.pass(30 * MINUTE + 5).await;
    let deleted = stage.claim("web-1").metadata.deletion_timestamp.unwrap().0;
    assert_eq!(deleted.to_string(), "2026-01-01T00:30:00Z");
}

#[tokio::test(start_paused = true)]
async fn he10_budgets_do_not_count() {
    let mut stage = stage(5);
    let closed = json!({"spec": {"disruption": {"budgets": [{"nodes": "0"}]}}});
    stage.merge("karpenter.sh", "nodepools", "general", None, closed);
    fall_ill(&stage, 1);
    stage.pass(30 * MINUTE + 1).await;
    assert!(is_deleted(&stage, 1));
}

#[tokio::test(start_paused = true)]
async fn he11_nor_does_an_annotation_of_the_node() {
    let mut stage = stage(5);
    let protected = json!({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}});
    stage.merge("", "nodes", "node-1", None, protected);
    fall_ill(&stage, 1);
    stage.pass(30 * MINUTE + 1).await;
    assert!(is_deleted(&stage, 1));
}

#[tokio::test(start_paused = true)]
async fn he12_where_too_many_of_a_pool_are_unhealthy_none_is_replaced() {
    let mut stage = stage(5);
    fall_ill(&stage, 1);
    fall_ill(&stage, 2);
    stage.pass(30 * MINUTE + 1).await;
    assert!(!is_deleted(&stage, 1) && !is_deleted(&stage, 2));
    let why = "more than 20% nodes are unhealthy in the nodepool (2 of 5): find out what they have \
               in common, or allow more by the annotation joiner.sh/repair-max-unhealthy of the \
               NodePool";
    for (kind, name) in [("Node", "node-1"), ("NodeClaim", "web-1"), ("NodePool", "general")] {
        assert_eq!(stage.events(kind, name), [format!("NodeRepairBlocked: {why}")], "{kind}");
    }
    say(&stage, 2, "BadNode", "True");
    stage.pass(5 * MINUTE - 5).await;
    assert!(!is_deleted(&stage, 1), "it is looked at again after five minutes");
    stage.pass(10).await;
    assert!(is_deleted(&stage, 1));
}

#[tokio::test(start_paused = true)]
async fn he13_for_a_node_without_a_pool_all_nodes_of_the_cluster_count() {
    let mut stage = stage(4);
    add_node(&stage, 5, claim("web-5"), None);
    for n in [1, 5] {
        fall_ill(&stage, n);
    }
    stage.pass(30 * MINUTE + 1).await;
    assert!(!is_deleted(&stage, 5));
    let why = "more than 20% nodes are unhealthy in the cluster (2 of 5): find out what they have \
               in common";
    assert_eq!(stage.events("Node", "node-5"), [format!("NodeRepairBlocked: {why}")]);
    assert_eq!(stage.events("NodeClaim", "web-5"), [format!("NodeRepairBlocked: {why}")]);
    assert!(is_deleted(&stage, 1), "of its pool it is the only one");
}

#[tokio::test(start_paused = true)]
async fn he14_small_pools_are_repaired_too() {
    let mut stage = stage(3);
    fall_ill(&stage, 1);
    stage.pass(30 * MINUTE + 1).await;
    assert!(is_deleted(&stage, 1), "a fifth of three is rounded up to one");
}

#[tokio::test(start_paused = true)]
async fn he15_it_is_counted_once() {
    let mut stage = stage(5);
    fall_ill(&stage, 1);
    stage.pass(30 * MINUTE + 1).await;
    say(&stage, 1, "BadNode", "Unknown");
    fall_ill(&stage, 1);
    stage.pass(60 * MINUTE).await;
    let labels = r#"{capacity_type="",condition="bad_node",image_id="image-1",nodepool="general"}"#;
    let counted = stage.series("karpenter_nodeclaims_unhealthy_disrupted_total");
    assert_eq!(counted, [format!("{labels} 1")]);
    let labels = r#"{capacity_type="",consolidation_policy="",nodepool="general",reason="unhealthy",termination_mode="graceful"}"#;
    let disrupted = stage.series("karpenter_nodeclaims_disrupted_total");
    assert_eq!(disrupted, [format!("{labels} 1")]);
}

fn allow(stage: &Stage, max: &str) {
    let annotated = json!({"metadata": {"annotations": {"joiner.sh/repair-max-unhealthy": max}}});
    stage.merge("karpenter.sh", "nodepools", "general", None, annotated);
}

#[tokio::test(start_paused = true)]
async fn a_pool_can_say_how_many_may_be_unhealthy() {
    for (max, replaced) in [("2", true), ("1", false), ("40%", true), ("39%", true), ("0", false)] {
        let mut stage = stage(5);
        allow(&stage, max);
        fall_ill(&stage, 1);
        fall_ill(&stage, 2);
        stage.pass(30 * MINUTE + 1).await;
        assert_eq!(is_deleted(&stage, 1), replaced, "{max}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_number_that_makes_no_sense_is_told_and_a_fifth_counts() {
    let mut stage = stage(5).with(PoolValidation);
    allow(&stage, "half");
    fall_ill(&stage, 1);
    stage.pass(30 * MINUTE + 1).await;
    assert!(is_deleted(&stage, 1));
    let told = "QuestionableNodePool: NodePool \"general\": annotation \
                joiner.sh/repair-max-unhealthy: \"half\" is neither a number of nodes, such as 3, \
                nor a percentage from 0% to 100%; it is ignored, and 20% counts";
    assert_eq!(stage.events("NodePool", "general"), [told]);
}

#[tokio::test(start_paused = true)]
async fn a_node_of_two_claims_is_let_alone() {
    let mut stage = stage(5);
    stage.create_claim_as(pool_claim("twin", &json!(stage.pool("general"))));
    let same = json!({"status": {"providerID": "test://web-1"}});
    stage.merge("karpenter.sh", "nodeclaims", "twin", Some("status"), same);
    fall_ill(&stage, 1);
    stage.pass(60 * MINUTE).await;
    assert!(!is_deleted(&stage, 1));
}

/// The instance may be well, and go by the other name.
#[tokio::test(start_paused = true)]
async fn one_of_two_nodes_of_an_instance_is_let_alone() {
    let mut stage = stage(5);
    stage.join(node("renamed", "web-1"));
    fall_ill(&stage, 1);
    stage.pass(60 * MINUTE).await;
    assert!(!is_deleted(&stage, 1));
    stage.delete("", "nodes", "renamed");
    stage.pass(1).await;
    assert!(is_deleted(&stage, 1), "there is no doubt any more");
}

/// The gate is the engine's: a node whose kubelet is silent is tolerated for ten minutes with it, and
/// for ever without.
#[tokio::test(start_paused = true)]
async fn nodes_are_repaired_only_where_the_gate_says_so() {
    for (gates, is_repaired) in
        [("NodeRepair=true", true), ("NodeRepair=false", false), ("", false)]
    {
        let mut lab = furnished(1);
        // Nobody else has a reason to remove it.
        change_pool(&lab, &json!({"disruption": {"consolidateAfter": "Never"}}));
        create(&lab, "apps", "deployments", deployment("web", 1));
        pass_with(&mut lab, 5, 1, gates).await;
        let [ill] = &nodes(&lab)[..] else { panic!("{:?}", nodes(&lab)) };
        lab.instances().break_node(ill, Fault::KubeletStopped);
        pass_with(&mut lab, 30, 2, gates).await;
        assert_eq!(!nodes(&lab).contains(ill), is_repaired, "{gates}");
    }
}

/// The names of all nodes.
fn nodes(lab: &Lab) -> Vec<String> {
    let found = lab.caller("admin").list(&Resource::new("", "nodes"), None);
    let name = |node: Value| node["metadata"]["name"].as_str().unwrap().to_owned();
    found.iter().map(|node| name(node.value())).collect()
}

/// Otherwise its pods would get no time when it is drained for another reason some day.
#[tokio::test(start_paused = true)]
async fn a_node_that_recovers_before_its_claim_can_be_deleted_leaves_no_trace() {
    let mut stage = stage(5);
    stage.faults("at 0s joiner: 503 on delete nodeclaims always");
    fall_ill(&stage, 1);
    stage.pass(31 * MINUTE).await;
    say(&stage, 1, "BadNode", "True");
    stage.pass(5 * MINUTE).await;
    assert!(!is_deleted(&stage, 1));
    assert_eq!(timestamp(&stage, 1), None);
}

/// It may have recovered, others may have fallen ill, and somebody may have asked for a pause.
#[tokio::test(start_paused = true)]
async fn while_something_that_counts_cannot_be_watched_no_node_is_repaired() {
    for plural in ["nodes", "nodeclaims", "nodepools", "namespaces"] {
        let mut stage = stage(5);
        fall_ill(&stage, 1);
        stage.pass(1).await;
        stage.hide(plural);
        stage.pass(60 * MINUTE).await;
        assert!(!is_deleted(&stage, 1), "{plural}");
        assert_eq!(timestamp(&stage, 1), None, "{plural}");
    }
}

#[tokio::test(start_paused = true)]
async fn while_a_pool_cannot_be_read_no_node_is_repaired() {
    let lax = Stage::bare();
    lax.allow_anything("nodepools.karpenter.sh");
    let mut stage = with_nodes(lax, 5);
    stage.create_unreadable_pool("odd");
    fall_ill(&stage, 1);
    stage.pass(60 * MINUTE).await;
    assert!(!is_deleted(&stage, 1));
    stage.delete("karpenter.sh", "nodepools", "odd");
    stage.pass(5 * MINUTE).await;
    assert!(is_deleted(&stage, 1));
}
