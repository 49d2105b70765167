//! Devices as clients read them.

use crate::{
    estate::{
        NetworkKind,
        device::{Device, Disk, Nic, Passthrough, What},
    },
    wire::value::Value::{self, Bool, Data, Int, List, Long, Ref as Named},
    world::World,
};

pub(super) fn devices<'w>(world: &'w World, devices: &'w [Device]) -> Value<'w> {
    List("VirtualDevice", devices.iter().map(|device| of_device(world, devices, device)).collect())
}

fn of_device<'w>(world: &'w World, all: &'w [Device], device: &'w Device) -> Value<'w> {
    let attached = || {
        let on = all.iter().filter(|other| other.controller == Some(device.key));
        List("int", on.map(|other| Int(other.key)).collect())
    };
    let (kind, summary, backing, connectable, own) = match &device.what {
        What::Pci => (
            "VirtualPCIController",
            String::new(),
            Value::Unset,
            Value::Unset,
            vec![("busNumber", Int(0)), ("device", attached())],
        ),
        What::Scsi => (
            "ParaVirtualSCSIController",
            "VMware paravirtual SCSI".to_owned(),
            Value::Unset,
            Value::Unset,
            vec![
                ("busNumber", Int(0)),
                ("device", attached()),
                ("hotAddRemove", Bool(true)),
                ("sharedBus", Value::word("VirtualSCSISharing", "noSharing")),
                ("scsiCtlrUnitNumber", Int(7)),
            ],
        ),
        What::Disk(disk) => (
            "VirtualDisk",
            format!("{} KB", disk.bytes / 1024),
            flat(disk),
            Value::Unset,
            vec![
                ("capacityInKB", Long((disk.bytes / 1024) as i64)),
                ("capacityInBytes", Long(disk.bytes as i64)),
                ("diskObjectId", Value::Unset),
                (
                    "vDiskId",
                    Value::maybe(disk.first_class.as_deref(), |id| {
                        Data("ID", vec![("id", Value::text(id))])
                    }),
                ),
            ],
        ),
        What::Nic(nic) => {
            let connectable = Data(
                "VirtualDeviceConnectInfo",
                vec![
                    ("startConnected", Bool(nic.start_connected)),
                    ("allowGuestControl", Bool(true)),
                    ("connected", Bool(nic.start_connected)),
                    ("status", Value::text("untried")),
                ],
            );
            let own = vec![
                ("addressType", Value::text(&*nic.address_type)),
                ("macAddress", Value::text(&*nic.mac)),
                ("wakeOnLanEnabled", Bool(true)),
            ];
            // One of the models that requests are allowed to have.
            let kind = match nic.model.as_str() {
                "VirtualE1000" => "VirtualE1000",
                "VirtualE1000e" => "VirtualE1000e",
                _ => "VirtualVmxnet3",
            };
            (kind, world.estate.name(nic.network).to_owned(), wired(world, nic), connectable, own)
        }
        What::Passthrough(of) => {
            ("VirtualPCIPassthrough", String::new(), passed(of), Value::Unset, Vec::new())
        }
    };
    let info = Value::sub(
        "Description",
        vec![("label", Value::text(&*device.label)), ("summary", Value::text(summary))],
    );
    let mut fields = vec![
        ("key", Int(device.key)),
        ("deviceInfo", info),
        ("backing", backing),
        ("connectable", connectable),
        ("controllerKey", Value::maybe(device.controller, Int)),
        ("unitNumber", Value::maybe(device.unit, Int)),
    ];
    fields.extend(own);
    Value::sub(kind, fields)
}

fn flat(disk: &Disk) -> Value<'_> {
    let parent = disk.parent.as_deref().map(|file| {
        Data(
            "VirtualDiskFlatVer2BackingInfo",
            vec![("fileName", Value::text(file)), ("diskMode", Value::text("persistent"))],
        )
    });
    Value::sub(
        "VirtualDiskFlatVer2BackingInfo",
        vec![
            ("fileName", Value::text(&*disk.file)),
            ("datastore", Named(disk.datastore)),
            ("diskMode", Value::text(&*disk.mode)),
            ("split", Bool(false)),
            ("writeThrough", Bool(false)),
            ("thinProvisioned", Bool(disk.thin)),
            ("eagerlyScrub", if disk.eager { Bool(true) } else { Value::Unset }),
            ("uuid", Value::text(&*disk.uuid)),
            ("contentId", Value::Unset),
            ("parent", parent.unwrap_or(Value::Unset)),
        ],
    )
}

fn wired<'w>(world: &'w World, nic: &'w Nic) -> Value<'w> {
    let estate = &world.estate;
    match estate.networks.get(&nic.network).map(|network| &network.kind) {
        Some(NetworkKind::Portgroup { key, switch, .. }) => {
            let uuid = estate.switches.get(switch).map_or("", |switch| &*switch.uuid);
            let port = Data(
                "DistributedVirtualSwitchPortConnection",
                vec![
                    ("switchUuid", Value::text(uuid)),
                    ("portgroupKey", Value::text(&**key)),
                    ("portKey", Value::Unset),
                ],
            );
            let kind = "VirtualEthernetCardDistributedVirtualPortBackingInfo";
            Value::sub(kind, vec![("port", port)])
        }
        Some(NetworkKind::Opaque { id }) => Value::sub(
            "VirtualEthernetCardOpaqueNetworkBackingInfo",
            vec![
                ("opaqueNetworkId", Value::text(&**id)),
                ("opaqueNetworkType", Value::text("nsx.LogicalSwitch")),
            ],
        ),
        _ => Value::sub(
            "VirtualEthernetCardNetworkBackingInfo",
            vec![
                ("deviceName", Value::text(estate.name(nic.network))),
                ("useAutoDetect", Bool(false)),
                ("network", Named(nic.network)),
            ],
        ),
    }
}

fn passed(of: &Passthrough) -> Value<'_> {
    match of {
        Passthrough::Vgpu(profile) => Value::sub(
            "VirtualPCIPassthroughVmiopBackingInfo",
            vec![("vgpu", Value::text(&**profile))],
        ),
        Passthrough::Dynamic { allowed, label } => {
            let allowed = allowed.iter().map(|(vendor, device)| {
                let fields = vec![("vendorId", Int(*vendor)), ("deviceId", Int(*device))];
                Data("VirtualPCIPassthroughAllowedDevice", fields)
            });
            Value::sub(
                "VirtualPCIPassthroughDynamicBackingInfo",
                vec![
                    ("deviceName", Value::text("")),
                    (
                        "allowedDevice",
                        List("VirtualPCIPassthroughAllowedDevice", allowed.collect()),
                    ),
                    ("customLabel", Value::text(&**label)),
                ],
            )
        }
    }
}
