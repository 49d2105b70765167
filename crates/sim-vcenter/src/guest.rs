//! The events in VMs, for the simulation of their guests.

use std::collections::BTreeMap;

/// Something that happened to a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestEvent {
    /// A VM was powered on; its guest begins to boot.
    PoweredOn(GuestVm),
    /// A guest is up, and its name and address can be read.
    Booted {
        /// The VM's name.
        name: String,
        /// Its BIOS uuid.
        uuid: String,
    },
    /// A VM was switched off by any caller; also sent before it is destroyed.
    PoweredOff {
        /// The VM's name.
        name: String,
        /// Its BIOS uuid.
        uuid: String,
    },
}

/// What a guest finds itself in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestVm {
    /// The VM's name.
    pub name: String,
    /// Its BIOS uuid; [`serial_number`](crate::serial_number) is what its firmware makes of it.
    pub uuid: String,
    /// The uuid of the instance, which is the client's choice.
    pub instance_uuid: String,
    /// All of `extraConfig`; the guest itself sees what begins with `guestinfo.`.
    pub extra_config: BTreeMap<String, String>,
    /// Virtual CPUs.
    pub cpus: u32,
    /// Memory.
    pub memory_mib: u64,
    /// The size of the first disk.
    pub disk_gib: u64,
}

impl GuestVm {
    /// What the guest can read under a key, such as `guestinfo.userdata`.
    pub fn guest_info(&self, key: &str) -> Option<&str> {
        let visible = key.starts_with("guestinfo.");
        self.extra_config.get(key).filter(|_| visible).map(String::as_str)
    }
}
