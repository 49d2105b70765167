//! VMs and templates.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;

use super::device::{Device, Disk, Nic, What};
use crate::reference::Ref;

/// A VM or a template.
#[derive(Clone, Debug)]
pub(crate) struct Vm {
    pub(crate) uuid: String,
    pub(crate) instance_uuid: String,
    pub(crate) created: Timestamp,
    pub(crate) template: bool,
    pub(crate) annotation: String,
    pub(crate) guest_id: String,
    pub(crate) hardware: u32,
    pub(crate) firmware: String,
    pub(crate) mainboard: Option<String>,
    pub(crate) cpus: u32,
    pub(crate) cores_per_socket: u32,
    pub(crate) memory_mib: u64,
    pub(crate) cpu: Allocation,
    pub(crate) memory: Allocation,
    pub(crate) memory_locked: bool,
    pub(crate) nested: bool,
    pub(crate) disk_uuids: bool,
    pub(crate) vapp: bool,
    pub(crate) devices: Vec<Device>,
    pub(crate) extra: BTreeMap<String, String>,
    pub(crate) power: Power,
    pub(crate) started: Option<Duration>,
    pub(crate) host: Ref,
    /// A template is in none.
    pub(crate) pool: Option<Ref>,
    pub(crate) datastore: Ref,
    /// The directory of its files.
    pub(crate) home: String,
    /// The name of the storage policy of its own files.
    pub(crate) policy: Option<String>,
    pub(crate) snapshots: Vec<Snapshot>,
    /// Whether the guest tools are installed.
    pub(crate) tools: bool,
    /// What the guest tells once it is up.
    pub(crate) guest: Option<Guest>,
    /// How often it was powered on; what was planned for an earlier run is void.
    pub(crate) runs: u32,
    /// Why it cannot be managed, in the interface's own word; none if it can.
    pub(crate) lost: Option<&'static str>,
    /// The task that has it to itself.
    pub(crate) busy: Option<Ref>,
    /// How often it was changed.
    pub(crate) changes: u64,
}

/// What is kept and what is allowed of a resource, in MHz or MiB.
#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    pub(crate) reservation: u64,
    /// None for no limit.
    pub(crate) limit: Option<u64>,
    pub(crate) shares: (i32, String),
}

impl Default for Allocation {
    fn default() -> Self {
        Self { reservation: 0, limit: None, shares: (1000, "normal".to_owned()) }
    }
}

/// Whether a VM runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Power {
    On,
    Off,
    Suspended,
}

impl Power {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::On => "poweredOn",
            Self::Off => "poweredOff",
            Self::Suspended => "suspended",
        }
    }
}

/// A snapshot; each is the child of the one before.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) reference: Ref,
    pub(crate) name: String,
    pub(crate) created: Timestamp,
}

/// What a guest tells through the guest tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Guest {
    pub(crate) host_name: String,
    pub(crate) ip: String,
}

impl Vm {
    pub(crate) fn disks(&self) -> impl Iterator<Item = &Disk> {
        self.devices.iter().filter_map(|device| match &device.what {
            What::Disk(disk) => Some(disk),
            _ => None,
        })
    }

    pub(crate) fn nics(&self) -> impl Iterator<Item = &Nic> {
        self.devices.iter().filter_map(|device| match &device.what {
            What::Nic(nic) => Some(nic),
            _ => None,
        })
    }

    pub(crate) fn memory_reservation_mib(&self) -> u64 {
        if self.memory_locked { self.memory_mib } else { self.memory.reservation }
    }
}
