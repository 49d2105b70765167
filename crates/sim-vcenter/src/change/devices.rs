//! Changes of devices.

use super::About;
use crate::{
    estate::{
        Estate, NetworkKind,
        device::{self, Device, Disk, Nic, PCI_CONTROLLER, Passthrough, SCSI_CONTROLLER, What},
        vm::Vm,
    },
    fault::Fault,
    reference::{Kind, Ref},
    wire::element::Element,
};

/// Makes the changes of devices that a spec lists, in their order.
pub(crate) fn apply_devices(
    estate: &mut Estate,
    vm: &mut Vm,
    spec: &Element,
    about: About,
) -> Result<(), Fault> {
    let mut temporary = Vec::new();
    for (index, change) in spec.all("deviceChange").enumerate() {
        let wrong = |why: &str| Fault::invalid_device(index, why);
        // The schema has seen to it that there is one, with a key.
        let Some(wanted) = change.child("device") else { continue };
        let key: i32 = wanted.parse("key").unwrap_or(0);
        let known = vm.devices.iter().position(|device| device.key == key);
        match (change.text_of("operation"), known) {
            (Some("remove"), Some(at)) => {
                vm.devices.remove(at);
            }
            (Some("edit") | None, Some(at)) => edit(estate, vm, at, wanted, about, index)?,
            (Some("remove" | "edit") | None, None) => {
                return Err(wrong(&format!("the VM has no device with key {key}")));
            }
            (Some("add"), _) => {
                if temporary.contains(&key) {
                    return Err(wrong(&format!("key {key} is used twice")));
                }
                temporary.push(key);
                let creates = change.text_of("fileOperation") == Some("create");
                let policy = estate.policy_asked_for(change, "deviceChange.profile")?;
                add(estate, vm, wanted, creates, index)?;
                if let Some(What::Disk(disk)) = vm.devices.last_mut().map(|own| &mut own.what) {
                    disk.policy = policy;
                }
            }
            (Some(_), _) => return Err(wrong("the operation is not add, remove or edit")),
        }
    }
    Ok(())
}

/// The files that a change deletes.
pub(crate) fn destroyed_files(devices: &[Device], spec: &Element) -> Vec<String> {
    let removals = spec.all("deviceChange").filter(|change| {
        change.text_of("operation") == Some("remove")
            && change.text_of("fileOperation") == Some("destroy")
    });
    let keys = removals.filter_map(|change| change.child("device")?.parse::<i32>("key"));
    let files = keys.filter_map(|key| {
        let device = devices.iter().find(|device| device.key == key)?;
        match &device.what {
            What::Disk(disk) => Some(disk.file.clone()),
            _ => None,
        }
    });
    files.collect()
}

/// The privileges for a change of a device.
pub(super) fn privilege(change: &Element) -> &'static str {
    let kind = change.child("device").and_then(|device| device.instance_type.as_deref());
    match (kind, change.text_of("operation")) {
        (Some("VirtualDisk"), Some("add")) => "VirtualMachine.Config.AddNewDisk",
        (Some("VirtualDisk"), Some("remove")) => "VirtualMachine.Config.RemoveDisk",
        (Some("VirtualDisk"), _) => "VirtualMachine.Config.DiskExtend",
        (Some("VirtualPCIPassthrough"), _) => "VirtualMachine.Config.RawDevice",
        (_, Some("add" | "remove")) => "VirtualMachine.Config.AddRemoveDevice",
        _ => "VirtualMachine.Config.EditDevice",
    }
}

fn edit(
    estate: &Estate,
    vm: &mut Vm,
    at: usize,
    wanted: &Element,
    about: About,
    index: usize,
) -> Result<(), Fault> {
    let network = network_of(estate, wanted, index)?;
    match &mut vm.devices[at].what {
        What::Disk(disk) => {
            let bytes = capacity(wanted, index)?;
            if bytes < disk.bytes {
                return Err(Fault::invalid_device(index, "a disk cannot be made smaller"));
            }
            if bytes > disk.bytes && (about.linked || disk.parent.is_some()) {
                let why = "a disk that is the child of another cannot grow";
                return Err(Fault::invalid_device(index, why));
            }
            disk.bytes = bytes;
        }
        What::Nic(nic) => {
            if let Some(network) = network {
                nic.network = network;
            }
        }
        What::Pci | What::Scsi | What::Passthrough(_) => {}
    }
    Ok(())
}

fn add(
    estate: &mut Estate,
    vm: &mut Vm,
    wanted: &Element,
    creates: bool,
    index: usize,
) -> Result<(), Fault> {
    let kind = wanted.instance_type.as_deref().unwrap_or_default();
    let (what, controller, unit, label) = match kind {
        "VirtualDisk" => {
            let disk = new_disk(estate, vm, wanted, creates, index)?;
            let unit = disk_unit(vm, wanted, index)?;
            (What::Disk(disk), SCSI_CONTROLLER, Some(unit), "Hard disk")
        }
        "VirtualPCIPassthrough" => {
            (What::Passthrough(passthrough(wanted)), PCI_CONTROLLER, None, "PCI device")
        }
        card if card.starts_with("VirtualVmxnet") || card.starts_with("VirtualE1000") => {
            let Some(network) = network_of(estate, wanted, index)? else {
                return Err(Fault::invalid_device(index, "the NIC is connected to no network"));
            };
            let given = wanted.text_of("macAddress").filter(|mac| !mac.is_empty());
            let nic = Nic {
                model: card.to_owned(),
                mac: given.map_or_else(|| estate.identities.mac(), str::to_owned),
                address_type: if given.is_some() { "manual" } else { "assigned" }.to_owned(),
                network,
                start_connected: wanted
                    .child("connectable")
                    .is_none_or(|connectable| connectable.says("startConnected")),
            };
            (What::Nic(nic), PCI_CONTROLLER, None, "Network adapter")
        }
        other => {
            return Err(Fault::invalid_device(index, &format!("a {other} cannot be added")));
        }
    };
    let count = vm.devices.iter().filter(|device| device.label.starts_with(label)).count();
    let key = device::free_key(&vm.devices, &what);
    let label = format!("{label} {}", count + 1);
    vm.devices.push(Device { key, controller: Some(controller), unit, label, what });
    Ok(())
}

fn new_disk(
    estate: &mut Estate,
    vm: &Vm,
    wanted: &Element,
    creates: bool,
    index: usize,
) -> Result<Disk, Fault> {
    let bytes = capacity(wanted, index)?;
    let Some(backing) = wanted.child("backing") else {
        return Err(Fault::invalid_device(index, "the disk has no backing"));
    };
    let datastore = match backing.child("datastore").map(Element::reference) {
        None => vm.datastore,
        Some(Ok(named)) if estate.datastores.contains_key(&named) => named,
        Some(_) => return Err(Fault::invalid_device(index, "the disk's datastore is not there")),
    };
    let given = backing.text_of("fileName").unwrap_or_default();
    let file = if creates {
        let count = vm.disks().count();
        format!("[{}] {1}/{1}_{count}.vmdk", estate.name(datastore), vm.home)
    } else if given.is_empty() {
        return Err(Fault::invalid_device(index, "the disk has neither a file nor is one created"));
    } else {
        given.to_owned()
    };
    Ok(Disk {
        bytes,
        written: 0,
        thin: backing.says("thinProvisioned"),
        eager: backing.says("eagerlyScrub"),
        mode: backing.text_of("diskMode").unwrap_or("persistent").to_owned(),
        file,
        datastore,
        uuid: estate.identities.uuid("disk"),
        parent: None,
        policy: None,
        first_class: None,
    })
}

/// The place of a new disk: the one that is asked for, or the next.
fn disk_unit(vm: &Vm, wanted: &Element, index: usize) -> Result<i32, Fault> {
    if wanted.parse::<i32>("controllerKey").is_none_or(|key| key != SCSI_CONTROLLER) {
        return Err(Fault::invalid_device(index, "there is no such controller for disks"));
    }
    match wanted.parse::<i32>("unitNumber") {
        None => {
            let free = device::free_unit(&vm.devices);
            free.ok_or_else(|| Fault::invalid_device(index, "the controller is full"))
        }
        Some(7) => Err(Fault::invalid_device(index, "unit 7 is the controller's own")),
        Some(unit) => {
            let mut disks = vm.devices.iter().filter(|device| device.is_disk());
            if disks.any(|disk| disk.unit == Some(unit)) {
                return Err(Fault::invalid_device(index, "the unit is taken"));
            }
            Ok(unit)
        }
    }
}

/// What no disk can hold more of.
const DISK_MAX_BYTES: u64 = 62 << 40;

/// What a disk holds. Both numbers, if both are there, have to mean the same.
fn capacity(wanted: &Element, index: usize) -> Result<u64, Fault> {
    let kib = wanted.parse::<u64>("capacityInKB").map(|kib| kib.saturating_mul(1024));
    let bytes = wanted.parse::<u64>("capacityInBytes");
    match (kib, bytes) {
        (Some(kib), Some(bytes)) if kib != bytes && kib != 0 && bytes != 0 => {
            let why = "capacityInKB and capacityInBytes contradict each other";
            Err(Fault::invalid_device(index, why))
        }
        (kib, bytes) => bytes
            .filter(|bytes| *bytes > 0)
            .or(kib)
            .filter(|bytes| (1..=DISK_MAX_BYTES).contains(bytes))
            .ok_or_else(|| Fault::invalid_device(index, "a disk of no size, or above 62 TiB")),
    }
}

/// The network that a device is to be connected to; none if it says nothing of one.
fn network_of(estate: &Estate, wanted: &Element, index: usize) -> Result<Option<Ref>, Fault> {
    let Some(backing) = wanted.child("backing") else { return Ok(None) };
    let found = match backing.instance_type.as_deref() {
        Some("VirtualEthernetCardNetworkBackingInfo") => {
            let name = backing.text_of("deviceName").unwrap_or_default();
            let mut all = estate.networks.keys();
            all.find(|at| at.kind == Kind::Network && estate.name(**at) == name)
        }
        Some("VirtualEthernetCardDistributedVirtualPortBackingInfo") => {
            let port = backing.child("port");
            let text = |name| port.and_then(|port| port.text_of(name)).unwrap_or_default();
            let (uuid, group) = (text("switchUuid"), text("portgroupKey"));
            let found = estate.networks.iter().find(|(_, network)| match &network.kind {
                NetworkKind::Portgroup { key, switch, uplinks } => {
                    let of_switch = estate.switches.get(switch).is_some_and(|s| s.uuid == uuid);
                    of_switch && key == group && !uplinks
                }
                _ => false,
            });
            found.map(|(network, _)| network)
        }
        Some("VirtualEthernetCardOpaqueNetworkBackingInfo") => {
            let wanted = backing.text_of("opaqueNetworkId").unwrap_or_default();
            let found = estate.networks.iter().find(
                |(_, network)| matches!(&network.kind, NetworkKind::Opaque { id } if id == wanted),
            );
            found.map(|(network, _)| network)
        }
        _ => return Ok(None),
    };
    let missing = || Fault::invalid_device(index, "the network is not there");
    found.copied().map(Some).ok_or_else(missing)
}

fn passthrough(wanted: &Element) -> Passthrough {
    let backing = wanted.child("backing");
    let text = |name| backing.and_then(|of| of.text_of(name)).unwrap_or_default().to_owned();
    match backing.and_then(|of| of.instance_type.as_deref()) {
        Some("VirtualPCIPassthroughVmiopBackingInfo") => Passthrough::Vgpu(text("vgpu")),
        _ => {
            let allowed = backing.into_iter().flat_map(|of| of.all("allowedDevice"));
            let number = |of: &Element, name| of.parse::<i32>(name).unwrap_or(0);
            let allowed =
                allowed.map(|of| (number(of, "vendorId"), number(of, "deviceId"))).collect();
            Passthrough::Dynamic { allowed, label: text("customLabel") }
        }
    }
}

/// The networks that a spec connects NICs to.
pub(crate) fn networks_of(estate: &Estate, spec: &Element) -> Vec<Ref> {
    let changes = spec.all("deviceChange").enumerate();
    let devices = changes.filter_map(|(index, change)| Some((index, change.child("device")?)));
    devices.filter_map(|(index, device)| network_of(estate, device, index).ok().flatten()).collect()
}
