//! Consolidation: instances are removed if their pods fit elsewhere, or on one or two cheaper instances.

mod sets;
mod steady;

use std::collections::BTreeSet;

use joiner_core::{
    disruption::{DisruptionReason, Method},
    plan::PlannedClaim,
    reason::{Reason, ReasonId},
};

use self::sets::{Found, Search};
pub(super) use self::steady::hold_as_scheduled;
use super::{
    balanced::{self, Approved},
    candidate::Removable,
    pass::{Pass, Proposal, by_cost, by_ratio, in_turns},
    patience::Patience,
    replacement,
    simulate::{Outcome, Question},
    tell,
};

const REASON: DisruptionReason = DisruptionReason::Underutilized;

/// How many new instances a command may create, however many it removes. Two was chosen and not measured separately:
/// more would save more, but a command removes nothing before all its new instances are ready.
///
/// COMPAT: upstream creates one at most. A second is created only where the savings are worth the evictions.
pub(super) const COME_MAX: usize = 2;

pub(super) const QUESTION: Question = Question { respect_quiet: true, claims_max: Some(COME_MAX) };

/// Up to this many candidates within budgets, every kind of set is tried. Above it, each simulation is expensive,
/// and fewer sets are tried. The value was chosen and not measured separately: it bounds the time of a pass in
/// large clusters.
const THOROUGH_MAX: usize = 256;

/// Why instances cannot go together.
#[derive(Debug)]
pub(super) enum Refusal {
    /// These pods would have no place.
    Homeless(Vec<String>),
    Reason(Reason),
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        Self::Reason(reason)
    }
}

/// Whether the removal of `set` pays, given the simulated outcome for its pods.
pub(super) fn judge(
    pass: &Pass<'_>,
    set: &[&Removable<'_>],
    outcome: Outcome,
) -> Result<Proposal, Refusal> {
    if !outcome.homeless.is_empty() {
        return Err(Refusal::Homeless(outcome.homeless));
    }
    let replacements = match outcome.claims.as_slice() {
        [] => Vec::new(),
        claims if claims.len() > COME_MAX => {
            let why =
                "its pods do not fit on one or two new instances besides what the others can take";
            return Err(more_than_one(claims.len(), why).into());
        }
        claims => {
            let (catalog, settings) = (&pass.scene.snapshot.catalog, pass.scene.settings);
            replacement::cheaper(catalog, set, claims, settings.spot_to_spot)?
        }
    };
    let savings = savings(set, &replacements);
    if replacements.len() > 1 && !balanced::is_worth_it(set, savings, &pass.totals) {
        let why = "what that saves is not worth the moving";
        return Err(more_than_one(replacements.len(), why).into());
    }
    let Approved { score, scores } = balanced::approve(set, savings, &pass.totals)?;
    Ok(Proposal { replacements, destinations: outcome.existing, savings, score, scores })
}

/// The price of the removed instances, less that of their replacements.
pub(super) fn savings(set: &[&Removable<'_>], replacements: &[PlannedClaim]) -> f64 {
    let price = set.iter().fold(0.0, |sum, each| sum + each.price);
    replacements.iter().fold(price, |left, claim| left - claim.price)
}

fn more_than_one(instances: usize, why: &str) -> Reason {
    let message = format!("can't remove without creating {instances} instances: {why}");
    Reason::new(ReasonId::MoveReplacementsMoreThanOne, message).with("instances", instances)
}

/// Removes several instances together, repeatedly: the best set first, then the best of the rest.
pub(super) fn decide_several(pass: &mut Pass<'_>) {
    let mut candidates = settled_candidates(pass);
    let all = candidates.len();
    let mut search = Search::default();
    loop {
        candidates.retain(|each| pass.is_free(each.at));
        let are_all = candidates.len() == all;
        let may_go = pass.ledger.within(candidates.iter().map(|each| ((), each.pool)), REASON);
        let is_thorough = may_go.len() <= THOROUGH_MAX;
        let Some(found) = search.best(pass, &candidates, are_all, is_thorough) else { return };
        let mut wanted = 0;
        let steady = sets::untied(pass, found).and_then(|found| {
            wanted = found.set.len();
            let looked_at: BTreeSet<usize> = found.set.iter().map(|each| each.at).collect();
            steady::part(pass, found).ok_or(looked_at)
        });
        // Each simulation is expensive here. Once the scheduler would undo part of a set, the rest is judged one by
        // one.
        let is_last = !is_thorough && steady.as_ref().map_or(0, |found| found.set.len()) < wanted;
        match steady {
            Ok(Found { set, proposal, .. }) => {
                let reason = tell::underutilized(&set, &proposal);
                pass.decide(Method::MultiNode, &set, QUESTION, proposal, reason);
            }
            // Each of them is judged alone afterwards.
            Err(alone) => candidates.retain(|each| !alone.contains(&each.at)),
        }
        if is_last {
            return;
        }
    }
}

/// The first command, found as Karpenter does: its longest prefix of instances that can be removed together, or the
/// first that can be removed alone.
pub(super) fn decide_first(pass: &mut Pass<'_>, method: Method) {
    let candidates;
    let found = if method == Method::MultiNode {
        candidates = settled_candidates(pass);
        sets::as_karpenter(pass, &candidates).and_then(|found| steady::part(pass, found))
    } else {
        candidates = in_turns(sorted_candidates(pass));
        candidates.iter().find_map(|each| {
            let proposal = steadily_alone(pass, each)?;
            Some(Found::new(vec![each], proposal))
        })
    };
    if let Some(Found { set, proposal, .. }) = found {
        let reason = tell::underutilized(&set, &proposal);
        pass.decide(method, &set, QUESTION, proposal, reason);
    }
}

/// The possible command for several instances. A refusal is not explained.
fn together<'s>(pass: &mut Pass<'s>, set: &[&Removable<'s>]) -> Option<Proposal> {
    if !pass.room.may_hold(set.iter().map(|each| each.at)) {
        return None;
    }
    ask(pass, set).ok()
}

fn ask<'s>(pass: &mut Pass<'s>, set: &[&Removable<'s>]) -> Result<Proposal, Refusal> {
    let instances: Vec<usize> = set.iter().map(|each| each.at).collect();
    let outcome = pass.simulator.without(&instances, QUESTION);
    judge(pass, set, outcome)
}

/// Removes instances one by one, the highest savings first; pools take turns.
///
/// Karpenter takes the first that can be removed. That may use up the capacity that a better one needs.
pub(super) fn decide_single(pass: &mut Pass<'_>) {
    let candidates = sorted_candidates(pass);
    let mut promising = Vec::new();
    for each in in_turns(candidates) {
        if let Some(proposal) = alone(pass, &each) {
            promising.push((each, proposal.savings));
        }
    }
    promising.sort_by(|(left, left_savings), (right, right_savings)| {
        right_savings.total_cmp(left_savings).then_with(|| by_cost(left, right))
    });
    for each in in_turns(promising.into_iter().map(|(each, _)| each).collect()) {
        if !pass.is_free(each.at) {
            continue;
        }
        // A command that was decided since may have taken the capacity.
        let Some(proposal) = steadily_alone(pass, &each) else { continue };
        let set = [&each];
        let reason = tell::underutilized(&set, &proposal);
        pass.decide(Method::SingleNode, &set, QUESTION, proposal, reason);
    }
}

/// Candidates of consolidation in Karpenter's order.
fn sorted_candidates<'s>(pass: &mut Pass<'s>) -> Vec<Removable<'s>> {
    let fleet = pass.scene.fleet;
    let mut candidates = pass.candidates(|each| each.may_be_consolidated(fleet));
    candidates.sort_by(by_ratio);
    candidates
}

/// Candidates of pools that are settled. The others get their reason when they are judged alone.
fn settled_candidates<'s>(pass: &mut Pass<'s>) -> Vec<Removable<'s>> {
    let mut candidates = sorted_candidates(pass);
    candidates.retain(|each| {
        let patience = pass.totals.get(each.pool).and_then(|it| it.patience);
        !matches!(patience, Some(Patience::Wait { .. }))
    });
    candidates
}

/// The possible command for one instance, if it also works with the scheduler's placement. Otherwise the reason is
/// recorded.
fn steadily_alone<'s>(pass: &mut Pass<'s>, each: &Removable<'s>) -> Option<Proposal> {
    let proposal = alone(pass, each)?;
    match hold_as_scheduled(pass, &[each], &proposal) {
        Ok(()) => Some(proposal),
        Err(reason) => {
            pass.stays(each.at, [reason]);
            None
        }
    }
}

/// The possible command for one instance. Otherwise the reason is recorded.
fn alone<'s>(pass: &mut Pass<'s>, each: &Removable<'s>) -> Option<Proposal> {
    let set = [each];
    if pass.ledger.left(each.pool, REASON) == 0 {
        pass.stays_by_budget(each, REASON);
        return None;
    }
    // Removal without a replacement saves most. If even that is refused, no simulation is needed.
    let asked = balanced::approve(&set, each.price, &pass.totals)
        .map_err(Refusal::from)
        .and_then(|_| ask(pass, &set));
    let reason = match asked {
        Ok(proposal) => return Some(proposal),
        Err(Refusal::Reason(reason)) => reason,
        Err(Refusal::Homeless(pods)) => pass.homeless(&set, QUESTION, &pods),
    };
    pass.stays(each.at, [reason]);
    None
}
