//! Clones, and where they go.

use super::{Backing, ConfigSpec, DeviceChange, profile};
use crate::{MoRef, xml::Writer};

/// How a clone is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloneSpec {
    /// Where it goes.
    pub location: RelocateSpec,
    /// Whether it is a template itself.
    pub template: bool,
    /// What is different from its source.
    pub config: Option<ConfigSpec>,
    /// Whether it is started at once.
    pub power_on: bool,
    /// The snapshot that a linked clone hangs on.
    pub snapshot: Option<MoRef>,
}

impl CloneSpec {
    pub(crate) fn write(&self, xml: &mut Writer, name: &str) {
        xml.nested(name, |xml| {
            self.location.write(xml, "location");
            xml.leaf("template", self.template);
            if let Some(config) = &self.config {
                config.write(xml, "config");
            }
            xml.leaf("powerOn", self.power_on);
            xml.optional_reference("snapshot", self.snapshot.as_ref());
        });
    }
}

/// Where an instance and its disks go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RelocateSpec {
    /// The folder in the inventory.
    pub folder: Option<MoRef>,
    /// The datastore of the instance's files, and of disks without a locator.
    pub datastore: Option<MoRef>,
    /// How disks without a locator are brought there.
    pub disk_move_type: Option<DiskMoveType>,
    /// The resource pool; needed when the source is a template.
    pub pool: Option<MoRef>,
    /// The host, where it is not left to the server.
    pub host: Option<MoRef>,
    /// Disks that go their own way.
    pub disks: Vec<DiskLocator>,
    /// Devices that change on the way.
    pub device_changes: Vec<DeviceChange>,
    /// The storage policy of the instance's own files, by its id.
    pub profile: Option<String>,
}

impl RelocateSpec {
    pub(crate) fn write(&self, xml: &mut Writer, name: &str) {
        xml.nested(name, |xml| {
            xml.optional_reference("folder", self.folder.as_ref());
            xml.optional_reference("datastore", self.datastore.as_ref());
            xml.optional("diskMoveType", self.disk_move_type.map(DiskMoveType::word));
            xml.optional_reference("pool", self.pool.as_ref());
            xml.optional_reference("host", self.host.as_ref());
            for disk in &self.disks {
                disk.write(xml);
            }
            for change in &self.device_changes {
                change.write(xml);
            }
            if let Some(id) = &self.profile {
                profile(xml, "profile", id);
            }
        });
    }
}

/// Where one disk of the source goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskLocator {
    /// The disk's key among the source's devices.
    pub disk_id: i32,
    /// Its datastore.
    pub datastore: MoRef,
    /// How it is brought there.
    pub disk_move_type: Option<DiskMoveType>,
    /// What the disk is to be there, where that differs from the source.
    pub backing: Option<Backing>,
    /// Its storage policy, by its id.
    pub profile: Option<String>,
}

impl DiskLocator {
    fn write(&self, xml: &mut Writer) {
        xml.nested("disk", |xml| {
            xml.leaf("diskId", self.disk_id);
            xml.reference("datastore", &self.datastore);
            xml.optional("diskMoveType", self.disk_move_type.map(DiskMoveType::word));
            if let Some(backing) = &self.backing {
                backing.write(xml, "diskBackingInfo");
            }
            if let Some(id) = &self.profile {
                profile(xml, "profile", id);
            }
        });
    }
}

/// How disks are brought to where they are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskMoveType {
    /// Full clone: everything is copied into one disk.
    MoveAllDiskBackingsAndConsolidate,
    /// Full clone: everything is copied, and nothing of it shared with others.
    MoveAllDiskBackingsAndDisallowSharing,
    /// Everything is copied; what others have already may be shared with them.
    MoveAllDiskBackingsAndAllowSharing,
    /// Linked clone: a new disk holds what differs from the snapshot.
    CreateNewChildDiskBacking,
}

impl DiskMoveType {
    /// The server's word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::MoveAllDiskBackingsAndConsolidate => "moveAllDiskBackingsAndConsolidate",
            Self::MoveAllDiskBackingsAndDisallowSharing => "moveAllDiskBackingsAndDisallowSharing",
            Self::MoveAllDiskBackingsAndAllowSharing => "moveAllDiskBackingsAndAllowSharing",
            Self::CreateNewChildDiskBacking => "createNewChildDiskBacking",
        }
    }
}
