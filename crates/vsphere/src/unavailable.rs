//! What cannot be had now, for a while.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use joiner_vim::MoRef;

/// How long a type is not offered in a zone that had no room for it.
const NO_ROOM_FOR: Duration = Duration::from_mins(3);
/// How long a datastore that was full is left alone: space comes back more slowly than room.
const NO_SPACE_FOR: Duration = Duration::from_mins(10);

/// Something that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wanting {
    /// A type in a zone of a class; the zone is empty where there is none.
    Room { class: String, instance_type: String, zone: String },
    /// Space in a datastore.
    Space(MoRef),
}

/// What could not be had lately.
#[derive(Debug, Default)]
pub(crate) struct Unavailable(BTreeMap<Wanting, Timestamp>);

impl Unavailable {
    /// Remembers that something could not be had.
    pub(crate) fn remember(&mut self, wanting: Wanting, now: Timestamp) {
        let length = match wanting {
            Wanting::Room { .. } => NO_ROOM_FOR,
            Wanting::Space(_) => NO_SPACE_FOR,
        };
        self.0.retain(|_, until| *until > now);
        self.0.insert(wanting, now.saturating_add(length).unwrap_or(Timestamp::MAX));
    }

    /// Whether something could not be had lately.
    pub(crate) fn is(&self, wanting: &Wanting, now: Timestamp) -> bool {
        self.0.get(wanting).is_some_and(|until| *until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn a_type_is_back_after_three_minutes_and_a_datastore_after_ten() {
        let room = Wanting::Room {
            class: "general".to_owned(),
            instance_type: "small".to_owned(),
            zone: "az1".to_owned(),
        };
        let space = Wanting::Space(MoRef::new("Datastore", "ds-1"));
        let mut unavailable = Unavailable::default();
        assert!(!unavailable.is(&room, at(0)));
        unavailable.remember(room.clone(), at(0));
        unavailable.remember(space.clone(), at(0));
        assert!(unavailable.is(&room, at(179)) && unavailable.is(&space, at(599)));
        assert!(!unavailable.is(&room, at(180)) && !unavailable.is(&space, at(600)));
    }

    #[test]
    fn another_zone_is_another_matter() {
        let room = |zone: &str| Wanting::Room {
            class: "general".to_owned(),
            instance_type: "small".to_owned(),
            zone: zone.to_owned(),
        };
        let mut unavailable = Unavailable::default();
        unavailable.remember(room("az1"), at(0));
        assert!(!unavailable.is(&room("az2"), at(1)));
    }
}
