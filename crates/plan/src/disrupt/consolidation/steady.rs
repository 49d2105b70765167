//! Whether a move still works if the scheduler, and not the plan, places the pods.

use std::collections::BTreeMap;

use joiner_core::{
    plan::PlannedClaim,
    pod::{Pod, Size},
    reason::{Reason, ReasonId},
};

use super::{
    super::{
        balanced,
        candidate::Removable,
        pass::{Pass, Proposal},
        simulate::Outcome,
    },
    Found, QUESTION, together,
};

/// The largest part of a set that passes [`hold_as_scheduled`]: all of it, half, a quarter, and so on, if that part
/// pays. The check is expensive, so only the chosen set is checked.
pub(super) fn part<'c, 's>(pass: &mut Pass<'s>, mut found: Found<'c, 's>) -> Option<Found<'c, 's>> {
    let mut holds = hold_as_scheduled(pass, &found.set, &found.proposal).is_ok();
    while !holds {
        let half = found.set.len() / 2;
        if half < 2 {
            return None;
        }
        found.set.truncate(half);
        let proposal = together(pass, &found.set)?;
        found = Found::new(found.set, proposal);
        holds = found.pays(&pass.totals)
            && hold_as_scheduled(pass, &found.set, &found.proposal).is_ok();
    }
    Some(found)
}

/// Whether a move still works if the scheduler places the pods. The scheduler does not know the plan. Another pod
/// may take the planned place, and then a new instance would be created for the pod that is left over.
///
/// COMPAT: upstream trusts its own placement, and repeats such moves again and again.
pub(in super::super) fn hold_as_scheduled(
    pass: &mut Pass<'_>,
    set: &[&Removable<'_>],
    proposal: &Proposal,
) -> Result<(), Reason> {
    // Pods that all go to one new instance fit there in any order.
    let is_one_place = proposal.destinations.is_empty() && proposal.replacements.len() == 1;
    if !pass.scene.settings.as_scheduled || is_one_place {
        return Ok(());
    }
    let unsteady = |why: &str, pod: &str| {
        let message = format!(
            "the pods fit on other instances as planned, but the scheduler may put them otherwise, \
             and then pod {pod} would be left over and need an instance again{why}"
        );
        Err(Reason::new(ReasonId::MoveUnsteady, message).with("pod", pod))
    };
    if !balanced::is_worth_it(set, proposal.savings, &pass.totals)
        && let Some(pod) = rivalled(pass, set, proposal)
    {
        return unsteady("; what is saved is not worth that", pod);
    }
    let instances: Vec<usize> = set.iter().map(|each| each.at).collect();
    let outcome = pass.simulator.scheduled(&instances, QUESTION);
    left_over(&outcome, proposal).map_or(Ok(()), |pod| unsteady("", pod))
}

/// A pod planned for a new instance that may find its place taken there. A new instance is the emptiest, so the
/// scheduler prefers it for any pod. Smaller pods are evicted later, and equal pods are interchangeable. But a
/// larger pod that was planned elsewhere can arrive first.
fn rivalled<'p>(
    pass: &Pass<'_>,
    set: &[&Removable<'_>],
    proposal: &'p Proposal,
) -> Option<&'p String> {
    let moving = set.iter().flat_map(|each| each.moving());
    let moving: BTreeMap<String, &Pod> = moving.map(|pod| (pod.key(), pod)).collect();
    let elsewhere = proposal.destinations.iter().flat_map(|there| &there.pods);
    let elsewhere: Vec<Option<&Pod>> = elsewhere.map(|pod| moving.get(pod).copied()).collect();
    proposal.replacements.iter().find_map(|claim| {
        let types = pass.scene.snapshot.catalog.types(&claim.node_pool).iter();
        let types: Vec<_> =
            types.filter(|each| claim.instance_types.contains(&each.name)).collect();
        let is_rival = |planned: &Pod, other: &Pod| {
            let requests = &other.spec.requests;
            Size::of(requests) >= Size::of(&planned.spec.requests)
                && (&planned.labels, &planned.spec) != (&other.labels, &other.spec)
                && types.iter().any(|each| requests.fits(&each.capacity))
        };
        claim.pods.iter().find(|pod| {
            let planned = moving.get(*pod);
            // A pod that was pending before may be scheduled at any time, so it always counts as a rival.
            elsewhere.iter().any(|other| {
                planned.zip(*other).is_none_or(|(planned, other)| is_rival(planned, other))
            })
        })
    })
}

/// The first pod without a place on the existing instances and the proposal's new ones.
fn left_over<'o>(outcome: &'o Outcome, proposal: &Proposal) -> Option<&'o String> {
    let mut left: Vec<&PlannedClaim> = proposal.replacements.iter().collect();
    let mut is_made = |claim: &PlannedClaim| {
        let holds = |promised: &PlannedClaim| {
            promised.node_pool == claim.node_pool
                && promised.instance_types.iter().all(|it| claim.instance_types.contains(it))
        };
        left.iter().position(|promised| holds(promised)).map(|at| left.remove(at)).is_some()
    };
    let more = outcome.claims.iter().filter(|claim| !is_made(claim));
    outcome.homeless.iter().chain(more.flat_map(|claim| &claim.pods)).next()
}
