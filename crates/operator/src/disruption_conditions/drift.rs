//! Whether an instance is still what its pool wants.

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

/// The pool's template has changed in a way that its instances cannot follow.
pub const NODE_POOL_DRIFTED: &str = "NodePoolDrifted";
/// The pool's requirements rule the instance out.
pub const REQUIREMENTS_DRIFTED: &str = "RequirementsDrifted";
/// The cloud does not have the instance's type any more.
pub const INSTANCE_TYPE_NOT_FOUND: &str = "InstanceTypeNotFound";

/// How old a claim must be before the absence of its type means something.
pub const TYPE_CHECK_AGE: SignedDuration = SignedDuration::from_hours(1);

/// The class's settings have changed in a way that its instances cannot follow.
pub const NODE_CLASS_DRIFT: &str = "NodeClassDrift";

/// The node's kubelet is of an older minor version than its cluster.
pub const KUBERNETES_VERSION_DRIFT: &str = "KubernetesVersionDrift";

/// What is to be said of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is what its pool wants.
    AsWanted,
    /// It is not, and why, in one `CamelCase` word.
    Drifted(String),
    /// The objects say nothing against it, and the cloud cannot be asked.
    Unknown,
}

impl From<Option<String>> for Verdict {
    fn from(reason: Option<String>) -> Self {
        reason.map_or(Self::AsWanted, Self::Drifted)
    }
}

/// Whether a reason is one that the objects alone decide on.
pub fn comes_from_objects(reason: &str) -> bool {
    matches!(
        reason,
        NODE_POOL_DRIFTED | REQUIREMENTS_DRIFTED | NODE_CLASS_DRIFT | KUBERNETES_VERSION_DRIFT
    )
}

/// What the claim and its pool alone say; nothing if it depends on the cloud.
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

/// Whether the claim was made from another template.
fn template_has_changed(claim: &NodeClaim, pool: &NodePool) -> bool {
    let (own, now) = (&claim.metadata.annotations, &pool.metadata.annotations);
    own.as_ref().zip(now.as_ref()).is_some_and(|(own, now)| {
        hashes_differ(label::NODE_POOL_HASH, label::NODE_POOL_HASH_VERSION, own, now)
    })
}

/// What the claim and its class alone say; nothing if it depends on the cloud.
pub fn of_class(claim: &NodeClaim, class: &NodeClass, hashes: &[SpecHash]) -> Option<Verdict> {
    let annotations = claim.metadata.annotations.as_ref()?;
    differing(hashes, Difference::Drift, annotations, &class.annotations)?;
    Some(Verdict::Drifted(NODE_CLASS_DRIFT.to_owned()))
}

/// What a node's version says beside the one that its class would give a new instance. An instance that
/// would come out of its replacement no newer has not drifted, and neither has one of whose version
/// nothing is known.
pub fn of_version(node: &Node, class: &NodeClass) -> Option<Verdict> {
    let info = node.status.as_ref()?.node_info.as_ref()?;
    let own = minor(&info.kubelet_version)?;
    let now = minor(class.status["kubernetesVersion"].as_str()?)?;
    (own < now).then(|| Verdict::Drifted(KUBERNETES_VERSION_DRIFT.to_owned()))
}

/// Major and minor of a version such as `v1.33.4+rke2r1`.
fn minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim_start_matches('v').split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Whether the pool's requirements do not allow the claim's labels.
fn is_ruled_out(claim: &NodeClaim, pool: &NodePool) -> bool {
    let labels = Requirements::from_labels(claim.metadata.labels.iter().flatten());
    let wanted = convert::requirements(&pool.spec.template.spec.requirements);
    !labels.is_compatible(&Requirements::from_specs(&wanted), None)
}

/// Whether the cloud, which has `types`, could not make such an instance any more, not even when there
/// is room again.
pub fn type_is_gone(
    claim: &NodeClaim,
    types: &[Arc<InstanceType>],
    well_known: &WellKnown,
    reservation_id_label: Option<&str>,
) -> bool {
    let name = claims::label(claim, label::INSTANCE_TYPE);
    let Some(own) = types.iter().find(|known| known.name == name) else { return true };
    let mut labels = Requirements::from_labels(claim.metadata.labels.iter().flatten());
    // A reservation that ends turns into an instance on demand.
    if claims::label(claim, label::CAPACITY_TYPE) == label::CAPACITY_TYPE_RESERVED {
        let either = [label::CAPACITY_TYPE_RESERVED, label::CAPACITY_TYPE_ON_DEMAND];
        labels.set(label::CAPACITY_TYPE, Requirement::one_of(either));
        reservation_id_label.and_then(|label| labels.remove(label));
    }
    !own.offerings.iter().any(|offering| offering.serves(&labels, well_known))
}

#[cfg(test)]
mod tests;
