//! When to plan: once for a batch of pods, after no new pod has arrived for a moment.

use std::{
    collections::BTreeSet,
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use joiner_clock::Clock;
use tokio::{sync::Notify, time::Instant};

use crate::settings::Batch;

/// The requests for a plan since the last one.
#[derive(Debug, Default)]
pub struct Triggers {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// UIDs that asked in this window. A repeated request does not keep the window open.
    seen: BTreeSet<Box<str>>,
    /// When the window opened, and when the last new UID asked.
    window: Option<(Instant, Instant)>,
}

impl Triggers {
    /// Asks for a plan on behalf of an object: an unschedulable pod, or a node that leaves.
    pub fn ask(&self, uid: &str) {
        let now = Instant::now();
        let state = &mut *self.lock();
        if state.seen.insert(uid.into()) {
            let began = state.window.map_or(now, |(began, _)| began);
            state.window = Some((began, now));
            self.changed.notify_waiters();
        }
    }

    /// Waits for a request, then until no new UID asks for the idle time or the longest time is
    /// over. With `again`, a window also opens at that moment.
    pub async fn window(&self, clock: &Clock, batch: Batch, again: Option<Instant>) {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let window = self.lock().window;
            let wake = match window {
                Some((began, newest)) => {
                    let end = (newest + clock.on_runtime_time(batch.idle))
                        .min(began + clock.on_runtime_time(batch.max));
                    if end <= Instant::now() {
                        break;
                    }
                    Some(end)
                }
                None => again,
            };
            let due = async {
                match wake {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = changed => {}
                () = due => if window.is_none() { self.ask("") },
            }
        }
        *self.lock() = State::default();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How soon pending pods are planned again without a change. The value is Karpenter's.
pub(super) const AGAIN: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH: Batch = Batch { max: Duration::from_secs(10), idle: Duration::from_secs(1) };

    /// The tenths of a second after which a window closes, with a new request at each of these
    /// times.
    async fn closes_after(asks: &[(u64, &str)], again: Option<u64>) -> u128 {
        let clock = Clock::following_runtime("2026-01-01T00:00:00Z".parse().unwrap());
        let triggers = Triggers::default();
        let start = Instant::now();
        let again = again.map(|tenths| start + Duration::from_millis(tenths * 100));
        let asking = async {
            for (tenths, uid) in asks {
                tokio::time::sleep_until(start + Duration::from_millis(tenths * 100)).await;
                triggers.ask(uid);
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = asking => {}
            () = triggers.window(&clock, BATCH, again) => {}
        }
        start.elapsed().as_millis() / 100
    }

    #[tokio::test(start_paused = true)]
    async fn a_window_closes_when_nobody_new_asks_for_the_idle_time() {
        assert_eq!(closes_after(&[(0, "a")], None).await, 10);
        assert_eq!(closes_after(&[(0, "a"), (5, "b"), (12, "c")], None).await, 22);
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_twice_does_not_keep_it_open() {
        assert_eq!(closes_after(&[(0, "a"), (5, "a"), (9, "a")], None).await, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn it_closes_at_the_latest_after_the_longest_time() {
        let names: Vec<String> = (0..30).map(|n| n.to_string()).collect();
        let asks: Vec<(u64, &str)> =
            names.iter().enumerate().map(|(n, name)| (n as u64 * 5, name.as_str())).collect();
        assert_eq!(closes_after(&asks, None).await, 100);
    }

    #[tokio::test(start_paused = true)]
    async fn without_anybody_it_opens_by_itself_when_it_is_time() {
        assert_eq!(closes_after(&[], Some(100)).await, 110);
        assert_eq!(closes_after(&[(20, "a")], Some(100)).await, 30);
    }
}
