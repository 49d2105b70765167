//! Being told what has changed.

use std::collections::{BTreeMap, BTreeSet};

use super::{FilterSpec, retrieve::write_path};
use crate::{
    changes::Moment,
    fault::Fault,
    properties::ObjectReader,
    reference::{Kind, Ref},
    session::Viewer,
    wire::value::Value,
    world::World,
};

/// Where a client waits.
#[derive(Debug, Default)]
pub(super) struct Collector {
    version: u64,
    /// The last answer and the version that it was an answer to, for a client that did not get it.
    last: Option<(String, String)>,
    /// When everything there was to tell had been told.
    looked: Option<Moment>,
    /// How often waits were ended.
    pub(super) cancelled: u64,
}

impl Collector {
    /// Takes note that there may be something to tell though the world has not changed.
    pub(super) fn news(&mut self) {
        self.looked = None;
    }
}

/// What a client wants to be told of.
#[derive(Debug)]
pub(super) struct Filter {
    pub(super) collector: (Ref, String),
    spec: FilterSpec,
    told: BTreeMap<Ref, Told>,
    /// When everything there was to tell had been told.
    looked: Option<Moment>,
}

/// What the client knows of an object.
#[derive(Debug, Default)]
struct Told {
    /// When the object had changed last; none if that is not looked at.
    changed: Option<u64>,
    values: BTreeMap<String, String>,
}

impl Filter {
    pub(super) fn new(collector: (Ref, String), spec: FilterSpec) -> Self {
        Self { collector, spec, told: BTreeMap::new(), looked: None }
    }
}

impl World {
    /// What has changed since a version; none if nothing has.
    pub(crate) fn updates(
        &mut self,
        viewer: &Viewer,
        collector: Ref,
        version: &str,
        updates_max: usize,
    ) -> Result<Option<String>, Fault> {
        let key = (collector, viewer.session.clone());
        let changes = self.changes.now();
        let state = self.collectors.waiters.entry(key.clone()).or_default();
        if version.is_empty() {
            state.looked = None;
            let own = self.collectors.filters.values_mut().filter(|of| of.collector == key);
            own.for_each(|filter| {
                filter.told.clear();
                filter.looked = None;
            });
        } else if version != state.version.to_string() {
            return match &state.last {
                Some((to, answer)) if to == version => Ok(Some(answer.clone())),
                _ => Err(Fault::new("InvalidCollectorVersion", "no such version was given out")),
            };
        }
        if state.looked == Some(changes) {
            return Ok(None);
        }
        let mut left = updates_max;
        let mut sets = String::new();
        let filters: Vec<Ref> = self.collectors.filters_of(collector);
        for reference in filters {
            let Some(mut filter) = self.collectors.filters.remove(&reference) else { continue };
            let told = if filter.collector == key {
                self.filter_updates(viewer, &mut filter, &mut left)
            } else {
                Ok(String::new())
            };
            self.collectors.filters.insert(reference, filter);
            let told = told?;
            if !told.is_empty() {
                sets.push_str("<filterSet>");
                Value::Ref(reference).write(&mut sets, "filter");
                sets.push_str(&told);
                sets.push_str("</filterSet>");
            }
        }
        let state = self.collectors.waiters.entry(key).or_default();
        let truncated = left == 0;
        state.looked = (!truncated).then_some(changes);
        if sets.is_empty() {
            return Ok(None);
        }
        state.version += 1;
        let truncated = if truncated { "<truncated>true</truncated>" } else { "" };
        let answer = format!("<version>{}</version>{sets}{truncated}", state.version);
        state.last = Some((version.to_owned(), answer.clone()));
        Ok(Some(answer))
    }

    fn filter_updates(
        &self,
        viewer: &Viewer,
        filter: &mut Filter,
        left: &mut usize,
    ) -> Result<String, Fault> {
        let mut out = String::new();
        let looked = filter.looked.take();
        let candidates = match looked.and_then(|looked| self.may_have_changed(filter, looked)) {
            Some(candidates) => candidates,
            None => {
                let now = self.selected(viewer, filter)?;
                let present: BTreeSet<Ref> = now.iter().copied().collect();
                let gone: Vec<Ref> =
                    filter.told.keys().copied().filter(|known| !present.contains(known)).collect();
                for object in gone {
                    if *left == 0 {
                        return Ok(out);
                    }
                    *left -= 1;
                    filter.told.remove(&object);
                    write_update(&mut out, "leave", object, "");
                }
                now
            }
        };
        for object in candidates {
            let known = filter.told.get(&object);
            let changed = has_counter(object).then(|| self.changes.last(object));
            if changed.is_some() && known.is_some_and(|told| told.changed == changed) {
                continue;
            }
            if *left == 0 {
                return Ok(out);
            }
            let (told, changes) = self.changes_of(viewer, &filter.spec, object, known, changed)?;
            let kind = if known.is_some() { "modify" } else { "enter" };
            if known.is_none() || !changes.is_empty() {
                *left -= 1;
                write_update(&mut out, kind, object, &changes);
            }
            filter.told.insert(object, told);
        }
        filter.looked = Some(self.changes.now());
        Ok(out)
    }

    /// All objects that a filter is about.
    fn selected(&self, viewer: &Viewer, filter: &Filter) -> Result<Vec<Ref>, Fault> {
        match filter.spec.select(self, viewer) {
            Ok(objects) => Ok(objects.into_iter().filter(|object| self.has(*object)).collect()),
            // What the filter began with is gone: so is everything that was reached from there.
            Err(fault) if fault.kind == "ManagedObjectNotFound" => Ok(Vec::new()),
            Err(fault) => Err(fault),
        }
    }

    /// The objects that can be other than they were at a moment; none if any could. Of thousands
    /// of VMs, only a few change between two looks.
    fn may_have_changed(&self, filter: &Filter, looked: Moment) -> Option<Vec<Ref>> {
        let now = self.changes.now();
        if filter.spec.has_tasks() || !filter.spec.is_plain() || now.structure != looked.structure {
            return None;
        }
        if now.beside_tasks == looked.beside_tasks {
            return Some(Vec::new());
        }
        let mut candidates = self.changes.since(looked)?;
        candidates.retain(|object| filter.told.contains_key(object));
        // Of those whose changes are not counted there are few.
        candidates.extend(filter.told.keys().copied().filter(|object| !has_counter(*object)));
        Some(candidates.into_iter().collect())
    }

    /// What is known of an object from now on, and the changes to what was known.
    fn changes_of(
        &self,
        viewer: &Viewer,
        spec: &FilterSpec,
        object: Ref,
        known: Option<&Told>,
        changed: Option<u64>,
    ) -> Result<(Told, String), Fault> {
        let mut told = Told { changed, values: BTreeMap::new() };
        let mut changes = String::new();
        let mut reader = ObjectReader::new(self, viewer, object);
        for path in spec.paths(object) {
            let Some(value) = reader.write(path, "val") else {
                return Err(Fault::invalid_property(path));
            };
            let before = known.and_then(|known| known.values.get(path)).map(String::as_str);
            if before.unwrap_or_default() != value {
                write_path(&mut changes, "changeSet", "name", path);
                changes.push_str("<op>assign</op>");
                changes.push_str(&value);
                changes.push_str("</changeSet>");
            }
            told.values.insert(path.to_owned(), value);
        }
        Ok((told, changes))
    }
}

/// Whether changes of an object are counted, so that it need not be looked at to know that it is
/// the same. Of the others there are few.
fn has_counter(object: Ref) -> bool {
    matches!(object.kind, Kind::VirtualMachine | Kind::Task)
}

fn write_update(out: &mut String, kind: &'static str, object: Ref, changes: &str) {
    out.push_str("<objectSet>");
    Value::word("ObjectUpdateKind", kind).write(out, "kind");
    Value::Ref(object).write(out, "obj");
    out.push_str(changes);
    out.push_str("</objectSet>");
}
