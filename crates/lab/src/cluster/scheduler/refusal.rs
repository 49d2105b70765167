//! Why a node is not for a pod, and how Kubernetes says so.

use std::collections::BTreeMap;

use super::amounts::{Names, PODS_ID, ResourceId};

/// The rules that refuse nodes, which decide what may help a refused pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    Node,
    Ports,
    Resources,
    Volumes,
    Spread,
    Affinity,
}

/// Why a node is not for a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Refusal {
    Unschedulable,
    Tainted,
    NotSelected,
    /// The pod names its nodes and this is none of them.
    NotNamed,
    PortsTaken,
    /// Not enough of these; and whether the node is too small even when it is empty.
    Insufficient(Vec<ResourceId>, bool),
    ClaimInUse,
    TooManyVolumes,
    NoVolume,
    VolumeElsewhere,
    VolumeMissing,
    VolumeInOtherZone,
    Spread,
    SpreadWithoutLabel,
    Affinity,
    AntiAffinity,
    ExistingAntiAffinity,
}

impl Refusal {
    /// The rule that refuses.
    pub(super) fn rule(&self) -> Rule {
        match self {
            Self::Unschedulable | Self::Tainted | Self::NotSelected | Self::NotNamed => Rule::Node,
            Self::PortsTaken => Rule::Ports,
            Self::Insufficient(..) => Rule::Resources,
            Self::ClaimInUse
            | Self::TooManyVolumes
            | Self::NoVolume
            | Self::VolumeElsewhere
            | Self::VolumeMissing
            | Self::VolumeInOtherZone => Rule::Volumes,
            Self::Spread | Self::SpreadWithoutLabel => Rule::Spread,
            Self::Affinity | Self::AntiAffinity | Self::ExistingAntiAffinity => Rule::Affinity,
        }
    }

    /// Whether pushing out pods could help.
    pub(super) fn is_resolvable(&self) -> bool {
        match self {
            Self::PortsTaken
            | Self::ClaimInUse
            | Self::TooManyVolumes
            | Self::Spread
            | Self::AntiAffinity
            | Self::ExistingAntiAffinity => true,
            Self::Insufficient(_, even_empty) => !even_empty,
            _ => false,
        }
    }

    /// Kubernetes' words, one text per reason.
    pub(super) fn texts(&self, names: &Names) -> Vec<String> {
        let text = match self {
            Self::Insufficient(resources, _) => {
                return resources.iter().map(|id| insufficient(*id, names)).collect();
            }
            Self::Unschedulable => "node(s) were unschedulable",
            Self::Tainted => "node(s) had untolerated taint(s)",
            Self::NotSelected => "node(s) didn't match Pod's node affinity/selector",
            Self::NotNamed => "node(s) didn't satisfy plugin(s) [NodeAffinity]",
            Self::PortsTaken => "node(s) didn't have free ports for the requested pod ports",
            Self::ClaimInUse => {
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access \
                 mode already in-use by another pod"
            }
            Self::TooManyVolumes => "node(s) exceed max volume count",
            Self::NoVolume => "node(s) didn't find available persistent volumes to bind",
            Self::VolumeElsewhere => "node(s) didn't match PersistentVolume's node affinity",
            Self::VolumeMissing => {
                "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
            }
            Self::VolumeInOtherZone => "node(s) had no available volume zone",
            Self::Spread => "node(s) didn't match pod topology spread constraints",
            Self::SpreadWithoutLabel => {
                "node(s) didn't match pod topology spread constraints (missing required label)"
            }
            Self::Affinity => "node(s) didn't match pod affinity rules",
            Self::AntiAffinity => "node(s) didn't match pod anti-affinity rules",
            Self::ExistingAntiAffinity => {
                "node(s) didn't satisfy existing pods anti-affinity rules"
            }
        };
        vec![text.to_owned()]
    }
}

fn insufficient(id: ResourceId, names: &Names) -> String {
    if id == PODS_ID { "Too many pods".into() } else { format!("Insufficient {}", names.name(id)) }
}

/// `0/5 nodes are available: 2 Insufficient cpu, 3 node(s) were unschedulable.`
pub(super) fn summary(nodes: usize, reasons: &BTreeMap<String, usize>) -> String {
    let mut parts: Vec<_> =
        reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    // By text, numbers included: that is how Kubernetes sorts them.
    parts.sort();
    let list = parts.join(", ");
    if list.is_empty() {
        format!("0/{nodes} nodes are available:")
    } else {
        format!("0/{nodes} nodes are available: {list}.")
    }
}

/// How often each reason was given.
pub(super) fn histogram<'r>(
    refusals: impl IntoIterator<Item = &'r Refusal>,
    names: &Names,
) -> BTreeMap<String, usize> {
    let mut counts: BTreeMap<&Refusal, usize> = BTreeMap::new();
    for refusal in refusals {
        *counts.entry(refusal).or_default() += 1;
    }
    let mut reasons = BTreeMap::new();
    for (refusal, count) in counts {
        for text in refusal.texts(names) {
            *reasons.entry(text).or_default() += count;
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_and_sorted_as_kubernetes_does() {
        let names = Names::default();
        let refusals = [
            Refusal::Tainted,
            Refusal::Insufficient(vec![0, 3], false),
            Refusal::Tainted,
            Refusal::Insufficient(vec![0], true),
            Refusal::Unschedulable,
        ];
        assert_eq!(
            summary(5, &histogram(&refusals, &names)),
            "0/5 nodes are available: 1 Too many pods, 1 node(s) were unschedulable, \
             2 Insufficient cpu, 2 node(s) had untolerated taint(s)."
        );
        assert_eq!(summary(0, &BTreeMap::new()), "0/0 nodes are available:");
    }
}
