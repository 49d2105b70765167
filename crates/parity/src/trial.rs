//! One scenario on both sides.

use anyhow::Result;

use crate::{
    compare::{Checked, Comparison, Difference, compare},
    oracle::Oracle,
    ours,
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

/// Puts a scenario to both sides. An error means that the oracle itself is gone; whatever is wrong
/// with the scenario is part of the comparison.
pub fn run(scenario: &Scenario, oracle: &mut Oracle) -> Result<Trial> {
    let failed = |difference| Trial {
        ours: Checked::default(),
        theirs: Vec::new(),
        comparison: Comparison::failed(difference),
    };
    let plans = match oracle.plans(scenario)? {
        Ok(plans) => plans,
        Err(error) => return Ok(failed(Difference::TheirsFails { error })),
    };
    let answer = ours::prepare(scenario).and_then(|question| {
        let ours = question.plan()?;
        let theirs =
            plans.into_iter().map(|plan| question.check(plan)).collect::<Result<Vec<_>>>()?;
        Ok((ours, theirs))
    });
    Ok(match answer {
        Ok((ours, theirs)) => {
            let comparison = compare(scenario, &ours, &theirs);
            Trial { ours, theirs, comparison }
        }
        Err(error) => failed(Difference::OursFails { error: format!("{error:#}") }),
    })
}
