//! Replacement of drifted instances.

use joiner_core::{
    disruption::{DisruptionReason, Method},
    plan::PlannedClaim,
    pool::Readiness,
    reason::{Reason, ReasonId},
};

use super::{
    ahead::Way,
    candidate::Removable,
    pass::{Pass, Proposal, by_price, in_turns},
    simulate::Question,
    tell,
};
use crate::static_claim;

const REASON: DisruptionReason = DisruptionReason::Drifted;

/// Static pools: each drifted instance is replaced by a new one, without looking at its pods.
pub(super) fn decide_static(pass: &mut Pass<'_>) {
    let drifted = in_order(pass.candidates(|each| each.may_drift(true)));
    for each in drifted {
        if waits_after_failure(pass, &each) {
            continue;
        }
        let successor = match successor(pass, &each) {
            Ok(successor) => successor,
            Err(reason) => {
                pass.stays(each.at, [reason]);
                continue;
            }
        };
        if pass.ledger.left(each.pool, REASON) == 0 {
            pass.stays_by_budget(&each, REASON);
            continue;
        }
        let proposal = Proposal {
            replacements: successor.into_iter().collect(),
            destinations: Vec::new(),
            // The replacement costs as much.
            savings: 0.0,
            score: 0.0,
            scores: Vec::new(),
        };
        let reason = tell::drifted(&each, &proposal);
        pass.decide(Method::StaticDrift, &[&each], Question::default(), proposal, reason);
    }
}

/// The instance that replaces one of a static pool. `None` if the pool has no room for one more and may delete
/// first: the pool is filled up again afterwards.
fn successor(pass: &Pass<'_>, each: &Removable<'_>) -> Result<Option<PlannedClaim>, Reason> {
    let (snapshot, name) = (pass.scene.snapshot, each.pool);
    let pool = snapshot.pools.iter().find(|pool| pool.name == name);
    let why = match pool.map(|pool| &pool.readiness) {
        Some(Readiness::Ready) => None,
        Some(Readiness::NotReady(why)) => Some(why.as_str()),
        Some(Readiness::Deleting) => Some("it is being deleted"),
        None => Some("it is not there"),
    };
    if let Some(why) = why {
        let message = format!(
            "NodePool {name:?} can make no instances now, so none would take the place of this one: \
             {why}"
        );
        return Err(Reason::new(ReasonId::PoolNotReady, message).in_pool(name));
    }
    if room(pass, each)? {
        return Ok(pool.map(|pool| static_claim(pool, &snapshot.catalog.well_known)));
    }
    // Instances that were deleted and not replaced yet are missing too. No budget counts them.
    let replicas = each.rules.replicas.unwrap_or_default();
    let missing = pass.ledger.missing(name, replicas);
    if missing > 0 && pass.ledger.left(name, REASON) <= missing {
        let message = format!(
            "NodePool {name:?} keeps {replicas} instances, of which {missing} are not there yet: no \
             other may go before they have joined, or its budgets allow more to be away"
        );
        let reason = Reason::new(ReasonId::BudgetUsed, message).in_pool(name);
        return Err(reason.with("reason", REASON).with("missing", missing));
    }
    Ok(None)
}

/// Whether a static pool has room for one instance more than its replicas. If it has none and may delete first, the
/// answer is no. Otherwise it is the reason why the instance stays.
fn room(pass: &Pass<'_>, each: &Removable<'_>) -> Result<bool, Reason> {
    let pool = each.pool;
    let claims = pass.scene.ours().filter(|(_, node, ..)| node.pool.as_deref() == Some(pool));
    let (leaving, staying): (Vec<_>, Vec<_>) = claims.partition(|(_, node, ..)| node.leaving);
    // Instances that this pass replaces exist twice until the old ones are gone.
    let coming = pass.ledger.taken(pool) as usize;
    let replicas = each.rules.replicas.unwrap_or_default() as usize;
    if staying.len() > replicas {
        let message = format!(
            "NodePool {pool:?} has {} instances and keeps {replicas}; drifted ones are replaced once \
             there are no more than that",
            staying.len()
        );
        return Err(Reason::new(ReasonId::StaticReplicas, message).in_pool(pool));
    }
    let Some(limit) = each.rules.nodes_max else { return Ok(true) };
    let there = staying.len() + leaving.len() + coming;
    if there < limit as usize {
        return Ok(true);
    }
    if each.rules.delete_first {
        return Ok(false);
    }
    let message = format!(
        "NodePool {pool:?} is limited to {limit} nodes and has {there}, so no replacement can come \
         first"
    );
    let reason = Reason::new(ReasonId::PoolLimitReached, message).in_pool(pool);
    Err(reason.with("resource", "nodes").with("limit", limit).with("left", 0))
}

/// All other pools: the pods of an instance must have places, whatever those cost.
pub(super) fn decide(pass: &mut Pass<'_>, way: Way) {
    let mut drifted = in_order(pass.candidates(|each| each.may_drift(false)));
    if way == Way::DearestFirst {
        drifted.sort_by(by_price);
    }
    let question = Question::default();
    for each in drifted {
        if !pass.is_free(each.at) {
            continue;
        }
        if waits_after_failure(pass, &each) {
            continue;
        }
        if pass.ledger.left(each.pool, REASON) == 0 {
            pass.stays_by_budget(&each, REASON);
            continue;
        }
        let outcome = pass.simulator.without(&[each.at], question);
        if !outcome.homeless.is_empty() {
            let reason = pass.homeless(&[&each], question, &outcome.homeless);
            pass.stays(each.at, [reason.with("drifted", true)]);
            continue;
        }
        let cost = outcome.claims.iter().fold(0.0, |sum, claim| sum + claim.price);
        let proposal = Proposal {
            replacements: outcome.claims,
            destinations: outcome.existing,
            savings: each.price - cost,
            score: 0.0,
            scores: Vec::new(),
        };
        let reason = tell::drifted(&each, &proposal);
        pass.decide(Method::Drift, &[&each], question, proposal, reason);
        if way != Way::AllAtOnce {
            return;
        }
    }
}

/// Empty instances first, then the oldest drift. Pools take turns, so that a pool whose instances cannot be
/// replaced does not block the others.
fn in_order(mut drifted: Vec<Removable<'_>>) -> Vec<Removable<'_>> {
    drifted.sort_by_key(|each| {
        let since = each.claim.drifted.as_ref().map(|drifted| drifted.since);
        (!each.is_empty(), since, each.name())
    });
    in_turns(drifted)
}

/// Whether an instance stays for now because a replacement in its pool has failed.
///
/// COMPAT: upstream retries an instance that cannot be replaced before all others (defect 12).
fn waits_after_failure(pass: &mut Pass<'_>, each: &Removable<'_>) -> bool {
    let resumes = each.rules.drift_resumes.filter(|at| *at > pass.scene.fleet.now);
    let Some(resumes) = resumes else { return false };
    let message = format!(
        "replacing a drifted instance of NodePool {:?} has failed; it is tried again from {resumes}",
        each.pool
    );
    let reason = Reason::new(ReasonId::DriftBackoff, message).in_pool(each.pool);
    pass.stays(each.at, [reason.with("until", resumes)]);
    true
}
