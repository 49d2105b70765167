//! In which order nodes of a static pool go when it is made smaller.

use std::{cmp::Ordering, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use joiner_api::{duration::NillableDuration, node_claim::NodeClaim};
use k8s_openapi::api::core::v1::Pod;

use crate::{
    claims,
    pods::{DoNotDisrupt, belongs_to_node, eviction_cost, is_terminal},
    world::World,
};

/// The cost of a claim's removal for its pods. The cheapest are removed first.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cost {
    /// There is no instance yet.
    NotLaunched,
    /// There is nothing on its node that would have to move.
    Empty,
    /// Pods have to move.
    Pods(f64),
    /// Pods have to move, of which one asks not to be disrupted.
    Protected(f64),
}

impl Cost {
    /// The cost of a claim's removal, with these pods on its node.
    fn of<'p>(
        claim: &NodeClaim,
        pods: impl Iterator<Item = &'p Pod> + Clone,
        now: Timestamp,
    ) -> Self {
        if claims::provider_id(claim).is_none() {
            return Self::NotLaunched;
        }
        let pods = pods.filter(|pod| !is_terminal(pod));
        let is_protected = pods.clone().any(|pod| DoNotDisrupt::of(pod).is_active(now));
        if !is_protected && pods.clone().all(belongs_to_node) {
            return Self::Empty;
        }
        let cost = pods.map(eviction_cost).sum::<f64>() * lifetime_left(claim, now);
        if is_protected { Self::Protected(cost) } else { Self::Pods(cost) }
    }

    fn order(&self, other: &Self) -> Ordering {
        let parts = |cost: &Self| match *cost {
            Self::NotLaunched => (0, 0.0),
            Self::Empty => (1, 0.0),
            Self::Pods(cost) => (2, cost),
            Self::Protected(cost) => (3, cost),
        };
        let ((class, cost), (other_class, other_cost)) = (parts(self), parts(other));
        class.cmp(&other_class).then(cost.total_cmp(&other_cost))
    }
}

/// The remaining share of a claim's lifetime, from 0 to 1. A claim that expires soon is cheaper to
/// remove.
fn lifetime_left(claim: &NodeClaim, now: Timestamp) -> f64 {
    let whole = claim.spec.expire_after.as_ref().and_then(NillableDuration::nanos);
    let whole = whole.filter(|nanos| *nanos > 0);
    let created = claim.metadata.creation_timestamp.as_ref();
    let (Some(whole), Some(created)) = (whole, created) else { return 1.0 };
    let whole = SignedDuration::from_nanos(whole).as_secs_f64();
    let age = now.duration_since(created.0).as_secs_f64();
    ((whole - age) / whole).clamp(0.0, 1.0)
}

/// The claims to remove if this many are surplus: the cheapest first, equal ones by name.
pub(super) fn choose(
    world: &World,
    claims: &[Arc<NodeClaim>],
    too_many: usize,
    now: Timestamp,
) -> Vec<Arc<NodeClaim>> {
    let cost = |claim: &NodeClaim| {
        let node = claims::node_name(claim);
        let pods: Vec<&Pod> =
            node.into_iter().flat_map(|node| world.pods_on(node)).map(Arc::as_ref).collect();
        Cost::of(claim, pods.iter().copied(), now)
    };
    let mut ordered: Vec<(Cost, &Arc<NodeClaim>)> =
        claims.iter().map(|claim| (cost(claim), claim)).collect();
    ordered.sort_by(|(a, _), (b, _)| a.order(b));
    ordered.into_iter().take(too_many).map(|(_, claim)| Arc::clone(claim)).collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{api::core::v1::PodSpec, apimachinery::pkg::apis::meta::v1::OwnerReference};
    use serde_json::json;

    use super::*;

    fn at(text: &str) -> Timestamp {
        format!("2026-01-01T{text}Z").parse().unwrap()
    }

    fn launched(expire_after: &str) -> NodeClaim {
        serde_json::from_value(json!({
            "metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"expireAfter": expire_after},
            "status": {"providerID": "test://a"},
        }))
        .unwrap()
    }

    fn pod() -> Pod {
        Pod { spec: Some(PodSpec::default()), ..Pod::default() }
    }

    fn daemon() -> Pod {
        let owner = OwnerReference {
            api_version: "apps/v1".to_owned(),
            kind: "DaemonSet".to_owned(),
            ..OwnerReference::default()
        };
        let mut daemon = pod();
        daemon.metadata.owner_references = Some(vec![owner]);
        daemon
    }

    fn protected(mut pod: Pod) -> Pod {
        let annotations = pod.metadata.annotations.get_or_insert_default();
        annotations.insert("karpenter.sh/do-not-disrupt".to_owned(), "true".to_owned());
        pod
    }

    fn cost(claim: &NodeClaim, pods: &[Pod], now: &str) -> Cost {
        Cost::of(claim, pods.iter(), at(now))
    }

    #[test]
    fn st24_claims_without_an_instance_go_before_empty_nodes() {
        let mut unlaunched = launched("Never");
        unlaunched.status = None;
        assert_eq!(cost(&unlaunched, &[], "00:00:00"), Cost::NotLaunched);
        assert!(Cost::NotLaunched.order(&Cost::Empty).is_lt());
    }

    #[test]
    fn st25_a_node_with_daemons_and_ended_pods_only_is_empty_unless_one_is_protected() {
        let claim = launched("Never");
        let mut ended = pod();
        ended.status.get_or_insert_default().phase = Some("Succeeded".to_owned());
        assert_eq!(cost(&claim, &[], "00:00:00"), Cost::Empty);
        assert_eq!(cost(&claim, &[daemon(), ended], "00:00:00"), Cost::Empty);
        assert_eq!(cost(&claim, &[protected(daemon())], "00:00:00"), Cost::Protected(1.0));
    }

    #[test]
    fn st26_what_is_dearer_to_evict_goes_later_and_what_is_protected_last() {
        let claim = launched("Never");
        let mut cheap = pod();
        cheap.spec.get_or_insert_default().priority = Some(-(1 << 25));
        let cheap = cost(&claim, &[cheap], "00:00:00");
        let usual = cost(&claim, &[pod()], "00:00:00");
        let many = cost(&claim, &[pod(), pod()], "00:00:00");
        let one_protected = cost(&claim, &[protected(pod())], "00:00:00");
        assert_eq!(cheap, Cost::Pods(0.0));
        let order = [Cost::Empty, cheap, usual, many, one_protected];
        assert!(order.windows(2).all(|pair| pair[0].order(&pair[1]).is_lt()), "{order:?}");
    }

    #[test]
    fn st27_what_would_expire_soon_costs_less() {
        assert_eq!(cost(&launched("2h"), &[pod()], "01:00:00"), Cost::Pods(0.5));
        assert_eq!(cost(&launched("2h"), &[pod()], "03:00:00"), Cost::Pods(0.0));
        assert_eq!(cost(&launched("Never"), &[pod()], "03:00:00"), Cost::Pods(1.0));
    }
}
