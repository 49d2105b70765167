//! Which instances to let go together.

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

/// As many instances as Karpenter's search looks at together, counted from 0.
const UPSTREAM_LAST: usize = 100;

/// The part of their price for which instances are moved together even if the policy Balanced would not.
const SAVED_MIN: f64 = 1.0 / 3.0;

/// With how many more instances a set is tried.
const GROWTH_TRIES_MAX: usize = 16;

/// After how many exchanges that came to nothing no more are tried.
const EXCHANGES_IN_VAIN_MAX: usize = 64;

/// How many instances are tried when a set is gathered that may get a new one.
const GATHER_TRIES_MAX: usize = 32;

/// In how many orders that are as good as any instances are asked to go one by one.
const SHUFFLES: usize = 8;

/// What could be done about some instances, and what it comes to.
#[derive(Debug)]
pub(super) struct Found<'c, 's> {
    pub(super) set: Vec<&'c Removable<'s>>,
    pub(super) proposal: Proposal,
    /// Whether Karpenter would do just this, worth it or not.
    is_karpenters: bool,
}

impl<'c, 's> Found<'c, 's> {
    pub(super) fn new(set: Vec<&'c Removable<'s>>, proposal: Proposal) -> Self {
        Self { set, proposal, is_karpenters: false }
    }

    /// Those of `candidates` that are not in it.
    fn others(&self, candidates: &'c [Removable<'s>]) -> impl Iterator<Item = &'c Removable<'s>> {
        let own: BTreeSet<usize> = self.set.iter().map(|each| each.at).collect();
        candidates.iter().filter(move |each| !own.contains(&each.at))
    }

    /// Whether pods of others are to go to this instance.
    fn is_to_receive(&self, each: &Removable<'_>) -> bool {
        self.proposal.destinations.iter().any(|to| to.name() == each.name())
    }

    /// What it saves, its moving considered.
    fn worth(&self, totals: &BTreeMap<&str, Totals>) -> f64 {
        balanced::worth(&self.set, self.proposal.savings, totals)
    }

    /// Whether it is done: it is worth its moving, or saves a good part of what the instances cost, or is what Karpenter
    /// would do.
    pub(super) fn pays(&self, totals: &BTreeMap<&str, Totals>) -> bool {
        let price: f64 = self.set.iter().map(|each| each.price).sum();
        let is_much = !replacement::is_less(self.proposal.savings, SAVED_MIN * price);
        self.is_karpenters || is_much || self.worth(totals) >= 0.0
    }

    /// Is worth more than the other, its moving considered; of equals the one that moves less.
    fn is_better_than(&self, other: &Self, totals: &BTreeMap<&str, Totals>) -> bool {
        let cost = |found: &Self| found.set.iter().map(|each| each.cost).sum::<f64>();
        let (own, others) = (self.worth(totals), other.worth(totals));
        replacement::is_less(others, own)
            || (!replacement::is_less(own, others) && cost(self) < cost(other))
    }
}

/// In which order instances are asked to go: Karpenter's, then those whose pods are the least dear to move, then those that
/// save most, then the small ones, of which several become one. Which of them leads furthest depends on the cluster.
const ORDERS: [fn(&Removable<'_>, &Removable<'_>) -> Ordering; 4] =
    [by_ratio, by_cost, by_price, |a, b| by_price(b, a)];

/// A search that is made again and again while less and less is left.
///
/// Karpenter looks for the longest run of the best instances that can go together. This looks for the same, and besides
/// among the instances of each pool and of each type, in other orders, and for sets that are no runs. It takes what is
/// worth most, its moving considered, and leaves what does not pay unless Karpenter would do it, too. Where very many
/// instances may go at once, each question is dear: then it asks fewer.
#[derive(Debug, Default)]
pub(super) struct Search<'s> {
    /// Room only becomes less, so a pool or type that had nothing to offer in an order is not asked
    /// again.
    fruitless: BTreeSet<(usize, Group<'s>)>,
}

impl<'s> Search<'s> {
    /// The best that can be done about some of these instances, which come in Karpenter's order. Where they are not all
    /// there are, it is not known what Karpenter would do.
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
        // What is left is looked at next; but an instance that comes now takes no more pods then.
        if is_thorough || !found.proposal.replacements.is_empty() {
            found = grown(pass, candidates, found)?;
        }
        if is_thorough {
            found = exchanged(pass, candidates, found);
        }
        found.set.sort_by(|a, b| by_ratio(a, b));
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
                group.sort_by(|a, b| by(a, b));
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

/// Instances that are looked at together: those of a pool and type, or of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Group<'s> {
    pool: Option<&'s str>,
    instance_type: Option<&'s str>,
}

impl<'s> Group<'s> {
    const ALL: Self = Self { pool: None, instance_type: None };

    /// The instances of the same pool and type.
    fn of(each: &Removable<'s>) -> Self {
        let instance_type = each.instance_type.map(|of| of.name.as_str());
        Self { pool: Some(each.pool), instance_type }
    }
}

/// All instances, then those of each pool, then those of each pool's types; only groups of two or
/// more, and none that has the same instances as one before.
fn groups<'c, 's>(candidates: &'c [Removable<'s>]) -> Vec<(Group<'s>, Vec<&'c Removable<'s>>)> {
    let mut groups: BTreeMap<Group<'s>, Vec<&Removable<'s>>> = BTreeMap::new();
    for each in candidates {
        let own = Group::of(each);
        for group in [Group::ALL, Group { instance_type: None, ..own }, own] {
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

/// Runs from the beginning that can go together, besides the one that halving has found.
///
/// Halving finds what Karpenter finds. Whether a run can go does not only depend on its length, though: two instances may
/// be replaced by nothing cheaper and three by something that is. And a longer run may save more and be worth less.
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

/// The run that Karpenter finds among instances that come in its order.
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

/// Lengths from 2 to `most`, each by half again as long as the one before once they get long.
fn run_lengths(most: usize) -> Vec<usize> {
    const EVERY_MAX: usize = 12;
    let longer = |length: &usize| Some(length + if *length < EVERY_MAX { 1 } else { length / 2 });
    let mut lengths: Vec<usize> =
        std::iter::successors(Some(2), longer).take_while(|length| *length < most).collect();
    lengths.extend((most >= 2).then_some(most));
    lengths
}

/// A set with more instances from further down the order, past one that does not fit in.
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

/// A set, or none yet, with every instance in turn with which it is worth more and still pays.
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
        // Whoever takes pods of the others cannot go by itself any more.
        let receives = found.as_ref().is_some_and(|found| found.is_to_receive(each));
        let alone = if receives { 0.0 } else { worth_alone(pass, each, &joined) };
        let is_better = replacement::is_less(before + alone, joined.worth(&pass.totals));
        if (joined.pays(&pass.totals) || !has_paid) && is_better {
            found = Some(joined);
        }
    }
    found
}

/// A set that is worth more: instances whose pods are dear to move stay, and others go in their stead.
fn exchanged<'c, 's>(
    pass: &mut Pass<'s>,
    candidates: &'c [Removable<'s>],
    mut found: Found<'c, 's>,
) -> Found<'c, 's> {
    let mut others: Vec<&Removable<'s>> = found.others(candidates).collect();
    found.set.sort_by(|a, b| by_cost(b, a));
    others.sort_by(|a, b| by_cost(a, b));
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

/// Instances of a kind are as dear as each other and as dear to move: if one cannot go, another hardly can.
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

/// Sets that are gathered instance by instance. A run cannot leave out the one instance that is in the way of all others;
/// these can.
fn gathered<'c, 's>(
    pass: &mut Pass<'s>,
    candidates: &'c [Removable<'s>],
    is_thorough: bool,
) -> Vec<Found<'c, 's>> {
    let mut order: Vec<&Removable<'s>> = candidates.iter().collect();
    let mut all = Vec::new();
    let (orders, shuffles) = if is_thorough { (ORDERS.len(), SHUFFLES) } else { (2, 0) };
    for by in &ORDERS[..orders] {
        order.sort_by(|a, b| by(a, b));
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

/// The instances that can go one after the other without a new one. Whether they can go together, too, is asked once.
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

/// A set in which nobody waits for a new instance that is none of its concern: those that can go without it are a set of
/// their own, or go alone. The others are looked at again once that is decided. If no set is left, the positions of those
/// that would have waited.
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
    // Instances that have received pods cannot go in the same pass.
    let own: BTreeSet<&str> = found.set.iter().map(|each| each.name()).collect();
    let leaves_the_others_alone =
        |proposal: &Proposal| !proposal.destinations.iter().any(|to| own.contains(to.name()));
    let untied = together(pass, &set).filter(leaves_the_others_alone);
    let untied = untied.map(|proposal| Found::new(set, proposal));
    Ok(untied.filter(|it| it.pays(&pass.totals)).unwrap_or(found))
}

/// What could be done about several instances, if budgets let them go at once.
fn affordable<'s>(pass: &mut Pass<'s>, set: &[&Removable<'s>]) -> Option<Proposal> {
    let pools = set.iter().map(|each| ((), each.pool));
    if pass.ledger.within(pools, REASON).len() < set.len() {
        return None;
    }
    together(pass, set)
}

/// What it is worth that an instance goes by itself. Instances that need not wait for the same new one are not tied
/// together; where none comes, nobody waits.
fn worth_alone<'s>(pass: &mut Pass<'s>, each: &Removable<'s>, joined: &Found<'_, 's>) -> f64 {
    if joined.proposal.replacements.is_empty() {
        return 0.0;
    }
    let alone = ask(pass, &[each]);
    alone.map_or(0.0, |it| balanced::worth(&[each], it.savings, &pass.totals).max(0.0))
}

#[cfg(test)]
mod tests;
