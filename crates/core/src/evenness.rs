//! The choice between zones with equal prices.

use std::{cmp::Reverse, collections::BTreeMap};

/// The free capacity of zones, by name. Only zones of one pool are compared.
pub type ZoneRoom = BTreeMap<String, i64>;

/// The facts that order a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing<'z> {
    /// Its name; empty for a place without a zone.
    pub zone: &'z str,
    /// Its free capacity, if the cloud reports it.
    pub room: Option<i64>,
    /// The number of the pool's instances there.
    pub instances: usize,
}

/// Sorts places with equal prices into the order in which they are used: the most free capacity, then the fewest
/// instances of the pool, then by name.
///
/// Free capacity counts only if it is known for all places. A zone with unknown capacity is neither full nor empty.
pub fn in_order<'z, T>(places: &mut [T], standing: impl Fn(&T) -> Standing<'z>) {
    let is_known = places.iter().all(|place| standing(place).room.is_some());
    places.sort_by_key(|place| {
        let Standing { zone, room, instances } = standing(place);
        (Reverse(room.filter(|_| is_known)), instances, zone)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(places: &[(&'static str, Option<i64>, usize)]) -> Vec<&'static str> {
        let mut places = places.to_vec();
        in_order(&mut places, |&(zone, room, instances)| Standing { zone, room, instances });
        places.iter().map(|place| place.0).collect()
    }

    #[test]
    fn the_zone_with_most_room_comes_first_however_many_instances_it_has() {
        assert_eq!(ordered(&[("a", Some(10), 0), ("b", Some(30), 9)]), ["b", "a"]);
        assert_eq!(ordered(&[("a", Some(-50), 0), ("b", Some(-20), 9)]), ["b", "a"]);
    }

    #[test]
    fn of_equal_room_the_zone_with_fewest_instances_comes_first_then_names_decide() {
        let room = Some(10);
        assert_eq!(ordered(&[("a", room, 2), ("b", room, 1), ("c", room, 1)]), ["b", "c", "a"]);
        assert_eq!(ordered(&[("b", None, 0), ("a", None, 0)]), ["a", "b"]);
    }

    #[test]
    fn room_that_is_unknown_of_one_zone_decides_nothing() {
        assert_eq!(
            ordered(&[("a", None, 3), ("b", Some(90), 2), ("c", Some(5), 1)]),
            ["c", "b", "a"]
        );
    }
}
