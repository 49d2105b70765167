//! The clouds of this program. One line of [`ALL`] adds one; its file below `clouds/` says all that
//! the rest of the program has to know of it.

mod cloudstack;
mod kind;
mod kwok;
mod page;
#[cfg(test)]
mod tests;
pub(crate) mod vsphere;

use std::sync::Arc;

use joiner_cloud::{Off, class::ClassKind};
use joiner_operator::settings::{PlannerSettings, declared};
use joiner_settings::{Reader, Setting};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

pub(crate) use self::kind::{
    Access, Class, Cloud, CloudKind, CloudSettings, DoctorKind, Examined, Opened, Opening, Reached,
};

/// Every cloud, in the order in which users see them.
pub(crate) const ALL: Clouds = Clouds::new(&[&kwok::KIND, &vsphere::KIND, &cloudstack::KIND]);

/// Clouds, in the order in which users see them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clouds(&'static [&'static CloudKind]);

/// A cloud with the settings that planning goes by.
#[derive(Debug, Clone)]
pub(crate) struct Configured {
    pub(crate) kind: &'static CloudKind,
    pub(crate) cloud: Arc<dyn Cloud>,
}

impl Clouds {
    pub(crate) const fn new(kinds: &'static [&'static CloudKind]) -> Self {
        Self(kinds)
    }

    /// Every cloud.
    pub(crate) fn iter(self) -> impl Iterator<Item = &'static CloudKind> {
        self.0.iter().copied()
    }

    /// The cloud of this name.
    pub(crate) fn named(self, name: &str) -> Option<&'static CloudKind> {
        self.iter().find(|kind| kind.name == name)
    }

    /// Every kind of class, with the fields that a plan depends on.
    pub(crate) fn classes(self) -> impl Iterator<Item = &'static Class> {
        self.iter().flat_map(|kind| kind.classes)
    }

    /// Every kind of class.
    pub(crate) fn class_kinds(self) -> Vec<ClassKind> {
        self.classes().map(|class| class.kind).collect()
    }

    /// The definitions of all classes.
    pub(crate) fn crds(self) -> Vec<CustomResourceDefinition> {
        self.iter().flat_map(|kind| (kind.crds)()).collect()
    }

    /// What planning goes by, in a controller and in a command, in the order that help texts have.
    pub(crate) fn planning_settings(self) -> Vec<&'static Setting> {
        let types = self.of_each(|settings| settings.types);
        let costs = self.of_each(|settings| settings.costs);
        let shared = declared::PLANNER.iter().copied();
        shared.chain(types).chain(declared::INSTANCES.iter().copied()).chain(costs).collect()
    }

    /// What a controller goes by, likewise.
    pub(crate) fn controller_settings(self) -> Vec<&'static Setting> {
        let own = declared::CONTROLLER.iter().copied();
        let mut all: Vec<&Setting> = own.chain(declared::PLANNER.iter().copied()).collect();
        all.extend(self.of_each(|settings| settings.types));
        all.extend(declared::INSTANCES);
        all.extend(self.of_each(|settings| settings.access));
        all.extend(self.of_each(|settings| settings.costs));
        all
    }

    /// What a controller publishes. Settings about types may name files on the controller's own
    /// computer, and so no other command can plan by them.
    pub(crate) fn published_settings(self) -> Vec<&'static Setting> {
        declared::planner().chain(self.of_each(|settings| settings.costs)).collect()
    }

    fn of_each(
        self,
        list: impl Fn(&CloudSettings) -> &'static [&'static Setting],
    ) -> impl Iterator<Item = &'static Setting> {
        self.iter().flat_map(move |kind| list(&kind.settings)).copied()
    }

    /// Reads what planning goes by, of all clouds; problems are kept by the reader.
    pub(crate) fn read(self, from: &mut Reader<'_>, planner: &PlannerSettings) -> Vec<Configured> {
        self.iter().map(|kind| Configured { kind, cloud: (kind.read)(from, planner) }).collect()
    }

    /// The clouds that are on: those that are named, and those whose setting turns them on. Where
    /// there are none, those that no setting turns on. Names that no cloud has are refused.
    pub(crate) fn chosen(
        self,
        from: &mut Reader<'_>,
        is_set: impl Fn(&Setting) -> bool,
    ) -> Vec<&'static CloudKind> {
        let named = from.list(&declared::PROVIDERS);
        for name in &named {
            if self.named(name).is_none() {
                let names: Vec<&str> = self.iter().map(|kind| kind.name).collect();
                let remedy = format!("use some of {}, separated by commas", names.join(", "));
                from.refuse(&declared::PROVIDERS, name, &remedy);
            }
        }
        let asked_for = |kind: &&CloudKind| {
            named.iter().any(|name| name == kind.name)
                || kind.settings.turned_on_by.is_some_and(&is_set)
        };
        let on: Vec<&CloudKind> = self.iter().filter(asked_for).collect();
        if on.is_empty() { self.defaults().collect() } else { on }
    }

    /// The clouds that are on where no other is.
    pub(crate) fn defaults(self) -> impl Iterator<Item = &'static CloudKind> {
        self.iter().filter(|kind| kind.settings.turned_on_by.is_none())
    }

    /// The clouds that are not among these, with the settings that turn them on.
    pub(crate) fn off(self, on: &[&CloudKind]) -> Vec<Off> {
        let is_off = |kind: &&CloudKind| !on.iter().any(|other| other.name == kind.name);
        let all = self.iter().filter(is_off).filter_map(|kind| {
            let variable = kind.settings.turned_on_by?.variable;
            let off = move |class: &Class| Off { name: kind.name, class: class.kind, variable };
            Some(kind.classes.iter().map(off))
        });
        all.flatten().collect()
    }

    /// The clouds that have a doctor.
    pub(crate) fn doctors(self) -> impl Iterator<Item = (&'static CloudKind, &'static DoctorKind)> {
        self.iter().filter_map(|kind| Some((kind, kind.doctor.as_ref()?)))
    }
}
