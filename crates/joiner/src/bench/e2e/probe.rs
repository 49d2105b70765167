//! Asks a controller all the time whether it is well, as a kubelet would now and then.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use joiner_realparts::http::{Request, Server};
use serde::Serialize;
use tokio::runtime::Builder;

use crate::errors::Failure;

/// The time between an answer and the next question.
const PAUSE: Duration = Duration::from_millis(50);

/// How the questions were answered since the controller first said that it is ready.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answers {
    /// Whether it ever said that it is ready.
    pub(super) ready: bool,
    /// How many questions there were.
    pub(super) asked: usize,
    /// How many were answered with anything but "well", or not at all.
    pub(super) failed: usize,
    /// How long the slowest answer took.
    pub(super) slowest_seconds: f64,
}

impl Answers {
    fn note(&mut self, well: bool, took: Duration) {
        if self.ready {
            self.asked += 1;
            self.failed += usize::from(!well);
            self.slowest_seconds = self.slowest_seconds.max(took.as_secs_f64());
        }
    }
}

/// Asks from a thread of its own, so that nothing else that the benchmark does shows in the times.
#[derive(Debug)]
pub(super) struct Prober {
    answers: Arc<Mutex<Answers>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Prober {
    /// Asks `/healthz` and `/readyz` on a port of this computer, in turn.
    pub(super) fn start(port: u16) -> Result<Self, Failure> {
        let cannot =
            |error| Failure::bad_input(format!("cannot ask a controller's probes: {error}"));
        let runtime = Builder::new_current_thread().enable_all().build().map_err(cannot)?;
        let (answers, stop) = (Arc::<Mutex<Answers>>::default(), Arc::<AtomicBool>::default());
        let (noted, stopped) = (Arc::clone(&answers), Arc::clone(&stop));
        let ask = async move {
            let server = Server::new(&format!("http://127.0.0.1:{port}"), "none");
            while !stopped.load(Ordering::Relaxed) {
                for path in ["/healthz", "/readyz"] {
                    let asked = Instant::now();
                    let question =
                        Request { method: "GET".into(), path: path.into(), ..Request::default() };
                    let well =
                        server.send(&question).await.is_ok_and(|answer| answer.status == 200);
                    let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
                    noted.note(well, asked.elapsed());
                    noted.ready |= well && path == "/readyz";
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        let thread = thread::Builder::new().name("probes".to_owned());
        let thread = thread.spawn(move || runtime.block_on(ask)).map_err(cannot)?;
        Ok(Self { answers, stop, thread: Some(thread) })
    }

    /// How the questions have been answered so far.
    pub(super) fn answers(&self) -> Answers {
        *self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It asks and notes, and has nothing to say at its end.
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_count_from_the_first_time_that_a_controller_is_ready() {
        let mut answers = Answers::default();
        answers.note(false, Duration::from_secs(9));
        assert_eq!(answers, Answers::default());
        answers.ready = true;
        answers.note(true, Duration::from_millis(250));
        answers.note(false, Duration::from_millis(125));
        let expected = Answers { ready: true, asked: 2, failed: 1, slowest_seconds: 0.25 };
        assert_eq!(answers, expected);
    }
}
