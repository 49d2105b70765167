//! What tasks do.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::{
    calls::config::Change,
    estate::{NewDisk, storage::Volume, vm::Vm},
    schema::{format, property::Properties},
    world::{Due, World},
};

/// A disk of a clone.
#[derive(Clone, Debug)]
pub(crate) struct ClonedDisk {
    pub(crate) key: String,
    pub(crate) drive: String,
    /// The storage and the node on which the copy is made.
    pub(crate) store: String,
    pub(crate) node: String,
    pub(crate) format: Option<String>,
    pub(crate) full: bool,
}

/// Something that a task does at once.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Write(u32, Change),
    /// A disk of a clone has its volume.
    CloneAllocates(u32, ClonedDisk),
    /// The first disk of a clone is copied: its name and description are written.
    CloneIsNamed(u32, BTreeMap<String, String>),
    /// All disks are copied: the rest of the configuration, and the node.
    CloneEnds {
        vmid: u32,
        source: u32,
        config: BTreeMap<String, String>,
        node: String,
    },
    Created {
        vmid: u32,
        change: Change,
        start: bool,
    },
    Resize {
        vmid: u32,
        disk: String,
        size: String,
    },
    MakeTemplate(u32),
    Start(u32),
    Stop(u32),
    /// High availability will do it later.
    AskHa {
        vmid: u32,
        start: bool,
    },
    Destroy {
        vmid: u32,
        purge: bool,
    },
    Unlink {
        vmid: u32,
        keys: Vec<String>,
        force: bool,
    },
    Store {
        node: String,
        store: String,
        name: String,
        content: String,
        bytes: Bytes,
    },
    Download(Download),
    RemoveVolume {
        node: String,
        volume: String,
    },
    Nothing,
}

/// A download.
#[derive(Clone, Debug)]
pub(crate) struct Download {
    pub(crate) node: String,
    pub(crate) store: String,
    pub(crate) name: String,
    pub(crate) content: String,
    pub(crate) url: String,
    /// The algorithm and the digest.
    pub(crate) checksum: Option<(String, String)>,
}

impl World {
    pub(super) fn act(&mut self, act: &Act) -> Result<(), String> {
        match act {
            Act::Nothing => Ok(()),
            Act::Write(vmid, change) => self.write_config(*vmid, change),
            Act::CloneAllocates(vmid, disk) => self.clone_allocates(*vmid, disk),
            Act::CloneIsNamed(vmid, named) => {
                let vm = self.vm_mut(*vmid)?;
                for (key, value) in named {
                    vm.config.insert(key.clone(), value.clone());
                }
                self.touch(*vmid);
                Ok(())
            }
            Act::CloneEnds { vmid, source, config, node } => {
                let firewall = self.estate.vms.get(source).map(|vm| vm.firewall.clone());
                let vm = self.vm_mut(*vmid)?;
                vm.config.clone_from(config);
                vm.config.append(&mut vm.pending_drives);
                vm.node.clone_from(node);
                vm.firewall = firewall.unwrap_or_default();
                self.touch(*vmid);
                Ok(())
            }
            Act::Created { vmid, change, start } => {
                self.vm_mut(*vmid)?.config.remove("lock");
                self.write_config(*vmid, change)?;
                if *start { self.start_vm(*vmid) } else { Ok(()) }
            }
            Act::Resize { vmid, disk, size } => self.resize(*vmid, disk, size),
            Act::MakeTemplate(vmid) => self.make_template(*vmid),
            Act::Start(vmid) => self.start_vm(*vmid),
            Act::Stop(vmid) => self.stop_vm(*vmid),
            Act::AskHa { vmid, start } => {
                let state = if *start { "started" } else { "stopped" };
                self.vm_mut(*vmid)?.ha = Some(state.to_owned());
                self.agenda.plan(self.behaviour.durations.ha, Due::HaActs(*vmid));
                Ok(())
            }
            Act::Destroy { vmid, purge } => {
                self.may_destroy(*vmid, *purge)?;
                self.remove_vm(*vmid);
                Ok(())
            }
            Act::Unlink { vmid, keys, force } => {
                keys.iter().try_for_each(|key| self.detach(*vmid, key, *force))
            }
            Act::Store { node, store, name, content, bytes } => {
                self.keep_file(node, store, name, content, bytes.clone())
            }
            Act::Download(download) => self.finish_download(download),
            Act::RemoveVolume { node, volume } => {
                self.estate.remove_volume(volume, node);
                Ok(())
            }
        }
    }

    pub(crate) fn vm_mut(&mut self, vmid: u32) -> Result<&mut Vm, String> {
        let absent = || format!("Configuration file for VM {vmid} does not exist");
        self.estate.vms.get_mut(&vmid).ok_or_else(absent)
    }

    fn clone_allocates(&mut self, vmid: u32, disk: &ClonedDisk) -> Result<(), String> {
        let mut drive = Properties::read(&disk.drive);
        let source = drive.bare("file").unwrap_or_default().to_owned();
        let is_cloud_init = source.contains("cloudinit");
        let size = drive.get("size").and_then(format::size);
        let known = self.estate.volume(&source, &disk.node).map(|volume| volume.size);
        let base = source.split_once(':').map(|(_, name)| name);
        let new = NewDisk {
            size: size.or(known).unwrap_or_default(),
            format: disk.format.as_deref(),
            is_cloud_init,
            base: base.filter(|_| !disk.full && !is_cloud_init),
        };
        let volume = self.estate.allocate(&disk.store, &disk.node, vmid, &new)?;
        drive.set_bare("file", &volume);
        self.vm_mut(vmid)?.pending_drives.insert(disk.key.clone(), drive.text());
        Ok(())
    }

    fn resize(&mut self, vmid: u32, disk: &str, size: &str) -> Result<(), String> {
        let vm = self.estate.vms.get(&vmid).ok_or("no such VM")?;
        let drive = vm.config.get(disk).ok_or_else(|| format!("disk '{disk}' does not exist"))?;
        let (mut drive, node) = (Properties::read(drive), vm.node.clone());
        let now = drive.get("size").and_then(format::size).unwrap_or_default();
        let asked = format::size(size.trim_start_matches('+')).unwrap_or_default();
        let wanted = if size.starts_with('+') { now.saturating_add(asked) } else { asked };
        if wanted < now {
            return Err("shrinking disks is not supported".to_owned());
        }
        let volume = drive.bare("file").unwrap_or_default().to_owned();
        let (store, name) = volume.split_once(':').ok_or("the drive has no volume")?;
        let free = self.estate.store(store, &node)?.free(&node);
        if wanted - now > free {
            return Err(format!("not enough free space in storage '{store}'"));
        }
        if let Some(store) = self.estate.stores.get_mut(store)
            && let Some(volume) = store.get_mut(&node, name)
        {
            volume.size = wanted;
            volume.is_linked = false;
        }
        drive.set("size", &size_text(wanted));
        self.vm_mut(vmid)?.config.insert(disk.to_owned(), drive.text());
        Ok(())
    }

    fn make_template(&mut self, vmid: u32) -> Result<(), String> {
        let vm = self.estate.vms.get(&vmid).ok_or("no such VM")?;
        let node = vm.node.clone();
        let disks: Vec<(String, String)> =
            vm.disks().map(|(key, drive)| (key.to_owned(), drive.to_owned())).collect();
        for (key, drive) in disks {
            let mut drive = Properties::read(&drive);
            let volume = drive.bare("file").unwrap_or_default().to_owned();
            let Some((store, name)) = volume.split_once(':') else { continue };
            let base = name.replace(&format!("vm-{vmid}-disk"), &format!("base-{vmid}-disk"));
            if let Some(known) = self.estate.stores.get_mut(store)
                && let Some(mut volume) = known.take(&node, name)
            {
                volume.is_base = true;
                known.put(&node, &base, volume);
            }
            drive.set_bare("file", &format!("{store}:{base}"));
            self.vm_mut(vmid)?.config.insert(key, drive.text());
        }
        self.vm_mut(vmid)?.config.insert("template".to_owned(), "1".to_owned());
        self.touch(vmid);
        Ok(())
    }

    fn keep_file(
        &mut self,
        node: &str,
        store: &str,
        name: &str,
        content: &str,
        bytes: Bytes,
    ) -> Result<(), String> {
        let now = self.agenda.now();
        let known = self.estate.store(store, node)?;
        if bytes.len() as u64 > known.free(node) {
            return Err(format!(
                "not enough free space in storage '{store}': No space left on device"
            ));
        }
        let volume = Volume::file(content, name, bytes, now);
        if let Some(store) = self.estate.stores.get_mut(store) {
            store.put(node, &format!("{content}/{name}"), volume);
        }
        Ok(())
    }

    fn finish_download(&mut self, it: &Download) -> Result<(), String> {
        let sum = |bytes: &[u8]| {
            let (algorithm, wanted) = it.checksum.as_ref()?;
            Some((crate::calls::storage::checksum(algorithm, bytes)?, wanted.to_ascii_lowercase()))
        };
        let name = format!("{}/{}", it.content, it.name);
        if let Some(old) =
            self.estate.stores.get(&it.store).and_then(|it_is| it_is.get(&it.node, &name))
        {
            return match sum(&old.bytes) {
                Some((found, wanted)) if found == wanted => Ok(()),
                _ => Err(format!("refusing to override existing file '{}'", it.name)),
            };
        }
        let bytes = self.estate.downloads.get(&it.url).cloned();
        let bytes = bytes.ok_or("download failed: 404 Not Found")?;
        if let Some((found, wanted)) = sum(&bytes).filter(|(found, wanted)| found != wanted) {
            return Err(format!("checksum mismatch: got '{found}' != expect '{wanted}'"));
        }
        self.keep_file(&it.node, &it.store, &it.name, &it.content, bytes)
    }
}

/// A size as configurations have it.
pub(crate) fn size_text(bytes: u64) -> String {
    let units = [(30, "G"), (20, "M"), (10, "K")];
    let unit = units.iter().find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    unit.map_or_else(|| bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}
