//! Which service offerings are one and the same in several zones.

use std::collections::BTreeMap;

use crate::{client::objects::ServiceOffering, resolve::ZoneResolution};

/// Service offerings of one name and size, one in each zone at most.
#[derive(Debug)]
pub(crate) struct Unit<'o> {
    /// One of them, to see what all of them are like.
    pub(crate) offering: &'o ServiceOffering,
    /// By the zone's place among the zones.
    pub(crate) by_zone: BTreeMap<usize, &'o ServiceOffering>,
}

impl<'o> Unit<'o> {
    pub(crate) fn id(&self) -> &'o str {
        &self.offering.id
    }

    pub(crate) fn name(&self) -> &'o str {
        &self.offering.name
    }

    /// The ids of all of them.
    pub(crate) fn ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.by_zone.values().map(|own| own.id.clone()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Whether both are one for whoever asks for an instance.
    fn is_like(&self, other: &Self) -> bool {
        let shape = |of: &ServiceOffering| ServiceOffering {
            id: String::new(),
            zone_ids: None,
            domain_ids: None,
            ..of.clone()
        };
        let mut zones = other.by_zone.keys();
        shape(self.offering) == shape(other.offering)
            && zones.all(|zone| !self.by_zone.contains_key(zone))
    }
}

/// The service offerings of all zones, each once.
pub(crate) fn units(zones: &[ZoneResolution]) -> Vec<Unit<'_>> {
    let mut by_id: BTreeMap<&str, Unit<'_>> = BTreeMap::new();
    for (index, zone) in zones.iter().enumerate() {
        for offering in &zone.offerings {
            let unit = by_id.entry(&offering.id);
            let unit = unit.or_insert_with(|| Unit { offering, by_zone: BTreeMap::new() });
            unit.by_zone.insert(index, offering);
        }
    }
    // Offerings are compared with others of their name only: of those there are few.
    let mut by_name: BTreeMap<&str, Vec<Unit<'_>>> = BTreeMap::new();
    for (_, unit) in by_id {
        let namesakes = by_name.entry(unit.name()).or_default();
        match namesakes.iter_mut().find(|known| known.is_like(&unit)) {
            Some(known) => known.by_zone.extend(unit.by_zone),
            None => namesakes.push(unit),
        }
    }
    by_name.into_values().flatten().collect()
}
