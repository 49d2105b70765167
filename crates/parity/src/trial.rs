//! One scenario on both sides.

use anyhow::Result;

use crate::{
    compare::{Checked, Comparison, Difference, Verdict, compare},
    oracle::{Oracle, RUNS},
    ours::{self, Question},
    scenario::Scenario,
};

/// Both answers to a scenario, and what to think of them.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Our plan.
    pub ours: Checked,
    /// Karpenter's plans.
    pub theirs: Vec<Checked>,
    /// What differs.
    pub comparison: Comparison,
}

/// How many plans Karpenter makes of a scenario at most. Where it draws lots, the first few runs
/// may all be lucky, and a scenario should not be called worse for that.
pub(crate) const RUNS_MAX: usize = 5 * RUNS;

/// Puts a scenario to both sides. An error means that the oracle itself is gone; whatever is wrong
/// with the scenario is part of the comparison.
pub fn run(scenario: &Scenario, oracle: &mut Oracle) -> Result<Trial> {
    let (question, ours) = match ours::prepare(scenario).and_then(answered) {
        Ok(answer) => answer,
        Err(error) => return Ok(failed(Difference::OursFails { error: format!("{error:#}") })),
    };
    let mut theirs = Vec::new();
    loop {
        let plans = match oracle.plans(scenario)? {
            Ok(plans) => plans,
            Err(error) => return Ok(failed(Difference::TheirsFails { error })),
        };
        for plan in plans {
            match question.check(plan) {
                Ok(checked) => theirs.push(checked),
                Err(error) => {
                    return Ok(failed(Difference::OursFails { error: format!("{error:#}") }));
                }
            }
        }
        let mut comparison = compare(scenario, &ours, &theirs);
        if comparison.verdict() != Verdict::Worse || theirs.len() >= RUNS_MAX {
            comparison.settle();
            return Ok(Trial { ours, theirs, comparison });
        }
    }
}

fn answered(question: Question) -> Result<(Question, Checked)> {
    let ours = question.plan()?;
    Ok((question, ours))
}

fn failed(difference: Difference) -> Trial {
    let comparison = Comparison::failed(difference);
    Trial { ours: Checked::default(), theirs: Vec::new(), comparison }
}
