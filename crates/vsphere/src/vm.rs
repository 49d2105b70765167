//! Existing virtual machines and their meaning.

use std::collections::BTreeMap;

use jiff::Timestamp;
use joiner_cloud::{
    instance::{Instance, Lost},
    mark::{Cluster, Mark},
    order::ClaimId,
};
use joiner_core::{
    instance_type::InstanceType,
    label::Labels,
    quantity::Quantity,
    resources::{CPU, MEMORY, Resources},
};
use joiner_vim::{MoRef, Object, inventory_name};

use crate::{HASH, HASH_VERSION, HASH_VERSION_KEY, MIB, marks, names};

/// How the first line of an instance's notes begins that says what it was cloned from. The
/// predecessor wrote the same.
pub(crate) const CLONED_FROM: &str = "cloned_from:";

/// A virtual machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Vm {
    pub(crate) reference: MoRef,
    pub(crate) name: String,
    /// The UUID that its guest reads; none while vCenter cannot read its configuration.
    pub(crate) uuid: Option<String>,
    /// Its instance UUID in vCenter; none where vCenter does not report it.
    pub(crate) instance_uuid: Option<String>,
    /// Its mark; none for an unmarked virtual machine.
    pub(crate) mark: Option<Mark>,
    /// The cluster module that keeps it apart from others.
    pub(crate) module: Option<String>,
    pub(crate) is_template: bool,
    pub(crate) created: Option<Timestamp>,
    pub(crate) cpus: Option<u32>,
    pub(crate) memory_mib: Option<u64>,
    pub(crate) power: Power,
    /// Whether its host can be asked about it.
    pub(crate) connected: bool,
    /// Whether vCenter reports that it can never run again: it has no host, or its files are invalid.
    /// This is permanent, while instances of an unreachable host return.
    pub(crate) lost: bool,
    /// The template's path, as its notes say.
    pub(crate) cloned_from: Option<String>,
}

/// Whether an instance runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Power {
    On,
    Off,
    Suspended,
    /// The state is unknown.
    Unknown,
}

/// Why a virtual machine that carries a mark is not the instance that the mark was written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stray {
    /// It was converted to a template.
    Template,
    /// It is a copy: copying a virtual machine copies its mark, but vCenter gives the copy a new
    /// UUID.
    Copy,
}

impl Stray {
    /// The message for users, with the remedy.
    pub(crate) fn told(self, cluster: &str, vm: &Vm) -> String {
        let claim = vm.mark.as_ref().map(|mark| mark.claim.name.as_str()).unwrap_or_default();
        let instance = names::instance(cluster, claim);
        match self {
            Self::Template => format!(
                "virtual machine {:?} was {instance:?}, the instance of NodeClaim {claim}, and is a \
                 template now: it is left alone. Clone it to use it. Turned back into a virtual \
                 instance, it is the instance again and goes with its NodeClaim",
                vm.name
            ),
            Self::Copy => {
                let is = vm.instance_uuid.as_deref().unwrap_or_default();
                let of_instance = vm.mark.as_ref().and_then(Mark::instance).unwrap_or_default();
                format!(
                    "virtual machine {:?} carries the mark of {instance:?}, the instance of NodeClaim \
                     {claim}, and is not that instance: its instance UUID is {is}, not \
                     {of_instance}. It is taken for a copy and left alone. Remove its settings that \
                     begin with \"joiner.\" to keep it, or remove it",
                    vm.name
                )
            }
        }
    }
}

/// The properties that an instance is read from.
pub(crate) fn properties() -> Vec<String> {
    [
        "name",
        "config.uuid",
        "config.instanceUuid",
        "config.template",
        "config.annotation",
        "config.createDate",
        "config.hardware.numCPU",
        "config.hardware.memoryMB",
        "runtime.powerState",
        "runtime.connectionState",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain(marks::properties())
    .collect()
}

impl Vm {
    pub(crate) fn read(object: &Object) -> Self {
        let settings: BTreeMap<String, String> = object
            .values
            .iter()
            .filter_map(|(path, value)| {
                Some((marks::setting_of(path)?.to_owned(), value.text.to_string()))
            })
            .collect();
        let first_line = object.text("config.annotation").and_then(|notes| notes.lines().next());
        let identity = |path: &str| object.text(path).filter(|uuid| !uuid.is_empty());
        Self {
            reference: object.reference.clone(),
            name: inventory_name::unescaped(object.text("name").unwrap_or_default()),
            uuid: identity("config.uuid").map(str::to_owned),
            instance_uuid: identity("config.instanceUuid").map(str::to_owned),
            mark: marks::read(&settings),
            module: marks::module_of(&settings),
            is_template: object.parse("config.template") == Some(true),
            created: object.parse("config.createDate"),
            cpus: object.parse("config.hardware.numCPU"),
            memory_mib: object.parse("config.hardware.memoryMB"),
            power: match object.text("runtime.powerState") {
                Some("poweredOn") => Power::On,
                Some("poweredOff") => Power::Off,
                Some("suspended") => Power::Suspended,
                _ => Power::Unknown,
            },
            connected: object
                .text("runtime.connectionState")
                .is_none_or(|state| state == "connected"),
            lost: matches!(object.text("runtime.connectionState"), Some("orphaned" | "invalid")),
            cloned_from: first_line
                .and_then(|line| line.strip_prefix(CLONED_FROM))
                .filter(|path| !path.is_empty())
                .map(str::to_owned),
        }
    }

    /// What it does, in a word.
    pub(crate) fn state(&self) -> &'static str {
        match self.power {
            _ if self.lost => "lost",
            _ if !self.connected => "disconnected",
            Power::On => "running",
            Power::Off => "stopped",
            Power::Suspended => "suspended",
            Power::Unknown => "unknown",
        }
    }

    /// Whether it carries a cluster's mark.
    pub(crate) fn is_of(&self, cluster: Cluster<'_>) -> bool {
        self.mark.as_ref().is_some_and(|mark| mark.names(cluster))
    }

    /// Whether its mark lacks the UID of the cluster.
    pub(crate) fn is_unproven(&self) -> bool {
        self.mark.as_ref().is_none_or(|mark| mark.cluster_uid.is_empty())
    }

    /// Why it is not the instance that its mark was written for, although it carries the mark. Such a
    /// virtual machine belongs to the user who made it, and stays untouched.
    pub(crate) fn stray(&self) -> Option<Stray> {
        if self.is_template {
            return Some(Stray::Template);
        }
        let (meant, own) = (self.mark.as_ref()?.instance()?, self.instance_uuid.as_deref()?);
        (!meant.eq_ignore_ascii_case(own)).then_some(Stray::Copy)
    }

    /// Whether its mark cannot tell it from a copy, because one of the two does not say its identity.
    pub(crate) fn may_be_copy(&self) -> bool {
        let Some(mark) = &self.mark else { return false };
        mark.instance().is_none() || self.instance_uuid.is_none()
    }

    /// Whether it may be removed for a claim. What may be a copy may be removed for the claim alone
    /// that it names: an instance that was adopted before marks said what vCenter knows it by.
    pub(crate) fn may_go_for(&self, claim: &ClaimId) -> bool {
        let own = self.instance_uuid.as_deref().unwrap_or_default();
        let is_adopted = |mark: &Mark| !mark.made_here && mark.claim.uid == claim.uid;
        let is_claims = own.eq_ignore_ascii_case(&claim.uid) && !own.is_empty();
        !self.may_be_copy() || is_claims || self.mark.as_ref().is_some_and(is_adopted)
    }

    /// The operator's view of it; none while its provider id is unknown. The capacity comes from the
    /// type, or from the hardware when the type no longer exists.
    pub(crate) fn instance(&self, instance_type: Option<&InstanceType>) -> Option<Instance> {
        let mark = self.mark.clone().unwrap_or_default();
        let offering = instance_type.and_then(|own| own.offerings.first());
        let (capacity, allocatable) = match (instance_type, offering) {
            (Some(own), Some(offering)) => {
                (own.offered_capacity(offering), own.allocatable(offering))
            }
            _ => (self.hardware(), self.hardware()),
        };
        Some(Instance {
            provider_id: names::provider_id(self.uuid.as_deref()?),
            // A possible copy belongs to no claim.
            claim: mark.claim().filter(|_| !self.may_be_copy()),
            image_id: self.cloned_from.clone(),
            annotations: hash_annotations(&mark),
            labels: mark.labels,
            capacity,
            allocatable,
            created: self.created,
            deleting: false,
            lost: self.lost_for_good(),
            cluster_unproven: self.is_unproven(),
            holds_join_data: self.mark.as_ref().is_some_and(|mark| !mark.join_data_emptied),
            ..Instance::default()
        })
    }

    /// Why it will never run again, if that is sure.
    pub(crate) fn lost_for_good(&self) -> Option<Lost> {
        let why = || format!("virtual machine {:?} is orphaned or invalid in vCenter", self.name);
        self.lost.then(|| Lost { why: why(), ..Lost::default() })
    }

    fn hardware(&self) -> Resources {
        let mut hardware = Resources::new();
        if let Some(cpus) = self.cpus {
            hardware.set(CPU, Quantity::whole(i64::from(cpus)));
        }
        if let Some(mib) = self.memory_mib.and_then(|mib| i64::try_from(mib).ok()) {
            hardware.set(MEMORY, Quantity::bytes(mib.saturating_mul(MIB)));
        }
        hardware
    }
}

/// What the class was like when the instance was made.
fn hash_annotations(mark: &Mark) -> Labels {
    if mark.class_hash.is_empty() {
        return Labels::new();
    }
    [
        (HASH.to_owned(), mark.class_hash.clone()),
        (HASH_VERSION_KEY.to_owned(), HASH_VERSION.to_owned()),
    ]
    .into()
}

/// What a list shows of an instance.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Listed {
    /// It is one of ours.
    Ours(Box<Instance>),
    /// It belongs to others, or is not an instance yet.
    NotOurs,
    /// It may be ours, but its host is unreachable. A list without it would be incomplete.
    Unreadable,
}

/// Judges what a list found. `known` is what was last known of the instance.
pub(crate) fn listed(
    vm: &Vm,
    cluster: Cluster<'_>,
    is_legacy: bool,
    instance_type: Option<&InstanceType>,
    known: Option<&Instance>,
) -> Listed {
    if vm.stray().is_some() {
        return Listed::NotOurs;
    }
    if vm.uuid.is_none() {
        // During cloning it has no configuration yet, and no process knows its name.
        if vm.connected {
            return Listed::NotOurs;
        }
        if let Some(known) = known {
            return Listed::Ours(Box::new(Instance { lost: vm.lost_for_good(), ..known.clone() }));
        }
        let may_be = names::is_of_predecessor(cluster.name, &vm.name);
        return if may_be { Listed::Unreadable } else { Listed::NotOurs };
    }
    let of_predecessor =
        vm.mark.is_none() && is_legacy && names::is_of_predecessor(cluster.name, &vm.name);
    if !(vm.is_of(cluster) || of_predecessor) {
        return Listed::NotOurs;
    }
    vm.instance(instance_type).map_or(Listed::NotOurs, |instance| Listed::Ours(Box::new(instance)))
}

#[cfg(test)]
mod tests;
