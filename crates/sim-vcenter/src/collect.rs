//! The property collector: reading many properties of many objects at once, in pages, and being
//! told what has changed.

mod retrieve;
mod spec;
mod updates;

use std::collections::BTreeMap;

use crate::reference::{Kind, Ref};
use retrieve::Page;
pub(crate) use retrieve::all_missing;
pub(crate) use spec::FilterSpec;
use updates::{Collector, Filter};

/// All collectors with their filters, and reads that are in the middle.
#[derive(Debug, Default)]
pub(crate) struct Collectors {
    /// By the collector, and by the session for the one that all sessions share.
    waiters: BTreeMap<(Ref, String), Collector>,
    filters: BTreeMap<Ref, Filter>,
    pages: BTreeMap<String, Page>,
    made: u32,
}

impl Collectors {
    pub(crate) fn has(&self, object: Ref) -> bool {
        match object.kind {
            Kind::PropertyFilter => self.filters.contains_key(&object),
            Kind::PropertyCollector => self.waiters.keys().any(|(known, _)| *known == object),
            _ => false,
        }
    }

    pub(crate) fn filters_of(&self, collector: Ref) -> Vec<Ref> {
        let of = self.filters.iter().filter(|(_, filter)| filter.collector.0 == collector);
        of.map(|(filter, _)| *filter).collect()
    }

    pub(crate) fn add_collector(&mut self, session: &str) -> Ref {
        self.made += 1;
        let collector = Ref::new(Kind::PropertyCollector, self.made);
        self.waiters.insert((collector, session.to_owned()), Collector::default());
        collector
    }

    pub(crate) fn remove_collector(&mut self, collector: Ref, session: &str) {
        let key = (collector, session.to_owned());
        self.waiters.remove(&key);
        self.filters.retain(|_, filter| filter.collector != key);
    }

    pub(crate) fn add_filter(&mut self, collector: Ref, session: &str, spec: FilterSpec) -> Ref {
        self.made += 1;
        let reference = Ref::new(Kind::PropertyFilter, self.made);
        let key = (collector, session.to_owned());
        let waiter = self.waiters.entry(key.clone()).or_default();
        waiter.news();
        self.filters.insert(reference, Filter::new(key, spec));
        reference
    }

    pub(crate) fn remove_filter(&mut self, filter: Ref) -> bool {
        self.filters.remove(&filter).is_some()
    }

    /// Ends the waits at a collector.
    pub(crate) fn cancel(&mut self, collector: Ref, session: &str) {
        let key = (collector, session.to_owned());
        self.waiters.entry(key).or_default().cancelled += 1;
    }

    pub(crate) fn cancelled(&self, collector: Ref, session: &str) -> u64 {
        let key = (collector, session.to_owned());
        self.waiters.get(&key).map_or(0, |collector| collector.cancelled)
    }

    pub(crate) fn end_session(&mut self, session: &str) {
        self.waiters.retain(|(_, of), _| of != session);
        self.filters.retain(|_, filter| filter.collector.1 != session);
        self.pages.retain(|_, page| page.session != session);
    }
}
