use std::time::Duration;

use expect_test::expect;

use super::{gauge_set::Series, summary::Observations, *};

const BUILD: Build =
    Build { version: "1.2.3", compiler: "rust1.95", commit: "abc1234", architecture: "x86_64" };

fn clock() -> Clock {
    Clock::following_runtime("2026-01-01T00:00:00Z".parse().unwrap())
}

fn engine(cluster: Option<&str>) -> Engine {
    let zone = "topology.kubernetes.io/zone".to_owned();
    let pool = "karpenter.sh/nodepool".to_owned();
    Engine {
        cluster: cluster.map(str::to_owned),
        providers: vec!["vsphere"],
        node_labels: vec![pool.clone(), zone],
        conditions: [("nodeclaim", vec![pool]), ("nodepool", Vec::new())].into(),
    }
}

/// A page and one engine's metrics on it.
fn single() -> (Registry, Metrics) {
    let registry = Registry::new(&BUILD).unwrap();
    let metrics = Metrics::register(&registry, &engine(None), &clock()).unwrap();
    (registry, metrics)
}

/// The lines of a page that are about metrics whose names begin like this.
fn lines(registry: &Registry, prefix: &str) -> String {
    let text = registry.text();
    let about = |line: &&str| {
        let line = line.strip_prefix("# TYPE ").unwrap_or(line);
        line.starts_with(prefix)
    };
    text.lines().filter(about).collect::<Vec<_>>().join("\n")
}

#[test]
fn names_types_and_labels_are_karpenters() {
    let families =
        FAMILIES.iter().map(|(kind, name, labels)| format!("{kind} {name} {}", labels.join(",")));
    expect![[r#"
        counter karpenter_nodeclaims_created_total reason,nodepool,min_values_relaxed
        counter karpenter_nodeclaims_terminated_total nodepool,capacity_type,zone
        counter karpenter_nodeclaims_disrupted_total reason,nodepool,capacity_type,consolidation_policy,termination_mode
        counter karpenter_pods_disruption_initiated_total reason,nodepool,capacity_type,consolidation_policy,termination_mode
        histogram karpenter_nodeclaims_termination_duration_seconds nodepool
        histogram karpenter_nodeclaims_instance_termination_duration_seconds nodepool
        counter karpenter_nodeclaims_unhealthy_disrupted_total condition,nodepool,capacity_type,image_id
        counter karpenter_nodes_created_total nodepool,zone
        counter karpenter_nodes_terminated_total nodepool,zone
        counter karpenter_nodes_drained_total nodepool
        summary karpenter_nodes_termination_duration_seconds nodepool
        histogram karpenter_nodes_lifetime_duration_seconds nodepool
        gauges karpenter_cluster_utilization_percent resource_type
        gauges karpenter_nodepools_limit resource_type,nodepool
        gauges karpenter_nodepools_usage resource_type,nodepool
        gauges karpenter_nodepools_cost_total nodepool
        counter karpenter_nodepools_cost_tracker_errors_total nodepool
        gauges karpenter_nodepools_allowed_disruptions nodepool,reason
        gauges karpenter_nodepools_nodes_consuming_budgets nodepool,reason
        histogram karpenter_voluntary_disruption_decision_evaluation_duration_seconds reason,consolidation_type
        counter karpenter_voluntary_disruption_decisions_total decision,reason,consolidation_type
        counter karpenter_voluntary_disruption_decisions_by_nodepool_total nodepool,decision,reason,consolidation_type
        gauge karpenter_voluntary_disruption_eligible_nodes reason
        counter karpenter_voluntary_disruption_consolidation_timeouts_total consolidation_type
        counter karpenter_voluntary_disruption_failed_validations_total consolidation_type
        counter karpenter_voluntary_disruption_queue_failures_total decision,reason,consolidation_type
        histogram karpenter_consolidation_score decision,nodepool,policy
        counter karpenter_consolidation_moves_total decision,nodepool,policy
        counter karpenter_pods_eviction_requests_total code
        counter karpenter_pods_drained_total reason
        gauges karpenter_pods_state name,namespace,owner,node,scheduled,nodepool,zone,arch,capacity_type,instance_type,phase,ready,managed
        summary karpenter_pods_startup_duration_seconds 
        gauges karpenter_pods_unstarted_time_seconds name,namespace
        gauges karpenter_pods_unbound_time_seconds name,namespace
        histogram karpenter_pods_bound_duration_seconds 
        histogram karpenter_pods_provisioning_bound_duration_seconds 
        histogram karpenter_pods_provisioning_startup_duration_seconds 
        gauges karpenter_pods_provisioning_unbound_time_seconds name,namespace
        gauges karpenter_pods_provisioning_unstarted_time_seconds name,namespace
        gauges karpenter_pods_provisioning_scheduling_undecided_time_seconds name,namespace
        histogram karpenter_pods_scheduling_decision_duration_seconds 
        histogram karpenter_scheduler_scheduling_duration_seconds controller
        gauges karpenter_scheduler_queue_depth controller,scheduling_id
        gauges karpenter_scheduler_unfinished_work_seconds controller,scheduling_id
        gauge karpenter_scheduler_unschedulable_pods_count controller
        gauge karpenter_scheduler_ignored_pods_count 
        gauges karpenter_scheduler_pending_pods_by_effective_zone_count controller,zone
        gauge karpenter_cluster_state_node_count 
        gauge karpenter_cluster_state_synced 
        gauge karpenter_cluster_state_unsynced_time_seconds 
        histogram karpenter_cloudprovider_duration_seconds controller,method,provider
        counter karpenter_cloudprovider_errors_total controller,method,provider,error
        gauges karpenter_cloudprovider_instance_type_offering_price_estimate instance_type,capacity_type,zone
        gauges karpenter_cloudprovider_instance_type_offering_available instance_type,capacity_type,zone
        gauges karpenter_cloudprovider_instance_type_cpu_cores instance_type
        gauges karpenter_cloudprovider_instance_type_memory_bytes instance_type
        counter client_go_request_total code,method
        histogram client_go_request_duration_seconds verb,group,version,kind,subresource
        counter controller_runtime_reconcile_total controller,result
        counter controller_runtime_reconcile_errors_total controller
        counter controller_runtime_reconcile_panics_total controller
        histogram controller_runtime_reconcile_time_seconds controller
        gauge controller_runtime_max_concurrent_reconciles controller
        gauge controller_runtime_active_workers controller
        gauge workqueue_depth name,controller,priority
        counter workqueue_adds_total name,controller
        histogram workqueue_queue_duration_seconds name,controller
        histogram workqueue_work_duration_seconds name,controller
        gauge workqueue_unfinished_work_seconds name,controller
        gauge workqueue_longest_running_processor_seconds name,controller
        counter workqueue_retries_total name,controller
        gauge leader_election_master_status name
        counter joiner_events_dropped_total 
        gauges joiner_unreadable_objects resource"#]].assert_eq(&families.collect::<Vec<_>>().join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_page_is_prometheus_text_of_go_programs() {
    let (registry, metrics) = single();
    metrics.nodeclaims_created("provisioned", "general", "false").inc();
    metrics.nodeclaims_created("provisioned", "batch \"big\"", "true").inc_by(2);
    metrics.cluster_state_synced().set(1.0);
    metrics.nodepools_cost().update("general", vec![Series::new(&["general"], 0.25)]);
    metrics.consolidation_score("approved", "general", "Balanced").observe(1.0);
    for seconds in 1..=100 {
        metrics.pods_startup_duration().observe(f64::from(seconds));
    }
    let text = registry.text();
    let process = |line: &&str| !line.contains("process_");
    expect![[r##"
        # HELP joiner_vsphere_orphans_deleted_total Instances that were removed because no NodeClaim knew them.
        # TYPE joiner_vsphere_orphans_deleted_total counter
        joiner_vsphere_orphans_deleted_total 0
        # HELP karpenter_build_info A metric with a constant '1' value labeled by version from which it was built.
        # TYPE karpenter_build_info gauge
        karpenter_build_info{commit="abc1234",goarch="amd64",goversion="rust1.95",version="1.2.3"} 1
        # HELP karpenter_cluster_state_synced 1 when all nodes and NodeClaims of the API server are known.
        # TYPE karpenter_cluster_state_synced gauge
        karpenter_cluster_state_synced 1
        # HELP karpenter_consolidation_score Scores of moves of Balanced pools.
        # TYPE karpenter_consolidation_score histogram
        karpenter_consolidation_score_bucket{decision="approved",nodepool="general",policy="Balanced",le="0.1"} 0
        karpenter_consolidation_score_bucket{decision="approved",nodepool="general",policy="Balanced",le="0.25"} 0
        karpenter_consolidation_score_bucket{decision="approved",nodepool="general",policy="Balanced",le="0.33"} 0
        karpenter_consolidation_score_bucket{decision="approved",nodepool="general",policy="Balanced",le="0.5"} 0
        karpenter_consolidation_score_bucket{decision="approved",nodepool="general",policy="Balanced",le="1"} 1
        karpenter_consolidation_score_bucket{decision="approved",nodepool="general",policy="Balanced",le="2"} 1
        karpenter_consolidation_score_bucket{decision="approved",nodepool="general",policy="Balanced",le="5"} 1
        karpenter_consolidation_score_bucket{decision="approved",nodepool="general",policy="Balanced",le="10"} 1
        karpenter_consolidation_score_bucket{decision="approved",nodepool="general",policy="Balanced",le="+Inf"} 1
        karpenter_consolidation_score_sum{decision="approved",nodepool="general",policy="Balanced"} 1
        karpenter_consolidation_score_count{decision="approved",nodepool="general",policy="Balanced"} 1
        # HELP karpenter_nodeclaims_created_total NodeClaims created, by reason, pool and whether minValues were lowered.
        # TYPE karpenter_nodeclaims_created_total counter
        karpenter_nodeclaims_created_total{min_values_relaxed="false",nodepool="general",reason="provisioned"} 1
        karpenter_nodeclaims_created_total{min_values_relaxed="true",nodepool="batch \"big\"",reason="provisioned"} 2
        # HELP karpenter_nodepools_cost_total Price of a pool's nodes.
        # TYPE karpenter_nodepools_cost_total gauge
        karpenter_nodepools_cost_total{nodepool="general"} 0.25
        # HELP karpenter_pods_startup_duration_seconds Time from a pod's creation until it is ready.
        # TYPE karpenter_pods_startup_duration_seconds summary
        karpenter_pods_startup_duration_seconds{quantile="0"} 1
        karpenter_pods_startup_duration_seconds{quantile="0.5"} 50
        karpenter_pods_startup_duration_seconds{quantile="0.9"} 90
        karpenter_pods_startup_duration_seconds{quantile="0.99"} 99
        karpenter_pods_startup_duration_seconds{quantile="1"} 100
        karpenter_pods_startup_duration_seconds_sum 5050
        karpenter_pods_startup_duration_seconds_count 100
        # HELP karpenter_voluntary_disruption_consolidation_timeouts_total Searches for a consolidation that ran out of time.
        # TYPE karpenter_voluntary_disruption_consolidation_timeouts_total counter
        karpenter_voluntary_disruption_consolidation_timeouts_total{consolidation_type="multi"} 0
        karpenter_voluntary_disruption_consolidation_timeouts_total{consolidation_type="single"} 0"##]].assert_eq(&text.lines().filter(process).collect::<Vec<_>>().join("\n"));
    assert!(text.ends_with('\n'));
}

#[tokio::test(start_paused = true)]
async fn the_process_is_described_by_the_names_that_every_go_program_has() {
    let (registry, _metrics) = single();
    let value = |name: &str| {
        let text = lines(&registry, &format!("{name} "));
        let line = text.lines().find(|line| line.starts_with(name) && !line.ends_with("gauge"));
        let number = line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        number.unwrap_or_else(|| panic!("no {name}: {text}"))
    };
    assert!(value("process_resident_memory_bytes") > 1e6);
    assert!(value("process_virtual_memory_bytes") > 1e6);
    assert!(value("process_open_fds") > 2.0);
    assert!(value("process_max_fds") > 2.0);
    assert!(value("process_start_time_seconds") > 1.7e9);
    assert!(lines(&registry, "process_cpu_seconds_total ").contains(" counter"));
}

#[tokio::test(start_paused = true)]
async fn several_engines_share_a_page_and_are_told_apart_by_their_cluster() {
    let registry = Registry::new(&BUILD).unwrap();
    for (cluster, count) in [("east", 1), ("west", 2)] {
        let metrics = Metrics::register(&registry, &engine(Some(cluster)), &clock()).unwrap();
        metrics.nodes_drained("general").inc_by(count);
        metrics.nodepools_cost().update("general", vec![Series::new(&["general"], 1.0)]);
        metrics.nodes_termination_duration("general").observe(3.0);
    }
    let about = [
        "karpenter_nodes_drained",
        "karpenter_nodepools_cost_total",
        "karpenter_nodes_termination",
    ];
    expect![[r##"
        # TYPE karpenter_nodes_drained_total counter
        karpenter_nodes_drained_total{cluster="east",nodepool="general"} 1
        karpenter_nodes_drained_total{cluster="west",nodepool="general"} 2
        # TYPE karpenter_nodepools_cost_total gauge
        karpenter_nodepools_cost_total{cluster="east",nodepool="general"} 1
        karpenter_nodepools_cost_total{cluster="west",nodepool="general"} 1
        # TYPE karpenter_nodes_termination_duration_seconds summary
        karpenter_nodes_termination_duration_seconds{cluster="east",nodepool="general",quantile="0"} 3
        karpenter_nodes_termination_duration_seconds{cluster="east",nodepool="general",quantile="0.5"} 3
        karpenter_nodes_termination_duration_seconds{cluster="east",nodepool="general",quantile="0.9"} 3
        karpenter_nodes_termination_duration_seconds{cluster="east",nodepool="general",quantile="0.99"} 3
        karpenter_nodes_termination_duration_seconds{cluster="east",nodepool="general",quantile="1"} 3
        karpenter_nodes_termination_duration_seconds_sum{cluster="east",nodepool="general"} 3
        karpenter_nodes_termination_duration_seconds_count{cluster="east",nodepool="general"} 1
        karpenter_nodes_termination_duration_seconds{cluster="west",nodepool="general",quantile="0"} 3
        karpenter_nodes_termination_duration_seconds{cluster="west",nodepool="general",quantile="0.5"} 3
        karpenter_nodes_termination_duration_seconds{cluster="west",nodepool="general",quantile="0.9"} 3
        karpenter_nodes_termination_duration_seconds{cluster="west",nodepool="general",quantile="0.99"} 3
        karpenter_nodes_termination_duration_seconds{cluster="west",nodepool="general",quantile="1"} 3
        karpenter_nodes_termination_duration_seconds_sum{cluster="west",nodepool="general"} 3
        karpenter_nodes_termination_duration_seconds_count{cluster="west",nodepool="general"} 1"##]].assert_eq(&about.map(|prefix| lines(&registry, prefix)).join("\n"));
}

#[tokio::test(start_paused = true)]
async fn the_same_engine_is_not_registered_twice() {
    let registry = Registry::new(&BUILD).unwrap();
    let _first = Metrics::register(&registry, &engine(Some("east")), &clock()).unwrap();
    Metrics::register(&registry, &engine(Some("east")), &clock()).unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn nodes_and_conditions_have_the_labels_that_providers_know() {
    let (registry, metrics) = single();
    let node = ["general", "zone-a", "node-1", "Ready", "true"];
    let cpu = Series::new(&[&node[..], &["cpu"]].concat(), 4.0);
    metrics.nodes().allocatable.update("node-1", vec![cpu]);
    metrics.nodes().current_lifetime_seconds.update("node-1", vec![Series::new(&node, 60.0)]);
    let claims = metrics.conditions("nodeclaim").unwrap();
    let condition = ["", "claim-1", "Launched", "True", "Launched", "general"];
    claims.count.update("claim-1", vec![Series::new(&condition, 1.0)]);
    claims.transitions("Launched", "True", "Launched", &["general"]).inc();
    metrics
        .all_conditions()
        .transitions("Ready", "True", "Ready", &["karpenter.sh", "NodePool"])
        .inc();
    let about = ["karpenter_nodes_", "operator_"].map(|prefix| lines(&registry, prefix));
    expect![[r##"
        # TYPE karpenter_nodes_allocatable gauge
        karpenter_nodes_allocatable{managed="true",node_name="node-1",nodepool="general",phase="Ready",resource_type="cpu",zone="zone-a"} 4
        # TYPE karpenter_nodes_current_lifetime_seconds gauge
        karpenter_nodes_current_lifetime_seconds{managed="true",node_name="node-1",nodepool="general",phase="Ready",zone="zone-a"} 60
        # TYPE operator_nodeclaim_status_condition_count gauge
        operator_nodeclaim_status_condition_count{karpenter_sh_nodepool="general",name="claim-1",namespace="",reason="Launched",status="True",type="Launched"} 1
        # TYPE operator_nodeclaim_status_condition_transitions_total counter
        operator_nodeclaim_status_condition_transitions_total{karpenter_sh_nodepool="general",reason="Launched",status="True",type="Launched"} 1
        # TYPE operator_status_condition_transitions_total counter
        operator_status_condition_transitions_total{group="karpenter.sh",kind="NodePool",reason="Ready",status="True",type="Ready"} 1"##]].assert_eq(&about.join("\n"));
}

mod gauges_that_are_replaced {
    use super::*;

    fn usage(metrics: &Metrics, key: &str, values: &[(&str, f64)]) {
        let series = values.iter().map(|(resource, value)| Series::new(&[resource, key], *value));
        metrics.nodepools_usage().update(key, series.collect());
    }

    fn shown(registry: &Registry) -> String {
        let shown = lines(registry, "karpenter_nodepools_usage{");
        shown.replace("karpenter_nodepools_usage", "")
    }

    /// MS-01.
    #[tokio::test(start_paused = true)]
    async fn an_update_creates_them() {
        let (registry, metrics) = single();
        usage(&metrics, "a", &[("cpu", 1.0), ("memory", 2.0)]);
        expect![[r#"
            {nodepool="a",resource_type="cpu"} 1
            {nodepool="a",resource_type="memory"} 2"#]]
        .assert_eq(&shown(&registry));
    }

    /// MS-02.
    #[tokio::test(start_paused = true)]
    async fn an_update_deletes_what_it_does_not_say_again() {
        let (registry, metrics) = single();
        usage(&metrics, "a", &[("cpu", 1.0), ("memory", 2.0)]);
        usage(&metrics, "b", &[("cpu", 5.0)]);
        usage(&metrics, "a", &[("memory", 3.0)]);
        expect![[r#"
            {nodepool="a",resource_type="memory"} 3
            {nodepool="b",resource_type="cpu"} 5"#]]
        .assert_eq(&shown(&registry));
    }

    /// MS-03.
    #[tokio::test(start_paused = true)]
    async fn the_same_labels_are_the_same_series() {
        let (registry, metrics) = single();
        usage(&metrics, "a", &[("cpu", 1.0)]);
        usage(&metrics, "a", &[("cpu", 2.0), ("cpu", 3.0)]);
        expect![[r#"{nodepool="a",resource_type="cpu"} 3"#]].assert_eq(&shown(&registry));
    }

    /// MS-04 and MS-05.
    #[tokio::test(start_paused = true)]
    async fn an_object_that_is_gone_or_never_was_is_deleted() {
        let (registry, metrics) = single();
        usage(&metrics, "a", &[("cpu", 1.0)]);
        usage(&metrics, "b", &[("cpu", 2.0)]);
        metrics.nodepools_usage().delete("a");
        metrics.nodepools_usage().delete("never");
        expect![[r#"{nodepool="b",resource_type="cpu"} 2"#]].assert_eq(&shown(&registry));
    }

    /// MS-06.
    #[tokio::test(start_paused = true)]
    async fn all_are_replaced() {
        let (registry, metrics) = single();
        usage(&metrics, "a", &[("cpu", 1.0)]);
        usage(&metrics, "b", &[("cpu", 2.0)]);
        let series = vec![Series::new(&["cpu", "c"], 4.0)];
        metrics.nodepools_usage().replace_all([("c".to_owned(), series)].into());
        expect![[r#"{nodepool="c",resource_type="cpu"} 4"#]].assert_eq(&shown(&registry));
    }

    /// MS-07.
    #[tokio::test(start_paused = true)]
    async fn all_are_replaced_by_nothing() {
        let (registry, metrics) = single();
        usage(&metrics, "a", &[("cpu", 1.0)]);
        metrics.nodepools_usage().replace_all(BTreeMap::new());
        assert_eq!(shown(&registry), "");
    }
}

#[test]
fn quantiles_are_of_the_last_ten_minutes_and_sums_of_all_time() {
    let minutes = Duration::from_mins;
    let mut seen = Observations::default();
    assert!(seen.quantiles(minutes(0)).iter().all(|value| value.is_nan()));
    seen.observe(minutes(0), 1000.0);
    for value in 1..=100 {
        seen.observe(minutes(5), f64::from(value));
    }
    let shown = |values: [f64; 5]| values.map(|value| value.to_string()).join(" ");
    assert_eq!(shown(seen.quantiles(minutes(5))), "1 51 91 100 1000");
    assert_eq!(shown(seen.quantiles(minutes(12))), "1 50 90 99 100");
    assert!(seen.quantiles(minutes(30)).iter().all(|value| value.is_nan()));
}
