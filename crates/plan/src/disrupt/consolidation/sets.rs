//! Which machines to let go together.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    hash::BuildHasher,
};

use rustc_hash::FxBuildHasher;

use super::{
    super::{
        candidate::Removable,
        pass::{Pass, Proposal, by_cost, by_price, by_ratio},
        replacement,
    },
    REASON, ask, together,
};

/// As many machines as Karpenter's search looks at together, counted from 0.
const UPSTREAM_LAST: usize = 100;

/// By how many more machines a set that gets one replacement is tried to be enlarged.
const GROWTH_TRIES_MAX: usize = 16;

/// How many machines are tried when a set is gathered.
const GATHER_TRIES_MAX: usize = 32;

/// In how many orders that are as good as any machines are tried, and up to how many machines.
const SHUFFLES: usize = 8;
const SHUFFLED_MAX: usize = 64;

/// What could be done about some machines, and what it comes to.
#[derive(Debug)]
pub(super) struct Found<'c, 's> {
    pub(super) set: Vec<&'c Removable<'s>>,
    pub(super) proposal: Proposal,
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

/// A search that is made again and again while less and less is left.
///
/// Karpenter looks for the longest run of the best machines that can go together. This looks for the
/// same, and besides among the machines of each pool and of each type, in other orders, and for sets
/// that are no runs, and takes what saves most.
#[derive(Debug, Default)]
pub(super) struct Search<'s> {
    /// Room only becomes less, so a pool or type that had nothing to offer in an order is not asked
    /// again.
    fruitless: BTreeSet<(usize, Group<'s>)>,
}

impl<'s> Search<'s> {
    /// The best that can be done about some of these machines, which come in Karpenter's order.
    pub(super) fn best<'c>(
        &mut self,
        pass: &mut Pass<'s>,
        candidates: &'c [Removable<'s>],
        is_thorough: bool,
    ) -> Option<Found<'c, 's>> {
        let mut all = self.runs(pass, candidates, is_thorough);
        if is_thorough {
            all.extend(gathered(pass, candidates));
        }
        let better = |best: Found<'c, 's>, found: Found<'c, 's>| {
            if found.is_better_than(&best) { found } else { best }
        };
        let best = all.into_iter().reduce(better)?;
        let mut found = grown(pass, candidates, best)?;
        found.set.sort_by(|a, b| by_ratio(a, b));
        Some(found)
    }

    fn runs<'c>(
        &mut self,
        pass: &mut Pass<'s>,
        candidates: &'c [Removable<'s>],
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
                match longest_run(pass, &affordable) {
                    Some(found) => all.push(found),
                    None => self.fruitless.extend((of != Group::ALL).then_some((order, of))),
                }
            }
        }
        all
    }
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
    let mut found = run_by_halving(pass, order);
    let beyond = found.as_ref().map_or(1, |found| found.set.len());
    for length in run_lengths(order.len()).into_iter().filter(|length| *length > beyond) {
        if let Some(proposal) = together(pass, &order[..length]) {
            let best = found.as_ref().map_or(f64::NEG_INFINITY, |best| best.proposal.savings);
            if replacement::is_less(best, proposal.savings) {
                found = Some(Found { set: order[..length].to_vec(), proposal });
            }
        }
    }
    found
}

/// The run that Karpenter finds.
pub(super) fn run_by_halving<'c, 's>(
    pass: &mut Pass<'s>,
    order: &[&'c Removable<'s>],
) -> Option<Found<'c, 's>> {
    let (mut low, mut high) = (1, order.len().checked_sub(1)?.min(UPSTREAM_LAST));
    let mut best = None;
    while low <= high {
        let middle = usize::midpoint(low, high);
        match together(pass, &order[..=middle]) {
            Some(proposal) => {
                best = Some(Found { set: order[..=middle].to_vec(), proposal });
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

/// A set that gets one new machine may take in machines further down the order, past one that does
/// not fit in. For a set that gets none this is not worth trying: what is left is looked at next.
fn grown<'c, 's>(
    pass: &mut Pass<'s>,
    candidates: &'c [Removable<'s>],
    found: Found<'c, 's>,
) -> Option<Found<'c, 's>> {
    if found.proposal.replacements.is_empty() {
        return Some(found);
    }
    let others = candidates.iter().filter(|each| !found.set.iter().any(|own| own.at == each.at));
    let others: Vec<&Removable<'s>> = others.take(GROWTH_TRIES_MAX).collect();
    enlarged(pass, Some(found), &others)
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
    let found = enlarged(pass, None, &order[..order.len().min(GATHER_TRIES_MAX)]);
    found.filter(|found| found.set.len() >= 2)
}

/// A set, or none yet, with every machine in turn with which more is saved.
fn enlarged<'c, 's>(
    pass: &mut Pass<'s>,
    mut found: Option<Found<'c, 's>>,
    order: &[&'c Removable<'s>],
) -> Option<Found<'c, 's>> {
    for each in order {
        let mut set = found.as_ref().map_or_else(Vec::new, |found| found.set.clone());
        set.push(*each);
        let pools = set.iter().map(|each| (*each, each.pool));
        if pass.ledger.within(pools, REASON).len() < set.len() {
            continue;
        }
        let Some(proposal) = together(pass, &set) else { continue };
        let before = found.as_ref().map_or(f64::NEG_INFINITY, |found| found.proposal.savings);
        if pays_together(pass, before, each, &proposal) {
            found = Some(Found { set, proposal });
        }
    }
    found
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
