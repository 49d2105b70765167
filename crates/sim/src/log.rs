//! Which calls a simulated cloud was asked, for tests that count and for pictures.

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
    /// The method or the command; for REST the verb, the path and the query.
    pub method: String,
    /// The object it was made on, as `VirtualMachine:vm-42`; empty if there was none.
    pub object: String,
    /// Who made it: a session or an account; empty if that is unknown.
    pub caller: String,
    /// The result: `ok`, the name of a fault, a code, or that no answer was given.
    pub outcome: String,
}

/// All calls.
#[derive(Debug, Default)]
pub struct Log {
    calls: VecDeque<Call>,
    counts: BTreeMap<String, u64>,
}

impl Log {
    /// Takes note of a call.
    pub fn push(&mut self, call: Call) {
        *self.counts.entry(call.method.clone()).or_default() += 1;
        if self.calls.len() == REMEMBERED_MAX {
            self.calls.pop_front();
        }
        self.calls.push_back(call);
    }

    /// The calls that are remembered, oldest first.
    pub fn calls(&self) -> Vec<Call> {
        self.calls.iter().cloned().collect()
    }

    /// How many times a method was called.
    pub fn count(&self, method: &str) -> u64 {
        self.counts.get(method).copied().unwrap_or(0)
    }
}
