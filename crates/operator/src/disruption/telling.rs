//! Reports commands: events on nodes and claims, metrics, and the log.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use joiner_api::node_claim::NodeClaim;
use joiner_core::{
    disruption::{
        Allowance, Command, ConsolidationPolicy, Decision, DisruptionReason, Disruptions, Fleet,
        Method, Rejected, Score, Staying,
    },
    plan::PlannedClaim,
    reason::{Reason, ReasonId},
};
use joiner_plan::explain::remedy;

use super::{marking::Marked, record::Record};
use crate::{
    claims,
    context::Context,
    disrupted,
    events::{Event, Subject},
    metrics::gauge_set::Series,
    provisioning::telling::{pod_subject, tell_made},
};

/// The controller's name in the log.
const CONTROLLER: &str = "disruption";

/// A command in one line, as events show it: `replace: [node-a] -> [1 replacement]`.
pub(super) fn short(command: &Command) -> String {
    let nodes: Vec<&str> = command.candidates.iter().map(|it| it.node.as_str()).collect();
    in_a_line(command.decision, "", &nodes, command.replacements.len())
}

/// The same line for one of its instances.
fn short_for(command: &Command, node: &str) -> String {
    let all = command.candidates.len();
    let part = if all > 1 { format!(" (part of {all}-node consolidation)") } else { String::new() };
    in_a_line(command.decision, "", &[node], command.replacements.len()) + &part
}

/// The full line for the log.
fn long(command: &Command, record: &Record) -> String {
    let nodes: Vec<&str> = record.candidates.iter().map(|it| it.node.as_str()).collect();
    let pools: BTreeSet<&str> = pools_of(command).collect();
    let pools: Vec<&str> = pools.into_iter().collect();
    let pools = format!("nodepools=[{}]: ", pools.join(", "));
    let line = in_a_line(record.decision, &pools, &nodes, record.replacements.len());
    format!("{}/{}: {line} (savings: ${:.2})", record.reason, record.id, command.savings)
}

fn in_a_line(decision: Decision, pools: &str, nodes: &[&str], replacements: usize) -> String {
    let nodes = nodes.join(", ");
    match decision {
        Decision::Delete => format!("delete: {pools}[{nodes}]"),
        Decision::Replace => {
            let s = if replacements == 1 { "" } else { "s" };
            format!("replace: {pools}[{nodes}] -> [{replacements} replacement{s}]")
        }
    }
}

fn pools_of(command: &Command) -> impl Iterator<Item = &str> {
    command.candidates.iter().map(|candidate| candidate.node_pool.as_str())
}

/// The nodes of a command.
pub(super) fn node_names(record: &Record) -> String {
    let nodes: Vec<&str> = record.candidates.iter().map(|it| it.node.as_str()).collect();
    nodes.join(", ")
}

/// A reason as metrics write it.
fn lower(reason: DisruptionReason) -> &'static str {
    match reason {
        DisruptionReason::Underutilized => "underutilized",
        DisruptionReason::Empty => "empty",
        DisruptionReason::Drifted => "drifted",
        DisruptionReason::Unhealthy => "unhealthy",
    }
}

/// A decision as metrics write it.
fn decision_word(decision: Decision) -> &'static str {
    match decision {
        Decision::Delete => "delete",
        Decision::Replace => "replace",
    }
}

/// A policy as pools write it.
fn policy_word(policy: ConsolidationPolicy) -> &'static str {
    match policy {
        ConsolidationPolicy::WhenEmpty => "WhenEmpty",
        ConsolidationPolicy::WhenEmptyOrUnderutilized => "WhenEmptyOrUnderutilized",
        ConsolidationPolicy::Balanced => "Balanced",
    }
}

/// The node and the claim of an instance, as far as they exist.
fn subjects(context: &Context, node: &str, claim: &str) -> Vec<Subject> {
    context.cache.read(|world| {
        let node = world.nodes.named(node).map(|node| Subject::of(&**node));
        let claim = world.node_claims.named(claim).map(|claim| Subject::of(&**claim));
        node.into_iter().chain(claim).collect()
    })
}

fn pool_subject(context: &Context, pool: &str) -> Option<Subject> {
    context.cache.read(|world| world.node_pools.named(pool).map(|pool| Subject::of(&**pool)))
}

/// Reports Joiner's instances that several nodes name. None of them is a candidate until a user
/// removes the wrong node.
pub(super) fn shared_instances(context: &Context) {
    let is_meant =
        |claim: &NodeClaim| context.provider_of(claim).is_some() && !claims::is_deleting(claim);
    let events = context.cache.read(|world| {
        let mut events = Vec::new();
        for (id, nodes) in world.shared_instances() {
            let claims = world.claims_of(id).filter(|claim| is_meant(claim));
            let mut about: Vec<Subject> = claims.map(|claim| Subject::of(&**claim)).collect();
            if about.is_empty() {
                continue;
            }
            let several = claims::several_nodes(nodes.iter().map(|node| &***node));
            let why = format!("the instance stays while {several}");
            about.extend(nodes.iter().map(|node| Subject::of(&***node)));
            events.extend(about.iter().map(|it| Event::disruption_blocked(it, &why)));
        }
        events
    });
    for event in events {
        context.events.tell(event);
    }
}

/// Reports a pass: how many instances are eligible, what budgets allow, and why instances stay.
pub(super) fn looked(context: &Context, disruptions: &Disruptions, fleet: &Fleet) {
    eligible(context, &disruptions.eligible);
    allowances(context, &disruptions.allowances);
    disruptions.staying.iter().for_each(|staying| stays(context, staying, fleet));
}

/// COMPAT: upstream's methods with the same reason overwrite each other's number. Both
/// consolidations examine the same instances, so the larger number counts. Drifted instances of
/// static and other pools are different ones, so they add up.
fn eligible(context: &Context, eligible: &[(Method, usize)]) {
    let mut numbers: BTreeMap<DisruptionReason, usize> =
        DisruptionReason::OF_METHODS.iter().map(|reason| (*reason, 0)).collect();
    for (method, count) in eligible {
        let known = numbers.entry(method.budget()).or_default();
        *known = match method {
            Method::StaticDrift | Method::Drift => *known + count,
            _ => *count.max(known),
        };
    }
    for (reason, count) in numbers {
        context.metrics.voluntary_disruption_eligible_nodes(lower(reason)).set(count as f64);
    }
}

fn allowances(context: &Context, allowances: &[Allowance]) {
    let mut allowed: BTreeMap<String, Vec<Series>> = BTreeMap::new();
    let mut consuming: BTreeMap<String, Vec<Series>> = BTreeMap::new();
    for allowance in allowances {
        let Allowance { pool, reason, .. } = allowance;
        let series = |count: u32| Series::new(&[pool.as_str(), reason.as_str()], count.into());
        allowed.entry(pool.clone()).or_default().push(series(allowance.allowed));
        consuming.entry(pool.clone()).or_default().push(series(allowance.consuming));
        if let Some(error) = &allowance.error {
            // Users read it in the pool's condition.
            tracing::debug!(controller = CONTROLLER, NodePool.name = pool, "{error}");
        } else if allowance.instances > 0
            && allowance.allowed == 0
            && let Some(subject) = pool_subject(context, pool)
        {
            context.events.tell(Event::pool_disruption_blocked(&subject, reason.as_str()));
        }
    }
    context.metrics.nodepools_allowed_disruptions().replace_all(allowed);
    context.metrics.nodepools_nodes_consuming_budgets().replace_all(consuming);
}

/// The kind of event for a reason to stay, if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// The instance cannot be removed.
    Blocked,
    /// It could be removed, but that would save nothing.
    Unconsolidatable,
}

/// The kind of event for a reason to stay. Instances that are young, leaving or part of a command
/// need no event. Budgets are reported on their pool.
fn told(reason: &Reason) -> Option<Told> {
    match reason.id {
        ReasonId::NodeTooYoung
        | ReasonId::NodeLeaving
        | ReasonId::NodeExpired
        // Reported on all of its Nodes.
        | ReasonId::NodeShared
        | ReasonId::NodeQueued
        | ReasonId::NodeReceives
        | ReasonId::NodeLater
        | ReasonId::BudgetClosed
        | ReasonId::BudgetUsed
        | ReasonId::BudgetInvalid
        | ReasonId::DriftBackoff
        | ReasonId::MoveUnsettled
        | ReasonId::StaticReplicas
        // It blocks nothing, and is reported on the pod.
        | ReasonId::PodBare => None,
        // A drifted instance is replaced whether that saves money or not.
        ReasonId::PodWouldNotFit if reason.params.contains_key("drifted") => Some(Told::Blocked),
        ReasonId::NodeTypeUnknown
        | ReasonId::NodeLabelMissing
        | ReasonId::PoolConsolidationOff
        | ReasonId::PoolWhenEmpty
        | ReasonId::PodWouldNotFit
        | ReasonId::MoveReplacementsMoreThanOne
        | ReasonId::MoveNotCheaper
        | ReasonId::MoveEqualShape
        | ReasonId::MoveUnsteady
        | ReasonId::MoveScore
        | ReasonId::MoveSpotToSpot
        | ReasonId::MoveSpotOptions
        | ReasonId::MinValuesUnmet
        | ReasonId::BufferProtects
        | ReasonId::RevertedRecently => Some(Told::Unconsolidatable),
        _ => Some(Told::Blocked),
    }
}

/// Reports the first reason of each kind for which an instance stays, and pods that would be lost
/// with it.
fn stays(context: &Context, staying: &Staying, fleet: &Fleet) {
    for reason in staying.reasons.iter().filter(|reason| reason.id == ReasonId::PodBare) {
        let pod = reason.params.get("pod").and_then(|pod| pod_subject(context, pod));
        if let Some(pod) = pod {
            let event = Event::pod_without_owner(&pod, &reason.message, &remedy(reason));
            context.events.tell(event);
        }
    }
    let first = |wanted: Told| staying.reasons.iter().find(|it| told(it) == Some(wanted));
    let blocked = first(Told::Blocked);
    // Whether a move would save money is irrelevant while the instance is blocked.
    let unconsolidatable = first(Told::Unconsolidatable).filter(|_| blocked.is_none());
    if blocked.is_none() && unconsolidatable.is_none() {
        return;
    }
    for subject in subjects(context, &staying.node, &staying.claim) {
        if let Some(reason) = blocked {
            let why = with_remedy(&with_kind(&reason.message, &staying.node), reason);
            context.events.tell(Event::disruption_blocked(&subject, &why));
        }
        if let Some(reason) = unconsolidatable {
            let why = with_remedy(&reason.message, reason);
            context.events.tell(Event::unconsolidatable(&subject, &why));
        }
    }
    let scored = staying.reasons.iter().filter(|reason| reason.id == ReasonId::MoveScore);
    for reason in scored {
        let score = reason.params.get("score").and_then(|score| score.parse().ok());
        let pool = reason.node_pool.as_deref().unwrap_or_default();
        judged(context, "rejected", pool, policy_of(fleet, pool), score);
    }
}

/// The message with a kind before a leading node name: events capitalize their first letter.
fn with_kind<'m>(message: &'m str, node: &str) -> Cow<'m, str> {
    let begins = message.strip_prefix(node).is_some_and(|rest| rest.starts_with(' '));
    if begins { Cow::Owned(format!("node {message}")) } else { Cow::Borrowed(message) }
}

/// Why an instance stays, and the remedy.
fn with_remedy(message: &str, reason: &Reason) -> String {
    // The reason of a pause already says how to resume.
    let remedy =
        Some(remedy(reason)).filter(|it| !it.is_empty() && reason.id != ReasonId::DisruptionPaused);
    match remedy {
        Some(remedy) => format!("{message}. What helps: {remedy}"),
        None => message.to_owned(),
    }
}

fn policy_of(fleet: &Fleet, pool: &str) -> ConsolidationPolicy {
    fleet.pools.get(pool).map(|rules| rules.policy).unwrap_or_default()
}

fn judged(
    context: &Context,
    decision: &str,
    pool: &str,
    policy: ConsolidationPolicy,
    score: Option<f64>,
) {
    let policy = policy_word(policy);
    context.metrics.consolidation_moves(decision, pool, policy).inc();
    if let Some(score) = score {
        context.metrics.consolidation_score(decision, pool, policy).observe(score);
    }
}

/// Reports a proposal.
pub(super) fn proposed(context: &Context, command: &Command, fleet: &Fleet) {
    for candidate in &command.candidates {
        let text = short_for(command, &candidate.node);
        for subject in subjects(context, &candidate.node, &candidate.node_claim) {
            context.events.tell(Event::consolidation_candidate(&subject, &text, command.savings));
        }
    }
    if matches!(command.method, Method::MultiNode | Method::SingleNode) {
        let pools: BTreeSet<&str> = pools_of(command).collect();
        for pool in pools {
            let score = command.scores.iter().find(|score| score.node_pool == pool);
            let worth = score.map(|score| score.score);
            judged(context, "approved", pool, policy_of(fleet, pool), worth);
            if let Some(score) = score {
                approved(context, command, score);
            }
        }
    }
    tracing::debug!(
        controller = CONTROLLER,
        command = short(command),
        "{}",
        command.reason.message
    );
}

/// Reports that a Balanced pool approves a command. For several nodes the event is on the pool.
fn approved(context: &Context, command: &Command, score: &Score) {
    let told = match command.candidates.as_slice() {
        [only] => subjects(context, &only.node, &only.node_claim),
        _ => pool_subject(context, &score.node_pool).into_iter().collect(),
    };
    for subject in told {
        context.events.tell(Event::consolidation_approved(&subject, score));
    }
}

/// Reports that the validation rejected a command.
///
/// COMPAT: upstream loses these events for commands about several nodes.
pub(super) fn rejected(context: &Context, command: &Command, rejected: &Rejected) {
    let failed = context
        .metrics
        .voluntary_disruption_failed_validations(command.method.consolidation_type());
    failed.inc_by(command.candidates.len() as u64);
    let why = rejected.because.as_str();
    for candidate in &command.candidates {
        let text = short_for(command, &candidate.node);
        for subject in subjects(context, &candidate.node, &candidate.node_claim) {
            context.events.tell(Event::consolidation_rejected(
                &subject,
                &text,
                why,
                command.savings,
            ));
        }
    }
    tracing::info!(
        controller = CONTROLLER,
        command = short(command),
        "command is not carried out: {}",
        rejected.message
    );
}

/// Reports that the validation rejected some instances of a command.
pub(super) fn left_out(context: &Context, command: &Command, held: &Command) {
    let lost = command.candidates.len().saturating_sub(held.candidates.len());
    let failed = context
        .metrics
        .voluntary_disruption_failed_validations(command.method.consolidation_type());
    failed.inc_by(lost as u64);
}

/// Reports that a command begins.
pub(super) fn begun(context: &Context, command: &Command, record: &Record) {
    let (decision, reason) = (decision_word(record.decision), lower(record.reason));
    let kind = record.method.consolidation_type();
    context.metrics.voluntary_disruption_decisions(decision, reason, kind).inc();
    let pools: BTreeSet<&str> = pools_of(command).collect();
    for pool in pools {
        let decisions = &context.metrics;
        decisions.voluntary_disruption_decisions_by_nodepool(pool, decision, reason, kind).inc();
    }
    tracing::info!(
        controller = CONTROLLER,
        command = long(command, record),
        decision,
        reason,
        nodes = record.candidates.len(),
        replacements = record.replacements.len(),
        pods = command.candidates.iter().map(|candidate| candidate.pods.len()).sum::<usize>(),
        "disrupting node(s): {}",
        command.reason.message
    );
    let bare = command.reason.params.get("bare").into_iter().flat_map(|pods| pods.split(", "));
    for (key, pod) in bare.filter_map(|pod| Some((pod, pod_subject(context, pod)?))) {
        let why = format!("pod {key} has no owner, and its instance goes: nobody starts it again");
        let reason = Reason::new(ReasonId::PodBare, why).with("pod", key);
        let event = Event::pod_without_owner(&pod, &reason.message, &remedy(&reason));
        context.events.tell(event);
    }
}

/// Reports that a replacement was created.
pub(super) fn made(context: &Context, record: &Record, claim: &NodeClaim, planned: &PlannedClaim) {
    tell_made(context, CONTROLLER, lower(record.reason), claim, &planned.pods);
    let launching = Event::disruption_launching(&Subject::of(claim), record.reason.as_str());
    context.events.tell(launching);
}

/// Reports that a command waits for a replacement.
pub(super) fn waiting(context: &Context, record: &Record, claim: &NodeClaim) {
    let subject = Subject::of(claim);
    context.events.tell(Event::disruption_launching(&subject, record.reason.as_str()));
    context.events.tell(Event::disruption_waiting_readiness(&subject));
}

/// Reports that a candidate is deleted.
pub(super) fn deleted(context: &Context, record: &Record, instance: &Marked) {
    let claim = &*instance.claim;
    for subject in instance.subjects() {
        context.events.tell(Event::disruption_terminating(&subject, record.reason.as_str()));
    }
    let policy = policy_label(context, record.method, claim);
    disrupted::count_claim_under(context, claim, lower(record.reason), policy);
    disrupted::count_pods_under(context, claim, lower(record.reason), policy);
    tracing::info!(
        controller = CONTROLLER,
        command = %record.id,
        NodeClaim.name = claims::name(&claim.metadata),
        reason = lower(record.reason),
        "deleted nodeclaim"
    );
}

/// The consolidation policy of a claim's pool, as metrics write it; drift has none.
fn policy_label(context: &Context, method: Method, claim: &NodeClaim) -> &'static str {
    if matches!(method, Method::StaticDrift | Method::Drift) {
        return "";
    }
    let pool = context.pool_of(claim);
    let disruption = pool.as_ref().and_then(|pool| pool.spec.disruption.as_ref());
    match disruption.and_then(|disruption| disruption.consolidation_policy.as_deref()) {
        Some("WhenEmpty") => "when_empty",
        Some("Balanced") => "balanced",
        _ => "when_empty_or_underutilized",
    }
}

/// Reports a failed command, with the number of replacements that were not ready.
///
/// COMPAT: upstream writes the decision into the label for the type of consolidation.
pub(super) fn failed(context: &Context, record: &Record, not_ready: usize) {
    let failures = context.metrics.voluntary_disruption_queue_failures(
        decision_word(record.decision),
        lower(record.reason),
        record.method.consolidation_type(),
    );
    failures.inc_by(not_ready as u64);
}

#[cfg(test)]
mod tests {
    use joiner_core::disruption::Candidate;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use crate::disruption::record::{CommandId, Going};

    fn command(nodes: &[&str], replacements: usize) -> Command {
        let candidate = |node: &&str| Candidate {
            node_claim: format!("claim-{node}"),
            node: (*node).to_owned(),
            node_pool: "general".to_owned(),
            pods: Vec::new(),
        };
        Command {
            method: Method::MultiNode,
            decision: if replacements == 0 { Decision::Delete } else { Decision::Replace },
            candidates: nodes.iter().map(candidate).collect(),
            replacements: vec![PlannedClaim::default(); replacements],
            destinations: Vec::new(),
            reason: Reason::new(ReasonId::PoolNone, "for a test"),
            savings: 0.123,
            score: 0.0,
            scores: Vec::new(),
        }
    }

    /// V-21.
    #[test]
    fn a_command_in_a_line() {
        assert_eq!(short(&command(&["n1", "n2"], 0)), "delete: [n1, n2]");
        assert_eq!(short(&command(&["n1"], 1)), "replace: [n1] -> [1 replacement]");
        assert_eq!(short(&command(&["n1"], 2)), "replace: [n1] -> [2 replacements]");
        assert_eq!(
            short_for(&command(&["n1", "n2", "n3"], 0), "n1"),
            "delete: [n1] (part of 3-node consolidation)"
        );
    }

    /// V-21.
    #[test]
    fn the_log_has_reason_id_pools_and_savings() {
        let going = Going {
            node_claim: "claim-n1".to_owned(),
            uid: "uid".to_owned(),
            node: "n1".to_owned(),
        };
        let record = Record {
            id: CommandId("c1".to_owned()),
            method: Method::SingleNode,
            reason: DisruptionReason::Underutilized,
            decision: Decision::Replace,
            candidates: vec![going],
            replacements: vec!["general-x".to_owned()],
            begun: Time("2026-01-01T00:00:00Z".parse().unwrap()),
            why: String::new(),
        };
        assert_eq!(
            long(&command(&["n1"], 1), &record),
            "Underutilized/c1: replace: nodepools=[general]: [n1] -> [1 replacement] (savings: \
             $0.12)"
        );
    }
}
