//! Counts what is asked of a vCenter.

use std::{
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};

use joiner_vim::Observer;

/// How tasks that make instances are called.
const CLONE: &str = "CloneVM_Task";
/// The query for updates: one query serves all waiters.
const NEWS: &str = "WaitForUpdatesEx";

/// What was asked so far.
#[derive(Debug, Default)]
pub(super) struct Counter {
    calls: AtomicU64,
    clones: AtomicUsize,
    clones_max: AtomicUsize,
}

impl Counter {
    /// How many calls were made, without questions for news.
    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// The most clones that were waited for at one time.
    pub(super) fn clones_max(&self) -> usize {
        self.clones_max.load(Ordering::Relaxed)
    }
}

impl Observer for Counter {
    fn request(&self, method: &str, _code: &str, _took: Duration) {
        if method != NEWS {
            self.calls.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn task_begins(&self, kind: &str) {
        if kind == CLONE {
            let now = self.clones.fetch_add(1, Ordering::Relaxed) + 1;
            self.clones_max.fetch_max(now, Ordering::Relaxed);
        }
    }

    fn task_ends(&self, kind: &str, _result: &str, _took: Duration) {
        if kind == CLONE {
            self.clones.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
