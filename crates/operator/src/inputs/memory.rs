//! A short-lived cache of reads.

use std::{collections::BTreeMap, time::Duration};

use joiner_clock::Clock;
use tokio::sync::Mutex;

use crate::trouble::Trouble;

/// How long a read stays valid: one read for a burst of instances, and a quick effect of repairs.
/// The value was chosen and not measured separately.
const FRESH: Duration = Duration::from_mins(1);

/// How long a failed read stays valid, so that concurrent callers do not all wait for the timeout.
/// The value was chosen and not measured separately.
const AWAY: Duration = Duration::from_secs(10);

/// How long an unused entry is kept. The value was chosen and not measured separately.
const KEPT: Duration = Duration::from_hours(1);

/// Why a read failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unread {
    /// Reading is forbidden; a retry does not help.
    Refused(String),
    /// No answer, or an invalid one.
    Away(String),
}

/// The result of a read.
pub(super) type Read<T> = Result<T, Unread>;

impl From<Trouble> for Unread {
    fn from(trouble: Trouble) -> Self {
        match trouble.status() {
            Some(status) if status.code == 403 => Self::Refused(status.message.clone()),
            _ => Self::Away(trouble.told()),
        }
    }
}

impl Unread {
    /// The error's text.
    pub(super) fn why(&self) -> &str {
        match self {
            Self::Refused(why) | Self::Away(why) => why,
        }
    }
}

fn counts_for<V>(value: &Read<V>) -> Duration {
    match value {
        Err(Unread::Away(_)) => AWAY,
        Ok(_) | Err(Unread::Refused(_)) => FRESH,
    }
}

/// Cached reads by key, each with its time.
#[derive(Debug)]
pub(super) struct Memory<K, V>(Mutex<BTreeMap<K, (Duration, Read<V>)>>);

impl<K, V> Default for Memory<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord + Clone, V: Clone> Memory<K, V> {
    /// The cached value, or a new read. Concurrent callers wait for the same read. While reads fail
    /// without an answer, the previous value stays valid.
    pub(super) async fn get(
        &self,
        clock: &Clock,
        key: K,
        read: impl Future<Output = Read<V>>,
    ) -> Read<V> {
        let mut known = self.0.lock().await;
        if let Some((at, value)) = known.get(&key)
            && clock.running().saturating_sub(*at) < counts_for(value)
        {
            return value.clone();
        }
        let value = match (read.await, known.get(&key)) {
            (Err(Unread::Away(_)), Some((_, Ok(before)))) => Ok(before.clone()),
            (now, _) => now,
        };
        let now = clock.running();
        known.insert(key, (now, value.clone()));
        known.retain(|_, (at, _)| now.saturating_sub(*at) < KEPT);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_was_read_counts_for_a_minute_and_longer_while_nobody_answers() {
        let clock = Clock::following_runtime("2026-01-01T00:00:00Z".parse().unwrap());
        let memory: Memory<(), u32> = Memory::default();
        let get = async |read: Read<u32>| memory.get(&clock, (), async { read }).await;
        let away = || Err(Unread::Away("nobody there".to_owned()));
        let refused = || Err(Unread::Refused("not for you".to_owned()));
        assert_eq!(get(away()).await, away());
        assert_eq!(get(Ok(1)).await, away(), "they were asked a moment ago");
        clock.sleep(AWAY).await;
        assert_eq!(get(Ok(1)).await, Ok(1));
        assert_eq!(get(Ok(2)).await, Ok(1), "it was read a moment ago");
        clock.sleep(FRESH).await;
        assert_eq!(get(away()).await, Ok(1), "nothing else is known");
        clock.sleep(FRESH).await;
        assert_eq!(get(refused()).await, refused(), "that is an answer");
    }
}
