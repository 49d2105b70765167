//! What a process remembers. All of it can be lost: it is found out again.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use jiff::Timestamp;
use joiner_cloud::{
    InstanceTypes,
    attempts::Tries,
    class::NodeClass,
    cluster::{Cluster, ClusterChange},
    judgement::{RefusedOrders, ToldOnce},
    order::ClaimId,
    resolutions::Resolutions,
    unavailable::{Unavailable, UnavailableOffering, unavailable_offerings},
};

use crate::{
    labels::{Aliases, Named},
    offerings::MadeOf,
    resolve::Resolution,
};

/// Deletions that are remembered at most. A creation that is under way looks whether it is among
/// them.
const DELETIONS_MAX: usize = 10_000;

/// What a class comes to, and what follows.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    pub(crate) resolution: Resolution,
    pub(crate) types: InstanceTypes,
    pub(crate) made_of: BTreeMap<String, MadeOf>,
    /// The types' names, to find what others call them.
    pub(crate) names: Vec<Named>,
    /// The values of the zone label, by the zones' ids.
    pub(crate) zones: BTreeMap<String, String>,
}

/// What a process remembers.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) resolutions: Resolutions<Resolved>,
    /// What others call the zones and types of all classes.
    pub(super) aliases: Aliases,
    /// What could not be had lately.
    pub(super) unavailable: Unavailable,
    /// Classes whose types were told, by name.
    pub(super) types: BTreeMap<String, InstanceTypes>,
    /// Orders that made no sense to CloudStack, one after the other.
    pub(super) invalid_orders: RefusedOrders,
    /// Deletions that failed, by the claim's identity.
    pub(super) tries: Tries,
    /// What was told of objects.
    pub(super) told: ToldOnce,
    /// Deletions in the order in which they were asked for, by the claim's identity.
    deletions: BTreeMap<String, u64>,
    deletions_count: u64,
    /// Provider ids of nodes, by the node's name.
    pub(super) nodes: BTreeMap<String, String>,
    /// Claims that have an instance and are not being deleted, by their identity.
    pub(super) claims: BTreeSet<ClaimId>,
    /// The scope that each class was resolved in, by the class's name.
    pub(super) scopes: BTreeMap<String, String>,
    /// Projects of classes that name their own, by the class's name.
    pub(super) projects: BTreeMap<String, String>,
    /// Whose objects are seen, and when that was asked.
    pub(super) scope: Option<(Timestamp, String)>,
    /// Since when instances are off, by their ids, and whether their claims were told.
    pub(super) off: BTreeMap<String, (Timestamp, bool)>,
    /// Since when lists are empty although claims have instances.
    pub(super) empty_since: Option<Timestamp>,
    /// Jobs of launches that are not waited for any more, oldest look first.
    pub(super) watched: VecDeque<(String, ClaimId)>,
    /// Whether removed instances may be expunged, and when that was asked.
    pub(super) may_expunge: Option<(Timestamp, bool)>,
}

impl State {
    pub(super) fn begin(&mut self, cluster: &Cluster) {
        for class in &cluster.classes {
            self.change(&ClusterChange::Class(Arc::clone(class)));
        }
        for claim in &cluster.claims {
            self.change(&ClusterChange::Claim(claim.clone()));
        }
        for node in &cluster.nodes {
            self.change(&ClusterChange::Node(node.clone()));
        }
    }

    pub(super) fn change(&mut self, change: &ClusterChange) {
        match change {
            ClusterChange::Class(class) => {
                let text = |own: &serde_json::Value| {
                    own.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
                };
                put(&mut self.scopes, &class.name, text(&class.status["scope"]));
                put(&mut self.projects, &class.name, text(&class.spec["projectID"]));
            }
            ClusterChange::ClassGone(class) => {
                self.scopes.remove(&class.name);
                self.projects.remove(&class.name);
                self.types.remove(&class.name);
                self.resolutions.forget(&class.name);
                self.aliases = self.aliases_now();
            }
            ClusterChange::Claim(facts) => {
                if facts.provider_id.is_some() && !facts.deleting {
                    self.claims.insert(facts.claim.clone());
                } else {
                    self.claims.remove(&facts.claim);
                }
            }
            ClusterChange::ClaimGone(claim) => {
                self.claims.remove(claim);
            }
            ClusterChange::Node(node) => {
                put(&mut self.nodes, &node.name, node.provider_id.clone());
            }
            ClusterChange::NodeGone(name) => {
                self.nodes.remove(name);
            }
        }
    }

    /// The deletion of a claim is asked for.
    pub(super) fn deletion(&mut self, claim_uid: &str) {
        if self.deletions.len() >= DELETIONS_MAX {
            self.deletions.clear();
        }
        self.deletions_count += 1;
        self.deletions.insert(claim_uid.to_owned(), self.deletions_count);
    }

    /// How many deletions were asked for until now.
    pub(super) fn deletions_until_now(&self) -> u64 {
        self.deletions_count
    }

    /// Whether the deletion of a claim was asked for after so many others.
    pub(super) fn is_deleted_since(&self, claim_uid: &str, count: u64) -> bool {
        self.deletions.get(claim_uid).is_some_and(|own| *own > count)
    }

    /// What a type lacks in a zone, in one word; none if it is available as far as it is known.
    pub(super) fn why_unavailable(
        &self,
        class: &str,
        instance_type: &str,
        zone: Option<&str>,
        now: Timestamp,
    ) -> Option<&'static str> {
        self.unavailable.why(class, instance_type, zone, None, || true, now)
    }

    /// Every offering that is not available now.
    pub(super) fn unavailable_offerings(&self, now: Timestamp) -> Vec<UnavailableOffering> {
        let of_class = self.types.iter().flat_map(|(class, types)| {
            unavailable_offerings(types, |name, zone| self.why_unavailable(class, name, zone, now))
        });
        of_class.collect()
    }

    /// Remembers what a class comes to.
    pub(super) fn remember(&mut self, class: &NodeClass, resolved: &Arc<Resolved>, now: Timestamp) {
        self.types.insert(class.name.clone(), Arc::clone(&resolved.types));
        self.resolutions.remember(class, Arc::clone(resolved), now);
        self.aliases = self.aliases_now();
    }

    fn aliases_now(&self) -> Aliases {
        let zones = self.resolutions.all().flat_map(|own| {
            own.resolution.zones.iter().filter_map(|zone| {
                let (id, name) = (zone.zone.id.clone(), zone.zone.name.clone());
                Some(Named { value: own.zones.get(&id)?.clone(), ids: vec![id], name })
            })
        });
        let types = self.resolutions.all().flat_map(|own| own.names.iter().cloned());
        Aliases::new(zones.collect(), types.collect())
    }
}

/// Puts a value where there is one, and takes the old one away otherwise.
fn put(map: &mut BTreeMap<String, String>, key: &str, value: Option<String>) {
    match value {
        Some(value) => map.insert(key.to_owned(), value),
        None => map.remove(key),
    };
}
