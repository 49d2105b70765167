//! Which zones the instances of pools are in, as far as a provider has seen.
//!
//! Instances that are being made count from the moment their zone is chosen. Otherwise all
//! simultaneous creations would choose the same zone.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::order::Order;

/// Where instances are, by the identity of their claims.
#[derive(Debug, Default)]
pub struct Homes(Mutex<BTreeMap<String, Home>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Home {
    pool: String,
    zone: String,
    /// Whether the instance is still being made, so that no list can have it.
    going: bool,
}

/// An instance that is being made. Unless it arrives, it is forgotten when this is dropped.
#[derive(Debug)]
pub struct Going<'h> {
    homes: &'h Homes,
    uid: String,
}

impl Homes {
    /// Chooses for an order, and counts the instance in the zone of the choice from then on.
    /// `choose` is told how many other instances of the order's pool are in a zone.
    pub fn choose<T>(
        &self,
        order: &Order,
        choose: impl FnOnce(&dyn Fn(&str) -> usize) -> Option<(T, String)>,
    ) -> Option<(T, Going<'_>)> {
        let uid = order.claim.uid.clone();
        let pool = order.node_pool.clone().unwrap_or_default();
        let mut homes = self.lock();
        homes.remove(&uid);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for home in homes.values().filter(|home| home.pool == pool) {
            *counts.entry(&home.zone).or_default() += 1;
        }
        let (chosen, zone) = choose(&|zone| counts.get(zone).copied().unwrap_or_default())?;
        homes.insert(uid.clone(), Home { pool, zone, going: true });
        drop(homes);
        Some((chosen, Going { homes: self, uid }))
    }

    /// Records an existing instance.
    pub fn know(&self, uid: &str, pool: &str, zone: &str) {
        let home = Home { pool: pool.to_owned(), zone: zone.to_owned(), going: false };
        let mut homes = self.lock();
        // A creation reports its own arrival.
        if homes.get(uid).is_none_or(|known| !known.going && *known != home) {
            homes.insert(uid.to_owned(), home);
        }
    }

    /// Forgets every instance that is not in this list, except those that are being made.
    pub fn keep(&self, uids: &BTreeSet<&str>) {
        self.lock().retain(|uid, home| home.going || uids.contains(uid.as_str()));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Home>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Going<'_> {
    /// The creation moves to another zone.
    pub fn turns_to(&self, zone: &str) {
        if let Some(home) = self.homes.lock().get_mut(&self.uid) {
            zone.clone_into(&mut home.zone);
        }
    }

    /// The instance exists.
    pub fn arrived(self) {
        if let Some(home) = self.homes.lock().get_mut(&self.uid) {
            home.going = false;
        }
    }
}

impl Drop for Going<'_> {
    fn drop(&mut self) {
        let mut homes = self.homes.lock();
        if homes.get(&self.uid).is_some_and(|home| home.going) {
            homes.remove(&self.uid);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{class::NodeClass, order::ClaimId};

    fn order(uid: &str, pool: &str) -> Order {
        let claim = ClaimId { name: uid.to_owned(), uid: uid.to_owned() };
        Order::plain(claim, pool, Arc::new(NodeClass::default()))
    }

    /// Goes to the zone with fewest instances, `a` or `b`.
    fn fewest<'h>(homes: &'h Homes, uid: &str, pool: &str) -> (String, Going<'h>) {
        let chosen = homes.choose(&order(uid, pool), |instances| {
            let zone = ["a", "b"].into_iter().min_by_key(|zone| instances(zone))?.to_owned();
            Some((zone.clone(), zone))
        });
        chosen.expect("there is a choice")
    }

    #[test]
    fn instances_that_are_made_at_once_see_each_other() {
        let homes = Homes::default();
        let (first, _first) = fewest(&homes, "1", "p");
        let (second, _second) = fewest(&homes, "2", "p");
        let (of_another, _of_another) = fewest(&homes, "3", "other");
        assert_eq!([&*first, &*second, &*of_another], ["a", "b", "a"]);
    }

    #[test]
    fn one_that_is_not_made_after_all_is_forgotten_and_one_that_arrived_is_not() {
        let homes = Homes::default();
        drop(fewest(&homes, "1", "p"));
        let (zone, going) = fewest(&homes, "2", "p");
        assert_eq!(zone, "a");
        going.arrived();
        assert_eq!(fewest(&homes, "3", "p").0, "b");
    }

    #[test]
    fn one_that_turns_elsewhere_counts_there() {
        let homes = Homes::default();
        let (_, going) = fewest(&homes, "1", "p");
        going.turns_to("b");
        assert_eq!(fewest(&homes, "2", "p").0, "a");
    }

    #[test]
    fn a_claim_that_is_tried_again_does_not_count_against_itself() {
        let homes = Homes::default();
        let (_, going) = fewest(&homes, "1", "p");
        going.arrived();
        assert_eq!(fewest(&homes, "1", "p").0, "a");
    }

    #[test]
    fn a_list_says_what_is_there_but_for_what_is_being_made() {
        let homes = Homes::default();
        homes.know("1", "p", "a");
        let (zone, going) = fewest(&homes, "2", "p");
        assert_eq!(zone, "b");
        homes.keep(&BTreeSet::new());
        going.turns_to("b");
        assert_eq!(fewest(&homes, "3", "p").0, "a", "only the one that is being made counts");
    }
}
