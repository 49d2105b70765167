//! All metric families.

#![expect(clippy::doc_markdown, reason = "helps are shown where backticks would be")]

use std::collections::BTreeMap;

use joiner_clock::Clock;
use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec,
};

use super::{
    Engine, Registrar, RegistrationError, Registry, buckets,
    conditions::ConditionMetrics,
    gauge_set::GaugeSet,
    node_label,
    pod_times::PodTimes,
    queues::Queues,
    summary::{Summary, SummaryVec},
};

/// What holds a family of each type.
macro_rules! family {
    (counter) => {
        IntCounterVec
    };
    (gauge) => {
        GaugeVec
    };
    (gauges) => {
        GaugeSet
    };
    (histogram) => {
        HistogramVec
    };
    (summary) => {
        SummaryVec
    };
}

/// What one series of each type is used through; for gauges that are replaced together, all.
macro_rules! series {
    (counter) => {
        IntCounter
    };
    (gauge) => {
        Gauge
    };
    (histogram) => {
        Histogram
    };
    (summary) => {
        Summary
    };
}

/// Makes and registers a family.
macro_rules! register {
    (counter, $to:expr, $name:literal, $help:literal, $labels:expr) => {
        $to.add(IntCounterVec::new($to.opts($name, $help), $labels)?)?
    };
    (gauge, $to:expr, $name:literal, $help:literal, $labels:expr) => {
        $to.add(GaugeVec::new($to.opts($name, $help), $labels)?)?
    };
    (gauges, $to:expr, $name:literal, $help:literal, $labels:expr) => {
        $to.add(GaugeSet::new(&$to.opts($name, $help), $labels)?)?
    };
    (summary, $to:expr, $name:literal, $help:literal, $labels:expr) => {
        $to.add(SummaryVec::new(&$to.opts($name, $help), $labels, $to.clock.clone())?)?
    };
    (histogram, $to:expr, $name:literal, $help:literal, $labels:expr, $buckets:expr) => {
        $to.histogram($name, $help, $labels, $buckets)?
    };
}

/// How a family is used: one series by the values of its labels, or all at once.
macro_rules! access {
    (gauges $method:ident $help:literal $($label:ident)*) => {
        #[doc = $help]
        pub fn $method(&self) -> &GaugeSet {
            &self.families.$method
        }
    };
    ($type:ident $method:ident $help:literal $($label:ident)*) => {
        #[doc = $help]
        pub fn $method(&self, $($label: &str),*) -> series!($type) {
            self.families.$method.with_label_values::<&str>(&[$($label),*])
        }
    };
}

/// Declares families: type, method, name, labels, where needed buckets, and help.
macro_rules! families {
    ($($type:ident $method:ident $name:literal [$($label:ident)*] $(in $buckets:expr,)? $help:literal;)*) => {
        /// Every family whose labels do not depend on providers: type, name and labels.
        pub const FAMILIES: &[(&str, &str, &[&str])] =
            &[$((stringify!($type), $name, &[$(stringify!($label)),*])),*];

        #[derive(Debug)]
        struct Families {
            $($method: family!($type),)*
        }

        impl Families {
            fn register(to: &Registrar<'_>) -> Result<Self, RegistrationError> {
                Ok(Self {
                    $($method: register!(
                        $type, to, $name, $help, &[$(stringify!($label)),*] $(, $buckets)?
                    ),)*
                })
            }
        }

        impl Metrics {
            $(access!($type $method $help $($label)*);)*
        }
    };
}

/// The metrics of one engine.
#[derive(Debug)]
pub struct Metrics {
    families: Families,
    nodes: NodeGauges,
    conditions: BTreeMap<&'static str, ConditionMetrics>,
    all_conditions: ConditionMetrics,
    pod_times: PodTimes,
    queues: Queues,
    orphans_deleted: BTreeMap<&'static str, IntCounter>,
}

impl Metrics {
    /// Adds an engine's metrics to a page.
    pub fn register(
        registry: &Registry,
        engine: &Engine,
        clock: &Clock,
    ) -> Result<Self, RegistrationError> {
        let to =
            Registrar { registry: &registry.families, cluster: engine.cluster.as_deref(), clock };
        let families = Families::register(&to)?;
        let conditions = engine.conditions.iter().map(|(kind, labels)| {
            let metrics = ConditionMetrics::of_kind(&to, kind, labels)?;
            Ok::<_, RegistrationError>((*kind, metrics))
        });
        let orphans_deleted = engine.providers.iter().map(|provider| {
            let name = format!("joiner_{provider}_orphans_deleted_total");
            let help = "Instances that were removed because no NodeClaim knew them.";
            Ok::<_, RegistrationError>((
                *provider,
                to.add(IntCounter::with_opts(to.opts(&name, help))?)?,
            ))
        });
        let metrics = Self {
            orphans_deleted: orphans_deleted.collect::<Result<_, _>>()?,
            nodes: NodeGauges::register(&to, &engine.node_labels)?,
            conditions: conditions.collect::<Result<_, _>>()?,
            all_conditions: ConditionMetrics::of_all_kinds(&to)?,
            pod_times: PodTimes::default(),
            queues: Queues::default(),
            families,
        };
        // Dashboards want to see that there were none yet.
        for kind in ["multi", "single"] {
            metrics.voluntary_disruption_consolidation_timeouts(kind).inc_by(0);
        }
        Ok(metrics)
    }

    /// The gauges of nodes.
    pub fn nodes(&self) -> &NodeGauges {
        &self.nodes
    }

    /// Instances of a provider that were removed because no claim knew them.
    pub fn orphans_deleted(&self, provider: &str) -> Option<&IntCounter> {
        self.orphans_deleted.get(provider)
    }

    /// How far pods that have not started yet have come.
    pub fn pod_times(&self) -> &PodTimes {
        &self.pod_times
    }

    /// The queues of controllers.
    pub(super) fn queues(&self) -> &Queues {
        &self.queues
    }

    /// The conditions of objects of a kind, if they are shown.
    pub fn conditions(&self, kind: &str) -> Option<&ConditionMetrics> {
        self.conditions.get(kind)
    }

    /// The conditions of every kind that is shown, and of all kinds together.
    pub fn each_conditions(&self) -> impl Iterator<Item = &ConditionMetrics> {
        self.conditions.values().chain([&self.all_conditions])
    }

    /// The conditions of all kinds together, by group and kind. Karpenter also shows them this way,
    /// for older dashboards.
    pub fn all_conditions(&self) -> &ConditionMetrics {
        &self.all_conditions
    }
}

/// Gauges of nodes. Their labels are the nodes' own labels that providers know, in the order they
/// were given, then `node_name`, `phase`, `managed`, and all but the age have a `resource_type`.
#[derive(Debug)]
pub struct NodeGauges {
    /// Allocatable resources.
    pub allocatable: GaugeSet,
    /// Requests of all pods, DaemonSet pods included.
    pub total_pod_requests: GaugeSet,
    /// Limits of all pods, DaemonSet pods included.
    pub total_pod_limits: GaugeSet,
    /// Requests of DaemonSet pods.
    pub total_daemon_requests: GaugeSet,
    /// Limits of DaemonSet pods.
    pub total_daemon_limits: GaugeSet,
    /// Capacity minus allocatable.
    pub system_overhead: GaugeSet,
    /// How old the node is.
    pub current_lifetime_seconds: GaugeSet,
}

impl NodeGauges {
    fn register(to: &Registrar<'_>, node_labels: &[String]) -> Result<Self, RegistrationError> {
        let mut labels: Vec<String> = node_labels.iter().map(|key| node_label(key)).collect();
        labels.extend(["node_name", "phase", "managed"].map(str::to_owned));
        let mut by_resource = labels.clone();
        by_resource.push("resource_type".to_owned());
        let set = |name: &str, help: &str, labels: &[String]| {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            let name = format!("karpenter_nodes_{name}");
            to.add(GaugeSet::new(&to.opts(&name, help), &labels)?)
        };
        Ok(Self {
            allocatable: set("allocatable", "Resources that pods can have.", &by_resource)?,
            total_pod_requests: set(
                "total_pod_requests",
                "Resources that pods ask for, daemons among them.",
                &by_resource,
            )?,
            total_pod_limits: set(
                "total_pod_limits",
                "Resources that pods are limited to, daemons among them.",
                &by_resource,
            )?,
            total_daemon_requests: set(
                "total_daemon_requests",
                "Resources that daemons ask for.",
                &by_resource,
            )?,
            total_daemon_limits: set(
                "total_daemon_limits",
                "Resources that daemons are limited to.",
                &by_resource,
            )?,
            system_overhead: set(
                "system_overhead",
                "Resources that pods cannot have: capacity without allocatable.",
                &by_resource,
            )?,
            current_lifetime_seconds: set("current_lifetime_seconds", "Age of nodes.", &labels)?,
        })
    }
}

impl Registrar<'_> {
    pub(super) fn histogram(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
        buckets: impl Into<Vec<f64>>,
    ) -> Result<HistogramVec, RegistrationError> {
        let opts = HistogramOpts { common_opts: self.opts(name, help), buckets: buckets.into() };
        self.add(HistogramVec::new(opts, labels)?)
    }
}

families! {
    counter nodeclaims_created "karpenter_nodeclaims_created_total"
        [reason nodepool min_values_relaxed]
        "NodeClaims created, by reason, pool and whether minValues were lowered.";
    counter nodeclaims_terminated "karpenter_nodeclaims_terminated_total"
        [nodepool capacity_type zone]
        "NodeClaims that are gone, by pool, capacity type and zone.";
    counter nodeclaims_disrupted "karpenter_nodeclaims_disrupted_total"
        [reason nodepool capacity_type consolidation_policy termination_mode]
        "NodeClaims whose disruption began, by reason and pool.";
    counter pods_disruption_initiated "karpenter_pods_disruption_initiated_total"
        [reason nodepool capacity_type consolidation_policy termination_mode]
        "Pods that had to move because the disruption of their node began.";
    histogram nodeclaims_termination_duration "karpenter_nodeclaims_termination_duration_seconds"
        [nodepool] in buckets::TERMINATIONS,
        "Time from a NodeClaim's deletion until it is gone.";
    histogram nodeclaims_instance_termination_duration
        "karpenter_nodeclaims_instance_termination_duration_seconds"
        [nodepool] in buckets::INSTANCE_TERMINATIONS,
        "Time a cloud takes to remove an instance.";
    counter nodeclaims_unhealthy_disrupted "karpenter_nodeclaims_unhealthy_disrupted_total"
        [condition nodepool capacity_type image_id]
        "NodeClaims replaced because their node was unhealthy, by the node's condition.";
    counter nodes_created "karpenter_nodes_created_total" [nodepool zone]
        "Nodes that joined, by pool and zone.";
    counter nodes_terminated "karpenter_nodes_terminated_total" [nodepool zone]
        "Nodes that are gone, by pool and zone.";
    counter nodes_drained "karpenter_nodes_drained_total" [nodepool]
        "Nodes that were drained, by pool.";
    summary nodes_termination_duration "karpenter_nodes_termination_duration_seconds" [nodepool]
        "Time from a node's deletion until it is gone.";
    histogram nodes_lifetime_duration "karpenter_nodes_lifetime_duration_seconds"
        [nodepool] in buckets::LIFETIMES,
        "Age that nodes reach.";
    gauges cluster_utilization "karpenter_cluster_utilization_percent" [resource_type]
        "Share of allocatable resources that pods ask for.";
    gauges nodepools_limit "karpenter_nodepools_limit" [resource_type nodepool]
        "Limits of pools.";
    gauges nodepools_usage "karpenter_nodepools_usage" [resource_type nodepool]
        "Resources of a pool's nodes.";
    gauges nodepools_cost "karpenter_nodepools_cost_total" [nodepool]
        "Price of a pool's nodes.";
    counter nodepools_cost_tracker_errors "karpenter_nodepools_cost_tracker_errors_total" [nodepool]
        "Nodes whose price could not be found.";
    gauges nodepools_allowed_disruptions "karpenter_nodepools_allowed_disruptions" [nodepool reason]
        "Nodes of a pool that its budgets allow to be disrupted at once.";
    gauges nodepools_nodes_consuming_budgets "karpenter_nodepools_nodes_consuming_budgets"
        [nodepool reason]
        "Nodes of a pool that count against its budgets.";
    histogram voluntary_disruption_decision_evaluation_duration
        "karpenter_voluntary_disruption_decision_evaluation_duration_seconds"
        [reason consolidation_type] in buckets::DURATIONS,
        "Time it takes to look for nodes to disrupt.";
    counter voluntary_disruption_decisions "karpenter_voluntary_disruption_decisions_total"
        [decision reason consolidation_type]
        "Decisions to disrupt nodes.";
    counter voluntary_disruption_decisions_by_nodepool
        "karpenter_voluntary_disruption_decisions_by_nodepool_total"
        [nodepool decision reason consolidation_type]
        "Decisions to disrupt nodes, by pool.";
    gauge voluntary_disruption_eligible_nodes "karpenter_voluntary_disruption_eligible_nodes"
        [reason]
        "Nodes that could be disrupted.";
    counter voluntary_disruption_consolidation_timeouts
        "karpenter_voluntary_disruption_consolidation_timeouts_total" [consolidation_type]
        "Searches for a consolidation that ran out of time.";
    counter voluntary_disruption_failed_validations
        "karpenter_voluntary_disruption_failed_validations_total" [consolidation_type]
        "Nodes that were to be disrupted and did not stand a second look.";
    counter voluntary_disruption_queue_failures
        "karpenter_voluntary_disruption_queue_failures_total"
        [decision reason consolidation_type]
        "Replacements that did not come.";
    histogram consolidation_score "karpenter_consolidation_score"
        [decision nodepool policy] in buckets::SCORES,
        "Scores of moves of Balanced pools.";
    counter consolidation_moves "karpenter_consolidation_moves_total" [decision nodepool policy]
        "Moves of Balanced pools that were looked at.";
    counter pods_eviction_requests "karpenter_pods_eviction_requests_total" [code]
        "Evictions asked for, by the API server's answer.";
    counter pods_drained "karpenter_pods_drained_total" [reason]
        "Pods that were evicted or deleted.";
    gauges pods_state "karpenter_pods_state"
        [name namespace owner node scheduled nodepool zone arch capacity_type instance_type phase ready managed]
        "1 for each pod.";
    summary pods_startup_duration "karpenter_pods_startup_duration_seconds" []
        "Time from a pod's creation until it is ready.";
    gauges pods_unstarted_time "karpenter_pods_unstarted_time_seconds" [name namespace]
        "Time since the creation of a pod that is not ready.";
    gauges pods_unbound_time "karpenter_pods_unbound_time_seconds" [name namespace]
        "Time since the creation of a pod that has no node.";
    histogram pods_bound_duration "karpenter_pods_bound_duration_seconds"
        [] in buckets::DURATIONS,
        "Time from a pod's creation until it has a node.";
    histogram pods_provisioning_bound_duration "karpenter_pods_provisioning_bound_duration_seconds"
        [] in buckets::DURATIONS,
        "Time from the first plan with a place for a pod until it has a node.";
    histogram pods_provisioning_startup_duration
        "karpenter_pods_provisioning_startup_duration_seconds" [] in buckets::DURATIONS,
        "Time from the first plan with a place for a pod until it is ready.";
    gauges pods_provisioning_unbound_time "karpenter_pods_provisioning_unbound_time_seconds"
        [name namespace]
        "Time since the first plan with a place for a pod that has no node.";
    gauges pods_provisioning_unstarted_time "karpenter_pods_provisioning_unstarted_time_seconds"
        [name namespace]
        "Time since the first plan with a place for a pod that is not ready.";
    gauges pods_provisioning_scheduling_undecided_time
        "karpenter_pods_provisioning_scheduling_undecided_time_seconds" [name namespace]
        "Time since a pod was seen that no plan has looked at.";
    histogram pods_scheduling_decision_duration
        "karpenter_pods_scheduling_decision_duration_seconds" [] in buckets::DURATIONS,
        "Time from when a pod was seen until a plan looked at it.";
    histogram scheduler_scheduling_duration "karpenter_scheduler_scheduling_duration_seconds"
        [controller] in buckets::DURATIONS,
        "Time it takes to solve.";
    gauges scheduler_queue_depth "karpenter_scheduler_queue_depth" [controller scheduling_id]
        "Pods that a plan under way has still to look at.";
    gauges scheduler_unfinished_work "karpenter_scheduler_unfinished_work_seconds"
        [controller scheduling_id]
        "Time since a plan that is under way began.";
    gauge scheduler_unschedulable_pods "karpenter_scheduler_unschedulable_pods_count" [controller]
        "Pods without a place.";
    gauge scheduler_ignored_pods "karpenter_scheduler_ignored_pods_count" []
        "Pods that are not looked at.";
    gauges scheduler_pending_pods_by_effective_zone
        "karpenter_scheduler_pending_pods_by_effective_zone_count" [controller zone]
        "Pending pods by the zone they must be in; flexible for several, none for no possible one.";
    gauge cluster_state_node_count "karpenter_cluster_state_node_count" []
        "Nodes that are known.";
    gauge cluster_state_synced "karpenter_cluster_state_synced" []
        "1 when all nodes and NodeClaims of the API server are known.";
    gauge cluster_state_unsynced_time "karpenter_cluster_state_unsynced_time_seconds" []
        "Time since not all nodes and NodeClaims were known.";
    histogram cloudprovider_duration "karpenter_cloudprovider_duration_seconds"
        [controller method provider] in buckets::DEFAULTS,
        "Time that calls to a cloud take.";
    counter cloudprovider_errors "karpenter_cloudprovider_errors_total"
        [controller method provider error]
        "Calls to a cloud that failed.";
    gauges instance_type_offering_price
        "karpenter_cloudprovider_instance_type_offering_price_estimate"
        [instance_type capacity_type zone]
        "Price of an offering for an hour.";
    gauges instance_type_offering_available
        "karpenter_cloudprovider_instance_type_offering_available"
        [instance_type capacity_type zone]
        "1 for an offering that can be had.";
    gauges instance_type_cpu_cores "karpenter_cloudprovider_instance_type_cpu_cores" [instance_type]
        "CPUs of an instance type.";
    gauges instance_type_memory_bytes "karpenter_cloudprovider_instance_type_memory_bytes"
        [instance_type]
        "Memory of an instance type.";
    counter client_requests "client_go_request_total" [code method]
        "Calls to the API server, by answer and method.";
    histogram client_request_duration "client_go_request_duration_seconds"
        [verb group version kind subresource] in buckets::calls(),
        "Time that calls to the API server take.";
    counter reconciles "controller_runtime_reconcile_total" [controller result]
        "Reconciles by controller and result: success, error, requeue, requeue_after.";
    counter reconcile_errors "controller_runtime_reconcile_errors_total" [controller]
        "Reconciles that failed.";
    counter reconcile_panics "controller_runtime_reconcile_panics_total" [controller]
        "Reconciles that panicked.";
    histogram reconcile_time "controller_runtime_reconcile_time_seconds"
        [controller] in buckets::RECONCILES,
        "Time that reconciles take.";
    gauge max_concurrent_reconciles "controller_runtime_max_concurrent_reconciles" [controller]
        "How many objects a controller may look at at once.";
    gauge active_workers "controller_runtime_active_workers" [controller]
        "How many objects a controller looks at.";
    gauge workqueue_depth "workqueue_depth" [name controller priority]
        "Objects that wait for a controller.";
    counter workqueue_adds "workqueue_adds_total" [name controller]
        "Objects that were given to a controller.";
    histogram workqueue_queue_duration "workqueue_queue_duration_seconds"
        [name controller] in buckets::QUEUES,
        "Time that objects wait for a controller.";
    histogram workqueue_work_duration "workqueue_work_duration_seconds"
        [name controller] in buckets::QUEUES,
        "Time that a controller needs for an object.";
    gauge workqueue_unfinished_work "workqueue_unfinished_work_seconds" [name controller]
        "Time that objects a controller looks at have taken so far, together.";
    gauge workqueue_longest_running_processor "workqueue_longest_running_processor_seconds"
        [name controller]
        "Time that the slowest object a controller looks at has taken so far.";
    counter workqueue_retries "workqueue_retries_total" [name controller]
        "Objects that were given to a controller again after a failure.";
    gauge leader_election_master_status "leader_election_master_status" [name]
        "1 while this process holds the lease of that name.";
    counter events_dropped "joiner_events_dropped_total" []
        "Events that were not written because too many waited.";
    gauges unreadable_objects "joiner_unreadable_objects" [resource]
        "Objects that are there and cannot be read.";
}
