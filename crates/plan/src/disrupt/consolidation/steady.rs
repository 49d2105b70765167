//! Moves that last: whether they hold, too, where the scheduler puts pods rather than the plan.

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

/// The part of a set that can go, too, where the scheduler has its way: all of it, or half, a quarter, and so on, if that
/// pays. Finding out is dear, so it is done for what was chosen and not for all that was tried.
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

/// Whether a move is good, too, where the scheduler puts pods rather than the plan. It knows nothing
/// of the plan: a pod may be left over whose place others have taken, and an instance like the one that
/// went would be made for it.
///
/// COMPAT: upstream takes its own plan's word for it, and makes such moves again and again.
pub(in super::super) fn hold_as_scheduled(
    pass: &mut Pass<'_>,
    set: &[&Removable<'_>],
    proposal: &Proposal,
) -> Result<(), Reason> {
    // Pods that all go to one new instance fit there, whoever of them comes.
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

/// A pod that a new instance is made for and that may find its place taken there: a new instance is the emptiest, so the
/// scheduler likes it best for any pod. Smaller ones come later, and which of those that are alike gets there does not
/// matter; but another that was to go elsewhere, where this one may have no place, can be the first.
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
        let is_rival = |own: &Pod, other: &Pod| {
            let requests = &other.spec.requests;
            Size::of(requests) >= Size::of(&own.spec.requests)
                && (&own.labels, &own.spec) != (&other.labels, &other.spec)
                && types.iter().any(|each| requests.fits(&each.capacity))
        };
        claim.pods.iter().find(|pod| {
            let own = moving.get(*pod);
            // A pod that waited for a place here comes when it likes.
            elsewhere.iter().any(|other| own.zip(*other).is_none_or(|(a, b)| is_rival(a, b)))
        })
    })
}

/// The first pod that finds no place on the instances that there are and that a proposal makes.
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
