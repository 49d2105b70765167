//! What a process waits for, and how often that is reported.

use std::{fmt, time::Duration};

use jiff::Timestamp;
use joiner_clock::Clock;

use super::LeaseName;
use crate::probes::NotReady;

/// Why a process does not act yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiting {
    /// Another process acts.
    Held {
        /// The lease.
        lease: LeaseName,
        /// Its holder.
        holder: String,
        /// When the holder took it, by the holder's clock, if written.
        since: Option<Timestamp>,
    },
    /// RBAC forbids the access to the lease.
    Forbidden {
        /// The lease.
        lease: LeaseName,
        /// The forbidden verb.
        verb: &'static str,
    },
    /// The lease cannot be read or written.
    Failing {
        /// The lease.
        lease: LeaseName,
        /// The error.
        problem: String,
    },
}

impl Waiting {
    /// Why the process is not ready. A standby that waits for another holder is ready.
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

/// How often an unchanged obstacle is reported. The value was chosen and not measured separately.
const REPEATED_EVERY: Duration = Duration::from_mins(1);

/// Reports the obstacle when it changes, and at regular intervals.
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
