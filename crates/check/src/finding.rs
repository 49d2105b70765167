//! Findings: which rule is broken, by what, and how.

use std::fmt::{self, Display, Formatter};

macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $variant:ident = $id:literal,)+) => {
        /// A rule that every plan must keep.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Rule {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The stable id for programs.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $id,)+ }
            }
        }
    };
}

rules! {
    /// The plan names a pod that the snapshot does not have.
    PodUnknown = "pod.unknown",
    /// A pod has more than one place, or both a place and a reason for having none.
    PodRepeated = "pod.repeated",
    /// A pod of the snapshot is not in the plan.
    PodMissing = "pod.missing",
    /// A pod that requests devices through Dynamic Resource Allocation has a place although such pods must be
    /// refused.
    PodDra = "pod.dra",
    /// A pod has a place although it must wait for its volumes.
    PodVolumeWaiting = "pod.volumeWaiting",
    /// A claim's pool is not in the snapshot.
    PoolUnknown = "pool.unknown",
    /// A claim's pool is not ready, is being deleted or keeps a fixed number of instances.
    PoolUnusable = "pool.unusable",
    /// A claim has no pods.
    ClaimEmpty = "claim.empty",
    /// A claim's labels are not those of its pool and its requirements.
    ClaimLabels = "claim.labels",
    /// A claim's annotations are not those of its pool and its types.
    ClaimAnnotations = "claim.annotations",
    /// A claim's taints or startup taints are not those of its pool.
    ClaimTaints = "claim.taints",
    /// A claim's requirements allow what its pool forbids, contradict its list of types, or name a key that no
    /// claim may have.
    ClaimRequirements = "claim.requirements",
    /// A claim's requests are less than its pods', or more than its pods' and daemons'.
    ClaimRequests = "claim.requests",
    /// The plan names a node or claim that the snapshot does not have.
    NodeUnknown = "node.unknown",
    /// A node is in the plan more than once.
    NodeRepeated = "node.repeated",
    /// A node is in the plan without receiving pods.
    NodeEmpty = "node.empty",
    /// A node that is being removed receives pods.
    NodeLeaving = "node.leaving",
    /// A node receives more pods than it has capacity for.
    NodeOverfull = "node.overfull",
    /// A pod does not tolerate a taint of its instance.
    Taint = "taint",
    /// A pod's instance may have, or has, a label that the pod does not accept.
    Requirement = "requirement",
    /// A pod requires a label that its node lacks, and is there only because another pod of the plan excludes a
    /// value of this label.
    RequirementAssumed = "requirement.assumed",
    /// A claim lists a type that its pool does not have, or lists one twice.
    TypeUnknown = "type.unknown",
    /// A claim lists no type, or more than it may.
    TypeCount = "type.count",
    /// A type does not satisfy the claim's requirements, or is not offered where the claim may be.
    TypeIncompatible = "type.incompatible",
    /// A type has no room for the claim's pods and its daemons.
    TypeTooSmall = "type.tooSmall",
    /// A type is too small for the claim's pods and daemons. It would fit if the capacity of an offering were added to
    /// the type's instead of replacing it.
    TypeTooSmallAsOffered = "type.tooSmall.asOffered",
    /// A claim's types are not in order of price.
    TypeOrder = "type.order",
    /// A claim's price is not that of its cheapest type.
    TypePrice = "type.price",
    /// Two pods, or a pod and a daemon, use the same port of one instance.
    HostPort = "hostPort",
    /// An instance may be where the volumes of a pod cannot be used.
    VolumeTopology = "volume.topology",
    /// A node would exceed its limit of attached volumes.
    VolumeLimit = "volume.limit",
    /// A type of a claim could not attach all the volumes of the claim's pods.
    VolumeLimitOfType = "volume.limit.type",
    /// A claim leaves fewer values of a label than its pool's `minValues`.
    MinValues = "minValues",
    /// A claim does not record whether its `minValues` were lowered, or records it wrongly.
    MinValuesUnmarked = "minValues.unmarked",
    /// A pool would have more of a resource than its limits allow.
    Limit = "limit",
    /// A pool would have more nodes than its limits allow.
    LimitNodes = "limit.nodes",
    /// A pool would exceed its limits together with instances that have no node yet.
    LimitInFlight = "limit.inFlight",
    /// A reservation has more claims than instances.
    Reservation = "reservation",
    /// A pod may be near a pod although one of the two must avoid the other.
    AntiAffinity = "antiAffinity",
    /// A pod is not near a pod that it must be near.
    Affinity = "affinity",
    /// The first pods of a group with affinity are in several domains, or in no certain one.
    AffinityBootstrap = "affinity.bootstrap",
    /// A pod with affinity or spread is on a node without a domain.
    TopologyNowhere = "topology.nowhere",
    /// Pods are spread too unevenly.
    Spread = "spread",
    /// A pod with a spread constraint is in no certain domain.
    SpreadUnpinned = "spread.unpinned",
    /// Pods are spread too unevenly, in a case where Karpenter confuses or loses its counts.
    SpreadMiscounted = "spread.miscounted",
    /// A command names an instance that the snapshot does not have.
    CommandUnknown = "command.unknown",
    /// More than one command removes an instance.
    CommandRepeated = "command.repeated",
    /// An instance is removed that must stay, or one stays without a reason.
    CommandKept = "command.kept",
    /// The pods that a command names are not those that must move.
    CommandPods = "command.pods",
    /// Pods are sent to an instance that is removed.
    CommandDestination = "command.destination",
    /// A replacement is not cheaper, or the savings are wrong.
    CommandPrice = "command.price",
    /// More instances of a pool are unavailable than a budget allows.
    CommandBudget = "command.budget",
}

impl Rule {
    /// Whether the rule is about commands, rather than plans.
    pub const fn is_about_commands(self) -> bool {
        matches!(
            self,
            Self::CommandUnknown
                | Self::CommandRepeated
                | Self::CommandKept
                | Self::CommandPods
                | Self::CommandDestination
                | Self::CommandPrice
                | Self::CommandBudget
        )
    }

    /// Whether Karpenter itself breaks this rule in known cases. Its plans may have such findings, Joiner's may
    /// not.
    pub const fn broken_by_karpenter(self) -> bool {
        matches!(
            self,
            // Volumes that could not be read are treated as absent.
            Self::PodVolumeWaiting
            // The exclusion becomes a fact about the node.
            | Self::RequirementAssumed
            // The capacity and overhead of an offering are added to those of the type.
            | Self::TypeTooSmallAsOffered
            // The attach limits of new instances are unknown to it.
            | Self::VolumeLimitOfType
            // Claims of one pool share their annotations.
            | Self::MinValuesUnmarked
            // `nodes` is not counted down within a pass.
            | Self::LimitNodes
            // Claims that are not launched do not count.
            | Self::LimitInFlight
            // Two domains may be drawn at random, and neither is counted.
            | Self::AffinityBootstrap
            // Two constraints without a common domain look like no constraint to a node without the label.
            | Self::TopologyNowhere
            // Groups are distinguished by too little. A group that is created when a pod is relaxed does not count
            // the pods placed before.
            | Self::SpreadMiscounted
        )
    }
}

impl Display for Rule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// What breaks it: a pod's `namespace/name`, a node, a pool, or a claim by its position in the plan.
    pub subject: String,
    /// A sentence with the details.
    pub message: String,
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.rule, self.subject, self.message)
    }
}

/// Collects findings.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<Finding>);

impl Findings {
    pub(crate) fn add(&mut self, rule: Rule, subject: impl Display, message: impl Display) {
        let (subject, message) = (subject.to_string(), message.to_string());
        self.0.push(Finding { rule, subject, message });
    }

    pub(crate) fn into_vec(self) -> Vec<Finding> {
        self.0
    }
}
