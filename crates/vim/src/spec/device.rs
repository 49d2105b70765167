//! Devices of virtual machines.

use super::profile;
use crate::{MoRef, xml::Writer};

/// A device that comes, changes or goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceChange {
    /// What happens to it.
    pub operation: Operation,
    /// What happens to the file behind it. A disk that is removed without one stays in its
    /// datastore.
    pub file_operation: Option<FileOperation>,
    /// The device.
    pub device: Device,
    /// The storage policy of a disk, by its id.
    pub profile: Option<String>,
}

impl DeviceChange {
    /// A new device.
    pub fn add(device: Device) -> Self {
        Self { operation: Operation::Add, file_operation: None, device, profile: None }
    }

    /// A device as it is to be from now on.
    pub fn edit(device: Device) -> Self {
        Self { operation: Operation::Edit, file_operation: None, device, profile: None }
    }

    /// A device that goes; files behind it stay.
    pub fn remove(device: Device) -> Self {
        Self { operation: Operation::Remove, file_operation: None, device, profile: None }
    }

    /// The same with the file behind it created, replaced or destroyed.
    pub fn with_file(self, file_operation: FileOperation) -> Self {
        Self { file_operation: Some(file_operation), ..self }
    }

    pub(super) fn write(&self, xml: &mut Writer) {
        xml.nested("deviceChange", |xml| {
            xml.leaf("operation", self.operation.word());
            xml.optional("fileOperation", self.file_operation.map(FileOperation::word));
            self.device.write(xml);
            if let Some(id) = &self.profile {
                profile(xml, "profile", id);
            }
        });
    }
}

/// What happens to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// It is new.
    Add,
    /// It becomes what is said of it.
    Edit,
    /// It goes.
    Remove,
}

impl Operation {
    fn word(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Edit => "edit",
            Self::Remove => "remove",
        }
    }
}

/// What happens to the file behind a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOperation {
    /// It is made.
    Create,
    /// It is deleted.
    Destroy,
    /// It is made anew.
    Replace,
}

impl FileOperation {
    fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Destroy => "destroy",
            Self::Replace => "replace",
        }
    }
}

/// A device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Which device it is among the instance's; negative and all different for new ones.
    pub key: i32,
    /// What kind of device it is.
    pub kind: DeviceKind,
    /// What is behind it.
    pub backing: Option<Backing>,
    /// When it is connected.
    pub connectable: Option<Connectable>,
    /// The device that it hangs on.
    pub controller_key: Option<i32>,
    /// Its place there.
    pub unit_number: Option<i32>,
}

impl Device {
    /// A device of a kind, with nothing said about it.
    pub fn new(key: i32, kind: DeviceKind) -> Self {
        Self {
            key,
            kind,
            backing: None,
            connectable: None,
            controller_key: None,
            unit_number: None,
        }
    }

    fn write(&self, xml: &mut Writer) {
        xml.typed("device", self.kind.type_name(), |xml| {
            xml.leaf("key", self.key);
            if let Some(backing) = &self.backing {
                backing.write(xml, "backing");
            }
            if let Some(connectable) = self.connectable {
                connectable.write(xml);
            }
            xml.optional("controllerKey", self.controller_key);
            xml.optional("unitNumber", self.unit_number);
            self.kind.write(xml);
        });
    }
}

/// Kinds of devices, with what only that kind has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceKind {
    /// A disk. Both sizes are sent, because servers differ in which one they read.
    Disk {
        /// How large it is, a multiple of 1,024.
        capacity_in_bytes: u64,
    },
    /// A network card.
    Vmxnet3 {
        /// How the card's address is chosen.
        address: AddressType,
    },
    /// A device of the host, given to the instance.
    PciPassthrough,
    /// A device of another type, by the type's name; enough to remove it.
    Other(String),
}

impl DeviceKind {
    fn type_name(&self) -> &str {
        match self {
            Self::Disk { .. } => "VirtualDisk",
            Self::Vmxnet3 { .. } => "VirtualVmxnet3",
            Self::PciPassthrough => "VirtualPCIPassthrough",
            Self::Other(name) => name,
        }
    }

    fn write(&self, xml: &mut Writer) {
        match self {
            Self::Disk { capacity_in_bytes } => {
                xml.leaf("capacityInKB", capacity_in_bytes / 1024);
                xml.leaf("capacityInBytes", capacity_in_bytes);
            }
            Self::Vmxnet3 { address: AddressType::Generated } => {
                xml.leaf("addressType", "generated");
            }
            Self::Vmxnet3 { address: AddressType::Manual(mac) } => {
                xml.leaf("addressType", "manual");
                xml.leaf("macAddress", mac);
            }
            Self::PciPassthrough | Self::Other(_) => {}
        }
    }
}

/// How a network card's address is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressType {
    /// The vCenter.
    Generated,
    /// We do.
    Manual(String),
}

/// When a device is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connectable {
    /// When the instance starts.
    pub start_connected: bool,
    /// When the guest says so.
    pub allow_guest_control: bool,
    /// Now.
    pub connected: bool,
}

impl Connectable {
    /// Connected from the start and all the time.
    pub const ALWAYS: Self =
        Self { start_connected: true, allow_guest_control: true, connected: true };

    fn write(self, xml: &mut Writer) {
        xml.nested("connectable", |xml| {
            xml.leaf("startConnected", self.start_connected);
            xml.leaf("allowGuestControl", self.allow_guest_control);
            xml.leaf("connected", self.connected);
        });
    }
}

/// What is behind a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backing {
    /// A network of a standard switch, by name.
    Network {
        /// The network's name.
        device_name: String,
    },
    /// A port group of a distributed switch.
    DistributedPort {
        /// The switch's identifier.
        switch_uuid: String,
        /// The port group's key.
        portgroup_key: String,
    },
    /// A network that something else than vSphere manages.
    OpaqueNetwork {
        /// The network's identifier there.
        id: String,
        /// What manages it.
        kind: String,
    },
    /// A disk in a file.
    FlatDisk(FlatDisk),
    /// A share of a graphics card.
    Vgpu {
        /// The profile's name.
        profile: String,
    },
    /// Any device of the host that is one of these.
    DynamicPci {
        /// Which devices will do.
        allowed: Vec<AllowedPciDevice>,
        /// The label that administrators gave such devices.
        custom_label: Option<String>,
    },
}

/// A disk in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlatDisk {
    /// The file, `[datastore] folder/name.vmdk`; empty lets the server choose.
    pub file_name: String,
    /// Its datastore.
    pub datastore: Option<MoRef>,
    /// How writes are treated, `persistent`.
    pub disk_mode: String,
    /// Whether space is taken only when it is written to.
    pub thin_provisioned: Option<bool>,
    /// Whether space is wiped when the disk is made.
    pub eagerly_scrub: Option<bool>,
    /// The disk's identifier.
    pub uuid: Option<String>,
}

/// A device of a host that will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowedPciDevice {
    /// Who made it.
    pub vendor_id: u16,
    /// What it is.
    pub device_id: u16,
}

impl Backing {
    pub(super) fn write(&self, xml: &mut Writer, name: &str) {
        match self {
            Self::Network { device_name } => {
                xml.typed(name, "VirtualEthernetCardNetworkBackingInfo", |xml| {
                    xml.leaf("deviceName", device_name);
                });
            }
            Self::DistributedPort { switch_uuid, portgroup_key } => {
                let kind = "VirtualEthernetCardDistributedVirtualPortBackingInfo";
                xml.typed(name, kind, |xml| {
                    xml.nested("port", |xml| {
                        xml.leaf("switchUuid", switch_uuid);
                        xml.leaf("portgroupKey", portgroup_key);
                    });
                });
            }
            Self::OpaqueNetwork { id, kind } => {
                xml.typed(name, "VirtualEthernetCardOpaqueNetworkBackingInfo", |xml| {
                    xml.leaf("opaqueNetworkId", id);
                    xml.leaf("opaqueNetworkType", kind);
                });
            }
            Self::FlatDisk(disk) => {
                xml.typed(name, "VirtualDiskFlatVer2BackingInfo", |xml| {
                    xml.leaf("fileName", &disk.file_name);
                    xml.optional_reference("datastore", disk.datastore.as_ref());
                    xml.leaf("diskMode", &disk.disk_mode);
                    xml.optional("thinProvisioned", disk.thin_provisioned);
                    xml.optional("eagerlyScrub", disk.eagerly_scrub);
                    xml.optional("uuid", disk.uuid.as_ref());
                });
            }
            Self::Vgpu { profile } => {
                xml.typed(name, "VirtualPCIPassthroughVmiopBackingInfo", |xml| {
                    xml.leaf("vgpu", profile);
                });
            }
            Self::DynamicPci { allowed, custom_label } => {
                xml.typed(name, "VirtualPCIPassthroughDynamicBackingInfo", |xml| {
                    // The schema wants a name, the server chooses the device.
                    xml.leaf("deviceName", "");
                    for device in allowed {
                        xml.nested("allowedDevice", |xml| {
                            xml.leaf("vendorId", device.vendor_id);
                            xml.leaf("deviceId", device.device_id);
                        });
                    }
                    xml.optional("customLabel", custom_label.as_ref());
                });
            }
        }
    }
}
