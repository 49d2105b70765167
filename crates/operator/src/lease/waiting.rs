//! Whom or what a process waits for, and how often that is said.

use std::{fmt, time::Duration};

use jiff::Timestamp;
use joiner_clock::Clock;

use super::LeaseName;
use crate::probes::NotReady;

/// Why a process does not act yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiting {
    /// Somebody else acts.
    Held {
        /// By this lease.
        lease: LeaseName,
        /// Who.
        holder: String,
        /// Since when, by the holder's clock, if it is written.
        since: Option<Timestamp>,
    },
    /// The API server does not let it look at or change the lease.
    Forbidden {
        /// Which lease.
        lease: LeaseName,
        /// What it may not do.
        verb: &'static str,
    },
    /// The lease cannot be read or written.
    Failing {
        /// Which lease.
        lease: LeaseName,
        /// What happened.
        problem: String,
    },
}

impl Waiting {
    /// What is missing for this process to be of use. Waiting for somebody else is what it is
    /// there for.
    pub fn missing(&self) -> Option<NotReady> {
        match self {
            Self::Held { .. } => None,
            Self::Forbidden { lease, verb } => Some(NotReady::Forbidden {
                verb: (*verb).to_owned(),
                resource: format!("leases.coordination.k8s.io in namespace {}", lease.namespace),
            }),
            Self::Failing { lease, problem } => Some(NotReady::Other {
                problem: format!("lease {lease} cannot be had ({problem})"),
                remedy: format!(
                    "check that the API server is up and can be reached from here, and that \
                     namespace {} is there",
                    lease.namespace
                ),
            }),
        }
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held { lease, holder, since } => {
                write!(f, "another controller named {holder} holds lease {lease}")?;
                if let Some(since) = since {
                    write!(f, " since {since:.0}")?;
                }
                write!(f, ": Joiner waits and acts on nothing")
            }
            Self::Forbidden { lease, verb } => write!(
                f,
                "Joiner may not {verb} lease {lease}: give its service account the verbs get, \
                 create and update on leases.coordination.k8s.io in namespace {}",
                lease.namespace
            ),
            Self::Failing { lease, problem } => {
                write!(f, "lease {lease} cannot be had: {problem}; it is tried again")
            }
        }
    }
}

/// How often the same is said again.
const REPEATED_EVERY: Duration = Duration::from_mins(1);

/// Says what a process waits for, when that changes and every so often.
pub(super) struct Teller<T> {
    clock: Clock,
    tell: T,
    told: Option<(Waiting, Duration)>,
}

impl<T: FnMut(&Waiting)> Teller<T> {
    pub(super) fn new(clock: Clock, tell: T) -> Self {
        Self { clock, tell, told: None }
    }

    pub(super) fn tell(&mut self, waiting: Waiting) {
        let now = self.clock.running();
        let again = self.told.as_ref().is_none_or(|(told, when)| {
            *told != waiting || now.saturating_sub(*when) >= REPEATED_EVERY
        });
        if again {
            (self.tell)(&waiting);
            self.told = Some((waiting, now));
        }
    }
}
