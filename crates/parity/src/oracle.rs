//! Karpenter's answers, from the oracle (see oracle/README.md) as a process of its own.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result};
use joiner_core::plan::Plan;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::scenario::Scenario;

/// How many plans Karpenter makes of each scenario. Its answers differ from run to run, so one is
/// not enough, and with an odd number the median is one of them.
pub const RUNS: usize = 5;

/// A running oracle. It answers one scenario at a time, because Karpenter keeps its settings in
/// global variables.
#[derive(Debug)]
pub struct Oracle {
    process: Child,
    /// Closed first when the oracle is dropped, which ends the process.
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    plans: Vec<Value>,
    error: Option<String>,
}

impl Oracle {
    /// Starts the program at `path`.
    pub fn start(path: &Path) -> Result<Self> {
        let mut process = Command::new(path)
            .args(["batch", "--runs", &RUNS.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start the oracle at {}", path.display()))?;
        let questions = process.stdin.take();
        let answers = process.stdout.take().context("the oracle has no output")?;
        Ok(Self { process, questions, answers: BufReader::new(answers) })
    }

    /// Karpenter's plans for a scenario, or what it has against the scenario.
    pub fn plans(&mut self, scenario: &Scenario) -> Result<Result<Vec<Plan>, String>> {
        let mut line = json!({
            "id": scenario.seed, "objects": scenario.objects,
            "instanceTypes": scenario.instance_types, "flags": scenario.flags,
        })
        .to_string();
        line.push('\n');
        let questions = self.questions.as_mut().context("the oracle has no input")?;
        questions.write_all(line.as_bytes()).context("the oracle does not listen")?;
        questions.flush().context("the oracle does not listen")?;
        line.clear();
        self.answers.read_line(&mut line).context("the oracle does not answer")?;
        let answer: Answer =
            serde_json::from_str(&line).with_context(|| format!("the oracle says {line:?}"))?;
        if let Some(error) = answer.error {
            return Ok(Err(error));
        }
        let plans: Result<Vec<Plan>> = answer.plans.into_iter().map(read_plan).collect();
        plans.map(Ok)
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        drop(self.questions.take());
        // The process ends when its input does. How it ended is of no interest once its answers are
        // in.
        let _ = self.process.wait();
    }
}

/// The oracle's reasons are Karpenter's messages and not our ids, so they are left out.
fn read_plan(mut plan: Value) -> Result<Plan> {
    for list in ["unschedulable", "deferred"] {
        for unplaced in plan[list].as_array_mut().into_iter().flatten() {
            unplaced["reasons"] = json!([]);
        }
    }
    serde_json::from_value(plan).context("the oracle's plan does not have the form of a plan")
}
