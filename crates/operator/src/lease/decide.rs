//! The next step for a lease: a pure function of the observed lease.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};

use super::Terms;

/// The contents of a lease.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// The holder; empty after a release.
    pub holder: String,
    /// The duration that the holder promised, if set.
    pub duration: Option<Duration>,
    /// When the holder took it, by the holder's clock.
    pub acquired: Option<Timestamp>,
    /// When the holder last renewed it, by the holder's clock.
    pub renewed: Option<Timestamp>,
    /// The number of changes of holder.
    pub transitions: i32,
}

impl Record {
    /// Reads the lease object.
    pub fn of(lease: &Lease) -> Self {
        let Some(spec) = &lease.spec else { return Self::default() };
        let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        Self {
            holder: spec.holder_identity.clone().unwrap_or_default(),
            duration: seconds.map(Duration::from_secs),
            acquired: spec.acquire_time.as_ref().map(|time| time.0),
            renewed: spec.renew_time.as_ref().map(|time| time.0),
            transitions: spec.lease_transitions.unwrap_or_default(),
        }
    }

    /// The spec to write, in the format of Go controllers.
    pub fn spec(&self) -> LeaseSpec {
        let seconds =
            self.duration.map(|duration| duration.as_secs().try_into().unwrap_or(i32::MAX));
        LeaseSpec {
            holder_identity: Some(self.holder.clone()),
            lease_duration_seconds: seconds,
            acquire_time: self.acquired.map(MicroTime),
            renew_time: self.renewed.map(MicroTime),
            lease_transitions: Some(self.transitions),
            ..LeaseSpec::default()
        }
    }

    /// The lease taken by `me` at `now`, by the own clock.
    pub fn taken_by(&self, me: &str, now: Timestamp, terms: &Terms) -> Self {
        let was_somebodys = self.acquired.is_some();
        Self {
            holder: me.to_owned(),
            duration: Some(terms.lease),
            acquired: if self.holder == me { self.acquired } else { Some(now) },
            renewed: Some(now),
            transitions: self.transitions + i32::from(was_somebodys && self.holder != me),
        }
    }

    /// The lease released at `now`, by the own clock. One second is the shortest valid duration.
    pub fn given_back(&self, now: Timestamp) -> Self {
        Self {
            holder: String::new(),
            duration: Some(Duration::from_secs(1)),
            acquired: Some(now),
            renewed: Some(now),
            transitions: self.transitions,
        }
    }
}

/// A lease as this process observed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its contents.
    pub record: Record,
    /// When this process first observed these contents, by its clock's running time.
    pub since: Duration,
}

impl Seen {
    /// The observation at `now`: unchanged contents keep their time.
    pub fn next(before: Option<Self>, record: Record, now: Duration) -> Self {
        match before {
            Some(before) if before.record == record => before,
            _ => Self { record, since: now },
        }
    }
}

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Take it: it is free, or it has expired.
    Acquire,
    /// Renew it: this process holds it.
    Renew,
    /// Wait: another process holds it.
    Wait {
        /// The holder.
        holder: String,
        /// How long it stays valid at most without a renewal.
        left: Duration,
    },
    /// Stop: this process held it and lost it.
    Lost {
        /// The new holder.
        holder: String,
    },
}

/// The next step of `me` at `now`, by its own running time. `mine` says whether it held the lease
/// at its last observation.
pub fn decide(seen: Option<&Seen>, me: &str, mine: bool, now: Duration, terms: &Terms) -> Step {
    let Some(seen) = seen else { return Step::Acquire };
    let holder = &seen.record.holder;
    if holder == me {
        return Step::Renew;
    }
    if holder.is_empty() {
        // A release in this process's name came from another process.
        return if mine { Step::Lost { holder: String::new() } } else { Step::Acquire };
    }
    if mine {
        return Step::Lost { holder: holder.clone() };
    }
    let over = seen.since + seen.record.duration.unwrap_or(terms.lease);
    match over.checked_sub(now).filter(|left| !left.is_zero()) {
        Some(left) => Step::Wait { holder: holder.clone(), left },
        None => Step::Acquire,
    }
}
