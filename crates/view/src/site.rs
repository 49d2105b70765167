//! The place where instances are made: hosts, datastores and virtual machines, as far as they are
//! readable.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::{
    happenings::{Happenings, Note},
    scene::{Amount, Kind},
};

/// A place where instances are made, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Site {
    /// What the place is called.
    pub name: String,
    /// Hosts, by zone and name.
    pub hosts: Vec<Host>,
    /// Datastores, by name.
    pub datastores: Vec<Datastore>,
    /// Virtual machines, those that are being made first.
    pub instances: Vec<VirtualMachine>,
    /// Work that failed lately. It is told, and not shown.
    #[serde(skip)]
    pub failures: Vec<Failure>,
}

/// A host.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The zone that it is in.
    pub zone: String,
    /// Whether it answers.
    pub up: bool,
    /// CPU: what its running instances have, and what it has.
    pub cpu: Amount,
    /// Memory, likewise.
    pub memory: Amount,
    /// How many instances run on it.
    pub instances: usize,
}

/// A datastore.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Datastore {
    /// Its name.
    pub name: String,
    /// Whether it can be used.
    pub usable: bool,
    /// What is taken, and what there is, in bytes.
    pub space: Amount,
}

/// What a virtual machine is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Power {
    /// It is being cloned.
    Cloning,
    /// It is off.
    #[default]
    Off,
    /// It is on, and its guest is not up yet.
    Booting,
    /// Its guest is up.
    On,
}

impl Power {
    /// One word for people.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Cloning => "cloning",
            Self::Off => "off",
            Self::Booting => "booting",
            Self::On => "on",
        }
    }
}

/// A virtual machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct VirtualMachine {
    /// Its name.
    pub name: String,
    /// Its host; empty while it has none.
    pub host: String,
    /// The datastore it lies on; empty while it has none.
    pub datastore: String,
    /// What it is doing.
    pub power: Power,
    /// How far its clone has come, in percent.
    pub progress: Option<i32>,
}

/// Work that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What it is known by.
    pub id: String,
    /// The instance that did not come of it.
    pub instance: String,
    /// Why.
    pub why: String,
}

/// What is remembered of a site from one look to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    pub(crate) latest: Option<Site>,
    /// Failures that are told already.
    told: BTreeSet<String>,
}

impl Watched {
    /// Takes note of how a site looks now, and tells what has become of it.
    pub(crate) fn see(&mut self, at: f64, site: Site, happenings: &mut Happenings) {
        for failure in &site.failures {
            if self.told.insert(failure.id.clone()) {
                let note = Note::new(
                    Kind::Thwarted,
                    &failure.instance,
                    "cannot be made there",
                    &failure.why,
                );
                let group = "instances".to_owned();
                happenings.note(at, Note { key: failure.why.clone(), group, ..note });
            }
        }
        self.told.retain(|id| site.failures.iter().any(|failure| failure.id == *id));
        for (instance, from, to) in self.moved(&site) {
            let what = format!("starts again on {to}");
            happenings.note(at, Note::new(Kind::Moved, instance, &what, &format!("{from} failed")));
        }
        self.latest = Some(site);
    }

    /// Instances that run on another host than before, with both.
    fn moved<'s>(&'s self, site: &'s Site) -> Vec<(&'s str, &'s str, &'s str)> {
        let hosts = |site: &'s Site| {
            let placed = site.instances.iter().filter(|own| !own.host.is_empty());
            placed.map(|own| (own.name.as_str(), own)).collect::<BTreeMap<_, _>>()
        };
        let before = self.latest.as_ref().map(hosts).unwrap_or_default();
        let is_down = |name: &str| site.hosts.iter().any(|host| host.name == name && !host.up);
        let pairs = hosts(site).into_iter().filter_map(|(name, now)| {
            let was = *before.get(name)?;
            (was.host != now.host && is_down(&was.host)).then_some((name, &*was.host, &*now.host))
        });
        pairs.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(name: &str, host: &str) -> VirtualMachine {
        let (name, host) = (name.to_owned(), host.to_owned());
        VirtualMachine { name, host, power: Power::On, ..VirtualMachine::default() }
    }

    fn host(name: &str, up: bool) -> Host {
        Host { name: name.to_owned(), up, ..Host::default() }
    }

    fn told(happenings: &Happenings) -> Vec<String> {
        let all = happenings.as_told().into_iter();
        all.map(|own| format!("{} {}: {}", own.subject, own.what, own.why)).collect()
    }

    #[test]
    fn instances_that_start_on_another_host_are_told() {
        let (mut watched, mut happenings) = (Watched::default(), Happenings::default());
        let at = |place: &str, first_is_up| Site {
            hosts: vec![host("esx1", first_is_up), host("esx2", true)],
            instances: vec![instance("a", place), instance("b", "esx2")],
            ..Site::default()
        };
        watched.see(1.0, at("esx1", true), &mut happenings);
        watched.see(2.0, at("esx1", false), &mut happenings);
        assert_eq!(told(&happenings), Vec::<String>::new());
        watched.see(3.0, at("esx2", false), &mut happenings);
        watched.see(4.0, at("esx2", false), &mut happenings);
        assert_eq!(told(&happenings), ["a starts again on esx2: esx1 failed"]);
    }

    #[test]
    fn a_failure_is_told_once_and_those_alike_together() {
        let (mut watched, mut happenings) = (Watched::default(), Happenings::default());
        let failure = |id: &str, instance: &str| Failure {
            id: id.to_owned(),
            instance: instance.to_owned(),
            why: "the datastore is full".to_owned(),
        };
        let failures = vec![failure("task-1", "a"), failure("task-2", "b")];
        let site = Site { failures, ..Site::default() };
        watched.see(1.0, site.clone(), &mut happenings);
        watched.see(60.0, site, &mut happenings);
        assert_eq!(told(&happenings), ["instances ×2 cannot be made there: the datastore is full"]);
    }
}
