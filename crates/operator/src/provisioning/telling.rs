//! What is told of a plan: to those who look at pods, and to dashboards.

use std::collections::BTreeSet;

use joiner_core::{
    label,
    plan::{ExistingPlacement, Unplaced},
    pod::{Pod, Role},
    reason::ReasonId,
};

use super::{pass::Pass, provisioner::Created};
use crate::{
    context::Context,
    events::{Event, Subject},
    world::Key,
};

/// The name by which metrics call this planner.
const CONTROLLER: &str = "provisioner";

/// Tells why pods have no place, and which ones go to machines that exist or are on their way.
pub(super) fn tell_plan(context: &Context, pass: &Pass) {
    let plan = &pass.planned.plan;
    for unplaced in plan.unschedulable.iter().filter(|unplaced| !waits_for_reservation(unplaced)) {
        if let Some(pod) = subject(context, &unplaced.pod) {
            context.events.tell(Event::failed_scheduling(&pod, &unplaced.message));
        }
    }
    for ExistingPlacement { node, node_claim, pods } in &plan.existing {
        let name = |name: &'_ String| (!name.is_empty()).then(|| name.clone());
        nominate(context, pods, name(node_claim).as_deref(), name(node).as_deref());
    }
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
    let metadata = &created.claim.metadata;
    let name = metadata.name.as_deref().unwrap_or_default();
    let of = |map: Option<&label::Labels>, key: &str| {
        map.and_then(|map| map.get(key)).cloned().unwrap_or_default()
    };
    let pool = of(metadata.labels.as_ref(), label::NODE_POOL);
    let relaxed = of(metadata.annotations.as_ref(), label::MIN_VALUES_RELAXED);
    context.metrics.nodeclaims_created("provisioned", &pool, &relaxed).inc();
    nominate(context, &created.pods, Some(name), None);
    tracing::info!(
        controller = CONTROLLER,
        NodeClaim.name = name,
        NodePool.name = pool,
        pods = created.pods.len(),
        "created nodeclaim"
    );
}

fn nominate(context: &Context, pods: &[String], claim: Option<&str>, node: Option<&str>) {
    for pod in pods.iter().filter_map(|pod| subject(context, pod)) {
        context.events.tell(Event::nominated(&pod, claim, node));
    }
}

/// The pod `namespace/name`; none if it is gone meanwhile, or was never more than room to keep.
fn subject(context: &Context, pod: &str) -> Option<Subject> {
    let (namespace, name) = pod.split_once('/')?;
    let key = Key::new(Some(namespace), name);
    context.cache.read(|world| world.pods.get(&key).map(|pod| Subject::of(&**pod)))
}

/// Pods that wait for reserved capacity wait silently.
fn waits_for_reservation(unplaced: &Unplaced) -> bool {
    unplaced.reasons.iter().any(|reason| reason.id == ReasonId::WaitingReservation)
}
