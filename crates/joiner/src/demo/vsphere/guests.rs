//! What runs in the vCenter's machines: they boot, read what they were given, and join.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use jiff::SignedDuration;
use joiner_lab::{
    chance::Chance,
    cluster::machines::{MachineSpec, Machines},
    guest::{Confused, Given},
};
use joiner_vcenter::{GuestEvent, GuestMachine, VCenter};

use crate::{demo::READY_SECONDS, output};

/// Installing what a worker needs takes so long, and up to as long again.
const JOINS_AFTER_SECONDS: u64 = 5;

/// Has the machines of a vCenter become machines of a laboratory. How long each takes to join comes
/// from the seed.
pub(super) fn join(vcenter: &VCenter, machines: &Machines, seed: u64) {
    let chance = Chance::new(seed).fork("guests");
    let machines = machines.clone();
    let given: Mutex<BTreeMap<String, GuestMachine>> = Mutex::default();
    vcenter.on_guest(move |event| {
        let mut given = given.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            GuestEvent::PoweredOn(machine) => {
                given.insert(machine.name.clone(), machine.clone());
            }
            GuestEvent::Booted { name, .. } => {
                if let Some(machine) = given.get(name) {
                    boot(machine, &machines, chance.fork(name));
                }
            }
            GuestEvent::PoweredOff { name, .. } => {
                given.remove(name);
                // One that was switched off while it booted has no kubelet yet.
                let _ = machines.power_off(name);
            }
        }
    });
}

/// The first boot joins the cluster; after that, the kubelet starts by itself.
fn boot(machine: &GuestMachine, machines: &Machines, mut chance: Chance) {
    if machines.reboot(&machine.name).is_ok() {
        return;
    }
    let joins_after = JOINS_AFTER_SECONDS + chance.below(JOINS_AFTER_SECONDS);
    let (soonest, latest) = (*READY_SECONDS.start(), *READY_SECONDS.end());
    let ready_after = u64::from(soonest) + chance.below(u64::from(latest - soonest) + 1);
    let booted = spec(machine).map(|spec| MachineSpec {
        // The vCenter has waited for the boot.
        boot_delay: SignedDuration::ZERO,
        join_delay: SignedDuration::from_secs(joins_after as i64),
        ready_delay: SignedDuration::from_secs(ready_after as i64),
        ..spec
    });
    let told = booted
        .map_err(|confused| confused.to_string())
        .and_then(|spec| machines.boot(spec).map_err(|error| error.to_string()));
    if let Err(why) = told {
        output::talk(&format!("joiner: {}: {why}", machine.name));
    }
}

/// What a guest makes of its machine and of what it was given.
fn spec(machine: &GuestMachine) -> Result<MachineSpec, Confused> {
    let info = |key| machine.guest_info(key).unwrap_or_default();
    let given = Given {
        user_data: info("guestinfo.userdata"),
        encoding: info("guestinfo.userdata.encoding"),
        own_id: &super::provider_id(&machine.uuid),
        cpus: machine.cpus,
        memory_mib: machine.memory_mib,
        disk_gib: machine.disk_gib,
    };
    given.machine()
}
