//! What a task does.

use std::time::Duration;

use super::clone::CloneOrder;
use crate::{
    estate::{Estate, vm::Power},
    fault::Fault,
    inventory::Behaviour,
    reference::Ref,
    wire::element::Element,
    world::World,
};

/// What a task does.
#[derive(Debug)]
pub(crate) enum Job {
    Clone(Box<CloneOrder>),
    Reconfigure {
        vm: Ref,
        spec: Element,
    },
    PowerOn {
        vm: Ref,
        host: Option<Ref>,
    },
    PowerOff {
        vm: Ref,
    },
    Upgrade {
        vm: Ref,
        hardware: u32,
    },
    Destroy {
        vm: Ref,
    },
    Snapshot {
        vm: Ref,
        name: String,
    },
    ReconfigureCluster {
        cluster: Ref,
        spec: Element,
    },
    /// The task has ended, or is being looked at.
    Nothing,
}

impl Job {
    /// The name of the task, and the id that stands for its description.
    pub(super) fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::Clone(_) => ("CloneVM_Task", "VirtualMachine.clone"),
            Self::Reconfigure { .. } => ("ReconfigVM_Task", "VirtualMachine.reconfigure"),
            Self::PowerOn { .. } => ("PowerOnVM_Task", "VirtualMachine.powerOn"),
            Self::PowerOff { .. } => ("PowerOffVM_Task", "VirtualMachine.powerOff"),
            Self::Upgrade { .. } => ("UpgradeVM_Task", "VirtualMachine.upgradeVirtualHardware"),
            Self::Destroy { .. } => ("Destroy_Task", "VirtualMachine.destroy"),
            Self::Snapshot { .. } => ("CreateSnapshot_Task", "VirtualMachine.createSnapshot"),
            Self::ReconfigureCluster { .. } => {
                ("ReconfigureComputeResource_Task", "ComputeResource.reconfigureEx")
            }
            Self::Nothing => ("", ""),
        }
    }

    /// The name of what comes of it.
    pub(super) fn makes(&self) -> Option<&str> {
        match self {
            Self::Clone(order) => Some(&order.name),
            _ => None,
        }
    }

    /// The VM that nothing else may happen to meanwhile.
    pub(super) fn has_to_itself(&self) -> Option<Ref> {
        match self {
            Self::Reconfigure { vm, .. }
            | Self::PowerOn { vm, .. }
            | Self::PowerOff { vm }
            | Self::Upgrade { vm, .. }
            | Self::Destroy { vm }
            | Self::Snapshot { vm, .. } => Some(*vm),
            Self::Clone(_) | Self::ReconfigureCluster { .. } | Self::Nothing => None,
        }
    }

    /// What it takes of which host: a clone is made by the host of its source.
    pub(super) fn units(&self, behaviour: &Behaviour, estate: &Estate) -> Option<(Ref, u32)> {
        let Self::Clone(order) = self else { return None };
        let host = estate.vms.get(&order.source)?.host;
        let units =
            if order.linked { behaviour.linked_clone_units } else { behaviour.full_clone_units };
        Some((host, units))
    }

    /// Whether the VM's power state, or a clone's name, allow what is asked.
    pub(crate) fn check_state(&self, world: &World) -> Result<(), Fault> {
        let (vm, wants) = match self {
            Self::Clone(order) => return order.check_name(world),
            Self::PowerOn { vm, .. } => (vm, Power::On),
            Self::PowerOff { vm } | Self::Upgrade { vm, .. } | Self::Destroy { vm } => {
                (vm, Power::Off)
            }
            Self::Reconfigure { .. }
            | Self::Snapshot { .. }
            | Self::ReconfigureCluster { .. }
            | Self::Nothing => return Ok(()),
        };
        let Some(own) = world.estate.vms.get(vm) else { return Err(Fault::gone(*vm)) };
        // Power is switched where it is not as wanted; the others need it to be so already.
        let switches = matches!(self, Self::PowerOn { .. } | Self::PowerOff { .. });
        if (own.power == wants) == switches {
            return Err(Fault::power_state(wants.word(), own.power.word()));
        }
        Ok(())
    }

    /// Begins, and says how long it takes.
    pub(super) fn begin(&mut self, world: &mut World) -> Result<Duration, Fault> {
        self.check_state(world)?;
        let durations = world.behaviour.durations.clone();
        match self {
            Self::Clone(order) => order.begin(world),
            Self::Reconfigure { vm, spec } => {
                // What would fail at the end fails at the beginning too.
                world.changed_vm(*vm, spec).map(|_| durations.reconfigure)
            }
            Self::PowerOn { vm, host } => world.find_host(*vm, *host).map(|_| durations.power_on),
            Self::PowerOff { vm } => world.reachable(*vm).map(|()| durations.power_off),
            Self::Upgrade { vm, .. } | Self::Snapshot { vm, .. } => {
                world.reachable(*vm).map(|()| durations.reconfigure)
            }
            Self::Destroy { vm } => world.reachable(*vm).map(|()| durations.destroy),
            Self::ReconfigureCluster { .. } => Ok(durations.reconfigure),
            Self::Nothing => Ok(Duration::ZERO),
        }
    }

    /// Does it, and says what came of it.
    pub(super) fn finish(&mut self, world: &mut World) -> Result<Option<Ref>, Fault> {
        match self {
            Self::Clone(order) => order.finish(world).map(Some),
            Self::Reconfigure { vm, spec } => world.reconfigure(*vm, spec).map(|()| None),
            Self::PowerOn { vm, host } => world.power_on(*vm, *host).map(|()| None),
            Self::PowerOff { vm } => {
                world.power_off(*vm);
                Ok(None)
            }
            Self::Upgrade { vm, hardware } => {
                if let Some(vm) = world.estate.vms.get_mut(vm) {
                    vm.hardware = *hardware;
                }
                world.touch(*vm);
                Ok(None)
            }
            Self::Destroy { vm } => {
                world.destroy(*vm);
                Ok(None)
            }
            Self::Snapshot { vm, name } => world.take_snapshot(*vm, name).map(Some),
            Self::ReconfigureCluster { cluster, spec } => {
                world.change_groups(*cluster, spec).map(|()| None)
            }
            Self::Nothing => Ok(None),
        }
    }

    /// Leaves nothing behind of what was begun.
    pub(super) fn give_up(&mut self, world: &mut World) {
        if let Self::Clone(order) = self {
            order.give_up(world);
        }
    }
}
