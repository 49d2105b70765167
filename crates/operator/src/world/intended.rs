//! Decisions of this process about instances that no object shows yet.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

/// Decisions of this process about instances that no object shows yet.
#[derive(Debug, Default)]
pub struct Intended {
    leaving: BTreeSet<String>,
    nominated: BTreeMap<String, Timestamp>,
}

impl Intended {
    /// Names of claims that commands remove, once their replacements exist. Their pods need other
    /// places, and the replacements already provide those.
    pub fn leaving(&self) -> &BTreeSet<String> {
        &self.leaving
    }

    /// Marks a claim as about to be deleted.
    pub fn leave(&mut self, claim: &str) {
        self.leaving.insert(claim.to_owned());
    }

    /// Removes the mark: the claim stays, or its own object shows that it leaves.
    pub fn forget(&mut self, claim: &str) {
        self.leaving.remove(claim);
    }

    /// Nominates an instance: pods are expected on it until this time. The key is the node's name,
    /// or the claim's name while there is no node.
    pub fn nominate(&mut self, instance: &str, until: Timestamp) {
        let known = self.nominated.entry(instance.to_owned()).or_insert(until);
        *known = until.max(*known);
    }

    /// The instances that are nominated at `now`, each with the end of its nomination.
    pub fn nominated(&self, now: Timestamp) -> BTreeMap<String, Timestamp> {
        let expected = self.nominated.iter().filter(|(_, until)| **until > now);
        expected.map(|(instance, until)| (instance.clone(), *until)).collect()
    }

    /// Removes nominations that have ended.
    pub fn tidy(&mut self, now: Timestamp) {
        self.nominated.retain(|_, until| *until > now);
    }
}
