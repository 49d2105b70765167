//! Passes the cluster's state to the clouds: all of it at the start, and then every change.

use std::{net::IpAddr, sync::Arc};

use joiner_api::node_claim::NodeClaim;
use joiner_cloud::{
    CloudProvider,
    class::{NodeClass, ObjectName},
    cluster::{ClaimFacts, Cluster, ClusterChange, NodeFacts},
};
use k8s_openapi::api::core::v1::Node;

use crate::{
    claims::{self, is_deleting, name, provider_id},
    context::Context,
    world::{Change, World},
};

/// Kinds of addresses by which a node is reached.
const ADDRESSES: [&str; 2] = ["InternalIP", "ExternalIP"];

/// Passes the cluster with this identity to every cloud. No change is missed.
pub fn begin(context: &Context, cluster_uid: &str) {
    for provider in context.providers.all() {
        let (told, own) = (Arc::clone(provider), context.clone());
        let listener = move |_: &World, change: &Change| {
            if let Some(change) = change_for(&own, told.as_ref(), change) {
                told.changed(&change);
            }
        };
        context.cache.listen_after(
            |world| provider.begin(&cluster(context, provider.as_ref(), world, cluster_uid)),
            listener,
        );
    }
}

fn cluster(context: &Context, provider: &dyn CloudProvider, world: &World, uid: &str) -> Cluster {
    let classes = world.node_classes.values().filter(|class| is_class_of(provider, class));
    let claims = world.node_claims.values().filter(|claim| is_claim_of(context, provider, claim));
    Cluster {
        uid: uid.to_owned(),
        classes: classes.cloned().collect(),
        claims: claims.map(|claim| claim_facts(claim)).collect(),
        nodes: world.nodes.values().map(|node| node_facts(node)).collect(),
    }
}

/// A change in the form for clouds; none if it does not concern them.
fn change_for(
    context: &Context,
    provider: &dyn CloudProvider,
    change: &Change,
) -> Option<ClusterChange> {
    match change {
        Change::NodeClass(diff) => {
            let latest = diff.latest();
            is_class_of(provider, latest).then(|| match &diff.new {
                Some(class) => ClusterChange::Class(Arc::clone(class)),
                None => ClusterChange::ClassGone(latest.object_name()),
            })
        }
        Change::NodeClaim(diff) => {
            let latest = diff.latest();
            is_claim_of(context, provider, latest).then(|| match &diff.new {
                Some(claim) => ClusterChange::Claim(claim_facts(claim)),
                None => ClusterChange::ClaimGone(claims::id(latest)),
            })
        }
        Change::Node(diff) => {
            let facts = |node: &Arc<Node>| node_facts(node);
            match (&diff.old, &diff.new) {
                (old, Some(node)) => {
                    let now = facts(node);
                    // Nodes report themselves all the time.
                    let is_news = old.as_ref().map(facts).as_ref() != Some(&now);
                    is_news.then_some(ClusterChange::Node(now))
                }
                (old, None) => {
                    let gone = old.as_ref()?;
                    Some(ClusterChange::NodeGone(name(&gone.metadata).to_owned()))
                }
            }
        }
        _ => None,
    }
}

fn is_class_of(provider: &dyn CloudProvider, class: &NodeClass) -> bool {
    let mut kinds = provider.class_kinds().iter();
    kinds.any(|kind| kind.group == class.group && kind.kind == class.kind)
}

fn is_claim_of(context: &Context, provider: &dyn CloudProvider, claim: &NodeClaim) -> bool {
    context.provider_of(claim).is_some_and(|own| own.name() == provider.name())
}

fn claim_facts(claim: &NodeClaim) -> ClaimFacts {
    let class = claim.spec.node_class_ref.clone().unwrap_or_default();
    ClaimFacts {
        claim: claims::id(claim),
        class: ObjectName { group: class.group, kind: class.kind, name: class.name },
        provider_id: provider_id(claim).map(str::to_owned),
        labels: claim.metadata.labels.clone().unwrap_or_default(),
        annotations: claim.metadata.annotations.clone().unwrap_or_default(),
        deleting: is_deleting(claim),
    }
}

fn node_facts(node: &Node) -> NodeFacts {
    let id = node.spec.as_ref().and_then(|spec| spec.provider_id.clone());
    let listed = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
    let reached = listed.filter(|address| ADDRESSES.contains(&address.type_.as_str()));
    let addresses = reached.filter_map(|address| address.address.parse::<IpAddr>().ok());
    NodeFacts {
        name: name(&node.metadata).to_owned(),
        provider_id: id.filter(|id| !id.is_empty()),
        addresses: addresses.collect(),
    }
}
