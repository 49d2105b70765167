//! Instance types: the built-in list, the file that replaces it, and what is offered of them.
//!
//! Proxmox VE has no list of its own. A type is so many CPUs and so much memory; where it can be had
//! follows from the class and from the room in its zones.

mod file;
mod generate;
mod offerings;

use std::sync::Arc;

use joiner_core::{
    instance_type::{Catalog, InstanceType, Overhead},
    label::WellKnown,
    price::UnitPrices,
    resources::{CPU, EPHEMERAL_STORAGE, MEMORY, Resources},
};

pub use self::{
    file::{FileError, Reservation, read},
    generate::{Generator, numbers, to_json},
    offerings::{Offered, Zone, instance_types, without_room},
};
use crate::{GROUP, RESERVATION_ID, WELL_KNOWN_LABELS};

/// A type, as the list or the file has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Type {
    /// Its name.
    pub name: String,
    /// What the virtual machine has.
    pub capacity: Resources,
    /// How it is had: on-demand, spot or reserved.
    pub capacity_type: String,
    /// The reservation that it counts against.
    pub reservation: Option<Reservation>,
    /// What the kubelet and the system keep for themselves.
    pub overhead: Overhead,
}

impl Type {
    /// The text before the first dot of the name.
    pub fn family(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }

    /// Virtual CPUs.
    pub fn cpus(&self) -> u32 {
        u32::try_from(self.capacity.get(CPU).floor()).unwrap_or_default()
    }

    /// Bytes of memory of the virtual machine.
    pub fn memory(&self) -> u64 {
        u64::try_from(self.capacity.get(MEMORY).floor()).unwrap_or_default()
    }

    /// Bytes of its disk; 0 where nothing is said.
    pub fn disk(&self) -> u64 {
        u64::try_from(self.capacity.get(EPHEMERAL_STORAGE).floor()).unwrap_or_default()
    }
}

/// What the user can choose about types for all classes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// What instances cost.
    pub prices: UnitPrices,
    /// The share of an instance's memory that its guest does not see, from 0 to below 1.
    pub memory_overhead: f64,
}

impl Default for Settings {
    /// As with the predecessor, which never took anything off: no share.
    fn default() -> Self {
        Self { prices: UnitPrices::default(), memory_overhead: 0.0 }
    }
}

/// The built-in list.
pub fn built_in() -> Vec<Type> {
    Generator::default().types()
}

/// The catalog of `pools`, which all use the one class that `types` are for.
pub fn catalog<P: Into<String>>(
    types: Vec<InstanceType>,
    pools: impl IntoIterator<Item = P>,
) -> Catalog {
    let types: Arc<[Arc<InstanceType>]> = types.into_iter().map(Arc::new).collect();
    Catalog {
        by_pool: pools.into_iter().map(|pool| (pool.into(), Arc::clone(&types))).collect(),
        well_known: WellKnown::with(WELL_KNOWN_LABELS.map(str::to_owned))
            .restricting([GROUP.to_owned()]),
        reservation_id_label: Some(RESERVATION_ID.to_owned()),
        ..Catalog::default()
    }
}
