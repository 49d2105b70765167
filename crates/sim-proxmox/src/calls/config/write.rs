//! How a change becomes a configuration.

use std::collections::BTreeSet;

use super::Change;
use crate::{
    estate::NewDisk,
    schema::{
        format::{is_disk, tags},
        property::Properties,
    },
    task::size_text,
    world::World,
};

pub(super) const DIGEST_DIFFERS: &str =
    "detected modified configuration - file changed by other user? Try again.";

/// The size of a drive for cloud-init, and of one for firmware variables.
const SMALL_DISK: u64 = 4 << 20;

impl World {
    /// Refuses an order of boot that names what is not there.
    pub(super) fn check_boot(&self, vmid: u32, change: &Change) -> Result<(), String> {
        let Some(boot) = change.set.get("boot") else { return Ok(()) };
        let order = Properties::read(boot);
        let config = self.estate.vms.get(&vmid).map(|vm| &vm.config);
        let devices = order.get("order").unwrap_or_default().split(';');
        for device in devices.filter(|device| !device.is_empty()) {
            let stays = config.is_some_and(|config| config.contains_key(device));
            let stays = stays && !change.delete.iter().any(|key| key == device);
            if !stays && !change.set.contains_key(device) {
                return Err(format!("invalid bootorder: device '{device}' does not exist'"));
            }
        }
        Ok(())
    }

    /// Writes a change.
    pub(crate) fn write_config(&mut self, vmid: u32, change: &Change) -> Result<(), String> {
        let vm = self.vm_mut(vmid)?;
        if let Some(lock) = vm.lock() {
            return Err(format!("VM is locked ({lock})"));
        }
        if change.digest.as_ref().is_some_and(|digest| *digest != vm.digest()) {
            return Err(DIGEST_DIFFERS.to_owned());
        }
        self.check_boot(vmid, change)?;
        for key in &change.delete {
            self.detach(vmid, key, change.force)?;
        }
        for (key, value) in &change.set {
            let value = match key.as_str() {
                _ if is_disk(key) => self.drive(vmid, key, value)?,
                _ if is_net(key) => self.network_device(value),
                "tags" => {
                    let tags: BTreeSet<String> = tags(value).map(str::to_lowercase).collect();
                    tags.into_iter().collect::<Vec<_>>().join(";")
                }
                "smbios1" if !value.contains("uuid=") => {
                    format!("uuid={},{value}", self.estate.uuid())
                }
                _ => self.plain(key, value),
            };
            self.vm_mut(vmid)?.config.insert(key.clone(), value);
        }
        self.touch(vmid);
        Ok(())
    }

    /// A value as it is kept: flags are 0 or 1.
    fn plain(&self, key: &str, value: &str) -> String {
        use crate::schema::{Type, check::flag};
        match self.schema.config_type(key) {
            Some(Type::Flag) => u8::from(flag(value).unwrap_or(false)).to_string(),
            _ => value.to_owned(),
        }
    }

    /// A network device with an address.
    fn network_device(&mut self, value: &str) -> String {
        let mut device = Properties::read(value);
        let model = device.bare("model").map(str::to_owned);
        if let Some(model) = model {
            let address = device.get("macaddr").map(str::to_owned);
            let address = address.unwrap_or_else(|| self.estate.mac());
            device.remove(&["model", "macaddr"]);
            let bare: Vec<_> = device.pairs().iter().filter(|(key, _)| key.is_some()).collect();
            let rest: Vec<String> = bare
                .iter()
                .map(|(key, value)| format!("{}={value}", key.as_deref().unwrap_or_default()))
                .collect();
            device = Properties::read(&rest.join(","));
            device.put_first(&model, &address);
        }
        device.text()
    }

    /// A drive whose volume exists.
    fn drive(&mut self, vmid: u32, key: &str, value: &str) -> Result<String, String> {
        let mut drive = Properties::read(value);
        let file = drive.bare("file").unwrap_or_default().to_owned();
        let vm = self.vm_mut(vmid)?;
        let (node, old) = (vm.node.clone(), vm.config.get(key).cloned());
        let kept = old.is_some_and(|old| Properties::read(&old).bare("file") == Some(&file));
        if !kept {
            self.detach(vmid, key, false)?;
        }
        if file == "none" || file == "cdrom" {
            return Ok(drive.text());
        }
        let (store, name) =
            file.split_once(':').ok_or_else(|| format!("unable to parse volume ID '{file}'"))?;
        self.estate.store(store, &node)?;
        let format = drive.get("format").map(str::to_owned);
        let image = drive.get("import-from").map(str::to_owned);
        let is_cloud_init = name == "cloudinit";
        if let Some(size) = name.parse::<f64>().ok().or(is_cloud_init.then_some(0.0)) {
            let imported = match &image {
                Some(image) => {
                    let known = self.estate.volume(image, &node).map(|volume| volume.size);
                    known.ok_or_else(|| format!("volume '{image}' does not exist"))?
                }
                None => 0,
            };
            let asked = (size * (1_u64 << 30) as f64) as u64;
            let small = ["efidisk0", "tpmstate0"].contains(&key) || is_cloud_init;
            let size = if small { SMALL_DISK } else { asked.max(imported) };
            let new = NewDisk { size, format: format.as_deref(), is_cloud_init, base: None };
            let volume = self.estate.allocate(store, &node, vmid, &new)?;
            drive.set_bare("file", &volume);
            drive.remove(&["import-from", "format"]);
            if is_cloud_init {
                drive.set("media", "cdrom");
            }
            drive.set("size", &size_text(size));
            return Ok(drive.text());
        }
        let volume = self.estate.volume(&file, &node);
        let size = volume.map(|volume| volume.size);
        let size = size.ok_or_else(|| format!("volume '{file}' does not exist"))?;
        drive.set_bare("file", &file);
        drive.set("size", &size_text(size));
        Ok(drive.text())
    }

    /// Takes a key out. A disk is kept as one that is not used; one that is not used is removed.
    pub(crate) fn detach(&mut self, vmid: u32, key: &str, force: bool) -> Result<(), String> {
        let vm = self.vm_mut(vmid)?;
        let disk = vm.disks().find(|(known, _)| *known == key);
        let volume = disk.map(|(_, drive)| Properties::read(drive).bare("file").map(str::to_owned));
        let node = vm.node.clone();
        if let Some(Some(volume)) = volume {
            if vm.is_protected() {
                return Err(format!("can't remove drive '{key}' - protection mode enabled"));
            }
            let goes = force || key.starts_with("unused") || volume.contains("cloudinit");
            if goes {
                self.estate.remove_volume(&volume, &node);
            } else {
                let free = (0..256).map(|index| format!("unused{index}"));
                let free = free.into_iter().find(|key| !vm.config.contains_key(key));
                vm.config.extend(free.map(|key| (key, volume)));
            }
        }
        self.vm_mut(vmid)?.config.remove(key);
        Ok(())
    }
}

fn is_net(key: &str) -> bool {
    let index = key.strip_prefix("net").unwrap_or_default();
    !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit())
}
