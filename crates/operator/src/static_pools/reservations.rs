//! Reserved room within a pool's limit.
//!
//! A claim counts against the limit once it is cached. Between the decision and the API server's
//! answer, only the reservation shows it. So concurrent creators stay within the limit together.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Room that is spoken for, by pool. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Reservations(Arc<Mutex<BTreeMap<String, u32>>>);

/// Room for one claim. It is given back when this is dropped.
#[derive(Debug)]
#[must_use = "room is kept only as long as this is"]
pub struct Reserved {
    pool: String,
    reservations: Reservations,
}

impl Reservations {
    /// Reserves room for this many claims of a pool, or for as many as its limit allows. `claims`
    /// returns their number; it is called under the lock.
    pub fn reserve(
        &self,
        pool: &str,
        wanted: u32,
        limit: Option<u32>,
        claims: impl FnOnce() -> u32,
    ) -> Vec<Reserved> {
        let mut reserved = self.lock();
        let spoken_for = reserved.get(pool).copied().unwrap_or_default();
        let taken = claims().saturating_add(spoken_for);
        let room = limit.map_or(u32::MAX, |limit| limit.saturating_sub(taken));
        let granted = wanted.min(room);
        if granted > 0 {
            *reserved.entry(pool.to_owned()).or_default() += granted;
        }
        let one = || Reserved { pool: pool.to_owned(), reservations: self.clone() };
        (0..granted).map(|_| one()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut reserved = self.reservations.lock();
        if let Some(count) = reserved.get_mut(&self.pool) {
            *count -= 1;
            if *count == 0 {
                reserved.remove(&self.pool);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reserves_gets_what_the_limit_leaves_beside_claims_and_other_reservations() {
        let reservations = Reservations::default();
        let first = reservations.reserve("batch", 3, Some(5), || 1);
        assert_eq!(first.len(), 3);
        assert_eq!(reservations.reserve("batch", 3, Some(5), || 1).len(), 1);
        assert_eq!(reservations.reserve("other", 3, Some(5), || 0).len(), 3, "another pool");
        let again = reservations.reserve("batch", 3, Some(5), || 1);
        assert_eq!(again.len(), 1, "what was not kept was given back");
        drop(first);
        assert_eq!(reservations.reserve("batch", 9, Some(5), || 1).len(), 3);
    }

    #[test]
    fn a_limit_that_is_passed_already_leaves_nothing_and_no_limit_leaves_everything() {
        let reservations = Reservations::default();
        assert_eq!(reservations.reserve("batch", 3, Some(5), || 7).len(), 0);
        assert_eq!(reservations.reserve("batch", 3, None, || 7).len(), 3);
    }
}
