//! Every event. Reasons, types, texts and the rules for duplicates are Karpenter's.

use std::{borrow::Cow, fmt::Write as _, time::Duration};

use jiff::Timestamp;
use joiner_api::condition::Condition;
use joiner_core::disruption::Score;

use super::{Event, EventType, Subject};

/// How long an equal event is suppressed, unless the event says otherwise. The value is
/// Karpenter's.
const QUIET: Duration = Duration::from_mins(2);
/// How soon an event about a lasting problem is repeated: the API server deletes old events, and
/// users change. The value was chosen and not measured separately.
const REMIND_AFTER: Duration = Duration::from_hours(24);
/// How many characters of an error an event contains: enough to act on, and little load for etcd.
/// The value is Karpenter's.
const ERROR_MAX: usize = 300;

impl Event {
    fn new(
        about: &Subject,
        kind: EventType,
        reason: impl Into<Cow<'static, str>>,
        key: &[&str],
    ) -> Self {
        Self {
            about: about.clone(),
            kind,
            reason: reason.into(),
            message: String::new(),
            key: key.join("-"),
            quiet: QUIET,
            limited: false,
        }
    }

    fn normal(about: &Subject, reason: &'static str, key: &[&str]) -> Self {
        Self::new(about, EventType::Normal, reason, key)
    }

    fn warning(about: &Subject, reason: impl Into<Cow<'static, str>>, key: &[&str]) -> Self {
        Self::new(about, EventType::Warning, reason, key)
    }

    fn saying(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// For a problem that lasts until a user acts: repeated once a day.
    pub fn reminding(self) -> Self {
        self.quiet_for(REMIND_AFTER)
    }

    /// The disruption of a node or claim is blocked.
    pub fn disruption_blocked(object: &Subject, why: &str) -> Self {
        Self::normal(object, "DisruptionBlocked", &[&object.uid]).saying(first_upper(why))
    }

    /// A pool's budget allows no disruption for a reason.
    pub fn pool_disruption_blocked(pool: &Subject, reason: &str) -> Self {
        Self::normal(pool, "DisruptionBlocked", &[&pool.uid, reason])
            .saying(format!(
                "No allowed disruptions for disruption reason {reason} due to blocking budget"
            ))
            .quiet_for(Duration::from_mins(1))
    }

    /// A node cannot be consolidated. Recorded on node and claim.
    pub fn unconsolidatable(object: &Subject, why: &str) -> Self {
        Self::normal(object, "Unconsolidatable", &[&object.uid])
            .saying(why)
            .quiet_for(Duration::from_mins(15))
    }

    /// A command could consolidate a node. Recorded on node and claim.
    pub fn consolidation_candidate(object: &Subject, command: &str, savings: f64) -> Self {
        Self::normal(object, "ConsolidationCandidate", &[&object.uid, command])
            .saying(format!("Consolidation candidate: {command} (savings: ${savings:.2})"))
    }

    /// The validation rejected a command. Recorded on node and claim.
    pub fn consolidation_rejected(
        object: &Subject,
        command: &str,
        why: &str,
        savings: f64,
    ) -> Self {
        Self::normal(object, "ConsolidationRejected", &[&object.uid, command, why]).saying(format!(
            "Consolidation rejected: {command}, reason: {why} (savings: ${savings:.2})"
        ))
    }

    /// A Balanced pool approves a move. Recorded on node and claim, or on the pool.
    pub fn consolidation_approved(object: &Subject, score: &Score) -> Self {
        let Score { score, threshold, savings, disruption, .. } = score;
        // Upstream's name for the allowed ratio between disruption share and savings share.
        let k = (100.0 * threshold.recip()).round() / 100.0;
        Self::normal(object, "ConsolidationApproved", &[&object.uid]).saying(format!(
            "score {score:.2} >= threshold {threshold:.2} (k: {k}, savings {savings:.1}%, \
             disruption {disruption:.1}%)"
        ))
    }

    /// A replacement is being created.
    pub fn disruption_launching(claim: &Subject, reason: &str) -> Self {
        Self::normal(claim, "DisruptionLaunching", &[&claim.uid, reason])
            .saying(format!("Launching NodeClaim: {}", first_upper(reason)))
    }

    /// A replacement is not ready yet.
    pub fn disruption_waiting_readiness(claim: &Subject) -> Self {
        Self::normal(claim, "DisruptionWaitingReadiness", &[&claim.uid])
            .saying("Waiting on readiness to continue disruption")
    }

    /// A node is being removed. Recorded on node and claim, by their kinds.
    pub fn disruption_terminating(object: &Subject, reason: &str) -> Self {
        Self::normal(object, "DisruptionTerminating", &[&object.uid, reason]).saying(format!(
            "Disrupting {}: {}",
            object.kind,
            first_upper(reason)
        ))
    }

    /// The removal of a node was taken back. Recorded on node and claim.
    ///
    /// COMPAT: Karpenter only logs it.
    pub fn disruption_taken_back(object: &Subject, why: &str) -> Self {
        Self::warning(object, "DisruptionTakenBack", &[&object.uid, why])
            .saying(format!("{} stays for now: {why}", object.kind))
    }

    /// A pod was evicted.
    pub fn evicted(pod: &Subject, reason: &str) -> Self {
        Self::normal(pod, "Evicted", &[&pod.name]).saying(format!("Evicted pod: {reason}"))
    }

    /// A pod was deleted because its node must be removed by `deadline`. It got `granted` seconds
    /// of its `own` grace period.
    pub fn disrupted(pod: &Subject, deadline: Timestamp, granted: i64, own: i64) -> Self {
        Self::normal(pod, "Disrupted", &[&pod.name]).saying(format!(
            "Deleting the pod to accommodate the terminationTime {} of the node. The pod was \
             granted {granted} seconds of grace-period of its {own} terminationGracePeriodSeconds. \
             This bypasses the PDB of the pod and the do-not-disrupt annotation.",
            deadline.strftime("%Y-%m-%d %H:%M:%S +0000 UTC")
        ))
    }

    /// A node is not drained yet, because of a pod, or in general without a pod's name.
    ///
    /// COMPAT: Karpenter treats all of them as duplicates, so the general message hides the pod's
    /// reason.
    pub fn failed_draining(node: &Subject, pod: &str, why: &str) -> Self {
        Self::warning(node, "FailedDraining", &[&node.name, pod])
            .saying(format!("Failed to drain node, {why}"))
    }

    /// Volumes are still attached to a node.
    pub fn awaiting_volume_detachment(node: &Subject, attachments: &[impl AsRef<str>]) -> Self {
        Self::normal(node, "AwaitingVolumeDetachment", &[&node.name]).saying(format!(
            "Awaiting deletion of bound volumeattachments ({})",
            some_of(attachments, 5)
        ))
    }

    /// A node's pods are deleted at a given time. Recorded on node and claim. The time is the text
    /// of the claim's annotation.
    pub fn termination_grace_period_expiring(object: &Subject, moment: &str) -> Self {
        Self::warning(object, "TerminationGracePeriodExpiring", &[&object.name])
            .saying(format!("All pods will be deleted by {moment}"))
    }

    /// A node is not repaired. Recorded on node, claim and pool.
    ///
    /// COMPAT: Karpenter records all three on the node.
    pub fn node_repair_blocked(object: &Subject, why: &str) -> Self {
        Self::warning(object, "NodeRepairBlocked", &[&object.uid])
            .saying(why)
            .quiet_for(Duration::from_mins(15))
    }

    /// Another controller's reboot did not finish.
    pub fn reboot_failed(claim: &Subject, why: &str) -> Self {
        Self::warning(claim, "RebootFailed", &[&claim.uid]).saying(first_upper(why))
    }

    /// A node is smaller than its claim's type.
    pub fn failed_consistency_check(claim: &Subject, problem: &str) -> Self {
        Self::warning(claim, "FailedConsistencyCheck", &[&claim.uid, problem]).saying(problem)
    }

    /// The cloud lacks capacity for an instance.
    pub fn insufficient_capacity(claim: &Subject, error: &str) -> Self {
        Self::warning(claim, "InsufficientCapacityError", &[&claim.uid]).saying(format!(
            "NodeClaim {} event: {}",
            claim.name,
            short(error)
        ))
    }

    /// The class of a claim is not ready.
    ///
    /// COMPAT: Karpenter defines this event and never records it.
    pub fn node_class_not_ready(claim: &Subject, error: &str) -> Self {
        Self::warning(claim, "NodeClassNotReady", &[&claim.uid]).saying(format!(
            "NodeClaim {} event: {}",
            claim.name,
            short(error)
        ))
    }

    /// A node joined without the taint that keeps pods away until it is registered.
    pub fn unregistered_taint_missing(claim: &Subject) -> Self {
        Self::warning(claim, "UnregisteredTaintMissing", &[&claim.uid]).saying(
            "Missing karpenter.sh/unregistered taint which prevents registration related race \
             conditions on Karpenter-managed nodes",
        )
    }

    /// A timeout annotation of a pool or class is invalid.
    pub fn invalid_timeout(object: &Subject, problem: &str) -> Self {
        Self::warning(object, "InvalidTimeout", &[&object.uid, problem])
            .saying(problem)
            .quiet_for(Duration::from_mins(15))
    }

    /// A condition of a class is false.
    pub fn class_condition(class: &Subject, condition: &Condition) -> Self {
        let Condition { type_, reason, message, .. } = condition;
        Self::warning(class, reason.clone(), &[&class.uid, type_, message])
            .saying(format!("{type_}: {message}"))
            .quiet_for(Duration::from_mins(15))
    }

    /// A cloud's own event.
    pub fn of_cloud(about: &Subject, kind: EventType, reason: &'static str, text: &str) -> Self {
        Self::new(about, kind, reason, &[&about.uid, text]).saying(short(text))
    }

    /// So many instances have no claim that another failure is likely.
    pub fn orphan_storm(class: &Subject, orphans: usize, instances: usize) -> Self {
        Self::warning(class, "OrphanStorm", &[&class.uid])
            .saying(format!(
                "{orphans} of {instances} instances have no NodeClaim, which is too many to be left \
                 over, so none of them is removed for now: look whether NodeClaims were lost or \
                 this controller looks at the wrong cluster; restore them or stop the controller, \
                 or the instances are removed once this has been so for a while"
            ))
            .quiet_for(Duration::from_mins(1))
    }

    /// The cluster has no claims, and its instances stay until a user permits their removal.
    /// Recorded on pools and classes. The time in the proposed command does not distinguish events.
    pub fn no_node_claims(
        object: &Subject,
        instances: usize,
        command: &str,
        problem: Option<&str>,
    ) -> Self {
        let problem = problem
            .map(|problem| format!(" (the annotation that is there does not count: {problem})"));
        Self::warning(object, "NoNodeClaims", &[&object.uid])
            .saying(format!(
                "The cluster has no NodeClaim, so none of its {instances} instances is removed: \
                 restore the NodeClaims, or stop this controller, if the cluster is a copy; to have \
                 the instances removed: {command}{}",
                problem.unwrap_or_default()
            ))
            .quiet_for(Duration::from_mins(15))
    }

    /// Instances have no claim, and their mark lacks the cluster's UID.
    pub fn cluster_unproven(class: &Subject, ids: &[String]) -> Self {
        Self::warning(class, "ClusterUnproven", &[&class.uid, &ids.join(" ")])
            .saying(format!(
                "{} instances have the name of this cluster but not its identity, and no NodeClaim, \
                 so they are left alone: remove them by hand, if no other cluster needs them: {}",
                ids.len(),
                some_of(ids, 3)
            ))
            .reminding()
    }

    /// A node names another zone than its claim.
    ///
    /// COMPAT: upstream silently overwrites the node's zone.
    pub fn zone_mismatch(claim: &Subject, of_node: &str, of_claim: &str) -> Self {
        Self::warning(claim, "ZoneMismatch", &[&claim.uid, of_node, of_claim]).saying(format!(
            "The node says that it is in zone {of_node:?} and its NodeClaim says {of_claim:?}: \
             volumes may not be found where pods are; have the cloud controller and the NodeClass \
             agree on zones"
        ))
    }

    /// A class is being deleted, and claims still need it.
    pub fn waiting_on_node_claim_termination(class: &Subject, claims: &[impl AsRef<str>]) -> Self {
        Self::normal(class, "WaitingOnNodeClaimTermination", &[&class.uid])
            .saying(format!("Waiting on NodeClaim termination for {}", some_of(claims, 5)))
    }

    /// An object is being deleted, and classes still refer to it.
    pub fn waiting_on_node_classes(object: &Subject, classes: &[impl AsRef<str>]) -> Self {
        Self::normal(object, "WaitingOnNodeClassTermination", &[&object.uid]).saying(format!(
            "Waiting until no NodeClass refers to it any more: {}",
            some_of(classes, 5)
        ))
    }

    /// An in-place update of an instance failed.
    pub fn update_failed(claim: &Subject, why: &str) -> Self {
        Self::warning(claim, "UpdateFailed", &[&claim.uid, why])
            .saying(short(&format!("The instance is not up to date with its NodeClass: {why}")))
    }

    /// The pool of a claim is gone.
    ///
    /// COMPAT: upstream records nothing, and such claims live until they expire.
    pub fn node_pool_not_found(claim: &Subject, pool: &str) -> Self {
        Self::warning(claim, "NodePoolNotFound", &[&claim.uid])
            .saying(format!(
                "NodePool {pool:?} of this NodeClaim is gone, so its node is neither replaced nor \
                 consolidated: create the NodePool again, or delete the NodeClaim to have the node \
                 drained and removed"
            ))
            .reminding()
    }

    /// A pool's field is valid, but probably not what its author intends.
    pub fn questionable(pool: &Subject, generation: i64, problem: &str) -> Self {
        Self::warning(pool, "QuestionableNodePool", &[&pool.uid, &generation.to_string(), problem])
            .saying(problem)
            .reminding()
    }

    /// A pod without a controller runs on a node that may be disrupted.
    pub fn pod_without_owner(pod: &Subject, why: &str, remedy: &str) -> Self {
        Self::warning(pod, "PodWithoutOwner", &[&pod.uid])
            .saying(format!("{}. What helps: {remedy}", first_upper(why)))
            .reminding()
    }

    /// A pod's do-not-disrupt annotation is invalid.
    pub fn invalid_do_not_disrupt(pod: &Subject, problem: &str) -> Self {
        Self::warning(pod, "InvalidDoNotDisruptAnnotation", &[&pod.uid, problem]).saying(format!(
            "Invalid karpenter.sh/do-not-disrupt annotation: {problem}, ignoring annotation"
        ))
    }

    /// A node's do-not-disrupt annotation is invalid and does not protect it.
    ///
    /// COMPAT: Karpenter silently ignores it.
    pub fn invalid_do_not_disrupt_of_node(node: &Subject, wish: &str) -> Self {
        Self::warning(node, "InvalidDoNotDisruptAnnotation", &[&node.uid, wish])
            .saying(format!(
                "Invalid karpenter.sh/do-not-disrupt annotation: {wish:?} does not protect a node, \
                 only \"true\" does, and pods alone are protected for a time; write \"true\", or remove \
                 it"
            ))
            .reminding()
    }

    /// A pod is protected until a moment.
    pub fn do_not_disrupt_until(pod: &Subject, moment: Timestamp) -> Self {
        let moment = format!("{moment:.0}");
        Self::normal(pod, "DoNotDisruptUntil", &[&pod.uid, &moment])
            .saying(format!("The karpenter.sh/do-not-disrupt grace period will elapse at {moment}"))
    }

    /// A pod's protection has ended.
    pub fn do_not_disrupt_elapsed(pod: &Subject) -> Self {
        Self::normal(pod, "DoNotDisruptGracePeriodElapsed", &[&pod.uid]).saying(
            "The karpenter.sh/do-not-disrupt grace period has elapsed, pod is now disruptable",
        )
    }

    /// The node or claim that a pod should use. The rate is limited, since a plan can place
    /// thousands.
    pub fn nominated(pod: &Subject, claim: Option<&str>, node: Option<&str>) -> Self {
        let claim = claim.map(|claim| format!("nodeclaim/{claim}"));
        let node = node.map(|node| format!("node/{node}"));
        let places: Vec<String> = claim.into_iter().chain(node).collect();
        let mut event = Self::normal(pod, "Nominated", &[&pod.uid])
            .saying(format!("Pod should schedule on: {}", places.join(", ")));
        event.limited = true;
        event
    }

    /// A pod has no place.
    pub fn failed_scheduling(pod: &Subject, why: &str) -> Self {
        Self::warning(pod, "FailedScheduling", &[&pod.uid])
            .saying(format!("Failed to schedule pod, {why}"))
            .quiet_for(Duration::from_mins(5))
    }

    /// Drifted nodes of a static pool cannot be replaced.
    pub fn static_pool_blocked(pool: &Subject, why: &str) -> Self {
        Self::warning(pool, "StaticDriftBlocked", &[&pool.uid, why])
            .saying(first_upper(why))
            .quiet_for(Duration::from_mins(15))
    }

    /// A pool has `replicas`, but static capacity is disabled.
    pub fn static_capacity_off(pool: &Subject) -> Self {
        Self::warning(pool, "StaticCapacityOff", &[&pool.uid]).saying(
            "spec.replicas is set, but the feature gate StaticCapacity is off, so that no nodes are \
             made or removed: start Joiner with --feature-gates StaticCapacity=true",
        )
    }

    /// No instance type satisfies a pool.
    pub fn no_compatible_instance_types(pool: &Subject, by_min_values: bool) -> Self {
        let mut message =
            "NodePool requirements filtered out all compatible available instance types".to_owned();
        if by_min_values {
            message.push_str(" due to minValues incompatibility");
        }
        Self::warning(pool, "NoCompatibleInstanceTypes", &[&pool.uid])
            .saying(message)
            .quiet_for(Duration::from_mins(1))
    }
}

fn first_upper(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// The part of an error that an event shows.
fn short(error: &str) -> String {
    match error.char_indices().nth(ERROR_MAX) {
        Some((end, _)) => format!("{}...", &error[..end]),
        None => error.to_owned(),
    }
}

/// The first few names, and the number of the others.
fn some_of(names: &[impl AsRef<str>], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    let mut text = shown.join(", ");
    if names.len() > most {
        // Writing to a `String` cannot fail.
        let _ = write!(text, " and {} other(s)", names.len() - most);
    }
    text
}
