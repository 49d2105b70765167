//! What happens in VMs, and what they find on their hardware.

use std::collections::BTreeMap;

use crate::{iso, schema::property::Properties, world::World};

/// Something that happened to a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestEvent {
    /// A VM runs; its guest begins to boot.
    Started(GuestVm),
    /// A VM does not run any more.
    Stopped {
        /// Its id.
        vmid: u32,
        /// Its name.
        name: String,
    },
}

/// What a guest finds itself in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestVm {
    /// The VM's id.
    pub vmid: u32,
    /// Its name.
    pub name: String,
    /// The node that it runs on.
    pub node: String,
    /// The UUID of its system.
    pub uuid: String,
    /// Virtual CPUs.
    pub cpus: u64,
    /// Memory.
    pub memory_mib: u64,
    /// The addresses of its network devices, in their order.
    pub macs: Vec<String>,
    /// Images in its drives, by the name of the drive.
    pub images: BTreeMap<String, Image>,
    /// The keys of its configuration that its own cloud-init drive is made of.
    pub cloud_init: BTreeMap<String, String>,
}

/// An image in a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its volume id, in lower case `cidata` for cloud-init.
    pub label: String,
    /// The files of its root directory by their full names.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl GuestVm {
    /// The files of the NoCloud image, as cloud-init finds it by its label.
    pub fn no_cloud(&self) -> Option<&BTreeMap<String, Vec<u8>>> {
        let found = self.images.values().find(|it| it.label.eq_ignore_ascii_case("cidata"));
        found.map(|image| &image.files)
    }
}

impl World {
    /// What a guest finds; none of a container.
    pub(crate) fn guest(&self, vmid: u32) -> Option<GuestVm> {
        const MIB: u64 = 1 << 20;
        let vm = self.estate.vms.get(&vmid).filter(|vm| !vm.container)?;
        let mut images = BTreeMap::new();
        for (key, drive) in vm.volumes().filter(|(_, drive)| drive.contains("media=cdrom")) {
            let file = Properties::read(drive);
            let volume = self.estate.volume(file.bare("file").unwrap_or_default(), &vm.node);
            if let Some(image) = volume.and_then(|volume| iso::read(&volume.bytes)) {
                images.insert(key.to_owned(), image);
            }
        }
        let indexed = (0..32).filter_map(|index| vm.config.get(&format!("net{index}")));
        let macs = indexed.filter_map(|device| {
            let device = Properties::read(device);
            device.pairs().first().map(|(_, address)| address.clone())
        });
        let of_cloud_init = |key: &str| {
            ["ciuser", "nameserver", "searchdomain", "sshkeys"].contains(&key)
                || key.starts_with("ipconfig")
        };
        let smbios = vm.config.get("smbios1").map(|text| Properties::read(text));
        let uuid = smbios.and_then(|smbios| smbios.get("uuid").map(str::to_owned));
        let cloud_init = vm.config.iter().filter(|(key, _)| of_cloud_init(key));
        Some(GuestVm {
            vmid,
            name: vm.name().to_owned(),
            node: vm.node.clone(),
            uuid: uuid.unwrap_or_default(),
            cpus: vm.cpus(),
            memory_mib: vm.memory() / MIB,
            macs: macs.collect(),
            images,
            cloud_init: cloud_init.map(|(key, value)| (key.clone(), value.clone())).collect(),
        })
    }
}
