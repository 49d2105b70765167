//! The hands of administrators, and of time: what happens to a vCenter besides calls.

use crate::{
    VCenter,
    estate::{
        Datastore, Host, Pool, PoolBounds,
        device::{self, Device, Disk, SCSI_CONTROLLER, What},
        vm::{Power, Vm},
    },
    inventory::{self, InventoryError},
    reference::{Kind, Ref},
    world::World,
};

/// There is nothing of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {kind} {name:?}; its inventory has others")]
pub struct NoSuchObject {
    /// What was looked for.
    pub kind: &'static str,
    /// By which name or path.
    pub name: String,
}

/// Why a VM cannot be managed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Its files cannot be reached.
    Inaccessible,
    /// Its host knows nothing of it any more.
    Orphaned,
    /// Its files make no sense.
    Invalid,
}

fn missing(kind: &'static str, name: &str) -> NoSuchObject {
    NoSuchObject { kind, name: name.to_owned() }
}

impl VCenter {
    /// Cuts a host off, or lets it come back. Its VMs run on, but calls about them fail.
    pub fn connect_host(&self, name: &str, connected: bool) -> Result<(), NoSuchObject> {
        self.change_host(name, |host| host.connected = connected)
    }

    /// Puts a host into maintenance mode, or takes it out of it.
    pub fn maintain_host(&self, name: &str, maintenance: bool) -> Result<(), NoSuchObject> {
        self.change_host(name, |host| host.maintenance = maintenance)
    }

    /// Leaves this much room on a datastore, as if foreign data used the rest.
    pub fn leave_free(&self, datastore: &str, gib: u64) -> Result<(), NoSuchObject> {
        self.change_datastore(datastore, |own| {
            own.used_bytes = own.capacity_bytes.saturating_sub(gib << 30);
        })
    }

    /// Makes a datastore accessible or not.
    pub fn reach_datastore(&self, name: &str, accessible: bool) -> Result<(), NoSuchObject> {
        self.change_datastore(name, |own| own.accessible = accessible)
    }

    /// Puts a datastore into maintenance mode, or takes it out of it.
    pub fn maintain_datastore(&self, name: &str, maintenance: bool) -> Result<(), NoSuchObject> {
        self.change_datastore(name, |own| own.maintenance = maintenance)
    }

    /// Bounds what the resource pool at an inventory path may give to its VMs: of processors in MHz,
    /// of memory in MiB.
    pub fn bound_pool(
        &self,
        path: &str,
        cpu: PoolBounds,
        memory: PoolBounds,
    ) -> Result<(), NoSuchObject> {
        self.look(|world| {
            let found = world.estate.tree.find(world.estate.root, path);
            let pool = found.filter(|own| own.kind == Kind::ResourcePool);
            let pool = pool.ok_or_else(|| missing("resource pool", path))?;
            world.estate.pools.insert(pool, Pool { cpu, memory });
            world.touch(pool);
            Ok(())
        })
    }

    fn change_host(&self, name: &str, change: impl FnOnce(&mut Host)) -> Result<(), NoSuchObject> {
        self.look(|world| {
            let host = find(world, Kind::HostSystem, name)?;
            if let Some(own) = world.estate.hosts.get_mut(&host) {
                change(own);
            }
            // What is known of VMs depends on their host.
            for vm in world.estate.vms_where(|vm| vm.host == host) {
                world.touch(vm);
            }
            world.changes.structure();
            Ok(())
        })
    }

    fn change_datastore(
        &self,
        name: &str,
        change: impl FnOnce(&mut Datastore),
    ) -> Result<(), NoSuchObject> {
        self.look(|world| {
            let datastore = find(world, Kind::Datastore, name)?;
            if let Some(own) = world.estate.datastores.get_mut(&datastore) {
                change(own);
            }
            world.changes.structure();
            Ok(())
        })
    }

    /// Adds a VM or a template to a datacenter.
    pub fn add_vm(&self, datacenter: &str, vm: &inventory::Vm) -> Result<(), InventoryError> {
        self.look(|world| {
            let dc = world.estate.tree.find(world.estate.root, datacenter);
            let dc = dc.unwrap_or(world.estate.root);
            let now = world.moment(world.agenda.now());
            let vm = world.estate.add_vm(vm, dc, now)?;
            world.touch(vm);
            world.changes.structure();
            Ok(())
        })
    }

    /// Removes a VM, running or not, as a user does in the user interface.
    pub fn remove_vm(&self, name: &str) -> Result<(), NoSuchObject> {
        self.look(|world| {
            let vm = find(world, Kind::VirtualMachine, name)?;
            world.destroy(vm);
            Ok(())
        })
    }

    /// Powers a VM off, as a failure does.
    pub fn stop_vm(&self, name: &str) -> Result<(), NoSuchObject> {
        self.look(|world| {
            let vm = find(world, Kind::VirtualMachine, name)?;
            world.power_off(vm);
            Ok(())
        })
    }

    /// Suspends a VM.
    pub fn suspend_vm(&self, name: &str) -> Result<(), NoSuchObject> {
        self.change_vm(name, |vm| {
            vm.power = Power::Suspended;
            vm.guest = None;
        })
    }

    /// Registers the files of a VM once more, under another name in the same folder: the same BIOS
    /// uuid, the same settings and the same disks, and an instance uuid of its own.
    pub fn register_again(&self, name: &str, again: &str) -> Result<(), NoSuchObject> {
        self.look(|world| {
            let vm = find(world, Kind::VirtualMachine, name)?;
            let Some(own) = world.estate.vms.get(&vm).cloned() else {
                return Err(missing("VirtualMachine", name));
            };
            let folder = world.estate.tree.parent(vm);
            let instance_uuid = world.estate.identities.uuid("instance");
            let other = world.estate.next(Kind::VirtualMachine);
            let registered = Vm {
                instance_uuid,
                power: Power::Off,
                guest: None,
                busy: None,
                snapshots: Vec::new(),
                ..own
            };
            world.estate.tree.insert(other, again, folder);
            world.estate.vms.insert(other, registered);
            world.touch(other);
            world.changes.structure();
            Ok(())
        })
    }

    /// Powers a VM off and makes a template of it.
    pub fn mark_as_template(&self, name: &str) -> Result<(), NoSuchObject> {
        self.stop_vm(name)?;
        self.change_vm(name, |vm| {
            vm.template = true;
            vm.pool = None;
        })
    }

    /// Loses sight of a VM, or finds it again: what it is configured to be cannot be read, and
    /// nothing can be done to it.
    pub fn lose_vm(&self, name: &str, lost: Option<Lost>) -> Result<(), NoSuchObject> {
        self.change_vm(name, |vm| {
            vm.lost = lost.map(|lost| match lost {
                Lost::Inaccessible => "inaccessible",
                Lost::Orphaned => "orphaned",
                Lost::Invalid => "invalid",
            });
        })
    }

    fn change_vm(&self, name: &str, change: impl FnOnce(&mut Vm)) -> Result<(), NoSuchObject> {
        self.look(|world| {
            let vm = find(world, Kind::VirtualMachine, name)?;
            if let Some(own) = world.estate.vms.get_mut(&vm) {
                change(own);
            }
            world.touch(vm);
            Ok(())
        })
    }

    /// Attaches a disk to a VM that has a life of its own: a volume. With an id it is a first-class
    /// disk; without, it is a file outside of the VM's directory and nothing more.
    pub fn attach_volume(
        &self,
        vm: &str,
        gib: u64,
        file: &str,
        first_class: Option<&str>,
    ) -> Result<(), NoSuchObject> {
        self.look(|world| {
            let vm = find(world, Kind::VirtualMachine, vm)?;
            let uuid = world.estate.identities.uuid("disk");
            let Some(own) = world.estate.vms.get_mut(&vm) else {
                return Err(missing("VirtualMachine", ""));
            };
            let (bytes, datastore) = (gib << 30, own.datastore);
            let what = What::Disk(Disk {
                bytes,
                written: bytes,
                thin: false,
                eager: false,
                mode: "independent_persistent".to_owned(),
                file: file.to_owned(),
                datastore,
                uuid,
                parent: None,
                policy: None,
                first_class: first_class.map(str::to_owned),
            });
            let key = device::free_key(&own.devices, &what);
            let unit = device::free_unit(&own.devices);
            let label = format!("Hard disk {}", own.disks().count() + 1);
            let controller = Some(SCSI_CONTROLLER);
            own.devices.push(Device { key, controller, unit, label, what });
            world.estate.take_space(datastore, bytes);
            world.touch(vm);
            Ok(())
        })
    }

    /// The files that were deleted from datastores, oldest first.
    pub fn deleted_files(&self) -> Vec<String> {
        self.look(|world| world.estate.deleted_files.clone())
    }

    /// Attaches a tag to what an inventory path leads to; tag and category are made if need be.
    pub fn tag(&self, path: &str, category: &str, tag: &str) -> Result<(), NoSuchObject> {
        self.look(|world| {
            let object = world.estate.tree.find(world.estate.root, path);
            let object = object.ok_or_else(|| missing("object", path))?;
            let tag = world.tagging.ensure_tag(category, tag);
            world.tagging.attach(object, tag);
            Ok(())
        })
    }

    /// Takes a tag off what an inventory path leads to.
    pub fn untag(&self, path: &str, category: &str, tag: &str) -> Result<(), NoSuchObject> {
        self.look(|world| {
            let object = world.estate.tree.find(world.estate.root, path);
            let object = object.ok_or_else(|| missing("object", path))?;
            let tag = world.tagging.ensure_tag(category, tag);
            world.tagging.detach(object, &tag);
            Ok(())
        })
    }

    /// Defines a category of tags: whether an object has one of them at most, and which kinds of
    /// objects can have them; all if none is named.
    pub fn define_category(&self, name: &str, single: bool, types: &[&str]) {
        self.look(|world| world.tagging.define(name, single, types));
    }

    /// Ends all sessions now.
    pub fn expire_sessions(&self) {
        self.look(|world| {
            world.sessions.expire_all();
            world.forget_ended_sessions();
        });
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.look(|world| world.sessions.count())
    }

    /// Gives an account another password. Its sessions go on.
    pub fn set_password(&self, user: &str, password: &str) {
        self.look(|world| world.sessions.set_password(user, password));
    }
}

pub(crate) fn find(world: &World, kind: Kind, name: &str) -> Result<Ref, NoSuchObject> {
    let named = |object: &&Ref| world.estate.name(**object) == name;
    let found = match kind {
        Kind::HostSystem => world.estate.hosts.keys().find(named).copied(),
        Kind::Datastore => world.estate.datastores.keys().find(named).copied(),
        _ => world.estate.vm_named(name),
    };
    found.ok_or_else(|| missing(kind.name(), name))
}
