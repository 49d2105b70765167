//! Finding a host for a VM and starting it there.

use crate::{
    estate::{Number, Vm, VmState, VolumeState},
    refusal::{Refusal, code},
    world::World,
};

impl World {
    /// Finds a host for a new VM. Without one the VM is in `Error`.
    pub(super) fn begin_deployment(&mut self, number: Number) -> Result<(), Refusal> {
        let begun = self.begin_start(number);
        if begun.is_err() {
            self.fail_vm(number);
        }
        begun
    }

    /// Finds a host for a VM.
    pub(super) fn begin_start(&mut self, number: Number) -> Result<(), Refusal> {
        let Some(vm) = self.estate.vms.get(&number) else { return Err(gone()) };
        match vm.state {
            VmState::Running => return Ok(()),
            VmState::Stopped => {}
            state => {
                let text = format!("Unable to start VM {}: it is {}", vm.id, state.name());
                return Err(Refusal::value(text));
            }
        }
        let Some(host) = self.estate.place(vm, self.behaviour.overcommit) else {
            let text = format!(
                "No destination found for a deployment for VM instance {{\"id\":{number},\
                 \"instanceName\":\"i-2-{number}-VM\",\"uuid\":\"{}\"}}",
                vm.id
            );
            return Err(Refusal::plain(code::CAPACITY, text));
        };
        self.change_vm(number, |vm| {
            vm.host = Some(host);
            vm.state = VmState::Starting;
        });
        Ok(())
    }

    /// A new VM is there: it runs, or waits for its first start.
    pub(super) fn end_deployment(&mut self, number: Number, start: bool) -> Result<(), Refusal> {
        let volumes = self.estate.volumes.values_mut();
        volumes
            .filter(|volume| volume.vm == Some(number))
            .for_each(|volume| volume.state = VolumeState::Ready);
        if start { self.end_start(number) } else { Ok(()) }
    }

    pub(super) fn end_start(&mut self, number: Number) -> Result<(), Refusal> {
        let Some(vm) = self.estate.vms.get(&number) else { return Err(gone()) };
        let was_starting = vm.state == VmState::Starting;
        let connected = vm.host.is_some_and(|host| self.estate.hosts[&host].connected);
        if was_starting && !connected {
            let text = format!("Unable to start a VM [{}] due to insufficient capacity.", vm.id);
            self.fail_vm(number);
            return Err(Refusal::plain(code::INTERNAL, text));
        }
        if was_starting {
            self.change_vm(number, |vm| vm.state = VmState::Running);
            self.tell_started(number);
        }
        Ok(())
    }

    /// A VM that could not be made: its volumes are gone, and its name is still taken.
    pub(super) fn fail_vm(&mut self, number: Number) {
        self.change_vm(number, |vm| {
            vm.host = None;
            vm.state = VmState::Error;
        });
        let volumes: Vec<Number> = self.volumes_of(number).collect();
        for volume in volumes {
            self.remove_volume(volume);
        }
    }

    /// A VM that is off, without a word to its guest.
    pub(super) fn turn_off(&mut self, number: Number) {
        self.change_vm(number, |vm| {
            vm.host = None;
            vm.state = VmState::Stopped;
        });
    }

    /// The volumes of a VM.
    pub(super) fn volumes_of(&self, vm: Number) -> impl Iterator<Item = Number> {
        let all = self.estate.volumes.iter();
        all.filter(move |(_, volume)| volume.vm == Some(vm)).map(|(number, _)| *number)
    }

    /// Changes a VM that is there.
    pub(crate) fn change_vm(&mut self, number: Number, change: impl FnOnce(&mut Vm)) {
        let now = self.agenda.now();
        if let Some(vm) = self.estate.vms.get_mut(&number) {
            change(vm);
            vm.updated = now;
            self.changes += 1;
        }
    }
}

fn gone() -> Refusal {
    Refusal::value("Unable to find a virtual machine with specified vmId")
}
