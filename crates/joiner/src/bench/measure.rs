//! Planning one workload several times, in a process of its own so that its memory can be seen.

use std::{fs, path::Path, process::Command, time::Instant};

use joiner_core::{plan::Plan, settings::PreferencePolicy};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::folder::Folder;
use crate::{
    cli::InputArgs,
    connection::ClusterArgs,
    errors::{Exit, Failure},
    input::Input,
    output,
    settings::Settings,
};

/// What planning one workload took and gave.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Measurement {
    /// Pods to place.
    pub(super) pods: usize,
    /// Pods without a place.
    pub(super) unplaced: usize,
    /// Claims to make.
    pub(super) claims: usize,
    /// What they cost in an hour.
    pub(super) price: f64,
    /// What no plan could cost less than.
    pub(super) lower_bound: f64,
    /// How long each run took.
    pub(super) seconds: Vec<f64>,
    /// The most memory that the process had, reading the files included.
    pub(super) peak_bytes: u64,
    /// How long the first pass took from the objects on: putting them in the planner's words, and planning.
    pub(super) pass_seconds: f64,
    /// How much memory that took, besides the objects.
    pub(super) pass_bytes: u64,
    /// What is wrong with the plan.
    pub(super) findings: Vec<String>,
    /// Why pods have no place, a few examples.
    pub(super) examples: Vec<String>,
}

/// How many unplaced pods are told about.
const EXAMPLES: usize = 5;

/// Has a child process measure.
pub(super) fn in_child(
    folder: &Folder,
    runs: usize,
    preferences: PreferencePolicy,
) -> Result<Measurement, Failure> {
    run_child(|command| {
        command
            .arg("--measure")
            .arg(folder.path())
            .args(["--runs", &runs.to_string()])
            .args((preferences == PreferencePolicy::Ignore).then_some("--ignore-preferences"))
    })
}

/// Runs `joiner bench` with some arguments in a process of its own, and reads what it measured.
pub(super) fn run_child<T: DeserializeOwned>(
    arguments: impl FnOnce(&mut Command) -> &mut Command,
) -> Result<T, Failure> {
    let failed = |problem: String| Failure::bad_input(format!("the measuring process {problem}"));
    let program = std::env::current_exe()
        .map_err(|error| Failure::bad_input(format!("cannot find this program: {error}")))?;
    let output = arguments(Command::new(program).arg("bench"))
        .output()
        .map_err(|error| failed(format!("did not start: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("ended with {}: {}", output.status, said.trim())));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| failed(format!("gave no measurement: {error}")))
}

/// Measures in this process, and prints the measurement as JSON.
pub(super) fn run(
    path: &Path,
    runs: usize,
    preferences: PreferencePolicy,
) -> Result<Exit, Failure> {
    let folder = Folder::open(path);
    let input = InputArgs {
        with: Vec::new(),
        at: None,
        files: vec![folder.snapshot()],
        cluster: ClusterArgs::default(),
        instance_types: Some(folder.instance_types()),
    };
    let settings = Settings::for_bench(preferences);
    let objects = Input::read(&input, &settings)?;
    // What is watched from here on starts again from what there is now.
    let before_peak = peak_memory();
    let (growth, started) = (Growth::watch(), Instant::now());
    let mut pass = None;
    let snapshot = objects.snapshot(&input, &settings)?;
    let mut seconds = Vec::new();
    let mut first: Option<Plan> = None;
    let mut findings = Vec::new();
    for _ in 0..runs.max(1) {
        let start = Instant::now();
        let plan = joiner_plan::provision(&snapshot, &settings.plan).plan;
        seconds.push(start.elapsed().as_secs_f64());
        pass.get_or_insert_with(|| (started.elapsed().as_secs_f64(), growth.most()));
        if first.as_ref().is_some_and(|first| *first != plan) {
            findings.push("the same input gave two different plans".to_owned());
        }
        first.get_or_insert(plan);
    }
    let plan = first.expect("there was at least one run");
    let (pass_seconds, pass_bytes) = pass.unwrap_or_default();
    let peak_bytes = peak_memory().max(before_peak);
    let unplaced = || plan.unschedulable.iter().chain(&plan.deferred);
    findings.extend(
        joiner_check::check(&snapshot, &settings.plan, &plan).iter().map(ToString::to_string),
    );
    output::json(&Measurement {
        pods: snapshot.pods.len(),
        unplaced: unplaced().count(),
        claims: plan.claims.len(),
        price: plan.price(),
        lower_bound: joiner_check::lower_bound(&snapshot, &plan),
        seconds,
        peak_bytes,
        pass_seconds,
        pass_bytes,
        findings,
        examples: unplaced()
            .take(EXAMPLES)
            .map(|one| format!("{}: {}", one.pod, one.message))
            .collect(),
    })
    .map(|()| Exit::Success)
}

/// The most memory this process has had, in bytes; 0 where the system does not tell.
pub(super) fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    memory_line(&status, "VmHWM:").unwrap_or_default()
}

/// How much memory this process comes to need on top of what it has.
#[derive(Debug)]
pub(super) struct Growth {
    before: u64,
}

impl Growth {
    /// Forgets the most that the process has had so far.
    pub(super) fn watch() -> Self {
        // What the kernel calls the high water mark starts again from what there is now. Where that
        // cannot be asked for, too much is told rather than too little.
        let _ = fs::write("/proc/self/clear_refs", "5");
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        Self { before: memory_line(&status, "VmRSS:").unwrap_or_default() }
    }

    /// The most that there was on top of it since, in bytes.
    pub(super) fn most(&self) -> u64 {
        peak_memory().saturating_sub(self.before)
    }
}

/// A line of `/proc/PID/status` that tells an amount of memory, in bytes.
pub(super) fn memory_line(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_its_line() {
        let status = "Name:\tjoiner\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n";
        assert_eq!(memory_line(status, "VmRSS:"), Some(1 << 20));
        assert_eq!(memory_line(status, "VmHWM:"), Some(2 << 20));
        assert_eq!(memory_line(status, "VmSwap:"), None);
    }
}
