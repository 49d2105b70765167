//! What is asked for: clones, configurations, devices.
//!
//! Plain values. The server inherits or chooses omitted fields. Fields are written in the order of
//! the schema, which a vCenter requires.

mod config;
mod device;
mod relocate;

pub use config::{Allocation, ConfigSpec, ExtraConfig, Shares};
pub use device::{
    AddressType, AllowedPciDevice, Backing, Connectable, Device, DeviceChange, DeviceKind,
    FileOperation, FlatDisk, Operation,
};
pub use relocate::{CloneSpec, DiskLocator, DiskMoveType, RelocateSpec};

use crate::xml::Writer;

/// A storage policy, as devices, disks and whole instances ask for it.
fn profile(xml: &mut Writer, name: &str, id: &str) {
    xml.typed(name, "VirtualMachineDefinedProfileSpec", |xml| xml.leaf("profileId", id));
}

#[cfg(test)]
mod tests;
