//! From types to what is offered of them to the pools of a class.

use std::collections::BTreeMap;

use joiner_core::{
    instance_type::{InstanceType, Offering},
    label,
    quantity::Quantity,
    requirement::{Requirement, Requirements},
    resources::{MEMORY, PODS, Resources},
};

use super::{Settings, Type};
use crate::{
    INSTANCE_CPU_TYPE, INSTANCE_FAMILY, INSTANCE_IMAGE_ID, MIB, NODE_CLASS, NodeClass,
    RESERVATION_ID, node_class::TemplateZone,
};

/// What a spot instance costs of an on-demand one.
const SPOT_SHARE: f64 = 0.5;

/// The architecture of a host that does not say.
const AMD64: &str = "amd64";

/// A zone, as far as types depend on it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Zone {
    /// The region.
    pub region: String,
    /// The zone.
    pub zone: String,
}

impl From<TemplateZone> for Zone {
    fn from(zone: TemplateZone) -> Self {
        Self { region: zone.region, zone: zone.zone }
    }
}

/// What is known besides the types and the class.
#[derive(Debug, Clone, Copy)]
pub struct Offered<'o> {
    /// Every zone there is. Where nothing was looked at they are those of the class.
    pub zones: &'o [Zone],
    /// How many instances count against a reservation, by its id.
    pub reserved: &'o BTreeMap<String, u32>,
    /// Bytes of memory that guests of a type were seen to have, by its name.
    pub measured_memory: &'o BTreeMap<String, u64>,
}

/// The instance types of a class, each with an offering for every zone. Zones that the class cannot
/// be used in are offered as not available, so that a reason can be told, and so are zones into which
/// a type does not fit now. Where room is not known, everything fits.
///
/// COMPAT: upstream offers every zone to every class.
pub fn instance_types(
    types: &[Type],
    class: &NodeClass,
    offered: &Offered<'_>,
    fits: impl Fn(&Type, &Zone) -> bool,
    settings: &Settings,
) -> Vec<InstanceType> {
    let selected: Vec<Zone> = class.selected_zones().into_iter().map(Zone::from).collect();
    let make = |own: &Type| {
        let offerings = offered.zones.iter().map(|zone| {
            let available = selected.contains(zone) && fits(own, zone);
            offering(own, zone, available, offered, settings)
        });
        let regions = offered.zones.iter().map(|zone| zone.region.as_str());
        InstanceType {
            name: own.name.clone(),
            requirements: requirements(own, regions),
            capacity: capacity(own, class, offered, settings),
            overhead: own.overhead.clone(),
            offerings: offerings.collect(),
            ..InstanceType::default()
        }
    };
    types.iter().map(make).collect()
}

/// The instance types of a class where there is nothing but files, and what there is to say of them.
/// Zones are those of the class's status, and room is not known there.
pub fn without_room(
    types: &[Type],
    class: &NodeClass,
    settings: &Settings,
) -> (Vec<InstanceType>, Vec<String>) {
    let mut zones: Vec<Zone> = class.selected_zones().into_iter().map(Zone::from).collect();
    zones.sort_unstable();
    zones.dedup();
    let subject = format!("{} {:?}", NODE_CLASS.kind, class.name);
    let note = if zones.is_empty() {
        format!(
            "{subject}: status.selectedZones is empty, so that nothing is offered; give the object \
             as the cluster has it"
        )
    } else {
        format!(
            "{subject}: the room of its zones is not known from files, so that every type is \
             offered in each of them"
        )
    };
    let nothing = BTreeMap::new();
    let offered = Offered { zones: &zones, reserved: &nothing, measured_memory: &BTreeMap::new() };
    (instance_types(types, class, &offered, |_, _| true, settings), vec![note])
}

/// What the guest of an instance sees.
///
/// COMPAT: upstream promises all of the memory, and pods then do not fit on the node. It does not let
/// the class's maxPods count either.
fn capacity(
    own: &Type,
    class: &NodeClass,
    offered: &Offered<'_>,
    settings: &Settings,
) -> Resources {
    let mut capacity = own.capacity.clone();
    let visible = offered.measured_memory.get(&own.name).copied().unwrap_or_else(|| {
        let hidden = (own.memory() as f64 * settings.memory_overhead / MIB as f64).ceil() as u64;
        own.memory().saturating_sub(hidden * MIB)
    });
    if visible != own.memory() {
        capacity.set(MEMORY, Quantity::bytes(i64::try_from(visible).unwrap_or(i64::MAX)));
    }
    let kubelet = class.spec.kubelet_configuration.as_ref();
    if let Some(pods) = kubelet.and_then(|kubelet| kubelet.max_pods) {
        let pods = Quantity::whole(i64::from(pods));
        let most = if capacity.contains(PODS) { capacity.get(PODS).min(pods) } else { pods };
        capacity.set(PODS, most);
    }
    capacity
}

/// The labels that instances of a type can have. The zone is said by its offerings.
fn requirements<'r>(own: &Type, regions: impl Iterator<Item = &'r str>) -> Requirements {
    let mut requirements = Requirements::new();
    let mut require = |key: &str, values: Vec<&str>| {
        requirements.add(key, Requirement::one_of(values));
    };
    require(label::INSTANCE_TYPE, vec![&own.name]);
    require(label::ARCH, vec![AMD64]);
    require(label::OS, vec!["linux"]);
    require(label::REGION, regions.collect());
    require(label::CAPACITY_TYPE, vec![&own.capacity_type]);
    require(INSTANCE_FAMILY, vec![own.family()]);
    // What an instance was cloned from is known once it is there, and so is its processor.
    requirements.add(INSTANCE_CPU_TYPE, Requirement::DOES_NOT_EXIST);
    requirements.add(INSTANCE_IMAGE_ID, Requirement::DOES_NOT_EXIST);
    requirements
}

fn offering(
    own: &Type,
    zone: &Zone,
    available: bool,
    offered: &Offered<'_>,
    settings: &Settings,
) -> Offering {
    let mut requirements = Requirements::new();
    for (key, value) in [
        (label::INSTANCE_TYPE, own.name.as_str()),
        (label::REGION, &zone.region),
        (label::ZONE, &zone.zone),
        (label::CAPACITY_TYPE, &own.capacity_type),
        (INSTANCE_FAMILY, own.family()),
    ] {
        requirements.add(key, Requirement::one_of([value]));
    }
    let reservation = own.reservation.as_ref();
    let reservation_capacity = reservation.map_or(0, |reservation| {
        let used = offered.reserved.get(&reservation.id).copied().unwrap_or_default();
        reservation.count.saturating_sub(used)
    });
    let id = match reservation {
        Some(reservation) => Requirement::one_of([&reservation.id]),
        None => Requirement::DOES_NOT_EXIST,
    };
    requirements.add(RESERVATION_ID, id);
    let price = settings.prices.of_instance(&own.capacity);
    let is_spot = own.capacity_type == label::CAPACITY_TYPE_SPOT;
    Offering {
        requirements,
        price: if is_spot { price * SPOT_SHARE } else { price },
        available: available && (reservation.is_none() || reservation_capacity > 0),
        reservation_capacity,
        ..Offering::default()
    }
}
