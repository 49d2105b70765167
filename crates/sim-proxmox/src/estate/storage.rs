//! Storages and their volumes.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;

use super::NewDisk;
use crate::inventory::Storage;

/// Types of storages whose volumes are files.
const OF_FILES: [&str; 6] = ["dir", "nfs", "cifs", "cephfs", "btrfs", "glusterfs"];

/// A volume.
#[derive(Clone, Debug)]
pub(crate) struct Volume {
    pub(crate) content: String,
    pub(crate) format: String,
    pub(crate) size: u64,
    pub(crate) vmid: Option<u32>,
    pub(crate) bytes: Bytes,
    pub(crate) made: Duration,
    /// Whether it is a template's.
    pub(crate) is_base: bool,
    /// Whether it needs the volume it was cloned from.
    pub(crate) is_linked: bool,
}

impl Volume {
    /// A disk of a VM.
    pub(crate) fn image(vmid: u32, name: &str, size: u64) -> Self {
        let format = match name.rsplit_once('.') {
            Some((_, format @ ("qcow2" | "vmdk"))) => format,
            _ => "raw",
        };
        Self {
            content: "images".to_owned(),
            format: format.to_owned(),
            size,
            vmid: Some(vmid),
            bytes: Bytes::new(),
            made: Duration::ZERO,
            is_base: false,
            is_linked: false,
        }
    }

    /// A file that was uploaded or downloaded.
    pub(crate) fn file(content: &str, name: &str, bytes: Bytes, made: Duration) -> Self {
        let format = name.rsplit_once('.').map_or("raw", |(_, format)| format);
        Self {
            content: content.to_owned(),
            format: if content == "iso" { "iso" } else { format }.to_owned(),
            size: bytes.len() as u64,
            vmid: None,
            bytes,
            made,
            is_base: false,
            is_linked: false,
        }
    }
}

/// A storage.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) facts: Storage,
    pub(crate) offline: bool,
    /// What others have filled, by node.
    pub(crate) filled: BTreeMap<String, u64>,
    /// Volumes by the node that has them and their names; shared ones are on the node without name.
    volumes: BTreeMap<(String, String), Volume>,
}

impl Store {
    pub(super) fn new(facts: Storage) -> Self {
        Self { facts, offline: false, filled: BTreeMap::new(), volumes: BTreeMap::new() }
    }

    /// On which node's part of it something is.
    pub(crate) fn part(&self, node: &str) -> String {
        if self.facts.shared { String::new() } else { node.to_owned() }
    }

    pub(crate) fn is_on(&self, node: &str) -> bool {
        self.facts.nodes.is_empty() || self.facts.nodes.iter().any(|known| known == node)
    }

    pub(crate) fn holds(&self, content: &str) -> bool {
        self.facts.content.iter().any(|known| known == content)
    }

    pub(crate) fn has_files(&self) -> bool {
        OF_FILES.contains(&self.facts.kind.as_str())
    }

    /// Whether it can make a disk that stands on another one.
    pub(crate) fn can_link(&self) -> bool {
        ["lvmthin", "zfspool", "rbd", "dir", "nfs", "btrfs"].contains(&self.facts.kind.as_str())
    }

    pub(crate) fn used(&self, node: &str) -> u64 {
        let part = self.part(node);
        let volumes = self.volumes.iter().filter(|((on, _), it)| *on == part && !it.is_linked);
        let filled = self.filled.get(&part).copied().unwrap_or_default();
        volumes.map(|(_, volume)| volume.size).sum::<u64>().saturating_add(filled)
    }

    pub(crate) fn free(&self, node: &str) -> u64 {
        self.facts.size.saturating_sub(self.used(node))
    }

    pub(crate) fn get(&self, node: &str, name: &str) -> Option<&Volume> {
        self.volumes.get(&(self.part(node), name.to_owned()))
    }

    pub(crate) fn get_mut(&mut self, node: &str, name: &str) -> Option<&mut Volume> {
        self.volumes.get_mut(&(self.part(node), name.to_owned()))
    }

    pub(crate) fn put(&mut self, node: &str, name: &str, volume: Volume) {
        self.volumes.insert((self.part(node), name.to_owned()), volume);
    }

    pub(crate) fn take(&mut self, node: &str, name: &str) -> Option<Volume> {
        self.volumes.remove(&(self.part(node), name.to_owned()))
    }

    /// The volumes that a node sees, by their names.
    pub(crate) fn seen_from(&self, node: &str) -> impl Iterator<Item = (&str, &Volume)> {
        let part = self.part(node);
        let seen = self.volumes.iter().filter(move |((on, _), _)| *on == part);
        seen.map(|((_, name), volume)| (name.as_str(), volume))
    }

    /// A name that is free for a disk of a VM.
    pub(super) fn volume_name(&self, node: &str, vmid: u32, disk: &NewDisk<'_>) -> String {
        let format = match disk.format {
            Some(format) => format,
            None if self.has_files() && !disk.is_cloud_init => "qcow2",
            None => "raw",
        };
        let full = |name: &str| match (self.has_files(), disk.base) {
            (true, Some(base)) => format!("{base}/{vmid}/{name}.qcow2"),
            (true, None) => format!("{vmid}/{name}.{format}"),
            (false, Some(base)) => format!("{base}/{name}"),
            (false, None) => name.to_owned(),
        };
        if disk.is_cloud_init {
            return full(&format!("vm-{vmid}-cloudinit"));
        }
        let taken = |number: &u32| {
            let part = format!("vm-{vmid}-disk-{number}");
            let is = |name: &str| {
                name.rsplit('/').next().is_some_and(|last| last.split('.').next() == Some(&part))
            };
            self.seen_from(node).any(|(name, _)| is(name))
        };
        let number = (0..u32::MAX).find(|number| !taken(number)).unwrap_or_default();
        full(&format!("vm-{vmid}-disk-{number}"))
    }
}
