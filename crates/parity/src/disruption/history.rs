//! What was done to a cluster, round by round, and what it came to.

use anyhow::{Result, bail};
use joiner_core::{
    disruption::{Candidate, Command, Method},
    plan::{ExistingPlacement, Plan, PlannedClaim},
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    cluster::{Bill, Cluster},
    rules,
};
use crate::{oracle::read_plan, scenario::Scenario};

/// Instances that go, instances that come, and where pods go.
#[derive(Debug, Clone, Deserialize)]
pub struct Move {
    /// Who proposes it.
    pub method: Method,
    /// The instances that go.
    pub candidates: Vec<Candidate>,
    /// The instances that come.
    pub replacements: Vec<PlannedClaim>,
    /// Where pods go on instances that are there.
    pub destinations: Vec<ExistingPlacement>,
}

impl Move {
    /// Whether a pod, by its `namespace/name`, gets a place.
    pub fn places(&self, pod: &str) -> bool {
        let on_claims = self.replacements.iter().flat_map(|claim| &claim.pods);
        let on_nodes = self.destinations.iter().flat_map(|node| &node.pods);
        on_claims.chain(on_nodes).any(|placed| placed == pod)
    }
}

impl From<Command> for Move {
    fn from(command: Command) -> Self {
        let Command { method, candidates, replacements, destinations, .. } = command;
        Self { method, candidates, replacements, destinations }
    }
}

/// What is done at once, and what is then made for pods that it leaves without a place.
#[derive(Debug, Clone, Default)]
pub struct Round {
    /// What is done.
    pub moves: Vec<Move>,
    /// What is made for pods without a place.
    pub provisioned: Option<Plan>,
}

/// All rounds, and what they come to.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// What was done.
    pub rounds: Vec<Round>,
    /// The instances at the beginning.
    pub before: Bill,
    /// The instances at the end.
    pub after: Bill,
    /// How many pods had to move.
    pub evictions: usize,
    /// Whether there was nothing more to do in the end.
    pub converged: bool,
    /// The rules that were broken, each with the move that broke it.
    pub findings: Vec<String>,
}

/// A cluster and its history so far.
#[derive(Debug)]
pub struct Story {
    /// The cluster as it is now.
    pub cluster: Cluster,
    /// What has happened to it.
    pub history: History,
}

impl Story {
    /// The beginning.
    pub fn begin(scenario: &Scenario) -> Result<Self> {
        let cluster = Cluster::new(scenario.clone())?;
        let before = cluster.bill();
        Ok(Self { cluster, history: History { before, ..History::default() } })
    }

    /// Does what is to be done at once, one move after the other, and judges each of them.
    pub fn carry_out(&mut self, moves: &[Move]) -> Result<()> {
        let number = self.history.rounds.len() + 1;
        let mut ledger = rules::Ledger::new(&self.cluster);
        // Moves of one round are decided before any instance has come. Where the first of them
        // brings one, the others cannot know in which zone it will be.
        let mut is_certain = true;
        for step in moves {
            let mut findings = rules::broken(&self.cluster, step, &mut ledger);
            self.history.evictions += self.cluster.remove(&step.candidates);
            if is_certain {
                findings.extend(rules::broken_by_placement(&self.cluster, step)?);
            }
            is_certain &= step.replacements.is_empty();
            self.cluster.place(&step.replacements, &step.destinations)?;
            let told = |finding| format!("round {number}, {}: {finding}", step.method);
            self.history.findings.extend(findings.into_iter().map(told));
        }
        self.history.rounds.push(Round { moves: moves.to_vec(), provisioned: None });
        Ok(())
    }

    /// Makes instances for pods that the last round has left without a place.
    pub fn provision(&mut self, plan: Plan) -> Result<()> {
        self.cluster.place(&plan.claims, &plan.existing)?;
        if let Some(round) = self.history.rounds.last_mut() {
            round.provisioned = Some(plan);
        }
        Ok(())
    }

    /// The end.
    pub fn end(mut self, converged: bool) -> History {
        self.history.converged = converged;
        self.history.after = self.cluster.bill();
        self.history
    }
}

/// What the oracle tells.
#[derive(Deserialize)]
struct Told {
    rounds: Vec<ToldRound>,
    after: Bill,
    evictions: usize,
    converged: bool,
}

#[derive(Deserialize)]
struct ToldRound {
    commands: Vec<Move>,
    provisioned: Option<Value>,
}

/// What the oracle tells, done once more in a cluster of our own, so that both sides are measured
/// and judged in the same way. Both accounts must agree.
pub fn retell(scenario: &Scenario, told: Value) -> Result<History> {
    let told: Told = serde_json::from_value(told)?;
    let mut story = Story::begin(scenario)?;
    let rounds = told.rounds.len();
    for (index, round) in told.rounds.into_iter().enumerate() {
        if !told.converged && index + 1 == rounds {
            break; // what cannot be carried out
        }
        story.carry_out(&round.commands)?;
        if let Some(plan) = round.provisioned {
            story.provision(read_plan(plan)?)?;
        }
    }
    let history = story.end(told.converged);
    let (ours, theirs) = (history.after, told.after);
    if ours.instances != theirs.instances
        || (ours.price - theirs.price).abs() > 1e-6
        || history.evictions != told.evictions
    {
        bail!(
            "the oracle ends with {theirs:?} after {} evictions, and doing what it says with \
             {ours:?} after {}",
            told.evictions,
            history.evictions
        );
    }
    Ok(history)
}
