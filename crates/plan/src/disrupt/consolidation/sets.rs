//! Choosing the sets of instances that are removed together.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    hash::BuildHasher,
};

use rustc_hash::FxBuildHasher;

use super::{
    super::{
        balanced,
        candidate::{Removable, Totals},
        pass::{Pass, Proposal, by_cost, by_price, by_ratio},
        replacement,
    },
    QUESTION, REASON, ask, together,
};

/// Karpenter's limit: the last index of the candidates that its search looks at together.
const UPSTREAM_LAST: usize = 100;

/// A set that the policy Balanced would refuse is removed all the same if it saves this share of its price. One
/// half was tried on `bench e2e` as well, and a third was kept. A smaller share saves more and moves more pods (D43
/// of docs/compat.md).
const SAVED_MIN: f64 = 1.0 / 3.0;

/// With how many more instances a set is tried at most. The value was chosen and not measured separately: each try
/// is a simulation, and more tries find slightly better sets.
const GROWTH_TRIES_MAX: usize = 16;

/// After this many unsuccessful exchanges the search stops. The value was chosen and not measured separately: it
/// trades time for cheaper moves.
const EXCHANGES_IN_VAIN_MAX: usize = 64;

/// How many instances are tried at most when a set is built that may need a new instance. The value was chosen and
/// not measured separately: each try is a simulation.
const GATHER_TRIES_MAX: usize = 32;

/// In how many further orders, each as good as any, instances are removed one by one. The value was chosen and not
/// measured separately: each order costs one walk over all candidates.
const SHUFFLES: usize = 8;

/// A set of instances with its possible command.
#[derive(Debug)]
pub(super) struct Found<'c, 's> {
    pub(super) set: Vec<&'c Removable<'s>>,
    pub(super) proposal: Proposal,
    /// Whether Karpenter's search finds this set too. Such a set is removed whatever it saves.
    is_karpenters: bool,
}

impl<'c, 's> Found<'c, 's> {
    pub(super) fn new(set: Vec<&'c Removable<'s>>, proposal: Proposal) -> Self {
        Self { set, proposal, is_karpenters: false }
    }

    /// Those of `candidates` that are not in the set.
    fn others(&self, candidates: &'c [Removable<'s>]) -> impl Iterator<Item = &'c Removable<'s>> {
        let members: BTreeSet<usize> = self.set.iter().map(|each| each.at).collect();
        candidates.iter().filter(move |each| !members.contains(&each.at))
    }

    /// Whether pods of the set would move to this instance.
    fn is_to_receive(&self, each: &Removable<'_>) -> bool {
        self.proposal.destinations.iter().any(|to| to.name() == each.name())
    }

    /// The savings less the price of the evictions.
    fn worth(&self, totals: &BTreeMap<&str, Totals>) -> f64 {
        balanced::worth(&self.set, self.proposal.savings, totals)
    }

    /// Whether the set may be removed: it is worth its evictions, saves at least `SAVED_MIN` of its price, or is
    /// Karpenter's choice.
    pub(super) fn pays(&self, totals: &BTreeMap<&str, Totals>) -> bool {
        let price: f64 = self.set.iter().map(|each| each.price).sum();
        let is_much = !replacement::is_less(self.proposal.savings, SAVED_MIN * price);
        self.is_karpenters || is_much || self.worth(totals) >= 0.0
    }

    /// Whether this set is worth more than the other. Of equals, the one with the lower eviction cost is better.
    fn is_better_than(&self, other: &Self, totals: &BTreeMap<&str, Totals>) -> bool {
        let cost = |found: &Self| found.set.iter().map(|each| each.cost).sum::<f64>();
        let (self_worth, other_worth) = (self.worth(totals), other.worth(totals));
        replacement::is_less(other_worth, self_worth)
            || (!replacement::is_less(self_worth, other_worth) && cost(self) < cost(other))
    }
}

/// The orders in which candidates are tried: Karpenter's, the lowest eviction cost first, the most expensive first,
/// and the cheapest first. Several of the cheapest may become one instance. Which order is best depends on the
/// cluster.
const ORDERS: [fn(&Removable<'_>, &Removable<'_>) -> Ordering; 4] =
    [by_ratio, by_cost, by_price, |left, right| by_price(right, left)];

/// The search for the best set, repeated until nothing is left.
///
/// Karpenter looks for the longest prefix of its candidates that can be removed together. This search tries that
/// too. It also tries each pool and each type, other orders, and sets that are no prefixes. The set that is worth
/// most wins. A set that does not pay is only removed if Karpenter would remove it. If very many instances may be
/// removed at once, each simulation is expensive, so the search tries fewer sets.
#[derive(Debug, Default)]
pub(super) struct Search<'s> {
    /// Groups for which an order found nothing. They are not tried again, because free capacity only shrinks during
    /// a pass.
    fruitless: BTreeSet<(usize, Group<'s>)>,
}

impl<'s> Search<'s> {
    /// The best set of these candidates, which come in Karpenter's order. If they are not all candidates,
    /// Karpenter's choice is unknown.
    pub(super) fn best<'c>(
        &mut self,
        pass: &mut Pass<'s>,
        candidates: &'c [Removable<'s>],
        are_all: bool,
        is_thorough: bool,
    ) -> Option<Found<'c, 's>> {
        let mut all = self.runs(pass, candidates, are_all, is_thorough);
        all.extend(gathered(pass, candidates, is_thorough));
        all.retain(|found| found.pays(&pass.totals));
        let better = |best: Found<'c, 's>, found: Found<'c, 's>| {
            if found.is_better_than(&best, &pass.totals) { found } else { best }
        };
        let mut found = all.into_iter().reduce(better)?;
        // Further instances could follow in the next round. But an instance that is created now takes no more pods
        // then.
        if is_thorough || !found.proposal.replacements.is_empty() {
            found = grown(pass, candidates, found)?;
        }
        if is_thorough {
            found = exchanged(pass, candidates, found);
        }
        found.set.sort_by(|left, right| by_ratio(left, right));
        Some(found)
    }

    fn runs<'c>(
        &mut self,
        pass: &mut Pass<'s>,
        candidates: &'c [Removable<'s>],
        are_all: bool,
        is_thorough: bool,
    ) -> Vec<Found<'c, 's>> {
        let orders = if is_thorough { &ORDERS[..] } else { &ORDERS[..1] };
        let mut all = Vec::new();
        for (order, by) in orders.iter().enumerate() {
            for (of, mut group) in groups(candidates) {
                if self.fruitless.contains(&(order, of)) {
                    continue;
                }
                group.sort_by(|left, right| by(left, right));
                let affordable =
                    pass.ledger.within(group.iter().map(|each| (*each, each.pool)), REASON);
                let mut halved = run_by_halving(pass, &affordable);
                if let Some(found) = &mut halved {
                    found.is_karpenters = are_all && (order, of) == (0, Group::ALL);
                }
                let others = if is_thorough {
                    other_runs(pass, &affordable, halved.as_ref())
                } else {
                    Vec::new()
                };
                if halved.is_none() && others.is_empty() && of != Group::ALL {
                    self.fruitless.insert((order, of));
                }
                all.extend(halved.into_iter().chain(others));
            }
        }
        all
    }
}

/// Instances that are tried together: all, those of a pool, or those of a pool and type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Group<'s> {
    pool: Option<&'s str>,
    instance_type: Option<&'s str>,
}

impl<'s> Group<'s> {
    const ALL: Self = Self { pool: None, instance_type: None };

    fn of(each: &Removable<'s>) -> Self {
        let instance_type = each.instance_type.map(|of| of.name.as_str());
        Self { pool: Some(each.pool), instance_type }
    }
}

/// All instances, then those of each pool, then those of each pool's types. Groups have at least two instances, and
/// no two groups are equal.
fn groups<'c, 's>(candidates: &'c [Removable<'s>]) -> Vec<(Group<'s>, Vec<&'c Removable<'s>>)> {
    let mut groups: BTreeMap<Group<'s>, Vec<&Removable<'s>>> = BTreeMap::new();
    for each in candidates {
        let same_type = Group::of(each);
        for group in [Group::ALL, Group { instance_type: None, ..same_type }, same_type] {
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

/// Further prefixes that can be removed together, besides the one that binary search has found.
///
/// Binary search finds what Karpenter finds. But a longer prefix can succeed where a shorter one fails. Two
/// instances may have no cheaper replacement, and three may have one. A longer prefix may also save more and be
/// worth less.
fn other_runs<'c, 's>(
    pass: &mut Pass<'s>,
    order: &[&'c Removable<'s>],
    halved: Option<&Found<'c, 's>>,
) -> Vec<Found<'c, 's>> {
    let known = halved.map_or(0, |found| found.set.len());
    let lengths = run_lengths(order.len()).into_iter().filter(|length| *length != known);
    let run = |length: usize| {
        let proposal = together(pass, &order[..length])?;
        Some(Found::new(order[..length].to_vec(), proposal))
    };
    lengths.filter_map(run).collect()
}

/// The prefix that Karpenter finds among candidates in its order.
pub(super) fn as_karpenter<'c, 's>(
    pass: &mut Pass<'s>,
    candidates: &'c [Removable<'s>],
) -> Option<Found<'c, 's>> {
    let may_go = pass.ledger.within(candidates.iter().map(|each| (each, each.pool)), REASON);
    run_by_halving(pass, &may_go)
}

fn run_by_halving<'c, 's>(
    pass: &mut Pass<'s>,
    order: &[&'c Removable<'s>],
) -> Option<Found<'c, 's>> {
    let (mut low, mut high) = (1, order.len().checked_sub(1)?.min(UPSTREAM_LAST));
    let mut best = None;
    while low <= high {
        let middle = usize::midpoint(low, high);
        match together(pass, &order[..=middle]) {
            Some(proposal) => {
                best = Some(Found::new(order[..=middle].to_vec(), proposal));
                low = middle + 1;
            }
            None => high = middle - 1,
        }
    }
    best
}

/// Lengths from 2 to `most`. Short ones grow by one, longer ones by half of the length.
fn run_lengths(most: usize) -> Vec<usize> {
    // Prefixes up to this length are all tried. The value was chosen and not measured separately: each length is a
    // simulation.
    const EVERY_MAX: usize = 12;
    let longer = |length: &usize| Some(length + if *length < EVERY_MAX { 1 } else { length / 2 });
    let mut lengths: Vec<usize> =
        std::iter::successors(Some(2), longer).take_while(|length| *length < most).collect();
    lengths.extend((most >= 2).then_some(most));
    lengths
}

/// The set with more instances from later in the order, skipping those that do not fit.
fn grown<'c, 's>(
    pass: &mut Pass<'s>,
    candidates: &'c [Removable<'s>],
    found: Found<'c, 's>,
) -> Option<Found<'c, 's>> {
    let mut kinds = BTreeSet::new();
    let others = found.others(candidates).filter(|each| kinds.insert(Kind::of(each)));
    let others: Vec<&Removable<'s>> = others.take(GROWTH_TRIES_MAX).collect();
    enlarged(pass, Some(found), &others)
}

/// Adds each instance in turn to the set, or to an empty one, if the set is then worth more and still pays.
fn enlarged<'c, 's>(
    pass: &mut Pass<'s>,
    mut found: Option<Found<'c, 's>>,
    order: &[&'c Removable<'s>],
) -> Option<Found<'c, 's>> {
    for each in order {
        let mut set = found.as_ref().map_or_else(Vec::new, |found| found.set.clone());
        set.push(*each);
        let Some(proposal) = affordable(pass, &set) else { continue };
        let joined = Found::new(set, proposal);
        let before = found.as_ref().map_or(f64::NEG_INFINITY, |found| found.worth(&pass.totals));
        let has_paid = found.as_ref().is_some_and(|found| found.pays(&pass.totals));
        // An instance that receives pods of the set cannot be removed alone any more.
        let receives = found.as_ref().is_some_and(|found| found.is_to_receive(each));
        let alone = if receives { 0.0 } else { worth_alone(pass, each, &joined) };
        let is_better = replacement::is_less(before + alone, joined.worth(&pass.totals));
        if (joined.pays(&pass.totals) || !has_paid) && is_better {
            found = Some(joined);
        }
    }
    found
}

/// Replaces instances with a high eviction cost by others with a lower one where the set is then worth more.
fn exchanged<'c, 's>(
    pass: &mut Pass<'s>,
    candidates: &'c [Removable<'s>],
    mut found: Found<'c, 's>,
) -> Found<'c, 's> {
    let mut others: Vec<&Removable<'s>> = found.others(candidates).collect();
    found.set.sort_by(|left, right| by_cost(right, left));
    others.sort_by(|left, right| by_cost(left, right));
    let mut in_vain = BTreeSet::new();
    for at in 0..found.set.len() {
        let stays = found.set[at];
        for other in 0..others.len() {
            let goes = others[other];
            if goes.cost >= stays.cost || in_vain.len() >= EXCHANGES_IN_VAIN_MAX {
                break;
            }
            let pair = [Kind::of(stays), Kind::of(goes)];
            if in_vain.contains(&pair) {
                continue;
            }
            let mut set = found.set.clone();
            set[at] = goes;
            let exchanged = affordable(pass, &set).map(|proposal| Found::new(set, proposal));
            let is_better = |it: &Found<'c, 's>| {
                it.pays(&pass.totals) && it.is_better_than(&found, &pass.totals)
            };
            if let Some(better) = exchanged.filter(is_better) {
                found = better;
                others.remove(other);
                break;
            }
            in_vain.insert(pair);
        }
    }
    found
}

/// Instances of a kind have the same group and eviction cost. If one cannot be removed, another is unlikely to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Kind<'s> {
    of: Group<'s>,
    cost: u64,
}

impl<'s> Kind<'s> {
    fn of(each: &Removable<'s>) -> Self {
        Self { of: Group::of(each), cost: each.cost.to_bits() }
    }
}

/// Sets that are built instance by instance. Unlike a prefix, they can leave out one instance that prevents the
/// removal of all others.
fn gathered<'c, 's>(
    pass: &mut Pass<'s>,
    candidates: &'c [Removable<'s>],
    is_thorough: bool,
) -> Vec<Found<'c, 's>> {
    let mut order: Vec<&Removable<'s>> = candidates.iter().collect();
    let mut all = Vec::new();
    let (orders, shuffles) = if is_thorough { (ORDERS.len(), SHUFFLES) } else { (2, 0) };
    for by in &ORDERS[..orders] {
        order.sort_by(|left, right| by(left, right));
        all.extend(one_by_one(pass, &order));
        if is_thorough {
            let first = &order[..order.len().min(GATHER_TRIES_MAX)];
            all.extend(enlarged(pass, None, first).filter(|found| found.set.len() >= 2));
        }
    }
    for shuffle in 0..shuffles {
        order.sort_by_key(|each| FxBuildHasher.hash_one((shuffle, each.name())));
        all.extend(one_by_one(pass, &order));
    }
    all
}

/// The instances that can be removed one after the other without a new one. Whether they can be removed together is
/// asked once at the end.
fn one_by_one<'c, 's>(pass: &mut Pass<'s>, order: &[&'c Removable<'s>]) -> Option<Found<'c, 's>> {
    let mut left: BTreeMap<&str, u32> = BTreeMap::new();
    let mut set: Vec<&Removable<'s>> = Vec::new();
    let mut walk = pass.simulator.walk(QUESTION);
    for each in order {
        let left = left.entry(each.pool).or_insert_with(|| pass.ledger.left(each.pool, REASON));
        if *left > 0 && walk.can_go_too(each.at) {
            *left -= 1;
            set.push(each);
        }
    }
    drop(walk);
    if set.len() < 2 {
        return None;
    }
    let proposal = together(pass, &set)?;
    Some(Found::new(set, proposal))
}

/// Separates instances whose pods need the new instance from those whose pods fit without it. The latter become a
/// set of their own, or are removed alone, so they do not wait for the new instance. The others are judged again
/// afterwards. If neither set can be used, the error holds the positions of those that would have waited.
pub(super) fn untied<'c, 's>(
    pass: &mut Pass<'s>,
    found: Found<'c, 's>,
) -> Result<Found<'c, 's>, BTreeSet<usize>> {
    let on_new: BTreeSet<&String> =
        found.proposal.replacements.iter().flat_map(|claim| &claim.pods).collect();
    let (waiting, free): (Vec<&Removable<'s>>, Vec<&Removable<'s>>) =
        found.set.iter().partition(|each| each.moving().any(|pod| on_new.contains(&pod.key())));
    if waiting.is_empty() || free.is_empty() {
        return Ok(found);
    }
    let set = if free.len() > 1 { free } else { waiting };
    if set.len() < 2 {
        return Err(set.iter().map(|each| each.at).collect());
    }
    // Instances that have received pods cannot be removed in the same pass.
    let members: BTreeSet<&str> = found.set.iter().map(|each| each.name()).collect();
    let leaves_the_others_alone =
        |proposal: &Proposal| !proposal.destinations.iter().any(|to| members.contains(to.name()));
    let untied = together(pass, &set).filter(leaves_the_others_alone);
    let untied = untied.map(|proposal| Found::new(set, proposal));
    Ok(untied.filter(|it| it.pays(&pass.totals)).unwrap_or(found))
}

/// The possible command for a set, if budgets allow all of it at once.
fn affordable<'s>(pass: &mut Pass<'s>, set: &[&Removable<'s>]) -> Option<Proposal> {
    let pools = set.iter().map(|each| ((), each.pool));
    if pass.ledger.within(pools, REASON).len() < set.len() {
        return None;
    }
    together(pass, set)
}

/// How much the removal of an instance alone is worth. An instance joins a set with a replacement only if that is
/// worth more than its removal alone. Without a replacement nothing has to wait, so the value is 0.
fn worth_alone<'s>(pass: &mut Pass<'s>, each: &Removable<'s>, joined: &Found<'_, 's>) -> f64 {
    if joined.proposal.replacements.is_empty() {
        return 0.0;
    }
    let alone = ask(pass, &[each]);
    alone.map_or(0.0, |it| balanced::worth(&[each], it.savings, &pass.totals).max(0.0))
}

#[cfg(test)]
mod tests;
