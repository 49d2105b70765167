//! Which events are told: not the same twice in a short time, and not too many of some.

use std::{borrow::Cow, collections::HashMap, time::Duration};

use super::Event;

/// How often what is over is forgotten.
const TIDY_EVERY: Duration = Duration::from_secs(10);
/// How many limited events a second, on average.
const LIMITED_PER_SECOND: f64 = 5.0;
/// How many limited events at once.
const LIMITED_BURST: f64 = 10.0;

/// What makes two events the same: the reason, and what counts for it.
type Key = (Cow<'static, str>, String);

fn key(event: &Event) -> Key {
    (event.reason.clone(), event.key.clone())
}

/// What was told lately. Time is an input: the running time of any clock.
#[derive(Debug)]
pub struct Dedupe {
    quiet_until: HashMap<Key, Duration>,
    tidied: Duration,
    limiter: Bucket,
}

impl Default for Dedupe {
    fn default() -> Self {
        Self {
            quiet_until: HashMap::new(),
            tidied: Duration::ZERO,
            limiter: Bucket { tokens: LIMITED_BURST, filled: Duration::ZERO },
        }
    }
}

impl Dedupe {
    /// Whether an event is told at `now`, and takes note if it is.
    ///
    /// As in Karpenter, one that only the limit silences is quiet from then on too.
    pub fn tells(&mut self, event: &Event, now: Duration) -> bool {
        if now >= self.tidied + TIDY_EVERY {
            self.quiet_until.retain(|_, until| *until > now);
            self.tidied = now;
        }
        let key = key(event);
        if self.quiet_until.get(&key).is_some_and(|until| *until > now) {
            return false;
        }
        self.quiet_until.insert(key, now + event.quiet);
        !event.limited || self.limiter.take(now)
    }

    /// An event was not told after all.
    pub fn forget(&mut self, event: &Event) {
        self.quiet_until.remove(&key(event));
    }

    /// How many events it remembers.
    pub fn remembered(&self) -> usize {
        self.quiet_until.len()
    }
}

/// Tokens that fill up at a steady rate.
#[derive(Debug)]
struct Bucket {
    tokens: f64,
    filled: Duration,
}

impl Bucket {
    fn take(&mut self, now: Duration) -> bool {
        let passed = now.saturating_sub(self.filled).as_secs_f64();
        self.tokens = LIMITED_PER_SECOND.mul_add(passed, self.tokens).min(LIMITED_BURST);
        self.filled = now;
        let takes = self.tokens >= 1.0;
        if takes {
            self.tokens -= 1.0;
        }
        takes
    }
}
