//! What a checker has to say: which rule is broken, by what, and how.

use std::fmt::{self, Display, Formatter};

macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $variant:ident = $id:literal,)+) => {
        /// A rule that every plan must keep.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Rule {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Rule {
            /// Every rule there is.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// A stable word for programs.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $id,)+ }
            }
        }
    };
}

rules! {
    /// The plan names a pod that the snapshot does not have.
    PodUnknown = "pod.unknown",
    /// A pod has more than one place, or a place and a reason for having none.
    PodRepeated = "pod.repeated",
    /// A pod of the snapshot is not in the plan.
    PodMissing = "pod.missing",
    /// A pod that asks for devices through Dynamic Resource Allocation has a place although such
    /// pods are to be refused.
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
    /// A claim's requirements allow what its pool forbids, contradict its list of types, or say
    /// what no claim may say.
    ClaimRequirements = "claim.requirements",
    /// A claim's requests are less than its pods', or more than its pods' and daemons'.
    ClaimRequests = "claim.requests",
    /// The plan names a node or claim that the snapshot does not have.
    NodeUnknown = "node.unknown",
    /// A node is in the plan more than once.
    NodeRepeated = "node.repeated",
    /// A node is in the plan without receiving pods.
    NodeEmpty = "node.empty",
    /// A node that is going away receives pods.
    NodeLeaving = "node.leaving",
    /// A node receives more than it has room for.
    NodeOverfull = "node.overfull",
    /// A pod does not tolerate a taint of its instance.
    Taint = "taint",
    /// A pod's instance may have, or has, a label that the pod does not accept.
    Requirement = "requirement",
    /// A pod wants a label that its node does not have, and is there only because another pod of
    /// the plan excludes a value of this label.
    RequirementAssumed = "requirement.assumed",
    /// A claim lists a type that its pool does not have, or lists one twice.
    TypeUnknown = "type.unknown",
    /// A claim lists no type, or more than it may.
    TypeCount = "type.count",
    /// A type does not meet the claim's requirements, or is not offered where the claim may be.
    TypeIncompatible = "type.incompatible",
    /// A type has no room for the claim's pods and its daemons.
    TypeTooSmall = "type.tooSmall",
    /// A type has no room for the claim's pods and its daemons, unless what an offering says about
    /// capacity came on top of what the type says, instead of taking its place.
    TypeTooSmallAsOffered = "type.tooSmall.asOffered",
    /// A claim's types are not in order of price.
    TypeOrder = "type.order",
    /// A claim's price is not that of its cheapest type.
    TypePrice = "type.price",
    /// Two pods, or a pod and a daemon, want the same port of one instance.
    HostPort = "hostPort",
    /// An instance may be, or is, where the volumes of a pod cannot be.
    VolumeTopology = "volume.topology",
    /// A node would have more volumes attached than it can.
    VolumeLimit = "volume.limit",
    /// A type of a claim could not attach all the volumes of the claim's pods.
    VolumeLimitOfType = "volume.limit.type",
    /// A claim leaves fewer values of a label than its pool's `minValues`.
    MinValues = "minValues",
    /// A claim does not say whether its `minValues` were lowered, or says it wrongly.
    MinValuesUnmarked = "minValues.unmarked",
    /// A pool would have more of a resource than its limits allow.
    Limit = "limit",
    /// A pool would have more nodes than its limits allow.
    LimitNodes = "limit.nodes",
    /// A pool would have more than its limits allow, instances that have no node yet included.
    LimitInFlight = "limit.inFlight",
    /// More claims are for a reservation than it has instances.
    Reservation = "reservation",
    /// A pod may be near a pod that one of the two must be away from.
    AntiAffinity = "antiAffinity",
    /// A pod is not near a pod that it must be near.
    Affinity = "affinity",
    /// The first pods of a group that must be together are in several places, or in no certain one.
    AffinityBootstrap = "affinity.bootstrap",
    /// A pod that must be near others, or be spread, is on a node that is in no domain.
    TopologyNowhere = "topology.nowhere",
    /// Pods are spread too unevenly.
    Spread = "spread",
    /// A pod that must be spread is where its domain is not certain.
    SpreadUnpinned = "spread.unpinned",
    /// Pods are spread too unevenly, where Karpenter mixes up or forgets its counts.
    SpreadMiscounted = "spread.miscounted",
    /// A command names an instance that the snapshot does not have.
    CommandUnknown = "command.unknown",
    /// An instance goes in more than one command.
    CommandRepeated = "command.repeated",
    /// An instance that has to stay goes, or one stays and nobody says why.
    CommandKept = "command.kept",
    /// The pods that a command says move are not those that have to.
    CommandPods = "command.pods",
    /// Pods are sent to an instance that goes.
    CommandDestination = "command.destination",
    /// What comes in the place of instances is not cheaper, or the savings are told wrongly.
    CommandPrice = "command.price",
    /// More instances of a pool are away than a budget allows.
    CommandBudget = "command.budget",
}

impl Rule {
    /// Whether it is about the removal of instances, and not about plans.
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

    /// Whether Karpenter itself breaks this rule in known cases, so that a plan of Karpenter's own
    /// scheduler may have such findings. A plan of Joiner's may not.
    pub const fn broken_by_karpenter(self) -> bool {
        matches!(
            self,
            // Its volumes could not be looked up, and it is placed as if it had none.
            Self::PodVolumeWaiting
            // The exclusion becomes part of what is known of the node.
            | Self::RequirementAssumed
            // It adds an offering's capacity and overhead to those of the type.
            | Self::TypeTooSmallAsOffered
            // Attach limits of instances to come are not known to it.
            | Self::VolumeLimitOfType
            // Claims of one pool share their annotations.
            | Self::MinValuesUnmarked
            // `nodes` is not counted down inside a pass.
            | Self::LimitNodes
            // Claims that are not launched do not count.
            | Self::LimitInFlight
            // Two domains may be drawn at random, and neither is counted.
            | Self::AffinityBootstrap
            // Two constraints that leave no domain between them look like none to a node without
            // the label.
            | Self::TopologyNowhere
            // Groups are told apart by less than what they are, and a group that is first seen
            // when a pod has been relaxed starts without the pods placed before.
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
    /// Which rule.
    pub rule: Rule,
    /// What breaks it: a pod's `namespace/name`, a node, a pool, or a claim by its place in the
    /// plan.
    pub subject: String,
    /// How, as a sentence.
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
