//! Machines whose pods fit elsewhere, or on one machine that is cheaper, go.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    hash::BuildHasher,
};

use joiner_core::{
    disruption::{DisruptionReason, Method},
    plan::PlannedClaim,
    reason::{Reason, ReasonId},
};
use rustc_hash::FxBuildHasher;

use super::{
    balanced,
    candidate::Removable,
    pass::{Pass, Proposal, by_cost, by_price, by_ratio, in_turns},
    replacement,
    simulate::{Arrival, Outcome, Question},
    tell,
};

const REASON: DisruptionReason = DisruptionReason::Underutilized;

/// One machine may come, for however many go.
pub(super) const QUESTION: Question = Question { respect_quiet: true, claims_max: Some(1) };

/// As many machines as Karpenter's search looks at together, counted from 0.
const UPSTREAM_LAST: usize = 100;

/// By how many more machines a set that gets one replacement is tried to be enlarged.
const GROWTH_TRIES_MAX: usize = 16;

/// How many machines are tried when a set is gathered.
const GATHER_TRIES_MAX: usize = 32;

/// Up to how many machines that may go at once sets are looked for in every way there is.
const THOROUGH_MAX: usize = 64;

/// In how many orders that are as good as any machines are tried, and up to how many machines.
const SHUFFLES: usize = 8;
const SHUFFLED_MAX: usize = 64;

/// Why machines cannot go together.
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

/// Whether it pays that the machines of `set` go, given what happens to their pods.
pub(super) fn judge(
    pass: &Pass<'_>,
    set: &[&Removable<'_>],
    outcome: Outcome,
) -> Result<Proposal, Refusal> {
    if !outcome.homeless.is_empty() {
        return Err(Refusal::Homeless(outcome.homeless));
    }
    let price = set.iter().fold(0.0, |sum, each| sum + each.price);
    let (replacements, savings) = match outcome.claims.as_slice() {
        [] => (Vec::new(), price),
        [claim] => {
            let scene = &pass.scene;
            let spot_to_spot = scene.settings.spot_to_spot;
            let claim = replacement::cheaper(&scene.snapshot.catalog, set, claim, spot_to_spot)?;
            let savings = price - claim.price;
            (vec![claim], savings)
        }
        claims => {
            let message = format!(
                "can't remove without creating {} machines: its pods do not fit on one new machine \
                 besides what the others can take",
                claims.len()
            );
            let reason = Reason::new(ReasonId::MoveReplacementsMoreThanOne, message);
            return Err(reason.with("machines", claims.len()).into());
        }
    };
    let scores = balanced::approve(set, savings, &pass.totals)?;
    Ok(Proposal { replacements, destinations: outcome.existing, savings, scores })
}

/// What could be done about some machines, and what it comes to.
#[derive(Debug)]
struct Found<'c, 's> {
    set: Vec<&'c Removable<'s>>,
    proposal: Proposal,
}

impl Found<'_, '_> {
    /// Saves more than the other, or as much with less moving.
    fn is_better_than(&self, other: &Self) -> bool {
        let cost = |found: &Self| found.set.iter().map(|each| each.cost).sum::<f64>();
        let (own, others) = (self.proposal.savings, other.proposal.savings);
        replacement::is_less(others, own)
            || (!replacement::is_less(own, others) && cost(self) < cost(other))
    }
}

/// In which order machines are asked to go together: Karpenter's, then those that save most, then those whose pods are
/// the least dear to move. Which of them leads furthest depends on the cluster; where very many may go at once, each
/// question is dear, and there is only the first.
const ORDERS: [fn(&Removable<'_>, &Removable<'_>) -> Ordering; 3] = [by_ratio, by_price, by_cost];

/// Several machines together, as often as there is something to gain.
///
/// Karpenter looks for the longest run of the best machines that can go together. This looks for the
/// same, and besides among the machines of each pool and of each type and in other orders, and takes
/// what saves most; then again on what is left.
pub(super) fn decide_several(pass: &mut Pass<'_>) {
    let fleet = pass.scene.fleet;
    let mut candidates = pass.candidates(|each| each.may_be_consolidated(fleet));
    candidates.sort_by(by_ratio);
    // Room only becomes less, so a pool or type that had nothing to offer is not asked again.
    let mut fruitless = BTreeSet::new();
    loop {
        candidates.retain(|each| pass.is_free(each.at));
        let mut best: Option<Found<'_, '_>> = None;
        let may_go = pass.ledger.within(candidates.iter().map(|each| ((), each.pool)), REASON);
        let is_thorough = may_go.len() <= THOROUGH_MAX;
        let orders = if is_thorough { &ORDERS[..] } else { &ORDERS[..1] };
        for (order, by) in orders.iter().enumerate() {
            for (of, mut group) in groups(&candidates) {
                if fruitless.contains(&(order, of)) {
                    continue;
                }
                group.sort_by(|a, b| by(a, b));
                let affordable =
                    pass.ledger.within(group.iter().map(|each| (*each, each.pool)), REASON);
                let Some(found) = longest_run(pass, &affordable) else {
                    fruitless.extend((of != Group::ALL).then_some((order, of)));
                    continue;
                };
                if best.as_ref().is_none_or(|best| found.is_better_than(best)) {
                    best = Some(found);
                }
            }
        }
        let gathered = if is_thorough { gathered(pass, &candidates) } else { Vec::new() };
        for found in gathered {
            if best.as_ref().is_none_or(|best| found.is_better_than(best)) {
                best = Some(found);
            }
        }
        let Some(found) = best else { return };
        let mut found = grown(pass, &candidates, found);
        found.set.sort_by(|a, b| by_ratio(a, b));
        let looked_at: BTreeSet<usize> = found.set.iter().map(|each| each.at).collect();
        let steady = steady(pass, found);
        // Where each question is dear, the rest is looked at one by one as soon as the scheduler is in the way.
        let is_last =
            !is_thorough && steady.as_ref().is_none_or(|found| found.set.len() < looked_at.len());
        match steady {
            Some(Found { set, proposal }) => {
                let reason = tell::underutilized(&set, &proposal);
                pass.decide(Method::MultiNode, &set, QUESTION, proposal, reason);
            }
            // Each of them is looked at alone afterwards.
            None => candidates.retain(|each| !looked_at.contains(&each.at)),
        }
        if is_last {
            return;
        }
    }
}

/// The part of a set that can go, too, where the scheduler has its way: all of it, half, a quarter, and so on. Finding
/// out is dear, so it is done for what was chosen and not for all that was tried.
fn steady<'c, 's>(pass: &mut Pass<'s>, mut found: Found<'c, 's>) -> Option<Found<'c, 's>> {
    while hold_as_scheduled(pass, &found.set, &found.proposal).is_err() {
        let half = found.set.len() / 2;
        if half < 2 {
            return None;
        }
        found.set.truncate(half);
        found.proposal = together(pass, &found.set)?;
    }
    Some(found)
}

/// Machines that are looked at together: those of a pool and type, or of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Group<'s> {
    pool: Option<&'s str>,
    instance_type: Option<&'s str>,
}

impl Group<'_> {
    const ALL: Self = Self { pool: None, instance_type: None };
}

/// All machines, then those of each pool, then those of each pool's types; only groups of two or
/// more, and none that has the same machines as one before.
fn groups<'c, 's>(candidates: &'c [Removable<'s>]) -> Vec<(Group<'s>, Vec<&'c Removable<'s>>)> {
    let mut groups: BTreeMap<Group<'s>, Vec<&Removable<'s>>> = BTreeMap::new();
    for each in candidates {
        let pool = Group { pool: Some(each.pool), ..Group::ALL };
        let instance_type = each.instance_type.map(|of| of.name.as_str());
        for group in [Group::ALL, pool, Group { instance_type, ..pool }] {
            groups.entry(group).or_default().push(each);
        }
    }
    let mut seen = BTreeSet::new();
    groups.retain(|_, group| {
        let positions: Vec<usize> = group.iter().map(|each| each.at).collect();
        group.len() >= 2 && seen.insert(positions)
    });
    groups.into_iter().collect()
}

/// The run from the beginning that can go together and saves most, as far as it is looked for.
///
/// Halving finds what Karpenter finds. Whether a run can go does not only depend on its length,
/// though: two machines may be replaced by nothing cheaper and three by something that is. So longer
/// runs are tried too, all of them while they are few.
fn longest_run<'c, 's>(pass: &mut Pass<'s>, order: &[&'c Removable<'s>]) -> Option<Found<'c, 's>> {
    let last = order.len().checked_sub(1)?;
    let mut found = halving(pass, order, last.min(UPSTREAM_LAST));
    let longer = run_lengths(order.len());
    let beyond = found.as_ref().map_or(1, |(count, _)| *count);
    for length in longer.into_iter().filter(|length| *length > beyond) {
        if let Some(proposal) = together(pass, &order[..length]) {
            let best = found.as_ref().map_or(f64::NEG_INFINITY, |(_, best)| best.savings);
            if replacement::is_less(best, proposal.savings) {
                found = Some((length, proposal));
            }
        }
    }
    found.map(|(count, proposal)| Found { set: order[..count].to_vec(), proposal })
}

/// Lengths from 2 to `most`, each by half again as long as the one before once they get long.
fn run_lengths(most: usize) -> Vec<usize> {
    const EVERY_MAX: usize = 12;
    let longer = |length: &usize| Some(length + if *length < EVERY_MAX { 1 } else { length / 2 });
    let mut lengths: Vec<usize> =
        std::iter::successors(Some(2), longer).take_while(|length| *length < most).collect();
    lengths.extend((most >= 2).then_some(most));
    lengths
}

fn halving<'s>(
    pass: &mut Pass<'s>,
    order: &[&Removable<'s>],
    last: usize,
) -> Option<(usize, Proposal)> {
    let (mut low, mut high) = (1, last);
    let mut best = None;
    while low <= high {
        let middle = usize::midpoint(low, high);
        match together(pass, &order[..=middle]) {
            Some(proposal) => {
                best = Some((middle + 1, proposal));
                low = middle + 1;
            }
            None => high = middle - 1,
        }
    }
    best
}

/// A set that gets one new machine may take in machines further down the order, past one that does
/// not fit in. For a set that gets none this is not worth trying: what is left is looked at next.
fn grown<'c, 's>(
    pass: &mut Pass<'s>,
    candidates: &'c [Removable<'s>],
    mut found: Found<'c, 's>,
) -> Found<'c, 's> {
    if found.proposal.replacements.is_empty() {
        return found;
    }
    let others: Vec<&Removable<'s>> = candidates
        .iter()
        .filter(|each| !found.set.iter().any(|own| own.at == each.at))
        .take(GROWTH_TRIES_MAX)
        .collect();
    for each in others {
        let mut set = found.set.clone();
        set.push(each);
        let pools = set.iter().map(|each| (*each, each.pool));
        if pass.ledger.within(pools, REASON).len() < set.len() {
            continue;
        }
        if let Some(proposal) = together(pass, &set)
            && pays_together(pass, found.proposal.savings, each, &proposal)
        {
            found = Found { set, proposal };
        }
    }
    found
}

/// Sets that are gathered one machine after the other, each kept if more is saved with it. A run cannot leave out the
/// one machine that is in the way of all others; this can. Small clusters are looked at thoroughly: it costs little
/// there.
fn gathered<'c, 's>(pass: &mut Pass<'s>, candidates: &'c [Removable<'s>]) -> Vec<Found<'c, 's>> {
    let mut order: Vec<&Removable<'s>> = candidates.iter().collect();
    let mut all = Vec::new();
    for by in ORDERS {
        order.sort_by(|a, b| by(a, b));
        all.extend(gather(pass, &order));
    }
    let shuffles = if order.len() <= SHUFFLED_MAX { SHUFFLES } else { 0 };
    for shuffle in 0..shuffles {
        order.sort_by_key(|each| FxBuildHasher.hash_one((shuffle, each.name())));
        all.extend(gather(pass, &order));
    }
    all
}

fn gather<'c, 's>(pass: &mut Pass<'s>, order: &[&'c Removable<'s>]) -> Option<Found<'c, 's>> {
    let mut found: Option<Found<'c, 's>> = None;
    for each in order.iter().take(GATHER_TRIES_MAX) {
        let mut set = found.as_ref().map_or_else(Vec::new, |found| found.set.clone());
        set.push(*each);
        let pools = set.iter().map(|each| (*each, each.pool));
        if pass.ledger.within(pools, REASON).len() < set.len() {
            continue;
        }
        let Some(proposal) = together(pass, &set) else { continue };
        let least = found.as_ref().map_or(f64::NEG_INFINITY, |found| found.proposal.savings);
        if pays_together(pass, least, each, &proposal) {
            found = Some(Found { set, proposal });
        }
    }
    found.filter(|found| found.set.len() >= 2)
}

/// Whether a machine that joins a set, which saves so much `before`, saves more than if it went by itself. Machines that
/// need not wait for the same new one are not tied together.
fn pays_together<'s>(
    pass: &mut Pass<'s>,
    before: f64,
    each: &Removable<'s>,
    joined: &Proposal,
) -> bool {
    let alone = if joined.replacements.is_empty() {
        0.0
    } else {
        ask(pass, &[each]).map_or(0.0, |alone| alone.savings)
    };
    replacement::is_less(before + alone, joined.savings)
}

/// What could be done about several machines; why nothing can be is not found out.
fn together<'s>(pass: &mut Pass<'s>, set: &[&Removable<'s>]) -> Option<Proposal> {
    if !pass.room.may_hold(set.iter().map(|each| each.at)) {
        return None;
    }
    ask(pass, set).ok()
}

fn ask<'s>(pass: &mut Pass<'s>, set: &[&Removable<'s>]) -> Result<Proposal, Refusal> {
    let machines: Vec<usize> = set.iter().map(|each| each.at).collect();
    let outcome = pass.simulator.without(&machines, QUESTION);
    judge(pass, set, outcome)
}

/// Whether a move is good, too, where the scheduler puts pods rather than the plan. It knows nothing
/// of the plan: a pod may be left over whose place others have taken, and a machine like the one that
/// went would be made for it.
///
/// COMPAT: upstream takes its own plan's word for it, and makes such moves again and again.
pub(super) fn hold_as_scheduled(
    pass: &mut Pass<'_>,
    set: &[&Removable<'_>],
    proposal: &Proposal,
) -> Result<(), Reason> {
    // Pods that all go to one new machine fit there, whoever of them comes.
    if !pass.scene.settings.as_scheduled || proposal.destinations.is_empty() {
        return Ok(());
    }
    let unsteady = |why: &str, pod: &str| {
        let message = format!(
            "the pods fit on other machines as planned, but the scheduler may put them otherwise, \
             and then pod {pod} would be left over and need a machine again{why}"
        );
        Err(Reason::new(ReasonId::MoveUnsteady, message).with("pod", pod))
    };
    // A new machine is the emptiest, so that whichever pod comes first takes the place of the one that it was made for.
    // Such a move is made where it is well worth its moving.
    let made_for = proposal.replacements.iter().flat_map(|claim| &claim.pods).next();
    if let Some(pod) =
        made_for.filter(|_| !balanced::is_worth_it(set, proposal.savings, &pass.totals))
    {
        return unsteady("; what is saved is not worth that", pod);
    }
    let machines: Vec<usize> = set.iter().map(|each| each.at).collect();
    for arrival in [Arrival::SmallestFirst, Arrival::LargestFirst] {
        let outcome = pass.simulator.scheduled(&machines, QUESTION, arrival);
        if let Some(pod) = left_over(&outcome, proposal) {
            return unsteady("", pod);
        }
    }
    Ok(())
}

/// The first pod that finds no place on the machines that there are and that a proposal makes.
fn left_over<'o>(outcome: &'o Outcome, proposal: &Proposal) -> Option<&'o String> {
    let is_made = |claim: &PlannedClaim| {
        let holds = |promised: &PlannedClaim| {
            promised.node_pool == claim.node_pool
                && promised.instance_types.iter().all(|it| claim.instance_types.contains(it))
        };
        outcome.claims.len() == 1 && proposal.replacements.first().is_some_and(holds)
    };
    let more = outcome.claims.iter().filter(|claim| !is_made(claim));
    outcome.homeless.iter().chain(more.flat_map(|claim| &claim.pods)).next()
}

/// Machines one by one, those that save most first; pools take turns.
///
/// Karpenter takes the first that can go. Its place is then taken, and a better one may have none left.
pub(super) fn decide_single(pass: &mut Pass<'_>) {
    let fleet = pass.scene.fleet;
    let mut candidates = pass.candidates(|each| each.may_be_consolidated(fleet));
    candidates.sort_by(by_ratio);
    let mut promising = Vec::new();
    for each in in_turns(candidates) {
        if let Some(proposal) = alone(pass, &each) {
            promising.push((each, proposal.savings));
        }
    }
    promising.sort_by(|(a, savings_a), (b, savings_b)| {
        savings_b.total_cmp(savings_a).then_with(|| by_cost(a, b))
    });
    for each in in_turns(promising.into_iter().map(|(each, _)| each).collect()) {
        if !pass.is_free(each.at) {
            continue;
        }
        // What was decided in between may have taken its place.
        let Some(proposal) = alone(pass, &each) else { continue };
        let set = [&each];
        if let Err(reason) = hold_as_scheduled(pass, &set, &proposal) {
            pass.stays(each.at, [reason]);
            continue;
        }
        let reason = tell::underutilized(&set, &proposal);
        pass.decide(Method::SingleNode, &set, QUESTION, proposal, reason);
    }
}

/// What could be done about one machine. If nothing, it gets its reason.
fn alone<'s>(pass: &mut Pass<'s>, each: &Removable<'s>) -> Option<Proposal> {
    let set = [each];
    if pass.ledger.left(each.pool, REASON) == 0 {
        pass.stays_by_budget(each, REASON);
        return None;
    }
    // What saves most is that nothing comes in its place.
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
