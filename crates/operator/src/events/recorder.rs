//! Takes events from anywhere, without making anybody wait.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use joiner_clock::Clock;
use tokio::sync::Notify;

use super::{Event, Writer, dedupe::Dedupe};

/// How many events may wait to be written. A plan for a large backlog tells a few hundred; more
/// pile up while the API server cannot be reached, and then the newest matter most. What a look at a
/// very large cluster tells beyond that is told by the next looks.
const WAITING_MAX: usize = 1000;

/// Takes events to be written; clones are the same recorder.
#[derive(Debug, Clone)]
pub struct Recorder(pub(super) Arc<Shared>);

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) clock: Clock,
    state: Mutex<State>,
    more: Notify,
}

#[derive(Debug, Default)]
struct State {
    dedupe: Dedupe,
    waiting: VecDeque<Event>,
    dropped: u64,
    closed: bool,
}

impl Recorder {
    /// A recorder, and the writer that has to be run for its events to be written.
    pub fn new(clock: Clock, client: kube::Client) -> (Self, Writer) {
        let shared = Shared { clock, state: Mutex::new(State::default()), more: Notify::new() };
        let recorder = Self(Arc::new(shared));
        (recorder.clone(), Writer::new(recorder, client))
    }

    /// Tells something, unless the same was told a moment ago.
    pub fn tell(&self, event: Event) {
        let now = self.0.clock.running();
        let mut state = self.0.state();
        if state.closed || !state.dedupe.tells(&event, now) {
            return;
        }
        if state.waiting.len() == WAITING_MAX
            && let Some(lost) = state.waiting.pop_front()
        {
            // Nobody has read it: whoever tells it again is listened to.
            state.dedupe.forget(&lost);
            state.dropped += 1;
        }
        state.waiting.push_back(event);
        drop(state);
        self.0.more.notify_one();
    }

    /// How many events were never written because too many waited.
    pub fn dropped(&self) -> u64 {
        self.0.state().dropped
    }

    /// No more events are taken; the writer ends when it has written what is there.
    pub fn close(&self) {
        self.0.state().closed = true;
        self.0.more.notify_one();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next event to write; none when there will be no more.
    pub(super) async fn next(&self) -> Option<Event> {
        loop {
            {
                let mut state = self.state();
                if let Some(event) = state.waiting.pop_front() {
                    return Some(event);
                }
                if state.closed {
                    return None;
                }
            }
            self.more.notified().await;
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().closed
    }
}
