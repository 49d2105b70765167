//! What instances are cloned from.

use jiff::Timestamp;
use joiner_vim::{
    Element, MoRef, Object,
    spec::{Backing, FlatDisk},
};

use super::{Named, Paths};

/// Properties of virtual machines by which templates are found.
pub(crate) const TEMPLATES: &[&str] =
    &["name", "parent", "config.template", "config.createDate", "config.instanceUuid"];

/// Properties of the template that was chosen.
pub(crate) const DETAILS: &[&str] = &[
    // As a whole: older servers do not know all that is read of it.
    "config.hardware",
    "config.guestId",
    "config.version",
    "config.firmware",
    "guest.toolsStatus",
    "runtime.host",
    "snapshot.currentSnapshot",
    "snapshot.rootSnapshotList",
];

/// A virtual machine that others may be cloned from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    pub(crate) named: Named,
    /// Whether it is marked as one.
    pub(crate) is_marked: bool,
    /// When it was made.
    pub(crate) created: Option<Timestamp>,
    /// What vCenter knows it by.
    pub(crate) instance_uuid: String,
    /// What a clone has to know of it; read when it has been chosen.
    pub(crate) details: Details,
}

/// What a clone has to know of its template.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Details {
    /// Its disks, the first to boot from first.
    pub(crate) disks: Vec<Disk>,
    /// Its network adapters.
    pub(crate) nics: Vec<Nic>,
    /// The guest system.
    pub(crate) guest_id: String,
    /// The version of its hardware.
    pub(crate) hw_version: String,
    /// Its firmware, `bios` or `efi`; empty where it is unknown.
    pub(crate) firmware: String,
    /// Whether its mainboard starts by EFI only.
    pub(crate) mainboard_needs_efi: bool,
    /// Whether the guest tools were ever seen in it; none where it is unknown.
    pub(crate) tools: Option<bool>,
    /// The host that it is registered at, which does the work of every clone.
    pub(crate) host: Option<MoRef>,
    /// The snapshot that it is at.
    pub(crate) current_snapshot: Option<MoRef>,
    /// All snapshots by name.
    pub(crate) snapshots: Vec<(String, MoRef)>,
}

/// A disk of a virtual machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Disk {
    pub(crate) key: i32,
    pub(crate) controller_key: Option<i32>,
    pub(crate) unit_number: Option<i32>,
    pub(crate) bytes: u64,
    /// The file it is in, `[datastore] folder/name.vmdk`.
    pub(crate) file_name: String,
    /// The flat file behind it, where it is such.
    pub(crate) backing: Option<Backing>,
    /// Set for disks that outlive their instances: volumes of the cluster.
    pub(crate) first_class: bool,
}

/// A network adapter of a virtual machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Nic {
    pub(crate) key: i32,
    /// Its type in vCenter's words.
    pub(crate) kind: String,
    /// Its hardware address, in lower case.
    pub(crate) mac: Option<String>,
}

impl Template {
    pub(crate) fn read(object: &Object, paths: &Paths) -> Self {
        Self {
            named: paths.named(object),
            is_marked: object.parse("config.template") == Some(true),
            created: object.parse("config.createDate"),
            instance_uuid: object.text("config.instanceUuid").unwrap_or_default().to_owned(),
            details: Details::default(),
        }
    }

    /// Size of the first disk in whole GiB, rounded up.
    pub(crate) fn disk_gib(&self) -> Option<i64> {
        let bytes = self.details.disks.first()?.bytes;
        i64::try_from(bytes.div_ceil(1 << 30)).ok()
    }
}

impl Details {
    pub(crate) fn read(object: &Object) -> Self {
        let hardware = object.value("config.hardware");
        let mainboard = hardware.and_then(|own| own.text_at("motherboardLayout"));
        let text = |path: &str| object.text(path).unwrap_or_default().to_owned();
        let mut snapshots = Vec::new();
        if let Some(roots) = object.value("snapshot.rootSnapshotList") {
            collect_snapshots(&roots.children, &mut snapshots);
        }
        Self {
            disks: hardware.map(disks).unwrap_or_default(),
            nics: hardware.map(nics).unwrap_or_default(),
            guest_id: text("config.guestId"),
            hw_version: text("config.version"),
            firmware: text("config.firmware"),
            mainboard_needs_efi: mainboard == Some("acpiHostBridges"),
            tools: object.text("guest.toolsStatus").map(|status| status != "toolsNotInstalled"),
            host: object.reference("runtime.host"),
            current_snapshot: object.reference("snapshot.currentSnapshot"),
            snapshots,
        }
    }
}

fn collect_snapshots(trees: &[Element], found: &mut Vec<(String, MoRef)>) {
    for tree in trees {
        if let (Some(name), Some(snapshot)) = (tree.text_at("name"), tree.reference_at("snapshot"))
        {
            found.push((name.to_owned(), snapshot));
        }
        let below: Vec<Element> = tree.children_named("childSnapshotList").cloned().collect();
        collect_snapshots(&below, found);
    }
}

/// The disks among devices: by the bus of their controller and their place on it, not in the order
/// in which they are listed.
pub(crate) fn disks(devices: &Element) -> Vec<Disk> {
    let bus = |key: Option<i32>| {
        let is_it = |device: &&Element| device.parse_at("key") == key && key.is_some();
        devices.children.iter().find(is_it).and_then(|device| device.parse_at::<i32>("busNumber"))
    };
    let disks = devices.children.iter().filter(|device| device.is_of_type("VirtualDisk"));
    let mut disks: Vec<Disk> = disks.filter_map(disk).collect();
    disks.sort_by_key(|disk| (bus(disk.controller_key), disk.unit_number, disk.key));
    disks
}

fn disk(device: &Element) -> Option<Disk> {
    let kib = || device.parse_at::<u64>("capacityInKB").map(|kib| kib << 10);
    let bytes = device.parse_at("capacityInBytes").filter(|bytes| *bytes > 0).or_else(kib);
    let text = |path: &str| device.text_at(path).map(str::to_owned);
    let file_name = text("backing.fileName").unwrap_or_default();
    let backing = device.at("backing");
    let is_flat = backing.is_some_and(|own| own.is_of_type("VirtualDiskFlatVer2BackingInfo"));
    let flat = FlatDisk {
        file_name: file_name.clone(),
        datastore: device.reference_at("backing.datastore"),
        disk_mode: text("backing.diskMode").unwrap_or_else(|| "persistent".to_owned()),
        thin_provisioned: device.parse_at("backing.thinProvisioned"),
        eagerly_scrub: device.parse_at("backing.eagerlyScrub"),
        uuid: text("backing.uuid"),
    };
    Some(Disk {
        key: device.parse_at("key")?,
        controller_key: device.parse_at("controllerKey"),
        unit_number: device.parse_at("unitNumber"),
        bytes: bytes.unwrap_or_default(),
        backing: is_flat.then_some(Backing::FlatDisk(flat)),
        file_name,
        first_class: device.at("vDiskId.id").is_some_and(|id| !id.text.is_empty()),
    })
}

/// The adapters among devices, in the order in which they were added.
pub(crate) fn nics(devices: &Element) -> Vec<Nic> {
    let mut nics: Vec<Nic> = devices
        .children
        .iter()
        // Adapters, and nothing else, have an address.
        .filter(|device| {
            device.child("macAddress").is_some() || device.child("addressType").is_some()
        })
        .filter_map(|device| {
            Some(Nic {
                key: device.parse_at("key")?,
                kind: device.xsi_type.as_deref()?.to_owned(),
                mac: device.text_at("macAddress").map(str::to_lowercase),
            })
        })
        .collect();
    nics.sort_by_key(|nic| nic.key);
    nics
}
