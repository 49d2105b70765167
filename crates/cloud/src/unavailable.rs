//! Offerings that are not available at the moment.
//!
//! A cloud that had no room for an instance does not offer the same for a while ([`Unavailable`]).
//! [`offered`] marks such offerings in a class's types, [`unavailable_offerings`] lists them for
//! metrics.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use joiner_core::{
    instance_type::{InstanceType, Offering},
    label,
};

use crate::InstanceTypes;

/// How long a type is not offered in a zone that had no room for it. Karpenter's providers use the
/// same three minutes.
const NO_ROOM_FOR: Duration = Duration::from_mins(3);
/// How long storage that was full is not used: space returns more slowly than room on hosts.
const NO_SPACE_FOR: Duration = Duration::from_mins(10);

/// A resource that a cloud may lack.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scarce {
    /// Room for a type in a zone.
    Room {
        /// The class of the type.
        class: String,
        /// The type.
        instance_type: String,
        /// The zone; empty where the cloud has no zones.
        zone: String,
    },
    /// Space in a storage, by the cloud's id of the storage.
    Space(String),
}

impl Scarce {
    /// Room for a type in a zone.
    pub fn room(class: &str, instance_type: &str, zone: Option<&str>) -> Self {
        Self::Room {
            class: class.to_owned(),
            instance_type: instance_type.to_owned(),
            zone: zone.unwrap_or_default().to_owned(),
        }
    }
}

/// What a class's types lack now, measured in the cloud: one word by type and zone.
pub type Shortages = BTreeMap<(String, String), &'static str>;

/// An offering that is not available: its type, its zone, and the reason in one word.
pub type UnavailableOffering = (String, String, &'static str);

/// The resources that the cloud lacked at the last attempt.
#[derive(Debug, Default)]
pub struct Unavailable(BTreeMap<Scarce, Timestamp>);

impl Unavailable {
    /// Remembers a resource that the cloud lacked.
    pub fn remember(&mut self, scarce: Scarce, now: Timestamp) {
        let length = match scarce {
            Scarce::Room { .. } => NO_ROOM_FOR,
            Scarce::Space(_) => NO_SPACE_FOR,
        };
        self.0.retain(|_, until| *until > now);
        self.0.insert(scarce, now.saturating_add(length).unwrap_or(Timestamp::MAX));
    }

    /// Whether the cloud lacked this resource a short time ago.
    pub fn is(&self, scarce: &Scarce, now: Timestamp) -> bool {
        self.0.get(scarce).is_some_and(|until| *until > now)
    }

    /// What a type lacks in a zone, in one word; none if it is available as far as it is known.
    /// `shortages` are what was measured, and `has_space` says whether the zone has usable storage.
    pub fn why(
        &self,
        class: &str,
        instance_type: &str,
        zone: Option<&str>,
        shortages: Option<&Shortages>,
        has_space: impl FnOnce() -> bool,
        now: Timestamp,
    ) -> Option<&'static str> {
        if self.is(&Scarce::room(class, instance_type, zone), now) {
            return Some("room");
        }
        let key = (instance_type.to_owned(), zone.unwrap_or_default().to_owned());
        let short = shortages.and_then(|own| own.get(&key).copied());
        short.or_else(|| (!has_space()).then_some("space"))
    }
}

/// The zone of an offering.
pub fn zone_of(offering: &Offering) -> Option<&str> {
    offering.requirements.get(label::ZONE).and_then(|zone| zone.single())
}

/// The types of a class, with `available` set from `why`, which gets a type's name and a zone.
pub fn offered(
    types: &[Arc<InstanceType>],
    why: impl Fn(&str, Option<&str>) -> Option<&'static str>,
) -> InstanceTypes {
    types
        .iter()
        .map(|own| {
            let away: Vec<bool> = own
                .offerings
                .iter()
                .map(|offering| why(&own.name, zone_of(offering)).is_some())
                .collect();
            if !away.contains(&true) {
                return Arc::clone(own);
            }
            let mut own = InstanceType::clone(own);
            for (offering, away) in own.offerings.iter_mut().zip(away) {
                offering.available = !away;
            }
            Arc::new(own)
        })
        .collect()
}

/// Every offering of these types that is not available, with the reason that `why` gives.
pub fn unavailable_offerings(
    types: &[Arc<InstanceType>],
    why: impl Fn(&str, Option<&str>) -> Option<&'static str>,
) -> Vec<UnavailableOffering> {
    let mut found = Vec::new();
    for own in types {
        for zone in own.offerings.iter().map(zone_of) {
            if let Some(reason) = why(&own.name, zone) {
                found.push((own.name.clone(), zone.unwrap_or_default().to_owned(), reason));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use joiner_core::testing::instance_type;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn a_type_is_offered_again_after_three_minutes_and_a_storage_after_ten() {
        let room = Scarce::room("general", "small", Some("az1"));
        let space = Scarce::Space("ds-1".to_owned());
        let mut unavailable = Unavailable::default();
        assert!(!unavailable.is(&room, at(0)));
        unavailable.remember(room.clone(), at(0));
        unavailable.remember(space.clone(), at(0));
        assert!(unavailable.is(&room, at(179)) && unavailable.is(&space, at(599)));
        assert!(!unavailable.is(&room, at(180)) && !unavailable.is(&space, at(600)));
    }

    #[test]
    fn a_full_zone_says_nothing_about_another_zone() {
        let room = |zone: &str| Scarce::room("general", "small", Some(zone));
        let mut unavailable = Unavailable::default();
        unavailable.remember(room("az1"), at(0));
        assert!(!unavailable.is(&room("az2"), at(1)));
    }

    #[test]
    fn a_type_that_had_no_room_is_offered_only_in_its_other_zones() {
        let types = [Arc::new(instance_type("small").zones(["az1", "az2"]).build())];
        let mut unavailable = Unavailable::default();
        unavailable.remember(Scarce::room("general", "small", Some("az1")), at(0));
        let why = |name: &str, zone: Option<&str>| {
            unavailable.why("general", name, zone, None, || true, at(1))
        };
        let offered = offered(&types, why);
        let available: Vec<bool> = offered[0].offerings.iter().map(|own| own.available).collect();
        assert_eq!(available, [false, true]);
        let listed = unavailable_offerings(&types, why);
        assert_eq!(listed, [("small".to_owned(), "az1".to_owned(), "room")]);
    }

    #[test]
    fn room_is_told_before_a_shortage_and_a_shortage_before_space() {
        let mut unavailable = Unavailable::default();
        let shortages = [(("small".to_owned(), "az1".to_owned()), "memory")].into();
        let why = |unavailable: &Unavailable, shortages| {
            unavailable.why("general", "small", Some("az1"), shortages, || false, at(1))
        };
        assert_eq!(why(&unavailable, None), Some("space"));
        assert_eq!(why(&unavailable, Some(&shortages)), Some("memory"));
        unavailable.remember(Scarce::room("general", "small", Some("az1")), at(0));
        assert_eq!(why(&unavailable, Some(&shortages)), Some("room"));
    }
}
