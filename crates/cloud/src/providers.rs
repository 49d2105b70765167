//! Several clouds in one process.

use std::{collections::BTreeMap, sync::Arc};

use joiner_core::label::WellKnown;

use crate::{CloudProvider, class::ClassKind};

/// The providers of a process, by the `NodeClass`es they serve.
#[derive(Debug, Clone, Default)]
pub struct Providers {
    on: Vec<Arc<dyn CloudProvider>>,
    by_class: BTreeMap<(&'static str, &'static str), usize>,
    off: Vec<Off>,
}

/// A provider that this program has and that is not on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Off {
    /// Its name.
    pub name: &'static str,
    /// The `NodeClass` it would serve.
    pub class: ClassKind,
    /// The variable that turns it on.
    pub variable: &'static str,
}

/// Who serves a `NodeClass`.
#[derive(Debug, Clone, Copy)]
pub enum Served<'p> {
    /// This provider.
    By(&'p Arc<dyn CloudProvider>),
    /// This one would, if it were on.
    Off(&'p Off),
    /// Nobody here: the class belongs to another program, and so does everything made from it.
    Elsewhere,
}

impl Providers {
    /// These providers are on, and those are not.
    pub fn new(on: Vec<Arc<dyn CloudProvider>>, off: Vec<Off>) -> Self {
        let mut by_class = BTreeMap::new();
        for (index, provider) in on.iter().enumerate() {
            for class in provider.class_kinds() {
                by_class.insert((class.group, class.kind), index);
            }
        }
        Self { on, by_class, off }
    }

    /// Every provider that is on.
    pub fn all(&self) -> &[Arc<dyn CloudProvider>] {
        &self.on
    }

    /// Who serves classes of this group and kind.
    pub fn of(&self, group: &str, kind: &str) -> Served<'_> {
        if let Some(index) = self.by_class.get(&(group, kind)) {
            return Served::By(&self.on[*index]);
        }
        let off = self.off.iter().find(|off| off.class.group == group && off.class.kind == kind);
        off.map_or(Served::Elsewhere, Served::Off)
    }

    /// The provider that serves classes of this group and kind, if it is on.
    pub fn serving(&self, group: &str, kind: &str) -> Option<&Arc<dyn CloudProvider>> {
        match self.of(group, kind) {
            Served::By(provider) => Some(provider),
            Served::Off(_) | Served::Elsewhere => None,
        }
    }

    /// Every kind of class that is served.
    pub fn class_kinds(&self) -> impl Iterator<Item = &'static ClassKind> {
        self.on.iter().flat_map(|provider| provider.class_kinds())
    }

    /// Labels that one of the providers fills in.
    pub fn well_known(&self) -> WellKnown {
        let all = self.on.iter().map(|provider| provider.well_known());
        all.reduce(|all, more| all.and(&more)).unwrap_or_default()
    }
}
