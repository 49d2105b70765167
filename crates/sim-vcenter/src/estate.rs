//! Everything in the inventory, as it is now.

mod build;
pub(crate) mod device;
mod places;
mod room;
mod tree;
pub(crate) mod vm;

use std::collections::BTreeMap;

pub use places::PoolBounds;
pub(crate) use places::{Cluster, Datastore, Host, Network, NetworkKind, Pool, Switch};
pub(crate) use tree::Tree;

use crate::{
    identity::Identities,
    policies::Policy,
    reference::{Kind, Ref},
};
use vm::Vm;

/// How many deleted files are remembered.
const DELETED_FILES_MAX: usize = 100_000;

/// The objects of the inventory. Who lies where, and what they are called, is in the tree.
#[derive(Debug)]
pub(crate) struct Estate {
    pub(crate) tree: Tree,
    pub(crate) root: Ref,
    pub(crate) datacenters: BTreeMap<Ref, DatacenterFolders>,
    pub(crate) clusters: BTreeMap<Ref, Cluster>,
    /// Resource pools that have bounds.
    pub(crate) pools: BTreeMap<Ref, Pool>,
    pub(crate) hosts: BTreeMap<Ref, Host>,
    pub(crate) datastores: BTreeMap<Ref, Datastore>,
    pub(crate) networks: BTreeMap<Ref, Network>,
    pub(crate) switches: BTreeMap<Ref, Switch>,
    pub(crate) vms: BTreeMap<Ref, Vm>,
    /// Whose snapshot a snapshot is.
    pub(crate) snapshots: BTreeMap<Ref, Ref>,
    /// Rules about where disks may be.
    pub(crate) policies: Vec<Policy>,
    /// Where a chosen host was, so that the next choice is another one.
    pub(crate) last_choice: usize,
    /// Which files were deleted from datastores with their VMs.
    pub(crate) deleted_files: Vec<String>,
    pub(crate) identities: Identities,
    next_number: u32,
}

/// The folders that every datacenter has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DatacenterFolders {
    pub(crate) vm: Ref,
    pub(crate) host: Ref,
    pub(crate) datastore: Ref,
    pub(crate) network: Ref,
}

impl Estate {
    /// A name for an object that is about to exist.
    pub(crate) fn next(&mut self, kind: Kind) -> Ref {
        self.next_number += 1;
        Ref::new(kind, self.next_number)
    }

    /// Whether an object is there.
    pub(crate) fn has(&self, object: Ref) -> bool {
        self.tree.has(object) || self.snapshots.contains_key(&object)
    }

    pub(crate) fn name(&self, object: Ref) -> &str {
        self.tree.name(object)
    }

    /// The nearest ancestor of a kind, the object itself included.
    pub(crate) fn above(&self, object: Ref, kind: Kind) -> Option<Ref> {
        self.tree.upwards(object).find(|above| above.kind == kind)
    }

    /// The resource pool at the root of a cluster.
    pub(crate) fn root_pool(&self, cluster: Ref) -> Option<Ref> {
        self.tree.children(cluster).find(|child| child.kind == Kind::ResourcePool)
    }

    /// The hosts of a cluster.
    pub(crate) fn hosts_of(&self, cluster: Ref) -> impl Iterator<Item = Ref> {
        self.tree.children(cluster).filter(|child| child.kind == Kind::HostSystem)
    }

    /// The VMs on a host, in a pool, on a datastore: those that something is true of.
    pub(crate) fn vms_where(&self, holds: impl Fn(&Vm) -> bool) -> Vec<Ref> {
        self.vms.iter().filter(|(_, vm)| holds(vm)).map(|(vm, _)| *vm).collect()
    }

    /// The VM of a name, wherever it is.
    pub(crate) fn vm_named(&self, name: &str) -> Option<Ref> {
        self.vms.keys().copied().find(|vm| self.name(*vm) == name)
    }

    /// Puts a disk's space on the account of its datastore.
    pub(crate) fn take_space(&mut self, datastore: Ref, bytes: u64) {
        if let Some(datastore) = self.datastores.get_mut(&datastore) {
            datastore.used_bytes += bytes;
        }
    }

    /// Takes note of files that are deleted.
    pub(crate) fn delete_files(&mut self, files: impl IntoIterator<Item = String>) {
        self.deleted_files.extend(files);
        let too_many = self.deleted_files.len().saturating_sub(DELETED_FILES_MAX);
        self.deleted_files.drain(..too_many);
    }

    /// Gives it back.
    pub(crate) fn give_space(&mut self, datastore: Ref, bytes: u64) {
        if let Some(datastore) = self.datastores.get_mut(&datastore) {
            datastore.used_bytes = datastore.used_bytes.saturating_sub(bytes);
        }
    }
}
