//! Which events are written: duplicates within a short time are suppressed, and some events are
//! rate limited.

use std::{borrow::Cow, collections::HashMap, time::Duration};

use super::Event;

/// How often expired entries are removed. The value was chosen and not measured separately.
const TIDY_EVERY: Duration = Duration::from_secs(10);
/// The average rate of limited events per second. The value is Karpenter's.
const LIMITED_PER_SECOND: f64 = 5.0;
/// The burst of limited events. The value is Karpenter's.
const LIMITED_BURST: f64 = 10.0;

/// The identity of an event: its reason and its key.
type Key = (Cow<'static, str>, String);

fn key(event: &Event) -> Key {
    (event.reason.clone(), event.key.clone())
}

/// The recent events. Time is an input: the running time of any clock.
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
    /// Whether an event is written at `now`; records it if so.
    ///
    /// As in Karpenter, an event that only the rate limit suppresses counts as written.
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

    /// Forgets an event that was not written after all.
    pub fn forget(&mut self, event: &Event) {
        self.quiet_until.remove(&key(event));
    }

    /// The number of remembered events.
    pub fn remembered(&self) -> usize {
        self.quiet_until.len()
    }
}

/// A token bucket with a steady rate.
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
