//! VMs and containers.

use std::{collections::BTreeMap, time::Duration};

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

use crate::{
    inventory::Guest,
    schema::{format::is_disk, property::Properties},
};

const MIB: u64 = 1 << 20;

/// What rows of a list say of a VM, which they learn late.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) name: String,
    pub(crate) running: bool,
    pub(crate) cpus: u64,
    pub(crate) memory: u64,
    pub(crate) template: bool,
}

/// The firewall of a VM.
#[derive(Clone, Debug, Default)]
pub(crate) struct Firewall {
    pub(crate) options: BTreeMap<String, String>,
    pub(crate) rules: Vec<BTreeMap<String, String>>,
    pub(crate) ip_sets: BTreeMap<String, IpSet>,
}

/// A set of addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct IpSet {
    pub(crate) comment: Option<String>,
    /// Members by their CIDR, with what else is known of them.
    pub(crate) members: BTreeMap<String, BTreeMap<String, String>>,
}

/// A VM or a container.
#[derive(Clone, Debug)]
pub(crate) struct Vm {
    pub(crate) vmid: u32,
    pub(crate) node: String,
    pub(crate) container: bool,
    pub(crate) config: BTreeMap<String, String>,
    /// Drives that a clone has made and that its configuration does not show yet.
    pub(crate) pending_drives: BTreeMap<String, String>,
    pub(crate) running: bool,
    pub(crate) started: Duration,
    pub(crate) firewall: Firewall,
    /// What high availability wants of it, if it looks after it.
    pub(crate) ha: Option<String>,
    pub(crate) seen: Option<Seen>,
    /// Whether a broadcast will tell what changed.
    pub(crate) broadcast_is_planned: bool,
}

impl Vm {
    pub(crate) fn new(vmid: u32, node: &str, config: BTreeMap<String, String>) -> Self {
        Self {
            vmid,
            node: node.to_owned(),
            container: false,
            config,
            pending_drives: BTreeMap::new(),
            running: false,
            started: Duration::ZERO,
            firewall: Firewall::default(),
            ha: None,
            seen: None,
            broadcast_is_planned: false,
        }
    }

    pub(super) fn from_inventory(guest: &Guest) -> Self {
        let mut vm = Self::new(guest.vmid, &guest.node, guest.config.clone());
        vm.container = guest.container;
        vm.running = guest.running;
        vm.ha = guest.ha.then(|| "started".to_owned());
        vm.seen = Some(vm.now_seen());
        vm
    }

    pub(crate) fn now_seen(&self) -> Seen {
        Seen {
            name: self.name().to_owned(),
            running: self.running,
            cpus: self.cpus(),
            memory: self.memory(),
            template: self.is_template(),
        }
    }

    fn text(&self, key: &str) -> &str {
        self.config.get(key).map(String::as_str).unwrap_or_default()
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.config.get(key)?.parse().ok()
    }

    /// Its name; of a VM that was given none, `VM` and its id.
    pub(crate) fn name(&self) -> &str {
        self.text(if self.container { "hostname" } else { "name" })
    }

    pub(crate) fn is_template(&self) -> bool {
        self.text("template") == "1"
    }

    pub(crate) fn lock(&self) -> Option<&str> {
        self.config.get("lock").map(String::as_str)
    }

    pub(crate) fn is_protected(&self) -> bool {
        self.text("protection") == "1"
    }

    pub(crate) fn cpus(&self) -> u64 {
        let all = self.number("cores").unwrap_or(1) * self.number("sockets").unwrap_or(1);
        self.number("vcpus").unwrap_or(all)
    }

    /// Its memory in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let memory = Properties::read(self.text("memory"));
        let mebibytes = memory.bare("current").and_then(|memory| memory.parse::<u64>().ok());
        mebibytes.unwrap_or(512) * MIB
    }

    pub(crate) fn kind(&self) -> &'static str {
        if self.container { "lxc" } else { "qemu" }
    }

    /// Its drives that are volumes: disks, images and what is not used any more.
    pub(crate) fn volumes(&self) -> impl Iterator<Item = (&str, &str)> {
        let is = |key: &str| is_disk(key) || key.starts_with("unused") || key == "rootfs";
        let drives = self.config.iter().filter(move |(key, _)| is(key));
        let drives = drives.filter(|(_, value)| !value.starts_with("none"));
        drives.map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Its disks, which are its own, without images in its drives.
    pub(crate) fn disks(&self) -> impl Iterator<Item = (&str, &str)> {
        self.volumes()
            .filter(|(_, value)| !value.contains("media=cdrom") || value.contains("cloudinit"))
    }

    /// The size of its first disk, in bytes.
    pub(crate) fn disk_size(&self) -> u64 {
        let first = self.disks().find(|(key, _)| key.ends_with('0') && !key.starts_with("efi"));
        let size =
            first.and_then(|(_, drive)| Properties::read(drive).get("size").map(str::to_owned));
        size.and_then(|size| crate::schema::format::size(&size)).unwrap_or_default()
    }

    /// Which state of its configuration this is.
    pub(crate) fn digest(&self) -> String {
        let mut text = String::new();
        for (key, value) in &self.config {
            text.extend([key, ": ", value, "\n"]);
        }
        hex(digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()).as_ref())
    }
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
