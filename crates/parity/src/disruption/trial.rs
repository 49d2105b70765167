//! One cluster on both sides.

use anyhow::Result;

use super::{
    compare::{compare, settle},
    generate::Situation,
    history::{History, retell},
    ours::converge,
};
use crate::{
    compare::{Comparison, Difference, Verdict},
    oracle::Oracle,
    trial::RUNS_MAX,
};

/// What became of a cluster on both sides, and what to think of it.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Our history.
    pub ours: History,
    /// Karpenter's histories.
    pub theirs: Vec<History>,
    /// What differs.
    pub comparison: Comparison,
}

/// Leaves a cluster to both sides. An error means that the oracle itself is gone; whatever is wrong
/// with the cluster is part of the comparison.
pub fn run(situation: &Situation, oracle: &mut Oracle) -> Result<Trial> {
    let ours = match converge(&situation.scenario) {
        Ok(history) => history,
        Err(error) => return Ok(failed(Difference::OursFails { error: format!("{error:#}") })),
    };
    let mut theirs = Vec::new();
    loop {
        let told = match oracle.disruptions(&situation.scenario)? {
            Ok(told) => told,
            Err(error) => return Ok(failed(Difference::TheirsFails { error })),
        };
        for history in told {
            match retell(&situation.scenario, history) {
                Ok(history) => theirs.push(history),
                Err(error) => {
                    return Ok(failed(Difference::TheirsFails { error: format!("{error:#}") }));
                }
            }
        }
        let mut comparison = compare(situation, &ours, &theirs);
        if comparison.verdict() != Verdict::Worse || theirs.len() >= RUNS_MAX {
            settle(&mut comparison);
            return Ok(Trial { ours, theirs, comparison });
        }
    }
}

fn failed(difference: Difference) -> Trial {
    Trial {
        ours: History::default(),
        theirs: Vec::new(),
        comparison: Comparison::failed(difference),
    }
}
