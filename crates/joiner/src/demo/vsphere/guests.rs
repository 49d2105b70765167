//! What runs in the vCenter's instances: they boot, read what they were given, and join.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use jiff::SignedDuration;
use joiner_lab::{
    chance::Chance,
    cluster::instances::{InstanceSpec, Instances},
    guest::{Confused, Given},
};
use joiner_sim_vcenter::{GuestEvent, GuestVm, VCenter};

use crate::{demo::READY_SECONDS, output};

/// Installing what a worker needs takes so long, and up to as long again.
const JOINS_AFTER_SECONDS: u64 = 5;

/// Has the instances of a vCenter become instances of a laboratory. How long each takes to join comes
/// from the seed.
pub(super) fn join(vcenter: &VCenter, instances: &Instances, seed: u64) {
    let chance = Chance::new(seed).fork("guests");
    let instances = instances.clone();
    let given: Mutex<BTreeMap<String, GuestVm>> = Mutex::default();
    vcenter.on_guest(move |event| {
        let mut given = given.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            GuestEvent::PoweredOn(instance) => {
                given.insert(instance.name.clone(), instance.clone());
            }
            GuestEvent::Booted { name, .. } => {
                if let Some(instance) = given.get(name) {
                    boot(instance, &instances, chance.fork(name));
                }
            }
            GuestEvent::PoweredOff { name, .. } => {
                given.remove(name);
                // One that was switched off while it booted has no kubelet yet.
                let _ = instances.power_off(name);
            }
        }
    });
}

/// The first boot joins the cluster; after that, the kubelet starts by itself.
fn boot(instance: &GuestVm, instances: &Instances, mut chance: Chance) {
    if instances.reboot(&instance.name).is_ok() {
        return;
    }
    let joins_after = JOINS_AFTER_SECONDS + chance.below(JOINS_AFTER_SECONDS);
    let (soonest, latest) = (*READY_SECONDS.start(), *READY_SECONDS.end());
    let ready_after = u64::from(soonest) + chance.below(u64::from(latest - soonest) + 1);
    let booted = spec(instance).map(|spec| InstanceSpec {
        // The vCenter has waited for the boot.
        boot_delay: SignedDuration::ZERO,
        join_delay: SignedDuration::from_secs(joins_after as i64),
        ready_delay: SignedDuration::from_secs(ready_after as i64),
        ..spec
    });
    let told = booted
        .map_err(|confused| confused.to_string())
        .and_then(|spec| instances.boot(spec).map_err(|error| error.to_string()));
    if let Err(why) = told {
        output::talk(&format!("joiner: {}: {why}", instance.name));
    }
}

/// What a guest makes of its instance and of what it was given.
fn spec(instance: &GuestVm) -> Result<InstanceSpec, Confused> {
    let info = |key| instance.guest_info(key).unwrap_or_default();
    let given = Given {
        user_data: info("guestinfo.userdata"),
        encoding: info("guestinfo.userdata.encoding"),
        own_id: &super::provider_id(&instance.uuid),
        cpus: instance.cpus,
        memory_mib: instance.memory_mib,
        disk_gib: instance.disk_gib,
    };
    given.instance()
}
