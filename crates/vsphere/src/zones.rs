//! Which zone the cloud controller gives to nodes of a place, by the tags of the inventory.
//!
//! It looks from an instance's host outwards, then from its resource pool outwards, and takes the
//! nearest zone and the nearest region where it finds both. What instances themselves carry counts
//! only where neither way leads to both, and is the class's own word.

use std::collections::{BTreeMap, BTreeSet};

use joiner_vim::MoRef;

use crate::{
    TopologyCategories,
    choose::{Compute, Unresolved},
    node_class::NodeClass,
    places::{Place, Resolution},
};

/// Names of tags of a category, by the object that carries them.
pub(crate) type Carried = BTreeMap<MoRef, Vec<String>>;

/// Tags of zones and regions.
#[derive(Debug, Default)]
pub(crate) struct TopologyTags {
    pub(crate) zones: Carried,
    pub(crate) regions: Carried,
}

/// Everything whose tags the cloud controller may look at for instances of these places.
pub(crate) fn looked_at(resolution: &Resolution) -> Vec<MoRef> {
    let computes = resolution.places.iter().map(|place| &place.compute);
    let all = computes.flat_map(|own| own.hosts.iter().flatten().chain(&own.pools));
    let all: BTreeSet<MoRef> = all.cloned().collect();
    all.into_iter().collect()
}

/// The zones that nodes could get there; none where the inventory does not settle it for every host.
fn zones_of<'t>(compute: &Compute, tags: &'t TopologyTags) -> Option<BTreeSet<&'t str>> {
    let by_host = compute.hosts.iter().map(|host| {
        let found = both(host, tags).or_else(|| both(&compute.pools, tags))?;
        match found {
            [zone] => Some(zone.as_str()),
            // The cloud controller's choice among several is undefined.
            _ => None,
        }
    });
    let zones: BTreeSet<&str> = by_host.collect::<Option<_>>()?;
    (!zones.is_empty()).then_some(zones)
}

/// The nearest zone tags on the way, where there is a region on it too.
fn both<'t>(lineage: &[MoRef], tags: &'t TopologyTags) -> Option<&'t [String]> {
    let nearest = |carried: &'t Carried| {
        lineage.iter().filter_map(|own| carried.get(own)).find(|names| !names.is_empty())
    };
    nearest(&tags.regions)?;
    nearest(&tags.zones).map(Vec::as_slice)
}

/// Where a class says another zone than its nodes are certain to get.
pub(crate) fn mismatch(
    class: &NodeClass,
    resolution: &Resolution,
    tags: &TopologyTags,
    categories: &TopologyCategories,
) -> Option<Unresolved> {
    let told = resolution.places.iter().enumerate().flat_map(|(i, place)| {
        let found = zones_of(&place.compute, tags).unwrap_or_default();
        let is_another = |zone: &str| !found.is_empty() && !found.contains(zone);
        let of_place = named_zones(class, i, place).into_iter();
        let wrong: Vec<String> = of_place
            .filter(|(_, zone)| is_another(zone))
            .map(|(field, zone)| {
                let found: Vec<String> = found.iter().map(|own| format!("{own:?}")).collect();
                format!(
                    "{field} is {zone:?}, but tags of the category {:?} say {} for {}",
                    categories.zone,
                    found.join(" or "),
                    place.compute.named.path
                )
            })
            .collect();
        wrong
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| Unresolved {
        reason: "ZoneMismatch",
        message: format!(
            "{}: the cloud controller would put nodes into another zone than their NodeClaims, and \
             volumes would be out of their reach; correct the class's zone, or the tags",
            told.join("; ")
        ),
    })
}

/// The zones that a class says of a place, each with the first field that does.
fn named_zones<'c>(class: &'c NodeClass, i: usize, place: &'c Place) -> Vec<(String, &'c str)> {
    if let Some(zone) = &place.zone {
        return vec![(format!("spec.zones[{i}].name"), zone)];
    }
    let sizes = class.spec.instance_types.iter().flatten().enumerate();
    let zones = sizes.filter_map(|(i, size)| Some((i, size.zone.as_deref()?)));
    let mut seen = BTreeSet::new();
    let zones = zones.filter(|(_, zone)| !zone.is_empty() && seen.insert(*zone));
    zones.map(|(i, zone)| (format!("spec.instanceTypes[{i}].zone"), zone)).collect()
}
