//! Stopping, destroying and expunging VMs.

use serde_json::{Value, json};

use crate::{
    access::Caller,
    commands::Parts,
    estate::{Kind, Number, VmState},
    world::{Due, World},
};

impl World {
    pub(super) fn begin_stop(&mut self, number: Number) {
        self.change_vm(number, |vm| {
            if vm.state == VmState::Running {
                vm.state = VmState::Stopping;
            }
        });
    }

    pub(super) fn end_stop(&mut self, number: Number) {
        let stopping = self.estate.vms.get(&number).map(|vm| vm.state) == Some(VmState::Stopping);
        if stopping {
            self.turn_off(number);
            self.tell_stopped(number);
        }
    }

    /// Destroys a VM. Data volumes are kept, but for those that are named.
    pub(super) fn end_destruction(
        &mut self,
        number: Number,
        expunge: bool,
        volumes: &[Number],
        caller: Caller,
    ) -> Value {
        self.end_stop(number);
        let attached: Vec<Number> = self.volumes_of(number).collect();
        for volume in attached {
            if volumes.contains(&volume) {
                self.remove_volume(volume);
            } else if let Some(volume) =
                self.estate.volumes.get_mut(&volume).filter(|volume| !volume.is_root)
            {
                volume.vm = None;
            }
        }
        let was_error = self.estate.vms.get(&number).map(|vm| vm.state) == Some(VmState::Error);
        let goes = expunge || was_error;
        self.change_vm(number, |vm| {
            vm.host = None;
            vm.state = if goes { VmState::Expunging } else { VmState::Destroyed };
        });
        let row = match self.estate.vms.get(&number) {
            Some(vm) => json!({ "virtualmachine": self.vm_row(number, vm, Parts::ALL, caller) }),
            None => json!({ "success": true }),
        };
        if expunge {
            self.expunge(number);
        } else {
            self.agenda.plan(self.behaviour.durations.expunge_delay, Due::Expunged(number));
        }
        row
    }

    /// The server expunges a VM that was destroyed long enough ago.
    pub(crate) fn expunge_if_destroyed(&mut self, number: Number) {
        if self.estate.vms.get(&number).is_some_and(|vm| vm.state.is_destroyed()) {
            self.expunge(number);
        }
    }

    /// Removes a VM with its root volume, adapters, name and tags.
    pub(crate) fn expunge(&mut self, number: Number) {
        self.estate.unplug(number);
        let volumes: Vec<Number> = self.volumes_of(number).collect();
        for volume in volumes {
            let is_root = self.estate.volumes.get(&volume).is_some_and(|volume| volume.is_root);
            if is_root {
                self.remove_volume(volume);
            } else if let Some(volume) = self.estate.volumes.get_mut(&volume) {
                volume.vm = None;
            }
        }
        self.estate.vms.remove(&number);
        self.estate.tags.forget(Kind::Vm, number);
        self.changes += 1;
    }
}
