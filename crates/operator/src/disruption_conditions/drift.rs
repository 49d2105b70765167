//! Whether an instance has drifted from its pool or class.

use std::sync::Arc;

use jiff::SignedDuration;
use joiner_api::{node_claim::NodeClaim, node_pool::NodePool};
use joiner_cloud::class::{Difference, NodeClass, SpecHash, differing, hashes_differ};
use joiner_core::{
    instance_type::InstanceType,
    label::{self, WellKnown},
    requirement::{Requirement, Requirements},
};

use k8s_openapi::api::core::v1::Node;

use crate::{
    claims,
    conditions::{Conditioned, LAUNCHED},
    index::convert,
};

/// The pool's template changed in a way that needs new instances.
pub const NODE_POOL_DRIFTED: &str = "NodePoolDrifted";
/// The instance's labels violate the pool's requirements.
pub const REQUIREMENTS_DRIFTED: &str = "RequirementsDrifted";
/// The cloud no longer offers the instance's type.
pub const INSTANCE_TYPE_NOT_FOUND: &str = "InstanceTypeNotFound";

/// How old a claim must be before a missing type counts as drift. The value is Karpenter's.
pub const TYPE_CHECK_AGE: SignedDuration = SignedDuration::from_hours(1);

/// The class's settings changed in a way that needs new instances.
pub const NODE_CLASS_DRIFT: &str = "NodeClassDrift";

/// The node's kubelet has an older minor version than its cluster.
pub const KUBERNETES_VERSION_DRIFT: &str = "KubernetesVersionDrift";

/// The drift verdict on a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It has not drifted.
    AsWanted,
    /// It has drifted, with the reason in one `CamelCase` word.
    Drifted(String),
    /// The objects show no drift, and the cloud cannot be asked.
    Unknown,
}

impl From<Option<String>> for Verdict {
    fn from(reason: Option<String>) -> Self {
        reason.map_or(Self::AsWanted, Self::Drifted)
    }
}

/// Whether a reason comes from objects alone.
pub fn comes_from_objects(reason: &str) -> bool {
    matches!(
        reason,
        NODE_POOL_DRIFTED | REQUIREMENTS_DRIFTED | NODE_CLASS_DRIFT | KUBERNETES_VERSION_DRIFT
    )
}

/// The verdict from the claim and its pool alone; none if it depends on the cloud.
pub fn of_objects(claim: &NodeClaim, pool: &NodePool) -> Option<Verdict> {
    if !claim.holds(LAUNCHED) {
        return Some(Verdict::AsWanted);
    }
    let reason = if template_has_changed(claim, pool) {
        NODE_POOL_DRIFTED
    } else if is_ruled_out(claim, pool) {
        REQUIREMENTS_DRIFTED
    } else {
        return None;
    };
    Some(Verdict::Drifted(reason.to_owned()))
}

/// Whether the claim was created from another version of the template.
fn template_has_changed(claim: &NodeClaim, pool: &NodePool) -> bool {
    let (own, now) = (&claim.metadata.annotations, &pool.metadata.annotations);
    own.as_ref().zip(now.as_ref()).is_some_and(|(own, now)| {
        hashes_differ(label::NODE_POOL_HASH, label::NODE_POOL_HASH_VERSION, own, now)
    })
}

/// The verdict from the claim and its class alone; none if it depends on the cloud.
pub fn of_class(claim: &NodeClaim, class: &NodeClass, hashes: &[SpecHash]) -> Option<Verdict> {
    let annotations = claim.metadata.annotations.as_ref()?;
    differing(hashes, Difference::Drift, annotations, &class.annotations)?;
    Some(Verdict::Drifted(NODE_CLASS_DRIFT.to_owned()))
}

/// The verdict from a node's version and the version of a new instance of its class. If the
/// replacement would be no newer, or a version is unknown, there is no drift.
pub fn of_version(node: &Node, class: &NodeClass) -> Option<Verdict> {
    let info = node.status.as_ref()?.node_info.as_ref()?;
    let own = minor(&info.kubelet_version)?;
    let now = minor(class.status["kubernetesVersion"].as_str()?)?;
    (own < now).then(|| Verdict::Drifted(KUBERNETES_VERSION_DRIFT.to_owned()))
}

/// Major and minor version of a text such as `v1.33.4+rke2r1`.
fn minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim_start_matches('v').split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Whether the claim's labels violate the pool's requirements.
fn is_ruled_out(claim: &NodeClaim, pool: &NodePool) -> bool {
    let labels = Requirements::from_labels(claim.metadata.labels.iter().flatten());
    let wanted = convert::requirements(&pool.spec.template.spec.requirements);
    !labels.is_compatible(&Requirements::from_specs(&wanted), None)
}

/// Whether the cloud, which offers `types`, could not create such an instance again, even with free
/// capacity.
pub fn type_is_gone(
    claim: &NodeClaim,
    types: &[Arc<InstanceType>],
    well_known: &WellKnown,
    reservation_id_label: Option<&str>,
) -> bool {
    let name = claims::label(claim, label::INSTANCE_TYPE);
    let Some(own) = types.iter().find(|known| known.name == name) else { return true };
    let mut labels = Requirements::from_labels(claim.metadata.labels.iter().flatten());
    // A reserved instance becomes on-demand when its reservation ends.
    if claims::label(claim, label::CAPACITY_TYPE) == label::CAPACITY_TYPE_RESERVED {
        let either = [label::CAPACITY_TYPE_RESERVED, label::CAPACITY_TYPE_ON_DEMAND];
        labels.set(label::CAPACITY_TYPE, Requirement::one_of(either));
        reservation_id_label.and_then(|label| labels.remove(label));
    }
    !own.offerings.iter().any(|offering| offering.serves(&labels, well_known))
}

#[cfg(test)]
mod tests;
