//! The policy Balanced: does a move save enough for the pods it moves?
//!
//! The score divides the share of the pool's price that is saved by the share of its eviction cost.
//!
//! A restless pool is held to this policy for a while, whatever its own policy. A pool may also require another
//! score ([`MinScore`]).

use std::collections::BTreeMap;

use jiff::Timestamp;
use joiner_core::{
    disruption::{ConsolidationPolicy, MinScore, PoolRules, Score},
    label::CONSOLIDATION_MIN_SCORE,
    reason::{Reason, ReasonId},
};

use super::{
    candidate::{Removable, Totals},
    patience::{Patience, Unrest},
};

/// Karpenter's `k` of the policy Balanced, where it is fixed at 2. The share of pods that moves may be `k` times
/// the share of the price that is saved.
const K: f64 = 2.0;
/// Moves with at least this score are made. Karpenter's threshold: 1 / `k`.
pub(super) const SCORE_MIN: f64 = 1.0 / K;

/// The share of a pool's price that is saved, divided by the share of its eviction cost.
pub(super) fn score(savings: f64, cost: f64, totals: Totals) -> f64 {
    if !(totals.price > 0.0 && totals.cost > 0.0 && savings > 0.0) {
        return 0.0;
    }
    if cost <= 0.0 {
        return f64::INFINITY;
    }
    (savings / totals.price) / (cost / totals.cost)
}

/// The scores of a move that every pool allows.
#[derive(Debug)]
pub(super) struct Approved {
    /// The lowest score over all pools. It is [`f64::MAX`] rather than infinity, which JSON cannot hold.
    pub(super) score: f64,
    /// The score for each pool that requires one.
    pub(super) scores: Vec<Score>,
}

/// The scores of a move, or the reason of the first pool that refuses it.
pub(super) fn approve(
    set: &[&Removable<'_>],
    savings: f64,
    totals: &BTreeMap<&str, Totals>,
) -> Result<Approved, Reason> {
    let mut approved = Approved { score: f64::MAX, scores: Vec::new() };
    for (part, judged) in judged(set, savings, totals) {
        approved.score = approved.score.min(judged.score);
        if let Some(Patience::Wait { until }) = part.of_pool.patience {
            return Err(part.waits(until));
        }
        if let Some(reason) = part.unreadable() {
            return Err(reason);
        }
        let is_asked = part.min_score().is_some() || part.of_pool.patience.is_some();
        if is_asked && judged.score < judged.threshold {
            return Err(part.refusal(&judged));
        }
        approved.scores.extend(part.min_score().is_some().then_some(judged));
    }
    Ok(approved)
}

/// Whether a move reaches the policy's threshold in every pool, whether the pool requires it or not.
pub(super) fn is_worth_it(
    set: &[&Removable<'_>],
    savings: f64,
    totals: &BTreeMap<&str, Totals>,
) -> bool {
    judged(set, savings, totals).iter().all(|(_, judged)| judged.score >= SCORE_MIN)
}

/// The savings of a move, less the price that the policy Balanced puts on its evictions. Below 0 the policy would
/// refuse the move.
pub(super) fn worth(set: &[&Removable<'_>], savings: f64, totals: &BTreeMap<&str, Totals>) -> f64 {
    let moving = set.iter().map(|each| {
        let of_pool = totals.get(each.pool).copied().unwrap_or_default();
        if of_pool.cost > 0.0 { each.cost * of_pool.price / of_pool.cost } else { 0.0 }
    });
    savings - SCORE_MIN * moving.sum::<f64>()
}

/// Where a pool's required score comes from.
#[derive(Debug, Clone, Copy)]
enum Asked<'s> {
    Nobody,
    ByPolicy,
    ByAnnotation(&'s MinScore),
}

impl<'s> Asked<'s> {
    fn of(rules: &'s PoolRules) -> Self {
        match &rules.min_score {
            Some(asked) => Self::ByAnnotation(asked),
            None if rules.policy == ConsolidationPolicy::Balanced => Self::ByPolicy,
            None => Self::Nobody,
        }
    }
}

/// The score of a move for each of its pools.
fn judged<'s>(
    set: &[&Removable<'s>],
    savings: f64,
    totals: &BTreeMap<&str, Totals>,
) -> Vec<(Part<'s>, Score)> {
    let all: f64 = set.iter().map(|each| each.price).sum();
    let mut pools: BTreeMap<&str, Part<'s>> = BTreeMap::new();
    for each in set {
        let of_pool = totals.get(each.pool).copied().unwrap_or_default();
        let asked = Asked::of(each.rules);
        let new = Part { pool: each.pool, asked, price: 0.0, cost: 0.0, of_pool };
        let part = pools.entry(each.pool).or_insert(new);
        part.price += each.price;
        part.cost += each.cost;
    }
    let judge = |part: Part<'s>| {
        let share = if all > 0.0 { savings * part.price / all } else { 0.0 };
        let judged = part.judge(share);
        (part, judged)
    };
    pools.into_values().map(judge).collect()
}

/// The instances of one pool that go in a move.
struct Part<'s> {
    pool: &'s str,
    asked: Asked<'s>,
    price: f64,
    cost: f64,
    of_pool: Totals,
}

impl Part<'_> {
    /// The score that the pool requires. `None` if it requires none, or if its annotation is unreadable.
    fn min_score(&self) -> Option<f64> {
        match self.asked {
            Asked::ByPolicy => Some(SCORE_MIN),
            Asked::ByAnnotation(MinScore::Score(score)) => Some(*score),
            Asked::ByAnnotation(MinScore::Unreadable(_)) | Asked::Nobody => None,
        }
    }

    /// The reason of a pool whose annotation is unreadable. Its instances stay.
    fn unreadable(&self) -> Option<Reason> {
        let Asked::ByAnnotation(asked) = self.asked else { return None };
        let message = format!("NodePool {:?}: {}", self.pool, asked.problem()?);
        let reason = Reason::new(ReasonId::MoveScore, message).in_pool(self.pool);
        Some(reason.with("unreadable", CONSOLIDATION_MIN_SCORE))
    }

    /// The score that is required now, or the policy's threshold where none is.
    fn threshold(&self) -> f64 {
        let while_restless = match self.of_pool.patience {
            Some(Patience::Pick { score_min, .. }) => Some(score_min),
            _ => None,
        };
        let asked = self.min_score().into_iter().chain(while_restless);
        asked.reduce(f64::max).unwrap_or(SCORE_MIN)
    }

    fn judge(&self, savings: f64) -> Score {
        let Self { pool, cost, of_pool, .. } = self;
        let percent = |part: f64, whole: f64| if whole > 0.0 { 100.0 * part / whole } else { 0.0 };
        Score {
            node_pool: (*pool).to_owned(),
            score: score(savings, *cost, *of_pool),
            threshold: self.threshold(),
            savings: percent(savings.max(0.0), of_pool.price),
            disruption: percent(*cost, of_pool.cost),
        }
    }

    fn waits(&self, until: Timestamp) -> Reason {
        let Self { pool, of_pool: Totals { unrest, .. }, .. } = self;
        let Unrest { busy, emptied, instances } = unrest;
        let message = match emptied {
            0 => format!(
                "{busy} of the {instances} instances of NodePool {pool:?} are not quiet yet, and what \
                 is moved now might have to move again: that waits until most of them are, at the \
                 latest until {until:.0}"
            ),
            _ => format!(
                "{emptied} of the {instances} instances of NodePool {pool:?} hold nothing any more and \
                 go in a moment, unless what is moved now is put there: that waits until they are \
                 gone, at the latest until {until:.0}"
            ),
        };
        Reason::new(ReasonId::MoveUnsettled, message)
            .in_pool(pool)
            .with("until", format!("{until:.0}"))
    }

    fn refusal(&self, judged: &Score) -> Reason {
        let Score { node_pool, score, threshold, savings, disruption } = judged;
        let scored = format!(
            "the best move saves {savings:.1}% of what NodePool {node_pool:?} costs and moves \
             {disruption:.1}% of its pods: score {score:.2}"
        );
        let reason = |id, message: String| {
            let reason = Reason::new(id, message).in_pool(node_pool);
            reason.with("score", format!("{score:.4}")).with("threshold", threshold)
        };
        if self.min_score().is_none_or(|least| *score >= least) {
            let Unrest { busy, instances, .. } = self.of_pool.unrest;
            let message = format!(
                "{scored}, and {threshold:.2} is asked for while {busy} of its {instances} instances \
                 are not quiet yet"
            );
            return reason(ReasonId::MoveUnsettled, message);
        }
        if let Asked::ByAnnotation(_) = self.asked {
            let by = format!("annotation {CONSOLIDATION_MIN_SCORE}");
            let message = format!("{scored}, and its {by} asks for {threshold:.2}");
            return reason(ReasonId::MoveScore, message)
                .with("annotation", CONSOLIDATION_MIN_SCORE);
        }
        let message = format!("{scored}, and its policy Balanced asks for {threshold:.2}");
        reason(ReasonId::MoveScore, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score_of(savings: f64, cost: f64, price: f64, total: f64) -> f64 {
        score(savings, cost, Totals { price, cost: total, ..Totals::default() })
    }

    /// The scores of Karpenter's documentation, and the boundary cases.
    #[test]
    fn the_share_saved_is_held_against_the_share_moved() {
        for (savings, cost, price, total, expected) in [
            (7.26, 4.0, 58.08, 90.0, 2.8125),
            (4.84, 5.0, 58.08, 90.0, 1.5),
            (2.42, 9.0, 58.08, 90.0, 0.4167),
            (2.42, 9.0, 48.40, 90.0, 0.5),
            // The only instance of a pool.
            (3.0, 4.0, 3.0, 4.0, 1.0),
            (0.0, 4.0, 58.08, 90.0, 0.0),
            (-1.0, 4.0, 58.08, 90.0, 0.0),
            (1.0, 0.0, 58.08, 90.0, f64::INFINITY),
            (1.0, 1.0, 0.0, 90.0, 0.0),
            (1.0, 1.0, 58.08, 0.0, 0.0),
            (1.0, 1.0, f64::NAN, 90.0, 0.0),
            (f64::NAN, 1.0, 58.08, 90.0, 0.0),
        ] {
            let found = score_of(savings, cost, price, total);
            let same = found.total_cmp(&expected).is_eq() || (found - expected).abs() < 5e-5;
            assert!(same, "{savings} {cost} {price} {total}: {found}, not {expected}");
        }
    }

    #[test]
    fn the_scale_of_prices_does_not_matter() {
        let (small, large) = (score_of(1.0, 2.0, 10.0, 40.0), score_of(100.0, 2.0, 1000.0, 40.0));
        assert!((small - large).abs() < 1e-9);
    }

    #[test]
    fn the_boundary_is_approved() {
        assert!(score_of(2.42, 9.0, 48.40, 90.0) >= SCORE_MIN);
    }

    /// A restless pool requires one score, and its annotation another.
    #[test]
    fn what_a_pool_asks_for_and_what_its_unrest_does_both_count() {
        let until = Timestamp::UNIX_EPOCH;
        let patience = Some(Patience::Pick { score_min: SCORE_MIN, until });
        let of_pool = Totals { price: 10.0, cost: 10.0, patience, ..Totals::default() };
        let refused = |asked: f64| {
            let asked = MinScore::Score(asked);
            let asked = Asked::ByAnnotation(&asked);
            let part = Part { pool: "general", asked, price: 5.0, cost: 5.0, of_pool };
            let judged = part.judge(2.0);
            (judged.threshold, part.refusal(&judged).id)
        };
        assert_eq!(refused(0.1), (0.5, ReasonId::MoveUnsettled));
        assert_eq!(refused(2.0), (2.0, ReasonId::MoveScore));
    }
}
