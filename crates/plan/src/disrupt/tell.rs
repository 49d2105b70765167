//! Messages about commands: what is removed, where its pods go, and how much is saved.

use joiner_core::{
    plan::{ExistingPlacement, PlannedClaim},
    reason::{Reason, ReasonId},
};

use super::{candidate::Removable, pass::Proposal};

/// How many instances a message names. The value was chosen so that a message stays short.
const NAMED_MAX: usize = 3;

/// The reason for removing empty instances.
pub(super) fn empty(set: &[&Removable<'_>], savings: f64) -> Reason {
    let message = match set {
        [only] => format!(
            "{} holds nothing that would have to move; {savings:.4} per hour are saved",
            only.name()
        ),
        _ => format!(
            "{} instances hold nothing that would have to move: {}; {savings:.4} per hour are saved",
            set.len(),
            instances(set)
        ),
    };
    facts(Reason::new(ReasonId::NodeEmpty, message), set, savings)
}

/// The reason for replacing a drifted instance.
pub(super) fn drifted(each: &Removable<'_>, proposal: &Proposal) -> Reason {
    let why = each.claim.drifted.as_ref().map_or("", |drifted| drifted.reason.as_str());
    let what =
        format!("{} is not what NodePool {:?} wants any more ({why})", each.name(), each.pool);
    let message = if each.is_static() {
        let when = if proposal.replacements.is_empty() { "once it is gone" } else { "first" };
        format!("{what}; another one takes its place {when}")
    } else {
        format!("{what}; {}{}", places(&[each], proposal), forced(each))
    };
    let reason = Reason::new(ReasonId::NodeDrifted, message).in_pool(each.pool);
    facts(reason.with("drift", why), &[each], proposal.savings)
}

/// What protects pods of the instance, if that only delays its removal.
fn forced(each: &Removable<'_>) -> String {
    let kept = each.held.first().map(|kept| {
        format!("; {}, but not beyond the instance's terminationGracePeriod", kept.message)
    });
    kept.unwrap_or_default()
}

/// The reason for consolidating instances.
pub(super) fn underutilized(set: &[&Removable<'_>], proposal: &Proposal) -> Reason {
    let savings = proposal.savings;
    let message =
        format!("{}: {}; {savings:.4} per hour are saved", instances(set), places(set, proposal));
    facts(Reason::new(ReasonId::NodeUnderutilized, message), set, savings)
}

fn facts(reason: Reason, set: &[&Removable<'_>], savings: f64) -> Reason {
    let pods: usize = set.iter().map(|each| each.moving().count()).sum();
    let reason = reason
        .with("instances", set.len())
        .with("pods", pods)
        .with("savings", format!("{savings:.4}"));
    let bare: Vec<String> = set.iter().flat_map(|each| each.bare()).collect();
    if bare.is_empty() { reason } else { reason.with("bare", bare.join(", ")) }
}

fn instances(set: &[&Removable<'_>]) -> String {
    listed(set.iter().map(|each| each.name().to_owned()).collect())
}

fn listed(mut names: Vec<String>) -> String {
    if names.len() > NAMED_MAX + 1 {
        let others = names.len() - NAMED_MAX;
        names.truncate(NAMED_MAX);
        names.push(format!("{others} others"));
    }
    match names.pop() {
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} and {last}", names.join(", ")),
        None => String::new(),
    }
}

fn places(set: &[&Removable<'_>], proposal: &Proposal) -> String {
    let pods: usize = set.iter().map(|each| each.moving().count()).sum();
    let there = proposal.destinations.iter().map(existing);
    let new = proposal.replacements.iter().map(new_instance);
    let places: Vec<String> = there.chain(new).collect();
    let gone: Vec<String> = set.iter().flat_map(|each| each.bare()).collect();
    let lost = match gone.as_slice() {
        [] => String::new(),
        [pod] => format!("; nobody starts pod {pod} again, since it has no owner"),
        [pod, others @ ..] => format!(
            "; nobody starts pod {pod} and {} others again, since they have no owner",
            others.len()
        ),
    };
    let moved = match pods {
        0 => "nothing has to move".to_owned(),
        1 => format!("its pod fits on {}", listed(places)),
        count => format!("the {count} pods fit on {}", listed(places)),
    };
    moved + &lost
}

fn existing(at: &ExistingPlacement) -> String {
    format!("{} ({})", at.name(), at.pods.len())
}

fn new_instance(claim: &PlannedClaim) -> String {
    let cheapest = claim.instance_types.first().map_or("any type", String::as_str);
    format!(
        "a new {cheapest} at {:.4} per hour ({}, NodePool {:?})",
        claim.price,
        claim.pods.len(),
        claim.node_pool
    )
}
