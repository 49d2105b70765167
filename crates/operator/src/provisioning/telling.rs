//! Reports a plan: events on pods, metrics, and the log.

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

/// The name of this planner in metrics.
const CONTROLLER: &str = "provisioner";
/// The shortest time for which a node stays nominated for its pods. The value is Karpenter's.
const NOMINATED_AT_LEAST: Duration = Duration::from_secs(10);

/// Reports why pods have no place, and which pods go to existing or coming instances.
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

/// Reports a claim that was created for pods.
pub(super) fn tell_created(context: &Context, created: &Created) {
    let Created { claim, pods } = created;
    tell_made(context, CONTROLLER, "provisioned", claim, pods);
}

/// Reports a claim that a controller created for pods, with the reason that metrics show.
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

/// Logs a claim that a controller created for this many pods.
pub(crate) fn log_made(controller: &str, name: &str, pool: &str, pods: usize) {
    tracing::info!(controller, NodeClaim = name, NodePool = pool, pods, "created nodeclaim");
}

/// Nominates existing or coming instances for pods. Nominated instances are not removed for a
/// moment.
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

/// How long an instance stays nominated.
fn nomination(batch: Batch) -> SignedDuration {
    let length = (batch.max * 2).max(NOMINATED_AT_LEAST);
    SignedDuration::try_from(length).unwrap_or(SignedDuration::MAX)
}

/// Records an event on each pod with its instance; returns the number of pods.
fn nominate(context: &Context, pods: &[String], claim: Option<&str>, node: Option<&str>) -> usize {
    let subjects = pods.iter().filter_map(|pod| pod_subject(context, pod));
    subjects.map(|pod| context.events.tell(Event::nominated(&pod, claim, node))).count()
}

/// The pod `namespace/name`; none if it is gone or stands for a buffer.
pub(crate) fn pod_subject(context: &Context, pod: &str) -> Option<Subject> {
    let (namespace, name) = pod.split_once('/')?;
    let key = Key::new(Some(namespace), name);
    context.cache.read(|world| world.pods.get(&key).map(|pod| Subject::of(&**pod)))
}

/// Whether the pod waits for reserved capacity: such pods get no event.
fn waits_for_reservation(unplaced: &Unplaced) -> bool {
    has_reason(unplaced, ReasonId::WaitingReservation)
}

/// Whether a pod's lists are too long for a pass. It gets an event, because it may wait for ever.
fn is_too_much_work(unplaced: &Unplaced) -> bool {
    has_reason(unplaced, ReasonId::WaitingWork)
}

fn has_reason(unplaced: &Unplaced, id: ReasonId) -> bool {
    unplaced.reasons.iter().any(|reason| reason.id == id)
}
