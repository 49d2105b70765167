//! Karpenter's answers, from the oracle (see oracle/README.md) as a process of its own.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
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
    path: PathBuf,
    process: Process,
}

#[derive(Debug)]
struct Process {
    child: Child,
    /// Closed first when the process is dropped, which ends it.
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    plans: Vec<Value>,
    #[serde(default)]
    disruptions: Vec<Value>,
    error: Option<String>,
}

impl Oracle {
    /// Starts the program at `path`.
    pub fn start(path: &Path) -> Result<Self> {
        Ok(Self { path: path.to_owned(), process: Process::start(path)? })
    }

    /// Karpenter's plans for a scenario, or what it has against the scenario.
    pub fn plans(&mut self, scenario: &Scenario) -> Result<Result<Vec<Plan>, String>> {
        match self.answer(scenario, "")? {
            Ok(answer) => answer.plans.into_iter().map(read_plan).collect::<Result<_>>().map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    /// What Karpenter does to the instances of a cluster until it finds nothing more, several times,
    /// or what it has against the cluster.
    pub fn disruptions(&mut self, scenario: &Scenario) -> Result<Result<Vec<Value>, String>> {
        Ok(self.answer(scenario, "converge")?.map(|answer| answer.disruptions))
    }

    /// Karpenter solves on threads of its own, so that some of its panics end the process. That is
    /// an answer, too, and the next scenario gets a new process.
    fn answer(&mut self, scenario: &Scenario, disrupt: &str) -> Result<Result<Answer, String>> {
        let question = json!({
            "id": scenario.seed, "objects": scenario.objects, "disrupt": disrupt,
            "instanceTypes": scenario.instance_types, "flags": scenario.flags,
        });
        let line = match self.process.ask(&question) {
            Ok(line) if !line.is_empty() => line,
            _ => {
                self.process = Process::start(&self.path)?;
                return Ok(Err("the oracle has ended".to_owned()));
            }
        };
        let answer: Answer =
            serde_json::from_str(&line).with_context(|| format!("the oracle says {line:?}"))?;
        match answer.error {
            Some(error) => Ok(Err(error)),
            None => Ok(Ok(answer)),
        }
    }
}

impl Process {
    fn start(path: &Path) -> Result<Self> {
        let mut child = Command::new(path)
            .args(["batch", "--runs", &RUNS.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start the oracle at {}", path.display()))?;
        let questions = child.stdin.take();
        let answers = child.stdout.take().context("the oracle has no output")?;
        Ok(Self { child, questions, answers: BufReader::new(answers) })
    }

    /// The line that answers a question; empty if the process has ended.
    fn ask(&mut self, question: &Value) -> Result<String> {
        let questions = self.questions.as_mut().context("the oracle has no input")?;
        writeln!(questions, "{question}")?;
        questions.flush()?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.questions.take());
        // It ends when its input does. How it ended is of no interest once its answers are in.
        let _ = self.child.wait();
    }
}

/// The oracle's reasons are Karpenter's messages and not our ids, so they are left out.
pub(crate) fn read_plan(mut plan: Value) -> Result<Plan> {
    for list in ["unschedulable", "deferred"] {
        for unplaced in plan[list].as_array_mut().into_iter().flatten() {
            unplaced["reasons"] = json!([]);
        }
    }
    serde_json::from_value(plan).context("the oracle's plan does not have the form of a plan")
}
