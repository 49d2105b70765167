//! Requirements as integers.
//!
//! Label keys and values become small numbers, and a requirement becomes a bit set. Each set of requirements is
//! stored once and named by its number. The result of combining two sets is computed once and cached, so "may this
//! pod join that claim?" is a lookup. The semantics are those of [`joiner_core::requirement`]; a property test
//! compares the two.

use std::rc::Rc;

use joiner_core::{
    label::{self, WellKnown},
    requirement::{Requirement, Requirements},
};
use rustc_hash::FxHashMap;

use super::bits::Bits;
use crate::work::Meter;

/// A label key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key(u32);

impl Key {
    /// The host name. Its domains are instances, but for requirements it is a key like any other.
    pub(crate) const HOSTNAME: Self = Self(0);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of requirements, by number. Equal sets have equal numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ReqId(u32);

impl ReqId {
    /// The empty set of requirements.
    pub(crate) const ANY: Self = Self(0);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The values that a key may have, as positions in the key's dictionary.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Req {
    complement: bool,
    values: Bits,
    gte: Option<i64>,
    lte: Option<i64>,
    min_values: Option<u32>,
}

type ReqSet = Vec<(Key, Req)>;

#[derive(Debug, Clone, Default)]
struct KeyInfo {
    name: String,
    well_known: bool,
    values: Vec<Value>,
    lookup: FxHashMap<String, u32>,
}

#[derive(Debug, Clone)]
struct Value {
    name: String,
    number: Option<i64>,
}

/// Every key, value and set of requirements of one planning pass.
#[derive(Debug, Clone)]
pub(crate) struct LabelSpace {
    keys: Vec<KeyInfo>,
    key_lookup: FxHashMap<String, Key>,
    well_known: WellKnown,
    sets: Vec<Rc<ReqSet>>,
    set_lookup: FxHashMap<Rc<ReqSet>, ReqId>,
    /// The intersection of (offered, wanted), or `None`. Well-known keys that are not offered are allowed.
    joined: FxHashMap<(ReqId, ReqId), Option<ReqId>>,
    /// Whether (offered, wanted) are compatible. Keys that are not offered are absent.
    strict: FxHashMap<(ReqId, ReqId), bool>,
    pinned: FxHashMap<(ReqId, Key, u32), Option<ReqId>>,
    pub(crate) work: Meter,
}

impl Req {
    const EXISTS: Self =
        Self { complement: true, values: Bits::EMPTY, gte: None, lte: None, min_values: None };

    fn is_exclusion(&self) -> bool {
        self.complement != self.values.is_empty()
    }

    /// The listed values, unless they are exclusions.
    pub(crate) fn listed(&self) -> Option<&Bits> {
        (!self.complement).then_some(&self.values)
    }

    /// The only value that is left, if there is exactly one.
    pub(crate) fn single(&self) -> Option<usize> {
        if self.complement || self.values.len() != 1 {
            return None;
        }
        self.values.iter().next()
    }

    pub(crate) fn min_values(&self) -> Option<u32> {
        self.min_values
    }

    fn unbounded(&self) -> bool {
        self.gte.is_none() && self.lte.is_none()
    }
}

impl LabelSpace {
    pub(crate) fn new(well_known: &WellKnown) -> Self {
        let mut space = Self {
            keys: Vec::new(),
            key_lookup: FxHashMap::default(),
            well_known: well_known.clone(),
            sets: Vec::new(),
            set_lookup: FxHashMap::default(),
            joined: FxHashMap::default(),
            strict: FxHashMap::default(),
            pinned: FxHashMap::default(),
            work: Meter::default(),
        };
        let hostname = space.key(label::HOSTNAME);
        debug_assert_eq!(hostname, Key::HOSTNAME);
        let any = space.intern_set(Vec::new());
        debug_assert_eq!(any, ReqId::ANY);
        space
    }

    /// The number of a key; a new key is added.
    pub(crate) fn key(&mut self, name: &str) -> Key {
        let name = label::normalize(name);
        if let Some(key) = self.key_lookup.get(name) {
            return *key;
        }
        let key = Key(self.keys.len() as u32);
        self.keys.push(KeyInfo {
            name: name.to_owned(),
            well_known: self.well_known.contains(name),
            ..KeyInfo::default()
        });
        self.key_lookup.insert(name.to_owned(), key);
        key
    }

    /// The number of a key, if it is known.
    pub(crate) fn known_key(&self, name: &str) -> Option<Key> {
        self.key_lookup.get(label::normalize(name)).copied()
    }

    pub(crate) fn key_name(&self, key: Key) -> &str {
        &self.keys[key.index()].name
    }

    /// The number of a value; a new value is added.
    pub(crate) fn value(&mut self, key: Key, name: &str) -> usize {
        let info = &mut self.keys[key.index()];
        if let Some(value) = info.lookup.get(name) {
            return *value as usize;
        }
        let value = info.values.len();
        info.values.push(Value { name: name.to_owned(), number: name.parse().ok() });
        info.lookup.insert(name.to_owned(), value as u32);
        value
    }

    /// The number of a value, if it is known.
    pub(crate) fn known_value(&self, key: Key, name: &str) -> Option<usize> {
        self.keys[key.index()].lookup.get(name).map(|value| *value as usize)
    }

    pub(crate) fn value_name(&self, key: Key, value: usize) -> &str {
        &self.keys[key.index()].values[value].name
    }

    /// The number of a set of requirements.
    pub(crate) fn encode(&mut self, requirements: &Requirements) -> ReqId {
        let mut set: ReqSet = Vec::new();
        for (name, requirement) in requirements.iter() {
            self.work.count(1 + requirement.values().len());
            let key = self.key(name);
            let req = self.encode_one(key, requirement);
            set.push((key, req));
        }
        set.sort_by_key(|(key, _)| *key);
        self.intern_set(set)
    }

    fn encode_one(&mut self, key: Key, requirement: &Requirement) -> Req {
        let (gte, lte) = requirement.bounds();
        let values = requirement.values().iter().map(|value| self.value(key, value)).collect();
        Req {
            complement: requirement.is_complement(),
            values,
            gte,
            lte,
            min_values: requirement.min_values(),
        }
    }

    /// The set with names instead of numbers.
    pub(crate) fn decode(&self, id: ReqId) -> Requirements {
        let mut all = Requirements::new();
        for (key, req) in self.sets[id.index()].iter() {
            all.set(self.key_name(*key), self.decode_one(*key, req));
        }
        all
    }

    pub(crate) fn decode_one(&self, key: Key, req: &Req) -> Requirement {
        let values =
            req.values.iter().map(|value| self.value_name(key, value).to_owned()).collect();
        Requirement::from_parts(req.complement, values, req.gte, req.lte, req.min_values)
    }

    fn intern_set(&mut self, set: ReqSet) -> ReqId {
        if let Some(id) = self.set_lookup.get(&set) {
            return *id;
        }
        let id = ReqId(self.sets.len() as u32);
        let set = Rc::new(set);
        self.sets.push(Rc::clone(&set));
        self.set_lookup.insert(set, id);
        id
    }

    /// The requirement of a set for a key.
    pub(crate) fn get(&self, id: ReqId, key: Key) -> Option<&Req> {
        let set = &self.sets[id.index()];
        set.binary_search_by_key(&key, |(key, _)| *key).ok().map(|at| &set[at].1)
    }

    pub(crate) fn iter(&self, id: ReqId) -> impl Iterator<Item = (Key, &Req)> {
        self.sets[id.index()].iter().map(|(key, req)| (*key, req))
    }

    pub(crate) fn has_min_values(&self, id: ReqId) -> bool {
        self.sets[id.index()].iter().any(|(_, req)| req.min_values.is_some())
    }

    /// Whether all requirements are about labels that providers set, or are exclusions.
    pub(crate) fn only_well_known(&self, id: ReqId) -> bool {
        let set = &self.sets[id.index()];
        set.iter().all(|(key, req)| req.is_exclusion() || self.keys[key.index()].well_known)
    }

    /// Whether a requirement allows a value; `None` allows every value.
    pub(crate) fn allows(&self, key: Key, req: Option<&Req>, value: usize) -> bool {
        req.is_none_or(|req| {
            req.values.contains(value) != req.complement
                && self.within(key, value, req.gte, req.lte)
        })
    }

    fn within(&self, key: Key, value: usize, gte: Option<i64>, lte: Option<i64>) -> bool {
        if gte.is_none() && lte.is_none() {
            return true;
        }
        self.keys[key.index()].values[value].number.is_some_and(|number| {
            gte.is_none_or(|low| low <= number) && lte.is_none_or(|high| number <= high)
        })
    }

    fn intersection(&self, key: Key, left: &Req, right: &Req) -> Req {
        let (gte, lte) = merged_bounds(left, right);
        let min_values = left.min_values.max(right.min_values);
        if matches!((gte, lte), (Some(low), Some(high)) if low > high) {
            return Req {
                complement: false,
                values: Bits::new(),
                gte: None,
                lte: None,
                min_values,
            };
        }
        let complement = left.complement && right.complement;
        let mut values = match (left.complement, right.complement) {
            (true, true) => left.values.or(&right.values),
            (true, false) => right.values.and_not(&left.values),
            (false, true) => left.values.and_not(&right.values),
            (false, false) => left.values.and(&right.values),
        };
        if gte.is_some() || lte.is_some() {
            values = values.filtered(|value| self.within(key, value, gte, lte));
        }
        let (gte, lte) = if complement { (gte, lte) } else { (None, None) };
        Req { complement, values, gte, lte, min_values }
    }

    fn has_intersection(&self, key: Key, left: &Req, right: &Req) -> bool {
        match (left.complement, right.complement) {
            (true, true) => {
                !matches!(merged_bounds(left, right), (Some(low), Some(high)) if low > high)
            }
            (false, false) if left.unbounded() && right.unbounded() => {
                left.values.intersects(&right.values)
            }
            (false, true) if right.unbounded() => !left.values.and_not(&right.values).is_empty(),
            (true, false) if left.unbounded() => !right.values.and_not(&left.values).is_empty(),
            _ => !self.intersection(key, left, right).values.is_empty(),
        }
    }

    /// Whether each key that both sets constrain has a common value.
    pub(crate) fn intersects(&self, left: ReqId, right: ReqId) -> bool {
        let (left, right) = (&self.sets[left.index()], &self.sets[right.index()]);
        self.work.count(left.len() + right.len());
        let mut rest = right.iter().peekable();
        left.iter().all(|(key, offered)| {
            while rest.next_if(|(other, _)| other < key).is_some() {}
            rest.peek().is_none_or(|(other, wanted)| {
                other != key
                    || self.has_intersection(*key, offered, wanted)
                    || (offered.is_exclusion() && wanted.is_exclusion())
            })
        })
    }

    /// Whether `offered` satisfies `wanted`. The answer is not cached.
    pub(crate) fn compatible(&self, offered: ReqId, wanted: ReqId, well_known_open: bool) -> bool {
        let known = self.sets[wanted.index()].iter().all(|(key, req)| {
            req.is_exclusion()
                || (well_known_open && self.keys[key.index()].well_known)
                || self.get(offered, *key).is_some()
        });
        known && self.intersects(offered, wanted)
    }

    /// Whether a node with labels `offered` satisfies `wanted`. Missing labels are absent.
    pub(crate) fn compatible_strict(&mut self, offered: ReqId, wanted: ReqId) -> bool {
        if wanted == ReqId::ANY {
            return true;
        }
        if let Some(known) = self.strict.get(&(offered, wanted)) {
            return *known;
        }
        let verdict = self.compatible(offered, wanted, false);
        self.strict.insert((offered, wanted), verdict);
        verdict
    }

    /// The requirements of a claim after a pod with `wanted` has joined it.
    pub(crate) fn join(&mut self, offered: ReqId, wanted: ReqId) -> Option<ReqId> {
        if wanted == ReqId::ANY {
            return Some(offered);
        }
        if let Some(known) = self.joined.get(&(offered, wanted)) {
            return *known;
        }
        let joined =
            self.compatible(offered, wanted, true).then(|| self.intersect_sets(offered, wanted));
        self.joined.insert((offered, wanted), joined);
        joined
    }

    /// The intersection of both sets, whether compatible or not.
    pub(crate) fn intersect_sets(&mut self, left: ReqId, right: ReqId) -> ReqId {
        let (left, right) =
            (Rc::clone(&self.sets[left.index()]), Rc::clone(&self.sets[right.index()]));
        self.work.count(left.len() + right.len());
        let mut merged: ReqSet = (*left).clone();
        for (key, req) in right.iter() {
            match merged.binary_search_by_key(key, |(key, _)| *key) {
                Ok(at) => merged[at].1 = self.intersection(*key, &merged[at].1, req),
                Err(at) => merged.insert(at, (*key, req.clone())),
            }
        }
        self.intern_set(merged)
    }

    /// The set with `key` restricted to `values`. `None` if the key is unknown and no provider sets it, or if none
    /// of the values is allowed.
    pub(crate) fn narrow(&mut self, id: ReqId, key: Key, values: &Bits) -> Option<ReqId> {
        let only = Req {
            complement: false,
            values: values.clone(),
            gte: None,
            lte: None,
            min_values: None,
        };
        let narrowed = match self.get(id, key) {
            Some(req) => self.intersection(key, req, &only),
            None if self.keys[key.index()].well_known => only,
            None => return None,
        };
        if narrowed.values.is_empty() {
            return None;
        }
        Some(self.with(id, key, narrowed))
    }

    /// [`LabelSpace::narrow`] to a single value, cached.
    pub(crate) fn pin(&mut self, id: ReqId, key: Key, value: usize) -> Option<ReqId> {
        if let Some(known) = self.pinned.get(&(id, key, value as u32)) {
            return *known;
        }
        let pinned = self.narrow(id, key, &[value].into_iter().collect());
        self.pinned.insert((id, key, value as u32), pinned);
        pinned
    }

    /// The same set with other `minValues` of a key.
    pub(crate) fn with_min_values(&mut self, id: ReqId, key: Key, min_values: u32) -> ReqId {
        let mut req = self.get(id, key).cloned().unwrap_or(Req::EXISTS);
        req.min_values = Some(min_values);
        self.with(id, key, req)
    }

    fn with(&mut self, id: ReqId, key: Key, req: Req) -> ReqId {
        let mut set: ReqSet = (*self.sets[id.index()]).clone();
        match set.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(at) => set[at].1 = req,
            Err(at) => set.insert(at, (key, req)),
        }
        self.intern_set(set)
    }
}

fn merged_bounds(left: &Req, right: &Req) -> (Option<i64>, Option<i64>) {
    let lte = match (left.lte, right.lte) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (left, right) => left.or(right),
    };
    (left.gte.max(right.gte), lte)
}

#[cfg(test)]
mod tests;
