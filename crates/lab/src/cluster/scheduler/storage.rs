//! Volumes as far as they decide where pods may go.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use joiner_apiserver::{Key, Object};
use joiner_core::label::{REGION, ZONE};

use super::{pod::Pod, refusal::Refusal, state::Node};
use crate::cluster::{
    selection::{integer, list, text},
    storage::{Claim, Class, Volume, best},
};

/// Claims, volumes, classes, limits, and who uses what.
#[derive(Debug, Default)]
pub(super) struct Storage {
    pub(super) claims: BTreeMap<Key, Claim>,
    pub(super) volumes: BTreeMap<Arc<str>, Volume>,
    pub(super) classes: BTreeMap<String, Class>,
    /// How many volumes of a driver a node can attach, by node.
    limits: BTreeMap<Arc<str>, BTreeMap<String, usize>>,
    /// The pods on nodes that use a claim.
    users: BTreeMap<Key, BTreeSet<Key>>,
}

/// What a pod needs of storage.
#[derive(Debug, Default)]
pub(super) struct Needs<'s> {
    bound: Vec<&'s Claim>,
    /// Claims whose volumes are chosen together with the node, the smallest first, each with the
    /// volumes that would suit it somewhere.
    waiting: Vec<(&'s Claim, Vec<&'s Volume>)>,
}

/// How the waiting claims of a pod are met on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Supply {
    /// By a volume that is there.
    Volume(Key, Arc<str>),
    /// By a volume that is made there.
    Made(Key),
}

impl Storage {
    /// Takes note of the limits of a node, or that they are gone.
    pub(super) fn put_limits(&mut self, node: &Arc<str>, object: Option<&Object>) {
        let Some(object) = object else {
            self.limits.remove(node);
            return;
        };
        let value = object.value();
        let drivers = list(&value["spec"]["drivers"]).iter().filter_map(|driver| {
            let count = &driver["allocatable"]["count"];
            count.is_number().then(|| (text(&driver["name"]), integer(count) as usize))
        });
        self.limits.insert(Arc::clone(node), drivers.collect());
    }

    /// Takes note that a pod on a node uses its claims.
    pub(super) fn uses(&mut self, pod: &Pod) {
        for claim in keys(pod) {
            self.users.entry(claim).or_default().insert(pod.key.clone());
        }
    }

    /// Takes note that a pod no longer does.
    pub(super) fn no_longer_uses(&mut self, pod: &Pod) {
        for claim in keys(pod) {
            if let Some(users) = self.users.get_mut(&claim) {
                users.remove(&pod.key);
                if users.is_empty() {
                    self.users.remove(&claim);
                }
            }
        }
    }

    /// What a pod needs, or why it cannot be placed anywhere yet.
    pub(super) fn needs(&self, pod: &Pod) -> Result<Needs<'_>, String> {
        let mut needs = Needs::default();
        for key in keys(pod) {
            let Some(claim) = self.claims.get(&key) else {
                return Err(format!("persistentvolumeclaim {:?} not found", key.name));
            };
            if claim.deleting {
                return Err(format!("persistentvolumeclaim {:?} is being deleted", key.name));
            }
            if claim.phase == "Lost" {
                return Err(format!(
                    "persistentvolumeclaim {:?} bound to non-existent persistentvolume {:?}",
                    key.name,
                    claim.volume.as_deref().unwrap_or_default()
                ));
            }
            if claim.is_bound() {
                needs.bound.push(claim);
            } else if self.class_of(claim).is_some_and(|class| class.waits)
                && claim.volume.is_none()
            {
                let suitable = self.volumes.values().filter(|volume| volume.suits(claim));
                needs.waiting.push((claim, suitable.collect()));
            } else {
                return Err("pod has unbound immediate PersistentVolumeClaims".to_owned());
            }
        }
        needs.waiting.sort_by_key(|(claim, _)| (claim.size, claim.key.clone()));
        Ok(needs)
    }

    /// Why a node's storage is not for a pod.
    pub(super) fn refusal(&self, pod: &Pod, needs: &Needs<'_>, node: &Node) -> Option<Refusal> {
        if needs.bound.is_empty() && needs.waiting.is_empty() {
            return None;
        }
        if self.is_in_use(pod, needs) {
            return Some(Refusal::ClaimInUse);
        }
        if self.is_over_limit(pod, node) {
            return Some(Refusal::TooManyVolumes);
        }
        for claim in &needs.bound {
            let Some(volume) = self.volume_of(claim) else { return Some(Refusal::VolumeMissing) };
            if !volume.reaches(&node.name, &node.facts.labels) {
                return Some(Refusal::VolumeElsewhere);
            }
        }
        if self.supplies(needs, node).is_none() {
            return Some(Refusal::NoVolume);
        }
        let volumes = needs.bound.iter().filter_map(|claim| self.volume_of(claim));
        if volumes.into_iter().any(|volume| is_in_other_zone(volume, node)) {
            return Some(Refusal::VolumeInOtherZone);
        }
        None
    }

    /// How the waiting claims would be met on a node, if they can be: larger claims choose last, as
    /// a small volume is of no use to them.
    pub(super) fn supplies(&self, needs: &Needs<'_>, node: &Node) -> Option<Vec<Supply>> {
        let mut taken: BTreeSet<&str> = BTreeSet::new();
        let mut supplies = Vec::new();
        for (claim, suitable) in &needs.waiting {
            if claim.selected_node.as_deref().is_some_and(|name| *name != *node.name) {
                return None;
            }
            let near = suitable.iter().copied().filter(|volume| {
                !taken.contains(&*volume.name) && volume.reaches(&node.name, &node.facts.labels)
            });
            if claim.selected_node.is_none()
                && let Some(volume) = best(claim, near)
            {
                taken.insert(&volume.name);
                supplies.push(Supply::Volume(claim.key.clone(), Arc::clone(&volume.name)));
                continue;
            }
            let class = self.class_of(claim).filter(|class| class.makes_volumes())?;
            class.topology_of(&node.facts.labels)?;
            supplies.push(Supply::Made(claim.key.clone()));
        }
        Some(supplies)
    }

    /// Whether every claim of a pod is bound.
    pub(super) fn is_ready(&self, pod: &Pod) -> bool {
        keys(pod).all(|claim| self.claims.get(&claim).is_some_and(Claim::is_bound))
    }

    fn class_of(&self, claim: &Claim) -> Option<&Class> {
        self.classes.get(claim.class.as_deref().filter(|class| !class.is_empty())?)
    }

    fn volume_of(&self, claim: &Claim) -> Option<&Volume> {
        self.volumes.get(claim.volume.as_deref()?)
    }

    /// Whether a claim for a single pod is used by another pod, on any node.
    fn is_in_use(&self, pod: &Pod, needs: &Needs<'_>) -> bool {
        let single = needs.bound.iter().chain(needs.waiting.iter().map(|(claim, _)| claim));
        let single = single.filter(|claim| claim.is_for_one_pod());
        single
            .filter_map(|claim| self.users.get(&claim.key))
            .any(|users| users.iter().any(|user| *user != pod.key))
    }

    fn is_over_limit(&self, pod: &Pod, node: &Node) -> bool {
        let Some(limits) = self.limits.get(&node.name).filter(|limits| !limits.is_empty()) else {
            return false;
        };
        let wanted: BTreeSet<_> = self.attachments(pod).collect();
        if wanted.is_empty() {
            return false;
        }
        let attached: BTreeSet<_> =
            node.pods.values().flat_map(|pod| self.attachments(pod)).collect();
        limits.iter().any(|(driver, limit)| {
            let of_driver = |all: &BTreeSet<(String, String)>| {
                all.iter().filter(|(own, _)| own == driver).cloned().collect::<BTreeSet<_>>()
            };
            let new = of_driver(&wanted.difference(&attached).cloned().collect());
            !new.is_empty() && of_driver(&attached).len() + new.len() > *limit
        })
    }

    /// The volumes of a pod that a driver has to attach. One that is yet to be made is known by its
    /// claim.
    fn attachments(&self, pod: &Pod) -> impl Iterator<Item = (String, String)> {
        keys(pod).filter_map(|key| {
            let claim = self.claims.get(&key)?;
            match self.volume_of(claim) {
                Some(volume) => volume.driver.clone(),
                None => {
                    let class = self.class_of(claim).filter(|class| class.makes_volumes())?;
                    Some((class.provisioner.clone(), claim.made_volume()))
                }
            }
        })
    }
}

/// The claims of a pod.
pub(super) fn keys(pod: &Pod) -> impl Iterator<Item = Key> + use<> {
    let (namespace, claims) = (Arc::clone(&pod.key.namespace), pod.claims.clone());
    claims.into_iter().map(move |name| Key { namespace: Arc::clone(&namespace), name: name.into() })
}

/// Whether a volume is in zones, by its labels, that the node is not in. A volume of several zones
/// has them in one label, joined by two underscores.
fn is_in_other_zone(volume: &Volume, node: &Node) -> bool {
    let labels = &node.facts.labels;
    if !labels.contains_key(ZONE) && !labels.contains_key(REGION) {
        // A node that says nothing about zones takes volumes of all.
        return false;
    }
    [ZONE, REGION].iter().any(|key| {
        volume.labels.get(*key).is_some_and(|zones| {
            labels.get(*key).is_none_or(|own| !zones.split("__").any(|zone| zone == own))
        })
    })
}
