//! What differs between our plan and Karpenter's, and what to think of it.
//!
//! What Karpenter pays is only a measure where its plan keeps the rules that the checker knows. A
//! run that breaks one is left out; where every run breaks one, the defect behind it names the
//! difference.

use std::{
    collections::BTreeSet,
    fmt::{self, Display, Formatter},
};

use joiner_check::{Finding, Rule};
use joiner_core::plan::Plan;

use crate::{
    named::{self, Defect},
    scenario::Scenario,
};

/// Prices are sums of the same numbers in different orders, so the last digits mean nothing.
const PRICE_PRECISION: f64 = 1e-9;

/// A plan and what the checker says of it.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// The plan.
    pub plan: Plan,
    /// The rules it breaks.
    pub findings: Vec<Finding>,
}

impl Checked {
    /// The pods that have a place.
    pub fn placed(&self) -> BTreeSet<&str> {
        let on_claims = self.plan.claims.iter().flat_map(|claim| &claim.pods);
        let on_nodes = self.plan.existing.iter().flat_map(|node| &node.pods);
        on_claims.chain(on_nodes).map(String::as_str).collect()
    }
}

/// Something that is not the same on both sides.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    /// We cannot read the scenario, or the planner or the checker panics on it.
    OursFails {
        /// What was said.
        error: String,
    },
    /// The oracle cannot read the scenario, or Karpenter panics on it.
    TheirsFails {
        /// What was said.
        error: String,
    },
    /// The checker refuses our plan.
    OursBreaksRule {
        /// The rule and how it is broken.
        finding: Finding,
    },
    /// The checker refuses Karpenter's plan, although Karpenter is not known to break this rule.
    TheirsBreaksRule {
        /// The rule and how it is broken.
        finding: Finding,
    },
    /// The checker refuses every plan of Karpenter's, as is known.
    TheirsBreaksKnownRule {
        /// The rule.
        rule: Rule,
    },
    /// We move instances or pods as nobody may, or without end.
    OursMovesWrongly {
        /// What we did.
        what: String,
    },
    /// Karpenter moves instances or pods as nobody may.
    TheirsMovesWrongly {
        /// What it did.
        what: String,
    },
    /// Karpenter tries over and over what cannot be done.
    TheirsGetsStuck,
    /// Karpenter always places these pods, and we do not.
    PlacesFewer {
        /// The pods.
        pods: Vec<String>,
    },
    /// Karpenter never places these pods, and we do.
    PlacesMore {
        /// The pods.
        pods: Vec<String>,
    },
    /// For the same pods.
    Instances {
        /// Ours.
        ours: usize,
        /// Those of Karpenter's runs, in order.
        theirs: Vec<usize>,
    },
    /// For the same pods.
    Price {
        /// Ours.
        ours: f64,
        /// Those of Karpenter's runs, in order.
        theirs: Vec<f64>,
    },
}

/// The number of what Karpenter leaves to chance, where our plan is not among its luckier half.
pub const CHANCE: &str = "C2";

/// What a difference means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing to tell.
    Same,
    /// Ours is cheaper.
    Better,
    /// A known defect or a deviation that is listed in docs/compat.md explains it.
    Named(&'static str),
    /// Somebody must look.
    Worse,
}

impl Verdict {
    /// The word by which a report knows it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Better => "better",
            Self::Named(_) => "named",
            Self::Worse => "worse",
        }
    }
}

impl Difference {
    /// A word for the sort of difference, by which a smaller scenario can be told to have the same.
    pub const fn sort(&self) -> &'static str {
        match self {
            Self::OursFails { .. } => "ours fails",
            Self::TheirsFails { .. } => "Karpenter fails",
            Self::OursBreaksRule { .. } => "ours breaks a rule",
            Self::TheirsBreaksRule { .. } => "Karpenter breaks a rule",
            Self::TheirsBreaksKnownRule { .. } => "Karpenter breaks a rule as known",
            Self::OursMovesWrongly { .. } => "ours moves wrongly",
            Self::TheirsMovesWrongly { .. } => "Karpenter moves wrongly",
            Self::TheirsGetsStuck => "Karpenter gets stuck",
            Self::PlacesFewer { .. } => "places fewer pods",
            Self::PlacesMore { .. } => "places more pods",
            Self::Instances { .. } => "instances",
            Self::Price { .. } => "price",
        }
    }

    /// Whether it speaks for our plan.
    fn is_better(&self) -> bool {
        match self {
            Self::Instances { ours, theirs } => *ours < median(theirs),
            Self::Price { ours, theirs } => *ours < median(theirs),
            _ => false,
        }
    }
}

impl Display for Difference {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::OursFails { error } => write!(f, "we fail: {error}"),
            Self::TheirsFails { error } => write!(f, "Karpenter fails: {error}"),
            Self::OursBreaksRule { finding } => write!(f, "our plan breaks a rule: {finding}"),
            Self::TheirsBreaksRule { finding } => {
                write!(f, "Karpenter's plan breaks a rule: {finding}")
            }
            Self::TheirsBreaksKnownRule { rule } => {
                write!(f, "each of Karpenter's plans breaks the rule {rule}")
            }
            Self::OursMovesWrongly { what } => write!(f, "we move wrongly: {what}"),
            Self::TheirsMovesWrongly { what } => write!(f, "Karpenter moves wrongly: {what}"),
            Self::TheirsGetsStuck => f.write_str("Karpenter tries over and over what fails"),
            Self::PlacesFewer { pods } => write!(f, "only Karpenter places {}", list(pods)),
            Self::PlacesMore { pods } => write!(f, "only we place {}", list(pods)),
            Self::Instances { ours, theirs } => {
                write!(f, "{ours} instances, Karpenter {}", range(theirs, ToString::to_string))
            }
            Self::Price { ours, theirs } => {
                let text = |price: &f64| format!("{price:.4}");
                write!(f, "price {}, Karpenter {}", text(ours), range(theirs, text))
            }
        }
    }
}

/// The median of values in order, and the range they are in.
fn range<T: Copy>(ordered: &[T], text: impl Fn(&T) -> String) -> String {
    let (Some(least), Some(most)) = (ordered.first(), ordered.last()) else {
        return "nothing".to_owned();
    };
    let (least, most, median) = (text(least), text(most), text(&median(ordered)));
    if least == most { median } else { format!("{median} ({least} to {most})") }
}

/// The first few of many names.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}

/// All that there is to say about one scenario.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    /// What differs, each with what it means.
    pub differences: Vec<(Difference, Verdict)>,
    /// Our instances and price, and the medians of Karpenter's, where both can be compared.
    pub cost: Option<Cost>,
}

/// What the same pods cost on either side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// How many instances we make.
    pub our_instances: usize,
    /// What they cost.
    pub our_price: f64,
    /// The median of how many Karpenter makes.
    pub their_instances: usize,
    /// The median of what they cost.
    pub their_price: f64,
}

impl Comparison {
    /// Nothing could be compared.
    pub fn failed(difference: Difference) -> Self {
        Self { differences: vec![(difference, Verdict::Worse)], cost: None }
    }

    /// The verdict over all differences: the gravest.
    pub fn verdict(&self) -> Verdict {
        self.differences.iter().map(|(_, verdict)| *verdict).max().unwrap_or(Verdict::Same)
    }

    /// Names what is worse in number but no fault: a cheaper plan with more instances (C1), and a
    /// plan that is dearer than the median but no dearer than the dearest of Karpenter's own runs
    /// (C2), and one that places more pods (C3). To be asked once Karpenter has had all its runs.
    pub fn settle(&mut self) {
        let id = if self.is_cheaper() {
            "C1"
        } else if self.is_unlucky() {
            CHANCE
        } else if self.decisive().into_iter().all(|sort| sort == "places more pods") {
            "C3"
        } else {
            return;
        };
        for (_, verdict) in &mut self.differences {
            if *verdict == Verdict::Worse {
                *verdict = Verdict::Named(id);
            }
        }
    }

    /// Whether everything that is worse is no worse than the worst of Karpenter's own runs.
    fn is_unlucky(&self) -> bool {
        let mut worse = self.differences.iter().filter(|(_, verdict)| *verdict == Verdict::Worse);
        worse.all(|(difference, _)| match difference {
            Difference::Instances { ours, theirs } => {
                theirs.last().is_some_and(|most| ours <= most)
            }
            Difference::Price { ours, theirs } => {
                theirs.last().is_some_and(|most| *ours <= most * (1.0 + PRICE_PRECISION))
            }
            _ => false,
        })
    }

    /// Whether all that is worse is the number of instances, and the price is better.
    fn is_cheaper(&self) -> bool {
        self.decisive().into_iter().all(|sort| sort == "instances")
            && self.differences.iter().any(|(difference, verdict)| {
                matches!(difference, Difference::Price { .. }) && *verdict == Verdict::Better
            })
    }

    /// The sorts of the differences that decide the verdict.
    pub fn decisive(&self) -> BTreeSet<&'static str> {
        let verdict = self.verdict();
        let decisive = self.differences.iter().filter(|(_, own)| *own == verdict);
        decisive.map(|(difference, _)| difference.sort()).collect()
    }
}

/// Compares our plan of a scenario with Karpenter's runs on it.
pub fn compare(scenario: &Scenario, ours: &Checked, theirs: &[Checked]) -> Comparison {
    let mut differences = rules(ours, theirs);
    let (measure, known) = measure(theirs);
    if let Some(rule) = known {
        differences.push(Difference::TheirsBreaksKnownRule { rule });
    }
    differences.extend(places(ours, theirs));
    let (cost, dearer_or_cheaper) = cost(ours, &measure);
    differences.extend(dearer_or_cheaper);
    let defects: Vec<&Defect> = named::applying(scenario);
    let judge = |difference: Difference| {
        let verdict = judge(&difference, &defects, known);
        (difference, verdict)
    };
    Comparison { differences: differences.into_iter().map(judge).collect(), cost }
}

pub(crate) fn judge(difference: &Difference, defects: &[&Defect], known: Option<Rule>) -> Verdict {
    if matches!(
        difference,
        Difference::OursBreaksRule { .. }
            | Difference::OursMovesWrongly { .. }
            | Difference::OursFails { .. }
            | Difference::TheirsFails { .. }
    ) {
        return Verdict::Worse;
    }
    if difference.is_better() {
        return Verdict::Better;
    }
    if let Some(id) = known.and_then(named::of_rule) {
        return Verdict::Named(id);
    }
    defects
        .iter()
        .find(|defect| defect.explains(difference))
        .map_or(Verdict::Worse, |defect| Verdict::Named(defect.id))
}

fn rules(ours: &Checked, theirs: &[Checked]) -> Vec<Difference> {
    let mut differences: Vec<Difference> = ours
        .findings
        .iter()
        .map(|finding| Difference::OursBreaksRule { finding: finding.clone() })
        .collect();
    let mut unknown: Vec<&Finding> = theirs
        .iter()
        .flat_map(|run| &run.findings)
        .filter(|finding| named::of_rule(finding.rule).is_none())
        .collect();
    // What every run has in common is told once.
    unknown.sort_by(|a, b| (a.rule, &a.subject).cmp(&(b.rule, &b.subject)));
    unknown.dedup_by(|a, b| (a.rule, &a.subject) == (b.rule, &b.subject));
    differences.extend(
        unknown
            .into_iter()
            .map(|finding| Difference::TheirsBreaksRule { finding: finding.clone() }),
    );
    differences
}

/// The runs to measure against: those that break no rule. Where there are none, all of them, and a
/// known rule that they break.
fn measure(theirs: &[Checked]) -> (Vec<&Checked>, Option<Rule>) {
    let clean: Vec<&Checked> = theirs.iter().filter(|run| run.findings.is_empty()).collect();
    if !clean.is_empty() || theirs.is_empty() {
        return (clean, None);
    }
    let known = theirs.iter().flat_map(|run| &run.findings).map(|finding| finding.rule);
    (theirs.iter().collect(), known.filter(|rule| named::of_rule(*rule).is_some()).min())
}

/// Pods are only missed where every run places them, and only too many where no run does, whatever
/// the checker says of the run.
fn places(ours: &Checked, theirs: &[Checked]) -> Vec<Difference> {
    let placed = ours.placed();
    let mut always = theirs.first().map(Checked::placed).unwrap_or_default();
    let mut ever = BTreeSet::new();
    for run in theirs {
        let theirs = run.placed();
        always.retain(|pod| theirs.contains(pod));
        ever.extend(theirs);
    }
    let names = |pods: Vec<&str>| pods.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let fewer = names(always.iter().filter(|pod| !placed.contains(*pod)).copied().collect());
    let more = names(placed.iter().filter(|pod| !ever.contains(*pod)).copied().collect());
    let mut differences = Vec::new();
    if !fewer.is_empty() {
        differences.push(Difference::PlacesFewer { pods: fewer });
    }
    if !more.is_empty() {
        differences.push(Difference::PlacesMore { pods: more });
    }
    differences
}

/// Instances and prices can only be compared where the same pods have a place.
fn cost(ours: &Checked, measure: &[&Checked]) -> (Option<Cost>, Vec<Difference>) {
    let placed = ours.placed();
    let same: Vec<&&Checked> = measure.iter().filter(|run| run.placed() == placed).collect();
    if same.is_empty() {
        return (None, Vec::new());
    }
    let paid = |checked: &Checked| (checked.plan.claims.len(), checked.plan.price());
    let theirs: Vec<(usize, f64)> = same.into_iter().map(|run| paid(run)).collect();
    let (cost, differences) = weigh(paid(ours), &theirs);
    (Some(cost), differences)
}

/// Compares instances and price with the medians of runs, of which there has to be one.
pub(crate) fn weigh(ours: (usize, f64), theirs: &[(usize, f64)]) -> (Cost, Vec<Difference>) {
    let (mut instances, mut prices): (Vec<usize>, Vec<f64>) = theirs.iter().copied().unzip();
    instances.sort_unstable();
    prices.sort_by(f64::total_cmp);
    let cost = Cost {
        our_instances: ours.0,
        our_price: ours.1,
        their_instances: median(&instances),
        their_price: median(&prices),
    };
    let mut differences = Vec::new();
    if cost.our_instances != cost.their_instances {
        differences.push(Difference::Instances { ours: cost.our_instances, theirs: instances });
    }
    if (cost.our_price - cost.their_price).abs() > PRICE_PRECISION * cost.their_price.max(1.0) {
        differences.push(Difference::Price { ours: cost.our_price, theirs: prices });
    }
    (cost, differences)
}

/// The middle of values in order, the upper one of two.
pub(crate) fn median<T: Copy>(ordered: &[T]) -> T {
    ordered[ordered.len() / 2]
}

#[cfg(test)]
mod tests;
