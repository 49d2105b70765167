//! Reserved capacity: how much of which reservation each claim holds.

use joiner_core::snapshot::Snapshot;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    journal::{Extent, Journal},
    labels::{Key, LabelSpace, ReqId},
};

/// The capacity that is left of each reservation in this pass. A claim holds one unit of every reservation it may
/// be launched into.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reservations {
    key: Option<Key>,
    pub(super) left: FxHashMap<usize, u32>,
    /// Reservations that were used up before the pass. No claim of this pass will release any of them.
    empty: FxHashSet<usize>,
    /// The reservations of a claim before and after each exchange.
    journal: Journal<(Vec<usize>, Vec<usize>)>,
}

impl Reservations {
    /// Reads the reservations of a catalog. If several offerings name one reservation, the smallest capacity
    /// counts.
    pub(crate) fn new(snapshot: &Snapshot, labels: &mut LabelSpace) -> Self {
        let Some(name) = &snapshot.catalog.reservation_id_label else { return Self::default() };
        let key = labels.key(name);
        let mut left: FxHashMap<usize, u32> = FxHashMap::default();
        for instance_type in snapshot.catalog.by_pool.values().flat_map(|types| types.iter()) {
            for offering in instance_type.offerings.iter().filter(|offering| offering.is_reserved())
            {
                let id =
                    offering.requirements.get(name).and_then(|requirement| requirement.single());
                if let Some(id) = id {
                    let id = labels.value(key, id);
                    let capacity = left.entry(id).or_insert(offering.reservation_capacity);
                    *capacity = (*capacity).min(offering.reservation_capacity);
                }
            }
        }
        let empty = left.iter().filter(|(_, left)| **left == 0).map(|(id, _)| *id).collect();
        Self { key: Some(key), left, empty, journal: Journal::default() }
    }

    pub(crate) fn key(&self) -> Option<Key> {
        self.key
    }

    /// The reservation of an offering with these requirements.
    pub(crate) fn id_of(&self, offering: ReqId, labels: &LabelSpace) -> Option<usize> {
        labels.get(offering, self.key?)?.single()
    }

    /// Whether a claim of this pass may still release a unit of `id`.
    ///
    /// COMPAT: upstream lets pods wait for a reservation that existing instances use up.
    pub(crate) fn may_be_free_again(&self, id: usize) -> bool {
        self.left.contains_key(&id) && !self.empty.contains(&id)
    }

    /// Whether a unit of `id` is left, or already held.
    pub(crate) fn can_hold(&self, held: &[usize], id: usize) -> bool {
        held.contains(&id) || self.left.get(&id).is_some_and(|left| *left > 0)
    }

    /// Replaces the reservations `before` of a claim by `after`.
    pub(crate) fn exchange(&mut self, before: &[usize], after: &[usize]) {
        if before != after {
            self.journal.note(|| (before.to_vec(), after.to_vec()));
        }
        for id in after.iter().filter(|id| !before.contains(id)) {
            if let Some(left) = self.left.get_mut(id) {
                *left = left.saturating_sub(1);
            }
        }
        for id in before.iter().filter(|id| !after.contains(id)) {
            if let Some(left) = self.left.get_mut(id) {
                *left += 1;
            }
        }
    }

    /// Starts recording changes, so that they can be undone.
    pub(crate) fn begin(&mut self) {
        self.journal.begin();
    }

    /// Makes the recorded changes permanent.
    pub(crate) fn keep(&mut self) {
        self.journal.keep();
    }

    /// Undoes all recorded changes.
    pub(crate) fn take_back(&mut self) {
        while let Some((before, after)) = self.journal.take_back(Extent::All) {
            self.exchange(&after, &before);
        }
    }
}
