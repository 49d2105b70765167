//! Launch: from a claim to an instance.

use std::sync::Arc;

use jiff::Timestamp;
use joiner_api::node_claim::NodeClaim;
use joiner_cloud::{
    CloudError,
    class::{NodeClass, SpecHash},
    instance::Instance,
    order::Order,
};
use joiner_core::{
    instance_type::allocatable,
    label::{self, Labels},
};
use joiner_plan::overlay::may_correct;

use crate::{
    conditions::{Conditioned, LAUNCHED, Status},
    events::{Event, Subject},
    index::orders,
};

/// How much of an error a condition shows; the log has all of it. The value is Karpenter's.
const MESSAGE_LENGTH: usize = 300;

/// Whether a launch can be requested.
#[derive(Debug)]
pub(super) enum Request {
    /// Yes, with this order.
    Order(Box<Order>),
    /// Not now.
    Refused(CloudError),
}

/// The order for a claim.
///
/// COMPAT: upstream leaves the check of the class to each provider, and most give up a claim
/// without a class. A class and its claim may arrive in either order, so the claim waits here until
/// the launch timeout.
pub(super) fn request(claim: &NodeClaim, class: Option<&Arc<NodeClass>>) -> Request {
    let reference = claim.spec.node_class_ref.clone().unwrap_or_default();
    let named = format!("{} {:?}", reference.kind, reference.name);
    let Some(class) = class else {
        let message = format!("{named} is not there; create it, or delete this NodeClaim");
        return Request::Refused(CloudError::Create { reason: "NodeClassNotFound", message });
    };
    if class.deleting.is_some() {
        let message = format!("{named} is being deleted");
        return Request::Refused(CloudError::NodeClassNotReady(message));
    }
    match class.ready() {
        Some((true, ..)) => Request::Order(Box::new(orders::order(claim, Arc::clone(class)))),
        Some((false, reason, message)) => Request::Refused(CloudError::NodeClassNotReady(format!(
            "{named} is not ready: {reason}: {message}"
        ))),
        None => {
            let message = format!("it is not known yet whether {named} can be used");
            Request::Refused(CloudError::Create { reason: "NodeClassReadinessUnknown", message })
        }
    }
}

/// Adds the hashes to an instance if its cloud does not report them. The cloud may have found an
/// instance from an earlier version of the class.
pub(super) fn mark(instance: &mut Instance, hashes: &[SpecHash]) {
    let of_claims = hashes.iter().filter(|hash| hash.is_on_claims());
    for (key, value) in of_claims.flat_map(SpecHash::annotations) {
        instance.annotations.entry(key).or_insert(value);
    }
}

/// Adds the resources from overlays, which the cloud does not know. Without them, pods that wait
/// for these resources would get another instance.
pub(super) fn correct(instance: &mut Instance, order: &Order) {
    let named = instance.labels.get(label::INSTANCE_TYPE);
    let corrected = named.and_then(|name| order.corrected_type(name));
    let Some(corrected) = corrected.filter(|it| it.capacity_overlaid) else { return };
    let overhead = instance.capacity.minus(&instance.allocatable);
    for (name, amount) in corrected.capacity.iter().filter(|(name, _)| may_correct(name)) {
        instance.capacity.set(name, amount);
    }
    instance.allocatable = allocatable(&instance.capacity, &overhead);
}

/// Records the launched instance on the claim.
pub(super) fn made(claim: &mut NodeClaim, instance: &Instance, now: Timestamp) {
    let chosen = orders::single_values(claim);
    let known = claim.metadata.labels.take().unwrap_or_default();
    // Labels of the claim's author override those of the cloud.
    claim.metadata.labels = Some(overlaid([instance.labels.clone(), chosen, known]));
    let known = claim.metadata.annotations.take().unwrap_or_default();
    let annotations = overlaid([known, instance.annotations.clone()]);
    claim.metadata.annotations = Some(annotations).filter(|annotations| !annotations.is_empty());
    let status = claim.status.get_or_insert_default();
    status.provider_id = Some(instance.provider_id.clone());
    status.image_id.clone_from(&instance.image_id);
    status.capacity = orders::resource_list(&instance.capacity);
    status.allocatable = orders::resource_list(&instance.allocatable);
    claim.conditions_mut(now).set_true(LAUNCHED);
}

/// Merges labels; the last value of a key counts.
fn overlaid(maps: impl IntoIterator<Item = Labels>) -> Labels {
    maps.into_iter().flatten().collect()
}

/// Records why there is no instance yet.
pub(super) fn failed(claim: &mut NodeClaim, error: &CloudError, now: Timestamp) {
    let (reason, message) = match error {
        CloudError::Create { reason, message } => (*reason, message.clone()),
        other => ("LaunchFailed", shortened(&other.to_string())),
    };
    claim.conditions_mut(now).set(LAUNCHED, Status::Unknown, reason, &message);
}

/// The error, shortened to fit a condition.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MESSAGE_LENGTH) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The reason in metrics if a claim is deleted after this error; none if it is retried.
pub(super) fn gives_up(error: &CloudError) -> Option<&'static str> {
    match error {
        CloudError::InsufficientCapacity(_) => Some("insufficient_capacity"),
        CloudError::NodeClassNotReady(_) => Some("nodeclass_not_ready"),
        CloudError::Create { .. } | CloudError::Invalid(_) | CloudError::Unknown(_) => None,
    }
}

/// The event if a claim is deleted after this error.
pub(super) fn event(claim: &NodeClaim, error: &CloudError) -> Option<Event> {
    let about = Subject::of(claim);
    match error {
        CloudError::InsufficientCapacity(why) => Some(Event::insufficient_capacity(&about, why)),
        CloudError::NodeClassNotReady(why) => Some(Event::node_class_not_ready(&about, why)),
        CloudError::Create { .. } | CloudError::Invalid(_) | CloudError::Unknown(_) => None,
    }
}

/// Logs the launched instance.
pub(super) fn log(claim: &NodeClaim, instance: &Instance) {
    let label = |key: &str| instance.labels.get(key).map(String::as_str).unwrap_or_default();
    tracing::info!(
        NodeClaim = claim.metadata.name,
        "provider-id" = instance.provider_id,
        "instance-type" = label(label::INSTANCE_TYPE),
        zone = label(label::ZONE),
        "capacity-type" = label(label::CAPACITY_TYPE),
        allocatable = %instance.allocatable,
        "launched nodeclaim"
    );
}
