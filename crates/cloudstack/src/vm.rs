//! What an instance in the cloud means: whether it may run, whose it is, and what it has.

use jiff::Timestamp;
use joiner_cloud::{
    instance::{Instance, Lost},
    mark::{Cluster, Mark},
    order::ClaimId,
};
use joiner_core::{
    instance_type::{InstanceType, Offering},
    label::{self, Labels},
};

use crate::{
    client::objects::VirtualMachine,
    labels::{
        self, NETWORK_ID, NETWORK_NAME, SERVICE_OFFERING_ID, SERVICE_OFFERING_NAME, TEMPLATE_ID,
        TEMPLATE_NAME, ZONE_ID, ZONE_NAME,
    },
    marks, names,
    provider::Resolved,
    provider_id::Form,
};

/// How CloudStack writes times.
const TIME: &str = "%Y-%m-%dT%H:%M:%S%z";
/// How many instances of one claim are looked for, whose names or jobs are used up.
pub(crate) const ATTEMPTS_MAX: u32 = 40;

/// What the state of an instance means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// It runs, or may run again.
    Live,
    /// It is off, and nothing is under way that changes it.
    Off,
    /// It will never run.
    Failed,
    /// It is removed. Administrators see such instances for a day.
    Gone,
}

impl Life {
    /// What a state means, for an instance with or without a pending job.
    pub(crate) fn of(vm: &VirtualMachine) -> Self {
        match vm.state.as_str() {
            "Destroyed" | "Expunging" => Self::Gone,
            "Error" => Self::Failed,
            "Stopped" | "Shutdown" if vm.job.is_none() => Self::Off,
            _ => Self::Live,
        }
    }
}

/// The mark of an instance of this cluster, whichever claim it is of.
pub(crate) fn mark_of(vm: &VirtualMachine, cluster: Cluster<'_>) -> Option<Mark> {
    marks::read(vm, cluster.name).filter(|mark| mark.names(cluster))
}

/// Whether an instance carries the mark of another one: its tags say the other's id.
pub(crate) fn is_copy(vm: &VirtualMachine, mark: &Mark) -> bool {
    !mark.instance_uuid.is_empty() && !mark.instance_uuid.eq_ignore_ascii_case(&vm.id)
}

/// Whether an instance is the one that its mark was written for: its tags say its id. One whose tags
/// were not written yet has one of its claim's names, which no other instance of the network has.
pub(crate) fn is_original(vm: &VirtualMachine, mark: &Mark, prefix: &str) -> bool {
    if !mark.instance_uuid.is_empty() {
        return !is_copy(vm, mark);
    }
    let claim = &mark.claim;
    (0..ATTEMPTS_MAX)
        .any(|attempt| names::instance(prefix, &claim.name, &claim.uid, attempt) == vm.name)
}

/// When an instance was made.
pub(crate) fn created(vm: &VirtualMachine) -> Option<Timestamp> {
    Timestamp::strptime(TIME, vm.created.as_deref()?).ok()
}

/// The type and the terms on which an instance was had, as far as its class still has them.
fn made_as<'r>(
    vm: &VirtualMachine,
    resolved: &'r Resolved,
) -> Option<(&'r InstanceType, &'r Offering)> {
    let offering_id = vm.service_offering_id.as_deref()?;
    let (name, _) = resolved.made_of.iter().find(|(_, made_of)| {
        let is_it = made_of.by_zone.get(&vm.zone_id).is_some_and(|own| own.id == offering_id);
        let size = made_of.size;
        let is_size =
            Some(size.cpus) == vm.cpus && Some(size.memory_mib) == vm.memory_mib || !size.is_custom;
        is_it && is_size
    })?;
    let own = resolved.types.iter().find(|own| &own.name == name)?;
    let zone = resolved.zones.get(&vm.zone_id)?;
    let is_there = |offering: &&Offering| {
        let own = offering.requirements.get(label::ZONE);
        own.and_then(|own| own.single()) == Some(zone.as_str())
    };
    Some((own, own.offerings.iter().find(is_there)?))
}

fn add(labels: &mut Labels, key: &str, value: Option<String>) {
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        labels.insert(key.to_owned(), value);
    }
}

/// The labels that follow from what an instance is. A class that is not known adds nothing.
fn labels_of(vm: &VirtualMachine, made: Option<(&InstanceType, &Offering)>) -> Labels {
    let mut labels = Labels::new();
    let name = |text: Option<&String>| text.map(|text| labels::sanitize(text));
    add(&mut labels, label::CAPACITY_TYPE, Some(label::CAPACITY_TYPE_ON_DEMAND.to_owned()));
    add(&mut labels, label::OS, Some("linux".to_owned()));
    add(&mut labels, label::ZONE, name(vm.zone_name.as_ref()));
    add(&mut labels, ZONE_NAME, name(vm.zone_name.as_ref()));
    add(&mut labels, ZONE_ID, Some(vm.zone_id.clone()));
    add(&mut labels, label::INSTANCE_TYPE, name(vm.service_offering_name.as_ref()));
    add(&mut labels, SERVICE_OFFERING_NAME, name(vm.service_offering_name.as_ref()));
    if let Some((own, offering)) = made {
        labels.extend(own.requirements.single_values());
        labels.extend(offering.requirements.single_values());
        labels.insert(label::INSTANCE_TYPE.to_owned(), own.name.clone());
    }
    let nic = vm.default_nic();
    add(&mut labels, label::ARCH, Some(arch(vm).to_owned()));
    add(&mut labels, SERVICE_OFFERING_ID, vm.service_offering_id.clone());
    add(&mut labels, TEMPLATE_ID, vm.template_id.clone());
    add(&mut labels, TEMPLATE_NAME, name(vm.template_name.as_ref()));
    add(&mut labels, NETWORK_ID, nic.map(|nic| nic.network_id.clone()));
    add(&mut labels, NETWORK_NAME, name(nic.and_then(|nic| nic.network_name.as_ref())));
    labels
}

fn arch(vm: &VirtualMachine) -> &'static str {
    match vm.arch.as_deref() {
        Some("aarch64" | "arm64") => "arm64",
        Some("s390x") => "s390x",
        _ => "amd64",
    }
}

/// What CloudStack calls the objects whose names are labels.
fn raw_names(vm: &VirtualMachine) -> Labels {
    let network = vm.default_nic().and_then(|nic| nic.network_name.as_deref());
    let names = [
        (ZONE_NAME, vm.zone_name.as_deref()),
        (SERVICE_OFFERING_NAME, vm.service_offering_name.as_deref()),
        (TEMPLATE_NAME, vm.template_name.as_deref()),
        (NETWORK_NAME, network),
    ];
    labels::raw_names(names.into_iter().filter_map(|(label, name)| Some((label, name?))))
}

/// What an instance is to the operator.
pub(crate) fn instance(
    vm: &VirtualMachine,
    mark: &Mark,
    resolved: Option<&Resolved>,
    form: Form,
) -> Instance {
    let made = resolved.and_then(|resolved| made_as(vm, resolved));
    let labels = labels_of(vm, made);
    let zone_name = vm.zone_name.as_deref().unwrap_or_default();
    let lost = (Life::of(vm) == Life::Failed).then(|| Lost {
        why: format!("instance {:?} is in state Error: CloudStack could not start it", vm.name),
        offering: [label::INSTANCE_TYPE, label::ZONE, label::CAPACITY_TYPE]
            .into_iter()
            .filter_map(|key| Some((key.to_owned(), labels.get(key)?.clone())))
            .collect(),
    });
    let addresses = vm.nics.iter().flat_map(|nic| [&nic.address, &nic.address6]);
    Instance {
        provider_id: form.id(zone_name, &vm.id),
        claim: Some(mark.claim.clone()).filter(|claim: &ClaimId| !claim.name.is_empty()),
        image_id: vm.template_id.clone(),
        annotations: raw_names(vm),
        capacity: made.map(|(own, _)| own.capacity.clone()).unwrap_or_default(),
        allocatable: made.map(|(own, offering)| own.allocatable(offering)).unwrap_or_default(),
        labels,
        created: created(vm),
        deleting: Life::of(vm) == Life::Gone,
        lost,
        cluster_unproven: mark.cluster_uid.is_empty(),
        addresses: addresses.flatten().filter_map(|text| text.parse().ok()).collect(),
        host_name: Some(vm.name.clone()).filter(|name| !name.is_empty()),
        ..Instance::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn vm(state: &str, job: Option<&str>) -> VirtualMachine {
        serde_json::from_value(json!({"id": "v1", "name": "a", "state": state, "jobid": job}))
            .expect("it is one")
    }

    #[test]
    fn states_say_whether_an_instance_may_run() {
        for (state, job, life) in [
            ("Running", None, Life::Live),
            ("Starting", None, Life::Live),
            ("Migrating", None, Life::Live),
            ("Unknown", None, Life::Live),
            ("Stopped", Some("j"), Life::Live),
            ("Stopped", None, Life::Off),
            ("Shutdown", None, Life::Off),
            ("Error", None, Life::Failed),
            ("Destroyed", None, Life::Gone),
            ("Expunging", Some("j"), Life::Gone),
        ] {
            assert_eq!(Life::of(&vm(state, job)), life, "{state} {job:?}");
        }
    }

    #[test]
    fn times_are_read_with_their_offset() {
        let own = VirtualMachine {
            created: Some("2026-01-01T02:00:00+0200".to_owned()),
            ..VirtualMachine::default()
        };
        assert_eq!(created(&own), "2026-01-01T00:00:00Z".parse().ok());
        assert_eq!(created(&VirtualMachine::default()), None);
    }

    #[test]
    fn an_instance_is_the_original_by_its_tag_and_before_that_by_its_name() {
        let claim = ClaimId { name: "general-1".to_owned(), uid: "uid-1".to_owned() };
        let tagged = |id: &str| Mark {
            claim: claim.clone(),
            instance_uuid: id.to_owned(),
            ..Mark::default()
        };
        let named = |name: &str| VirtualMachine {
            id: "V1".to_owned(),
            name: name.to_owned(),
            ..VirtualMachine::default()
        };
        for (name, id, expected) in [
            ("any", "v1", true),
            ("karpenter-general-1", "v2", false),
            ("karpenter-general-1", "", true),
            ("karpenter-general-1-r2", "", true),
            ("karpenter-general-1-copy", "", false),
        ] {
            let found = is_original(&named(name), &tagged(id), names::DEFAULT_PREFIX);
            assert_eq!(found, expected, "{name} {id}");
        }
    }
}
