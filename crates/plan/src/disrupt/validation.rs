//! Validation of a command some time after it was proposed.

use std::collections::BTreeSet;

use joiner_core::{
    disruption::{Change, Command, Decision, DisruptionSettings, Fleet, Method, Rejected},
    label,
    plan::PlannedClaim,
    reason::{Reason, ReasonId},
    requirement::{Requirement, Requirements},
    settings::PlanSettings,
    snapshot::Snapshot,
};

use super::{
    candidate::Removable,
    consolidation::{self, Refusal},
    emptiness,
    pass::{Pass, Proposal},
    simulate::Question,
    tell,
};

pub(super) fn all(
    commands: &[Command],
    snapshot: &Snapshot,
    fleet: &Fleet,
    planning: &PlanSettings,
    settings: DisruptionSettings,
) -> Vec<Result<Command, Rejected>> {
    let named: BTreeSet<&str> = commands
        .iter()
        .flat_map(|command| &command.candidates)
        .map(|candidate| candidate.node_claim.as_str())
        .collect();
    let mut unmarked = fleet.clone();
    for (node, instance) in snapshot.nodes.iter().zip(&mut unmarked.instances) {
        if node.claim.as_deref().is_some_and(|claim| named.contains(claim)) {
            instance.queued = false;
        }
    }
    let mut pass = Pass::new(snapshot, &unmarked, planning, settings);
    commands.iter().map(|command| validate(&mut pass, command)).collect()
}

fn validate(pass: &mut Pass<'_>, command: &Command) -> Result<Command, Rejected> {
    match command.method {
        Method::Emptiness => validate_empty(pass, command),
        Method::MultiNode | Method::SingleNode => validate_consolidation(pass, command),
        // Time does not repair a drifted instance.
        Method::StaticDrift | Method::Drift => Ok(command.clone()),
    }
}

/// Instances that are no longer empty, or may no longer be removed, are left out.
fn validate_empty(pass: &mut Pass<'_>, command: &Command) -> Result<Command, Rejected> {
    let fleet = pass.scene.fleet;
    let mut still = Vec::new();
    let mut lost = None;
    for candidate in &command.candidates {
        let found = find(pass, &candidate.node_claim, command).and_then(|each| {
            match each.may_go_empty(fleet) {
                Ok(()) => Ok(each),
                Err(Some(reason)) => Err(changed(&reason)),
                Err(None) => Err(churn(format!("{} is not empty any more", each.name()))),
            }
        });
        match found {
            Ok(each) => still.push(each),
            Err(rejected) => lost = lost.or(Some(rejected)),
        }
    }
    let set =
        pass.ledger.within(still.iter().map(|each| (each, each.pool)), command.method.budget());
    let over = still.iter().find(|each| !set.iter().any(|kept| kept.at == each.at));
    lost = lost.or_else(|| over.map(|each| over_budget(pass, each, command)));
    if set.is_empty() {
        return Err(lost.unwrap_or_else(|| churn("the command names no instance".to_owned())));
    }
    let proposal = emptiness::proposal(&set);
    let reason = tell::empty(&set, proposal.savings);
    pass.settle(&set, Question::default(), &proposal.destinations);
    Ok(renewed(command, &set, proposal, reason))
}

/// All instances must still be candidates, and their pods must find places as before.
fn validate_consolidation(pass: &mut Pass<'_>, command: &Command) -> Result<Command, Rejected> {
    let fleet = pass.scene.fleet;
    let mut found = Vec::new();
    for candidate in &command.candidates {
        let each = find(pass, &candidate.node_claim, command)?;
        each.may_be_consolidated(fleet).map_err(|reason| match reason {
            Some(reason) => changed(&reason),
            None => churn(format!("{} is empty now", each.name())),
        })?;
        found.push(each);
    }
    let set: Vec<&Removable<'_>> = found.iter().collect();
    let pools = set.iter().map(|each| (*each, each.pool));
    let affordable = pass.ledger.within(pools, command.method.budget());
    let over = set.iter().find(|each| !affordable.iter().any(|kept| kept.at == each.at));
    if let Some(each) = over {
        return Err(over_budget(pass, each, command));
    }
    let instances: Vec<usize> = set.iter().map(|each| each.at).collect();
    let outcome = pass.simulator.without(&instances, consolidation::QUESTION);
    let claims = outcome.claims.clone();
    let mut proposal = match consolidation::judge(pass, &set, outcome) {
        Ok(proposal) => proposal,
        Err(Refusal::Reason(reason)) => return Err(scheduling(reason.message)),
        Err(Refusal::Homeless(pods)) => {
            let reason = pass.homeless(&set, consolidation::QUESTION, &pods);
            return Err(scheduling(reason.message));
        }
    };
    consolidation::hold_as_scheduled(pass, &set, &proposal)
        .map_err(|reason| scheduling(reason.message))?;
    if proposal.decision() != command.decision {
        let now = match proposal.decision() {
            Decision::Delete => "no new instance is needed any more",
            Decision::Replace => "a new instance would be needed now",
        };
        return Err(scheduling(now.to_owned()));
    }
    proposal.replacements = all_kept(&command.replacements, claims)?;
    proposal.savings = consolidation::savings(&set, &proposal.replacements);
    let reason = tell::underutilized(&set, &proposal);
    pass.settle(&set, consolidation::QUESTION, &proposal.destinations);
    Ok(renewed(command, &set, proposal, reason))
}

/// Each promised instance, matched to a claim that is needed now. Both must be equal in number.
fn all_kept(
    promised: &[PlannedClaim],
    mut claims: Vec<PlannedClaim>,
) -> Result<Vec<PlannedClaim>, Rejected> {
    if promised.len() != claims.len() {
        return Err(scheduling(format!(
            "new instances that are needed now: {} instead of {}",
            claims.len(),
            promised.len()
        )));
    }
    let keep_one = |promised: &PlannedClaim| {
        let fits = claims.iter().position(|claim| kept(promised, claim).is_ok());
        kept(promised, &claims.remove(fits.unwrap_or_default()))
    };
    promised.iter().map(keep_one).collect()
}

/// The promised instance with the pods of now, if all its instance types are still acceptable.
fn kept(promised: &PlannedClaim, claim: &PlannedClaim) -> Result<PlannedClaim, Rejected> {
    let options: BTreeSet<&String> = claim.instance_types.iter().collect();
    if promised.node_pool != claim.node_pool {
        return Err(scheduling(format!(
            "the new instance would now be of NodePool {:?}, not {:?}",
            claim.node_pool, promised.node_pool
        )));
    }
    if let Some(gone) = promised.instance_types.iter().find(|name| !options.contains(name)) {
        return Err(scheduling(format!("the new instance could not be a {gone} any more")));
    }
    if let Some(key) = demanded(promised, claim) {
        return Err(scheduling(format!(
            "pods demand something else of the new instance's {key} now"
        )));
    }
    Ok(PlannedClaim {
        pods: claim.pods.clone(),
        requests: claim.requests.clone(),
        ..promised.clone()
    })
}

/// A label that the promised instance may get with a value that is not acceptable now.
///
/// COMPAT: upstream compares instance types alone, and may create the instance in a zone that is no longer
/// acceptable.
fn demanded(promised: &PlannedClaim, claim: &PlannedClaim) -> Option<String> {
    let promised = Requirements::from_specs(promised.requirements.iter());
    let demanded = Requirements::from_specs(claim.requirements.iter());
    let is_met = |key: &str, wanted: &Requirement| {
        promised.get(key).is_some_and(|offered| {
            offered.intersection(wanted).with_min_values(offered.min_values()) == *offered
        })
    };
    // Instance types are compared elsewhere.
    let mut labels = demanded.iter().filter(|(key, _)| *key != label::INSTANCE_TYPE);
    labels.find(|(key, wanted)| !is_met(key, wanted)).map(|(key, _)| key.to_owned())
}

fn renewed(
    command: &Command,
    set: &[&Removable<'_>],
    proposal: Proposal,
    reason: Reason,
) -> Command {
    Command {
        method: command.method,
        decision: proposal.decision(),
        candidates: set.iter().map(|each| each.candidate()).collect(),
        replacements: proposal.replacements,
        destinations: proposal.destinations,
        reason,
        savings: proposal.savings,
        score: proposal.score,
        scores: proposal.scores,
    }
}

/// The candidate as it is now.
fn find<'s>(pass: &Pass<'s>, claim: &str, command: &Command) -> Result<Removable<'s>, Rejected> {
    let mut ours = pass.scene.ours();
    let Some((at, node, ..)) = ours.find(|(_, node, ..)| node.claim.as_deref() == Some(claim))
    else {
        return Err(churn(format!("NodeClaim {claim} is gone")));
    };
    if let Some(paused) = pass.scene.paused(node.pool.as_deref()) {
        return Err(changed(&paused));
    }
    if !pass.is_free(at) {
        let method = command.method;
        return Err(churn(format!("{} has a part in another command than {method}", node.name())));
    }
    pass.scene.removable(at, &pass.simulator).map_err(|reason| changed(&reason))
}

fn changed(reason: &Reason) -> Rejected {
    // Upstream counts a pod that was promised a place on a candidate as a budget error.
    let because = if reason.id == ReasonId::NodeNominated { Change::Budget } else { Change::Churn };
    Rejected { because, message: reason.message.clone() }
}

fn over_budget(pass: &Pass<'_>, each: &Removable<'_>, command: &Command) -> Rejected {
    let refusal = pass.ledger.refusal(each.pool, command.method.budget());
    Rejected { because: Change::Budget, message: refusal.message }
}

fn churn(message: String) -> Rejected {
    Rejected { because: Change::Churn, message }
}

fn scheduling(message: String) -> Rejected {
    Rejected { because: Change::Scheduling, message }
}
