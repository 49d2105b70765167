//! VMs and volumes.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{Number, Owner};

/// The state of a VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VmState {
    /// Its host starts it.
    Starting,
    /// It runs.
    Running,
    /// Its host stops it.
    Stopping,
    /// It is off.
    Stopped,
    /// It was destroyed and can be recovered.
    Destroyed,
    /// It is being removed.
    Expunging,
    /// It moves to another host.
    Migrating,
    /// It could not be made.
    Error,
    /// Its host does not know.
    Unknown,
}

impl VmState {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Starting => "Starting",
            Self::Running => "Running",
            Self::Stopping => "Stopping",
            Self::Stopped => "Stopped",
            Self::Destroyed => "Destroyed",
            Self::Expunging => "Expunging",
            Self::Migrating => "Migrating",
            Self::Error => "Error",
            Self::Unknown => "Unknown",
        }
    }

    /// Whether it is destroyed for users.
    pub(crate) fn is_destroyed(self) -> bool {
        matches!(self, Self::Destroyed | Self::Expunging)
    }
}

/// A network adapter.
#[derive(Clone, Debug)]
pub(crate) struct Nic {
    pub(crate) id: String,
    pub(crate) network: Number,
    /// The last part of its address; none in networks without addresses.
    pub(crate) address: Option<u32>,
    pub(crate) mac: String,
}

/// A VM. It stays here until it is expunged.
#[derive(Clone, Debug)]
pub(crate) struct Vm {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) display_name: String,
    pub(crate) owner: Owner,
    pub(crate) zone: Number,
    pub(crate) template: Number,
    pub(crate) offering: Number,
    pub(crate) cpus: u32,
    pub(crate) mhz: u32,
    pub(crate) memory_mib: u64,
    pub(crate) state: VmState,
    pub(crate) host: Option<Number>,
    pub(crate) nics: Vec<Nic>,
    pub(crate) details: BTreeMap<String, String>,
    pub(crate) user_data: String,
    pub(crate) user_data_details: BTreeMap<String, String>,
    pub(crate) key_pairs: Vec<String>,
    pub(crate) affinity_groups: BTreeSet<Number>,
    pub(crate) security_groups: BTreeSet<Number>,
    pub(crate) group: String,
    pub(crate) delete_protection: bool,
    pub(crate) created: Duration,
    pub(crate) updated: Duration,
}

/// The state of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VolumeState {
    Allocated,
    Ready,
    Destroy,
}

impl VolumeState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Allocated => "Allocated",
            Self::Ready => "Ready",
            Self::Destroy => "Destroy",
        }
    }
}

/// A volume.
#[derive(Clone, Debug)]
pub(crate) struct Volume {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) owner: Owner,
    pub(crate) zone: Number,
    pub(crate) vm: Option<Number>,
    pub(crate) is_root: bool,
    pub(crate) size_gib: u64,
    pub(crate) disk_offering: Option<Number>,
    pub(crate) state: VolumeState,
    pub(crate) created: Duration,
}
