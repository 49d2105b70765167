//! Moments as Kubernetes writes them, and what is due when.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// A moment with the precision of most of Kubernetes' fields: `2026-01-01T12:00:00Z`.
pub(crate) fn seconds(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}

/// A moment with the precision of leases: `2026-01-01T12:00:00.000000Z`.
pub(crate) fn micros(at: Timestamp) -> String {
    let seconds = seconds(at);
    format!("{}.{:06}Z", seconds.trim_end_matches('Z'), at.subsec_microsecond())
}

/// A moment as an object has it.
pub(crate) fn moment(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// The moment this much later; the end of time when it is beyond it.
pub(crate) fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// What is due when. What is due at the same moment comes in the order in which it was added.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    queue: BTreeMap<(Timestamp, u64), T>,
    added: u64,
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self { queue: BTreeMap::new(), added: 0 }
    }
}

impl<T> Timers<T> {
    /// Adds something that is due at a moment.
    pub(crate) fn add(&mut self, at: Timestamp, what: T) {
        self.added += 1;
        self.queue.insert((at, self.added), what);
    }

    /// Takes out the next thing that is due.
    pub(crate) fn pop_due(&mut self, now: Timestamp) -> Option<T> {
        let first = self.queue.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// When the next thing is due.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.queue.first_key_value().map(|((at, _), _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn moments_are_written_with_the_precision_of_their_field() {
        let moment = at("2026-01-01T12:00:00.0123456Z");
        assert_eq!(seconds(moment), "2026-01-01T12:00:00Z");
        assert_eq!(micros(moment), "2026-01-01T12:00:00.012345Z");
        assert_eq!(micros(at("2026-01-01T12:00:00Z")), "2026-01-01T12:00:00.000000Z");
    }

    #[test]
    fn what_is_due_comes_by_moment_then_by_turn() {
        let mut timers = Timers::default();
        timers.add(at("2026-01-01T12:00:02Z"), "late");
        timers.add(at("2026-01-01T12:00:01Z"), "first");
        timers.add(at("2026-01-01T12:00:01Z"), "second");
        let now = at("2026-01-01T12:00:01Z");
        assert_eq!(timers.next(), Some(now));
        let due: Vec<_> = std::iter::from_fn(|| timers.pop_due(now)).collect();
        assert_eq!(due, ["first", "second"]);
        assert_eq!(timers.next(), Some(at("2026-01-01T12:00:02Z")));
    }
}
