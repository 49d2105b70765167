//! What people and the world do to a cluster from outside, past its API.

use std::collections::BTreeMap;

use crate::{
    cloud::Proxmox,
    guest::GuestVm,
    inventory::{Behaviour, Grant, TagPolicy},
    world::World,
};

/// There is no such object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {kind} {name:?}")]
pub struct NoSuchObject {
    kind: &'static str,
    name: String,
}

impl NoSuchObject {
    fn new(kind: &'static str, name: &str) -> Self {
        Self { kind, name: name.to_owned() }
    }
}

/// A VM, a container or a template as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmPicture {
    /// Its id.
    pub vmid: u32,
    /// Its node.
    pub node: String,
    /// Whether it runs.
    pub running: bool,
    /// Its configuration, with the lock.
    pub config: BTreeMap<String, String>,
    /// Its pool.
    pub pool: Option<String>,
    /// What its guest finds; none of a container.
    pub guest: Option<GuestVm>,
}

impl Proxmox {
    /// All VMs, containers and templates by their ids.
    pub fn vms(&self) -> Vec<VmPicture> {
        self.look(|world| {
            let vms = world.estate.vms.values();
            let picture = |vm: &crate::estate::vm::Vm| VmPicture {
                vmid: vm.vmid,
                node: vm.node.clone(),
                running: vm.running,
                config: vm.config.clone(),
                pool: world.pool_of(vm.vmid).map(str::to_owned),
                guest: world.guest(vm.vmid),
            };
            vms.map(picture).collect()
        })
    }

    /// The volumes of a storage that a node sees, by their ids, with their sizes.
    pub fn volumes(&self, storage: &str, node: &str) -> BTreeMap<String, u64> {
        self.look(|world| {
            let store = world.estate.stores.get(storage);
            let seen = store.into_iter().flat_map(|store| store.seen_from(node));
            seen.map(|(name, volume)| (format!("{storage}:{name}"), volume.size)).collect()
        })
    }

    /// When a node had to run more than it has, oldest first. A test of a client asserts that it
    /// never had to.
    pub fn overcommitted(&self) -> Vec<String> {
        self.look(|world| world.estate.overcommitted.clone())
    }

    /// A node goes away or comes back. Its tasks break, and what ran on it stops.
    pub fn set_online(&self, node: &str, online: bool) -> Result<(), NoSuchObject> {
        self.look(|world| {
            let host = world.estate.hosts.get_mut(node);
            host.ok_or_else(|| NoSuchObject::new("node", node))?.online = online;
            if !online {
                world.interrupt_node(node);
                let vms = world.estate.vms.values().filter(|vm| vm.node == node && vm.running);
                let vms: Vec<u32> = vms.map(|vm| vm.vmid).collect();
                for vmid in vms {
                    let _ = world.stop_vm(vmid);
                }
            }
            world.changes += 1;
            Ok(())
        })
    }

    /// The cluster has or has not a quorum. Without one, nothing can be changed.
    pub fn set_quorum(&self, quorate: bool) {
        self.look(|world| world.estate.quorate = quorate);
    }

    /// Others fill a storage on a node, up to what is left free.
    pub fn fill(&self, storage: &str, node: &str, left: u64) -> Result<(), NoSuchObject> {
        self.look(|world| {
            let store = world.estate.stores.get_mut(storage);
            let store = store.ok_or_else(|| NoSuchObject::new("storage", storage))?;
            let part = store.part(node);
            store.filled.remove(&part);
            let filled = store.free(node).saturating_sub(left);
            store.filled.insert(part, filled);
            Ok(())
        })
    }

    /// A storage is not reachable, or is again.
    pub fn set_storage(&self, storage: &str, online: bool) -> Result<(), NoSuchObject> {
        self.look(|world| {
            let store = world.estate.stores.get_mut(storage);
            store.ok_or_else(|| NoSuchObject::new("storage", storage))?.offline = !online;
            Ok(())
        })
    }

    /// A VM moves to another node at once.
    pub fn migrate(&self, vmid: u32, node: &str) -> Result<(), NoSuchObject> {
        self.change(vmid, |vm| node.clone_into(&mut vm.node))
    }

    /// A key of a configuration is edited past the API; none takes it out. `lock` is a key too.
    pub fn edit(&self, vmid: u32, key: &str, value: Option<&str>) -> Result<(), NoSuchObject> {
        self.change(vmid, |vm| match value {
            Some(value) => {
                vm.config.insert(key.to_owned(), value.to_owned());
            }
            None => {
                vm.config.remove(key);
            }
        })
    }

    fn change(
        &self,
        vmid: u32,
        change: impl FnOnce(&mut crate::estate::vm::Vm),
    ) -> Result<(), NoSuchObject> {
        self.look(|world| {
            let vm = world.estate.vms.get_mut(&vmid);
            change(vm.ok_or_else(|| NoSuchObject::new("VM", &vmid.to_string()))?);
            world.touch(vmid);
            Ok(())
        })
    }

    /// Replaces what a user was granted.
    pub fn grant(&self, user: &str, grants: Vec<Grant>) -> Result<(), NoSuchObject> {
        self.look(|world| {
            let known = world.users.get_mut(user);
            known.ok_or_else(|| NoSuchObject::new("user", user))?.grants = grants;
            Ok(())
        })
    }

    /// A token gets another secret.
    pub fn rotate(&self, token: &str, secret: &str) -> Result<(), NoSuchObject> {
        self.look(|world| {
            let known = world.tokens.get_mut(token);
            let known = known.ok_or_else(|| NoSuchObject::new("token", token))?;
            secret.clone_into(&mut known.secret);
            Ok(())
        })
    }

    /// The datacenter has another policy for tags.
    pub fn set_tag_policy(&self, policy: TagPolicy) {
        self.look(|world: &mut World| world.estate.tag_policy = policy);
    }

    /// It behaves otherwise from now on.
    pub fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        self.look(|world| change(&mut world.behaviour));
    }
}
