//! The controller's process: started, looked at every second, and held to its memory.

use std::{
    fmt,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use joiner_realparts::control_plane::{Process, StartError};

use super::usage::Sample;
use crate::errors::Failure;

/// How often the process is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often a process that ended is started again, as a kubelet would. One that does not get
/// through after that never will.
const RESTARTS_MAX: usize = 3;

/// A program that makes nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    Joiner,
    Karpenter,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Joiner => "joiner",
            Self::Karpenter => "karpenter",
        })
    }
}

/// How a controller is started.
#[derive(Debug)]
pub(super) struct Launch<'a> {
    pub(super) program: Program,
    pub(super) path: PathBuf,
    /// Where its log goes.
    pub(super) folder: &'a Path,
    pub(super) kubeconfig: &'a Path,
    pub(super) metrics_port: u16,
    pub(super) probe_port: u16,
    /// The most memory that it may have, in bytes.
    pub(super) memory_limit: Option<u64>,
    /// Whether it has to hold its lease before it does anything, as in a cluster.
    pub(super) leader_election: bool,
}

impl Launch<'_> {
    /// The command, with nothing of this process's environment: both programs are to find the same.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        if self.program == Program::Joiner {
            command.arg("run");
        }
        command
            .env_clear()
            .env("HOME", self.folder)
            .env("KUBECONFIG", self.kubeconfig)
            .env("METRICS_PORT", self.metrics_port.to_string())
            .env("HEALTH_PROBE_PORT", self.probe_port.to_string())
            .env("LEADER_ELECTION_NAMESPACE", "kube-system")
            .env("DISABLE_LEADER_ELECTION", (!self.leader_election).to_string())
            .env("SYSTEM_NAMESPACE", "kube-system")
            .envs(self.memory_limit.map(|limit| ("MEMORY_LIMIT", limit.to_string())));
        command
    }
}

/// What has been seen of a process.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    /// Moments, in the order of time.
    pub(super) samples: Vec<Sample>,
    /// Why it had to be started again, each time.
    pub(super) restarts: Vec<String>,
    /// Why it will not be started again.
    pub(super) ended: Option<String>,
}

/// A controller's process. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Controller {
    seen: Arc<Mutex<Seen>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Controller {
    pub(super) fn start(launch: &Launch<'_>) -> Result<Self, Failure> {
        let cannot = |problem: String| Failure::bad_input(format!("{}: {problem}", launch.program));
        let (seen, stop) = (Arc::<Mutex<Seen>>::default(), Arc::<AtomicBool>::default());
        let (mut command, folder) = (launch.command(), launch.folder.to_owned());
        let process = Process::start(&mut command, &folder);
        let mut keeper = Keeper {
            start: Box::new(move || Process::start(&mut command, &folder)),
            process: process.map_err(|error| cannot(error.to_string()))?,
            memory_limit: launch.memory_limit,
            cpu_seconds_before: 0.0,
            seen: Arc::clone(&seen),
        };
        let stopped = Arc::clone(&stop);
        let watch = move || {
            while !stopped.load(Ordering::Relaxed) && keeper.look() {
                thread::park_timeout(LOOK_EVERY);
            }
        };
        let thread = thread::Builder::new().name("controller".to_owned()).spawn(watch);
        let thread = thread.map_err(|error| cannot(error.to_string()))?;
        Ok(Self { seen, stop, thread: Some(thread) })
    }

    /// What has been seen so far.
    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The process ends with the thread that owns it.
            drop(thread.join());
        }
    }
}

/// Looks after a process.
struct Keeper {
    start: Box<dyn FnMut() -> Result<Process, StartError> + Send>,
    process: Process,
    memory_limit: Option<u64>,
    /// What processes before this one computed.
    cpu_seconds_before: f64,
    seen: Arc<Mutex<Seen>>,
}

impl Keeper {
    /// Looks at the process once. Says whether there is one to look at again.
    fn look(&mut self) -> bool {
        let sample = Sample::take(self.process.id());
        let problem = match self.process.still_runs() {
            Err(ended) => Some(ended.to_string()),
            Ok(()) => sample.and_then(|sample| over(sample, self.memory_limit)),
        };
        let seen = Arc::clone(&self.seen);
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sample) = sample {
            let cpu_seconds = self.cpu_seconds_before + sample.cpu_seconds;
            seen.samples.push(Sample { cpu_seconds, ..sample });
        }
        let Some(problem) = problem else { return true };
        if seen.restarts.len() == RESTARTS_MAX {
            seen.ended = Some(problem);
            return false;
        }
        seen.restarts.push(problem);
        self.cpu_seconds_before = seen.samples.last().map_or(0.0, |last| last.cpu_seconds);
        match (self.start)() {
            // The one before is killed when it is replaced.
            Ok(process) => self.process = process,
            Err(error) => seen.ended = Some(error.to_string()),
        }
        seen.ended.is_none()
    }
}

/// Why a process must be killed, if so.
///
/// Under the limit of a container the kernel takes away pages of files first, so only what it could
/// not take counts here: a process that is killed would surely have been. One whose peak stayed below
/// the limit, files and all, would surely have not; the report tells those in between.
fn over(sample: Sample, limit: Option<u64>) -> Option<String> {
    let limit = limit.filter(|limit| sample.anonymous > *limit)?;
    let (had, limit) = (sample.anonymous >> 20, limit >> 20);
    Some(format!("it had {had} MiB of memory where {limit} MiB are allowed, and was killed"))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn memory_that_nobody_could_take_away_is_what_counts() {
        let sample = |anonymous: u64| Sample {
            at: Instant::now(),
            resident: 300 << 20,
            anonymous,
            peak: 300 << 20,
            cpu_seconds: 0.0,
        };
        assert_eq!(over(sample(300 << 20), None), None);
        assert_eq!(over(sample(256 << 20), Some(256 << 20)), None);
        assert_eq!(
            over(sample(257 << 20), Some(256 << 20)).as_deref(),
            Some("it had 257 MiB of memory where 256 MiB are allowed, and was killed")
        );
    }

    /// Looks at a program until it is given up.
    fn keep(script: &'static str, memory_limit: Option<u64>) -> Seen {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().to_owned();
        let start = move || Process::start(Command::new("sh").args(["-c", script]), &path);
        let seen = Arc::<Mutex<Seen>>::default();
        let mut keeper = Keeper {
            process: start().expect("it starts"),
            start: Box::new(start),
            memory_limit,
            cpu_seconds_before: 0.0,
            seen: Arc::clone(&seen),
        };
        while keeper.look() {
            thread::yield_now();
        }
        let seen = seen.lock().unwrap();
        seen.clone()
    }

    #[test]
    fn a_program_that_ends_is_started_again_three_times() {
        let seen = keep("echo leadership lost >&2; exit 2", None);
        assert_eq!(seen.restarts.len(), RESTARTS_MAX);
        assert_eq!(
            seen.restarts[0],
            "sh ended (exit status: 2)\nthe end of its log:\nleadership lost"
        );
        assert!(seen.ended.is_some_and(|why| why.contains("exit status: 2")));
    }

    #[test]
    fn a_program_that_needs_too_much_memory_is_killed_and_started_again() {
        let seen = keep("read forever < /dev/zero", Some(1));
        let reasons: Vec<&String> = seen.restarts.iter().chain(&seen.ended).collect();
        assert_eq!(reasons.len(), 1 + RESTARTS_MAX);
        assert!(reasons.iter().all(|why| why.contains("and was killed")), "{reasons:?}");
        assert!(seen.samples.is_sorted_by_key(|sample| sample.at));
    }
}
