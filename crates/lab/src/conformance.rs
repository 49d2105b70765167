//! The laboratory as the bench of a provider whose calls go through a client's connection.

use std::time::Duration;

use jiff::SignedDuration;
use joiner_cloud::conformance::Mishap;

use crate::faults::{Aim, Fault, Faults, Rule};

/// Longer than every deadline of a call.
const FOR_EVER: Duration = Duration::from_hours(24 * 365);

impl From<Mishap> for Fault {
    fn from(mishap: Mishap) -> Self {
        match mishap {
            Mishap::KilledBefore => Self::Kill { after: false },
            Mishap::KilledAfter => Self::Kill { after: true },
            Mishap::NoAnswer => Self::Slow(FOR_EVER),
            Mishap::AnswerLost => Self::CutAfter,
            Mishap::Failed => Self::Internal,
        }
    }
}

impl Faults {
    /// Lets one call of a client go wrong, once so many have got through.
    pub fn arm(&self, client: &str, mishap: Mishap, after: u32) {
        self.add(Rule {
            fault: mishap.into(),
            aim: Aim { client: client.to_owned(), ..Aim::default() },
            from: SignedDuration::ZERO,
            skip: after,
            times: Some(1),
        });
    }

    /// Lets every call get through from now on. Says whether one had gone wrong.
    pub fn disarm(&self) -> bool {
        let struck = self.struck() > 0;
        self.forget_rules();
        struck
    }
}
