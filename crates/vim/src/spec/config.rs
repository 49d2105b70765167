//! Configurations of virtual machines.

use super::{DeviceChange, profile};
use crate::xml::Writer;

/// What a virtual machine is to be, or what is to change about it. What is none stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigSpec {
    /// Refuse the change unless the instance's `config.changeVersion` is this one.
    pub change_version: Option<String>,
    /// Its name in the inventory, not escaped.
    pub name: Option<String>,
    /// The virtual hardware's version, `vmx-19`.
    pub version: Option<String>,
    /// The BIOS's identifier.
    pub uuid: Option<String>,
    /// The vCenter's identifier of the instance.
    pub instance_uuid: Option<String>,
    /// The guest operating system's short name.
    pub guest_id: Option<String>,
    /// The notes that people see.
    pub annotation: Option<String>,
    /// Whether the guest sees its disks' identifiers.
    pub disk_uuid_enabled: Option<bool>,
    /// Virtual processors.
    pub num_cpus: Option<u32>,
    /// How many of them share a socket.
    pub num_cores_per_socket: Option<u32>,
    /// Memory in MiB.
    pub memory_mb: Option<u64>,
    /// Whether memory may grow while the instance runs.
    pub memory_hot_add_enabled: Option<bool>,
    /// Whether processors may be added while the instance runs.
    pub cpu_hot_add_enabled: Option<bool>,
    /// Devices that come, change or go.
    pub device_changes: Vec<DeviceChange>,
    /// Shares of processors, in MHz.
    pub cpu_allocation: Option<Allocation>,
    /// Shares of memory, in MiB.
    pub memory_allocation: Option<Allocation>,
    /// Keys and values of the instance's configuration file.
    pub extra_config: Vec<ExtraConfig>,
    /// Whether the instance forgets that it was a virtual appliance.
    pub v_app_config_removed: Option<bool>,
    /// `bios` or `efi`.
    pub firmware: Option<String>,
    /// Whether all memory is reserved at any size; passthrough devices need it.
    pub memory_reservation_locked_to_max: Option<bool>,
    /// Whether the guest may run virtual machines itself.
    pub nested_hv_enabled: Option<bool>,
    /// The storage policy of the instance's own files, by its id.
    pub vm_profile: Option<String>,
}

impl ConfigSpec {
    pub(crate) fn write(&self, xml: &mut Writer, name: &str) {
        xml.nested(name, |xml| {
            xml.optional("changeVersion", self.change_version.as_ref());
            xml.optional("name", self.name.as_deref().map(crate::inventory_name::escaped));
            xml.optional("version", self.version.as_ref());
            xml.optional("uuid", self.uuid.as_ref());
            xml.optional("instanceUuid", self.instance_uuid.as_ref());
            xml.optional("guestId", self.guest_id.as_ref());
            xml.optional("annotation", self.annotation.as_ref());
            if let Some(enabled) = self.disk_uuid_enabled {
                xml.nested("flags", |xml| xml.leaf("diskUuidEnabled", enabled));
            }
            xml.optional("numCPUs", self.num_cpus);
            xml.optional("numCoresPerSocket", self.num_cores_per_socket);
            xml.optional("memoryMB", self.memory_mb);
            xml.optional("memoryHotAddEnabled", self.memory_hot_add_enabled);
            xml.optional("cpuHotAddEnabled", self.cpu_hot_add_enabled);
            for change in &self.device_changes {
                change.write(xml);
            }
            if let Some(allocation) = &self.cpu_allocation {
                allocation.write(xml, "cpuAllocation");
            }
            if let Some(allocation) = &self.memory_allocation {
                allocation.write(xml, "memoryAllocation");
            }
            for ExtraConfig { key, value } in &self.extra_config {
                xml.nested("extraConfig", |xml| {
                    xml.leaf("key", key);
                    xml.typed_leaf("value", "xsd:string", value);
                });
            }
            xml.optional("vAppConfigRemoved", self.v_app_config_removed);
            xml.optional("firmware", self.firmware.as_ref());
            xml.optional("memoryReservationLockedToMax", self.memory_reservation_locked_to_max);
            xml.optional("nestedHVEnabled", self.nested_hv_enabled);
            if let Some(id) = &self.vm_profile {
                profile(xml, "vmProfile", id);
            }
        });
    }
}

/// A key and its value in an instance's configuration file. An empty value removes the key.
#[derive(Clone, PartialEq, Eq)]
pub struct ExtraConfig {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
}

impl ExtraConfig {
    /// A key and its value.
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into() }
    }
}

impl std::fmt::Debug for ExtraConfig {
    /// Without the value: user data holds tokens.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}=[{} bytes]", self.key, self.value.len())
    }
}

/// What an instance is promised of its hosts' resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allocation {
    /// What it has for certain.
    pub reservation: Option<u64>,
    /// The limit; -1 is no limit.
    pub limit: Option<i64>,
    /// How much of a scarce resource it gets, compared with others.
    pub shares: Option<Shares>,
}

impl Allocation {
    fn write(&self, xml: &mut Writer, name: &str) {
        xml.nested(name, |xml| {
            xml.optional("reservation", self.reservation);
            xml.optional("limit", self.limit);
            if let Some(shares) = self.shares {
                let (number, level) = shares.words();
                xml.nested("shares", |xml| {
                    xml.leaf("shares", number);
                    xml.leaf("level", level);
                });
            }
        });
    }
}

/// How much of a scarce resource an instance gets, compared with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shares {
    /// Half of the usual.
    Low,
    /// The usual.
    Normal,
    /// Twice the usual.
    High,
    /// A number of one's own.
    Custom(u32),
}

impl Shares {
    /// The number counts for `custom` only, but the schema wants one always.
    fn words(self) -> (u32, &'static str) {
        match self {
            Self::Low => (0, "low"),
            Self::Normal => (0, "normal"),
            Self::High => (0, "high"),
            Self::Custom(shares) => (shares, "custom"),
        }
    }
}
