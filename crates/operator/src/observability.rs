//! Metrics about the state of a cluster.
//!
//! Gauges are computed for each scrape ([`ClusterFigures`]); events are counted when they happen
//! ([`count_changes`]).

mod conditions;
mod cost;
mod instance_types;
mod nodes;
mod pods;
mod pools;
mod state;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use jiff::Timestamp;
use joiner_api::{capacity_buffer::CapacityBuffer, node_claim::NodeClaim, node_pool::NodePool};
use joiner_cloud::class::NodeClass;
use k8s_openapi::api::core::v1::{Node, Pod};

pub use self::conditions::count_changes;
use self::{cost::Unpriced, state::Synced};
use crate::{
    context::Context,
    metrics::{
        ConditionMetrics, Figures,
        gauge_set::{GaugeSet, Series},
    },
    world::World,
};

/// Gauges of one cluster.
#[derive(Debug)]
pub struct ClusterFigures {
    context: Context,
    synced: Mutex<Synced>,
    unpriced: Mutex<Unpriced>,
}

/// A copy of the objects that have metrics. Copying is quick; the metrics are computed after the
/// lock is released.
struct Shown {
    now: Timestamp,
    pods: Vec<Arc<Pod>>,
    nodes: Vec<ShownNode>,
    claims: Vec<Arc<NodeClaim>>,
    pools: Vec<Arc<NodePool>>,
    classes: Vec<Arc<NodeClass>>,
    buffers: Vec<Arc<CapacityBuffer>>,
}

/// A node, and whether there is a claim of it.
struct ShownNode {
    node: Arc<Node>,
    is_managed: bool,
}

impl Shown {
    fn of(world: &World, now: Timestamp) -> Self {
        let node = |node: &Arc<Node>| ShownNode {
            node: Arc::clone(node),
            is_managed: world.claim_of(node).is_some(),
        };
        Self {
            now,
            pods: world.pods.values().cloned().collect(),
            nodes: world.nodes.values().map(node).collect(),
            claims: world.node_claims.values().cloned().collect(),
            pools: world.node_pools.values().cloned().collect(),
            classes: world.node_classes.values().cloned().collect(),
            buffers: world.capacity_buffers.values().cloned().collect(),
        }
    }
}

impl ClusterFigures {
    /// Gauges about the state of this context.
    pub fn new(context: Context) -> Self {
        Self { context, synced: Mutex::default(), unpriced: Mutex::default() }
    }

    /// The gauges that are as many as there are objects.
    fn of_objects(&self) -> Vec<&GaugeSet> {
        let metrics = &self.context.metrics;
        let nodes = metrics.nodes();
        let mut all = vec![
            &nodes.allocatable,
            &nodes.total_pod_requests,
            &nodes.total_daemon_requests,
            &nodes.system_overhead,
            &nodes.current_lifetime_seconds,
            metrics.cluster_utilization(),
            metrics.pods_state(),
            metrics.pods_unstarted_time(),
            metrics.pods_unbound_time(),
            metrics.pods_provisioning_unbound_time(),
            metrics.pods_provisioning_unstarted_time(),
            metrics.pods_provisioning_scheduling_undecided_time(),
        ];
        all.extend(metrics.each_conditions().flat_map(ConditionMetrics::gauges));
        all
    }
}

impl Figures for ClusterFigures {
    fn work_out(&self) {
        let Context { metrics, events, .. } = &self.context;
        metrics.work_out_queues();
        let dropped = metrics.events_dropped();
        dropped.inc_by(events.dropped().saturating_sub(dropped.get()));
        let now = self.context.now();
        let shown = self.context.cache.read(|world| Shown::of(world, now));
        let mut synced = self.synced.lock().unwrap_or_else(PoisonError::into_inner);
        synced.work_out(&self.context, &shown);
        let mut unpriced = self.unpriced.lock().unwrap_or_else(PoisonError::into_inner);
        cost::work_out(&self.context, &shown, &mut unpriced);
        instance_types::work_out(&self.context, &shown);
        if self.context.settings.disable_cluster_state_observability {
            return;
        }
        nodes::work_out(&self.context, &shown);
        pods::work_out(&self.context, &shown);
        pools::work_out(&self.context, &shown);
        conditions::work_out(&self.context, &shown);
    }

    fn forget(&self) {
        self.of_objects().into_iter().for_each(|gauges| gauges.replace_all(BTreeMap::new()));
    }
}

/// Series by the objects they are about.
#[derive(Debug, Default)]
struct Lines(BTreeMap<String, Vec<Series>>);

impl Lines {
    fn add<S: AsRef<str>>(&mut self, object: &str, labels: &[S], value: f64) {
        let series = Series::new(labels, value);
        match self.0.get_mut(object) {
            Some(all) => all.push(series),
            None => {
                self.0.insert(object.to_owned(), vec![series]);
            }
        }
    }

    /// The one series of an object.
    fn set<S: AsRef<str>>(&mut self, object: &str, labels: &[S], value: f64) {
        self.0.insert(object.to_owned(), vec![Series::new(labels, value)]);
    }

    fn show(self, gauges: &GaugeSet) {
        gauges.replace_all(self.0);
    }
}

/// A resource as metrics call it.
fn resource_type(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
}
