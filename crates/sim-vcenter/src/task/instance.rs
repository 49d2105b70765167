//! What tasks do to VMs.

use std::collections::BTreeMap;

use crate::{
    change,
    estate::{
        device::{Device, What},
        vm::{Power, Snapshot, Vm},
    },
    fault::Fault,
    guest::{GuestEvent, GuestVm},
    reference::{Kind, Ref},
    wire::element::Element,
    world::{Due, World},
};

impl World {
    /// Whether the host of a VM can be spoken to.
    pub(super) fn reachable(&self, vm: Ref) -> Result<(), Fault> {
        let Some(own) = self.estate.vms.get(&vm) else { return Err(Fault::gone(vm)) };
        if let Some(state) = own.lost {
            let message = format!("The virtual machine is {state}.");
            return Err(Fault::new("InvalidState", message));
        }
        let host = self.estate.hosts.get(&own.host);
        if host.is_some_and(|host| host.connected) {
            return Ok(());
        }
        Err(Fault::host_not_connected(self.estate.name(own.host)))
    }

    /// Whether a datastore can take this much more.
    pub(super) fn space_for(&self, datastore: Ref, bytes: u64) -> Result<(), Fault> {
        let Some(own) = self.estate.datastores.get(&datastore) else {
            return Err(Fault::gone(datastore));
        };
        let name = self.estate.name(datastore);
        if bytes > 0 && !own.is_usable() {
            let message = format!("The datastore '{name}' is not accessible.");
            return Err(Fault::new("InaccessibleDatastore", message));
        }
        if own.free_bytes() < bytes {
            return Err(Fault::no_disk_space(name));
        }
        Ok(())
    }

    /// What a VM would be after a change, and the name it would have.
    pub(super) fn changed_vm(&mut self, vm: Ref, spec: &Element) -> Result<Vm, Fault> {
        self.reachable(vm)?;
        let Some(own) = self.estate.vms.get(&vm) else { return Err(Fault::gone(vm)) };
        let mut changed = own.clone();
        if let Some(name) = spec.text_of("name")
            && let Some(parent) = self.estate.tree.parent(vm)
            && let Some(other) = self.estate.tree.child(parent, name)
            && other != vm
        {
            return Err(Fault::duplicate_name(name, other));
        }
        let before = needs(&changed.devices);
        let about = change::About { vm: Some(vm), linked: false };
        change::apply(&mut self.estate, &mut changed, spec, about)?;
        for (datastore, bytes) in needs(&changed.devices) {
            let more = bytes.saturating_sub(before.get(&datastore).copied().unwrap_or(0));
            self.space_for(datastore, more)?;
        }
        Ok(changed)
    }

    pub(super) fn reconfigure(&mut self, vm: Ref, spec: &Element) -> Result<(), Fault> {
        let changed = self.changed_vm(vm, spec)?;
        let Some(own) = self.estate.vms.get(&vm) else { return Err(Fault::gone(vm)) };
        let removed: Vec<String> = change::destroyed_files(&own.devices, spec);
        let before = takes(&own.devices);
        for (datastore, bytes) in before {
            self.estate.give_space(datastore, bytes);
        }
        for (datastore, bytes) in takes(&changed.devices) {
            self.estate.take_space(datastore, bytes);
        }
        self.estate.delete_files(removed);
        if let Some(name) = spec.text_of("name") {
            self.estate.tree.rename(vm, name);
        }
        self.estate.vms.insert(vm, changed);
        self.touch(vm);
        Ok(())
    }

    pub(super) fn find_host(&self, vm: Ref, asked: Option<Ref>) -> Result<Ref, Fault> {
        self.estate.host_to_start(vm, asked, &self.behaviour)
    }

    pub(crate) fn power_on(&mut self, vm: Ref, asked: Option<Ref>) -> Result<(), Fault> {
        let host = self.find_host(vm, asked)?;
        let (now, boot) = (self.agenda.now(), self.behaviour.durations.boot);
        let name = self.estate.name(vm).to_owned();
        let Some(own) = self.estate.vms.get_mut(&vm) else { return Err(Fault::gone(vm)) };
        if own.host != host && self.views.have_hosts() {
            self.changes.structure();
        }
        own.host = host;
        own.power = Power::On;
        own.started = Some(now);
        own.runs += 1;
        let run = own.runs;
        let event = GuestEvent::PoweredOn(GuestVm {
            name,
            uuid: own.uuid.clone(),
            instance_uuid: own.instance_uuid.clone(),
            extra_config: own.extra.clone(),
            cpus: own.cpus,
            memory_mib: own.memory_mib,
            disk_gib: own.disks().next().map_or(0, |disk| disk.bytes >> 30),
        });
        self.guest_events.push(event);
        self.touch(vm);
        self.plan(boot, Due::GuestUp(vm, run));
        Ok(())
    }

    pub(crate) fn power_off(&mut self, vm: Ref) {
        let name = self.estate.name(vm).to_owned();
        let Some(own) = self.estate.vms.get_mut(&vm) else { return };
        if own.power == Power::Off {
            return;
        }
        own.power = Power::Off;
        own.guest = None;
        let event = GuestEvent::PoweredOff { name, uuid: own.uuid.clone() };
        self.guest_events.push(event);
        self.touch(vm);
    }

    pub(super) fn take_snapshot(&mut self, vm: Ref, name: &str) -> Result<Ref, Fault> {
        let snapshot = self.estate.next(Kind::VirtualMachineSnapshot);
        let created = self.moment(self.agenda.now());
        let Some(own) = self.estate.vms.get_mut(&vm) else { return Err(Fault::gone(vm)) };
        own.snapshots.push(Snapshot { reference: snapshot, name: name.to_owned(), created });
        self.estate.snapshots.insert(snapshot, vm);
        self.touch(vm);
        Ok(snapshot)
    }

    /// A guest has come up: its tools speak.
    pub(crate) fn guest_up(&mut self, vm: Ref, run: u32) {
        let guest = self.estate.guest_of(vm);
        let name = self.estate.name(vm).to_owned();
        let Some(own) = self.estate.vms.get_mut(&vm) else { return };
        if own.power != Power::On || own.runs != run {
            return;
        }
        own.guest = guest;
        let event = GuestEvent::Booted { name, uuid: own.uuid.clone() };
        self.guest_events.push(event);
        self.touch(vm);
    }

    pub(crate) fn guest_down(&mut self, vm: Ref, run: u32) {
        if self.estate.vms.get(&vm).is_some_and(|own| own.runs == run) {
            self.power_off(vm);
        }
    }

    /// Removes a VM with its files. Disks with a life of their own stay where they are.
    pub(crate) fn destroy(&mut self, vm: Ref) {
        self.power_off(vm);
        let Some(own) = self.estate.vms.remove(&vm) else { return };
        for disk in own.disks().filter(|disk| disk.first_class.is_none()) {
            self.estate.give_space(disk.datastore, disk.takes());
            self.estate.delete_files([disk.file.clone()]);
        }
        for snapshot in &own.snapshots {
            self.estate.snapshots.remove(&snapshot.reference);
        }
        for cluster in self.estate.clusters.values_mut() {
            cluster.vm_groups.values_mut().for_each(|group| {
                group.remove(&vm);
            });
        }
        self.estate.tree.remove(vm);
        self.tagging.forget(vm);
        self.modules.forget(vm);
        self.changes.gone(vm);
    }
}

/// What devices take of each datastore altogether.
pub(super) fn needs(devices: &[Device]) -> BTreeMap<Ref, u64> {
    let mut needs = BTreeMap::new();
    for (datastore, bytes) in takes(devices) {
        *needs.entry(datastore).or_default() += bytes;
    }
    needs
}

/// What devices take of datastores.
pub(super) fn takes(devices: &[Device]) -> Vec<(Ref, u64)> {
    let disks = devices.iter().filter_map(|device| match &device.what {
        What::Disk(disk) => Some((disk.datastore, disk.takes())),
        _ => None,
    });
    disks.collect()
}
