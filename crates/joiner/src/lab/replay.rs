//! `joiner lab replay`: the story of a seed, and whether anything happened in it that must not.

use std::{fmt::Write as _, fs};

use jiff::Timestamp;
use joiner_lab::{
    history::Timeline,
    story::{self, Told},
};
use serde_json::json;

use crate::{
    cli::LabReplayArgs,
    errors::{Exit, Failure},
    output, text,
};

/// Seeds that are drawn are below this: short enough to be typed again.
const DRAWN_MAX: i128 = 1_000_000_000;

/// Tells the story of a seed.
pub(crate) fn replay(args: &LabReplayArgs) -> Result<Exit, Failure> {
    let seed = args.seed.unwrap_or_else(drawn);
    output::talk(&format!("joiner: seed {seed}"));
    let told = tell(seed, args)?;
    let printed = if args.json { as_json_lines(&told) } else { as_text(&told, args.timeline) };
    output::bytes(printed.as_bytes())?;
    if told.violations.is_empty() {
        output::talk(&format!("joiner: seed {seed}: nothing happened that must not"));
        return Ok(Exit::Success);
    }
    let broken = text::count(told.violations.len(), "rule");
    let faults = args.faults.iter().map(|path| format!(" --faults {}", path.display()));
    let faults = faults.collect::<String>();
    output::talk(&format!(
        "joiner: seed {seed}: {broken} broken; see how with: joiner lab replay {seed}{faults} \
         --timeline"
    ));
    Ok(Exit::Violated)
}

/// A seed from the time of day.
fn drawn() -> u64 {
    Timestamp::now().as_nanosecond().rem_euclid(DRAWN_MAX) as u64
}

fn tell(seed: u64, args: &LabReplayArgs) -> Result<Told, Failure> {
    let path = args.faults.as_deref();
    let refuse = |what: String| {
        let path = path.map(|path| format!("{}: ", path.display())).unwrap_or_default();
        Failure::bad_input(format!("{path}{what}"))
    };
    let script = path.map(fs::read_to_string).transpose();
    let script = script.map_err(|error| refuse(format!("cannot be read: {error}")))?;
    // A story takes hours of virtual time, which pass at once while the cluster is idle.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| Failure::bad_input(format!("cannot start: {error}")))?;
    let told = runtime.block_on(story::replay(seed, script.as_deref().unwrap_or_default()));
    told.map_err(|error| refuse(error.to_string()))
}

/// What is printed for people: the timeline if they want it, and what was broken.
fn as_text(told: &Told, timeline: bool) -> String {
    let mut printed =
        if timeline { told.history.timeline(&Timeline::default()) } else { String::new() };
    for violation in &told.violations {
        let _ = writeln!(printed, "{violation}");
    }
    printed
}

/// What is printed for programs: everything that happened, then what was broken.
fn as_json_lines(told: &Told) -> String {
    let mut printed = told.history.to_json_lines();
    for violation in &told.violations {
        let line = json!({
            "at": violation.at.to_string(), "violation": violation.rule, "what": violation.what,
        });
        let _ = writeln!(printed, "{line}");
    }
    printed
}
