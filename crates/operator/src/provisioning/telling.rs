//! What is told of a plan: to those who look at pods, and to dashboards.

use std::{collections::BTreeSet, time::Duration};

use jiff::SignedDuration;
use joiner_api::node_claim::NodeClaim;
use joiner_core::{
    label,
    plan::{ExistingPlacement, Unplaced},
    pod::{Pod, Role},
    reason::ReasonId,
};

use super::{pass::Pass, provisioner::Created};
use crate::{
    claims,
    context::Context,
    events::{Event, Subject},
    settings::Batch,
    world::Key,
};

/// The name by which metrics call this planner.
const CONTROLLER: &str = "provisioner";
/// How long pods may take to come to the instance that was meant for them, at least.
const NOMINATED_AT_LEAST: Duration = Duration::from_secs(10);

/// Tells why pods have no place, and which ones go to instances that exist or are on their way.
pub(super) fn tell_plan(context: &Context, pass: &Pass) {
    let plan = &pass.planned.plan;
    let told = plan.unschedulable.iter().filter(|unplaced| !waits_for_reservation(unplaced));
    for unplaced in told.chain(plan.deferred.iter().filter(|unplaced| is_too_much_work(unplaced))) {
        if let Some(pod) = pod_subject(context, &unplaced.pod) {
            context.events.tell(Event::failed_scheduling(&pod, &unplaced.message));
        }
    }
    nominate_existing(context, &plan.existing);
    let metrics = &context.metrics;
    let virtual_pods = pass.snapshot.pods.iter().filter(|pod| pod.role == Role::Buffer);
    let virtual_pods: BTreeSet<String> = virtual_pods.map(Pod::key).collect();
    let is_real = |pod: &&String| !virtual_pods.contains(*pod);
    let placed = plan.claims.iter().flat_map(|claim| &claim.pods);
    let placed = placed.chain(plan.existing.iter().flat_map(|existing| &existing.pods));
    let refused = plan.unschedulable.iter().map(|unplaced| &unplaced.pod);
    let looked_at = placed.filter(is_real).map(|pod| (pod.as_str(), true));
    let looked_at = looked_at.chain(refused.filter(is_real).map(|pod| (pod.as_str(), false)));
    metrics.pods_planned(looked_at, context.now());
    let real = |unplaced: &[Unplaced]| {
        let real = unplaced.iter().map(|unplaced| &unplaced.pod).filter(is_real);
        real.count() as f64
    };
    metrics.scheduler_unschedulable_pods(CONTROLLER).set(real(&plan.unschedulable));
    metrics.scheduler_ignored_pods().set(real(&plan.deferred));
    for note in &pass.notes {
        tracing::debug!(controller = CONTROLLER, "{note}");
    }
}

/// Tells of a claim that was made for pods.
pub(super) fn tell_created(context: &Context, created: &Created) {
    let Created { claim, pods } = created;
    tell_made(context, CONTROLLER, "provisioned", claim, pods);
}

/// Tells of a claim that a controller has made for pods, for a reason that dashboards know.
pub(crate) fn tell_made(
    context: &Context,
    controller: &str,
    reason: &str,
    claim: &NodeClaim,
    pods: &[String],
) {
    let annotations = claim.metadata.annotations.as_ref();
    let relaxed = annotations.and_then(|all| all.get(label::MIN_VALUES_RELAXED));
    let relaxed = relaxed.map(String::as_str).unwrap_or_default();
    let pool = claims::label(claim, label::NODE_POOL);
    context.metrics.nodeclaims_created(reason, pool, relaxed).inc();
    let name = claims::name(&claim.metadata);
    nominate(context, pods, Some(name), None);
    log_made(controller, name, pool, pods.len());
}

/// Tells the log of a claim that a controller has made for so many pods.
pub(crate) fn log_made(controller: &str, name: &str, pool: &str, pods: usize) {
    tracing::info!(controller, NodeClaim = name, NodePool = pool, pods, "created nodeclaim");
}

/// Tells which pods go to instances that exist or are on their way. Such instances are not removed
/// for a moment.
pub(crate) fn nominate_existing(context: &Context, placements: &[ExistingPlacement]) {
    let until = context.now() + nomination(context.settings.batch);
    for ExistingPlacement { node, node_claim, pods } in placements {
        let [claim, node] = [node_claim, node].map(|name| Some(name).filter(|it| !it.is_empty()));
        let told = nominate(context, pods, claim.map(String::as_str), node.map(String::as_str));
        if let Some(instance) = node.or(claim).filter(|_| told > 0) {
            context.cache.intend(|intended| intended.nominate(instance, until));
        }
    }
}

/// For how long an instance is kept because pods are expected on it.
fn nomination(batch: Batch) -> SignedDuration {
    let length = (batch.max * 2).max(NOMINATED_AT_LEAST);
    SignedDuration::try_from(length).unwrap_or(SignedDuration::MAX)
}

/// Tells pods where they go; answers how many there are.
fn nominate(context: &Context, pods: &[String], claim: Option<&str>, node: Option<&str>) -> usize {
    let subjects = pods.iter().filter_map(|pod| pod_subject(context, pod));
    subjects.map(|pod| context.events.tell(Event::nominated(&pod, claim, node))).count()
}

/// The pod `namespace/name`; none if it is gone meanwhile, or was never more than room to keep.
pub(crate) fn pod_subject(context: &Context, pod: &str) -> Option<Subject> {
    let (namespace, name) = pod.split_once('/')?;
    let key = Key::new(Some(namespace), name);
    context.cache.read(|world| world.pods.get(&key).map(|pod| Subject::of(&**pod)))
}

/// Pods that wait for reserved capacity wait silently.
fn waits_for_reservation(unplaced: &Unplaced) -> bool {
    has_reason(unplaced, ReasonId::WaitingReservation)
}

/// Pods whose lists are too long for a pass are told so: they may wait for ever.
fn is_too_much_work(unplaced: &Unplaced) -> bool {
    has_reason(unplaced, ReasonId::WaitingWork)
}

fn has_reason(unplaced: &Unplaced, id: ReasonId) -> bool {
    unplaced.reasons.iter().any(|reason| reason.id == id)
}
