//! What to do about a lease, from what was seen of it.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};

use super::Terms;

/// What a lease says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// Who holds it; empty when it was given back.
    pub holder: String,
    /// How long its holder promised to be seen again in, if it said so.
    pub duration: Option<Duration>,
    /// When it was taken, by the holder's clock.
    pub acquired: Option<Timestamp>,
    /// When it was last renewed, by the holder's clock.
    pub renewed: Option<Timestamp>,
    /// How often it changed hands.
    pub transitions: i32,
}

impl Record {
    /// What is in an object.
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

    /// What is written, as controllers written in Go do.
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

    /// This lease in the hands of `me`, from `now` on by my clock.
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

    /// This lease given back, at `now` by my clock. A second is the shortest that can be written.
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

/// A lease as this process has seen it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// What it says.
    pub record: Record,
    /// Since when it says so, as far as this process can tell: by its own clock's running time.
    pub since: Duration,
}

impl Seen {
    /// What is known after looking at `now`: the same since earlier, or something new since now.
    pub fn next(before: Option<Self>, record: Record, now: Duration) -> Self {
        match before {
            Some(before) if before.record == record => before,
            _ => Self { record, since: now },
        }
    }
}

/// What to do about a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Take it: nobody holds it, or its holder has not been seen for too long.
    Acquire,
    /// It is mine: say that I am still there.
    Renew,
    /// Somebody holds it: look again.
    Wait {
        /// Who.
        holder: String,
        /// For how long at most it stays theirs if they are not seen again.
        left: Duration,
    },
    /// It was mine and is not any more.
    Lost {
        /// Whose it is.
        holder: String,
    },
}

/// What `me` should do about a lease at `now`, by the running time of its own clock. `mine` says
/// whether it held the lease when it looked last.
pub fn decide(seen: Option<&Seen>, me: &str, mine: bool, now: Duration, terms: &Terms) -> Step {
    let Some(seen) = seen else { return Step::Acquire };
    let holder = &seen.record.holder;
    if holder == me {
        return Step::Renew;
    }
    if holder.is_empty() {
        // Whoever gave it back in my name is not me.
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
