//! What can be had in the data centre, as far as one process knows.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use joiner_cloud::{
    InstanceTypes,
    shape::{Shape, Terms},
};
use joiner_core::{instance_type::InstanceType, label};

use crate::cluster::times::later;

/// CPUs of the shapes that instances can have, with 4 GiB for each.
const CPUS: [i64; 5] = [2, 4, 8, 16, 32];
/// What a CPU costs per hour.
const PRICE_PER_CPU: f64 = 0.03;
/// For how long a zone that had no room for a shape is not asked again.
const FULL_FOR: SignedDuration = SignedDuration::from_mins(3);

/// The name of a type, and a zone.
type Place = (String, String);

/// What is known of where there is room.
#[derive(Debug, Default)]
pub(super) struct Offered {
    /// Where there was no room, and until when it is not tried again.
    full: BTreeMap<Place, Timestamp>,
    known: Option<Known>,
}

/// Types, and what they follow from.
#[derive(Debug)]
struct Known {
    full: BTreeSet<Place>,
    zones: Vec<String>,
    types: InstanceTypes,
}

impl Offered {
    /// Remembers that there was no room for a type in a zone.
    pub(super) fn is_full(&mut self, instance_type: &str, zone: &str, now: Timestamp) {
        let place = (instance_type.to_owned(), zone.to_owned());
        self.full.insert(place, later(now, FULL_FOR));
    }

    /// Every type; the same ones as long as nothing changes.
    pub(super) fn types(&mut self, zones: Vec<String>, now: Timestamp) -> InstanceTypes {
        self.full.retain(|_, until| *until > now);
        let full: BTreeSet<_> = self.full.keys().cloned().collect();
        if let Some(known) = &self.known
            && (&known.full, &known.zones) == (&full, &zones)
        {
            return Arc::clone(&known.types);
        }
        let types: InstanceTypes =
            CPUS.into_iter().map(|cpus| Arc::new(instance_type(cpus, &zones, &full))).collect();
        self.known = Some(Known { full, zones, types: Arc::clone(&types) });
        types
    }
}

fn instance_type(cpus: i64, zones: &[String], full: &BTreeSet<Place>) -> InstanceType {
    let shape = Shape { name: format!("lab-{cpus}x"), cpus, gib: 4 * cpus };
    let terms = zones.iter().map(|zone| Terms {
        zone,
        capacity_type: label::CAPACITY_TYPE_ON_DEMAND,
        price: PRICE_PER_CPU * cpus as f64,
        available: !full.contains(&(shape.name.clone(), zone.clone())),
    });
    shape.instance_type(&terms.collect::<Vec<_>>())
}
