//! Hashes of templates.

use joiner_api::hash::{fnv, int, set, structure, text_if_any};

use super::{pointed_bool, pointed_text, text_of, texts};
use crate::{
    template::{Network, PciDevice, Spec},
    unmanaged_template,
};

/// How [`template_hash`] is made.
pub const TEMPLATE_HASH_VERSION: &str = "v1";

/// The hash of what a template is built from: where it differs, the template is built anew.
pub fn template_hash(spec: &Spec) -> u64 {
    let image = spec.source_image.as_ref().map(|image| {
        structure(
            "SourceImage",
            [
                ("URL", text_if_any(&image.url)),
                ("ImageName", text_of(image.image_name.as_ref())),
                ("Checksum", text_of(image.checksum.as_ref())),
                ("ChecksumType", text_of(image.checksum_type.as_ref())),
            ],
        )
    });
    let tpm = spec.tpm.as_ref();
    structure(
        "hashFields",
        [
            ("SourceImage", image),
            ("StorageIDs", texts(spec.storage_ids.as_ref())),
            ("Bios", text_of(spec.bios.as_ref())),
            ("TPM", tpm.map(|tpm| structure("TPM", [("Version", text_of(tpm.version.as_ref()))]))),
        ],
    )
}

/// The hash of what is changed on a template that exists. No instance depends on it.
pub fn template_in_place_hash(spec: &Spec) -> u64 {
    let agent = spec.agent.as_ref().map(|agent| {
        structure(
            "QemuGuestAgent",
            [
                ("Enabled", pointed_bool(agent.enabled.filter(|enabled| *enabled))),
                ("Type", text_of(agent.type_.as_ref())),
                ("FsFreezeOnBackup", pointed_bool(agent.fs_freeze_on_backup)),
                ("FsTrimClonedDisks", pointed_bool(agent.fs_trim_cloned_disks)),
            ],
        )
    });
    let cpu = spec.cpu.as_ref().map(|cpu| {
        structure(
            "CPU",
            [("Type", text_of(cpu.type_.as_ref())), ("Flags", texts(cpu.flags.as_ref()))],
        )
    });
    let vga = spec.vga.as_ref().map(|vga| {
        structure("VGA", [("Type", text_of(vga.type_.as_ref())), ("Memory", vga.memory.map(int))])
    });
    structure(
        "ProxmoxTemplateSpec",
        [
            ("Region", text_of(spec.region.as_ref())),
            ("Description", text_of(spec.description.as_ref())),
            ("Machine", text_of(spec.machine.as_ref())),
            ("QemuGuestAgent", agent),
            ("CPU", cpu),
            ("VGA", vga),
            ("Network", spec.network.as_ref().map(|adapters| set(adapters.iter().map(network)))),
            (
                "PCIDevices",
                spec.pci_devices.as_ref().map(|devices| set(devices.iter().map(pci_device))),
            ),
            ("Tags", texts(spec.tags.as_ref())),
            ("OnBoot", pointed_bool(spec.on_boot)),
        ],
    )
}

/// The hash of how a template that is made outside of Joiner is found.
pub fn unmanaged_template_hash(spec: &unmanaged_template::Spec) -> u64 {
    structure(
        "ProxmoxUnmanagedTemplateSpec",
        [
            ("Region", text_of(spec.region.as_ref())),
            ("TemplateName", text_of(spec.template_name.as_ref())),
            ("Tags", texts(spec.tags.as_ref())),
        ],
    )
}

fn network(adapter: &Network) -> u64 {
    // Go embeds the addresses: one field, which is passed over where none of them is written.
    let addresses = [
        ("Address4", text_of(adapter.address4.as_ref())),
        ("Address6", text_of(adapter.address6.as_ref())),
        ("Gateway4", text_of(adapter.gateway4.as_ref())),
        ("Gateway6", text_of(adapter.gateway6.as_ref())),
        ("DNSServers", texts(adapter.dns_servers.as_ref())),
    ];
    let has_address = addresses.iter().any(|(_, value)| value.is_some());
    let short = |number: Option<i64>| {
        number
            .and_then(|number| u16::try_from(number).ok())
            .map(|number| fnv(&number.to_le_bytes()))
    };
    structure(
        "Network",
        [
            ("IPConfig", has_address.then(|| structure("IPConfig", addresses))),
            ("Name", text_of(adapter.name.as_ref())),
            ("Bridge", text_if_any(&adapter.bridge)),
            ("Model", pointed_text(adapter.model.as_ref())),
            ("MTU", short(adapter.mtu)),
            ("VLAN", short(adapter.vlan)),
            ("Firewall", pointed_bool(adapter.firewall)),
        ],
    )
}

fn pci_device(device: &PciDevice) -> u64 {
    structure(
        "PCIDevice",
        [
            ("Mapping", text_if_any(&device.mapping)),
            ("MDev", text_of(device.mdev.as_ref())),
            ("PCIe", pointed_bool(device.pcie)),
            ("XVga", pointed_bool(device.xvga)),
        ],
    )
}
