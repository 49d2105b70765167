//! How VMs start, stop and go.

use crate::{guest::GuestEvent, schema::property::Properties, world::World};

impl World {
    pub(crate) fn start_vm(&mut self, vmid: u32) -> Result<(), String> {
        const MIB: u64 = 1 << 20;
        let vm = self.estate.vms.get(&vmid).ok_or("no such VM")?;
        if vm.running {
            return Err(format!("VM {vmid} already running"));
        }
        let host = &self.estate.hosts[&vm.node].facts;
        let (memory, cpus) = self.estate.load(&vm.node);
        let (wanted, node) = (vm.memory(), vm.node.clone());
        if vm.cpus() > u64::from(host.cpus) {
            return Err(format!("MAX {} vcpus allowed per VM on this node", host.cpus));
        }
        if memory + wanted > host.memory {
            let text = format!(
                "{node}: {} MiB more than there are",
                (memory + wanted - host.memory) / MIB
            );
            self.estate.overcommitted.push(text);
            return Err("start failed: QEMU exited with code 1: Cannot allocate memory".to_owned());
        }
        for (key, value) in vm.config.iter().filter(|(key, _)| key.starts_with("net")) {
            let bridge = Properties::read(value).get("bridge").map(str::to_owned);
            if let Some(bridge) = bridge.filter(|it| !host.bridges.contains_key(it)) {
                return Err(format!("start failed: {key}: bridge '{bridge}' does not exist"));
            }
        }
        if cpus + vm.cpus() > u64::from(host.cpus) {
            self.estate.overcommitted.push(format!("{node}: more CPUs than there are"));
        }
        let now = self.agenda.now();
        let vm = self.vm_mut(vmid)?;
        (vm.running, vm.started) = (true, now);
        self.touch(vmid);
        if let Some(guest) = self.guest(vmid) {
            self.guest_events.push(GuestEvent::Started(guest));
        }
        Ok(())
    }

    pub(crate) fn stop_vm(&mut self, vmid: u32) -> Result<(), String> {
        let vm = self.vm_mut(vmid)?;
        if std::mem::take(&mut vm.running) {
            let name = vm.name().to_owned();
            self.guest_events.push(GuestEvent::Stopped { vmid, name });
        }
        self.touch(vmid);
        Ok(())
    }

    /// Whether a VM may be destroyed now.
    pub(crate) fn may_destroy(&self, vmid: u32, purge: bool) -> Result<(), String> {
        let vm = self.estate.vms.get(&vmid).ok_or("no such VM")?;
        if vm.is_protected() {
            return Err(format!("can't remove VM {vmid} - protection mode enabled"));
        }
        if let Some(lock) = vm.lock()
            && !self.is_broken_clone(vmid, lock)
            && lock != "suspended"
        {
            return Err(format!("VM is locked ({lock})"));
        }
        if vm.ha.is_some() && !purge {
            return Err(format!(
                "unable to remove VM {vmid} - used in HA resources and purge parameter not set."
            ));
        }
        if vm.running {
            return Err(format!("VM {vmid} is running - destroy failed"));
        }
        let bases = format!("base-{vmid}-disk");
        let linked = self.estate.vms.values().find(|other| {
            other.vmid != vmid && other.disks().any(|(_, drive)| drive.contains(&bases))
        });
        match linked {
            Some(other) => Err(format!(
                "unable to remove VM {vmid} - base volume is still in use by VM {}",
                other.vmid
            )),
            None => Ok(()),
        }
    }

    /// Whether a clone left a VM behind that may be destroyed in spite of its lock.
    fn is_broken_clone(&self, vmid: u32, lock: &str) -> bool {
        let makes = |task: &super::Task| task.is_running() && task.makes == Some(vmid);
        lock == "clone"
            && self.behaviour.destroys_broken_clones
            && !self.tasks.all.values().any(makes)
    }

    /// Removes a VM and its volumes.
    pub(crate) fn remove_vm(&mut self, vmid: u32) {
        let Some(vm) = self.estate.vms.remove(&vmid) else { return };
        let pending = vm.pending_drives.values().map(String::as_str);
        for drive in vm.disks().map(|(_, drive)| drive).chain(pending) {
            let drive = Properties::read(drive);
            // A clone that was to go to another node has its volumes on shared storages alone.
            self.estate.remove_volume(drive.bare("file").unwrap_or_default(), &vm.node);
        }
        self.estate.pools.values_mut().for_each(|members| {
            members.remove(&vmid);
        });
        if vm.running {
            let name = vm.name().to_owned();
            self.guest_events.push(GuestEvent::Stopped { vmid, name });
        }
        self.changes += 1;
    }
}
