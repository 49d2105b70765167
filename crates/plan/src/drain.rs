//! Where pods go when their instances are drained now.

use std::collections::BTreeSet;

use joiner_core::{
    disruption::{Fleet, Instance, KeptBy, PodFacts},
    plan::{ExistingPlacement, Plan, PlannedClaim, Unplaced},
    pod::{Pod, Role},
    settings::PlanSettings,
    snapshot::Snapshot,
};

use crate::provision;

/// Where the pods of drained instances would be.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Moves {
    /// On instances that exist or were launched.
    pub existing: Vec<ExistingPlacement>,
    /// On new instances, together with pods that are pending anyway.
    pub claims: Vec<PlannedClaim>,
    /// Pods without a place, with their reasons.
    pub unplaced: Vec<Unplaced>,
}

/// Where the pods of these instances go when the instances are drained now. The instances are given by their
/// positions in the snapshot. Pods that are protected for a while are evicted afterwards; those that are protected
/// for good stay.
///
/// The answer is what the planner decides once the instances are deleted. Pods may go to instances that are not
/// ready yet, and to instances that may be removed later. Instances that are already leaving may still hold the
/// pods that move off them.
pub fn drain(
    snapshot: &Snapshot,
    fleet: &Fleet,
    settings: &PlanSettings,
    instances: &[usize],
) -> Moves {
    let mut drained = snapshot.clone();
    let mut moved = BTreeSet::new();
    for (at, (node, instance)) in drained.nodes.iter_mut().zip(&fleet.instances).enumerate() {
        let is_drained = instances.contains(&at);
        node.leaving |= is_drained;
        if !node.leaving {
            continue;
        }
        for (pod, facts) in std::mem::take(&mut node.pods).into_iter().zip(&instance.pods) {
            let leaves = if is_drained { leaves(facts, instance) } else { facts.movable };
            if !leaves {
                node.pods.push(pod);
                continue;
            }
            if is_drained {
                moved.insert(pod.key());
            }
            drained.pods.push(Pod { role: Role::Moving, ..pod });
        }
    }
    Moves::of(provision(&drained, settings).plan, &moved)
}

/// Whether a pod needs another place, now or later, when its instance is drained.
fn leaves(facts: &PodFacts, instance: &Instance) -> bool {
    let is_kept_for_a_while = matches!(facts.kept_by, Some(KeptBy::DoNotDisrupt(Some(_))));
    let goes_by_force = instance.claim.as_ref().is_some_and(|claim| claim.has_grace_period);
    facts.movable || (facts.reschedulable && (is_kept_for_a_while || goes_by_force))
}

impl Moves {
    /// The part of a plan that concerns these pods.
    fn of(plan: Plan, pods: &BTreeSet<String>) -> Self {
        let is_theirs = |claim: &PlannedClaim| claim.pods.iter().any(|pod| pods.contains(pod));
        let unplaced = plan.unschedulable.into_iter().chain(plan.deferred);
        Self {
            existing: about(plan.existing, pods),
            claims: plan.claims.into_iter().filter(is_theirs).collect(),
            unplaced: unplaced.filter(|each| pods.contains(&each.pod)).collect(),
        }
    }

    /// The hourly price of the new instances.
    pub fn price(&self) -> f64 {
        self.claims.iter().fold(0.0, |sum, claim| sum + claim.price)
    }
}

/// The part of placements that concerns these pods.
pub(crate) fn about(
    placements: Vec<ExistingPlacement>,
    pods: &BTreeSet<String>,
) -> Vec<ExistingPlacement> {
    let only_theirs = |mut at: ExistingPlacement| {
        at.pods.retain(|pod| pods.contains(pod));
        (!at.pods.is_empty()).then_some(at)
    };
    placements.into_iter().filter_map(only_theirs).collect()
}

#[cfg(test)]
mod tests;
