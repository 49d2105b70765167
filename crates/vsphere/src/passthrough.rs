//! Devices of a host that an instance has to itself, or a share of.

use std::fmt::Display;

use joiner_cloud::scalar::written;
use joiner_core::{quantity::Quantity, resources::Resources};
use joiner_vim::{
    Element,
    spec::{AllowedPciDevice, Backing, ConfigSpec, Device, DeviceChange, DeviceKind},
};

use crate::node_class::{Entry, PciDevice};

/// New devices have negative keys, all different: these from here down.
const FIRST_KEY: i32 = -200;

/// An instance has no more devices of a host than this.
const MAX_DEVICES: usize = 16;

/// The extended resource of a vendor's devices; other devices are named by `extendedResources`.
const RESOURCES: [(u16, &str); 2] = [(NVIDIA, "nvidia.com/gpu"), (0x1002, "amd.com/gpu")];
const NVIDIA: u16 = 0x10de;

/// A device of a host, as an instance asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostDevice {
    /// Any device of this vendor and kind.
    Pci {
        /// The PCI vendor.
        vendor_id: u16,
        /// The PCI device.
        device_id: u16,
        /// The label that administrators gave to such devices.
        custom_label: Option<String>,
    },
    /// A share of a graphics card.
    Vgpu {
        /// The share's profile.
        profile: String,
    },
}

impl HostDevice {
    /// Reads what a size asks for; each thing that is wrong with it is told with its field.
    pub(crate) fn read(entry: &Entry, mut refuse: impl FnMut(&str, String)) -> Vec<Self> {
        let mut devices = Vec::new();
        for (i, device) in entry.pci_devices.iter().flatten().enumerate() {
            let mut id = |field: &str, value: Option<&dyn Display>| {
                let text = written(value.map(ToString::to_string).as_ref());
                let id = text.as_deref().and_then(id);
                if id.is_none() {
                    let text = text.unwrap_or_default();
                    refuse(
                        &format!("pciDevices[{i}].{field}"),
                        format!("{text:?} is no device's number; write one such as 0x10de"),
                    );
                }
                id
            };
            let PciDevice { vendor_id, device_id, custom_label } = device;
            let vendor_id = id("vendorId", vendor_id.as_ref().map(|own| own as &dyn Display));
            let device_id = id("deviceId", device_id.as_ref().map(|own| own as &dyn Display));
            if let (Some(vendor_id), Some(device_id)) = (vendor_id, device_id) {
                let custom_label = custom_label.clone().filter(|label| !label.is_empty());
                devices.push(Self::Pci { vendor_id, device_id, custom_label });
            }
        }
        if let Some(vgpu) = &entry.vgpu {
            let profile = written(vgpu.profile.as_ref());
            if profile.is_none() {
                let text = "is missing; write the profile's name, such as grid_a100-10c";
                refuse("vgpu.profile", text.to_owned());
            }
            let count = vgpu.count.unwrap_or(1);
            let shares =
                usize::try_from(count).ok().filter(|shares| (1..=MAX_DEVICES).contains(shares));
            if shares.is_none() {
                let text = format!("{count} cannot be had; write a number from 1 to {MAX_DEVICES}");
                refuse("vgpu.count", text);
            }
            let profile = profile.unwrap_or_default();
            devices.extend(vec![Self::Vgpu { profile }; shares.unwrap_or_default()]);
        }
        if devices.len() > MAX_DEVICES {
            let text = format!("are {} devices; keep {MAX_DEVICES} at most", devices.len());
            refuse("pciDevices", text);
        }
        devices
    }

    /// The name of its extended resource, if known.
    fn resource(&self) -> Option<&'static str> {
        let vendor = match self {
            Self::Pci { vendor_id, .. } => *vendor_id,
            // Profiles are NVIDIA's.
            Self::Vgpu { .. } => NVIDIA,
        };
        RESOURCES.iter().find(|(known, _)| *known == vendor).map(|(_, name)| *name)
    }

    fn backing(&self) -> Backing {
        match self.clone() {
            Self::Pci { vendor_id, device_id, custom_label } => Backing::DynamicPci {
                allowed: vec![AllowedPciDevice { vendor_id, device_id }],
                custom_label,
            },
            Self::Vgpu { profile } => Backing::Vgpu { profile },
        }
    }
}

/// A number in decimal, or in hexadecimal as catalogues of devices write it.
fn id(text: &str) -> Option<u16> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => u16::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Adds what nodes call these devices to the resources of a size, unless it names them itself.
pub(crate) fn add_resources(devices: &[HostDevice], resources: &mut Resources) {
    for (_, name) in RESOURCES {
        let count = devices.iter().filter(|device| device.resource() == Some(name)).count();
        if count > 0 && !resources.contains(name) {
            resources.set(name, Quantity::whole(count as i64));
        }
    }
}

/// The changes that give these devices to a stopped instance; none if it has them. They are added all
/// at once, or none is, and only to the instance as it was `seen`: an earlier process may be about to
/// add them.
pub(crate) fn missing(
    devices: &[HostDevice],
    own: &Element,
    seen: Option<&str>,
) -> Option<ConfigSpec> {
    let had = own.children.iter().filter(|device| device.is_of_type("VirtualPCIPassthrough"));
    if devices.is_empty() || had.count() >= devices.len() {
        return None;
    }
    let keys = (i32::MIN..=FIRST_KEY).rev();
    let changes = devices.iter().zip(keys).map(|(device, key)| {
        DeviceChange::add(Device {
            backing: Some(device.backing()),
            ..Device::new(key, DeviceKind::PciPassthrough)
        })
    });
    Some(ConfigSpec {
        change_version: seen.map(str::to_owned),
        device_changes: changes.collect(),
        // A device with direct memory access needs locked memory.
        memory_reservation_locked_to_max: Some(true),
        ..ConfigSpec::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(entry: Value) -> (Vec<HostDevice>, Vec<String>) {
        let entry: Entry = serde_json::from_value(entry).unwrap();
        let mut problems = Vec::new();
        let devices =
            HostDevice::read(&entry, |field, text| problems.push(format!("{field}: {text}")));
        (devices, problems)
    }

    fn resources(entry: Value, own: &[(&str, i64)]) -> String {
        let own = own.iter().map(|(name, count)| (*name, Quantity::whole(*count)));
        let mut resources: Resources = own.collect();
        add_resources(&read(entry).0, &mut resources);
        resources.to_string()
    }

    #[test]
    fn numbers_are_decimal_or_as_catalogues_write_them() {
        let (devices, problems) = read(json!({"pciDevices": [
            {"vendorId": "0x10DE", "deviceId": "0x20b5"},
            {"vendorId": 4318, "deviceId": "8373", "customLabel": "training"},
        ]}));
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(
            devices,
            [None, Some("training".to_owned())].map(|custom_label| HostDevice::Pci {
                vendor_id: 0x10de,
                device_id: 0x20b5,
                custom_label,
            })
        );
    }

    #[test]
    fn what_is_no_device_is_told() {
        let (_, problems) = read(json!({
            "pciDevices": [{"vendorId": "nvidia"}, {"vendorId": 1, "deviceId": 65536}],
            "vgpu": {"count": 0},
        }));
        assert_eq!(
            problems,
            [
                "pciDevices[0].vendorId: \"nvidia\" is no device's number; write one such as 0x10de",
                "pciDevices[0].deviceId: \"\" is no device's number; write one such as 0x10de",
                "pciDevices[1].deviceId: \"65536\" is no device's number; write one such as 0x10de",
                "vgpu.profile: is missing; write the profile's name, such as grid_a100-10c",
                "vgpu.count: 0 cannot be had; write a number from 1 to 16",
            ]
        );
    }

    #[test]
    fn nodes_have_the_devices_as_resources() {
        let gpu = json!({"vendorId": 0x10de, "deviceId": 1});
        assert_eq!(resources(json!({"pciDevices": [gpu, gpu]}), &[]), "nvidia.com/gpu 2");
        assert_eq!(
            resources(json!({"vgpu": {"profile": "grid_a100-10c"}}), &[]),
            "nvidia.com/gpu 1"
        );
        let shares = json!({"vgpu": {"profile": "grid_a100-10c", "count": 2}});
        assert_eq!(resources(shares, &[]), "nvidia.com/gpu 2");
        let other = json!({"vendorId": 0x8086, "deviceId": 1});
        assert_eq!(resources(json!({"pciDevices": [other]}), &[]), "");
        assert_eq!(
            resources(json!({"vgpu": {"profile": "grid_a100-10c"}}), &[("nvidia.com/gpu", 4)]),
            "nvidia.com/gpu 4",
            "whoever shares a card further says so"
        );
    }
}
