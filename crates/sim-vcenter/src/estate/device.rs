//! Devices of VMs.

use crate::reference::Ref;

/// The controller that every VM has its disks on.
pub(crate) const SCSI_CONTROLLER: i32 = 1000;
/// The controller of everything else.
pub(crate) const PCI_CONTROLLER: i32 = 100;
/// Where keys of disks, NICs and passed-through devices begin.
const DISK_KEYS: i32 = 2000;
const NIC_KEYS: i32 = 4000;
const PCI_KEYS: i32 = 13000;
/// The place on a SCSI bus that its controller has itself.
const CONTROLLERS_UNIT: i32 = 7;
/// How many places a SCSI bus has.
const UNITS: i32 = 16;

/// A device.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) key: i32,
    pub(crate) controller: Option<i32>,
    pub(crate) unit: Option<i32>,
    pub(crate) label: String,
    pub(crate) what: What,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    Pci,
    Scsi,
    Disk(Disk),
    Nic(Nic),
    /// A device of the host.
    Passthrough(Passthrough),
}

/// A disk.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    pub(crate) bytes: u64,
    /// What was ever written to it.
    pub(crate) written: u64,
    pub(crate) thin: bool,
    pub(crate) eager: bool,
    pub(crate) mode: String,
    pub(crate) file: String,
    pub(crate) datastore: Ref,
    pub(crate) uuid: String,
    /// The file that this disk only holds the difference to.
    pub(crate) parent: Option<String>,
    /// The name of its storage policy.
    pub(crate) policy: Option<String>,
    /// The id of a disk that has a life of its own (a first-class disk).
    pub(crate) first_class: Option<String>,
}

impl Disk {
    /// What it takes of its datastore.
    pub(crate) fn takes(&self) -> u64 {
        if self.thin || self.parent.is_some() { self.written.min(self.bytes) } else { self.bytes }
    }
}

/// A NIC.
#[derive(Clone, Debug)]
pub(crate) struct Nic {
    pub(crate) model: String,
    pub(crate) mac: String,
    pub(crate) address_type: String,
    pub(crate) network: Ref,
    pub(crate) start_connected: bool,
}

/// What is passed through from the host.
#[derive(Clone, Debug)]
pub(crate) enum Passthrough {
    Vgpu(String),
    Dynamic { allowed: Vec<(i32, i32)>, label: String },
}

impl Device {
    pub(crate) fn is_disk(&self) -> bool {
        matches!(self.what, What::Disk(_))
    }
}

/// What a VM has from the start.
pub(crate) fn controllers() -> Vec<Device> {
    let controller = |key, label: &str, what| Device {
        key,
        controller: (key == SCSI_CONTROLLER).then_some(PCI_CONTROLLER),
        unit: (key == SCSI_CONTROLLER).then_some(3),
        label: label.to_owned(),
        what,
    };
    vec![
        controller(PCI_CONTROLLER, "PCI controller 0", What::Pci),
        controller(SCSI_CONTROLLER, "SCSI controller 0", What::Scsi),
    ]
}

/// The key of a new device.
pub(crate) fn free_key(devices: &[Device], what: &What) -> i32 {
    let from = match what {
        What::Disk(_) => DISK_KEYS,
        What::Nic(_) => NIC_KEYS,
        _ => PCI_KEYS,
    };
    let after = from + devices.len() as i32;
    (from..=after).find(|key| devices.iter().all(|device| device.key != *key)).unwrap_or(after)
}

/// The next free place of a disk; none if the bus is full.
pub(crate) fn free_unit(devices: &[Device]) -> Option<i32> {
    let taken = |unit: i32| {
        let mut disks = devices.iter().filter(|device| device.is_disk());
        disks.any(|disk| disk.unit == Some(unit))
    };
    (0..UNITS).find(|unit| *unit != CONTROLLERS_UNIT && !taken(*unit))
}
