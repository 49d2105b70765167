//! Requirements as integers.
//!
//! Label keys and values become small numbers, a requirement becomes a bit set, and whole sets of requirements are kept
//! once and known by their number. What two sets do to each other is worked out once and remembered, so that asking
//! "may this pod join that claim?" is a look-up. The meaning is that of [`joiner_core::requirement`]; a property test
//! holds the two against each other.

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
    /// The host name is a key like any other for requirements, but its domains are instances.
    pub(crate) const HOSTNAME: Self = Self(0);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of requirements, by number. Equal sets have equal numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ReqId(u32);

impl ReqId {
    /// The set without any requirement.
    pub(crate) const ANY: Self = Self(0);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The values one key may have, over the key's dictionary.
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
    /// (offered, wanted) with well-known keys open → the intersection, or nothing.
    joined: FxHashMap<(ReqId, ReqId), Option<ReqId>>,
    /// (offered, wanted) with nothing open → whether they are compatible.
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

    /// The values listed, unless they are exclusions.
    pub(crate) fn listed(&self) -> Option<&Bits> {
        (!self.complement).then_some(&self.values)
    }

    /// The only value left, if there is exactly one.
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

    /// The number of a key, new or known.
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

    /// The number of a key that something has mentioned before.
    pub(crate) fn known_key(&self, name: &str) -> Option<Key> {
        self.key_lookup.get(label::normalize(name)).copied()
    }

    pub(crate) fn key_name(&self, key: Key) -> &str {
        &self.keys[key.index()].name
    }

    /// The number of a value, new or known.
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

    /// The number of a value that something has mentioned before.
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

    /// Back to names.
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

    /// What a set says of a key.
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

    /// Whether everything asked for is of labels that providers fill in, or an exclusion.
    pub(crate) fn only_well_known(&self, id: ReqId) -> bool {
        let set = &self.sets[id.index()];
        set.iter().all(|(key, req)| req.is_exclusion() || self.keys[key.index()].well_known)
    }

    /// Whether a key's value is allowed; `None` allows everything.
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
        self.keys[key.index()].values[value]
            .number
            .is_some_and(|n| gte.is_none_or(|low| low <= n) && lte.is_none_or(|high| n <= high))
    }

    fn intersection(&self, key: Key, a: &Req, b: &Req) -> Req {
        let (gte, lte) = merged_bounds(a, b);
        let min_values = a.min_values.max(b.min_values);
        if matches!((gte, lte), (Some(low), Some(high)) if low > high) {
            return Req {
                complement: false,
                values: Bits::new(),
                gte: None,
                lte: None,
                min_values,
            };
        }
        let complement = a.complement && b.complement;
        let mut values = match (a.complement, b.complement) {
            (true, true) => a.values.or(&b.values),
            (true, false) => b.values.and_not(&a.values),
            (false, true) => a.values.and_not(&b.values),
            (false, false) => a.values.and(&b.values),
        };
        if gte.is_some() || lte.is_some() {
            values = values.filtered(|value| self.within(key, value, gte, lte));
        }
        let (gte, lte) = if complement { (gte, lte) } else { (None, None) };
        Req { complement, values, gte, lte, min_values }
    }

    fn has_intersection(&self, key: Key, a: &Req, b: &Req) -> bool {
        match (a.complement, b.complement) {
            (true, true) => !matches!(merged_bounds(a, b), (Some(low), Some(high)) if low > high),
            (false, false) if a.unbounded() && b.unbounded() => a.values.intersects(&b.values),
            (false, true) if b.unbounded() => !a.values.and_not(&b.values).is_empty(),
            (true, false) if a.unbounded() => !b.values.and_not(&a.values).is_empty(),
            _ => !self.intersection(key, a, b).values.is_empty(),
        }
    }

    /// Whether the keys that both constrain leave a value.
    pub(crate) fn intersects(&self, a: ReqId, b: ReqId) -> bool {
        let (a, b) = (&self.sets[a.index()], &self.sets[b.index()]);
        self.work.count(a.len() + b.len());
        let mut rest = b.iter().peekable();
        a.iter().all(|(key, own)| {
            while rest.next_if(|(other, _)| other < key).is_some() {}
            rest.peek().is_none_or(|(other, wanted)| {
                other != key
                    || self.has_intersection(*key, own, wanted)
                    || (own.is_exclusion() && wanted.is_exclusion())
            })
        })
    }

    /// Whether `offered` can serve `wanted`, not remembering the answer.
    pub(crate) fn compatible(&self, offered: ReqId, wanted: ReqId, well_known_open: bool) -> bool {
        let known = self.sets[wanted.index()].iter().all(|(key, req)| {
            req.is_exclusion()
                || (well_known_open && self.keys[key.index()].well_known)
                || self.get(offered, *key).is_some()
        });
        known && self.intersects(offered, wanted)
    }

    /// Whether a node with labels `offered` can serve `wanted`: nothing may be left open.
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

    /// What is left of a claim's requirements when something that wants `wanted` joins it.
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

    /// Both sets together, compatible or not.
    pub(crate) fn intersect_sets(&mut self, a: ReqId, b: ReqId) -> ReqId {
        let (a, b) = (Rc::clone(&self.sets[a.index()]), Rc::clone(&self.sets[b.index()]));
        self.work.count(a.len() + b.len());
        let mut merged: ReqSet = (*a).clone();
        for (key, req) in b.iter() {
            match merged.binary_search_by_key(key, |(key, _)| *key) {
                Ok(at) => merged[at].1 = self.intersection(*key, &merged[at].1, req),
                Err(at) => merged.insert(at, (*key, req.clone())),
            }
        }
        self.intern_set(merged)
    }

    /// What is left when `key` may only have `values`. Nothing, if the key is unknown and no provider fills it in, or if
    /// none of the values was possible.
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

    /// [`LabelSpace::narrow`] to a single value, remembered.
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

fn merged_bounds(a: &Req, b: &Req) -> (Option<i64>, Option<i64>) {
    let lte = match (a.lte, b.lte) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    (a.gte.max(b.gte), lte)
}

#[cfg(test)]
mod tests;
