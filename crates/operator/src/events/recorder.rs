//! Accepts events from any task without blocking it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use joiner_clock::Clock;
use tokio::sync::Notify;

use super::{Event, Writer, dedupe::Dedupe};

/// How many events may wait to be written. A plan for a large backlog records a few hundred. While
/// the API server is unreachable more collect, and the oldest are dropped. Later passes repeat
/// dropped events. The value was chosen and not measured separately.
const WAITING_MAX: usize = 1000;

/// The recorder; clones share the same queue.
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
    /// A recorder and its writer, which must run for events to be written.
    pub fn new(clock: Clock, client: kube::Client) -> (Self, Writer) {
        let shared = Shared { clock, state: Mutex::new(State::default()), more: Notify::new() };
        let recorder = Self(Arc::new(shared));
        (recorder.clone(), Writer::new(recorder, client))
    }

    /// Records an event, unless an equal one was recorded recently.
    pub fn tell(&self, event: Event) {
        let now = self.0.clock.running();
        let mut state = self.0.state();
        if state.closed || !state.dedupe.tells(&event, now) {
            return;
        }
        if state.waiting.len() == WAITING_MAX
            && let Some(lost) = state.waiting.pop_front()
        {
            // The dropped event was never written, so a repetition must not be suppressed.
            state.dedupe.forget(&lost);
            state.dropped += 1;
        }
        state.waiting.push_back(event);
        drop(state);
        self.0.more.notify_one();
    }

    /// The number of events that were dropped because too many waited.
    pub fn dropped(&self) -> u64 {
        self.0.state().dropped
    }

    /// Stops accepting events; the writer ends after the remaining ones.
    pub fn close(&self) {
        self.0.state().closed = true;
        self.0.more.notify_one();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next event to write; none after the recorder is closed and empty.
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
