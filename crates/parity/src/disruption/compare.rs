//! What differs between a cluster that was left to us and the same cluster left to Karpenter.

use super::{generate::Situation, history::History};
use crate::{
    compare::{Comparison, Difference, Verdict, judge, weigh},
    named,
};

/// As far as ours may be dearer than Karpenter's without being called worse: one in so many.
const NEARLY_ONE_IN: f64 = 100.0;

/// The number of what is nearly as good as Karpenter's.
const NEARLY: &str = "C4";

/// Compares what we came to with what Karpenter's runs came to.
pub fn compare(situation: &Situation, ours: &History, theirs: &[History]) -> Comparison {
    let wrong =
        ours.findings.iter().map(|what| Difference::OursMovesWrongly { what: what.clone() });
    let mut differences: Vec<Difference> = wrong.collect();
    if !ours.converged {
        let what = "there is no end to it".to_owned();
        differences.push(Difference::OursMovesWrongly { what });
    }
    let mut findings: Vec<&String> = theirs.iter().flat_map(|run| &run.findings).collect();
    findings.sort_unstable();
    findings.dedup();
    differences.extend(
        findings.into_iter().map(|what| Difference::TheirsMovesWrongly { what: what.clone() }),
    );
    if !theirs.is_empty() && theirs.iter().all(|run| !run.converged) {
        differences.push(Difference::TheirsGetsStuck);
    }
    let paid = |history: &History| (history.after.instances, history.after.price);
    let measure: Vec<(usize, f64)> =
        theirs.iter().filter(|run| run.findings.is_empty()).map(paid).collect();
    let mut cost = None;
    if !measure.is_empty() {
        let (weighed, dearer_or_cheaper) = weigh(paid(ours), &measure);
        cost = Some(weighed);
        differences.extend(dearer_or_cheaper);
    }
    let defects = named::applying(&situation.scenario);
    let judge = |difference: Difference| {
        let verdict = judge(&difference, &defects, None);
        (difference, verdict)
    };
    Comparison { differences: differences.into_iter().map(judge).collect(), cost }
}

/// Names what is worse in number but no fault, once Karpenter has had all its runs.
pub fn settle(comparison: &mut Comparison) {
    comparison.settle();
    let Some(cost) = comparison.cost else { return };
    if cost.our_price > cost.their_price * (1.0 + 1.0 / NEARLY_ONE_IN) {
        return;
    }
    for (difference, verdict) in &mut comparison.differences {
        let is_amount =
            matches!(difference, Difference::Price { .. } | Difference::Instances { .. });
        if is_amount && *verdict == Verdict::Worse {
            *verdict = Verdict::Named(NEARLY);
        }
    }
}
