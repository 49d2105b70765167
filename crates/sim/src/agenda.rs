//! What will happen in a simulated cloud, and when.

use std::{collections::BTreeMap, time::Duration};

use jiff::{SignedDuration, Timestamp};
use joiner_clock::Clock;

/// By how much a clock has to be off before it was set.
const CLOCK_SET: SignedDuration = SignedDuration::from_secs(1);

/// Things that will happen, and the time by which the rest has happened.
#[derive(Debug)]
pub struct Agenda<D> {
    /// How long the clock has been going.
    now: Duration,
    /// What the clock says at zero.
    epoch: Timestamp,
    entries: BTreeMap<(Duration, u64), D>,
    /// Makes things that are due at the same time happen in the order in which they were planned.
    planned: u64,
}

impl<D> Agenda<D> {
    /// An empty agenda by a clock.
    pub fn new(clock: &Clock) -> Self {
        let mut agenda =
            Self { now: Duration::ZERO, epoch: clock.now(), entries: BTreeMap::new(), planned: 0 };
        agenda.now = agenda.read(clock);
        agenda
    }

    /// How long the clock has been going, as far as things have happened.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Plans something.
    pub fn plan(&mut self, after: Duration, what: D) {
        self.planned += 1;
        self.entries.insert((self.now.saturating_add(after), self.planned), what);
    }

    /// How long until something happens; none if nothing will.
    pub fn next_due(&self) -> Option<Duration> {
        self.entries.keys().next().map(|(at, _)| at.saturating_sub(self.now))
    }

    /// Reads a clock: how far things may happen now. Takes note if the clock was set.
    pub fn read(&mut self, clock: &Clock) -> Duration {
        let until = clock.running().max(self.now);
        let passed = SignedDuration::try_from(until).unwrap_or(SignedDuration::MAX);
        let epoch = clock.now().saturating_sub(passed).unwrap_or(Timestamp::MIN);
        // The time of day and the time that passes are read one after the other: a small difference
        // is no reason to tell another time of what has happened.
        if epoch.duration_since(self.epoch).abs() > CLOCK_SET {
            self.epoch = epoch;
        }
        until
    }

    /// Takes the next thing that is due by a time, which becomes now. When nothing is left, that
    /// time is now.
    pub fn take_due(&mut self, until: Duration) -> Option<D> {
        match self.entries.first_entry() {
            Some(first) if first.key().0 <= until => {
                self.now = first.key().0;
                Some(first.remove())
            }
            _ => {
                self.now = until.max(self.now);
                None
            }
        }
    }

    /// What the clock said at a time.
    pub fn moment(&self, at: Duration) -> Timestamp {
        let passed = SignedDuration::try_from(at).unwrap_or(SignedDuration::MAX);
        self.epoch.saturating_add(passed).unwrap_or(Timestamp::MAX)
    }
}
