//! Several clouds in one process.

use std::sync::Arc;

use joiner_core::label::WellKnown;

use crate::{
    CloudProvider, ProviderIds,
    class::{ClassKind, Role},
};

/// The providers of a process, by the `NodeClass`es they serve.
#[derive(Debug, Clone, Default)]
pub struct Providers {
    on: Vec<Arc<dyn CloudProvider>>,
    /// Every kind that is served, with the number of its provider.
    kinds: Vec<(usize, ClassKind)>,
    off: Vec<Off>,
}

/// A provider that this program contains and that is not enabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Off {
    /// Its name.
    pub name: &'static str,
    /// The `NodeClass` it would serve.
    pub class: ClassKind,
    /// The variable that turns it on.
    pub variable: &'static str,
}

/// The provider of a `NodeClass`.
#[derive(Debug, Clone, Copy)]
pub enum Served<'p> {
    /// This provider.
    By(&'p Arc<dyn CloudProvider>),
    /// This provider would serve it, but is not enabled.
    Off(&'p Off),
    /// The class and its instances belong to another program.
    Elsewhere,
}

impl Providers {
    /// These providers are on, and those are not.
    pub fn new(on: Vec<Arc<dyn CloudProvider>>, off: Vec<Off>) -> Self {
        let of = |(index, provider): (usize, &Arc<dyn CloudProvider>)| {
            provider.class_kinds().iter().map(move |kind| (index, *kind))
        };
        let kinds = on.iter().enumerate().flat_map(of).collect();
        Self { on, kinds, off }
    }

    /// Every provider that is on.
    pub fn all(&self) -> &[Arc<dyn CloudProvider>] {
        &self.on
    }

    /// The provider of classes of this group and kind. Ingredients are not classes.
    pub fn of(&self, group: &str, kind: &str) -> Served<'_> {
        if let Some((provider, ClassKind { role: Role::NodeClass, .. })) = self.judging(group, kind)
        {
            return Served::By(provider);
        }
        let is_it = |off: &&Off| {
            let class = &off.class;
            class.role == Role::NodeClass && class.group == group && class.kind == kind
        };
        self.off.iter().find(is_it).map_or(Served::Elsewhere, Served::Off)
    }

    /// The provider that serves classes of this group and kind, if it is on.
    pub fn serving(&self, group: &str, kind: &str) -> Option<&Arc<dyn CloudProvider>> {
        match self.of(group, kind) {
            Served::By(provider) => Some(provider),
            Served::Off(_) | Served::Elsewhere => None,
        }
    }

    /// The enabled provider that judges objects of this group and kind, in any role.
    pub fn judging(
        &self,
        group: &str,
        kind: &str,
    ) -> Option<(&Arc<dyn CloudProvider>, &ClassKind)> {
        let is_it = |(_, own): &&(usize, ClassKind)| own.group == group && own.kind == kind;
        let (index, kind) = self.kinds.iter().find(is_it)?;
        Some((&self.on[*index], kind))
    }

    /// Every kind of class that is served: those that pools and claims may refer to.
    pub fn class_kinds(&self) -> impl Iterator<Item = &'static ClassKind> {
        self.kinds().filter(|kind| kind.role == Role::NodeClass)
    }

    /// Every kind that is served: classes, and what they are made of.
    pub fn kinds(&self) -> impl Iterator<Item = &'static ClassKind> {
        self.on.iter().flat_map(|provider| provider.class_kinds())
    }

    /// How provider ids of these clouds are compared.
    pub fn ids(&self) -> ProviderIds {
        ProviderIds::of(&self.on)
    }

    /// Labels that one of the providers fills in.
    pub fn well_known(&self) -> WellKnown {
        let all = self.on.iter().map(|provider| provider.well_known());
        all.reduce(|all, more| all.and(&more)).unwrap_or_default()
    }
}
