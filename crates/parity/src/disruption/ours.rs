//! What we do to a cluster, until there is nothing more to do.

use anyhow::Result;

use super::history::{History, Move, Story};
use crate::{ours::prepare, scenario::Scenario};

/// A bound and no limit: every round but those for drift lowers the price.
const ROUNDS_MAX: usize = 1000;

/// Does what we say until we say no more.
pub fn converge(scenario: &Scenario) -> Result<History> {
    let mut story = Story::begin(scenario)?;
    for _ in 0..ROUNDS_MAX {
        let (disruptions, findings) = prepare(&story.cluster.scenario)?.disruptions()?;
        let found = findings.iter().map(|finding| format!("the checker says {finding}"));
        story.history.findings.extend(found);
        if disruptions.commands.is_empty() {
            return Ok(story.end(true));
        }
        let moves: Vec<Move> = disruptions.commands.into_iter().map(Move::from).collect();
        story.carry_out(&moves)?;
        let question = prepare(&story.cluster.scenario)?;
        if question.waiting().next().is_some() {
            let plan = question.plan()?.plan;
            if plan.placed() > 0 {
                story.provision(plan)?;
            }
        }
    }
    Ok(story.end(false))
}
