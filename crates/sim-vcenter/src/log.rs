//! What was asked, for tests that count and for pictures.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

/// How many calls are remembered one by one; all of them are counted.
const REMEMBERED_MAX: usize = 100_000;

/// A call that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// When, counted as the clock counts.
    pub at: Duration,
    /// The method; for REST the verb and the path.
    pub method: String,
    /// The object it was made on, as `VirtualMachine:vm-42`.
    pub object: String,
    /// The session that made it; empty if there was none.
    pub session: String,
    /// What came of it: `ok`, the name of a fault, an HTTP status, or that no answer was given.
    pub outcome: String,
}

/// All calls.
#[derive(Debug, Default)]
pub(crate) struct Log {
    calls: VecDeque<Call>,
    counts: BTreeMap<String, u64>,
}

impl Log {
    pub(crate) fn push(&mut self, call: Call) {
        *self.counts.entry(call.method.clone()).or_default() += 1;
        if self.calls.len() == REMEMBERED_MAX {
            self.calls.pop_front();
        }
        self.calls.push_back(call);
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.iter().cloned().collect()
    }

    pub(crate) fn count(&self, method: &str) -> u64 {
        self.counts.get(method).copied().unwrap_or(0)
    }
}
