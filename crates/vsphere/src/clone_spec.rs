//! The request to vCenter that makes an instance.

use joiner_cloud::{bootstrap::Secret, mark::Mark};
use joiner_vim::{
    MoRef,
    spec::{
        AddressType, Backing, CloneSpec, ConfigSpec, Connectable, Device, DeviceChange, DeviceKind,
        DiskLocator, DiskMoveType, ExtraConfig, FileOperation, FlatDisk, RelocateSpec,
    },
};

use crate::{
    choose::Unresolved,
    instances::Hardware,
    inventory::{Details, Disk, Network, Template},
    marks,
    networks::Adapter,
    node_class::{NodeClass, Spec},
    resources,
    vm::CLONED_FROM,
    vm_settings::{CloneMode, Provisioning},
};

const GIB: u64 = 1 << 30;
/// New devices have negative keys, all different: adapters from here down.
const FIRST_NIC_KEY: i32 = -100;
/// Data disks from here down.
const FIRST_DISK_KEY: i32 = -300;
/// The unit number that a SCSI controller reserves for itself.
const CONTROLLERS_UNIT: i32 = 7;

/// How the disks of a clone are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Copying {
    /// As copies.
    Full,
    /// As differences to a snapshot.
    Linked(MoRef),
}

impl Copying {
    /// Decides how disks come to be.
    pub(crate) fn choose(
        class: &NodeClass,
        template: &Template,
        disk_gib: u64,
    ) -> Result<Self, Unresolved> {
        let spec = &class.spec;
        let mode = CloneMode::read(spec.clone_mode.as_deref()).unwrap_or_default();
        let path = &template.named.path;
        let snapshot = snapshot(spec, template);
        let grows = root_growth(&template.details, disk_gib).is_some();
        match (mode, snapshot) {
            (CloneMode::Auto, Some(snapshot)) if !grows => Ok(Self::Linked(snapshot)),
            (CloneMode::Full | CloneMode::Auto, _) => Ok(Self::Full),
            (CloneMode::Linked, None) => Err(Unresolved {
                reason: "SnapshotNotFound",
                message: match spec.snapshot.as_deref() {
                    Some(name) => format!(
                        "spec.snapshot: {path} has no snapshot {name:?}; take one of that name, or \
                         write the name of one that it has"
                    ),
                    None => format!(
                        "spec.cloneMode is linkedClone, but {path} has no snapshot; take one, or \
                         write auto"
                    ),
                },
            }),
            (CloneMode::Linked, Some(_)) if grows => Err(Unresolved {
                reason: "DiskCannotGrow",
                message: format!(
                    "spec.diskSize asks for {disk_gib} GiB, but a linked clone keeps the size of \
                     {path}; write cloneMode: fullClone, or leave diskSize out"
                ),
            }),
            (CloneMode::Linked, Some(snapshot)) => Ok(Self::Linked(snapshot)),
        }
    }
}

fn snapshot(spec: &Spec, template: &Template) -> Option<MoRef> {
    let Some(wanted) = spec.snapshot.as_deref().filter(|name| !name.is_empty()) else {
        return template.details.current_snapshot.clone();
    };
    let found = template.details.snapshots.iter().find(|(name, _)| name == wanted);
    found.map(|(_, snapshot)| snapshot.clone())
}

/// The root disk with its new size, if it must be larger than the template's.
fn root_growth(template: &Details, disk_gib: u64) -> Option<(&Disk, u64)> {
    let root = template.disks.first()?;
    let bytes = disk_gib.saturating_mul(GIB);
    (bytes > root.bytes).then_some((root, bytes))
}

/// Everything that an instance is made of.
pub(crate) struct Making<'m> {
    pub(crate) class: &'m NodeClass,
    pub(crate) template: &'m Template,
    pub(crate) copying: &'m Copying,
    pub(crate) folder: &'m MoRef,
    pub(crate) pool: &'m MoRef,
    pub(crate) datastore: &'m MoRef,
    /// The id of the storage policy.
    pub(crate) storage_policy: Option<&'m str>,
    /// The network of each adapter.
    pub(crate) networks: &'m [Network],
    pub(crate) hardware: Hardware,
    pub(crate) mark: &'m Mark,
    pub(crate) guestinfo: &'m [(String, Secret<String>)],
}

/// The clone request. It contains the mark, so that every instance has its mark from the start.
pub(crate) fn clone_spec(making: &Making<'_>) -> CloneSpec {
    let spec = &making.class.spec;
    let (whole, each, snapshot) = match making.copying {
        Copying::Full => (
            DiskMoveType::MoveAllDiskBackingsAndConsolidate,
            DiskMoveType::MoveAllDiskBackingsAndDisallowSharing,
            None,
        ),
        Copying::Linked(snapshot) => (
            DiskMoveType::CreateNewChildDiskBacking,
            DiskMoveType::CreateNewChildDiskBacking,
            Some(snapshot.clone()),
        ),
    };
    let disks = making.template.details.disks.iter().map(|disk| DiskLocator {
        disk_id: disk.key,
        datastore: making.datastore.clone(),
        disk_move_type: Some(each),
        backing: None,
        profile: making.storage_policy.map(str::to_owned),
    });
    let (cpu_allocation, memory_allocation) =
        resources::allocations(spec, making.hardware.memory_mib);
    CloneSpec {
        location: RelocateSpec {
            folder: Some(making.folder.clone()),
            datastore: Some(making.datastore.clone()),
            disk_move_type: Some(whole),
            pool: Some(making.pool.clone()),
            disks: disks.collect(),
            profile: making.storage_policy.map(str::to_owned),
            ..RelocateSpec::default()
        },
        template: false,
        config: Some(ConfigSpec {
            instance_uuid: Some(making.mark.claim.uid.clone()),
            guest_id: spec.guest_id.clone().filter(|id| !id.is_empty()),
            annotation: Some(annotation(making)),
            // The storage driver finds volumes by it.
            disk_uuid_enabled: Some(true),
            num_cpus: Some(making.hardware.cpus),
            num_cores_per_socket: making.hardware.cores_per_socket,
            memory_mb: Some(making.hardware.memory_mib),
            device_changes: device_changes(making),
            cpu_allocation,
            memory_allocation,
            extra_config: extra_config(making),
            // Otherwise cloud-init might read the template's own data.
            v_app_config_removed: Some(true),
            ..ConfigSpec::default()
        }),
        power_on: false,
        snapshot,
    }
}

fn annotation(making: &Making<'_>) -> String {
    let Mark { cluster, claim, pool, .. } = making.mark;
    let of_pool = if pool.is_empty() { String::new() } else { format!(" of NodePool {pool}") };
    format!(
        "{CLONED_FROM}{}\nNode of cluster {cluster}, made by Joiner for NodeClaim {}{of_pool}. It \
         is removed with its NodeClaim; do not remove it here.",
        making.template.named.path, claim.name
    )
}

fn extra_config(making: &Making<'_>) -> Vec<ExtraConfig> {
    let users = making.class.spec.custom_vmx_keys.iter().flatten();
    let users = users.map(|(key, value)| ExtraConfig::new(key, value));
    let guest = making.guestinfo.iter();
    let guest = guest.map(|(key, value)| ExtraConfig::new(key, value.reveal()));
    let mark = marks::replacing(making.mark).into_iter();
    let mark = mark.map(|(key, value)| ExtraConfig::new(key, value));
    users.chain(guest).chain(mark).collect()
}

fn device_changes(making: &Making<'_>) -> Vec<DeviceChange> {
    let template = &making.template.details;
    let removed = template
        .nics
        .iter()
        .map(|nic| DeviceChange::remove(Device::new(nic.key, DeviceKind::Other(nic.kind.clone()))));
    let mut changes: Vec<DeviceChange> = removed.chain(adapters(making)).collect();
    if let Some((root, bytes)) = root_growth(template, making.hardware.disk_gib)
        && *making.copying == Copying::Full
    {
        changes.push(DeviceChange::edit(Device {
            key: root.key,
            kind: DeviceKind::Disk { capacity_in_bytes: bytes },
            backing: root.backing.clone(),
            connectable: None,
            controller_key: root.controller_key,
            unit_number: root.unit_number,
        }));
    }
    changes.extend(data_disks(making));
    changes
}

/// New adapters, in the order of the class's.
fn adapters(making: &Making<'_>) -> impl Iterator<Item = DeviceChange> {
    let said = making.class.spec.adapters();
    let keys = (i32::MIN..=FIRST_NIC_KEY).rev();
    making.networks.iter().zip(keys).enumerate().map(|(i, (network, key))| {
        let mac = said.get(i).and_then(Adapter::mac);
        let address = mac.map_or(AddressType::Generated, AddressType::Manual);
        DeviceChange::add(Device {
            backing: network.backing.clone(),
            connectable: Some(Connectable::ALWAYS),
            ..Device::new(key, DeviceKind::Vmxnet3 { address })
        })
    })
}

/// New disks, on the root disk's controller, in the places that are free there.
fn data_disks(making: &Making<'_>) -> Vec<DeviceChange> {
    let template = &making.template.details;
    let controller = template.disks.first().and_then(|root| root.controller_key);
    let on_it = template.disks.iter().filter(|disk| disk.controller_key == controller);
    let used: Vec<i32> = on_it.filter_map(|disk| disk.unit_number).collect();
    let free = (0..).filter(|unit| *unit != CONTROLLERS_UNIT && !used.contains(unit));
    let wanted = making.class.spec.data_disks.iter().flatten();
    wanted
        .zip(free)
        .zip((i32::MIN..=FIRST_DISK_KEY).rev())
        .map(|((disk, unit), key)| {
            let gib = disk.size_gib.unwrap_or_default().max(0).unsigned_abs();
            let mode = Provisioning::read(disk.provisioning_mode.as_deref()).unwrap_or_default();
            let (thin, eager) = match mode {
                Provisioning::Default => (None, None),
                Provisioning::Thin => (Some(true), None),
                Provisioning::Thick => (Some(false), Some(false)),
                Provisioning::EagerlyZeroed => (Some(false), Some(true)),
            };
            let backing = Backing::FlatDisk(FlatDisk {
                datastore: Some(making.datastore.clone()),
                disk_mode: "persistent".to_owned(),
                thin_provisioned: thin,
                eagerly_scrub: eager,
                ..FlatDisk::default()
            });
            let kind = DeviceKind::Disk { capacity_in_bytes: gib * GIB };
            let added = DeviceChange::add(Device {
                backing: Some(backing),
                controller_key: controller,
                unit_number: Some(unit),
                ..Device::new(key, kind)
            });
            let profile = making.storage_policy.map(str::to_owned);
            DeviceChange { profile, ..added.with_file(FileOperation::Create) }
        })
        .collect()
}

/// Foreign disks of an instance that must outlive it: volumes of the cluster, and disks outside of
/// the instance's folder. Destroying an instance destroys every attached disk.
pub(crate) fn disks_to_detach<'d>(disks: &'d [Disk], instance_file: &str) -> Vec<&'d Disk> {
    // `[datastore] folder/name.vmx`
    let home = instance_file.rsplit_once('/').map(|(home, _)| home);
    let folder = home.and_then(|home| home.split_once("] ")).map(|(_, folder)| folder);
    let is_at_home = |disk: &Disk| {
        // A disk of the instance may be in another datastore, in a folder of the same name.
        let own = disk.file_name.rsplit_once('/').map(|(own, _)| own);
        own.and_then(|own| own.split_once("] ")).map(|(_, own)| own) == folder && folder.is_some()
    };
    disks.iter().filter(|disk| disk.first_class || !is_at_home(disk)).collect()
}

#[cfg(test)]
mod tests;
