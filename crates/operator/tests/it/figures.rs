//! §9.1, §7.6, §11.4 CC: what dashboards see of a cluster.

#![expect(clippy::float_cmp, reason = "whole seconds and counts are exact")]

use std::sync::Arc;

use joiner_cloud::testing::instance_types;
use joiner_core::instance_type::InstanceType;
use joiner_operator::{
    consistency::Consistency, disruption_conditions::DisruptionConditions,
    pod_events::LastPodEvents, pools::PoolCounter,
};
use serde_json::{Value, json};

use crate::{
    play::{node, pool_claim},
    stage::{Stage, pool},
};

/// A claim of the pool with these labels of an instance.
fn instance(stage: &Stage, name: &str, instance_type: &str, capacity_type: &str) -> Value {
    instance_of("general", stage, name, instance_type, capacity_type)
}

/// The same of another pool.
fn instance_of(
    pool: &str,
    stage: &Stage,
    name: &str,
    instance_type: &str,
    capacity_type: &str,
) -> Value {
    let mut claim = pool_claim(name, &json!(stage.pool(pool)));
    claim["metadata"]["labels"] = json!({
        "karpenter.sh/nodepool": pool,
        "karpenter.sh/capacity-type": capacity_type,
        "topology.kubernetes.io/zone": "test-zone-a",
        "node.kubernetes.io/instance-type": instance_type,
        "karpenter.test.sh/testnodeclass": "default",
    });
    claim
}

/// A stage with a pool.
async fn stage() -> Stage {
    let mut stage = Stage::bare().with_rounds(PoolCounter);
    let mut general = pool("general");
    general["spec"]["limits"] = json!({"cpu": "100", "memory": "1Gi"});
    stage.create_class("default");
    stage.create("karpenter.sh", "nodepools", general);
    stage.create("", "namespaces", json!({"metadata": {"name": "shop"}}));
    stage.pass(1).await;
    stage
}

/// Adds an instance of the pool whose node has joined.
fn join(stage: &Stage, name: &str) {
    stage.create_claim_as(instance(stage, name, "test-4x", "on-demand"));
    let launched = json!({"status": {"providerID": format!("test://{name}")}});
    stage.merge("karpenter.sh", "nodeclaims", name, Some("status"), launched);
    let mut joined = node(&format!("node-{name}"), name);
    joined["metadata"]["labels"] = json!({
        "karpenter.sh/nodepool": "general",
        "karpenter.sh/initialized": "true",
        "topology.kubernetes.io/zone": "test-zone-a",
        "karpenter.test.sh/testnodeclass": "default",
    });
    stage.join(joined);
    let status = json!({"status": {
        "capacity": {"cpu": "4", "memory": "8Gi"}, "allocatable": {"cpu": "3500m", "memory": "7Gi"},
    }});
    stage.merge("", "nodes", &format!("node-{name}"), Some("status"), status);
}

fn pod(stage: &Stage, name: &str, owner: &str, node: Option<&str>) {
    let mut pod = json!({
        "metadata": {"namespace": "shop", "name": name, "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": owner, "name": "owner", "uid": "u"},
        ]},
        "spec": {"containers": [{"name": "main", "image": "i", "resources": {
            "requests": {"cpu": "500m", "memory": "1Gi"},
        }}]},
    });
    if let Some(node) = node {
        pod["spec"]["nodeName"] = node.into();
    }
    stage.create("", "pods", pod);
}

fn set_pod_status(stage: &Stage, name: &str, status: &Value) {
    let patch = json!({"status": status});
    stage.merge("", "pods", &format!("shop/{name}"), Some("status"), patch);
}

/// A condition of a pod, since now.
fn condition(stage: &Stage, type_: &str, status: &str, reason: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason,
        "lastTransitionTime": stage.context.now().to_string(),
    })
}

/// What time stamps of whole seconds can tell of a time.
fn is_about(time: f64, seconds: f64) -> bool {
    (time - seconds).abs() < 1.0
}

/// How long the pod `shop/web` has waited, by this gauge; it has to be the only one.
fn waited(stage: &Stage, gauge: &str) -> f64 {
    let series = stage.series(gauge);
    assert_eq!(series.len(), 1, "{series:?}");
    stage.metric(&format!(r#"{gauge}{{name="web",namespace="shop"}}"#))
}

#[tokio::test(start_paused = true)]
async fn nodes_show_what_they_have_and_what_pods_ask_for() {
    let mut stage = stage().await;
    join(&stage, "web-1");
    pod(&stage, "web", "ReplicaSet", Some("node-web-1"));
    pod(&stage, "logs", "DaemonSet", Some("node-web-1"));
    pod(&stage, "done", "Job", Some("node-web-1"));
    set_pod_status(&stage, "done", &json!({"phase": "Succeeded"}));
    stage.pass(10).await;
    let cpu = |name: &str| {
        let all = stage.series(name);
        let cpu: Vec<&String> =
            all.iter().filter(|line| line.contains(r#"resource_type="cpu""#)).collect();
        assert_eq!(cpu.len(), 1, "{all:?}");
        cpu[0].clone()
    };
    assert_eq!(
        cpu("karpenter_nodes_allocatable"),
        r#"{arch="",capacity_type="",instance_type="",managed="true",node_name="node-web-1",nodepool="general",os="",phase="",region="",resource_type="cpu",windows_build="",zone="test-zone-a"} 3.5"#
    );
    assert!(cpu("karpenter_nodes_system_overhead").ends_with(" 0.5"));
    assert!(cpu("karpenter_nodes_total_pod_requests").ends_with(" 1"), "what has ended needs none");
    assert!(cpu("karpenter_nodes_total_daemon_requests").ends_with(" 0.5"));
    let ages = stage.series("karpenter_nodes_current_lifetime_seconds");
    assert_eq!(ages.len(), 1, "{ages:?}");
    assert!(is_about(stage.metric("karpenter_nodes_current_lifetime_seconds{"), 10.0));
    let used = stage.metric(r#"karpenter_cluster_utilization_percent{resource_type="cpu"}"#);
    assert!((used - 100.0 / 3.5).abs() < 0.001, "{used}");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_gone_is_shown_no_more() {
    let mut stage = stage().await;
    join(&stage, "web-1");
    stage.pass(1).await;
    assert!(stage.metric("karpenter_nodes_allocatable{") > 0.0);
    stage.delete("", "nodes", "node-web-1");
    stage.pass(1).await;
    assert_eq!(stage.series("karpenter_nodes_allocatable"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn pools_show_their_limits_and_what_they_use() {
    let mut stage = stage().await;
    join(&stage, "web-1");
    stage.pass(10).await;
    assert_eq!(
        stage.series("karpenter_nodepools_limit"),
        [
            r#"{nodepool="general",resource_type="cpu"} 100"#,
            r#"{nodepool="general",resource_type="memory"} 1073741824"#,
        ]
    );
    let cpu = r#"karpenter_nodepools_usage{nodepool="general",resource_type="cpu"}"#;
    assert!((stage.metric(cpu) - 4.0).abs() < 0.001);
    let disks =
        r#"karpenter_nodepools_usage{nodepool="general",resource_type="ephemeral_storage"}"#;
    assert!(stage.metric(disks).abs() < 0.001);
}

/// What each pool costs an hour, in hundredths.
fn costs(stage: &Stage) -> Vec<String> {
    let series = stage.series("karpenter_nodepools_cost_total");
    let cost = |line: &String| {
        let (labels, cost) = line.rsplit_once(' ').unwrap();
        let pool = labels.trim_start_matches("{nodepool=\"").trim_end_matches("\"}");
        format!("{pool} {:.0}", 100.0 * cost.parse::<f64>().unwrap())
    };
    series.iter().map(cost).collect()
}

#[tokio::test(start_paused = true)]
async fn cc01_a_pool_costs_what_its_instances_cost() {
    let mut stage = stage().await;
    for (name, instance_type, capacity_type) in [
        ("web-1", "test-4x", "on-demand"),
        ("web-2", "test-4x", "on-demand"),
        ("web-3", "test-8x", "spot"),
    ] {
        stage.create_claim_as(instance(&stage, name, instance_type, capacity_type));
    }
    stage.pass(1).await;
    assert_eq!(costs(&stage), ["general 36"]);
    for name in ["web-1", "web-2", "web-3"] {
        stage.delete_claim(name);
    }
    stage.pass(1).await;
    assert_eq!(costs(&stage), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn cc02_an_instance_whose_price_nobody_knows_costs_nothing_and_is_counted_once() {
    let mut stage = stage().await;
    stage.create_claim_as(instance(&stage, "web-1", "test-4x", "on-demand"));
    stage.create_claim_as(instance(&stage, "web-2", "unknown", "on-demand"));
    stage.pass(1).await;
    for _ in 0..3 {
        assert_eq!(costs(&stage), ["general 12"]);
    }
    let errors = stage.series("karpenter_nodepools_cost_tracker_errors_total");
    assert_eq!(errors, [r#"{nodepool="general"} 1"#]);
}

#[tokio::test(start_paused = true)]
async fn cc03_a_claim_that_is_not_an_instance_yet_costs_nothing() {
    let mut stage = stage().await;
    stage.create_claim_as(pool_claim("web-1", &json!(stage.pool("general"))));
    stage.pass(1).await;
    assert_eq!(costs(&stage), [""; 0]);
    assert_eq!(stage.series("karpenter_nodepools_cost_tracker_errors_total"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn cc04_each_pool_costs_what_its_own_instances_cost() {
    let mut stage = stage().await;
    stage.create_pool("batch");
    stage.create_claim_as(instance(&stage, "web-1", "test-4x", "on-demand"));
    for (name, instance_type) in [("batch-1", "test-2x"), ("batch-2", "test-16x")] {
        stage.create_claim_as(instance_of("batch", &stage, name, instance_type, "spot"));
    }
    stage.pass(1).await;
    assert_eq!(costs(&stage), ["batch 27", "general 12"]);
    for (gone, left) in [("batch-2", &["batch 3", "general 12"][..]), ("batch-1", &["general 12"])]
    {
        stage.delete_claim(gone);
        stage.pass(1).await;
        assert_eq!(costs(&stage), left);
    }
}

/// One that cannot be had any more costs all the same.
#[tokio::test(start_paused = true)]
async fn cc05_a_price_that_changes_counts_for_the_instances_there_are() {
    let mut stage = stage().await;
    stage.create_claim_as(instance(&stage, "web-1", "test-4x", "on-demand"));
    stage.create_claim_as(instance(&stage, "web-2", "test-8x", "spot"));
    stage.pass(1).await;
    assert_eq!(costs(&stage), ["general 24"]);
    let dearer = |known: Arc<InstanceType>| {
        let mut dearer = InstanceType::clone(&known);
        for offering in &mut dearer.offerings {
            offering.price *= 3.0;
            offering.available = false;
        }
        Arc::new(dearer)
    };
    stage.cloud.state().types = instance_types().iter().cloned().map(dearer).collect();
    assert_eq!(costs(&stage), ["general 72"]);
}

#[tokio::test(start_paused = true)]
async fn pods_show_where_they_are() {
    let mut stage = stage().await;
    join(&stage, "web-1");
    pod(&stage, "web", "ReplicaSet", Some("node-web-1"));
    pod(&stage, "waits", "ReplicaSet", None);
    stage.pass(1).await;
    assert_eq!(
        stage.series("karpenter_pods_state"),
        [
            r#"{arch="",capacity_type="",instance_type="",managed="false",name="waits",namespace="shop",node="",nodepool="",owner="/apis/apps/v1/namespaces/shop/replicasets/owner",phase="Pending",ready="false",scheduled="false",zone=""} 1"#,
            r#"{arch="",capacity_type="",instance_type="",managed="true",name="web",namespace="shop",node="node-web-1",nodepool="general",owner="/apis/apps/v1/namespaces/shop/replicasets/owner",phase="Pending",ready="false",scheduled="true",zone="test-zone-a"} 1"#,
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_timed_from_its_creation_until_it_is_ready() {
    let mut stage = stage().await;
    pod(&stage, "web", "ReplicaSet", None);
    stage.pass(5).await;
    assert!(is_about(waited(&stage, "karpenter_pods_unbound_time_seconds"), 5.0));
    assert!(is_about(waited(&stage, "karpenter_pods_unstarted_time_seconds"), 5.0));
    assert_eq!(stage.metric("karpenter_pods_bound_duration_seconds_count"), 0.0);

    let bound = condition(&stage, "PodScheduled", "True", "");
    set_pod_status(&stage, "web", &json!({"conditions": [bound]}));
    stage.pass(5).await;
    assert_eq!(stage.series("karpenter_pods_unbound_time_seconds"), [""; 0]);
    assert!(is_about(waited(&stage, "karpenter_pods_unstarted_time_seconds"), 10.0));
    assert!(is_about(stage.metric("karpenter_pods_bound_duration_seconds_sum"), 5.0));

    let ready = condition(&stage, "Ready", "True", "");
    set_pod_status(&stage, "web", &json!({"phase": "Running", "conditions": [ready]}));
    stage.pass(5).await;
    assert_eq!(stage.series("karpenter_pods_unstarted_time_seconds"), [""; 0]);
    assert!(is_about(stage.metric("karpenter_pods_startup_duration_seconds_sum"), 10.0));
    assert_eq!(stage.metric("karpenter_pods_startup_duration_seconds_count"), 1.0);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_gets_ready_again_is_not_timed_again() {
    let mut stage = stage().await;
    pod(&stage, "web", "ReplicaSet", None);
    stage.pass(1).await;
    for status in ["True", "False", "True"] {
        let ready = condition(&stage, "Ready", status, "");
        set_pod_status(&stage, "web", &json!({"phase": "Running", "conditions": [ready]}));
        stage.pass(5).await;
    }
    assert_eq!(stage.metric("karpenter_pods_startup_duration_seconds_count"), 1.0);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_wants_a_place_is_timed_until_a_plan_has_looked_at_it() {
    let mut stage = stage().await;
    pod(&stage, "web", "ReplicaSet", None);
    stage.pass(1).await;
    let refused = condition(&stage, "PodScheduled", "False", "Unschedulable");
    set_pod_status(&stage, "web", &json!({"conditions": [refused]}));
    stage.pass(3).await;
    let undecided = "karpenter_pods_provisioning_scheduling_undecided_time_seconds";
    assert!(is_about(waited(&stage, undecided), 3.0));
    let metrics = stage.context.metrics.clone();
    metrics.pods_planned([("shop/web", false)], stage.context.now());
    assert_eq!(stage.series(undecided), [""; 0]);
    let decided = stage.metric("karpenter_pods_scheduling_decision_duration_seconds_sum");
    assert!(is_about(decided, 3.0));
    stage.pass(2).await;
    metrics.pods_planned([("shop/web", true)], stage.context.now());
    stage.pass(4).await;
    assert!(is_about(waited(&stage, "karpenter_pods_provisioning_unbound_time_seconds"), 4.0));
    let bound = condition(&stage, "PodScheduled", "True", "");
    set_pod_status(&stage, "web", &json!({"conditions": [bound]}));
    stage.pass(1).await;
    let bound = stage.metric("karpenter_pods_provisioning_bound_duration_seconds_sum");
    assert!(is_about(bound, 4.0));
    assert_eq!(stage.metric("karpenter_pods_scheduling_decision_duration_seconds_count"), 1.0);
}

#[tokio::test(start_paused = true)]
async fn conditions_are_shown_with_how_long_they_have_been_so() {
    let mut stage = stage().await;
    join(&stage, "web-1");
    let launched = json!({"status": {"conditions": [
        {"type": "Launched", "status": "True", "reason": "Launched",
            "lastTransitionTime": stage.context.now().to_string()},
    ]}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), launched);
    stage.pass(7).await;
    let own = r#"{karpenter_sh_nodepool="general",karpenter_test_sh_testnodeclass="default",name="web-1",namespace="",reason="Launched",status="True",type="Launched"}"#;
    let count = stage.series("operator_nodeclaim_status_condition_count");
    assert_eq!(count, [format!("{own} 1")]);
    let seconds = format!("operator_nodeclaim_status_condition_current_status_seconds{own}");
    assert!(is_about(stage.metric(&seconds), 7.0));
    let old =
        r#"operator_status_condition_count{group="karpenter.sh",kind="NodeClaim",name="web-1""#;
    assert_eq!(stage.metric(old), 1.0);
    let of_node = r#"operator_node_status_condition_count{karpenter_sh_initialized="true""#;
    assert_eq!(stage.metric(of_node), 1.0);
    let of_class = "operator_testnodeclass_status_condition_count{";
    assert_eq!(stage.metric(of_class), 1.0);
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_changes_is_counted_and_timed() {
    let mut stage = stage().await;
    join(&stage, "web-1");
    for (status, lasts) in [("Unknown", 6), ("True", 1)] {
        let said = json!({"status": {"conditions": [{
            "type": "Registered", "status": status, "reason": "R",
            "lastTransitionTime": stage.context.now().to_string(),
        }]}});
        stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), said);
        stage.pass(lasts).await;
    }
    let labels = r#"karpenter_sh_nodepool="general",karpenter_test_sh_testnodeclass="default""#;
    let to_true = format!(
        r#"operator_nodeclaim_status_condition_transitions_total{{{labels},reason="R",status="True""#
    );
    assert_eq!(stage.metric(&to_true), 1.0);
    let lasted = format!(
        r#"operator_nodeclaim_status_condition_transition_seconds_sum{{{labels},status="Unknown""#
    );
    assert!(is_about(stage.metric(&lasted), 6.0));
}

#[tokio::test(start_paused = true)]
async fn what_leaves_is_timed_until_it_is_gone() {
    let mut stage = stage().await;
    let mut kept = instance(&stage, "web-1", "test-4x", "on-demand");
    kept["metadata"]["finalizers"] = json!(["example.com/keep"]);
    stage.create_claim_as(kept);
    stage.pass(1).await;
    stage.delete_claim("web-1");
    stage.pass(9).await;
    let leaving = stage.metric("operator_nodeclaim_termination_current_time_seconds{");
    assert!(is_about(leaving, 9.0), "{leaving}");
    let free = json!({"metadata": {"finalizers": null}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", None, free);
    stage.pass(1).await;
    assert_eq!(stage.series("operator_nodeclaim_termination_current_time_seconds"), [""; 0]);
    let took = stage.metric("operator_nodeclaim_termination_duration_seconds_sum");
    assert!(is_about(took, 9.0), "{took}");
}

#[tokio::test(start_paused = true)]
async fn what_is_known_of_the_cluster_is_shown() {
    let mut stage = stage().await;
    join(&stage, "web-1");
    stage.create_claim_as(instance(&stage, "web-2", "test-4x", "on-demand"));
    stage.pass(1).await;
    assert_eq!(stage.metric("karpenter_cluster_state_node_count"), 2.0);
    assert_eq!(stage.metric("karpenter_cluster_state_synced"), 1.0);
    assert_eq!(stage.metric("karpenter_cluster_state_unsynced_time_seconds"), 0.0);
}

#[tokio::test(start_paused = true)]
async fn what_a_cloud_offers_is_shown() {
    let stage = stage().await;
    let price = r#"karpenter_cloudprovider_instance_type_offering_price_estimate{capacity_type="spot",instance_type="test-2x",zone="test-zone-a"}"#;
    assert!((stage.metric(price) - 0.03).abs() < 1e-9);
    let cpus = r#"karpenter_cloudprovider_instance_type_cpu_cores{instance_type="test-16x"}"#;
    assert_eq!(stage.metric(cpus), 16.0);
    let available = stage.metric("karpenter_cloudprovider_instance_type_offering_available{");
    assert_eq!(available, 16.0);
}

#[tokio::test(start_paused = true)]
async fn what_controllers_do_is_counted() {
    let mut stage = Stage::bare()
        .with(Consistency::new)
        .with(|context| DisruptionConditions::new(context, LastPodEvents::default()));
    let general = stage.create_pool("general");
    stage.create_claim_as(pool_claim("web-1", &general));
    stage.pass(1).await;
    let of =
        |metric: &str| stage.metric(&format!(r#"{metric}{{controller="nodeclaim.disruption""#));
    assert_eq!(of("controller_runtime_max_concurrent_reconciles"), 10.0);
    assert_eq!(of("controller_runtime_active_workers"), 0.0);
    assert_eq!(of("controller_runtime_reconcile_errors_total"), 0.0);
    let later = r#"controller_runtime_reconcile_total{controller="nodeclaim.disruption",result="requeue_after"}"#;
    assert!(stage.metric(later) >= 1.0);
    assert_eq!(of("controller_runtime_reconcile_time_seconds_count"), stage.metric(later));
    assert_eq!(of("workqueue_depth"), 0.0, "what is due later does not wait");
    assert!(of("workqueue_adds_total") > stage.metric(later), "it is to be looked at again");
    assert_eq!(of("workqueue_queue_duration_seconds_count"), stage.metric(later));
    assert_eq!(of("workqueue_work_duration_seconds_count"), stage.metric(later));
    assert_eq!(of("workqueue_retries_total"), 0.0);
}

#[tokio::test(start_paused = true)]
async fn who_does_not_want_to_see_the_cluster_sees_the_process_alone() {
    let mut stage = Stage::bare()
        .set(|settings| settings.disable_cluster_state_observability = true)
        .with_rounds(PoolCounter);
    stage.create_pool("general");
    stage.create("", "nodes", json!({"metadata": {"name": "node-1"}}));
    stage.pass(10).await;
    for name in ["karpenter_nodes_current_lifetime_seconds", "karpenter_nodepools_usage"] {
        assert_eq!(stage.series(name), [""; 0]);
    }
    assert_eq!(stage.series("operator_nodepool_status_condition_count"), [""; 0]);
    assert_eq!(stage.metric("karpenter_cluster_state_synced"), 1.0);
}
