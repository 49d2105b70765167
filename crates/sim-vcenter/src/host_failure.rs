//! Hosts that fail, and what becomes of their VMs.

use crate::{
    VCenter,
    estate::vm::Power,
    hands::{NoSuchObject, find},
    reference::{Kind, Ref},
    world::{Due, World},
};

impl VCenter {
    /// A host fails: its VMs stop, and calls about them fail. With HA, its VMs are started on other
    /// hosts after a while, as far as there is room. Otherwise they stay off until a caller starts
    /// them.
    pub fn fail_host(&self, name: &str) -> Result<(), NoSuchObject> {
        self.look(|world| {
            let host = find(world, Kind::HostSystem, name)?;
            world.fail_host(host);
            Ok(())
        })
    }
}

impl World {
    fn fail_host(&mut self, host: Ref) {
        if let Some(own) = self.estate.hosts.get_mut(&host) {
            own.connected = false;
        }
        let cluster = self.estate.above(host, Kind::ClusterComputeResource);
        let ha = cluster.and_then(|cluster| self.estate.clusters.get(&cluster));
        let restarts = ha.is_some_and(|cluster| cluster.ha);
        for vm in self.estate.vms_where(|vm| vm.host == host) {
            let stopped = self.estate.vms.get(&vm).filter(|own| own.power == Power::On);
            let run = stopped.map(|own| own.runs);
            self.power_off(vm);
            // What is known of VMs depends on their host.
            self.touch(vm);
            if let Some(run) = run.filter(|_| restarts) {
                self.plan(self.behaviour.durations.restart, Due::Restart(vm, run));
            }
        }
        self.changes.structure();
    }

    /// Starts a VM whose host failed somewhere else; where there is no room, it is tried again.
    pub(crate) fn restart(&mut self, vm: Ref, run: u32) {
        let waits = self.estate.vms.get(&vm).filter(|own| own.power == Power::Off);
        let Some(own) = waits.filter(|own| own.runs == run) else { return };
        // The current task may still fail, and then the VM must be started anyway.
        if own.busy.is_some() || self.power_on(vm, None).is_err() {
            self.plan(self.behaviour.durations.restart, Due::Restart(vm, run));
        }
    }
}
