//! What there is in a cluster.

pub(crate) mod storage;
pub(crate) mod vm;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::{
    inventory::{Inventory, InventoryError, Node, TagPolicy},
    schema::property::Properties,
};
use storage::{Store, Volume};
use vm::Vm;

/// The range of `nextid` where the datacenter has no other.
const NEXT_ID: (u32, u32) = (100, 1_000_000);

/// A host.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) facts: Node,
    pub(crate) online: bool,
}

/// Everything that lasts.
#[derive(Debug)]
pub(crate) struct Estate {
    pub(crate) cluster: String,
    /// The nodes in the order in which they joined; the first one answers.
    pub(crate) entry: String,
    pub(crate) quorate: bool,
    pub(crate) hosts: BTreeMap<String, Host>,
    pub(crate) stores: BTreeMap<String, Store>,
    pub(crate) vms: BTreeMap<u32, Vm>,
    pub(crate) pools: BTreeMap<String, BTreeSet<u32>>,
    pub(crate) comments: BTreeMap<String, String>,
    pub(crate) security_groups: Vec<String>,
    pub(crate) ip_sets: Vec<String>,
    pub(crate) mappings: BTreeMap<String, Vec<String>>,
    pub(crate) downloads: BTreeMap<String, Bytes>,
    pub(crate) next_id: (u32, u32),
    pub(crate) tag_policy: TagPolicy,
    /// Counts MAC addresses and UUIDs that were made.
    made: u64,
    /// When a node had to run more than it has.
    pub(crate) overcommitted: Vec<String>,
}

impl Estate {
    pub(crate) fn build(inventory: &Inventory) -> Result<Self, InventoryError> {
        let wrong = |object: &str, problem: &str| InventoryError {
            object: object.to_owned(),
            problem: problem.to_owned(),
        };
        let first = inventory.nodes.first();
        let entry = first.ok_or_else(|| wrong(&inventory.cluster, "a cluster has a node"))?;
        let hosts = inventory.nodes.iter();
        let hosts =
            hosts.map(|node| (node.name.clone(), Host { facts: node.clone(), online: true }));
        let stores = inventory.storages.iter();
        let stores = stores.map(|it| (it.name.clone(), Store::new(it.clone())));
        let mut estate = Self {
            cluster: inventory.cluster.clone(),
            entry: entry.name.clone(),
            quorate: true,
            hosts: hosts.collect(),
            stores: stores.collect(),
            vms: BTreeMap::new(),
            pools: inventory.pools.clone(),
            comments: BTreeMap::new(),
            security_groups: inventory.security_groups.clone(),
            ip_sets: inventory.ip_sets.clone(),
            mappings: inventory.pci_mappings.clone(),
            downloads: inventory.downloads.clone(),
            next_id: inventory.next_id.unwrap_or(NEXT_ID),
            tag_policy: inventory.tag_policy.clone(),
            made: 0,
            overcommitted: Vec::new(),
        };
        for guest in &inventory.guests {
            let name = format!("guest {}", guest.vmid);
            if !estate.hosts.contains_key(&guest.node) {
                return Err(wrong(&name, "its node is none of the cluster"));
            }
            let vm = Vm::from_inventory(guest);
            for (_, drive) in vm.volumes() {
                let file = Properties::read(drive);
                let volume = file.bare("file").and_then(|file| file.split_once(':'));
                let (store, volume) = volume.ok_or_else(|| wrong(&name, "a disk has no volume"))?;
                let store = estate.stores.get_mut(store);
                let store = store.ok_or_else(|| wrong(&name, "a disk is on no known storage"))?;
                let size = file.get("size").and_then(crate::schema::format::size);
                let mut made = Volume::image(guest.vmid, volume, size.unwrap_or_default());
                made.is_base = vm.is_template();
                store.put(&guest.node, volume, made);
            }
            if estate.vms.insert(guest.vmid, vm).is_some() {
                return Err(wrong(&name, "its id is taken"));
            }
        }
        Ok(estate)
    }

    /// The lowest id that is free.
    pub(crate) fn free_id(&self) -> Option<u32> {
        (self.next_id.0..self.next_id.1).find(|id| !self.vms.contains_key(id))
    }

    /// A MAC address that was never given out.
    pub(crate) fn mac(&mut self) -> String {
        self.made += 1;
        let [.., third, second, first] = self.made.to_be_bytes();
        format!("BC:24:11:{:02X}:{second:02X}:{first:02X}", third | 0x80)
    }

    /// A UUID that was never given out.
    pub(crate) fn uuid(&mut self) -> String {
        self.made += 1;
        format!("00000000-0000-4000-8000-{:012x}", self.made)
    }

    /// The memory that the running guests of a node may use, and their CPUs.
    pub(crate) fn load(&self, node: &str) -> (u64, u64) {
        let running = self.vms.values().filter(|vm| vm.running && vm.node == node);
        running.fold((0, 0), |(memory, cpus), vm| (memory + vm.memory(), cpus + vm.cpus()))
    }

    /// Where a volume is: its storage, if that is on a node.
    pub(crate) fn store(&self, name: &str, node: &str) -> Result<&Store, String> {
        let store =
            self.stores.get(name).ok_or_else(|| format!("storage '{name}' does not exist"))?;
        if !store.is_on(node) {
            return Err(format!("storage '{name}' is not available on node '{node}'"));
        }
        if store.facts.disabled {
            return Err(format!("storage '{name}' is disabled"));
        }
        if store.offline {
            return Err(format!("storage '{name}' is not online"));
        }
        Ok(store)
    }

    /// The size of a volume that exists.
    pub(crate) fn volume(&self, id: &str, node: &str) -> Option<&Volume> {
        let (store, name) = id.split_once(':')?;
        self.stores.get(store)?.get(node, name)
    }

    /// Makes a volume for a disk of a VM, and returns its id.
    pub(crate) fn allocate(
        &mut self,
        store: &str,
        node: &str,
        vmid: u32,
        disk: &NewDisk<'_>,
    ) -> Result<String, String> {
        let known = self.store(store, node)?;
        if !known.holds("images") {
            return Err(format!("storage '{store}' does not support vm images"));
        }
        let free = known.free(node);
        if disk.size > free && disk.base.is_none() {
            return Err(format!(
                "unable to create image: not enough free space in storage '{store}' ({} > {free})",
                disk.size
            ));
        }
        let name = known.volume_name(node, vmid, disk);
        let mut volume = Volume::image(vmid, &name, disk.size);
        volume.is_linked = disk.base.is_some();
        if let Some(store) = self.stores.get_mut(store) {
            store.put(node, &name, volume);
        }
        Ok(format!("{store}:{name}"))
    }

    /// Removes a volume.
    pub(crate) fn remove_volume(&mut self, id: &str, node: &str) {
        if let Some((store, name)) = id.split_once(':')
            && let Some(store) = self.stores.get_mut(store)
        {
            store.take(node, name);
        }
    }
}

/// A disk that is to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewDisk<'d> {
    pub(crate) size: u64,
    pub(crate) format: Option<&'d str>,
    pub(crate) is_cloud_init: bool,
    /// The volume that a linked clone stands on, without its storage.
    pub(crate) base: Option<&'d str>,
}
