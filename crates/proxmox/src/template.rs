//! `ProxmoxTemplate`: a template that is built from an image.

mod image;
mod validate;

use joiner_cloud::class::ClassKind;
use schemars::JsonSchema;
use serde::Deserialize;

pub use self::image::image_id;
use crate::{
    TEMPLATE,
    node_class::RESOURCE_POOL,
    object::{self, Object, TemplateStatus},
};

/// A template that is built from an image.
pub type Template = Object<Spec>;

/// What a template is built from, and what its virtual machine looks like.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["network", "sourceImage", "storageIDs"]))]
pub struct Spec {
    /// The region it is built in; every region where it is left out.
    #[schemars(extend("minLength" = 1))]
    pub region: Option<String>,
    /// The virtual machine's description.
    #[schemars(extend("minLength" = 1))]
    pub description: Option<String>,
    /// The image of its disk.
    pub source_image: Option<SourceImage>,
    /// Storages of the image and of the template: the first that takes each is used.
    #[serde(rename = "storageIDs")]
    #[schemars(extend("minItems" = 1))]
    pub storage_ids: Option<Vec<String>>,
    /// The emulated board.
    #[schemars(extend("default" = "q35", "enum" = ["pc", "q35"]))]
    pub machine: Option<String>,
    /// The firmware.
    #[schemars(extend("default" = "seabios", "enum" = ["seabios", "ovmf"]))]
    pub bios: Option<String>,
    /// A trusted platform module.
    pub tpm: Option<Tpm>,
    /// The QEMU guest agent.
    #[serde(rename = "agent")]
    pub agent: Option<Agent>,
    /// The emulated processor.
    #[schemars(extend("default" = {"type": "x86-64-v2-AES"}))]
    pub cpu: Option<Cpu>,
    /// The graphics adapter.
    pub vga: Option<Vga>,
    /// The network adapters.
    #[schemars(extend("minItems" = 1, "maxItems" = 6))]
    pub network: Option<Vec<Network>>,
    /// Mapped devices of hosts.
    #[schemars(extend("maxItems" = 6))]
    pub pci_devices: Option<Vec<PciDevice>>,
    /// Tags of the virtual machine.
    #[schemars(extend("maxItems" = 10))]
    pub tags: Option<Vec<String>>,
    /// The resource pool that the virtual machine is put into. It has to exist.
    #[schemars(extend("maxLength" = 64, "pattern" = RESOURCE_POOL))]
    pub resource_pool: Option<String>,
    /// Whether clones start with their host.
    pub on_boot: Option<bool>,
}

/// The image of a template's disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["url"]))]
pub struct SourceImage {
    /// Where it is downloaded from.
    #[schemars(extend("pattern" = r"^https?://[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}(/\S*)?$"))]
    pub url: String,
    /// Its file name, with the extension that says what it is, such as `ubuntu.qcow2`.
    #[schemars(extend("minLength" = 1, "maxLength" = 64))]
    pub image_name: Option<String>,
    /// Its checksum in hexadecimal digits.
    #[schemars(extend("minLength" = 32, "maxLength" = 128))]
    pub checksum: Option<String>,
    /// How the checksum is made.
    #[schemars(extend("enum" = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"]))]
    pub checksum_type: Option<String>,
}

/// A trusted platform module.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub struct Tpm {
    /// Its version.
    #[schemars(extend("default" = "v2.0", "enum" = ["v1.2", "v2.0"]))]
    pub version: Option<String>,
}

/// The QEMU guest agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// Whether the guest runs it.
    #[schemars(extend("default" = false))]
    pub enabled: Option<bool>,
    /// How it is reached.
    #[serde(rename = "type")]
    #[schemars(extend("default" = "virtio", "enum" = ["virtio", "isa"]))]
    pub type_: Option<String>,
    /// Whether file systems are frozen for backups.
    pub fs_freeze_on_backup: Option<bool>,
    /// Whether disks are trimmed after they were cloned.
    pub fs_trim_cloned_disks: Option<bool>,
}

/// The emulated processor.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Its type.
    #[serde(rename = "type")]
    #[schemars(extend(
        "default" = "x86-64-v2-AES",
        "enum" = ["host", "kvm64", "x86-64-v2", "x86-64-v2-AES", "x86-64-v3", "x86-64-v4"],
    ))]
    pub type_: Option<String>,
    /// Features that are added or taken away, such as +aes.
    #[schemars(extend("maxItems" = 10))]
    pub flags: Option<Vec<String>>,
}

/// The graphics adapter.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub struct Vga {
    /// Its type.
    #[serde(rename = "type")]
    #[schemars(extend("default" = "std", "enum" = ["none", "serial0", "std", "vmware"]))]
    pub type_: Option<String>,
    /// Its memory in MiB.
    #[schemars(extend("minimum" = 4, "maximum" = 512, "format" = null))]
    pub memory: Option<i64>,
}

/// A network adapter.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["bridge"]))]
pub struct Network {
    /// Its key, such as net1; net and its index in the list where it is left out.
    #[schemars(extend("minLength" = 1))]
    pub name: Option<String>,
    /// The bridge or virtual network it is attached to.
    #[schemars(extend("minLength" = 1))]
    pub bridge: String,
    /// The emulated card.
    #[schemars(extend(
        "default" = "virtio",
        "enum" = ["e1000", "e1000e", "rtl8139", "virtio", "vmxnet3"],
    ))]
    pub model: Option<String>,
    /// The largest packet in bytes; 1 is what the bridge has.
    #[schemars(extend(
        "default" = 1500,
        "format" = null,
        "x-kubernetes-validations" = [{"rule": "self == 1 || ( self >= 576 && self <= 65520)"}],
    ))]
    pub mtu: Option<i64>,
    /// The VLAN that packets are tagged with.
    #[schemars(extend("minimum" = 1, "maximum" = 4094, "format" = null))]
    pub vlan: Option<i64>,
    /// Whether the firewall protects it. Security groups have no effect without.
    pub firewall: Option<bool>,
    /// dhcp, an address with its prefix length, or a network that addresses are taken from.
    #[schemars(extend("minLength" = 1))]
    pub address4: Option<String>,
    /// dhcp, auto, an address with its prefix length, or a network that addresses are taken from.
    #[schemars(extend("minLength" = 1))]
    pub address6: Option<String>,
    /// The IPv4 gateway.
    #[schemars(extend("minLength" = 1))]
    pub gateway4: Option<String>,
    /// The IPv6 gateway.
    #[schemars(extend("minLength" = 1))]
    pub gateway6: Option<String>,
    /// Name servers. Those of all adapters are used together.
    #[schemars(extend("minItems" = 1))]
    pub dns_servers: Option<Vec<String>>,
}

/// A mapped device of a host.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["mapping"]))]
pub struct PciDevice {
    /// The name of the resource mapping.
    #[schemars(extend("minLength" = 1))]
    pub mapping: String,
    /// The type of a mediated device.
    pub mdev: Option<String>,
    /// Whether it is a PCI Express device.
    pub pcie: Option<bool>,
    /// Whether it is the primary graphics adapter.
    pub xvga: Option<bool>,
}

impl object::Spec for Spec {
    type Status = TemplateStatus;
    const KIND: ClassKind = TEMPLATE;
    const COLUMNS: &'static [(&'static str, &'static str)] = &[
        ("Zones", ".status.resources.zones"),
        ("Machine", ".spec.machine"),
        ("CPU", ".spec.cpu.type"),
        ("VGA", ".spec.vga.type"),
    ];
}
