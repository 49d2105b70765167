//! Lines that would drown all others.

use std::{collections::HashMap, time::Duration};

use tracing::callsite::Identifier;

/// How many lines of one kind are written in a second, before only some are.
const FIRST: u32 = 100;
/// Of those that follow in the same second, one in so many is written.
const THEREAFTER: u32 = 100;

/// How often each kind of line was written lately. A program has only so many kinds.
#[derive(Debug, Default)]
pub(super) struct Sampler(HashMap<Identifier, Tally>);

#[derive(Debug, Default)]
struct Tally {
    second: u64,
    lines: u32,
}

impl Sampler {
    /// Whether a line is written at `now`, by the running time of a clock.
    pub(super) fn writes(&mut self, kind: Identifier, now: Duration) -> bool {
        let tally = self.0.entry(kind).or_default();
        if tally.second != now.as_secs() {
            *tally = Tally { second: now.as_secs(), lines: 0 };
        }
        tally.lines += 1;
        tally.lines <= FIRST || (tally.lines - FIRST).is_multiple_of(THEREAFTER)
    }
}
