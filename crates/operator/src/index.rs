//! From objects to the planner's words.
//!
//! [`snapshot`] is the whole index in one call: pools ([`pools`]), machines (`nodes`), daemon sets
//! (`daemons`), the pods that stay, wait or move (`pods`), their volumes (`volumes`) and spare
//! capacity (`buffers`). It is a pure function of the objects, the catalog and the time, so that a
//! plan made from a dump is the plan that was made from the cluster.

mod buffers;
mod convert;
mod daemons;
mod disruption;
mod in_flight;
mod intern;
mod nodes;
mod overlays;
mod pods;
pub mod pools;
mod requests;
pub mod spread;
#[cfg(test)]
mod tests;
mod volumes;

use std::collections::BTreeMap;

use jiff::Timestamp;
use joiner_core::{instance_type::Catalog, label::Labels, pod::Pod, snapshot::Snapshot};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

pub use self::overlays::overlays;
use self::{
    disruption::Disruption, intern::Interner, pods::PodReader, spread::DefaultSpread,
    spread::SchedulerConfig, volumes::VolumeIndex,
};
use crate::objects::Objects;

/// Which pods want a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pending {
    /// Every pod that has no node and may get one. For files, in which no scheduler has been.
    #[default]
    Unbound,
    /// Pods that the scheduler has found no node for. For live clusters.
    Unschedulable,
}

/// What the user can choose about reading a cluster.
#[derive(Debug, Clone, Default)]
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

/// A snapshot, and what a reader of the objects should know about it.
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
    let mut interner = Interner::default();
    let volumes = VolumeIndex::new(objects);
    let spread = DefaultSpread::new(objects, &settings.scheduler_config);
    let mut reader = PodReader::new(&volumes, &spread, &mut interner);
    let disruption = Disruption::new(objects, now);

    let read = pods::read(objects, settings.pending, &disruption, &mut reader);
    let mut pods = read.to_place;
    let nodes = nodes::nodes(objects, &catalog, read.by_node, &mut notes);
    if settings.capacity_buffer {
        pods.extend(buffers::virtual_pods(objects, now, &mut reader, &mut notes));
    }
    let daemons = daemons::daemons(objects, settings.ignore_dra, &mut reader);
    let pools = pools::node_pools(objects, &catalog.well_known);
    note_fixed_pools(objects, settings, &mut notes);

    let namespaces = namespaces(objects, &pods);
    Indexed { snapshot: Snapshot { pools, catalog, nodes, pods, daemons, namespaces }, notes }
}
