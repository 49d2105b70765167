//! What a process remembers. All of it can be lost: it is found out again.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use joiner_cloud::machine::Machine;
use joiner_core::instance_type::InstanceType;
use joiner_vim::{MoRef, Task};

use crate::{
    inventory::Named,
    machines::Hardware,
    passthrough::HostDevice,
    places::Resolution,
    unavailable::{Unavailable, Wanting},
    vm_settings::PowerOff,
};

/// What a process remembers.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// What classes come to, by name.
    pub(crate) resolutions: BTreeMap<String, Kept>,
    /// What classes' machines are like, by the class's name.
    pub(crate) classes: BTreeMap<String, ClassMemory>,
    /// What could not be had lately.
    pub(crate) unavailable: Unavailable,
    /// Clones under way, by the claim's identity.
    pub(crate) clones: BTreeMap<String, Task>,
    /// How often something has gone wrong, by the claim's identity.
    pub(crate) tries: BTreeMap<String, u32>,
    /// Machines that were last known, so that one whose host is away is not taken for absent.
    pub(crate) known: BTreeMap<MoRef, Machine>,
    /// When guests were asked to shut down.
    pub(crate) shutdowns: BTreeMap<MoRef, Timestamp>,
    /// When a claim without a machine was first to be deleted, by its identity.
    pub(crate) deletions: BTreeMap<String, Timestamp>,
    /// Machines that vCenter was told to destroy.
    pub(crate) destroyed: BTreeSet<MoRef>,
    /// Folders of machines that were seen.
    pub(crate) folders: BTreeSet<String>,
    /// Datacenters that the account sees, and when they were looked at.
    pub(crate) datacenters: Option<(Timestamp, Vec<Named>)>,
}

/// What a class came to, and when.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) uid: String,
    pub(crate) generation: i64,
    pub(crate) at: Timestamp,
    pub(crate) resolution: Arc<Resolution>,
}

/// What a class's machines are like.
#[derive(Debug, Clone)]
pub(crate) struct ClassMemory {
    /// The version of the object that this is from.
    pub(crate) version: (String, i64, Option<i64>),
    pub(crate) types: Arc<[Arc<InstanceType>]>,
    pub(crate) hardware: Arc<BTreeMap<String, Hardware>>,
    pub(crate) devices: Arc<BTreeMap<String, Vec<HostDevice>>>,
    pub(crate) power_off: PowerOff,
}

impl State {
    /// The type of a machine, if its class still has it.
    pub(crate) fn instance_type(&self, class: &str, name: &str) -> Option<Arc<InstanceType>> {
        let types = &self.classes.get(class)?.types;
        types.iter().find(|own| own.name == name).cloned()
    }

    /// Whether there was no room for a type in a zone lately, or no space for anything there.
    pub(crate) fn is_unavailable(
        &self,
        class: &str,
        instance_type: &str,
        zone: Option<&str>,
        now: Timestamp,
    ) -> bool {
        let room = Wanting::Room {
            class: class.to_owned(),
            instance_type: instance_type.to_owned(),
            zone: zone.unwrap_or_default().to_owned(),
        };
        let kept = self.resolutions.get(class);
        let place = kept.and_then(|kept| kept.resolution.place(zone));
        self.unavailable.is(&room, now)
            || place.is_some_and(|place| {
                place.datastores.usable.iter().all(|datastore| {
                    let space = Wanting::Space(datastore.named.reference.clone());
                    self.unavailable.is(&space, now)
                })
            })
    }

    /// Counts one more time that something went wrong for a claim.
    pub(crate) fn count(&mut self, claim: &str) -> u32 {
        let tries = self.tries.entry(claim.to_owned()).or_default();
        *tries += 1;
        *tries
    }

    /// Forgets a claim that has its machine, or needs none any more.
    pub(crate) fn forget(&mut self, claim: &str) {
        self.tries.remove(claim);
        self.clones.remove(claim);
        self.deletions.remove(claim);
    }
}
