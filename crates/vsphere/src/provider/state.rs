//! The memory of a process. All of it can be lost, because it is derived again.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use joiner_cloud::{
    attempts::Tries,
    instance::Instance,
    judgement::{REFUSED_FOR, RefusedOrders, ToldOnce},
    measured::MeasuredMemory,
    resolutions::Resolutions,
    unavailable::{Shortages, Unavailable, UnavailableOffering, unavailable_offerings},
};
use joiner_core::instance_type::InstanceType;
use joiner_vim::{MoRef, Task};

use crate::{
    instances::Hardware, inventory::Named, load::Loads, passthrough::HostDevice,
    places::Resolution, vm_settings::PowerOff,
};

/// What a process remembers.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// What classes come to, by name.
    pub(crate) resolutions: Resolutions<Resolution>,
    /// What classes' instances are like, by the class's name.
    pub(crate) classes: BTreeMap<String, ClassMemory>,
    /// What sizes of classes lacked when they were last looked at, by the class's name.
    pub(crate) shortages: BTreeMap<String, Shortages>,
    /// What clusters have given away, and what is on its way to them.
    pub(crate) loads: Loads,
    /// Recently unavailable offerings.
    pub(crate) unavailable: Unavailable,
    /// Clones under way, by the claim's identity.
    pub(crate) clones: BTreeMap<String, Task>,
    /// How often something has gone wrong, by the claim's identity.
    pub(crate) tries: Tries,
    /// Instances that were last known, so that one whose host is away is not taken for absent.
    pub(crate) known: BTreeMap<MoRef, Instance>,
    /// How much memory guests see.
    pub(crate) measured: MeasuredMemory,
    /// When guests were asked to shut down.
    pub(crate) shutdowns: BTreeMap<MoRef, Timestamp>,
    /// When a claim without an instance was first to be deleted, by its identity.
    pub(crate) deletions: BTreeMap<String, Timestamp>,
    /// What was last told of a class that leads nowhere, by its name.
    pub(crate) told_unresolved: ToldOnce,
    /// Consecutive orders of a class that vCenter refused as invalid, by its name.
    pub(crate) invalid_orders: RefusedOrders,
    /// When vCenter last lacked a licence, and for what.
    pub(crate) unlicensed: Option<(Timestamp, String)>,
    /// Instances that vCenter was told to destroy.
    pub(crate) destroyed: BTreeSet<MoRef>,
    /// Virtual machines that carry a mark and are not its instance, and when they were last seen.
    pub(crate) strays: BTreeMap<MoRef, Timestamp>,
    /// Identities of other clusters of the same name that were told of.
    pub(crate) told_namesakes: BTreeSet<String>,
    /// Folders of instances that were seen.
    pub(crate) folders: BTreeSet<String>,
    /// Datacenters that the account sees, and when they were looked at.
    pub(crate) datacenters: Option<(Timestamp, Vec<Named>)>,
}

/// What follows for instances of a class depends on this alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClassVersion {
    pub(crate) uid: String,
    pub(crate) generation: i64,
    pub(crate) template_disk_gib: Option<i64>,
    pub(crate) measured_memory: BTreeMap<String, i64>,
}

/// What a class's instances are like.
#[derive(Debug, Clone)]
pub(crate) struct ClassMemory {
    /// What this was worked out from.
    pub(crate) version: ClassVersion,
    pub(crate) types: Arc<[Arc<InstanceType>]>,
    pub(crate) hardware: Arc<BTreeMap<String, Hardware>>,
    pub(crate) devices: Arc<BTreeMap<String, Vec<HostDevice>>>,
    pub(crate) power_off: PowerOff,
}

impl State {
    /// The type of an instance, if its class still has it.
    pub(crate) fn instance_type(&self, class: &str, name: &str) -> Option<Arc<InstanceType>> {
        let types = &self.classes.get(class)?.types;
        types.iter().find(|own| own.name == name).cloned()
    }

    /// What a type lacks in a zone, in one word; none if it is available as far as it is known.
    pub(crate) fn why_unavailable(
        &self,
        class: &str,
        instance_type: &str,
        zone: Option<&str>,
        now: Timestamp,
    ) -> Option<&'static str> {
        let shortages = self.shortages.get(class);
        let has_space = || {
            let place = self.resolutions.named(class).and_then(|own| own.place(zone));
            place.is_none_or(|place| {
                let usable = &place.datastores.usable;
                usable.iter().any(|own| !self.unavailable.is(&own.space(), now))
            })
        };
        self.unavailable.why(class, instance_type, zone, shortages, has_space, now)
    }

    /// Every offering that is not available now.
    pub(crate) fn unavailable_offerings(&self, now: Timestamp) -> Vec<UnavailableOffering> {
        let of_class = self.classes.iter().flat_map(|(class, memory)| {
            unavailable_offerings(&memory.types, |name, zone| {
                self.why_unavailable(class, name, zone, now)
            })
        });
        of_class.collect()
    }

    /// What vCenter lacked a licence for, unless that is so long ago that it may be tried again.
    pub(crate) fn why_unlicensed(&self, now: Timestamp) -> Option<&str> {
        let (at, why) = self.unlicensed.as_ref()?;
        (now.duration_since(*at).unsigned_abs() < REFUSED_FOR).then_some(why.as_str())
    }

    /// Forgets a claim that has its instance, or needs none any more.
    pub(crate) fn forget(&mut self, claim: &str) {
        self.tries.forget(claim);
        self.clones.remove(claim);
        self.deletions.remove(claim);
    }
}
