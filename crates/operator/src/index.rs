//! Converts objects to the planner's types.
//!
//! [`snapshot`] is the whole index in one call. It covers pools ([`pools`]), instances (`nodes`),
//! daemon sets (`daemons`), pods (`pods`), volumes (`volumes`) and spare capacity ([`buffers`]).
//! [`fleet`](fleet()) converts the same instances to candidates for removal. Both are pure
//! functions of the objects and the time, so a dump gives the same plan as its cluster.

pub mod buffers;
pub(crate) mod convert;
mod daemons;
mod disruption;
pub mod fleet;
mod in_flight;
mod intern;
mod long;
mod nodes;
pub mod orders;
mod overlays;
mod pods;
pub mod pools;
mod requests;
pub mod spread;
#[cfg(test)]
mod tests;
pub(crate) mod volumes;

use std::collections::BTreeMap;

use jiff::Timestamp;
use joiner_core::{instance_type::Catalog, label::Labels, pool::NodePool, snapshot::Snapshot};

pub use self::{convert::resources, requests::of_pod as requests_of_pod};
pub(crate) use self::{convert::taints, requests::with_limits_as_requests};
use self::{
    disruption::Disruption,
    long::LongPods,
    nodes::Instances,
    pods::PodReader,
    spread::{DefaultSpread, SchedulerConfig},
    volumes::VolumeIndex,
};
pub use self::{
    fleet::{Live, fleet},
    nodes::usage_by_pool,
    overlays::overlays,
};
use crate::objects::Objects;

/// The label that every namespace carries its own name in.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Which pods want a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pending {
    /// Every pod that has no node and may get one. For files, in which no scheduler has been.
    #[default]
    Unbound,
    /// Pods that the scheduler has found no node for. For live clusters.
    Unschedulable,
}

/// The user's choices for reading a cluster. Defaults are Karpenter's.
#[derive(Debug, Clone)]
pub struct IndexSettings {
    /// Which pods want a place.
    pub pending: Pending,
    /// Whether daemons that use Dynamic Resource Allocation are left out.
    pub ignore_dra: bool,
    /// Whether `CapacityBuffer`s count.
    pub capacity_buffer: bool,
    /// Whether pools may keep a fixed number of nodes.
    pub static_capacity: bool,
    /// How pods that say nothing about it are spread.
    pub scheduler_config: SchedulerConfig,
}

impl Default for IndexSettings {
    fn default() -> Self {
        Self {
            pending: Pending::Unbound,
            ignore_dra: true,
            capacity_buffer: false,
            static_capacity: false,
            scheduler_config: SchedulerConfig::default(),
        }
    }
}

/// A snapshot, and notes for the reader of the objects.
#[derive(Debug, Clone, Default)]
pub struct Indexed {
    /// The cluster in the planner's words.
    pub snapshot: Snapshot,
    /// One sentence for each thing that was read otherwise than its author may expect.
    pub notes: Vec<String>,
}

/// Turns the objects of a cluster into a snapshot, as of `now`.
pub fn snapshot(
    objects: &Objects,
    catalog: Catalog,
    settings: &IndexSettings,
    now: Timestamp,
) -> Indexed {
    let mut notes = Vec::new();
    let spread = DefaultSpread::new(objects, &settings.scheduler_config);
    let mut reader = PodReader::new(VolumeIndex::new(objects), spread, LongPods::new(objects));
    let instances = Instances::new(objects, &mut notes);
    let disruption = Disruption::new(objects, now);
    let mut pods =
        reader.sort(objects, settings.pending, &disruption, |node| instances.is_leaving(node));
    if pods.lost > 0 {
        notes.push(format!(
            "{} pods are bound to nodes that are not there: they are left out",
            pods.lost
        ));
    }
    let nodes = instances.into_nodes(&catalog, &mut pods);
    let mut to_place = pods.to_place;
    if settings.capacity_buffer {
        to_place.extend(buffers::virtual_pods(objects, now, &mut reader, &mut notes));
    }
    if !settings.static_capacity {
        note_fixed_pools(objects, &mut notes);
    }
    let pools = pools::node_pools(objects, &catalog.well_known);
    note_failing_pools(&pools, &mut notes);
    let snapshot = Snapshot {
        pools,
        nodes,
        pods: to_place,
        daemons: daemons::daemons(objects, settings.ignore_dra, &mut reader),
        namespaces: namespaces(objects),
        catalog,
    };
    Indexed { snapshot, notes }
}

fn note_failing_pools(pools: &[NodePool], notes: &mut Vec<String>) {
    for pool in pools.iter().filter(|pool| !pool.is_static) {
        let Some(why) = &pool.failing else { continue };
        notes.push(format!(
            "NodePool {:?} is tried after all others, for its last instances have not joined ({why})",
            pool.name
        ));
    }
}

/// Namespaces and their labels. A namespace without an object has only its name label, which the
/// API server sets on every namespace.
///
/// COMPAT: upstream requires the object. A cluster always has it; a file may not.
fn namespaces(objects: &Objects) -> BTreeMap<String, Labels> {
    let mut namespaces = BTreeMap::new();
    for namespace in &objects.namespaces {
        let name = namespace.metadata.name.clone().unwrap_or_default();
        namespaces.insert(name, convert::labels(&namespace.metadata));
    }
    for pod in &objects.pods {
        let name = pod.metadata.namespace.as_deref().unwrap_or_default();
        if !namespaces.contains_key(name) {
            namespaces.insert(name.to_owned(), Labels::new());
        }
    }
    for (name, labels) in &mut namespaces {
        labels.entry(NAMESPACE_NAME.to_owned()).or_insert_with(|| name.clone());
    }
    namespaces
}

fn note_fixed_pools(objects: &Objects, notes: &mut Vec<String>) {
    for pool in objects.node_pools.iter().filter(|pool| pool.spec.replicas.is_some()) {
        notes.push(format!(
            "NodePool {:?} has replicas, but the feature gate StaticCapacity is off: nothing is \
             made for it",
            pool.metadata.name.as_deref().unwrap_or_default()
        ));
    }
}
