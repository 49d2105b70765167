//! The last outcomes of a pool's instances.

use std::collections::VecDeque;

/// How many outcomes are remembered. The value is Karpenter's.
const REMEMBERED: usize = 4;
/// How many failures make a pool unhealthy: half of them. The value is Karpenter's.
const TOO_MANY: usize = 2;

/// The outcome of an instance: with or without a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Its node has joined.
    Joined,
    /// Its node did not join in time.
    Failed(Failure),
}

/// Why a node did not join.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Failure {
    /// The reason, in one word.
    pub reason: String,
    /// The message.
    pub message: String,
}

/// The health of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// There are too few outcomes.
    Unknown,
    /// Instances register.
    Healthy,
    /// Too many instances fail; the last one failed for this reason.
    Unhealthy(Failure),
}

/// The last outcomes of a pool, oldest first, each with the claim's UID.
#[derive(Debug, Clone, Default)]
pub struct Outcomes(VecDeque<(String, Outcome)>);

impl Outcomes {
    /// Adds an outcome. Each claim counts once, because an interrupted process may report an
    /// outcome again.
    pub fn insert(&mut self, claim: &str, outcome: Outcome) {
        if !claim.is_empty() && self.0.iter().any(|known| known.0 == claim && known.1 == outcome) {
            return;
        }
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((claim.to_owned(), outcome));
    }

    /// The health that follows. One failure alone proves nothing, and a pool is healthy only after
    /// an instance has registered.
    pub fn health(&self) -> Health {
        let failures = self.0.iter().filter_map(|(_, outcome)| match outcome {
            Outcome::Joined => None,
            Outcome::Failed(failure) => Some(failure),
        });
        let failures: Vec<&Failure> = failures.collect();
        match failures.last() {
            Some(last) if failures.len() >= TOO_MANY => Health::Unhealthy((*last).clone()),
            _ if failures.len() < self.0.len() => Health::Healthy,
            _ => Health::Unknown,
        }
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `+` joined, `-` failed; each by another claim.
    fn outcomes(text: &str) -> Outcomes {
        let mut outcomes = Outcomes::default();
        for (claim, outcome) in text.chars().enumerate() {
            let outcome =
                if outcome == '+' { Outcome::Joined } else { failed("RegistrationFailed") };
            outcomes.insert(&format!("claim-{claim}"), outcome);
        }
        outcomes
    }

    fn failed(reason: &str) -> Outcome {
        Outcome::Failed(Failure { reason: reason.to_owned(), message: String::new() })
    }

    fn health(text: &str) -> &'static str {
        match outcomes(text).health() {
            Health::Unknown => "unknown",
            Health::Healthy => "healthy",
            Health::Unhealthy(_) => "unhealthy",
        }
    }

    #[test]
    fn nh01_of_a_pool_that_made_nothing_nothing_is_known() {
        assert_eq!(health(""), "unknown");
    }

    #[test]
    fn nh02_one_instance_that_joined_makes_a_pool_healthy() {
        assert_eq!(health("+"), "healthy");
    }

    #[test]
    fn nh03_two_failures_make_it_unhealthy_and_one_does_not() {
        assert_eq!(health("--"), "unhealthy");
        assert_eq!(health("-"), "unknown");
        assert_eq!(health("+-"), "healthy");
    }

    #[test]
    fn nh04_two_failures_weigh_more_than_what_joined_beside_them() {
        assert_eq!(health("--+"), "unhealthy");
        assert_eq!(health("--++"), "unhealthy");
        assert_eq!(health("-+-+"), "unhealthy");
    }

    #[test]
    fn nh05_only_the_last_four_count() {
        assert_eq!(health("--+++"), "healthy");
        assert_eq!(health("----++"), "unhealthy");
        assert_eq!(health("----+++"), "healthy");
    }

    #[test]
    fn nh06_what_a_claim_tells_twice_counts_once() {
        let mut outcomes = outcomes("+");
        outcomes.insert("late", failed("RegistrationFailed"));
        outcomes.insert("late", failed("RegistrationFailed"));
        assert_eq!(outcomes.health(), Health::Healthy);
    }

    #[test]
    fn nh07_the_last_failure_gives_the_reason() {
        let mut outcomes = outcomes("-");
        outcomes.insert("claim-7", failed("LaunchFailed"));
        let failure = Failure { reason: "LaunchFailed".to_owned(), message: String::new() };
        assert_eq!(outcomes.health(), Health::Unhealthy(failure));
    }

    #[test]
    fn nh08_after_a_reset_nothing_is_known() {
        let mut outcomes = outcomes("----");
        outcomes.clear();
        assert_eq!(outcomes.health(), Health::Unknown);
    }
}
