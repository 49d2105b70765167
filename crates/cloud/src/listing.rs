//! The instances that a cloud lists.

use crate::instance::Instance;

/// The answer to [`list`](crate::CloudProvider::list).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Listing {
    /// Every instance with this cluster's mark in the places that could be listed.
    pub instances: Vec<Instance>,
    /// The places that could not be listed. The state of claims with instances there stays unknown.
    pub away: Vec<PlaceAway>,
}

/// A place of a cloud that could not be listed, such as a region that does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceAway {
    /// Its name, as [`place_of`](crate::CloudProvider::place_of) tells it from a provider id.
    pub place: String,
    /// Why it could not be listed, for people.
    pub why: String,
}

impl Listing {
    /// Whether an instance in this place would be listed if it existed. Where some places are away,
    /// an instance of an unknown place may be in one of them.
    pub fn covers(&self, place: Option<&str>) -> bool {
        match place {
            None => self.away.is_empty(),
            Some(place) => self.away.iter().all(|away| away.place != place),
        }
    }
}

impl From<Vec<Instance>> for Listing {
    fn from(instances: Vec<Instance>) -> Self {
        Self { instances, away: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_covers_the_places_that_answered_and_no_unknown_one_while_a_place_is_away() {
        let away = PlaceAway { place: "west".to_owned(), why: "timed out".to_owned() };
        let partial = Listing { away: vec![away], ..Listing::default() };
        assert!(partial.covers(Some("east")));
        assert!(!partial.covers(Some("west")));
        assert!(!partial.covers(None));
        assert!(Listing::default().covers(None));
    }
}
