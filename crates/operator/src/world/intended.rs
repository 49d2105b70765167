//! What this process has decided about instances and no object tells yet.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

/// What this process has decided about instances and no object tells yet.
#[derive(Debug, Default)]
pub struct Intended {
    leaving: BTreeSet<String>,
    nominated: BTreeMap<String, Timestamp>,
}

impl Intended {
    /// Names of claims that commands remove and whose replacements are there: their pods need
    /// places elsewhere, which a plan must not make twice.
    pub fn leaving(&self) -> &BTreeSet<String> {
        &self.leaving
    }

    /// A claim is about to be deleted.
    pub fn leave(&mut self, claim: &str) {
        self.leaving.insert(claim.to_owned());
    }

    /// A claim stays after all, or its own object tells by now that it leaves.
    pub fn forget(&mut self, claim: &str) {
        self.leaving.remove(claim);
    }

    /// Pods are expected on an instance until then. It goes by the name of its node, or by its claim's
    /// while there is none.
    pub fn nominate(&mut self, instance: &str, until: Timestamp) {
        let known = self.nominated.entry(instance.to_owned()).or_insert(until);
        *known = until.max(*known);
    }

    /// Instances on which pods are expected at a moment, and until when.
    pub fn nominated(&self, now: Timestamp) -> BTreeMap<String, Timestamp> {
        let expected = self.nominated.iter().filter(|(_, until)| **until > now);
        expected.map(|(instance, until)| (instance.clone(), *until)).collect()
    }

    /// Forgets what is over.
    pub fn tidy(&mut self, now: Timestamp) {
        self.nominated.retain(|_, until| *until > now);
    }
}
