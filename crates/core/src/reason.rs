//! Reasons: why a pod has no place, and why an instance stays or is removed. Ids are stable for programs, and each
//! has a section in docs/reasons.md.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

macro_rules! reason_ids {
    ($($(#[doc = $doc:literal])+ $variant:ident = $id:literal,)+) => {
        /// The id of a reason.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum ReasonId {
            $($(#[doc = $doc])+ #[serde(rename = $id)] $variant,)+
        }

        impl ReasonId {
            /// Every id.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The stable text of the id.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $id,)+ }
            }
        }
    };
}

reason_ids! {
    /// No pool can create instances.
    PoolNone = "pool.none",
    /// The pool is not ready, or is being deleted.
    PoolNotReady = "pool.notReady",
    /// The pool's requirements exclude all of its instance types.
    PoolNoTypes = "pool.noTypes",
    /// The pod does not tolerate one of the pool's taints.
    PoolTaintUntolerated = "pool.taint.untolerated",
    /// The pod requires a label that the pool's instances do not have.
    PoolLabelUnknown = "pool.label.unknown",
    /// The pod requires a value of a label that the pool or its types do not allow.
    PoolRequirementConflict = "pool.requirement.conflict",
    /// The pool may not grow any more.
    PoolLimitReached = "pool.limit.reached",
    /// No type of the pool is large enough.
    ShapeTooSmall = "shape.tooSmall",
    /// No type of the pool takes one more pod.
    ShapePodsMax = "shape.podsMax",
    /// Types that fit exist, but none is available with the required zone and capacity type.
    OfferingNone = "offering.none",
    /// The pod's volumes are in places where the pool has no instances.
    ZoneVolume = "zone.volume",
    /// The instance could not attach one more volume.
    VolumeLimit = "volume.limit",
    /// Placing the pod would spread its workload too unevenly.
    TopologySpread = "topology.spread",
    /// No pod that this pod must be near has a known place.
    AffinityUnmet = "affinity.unmet",
    /// Every place is near a pod that this pod must avoid, or that must avoid it.
    AntiAffinityBlocked = "antiAffinity.blocked",
    /// A daemon already has the port on every fitting instance.
    HostPortTaken = "hostPort.taken",
    /// The pod requests devices through Dynamic Resource Allocation, which is ignored by default.
    DraIgnored = "dra.ignored",
    /// The claim would leave fewer values of a label than the pool's `minValues`.
    MinValuesUnmet = "minValues.unmet",
    /// The pod selects on a restricted label.
    PodSelectorRestricted = "pod.selector.restricted",
    /// A selector of the pod is not valid.
    PodSelectorInvalid = "pod.selector.invalid",
    /// The pod requires a node of no pool.
    PodOptedOut = "pod.optedOut",
    /// Reserved capacity that fits is taken; the pod waits for it.
    WaitingReservation = "waiting.reservation",
    /// The pod waits for its volumes.
    WaitingVolume = "waiting.volume",
    /// Planning the pod exceeds the work that the pass may spend on pods with long lists.
    WaitingWork = "waiting.work",
    /// The instance is removed: no pod on it would have to move.
    NodeEmpty = "node.empty",
    /// The instance is replaced: it no longer matches its pool.
    NodeDrifted = "node.drifted",
    /// The instance is removed: its pods fit elsewhere, or on something cheaper.
    NodeUnderutilized = "node.underutilized",
    /// The removal of instances is paused.
    DisruptionPaused = "disruption.paused",
    /// The instance is already being removed.
    NodeLeaving = "node.leaving",
    /// The instance has expired and is removed without a plan.
    NodeExpired = "node.expired",
    /// The instance is part of a command that is being carried out.
    NodeQueued = "node.queued",
    /// The claim has no Node.
    NodeMissing = "node.missing",
    /// Several Nodes have the provider ID of the instance.
    NodeShared = "node.shared",
    /// The instance is not initialized.
    NodeUninitialized = "node.uninitialized",
    /// The instance is being rebooted, and comes back.
    NodeRebooting = "node.rebooting",
    /// A pending pod was promised a place on the instance.
    NodeNominated = "node.nominated",
    /// The annotation on the Node forbids its removal.
    NodeDoNotDisrupt = "node.doNotDisrupt",
    /// The instance has no label for its pool.
    NodeNoPool = "node.noPool",
    /// The instance receives pods of removed instances.
    NodeReceives = "node.receives",
    /// Other instances are removed first.
    NodeLater = "node.later",
    /// The instance's pods have changed too recently.
    NodeTooYoung = "node.tooYoung",
    /// The pool has no such instance type, so the price of the instance is unknown.
    NodeTypeUnknown = "node.typeUnknown",
    /// The instance lacks a label that its price depends on.
    NodeLabelMissing = "node.labelMissing",
    /// The instance's pool is gone.
    PoolNotFound = "pool.notFound",
    /// The pool has consolidation disabled.
    PoolConsolidationOff = "pool.consolidationOff",
    /// The pool's instances are removed only when they are empty.
    PoolWhenEmpty = "pool.whenEmpty",
    /// A pod's annotation forbids its eviction.
    PodDoNotDisrupt = "pod.doNotDisrupt",
    /// A PodDisruptionBudget forbids the eviction of a pod.
    PodPdb = "pod.pdb",
    /// A pod has no controller that would start it again.
    PodBare = "pod.bare",
    /// A pod would have no place.
    PodWouldNotFit = "pod.wouldNotFit",
    /// More than one new instance would be needed.
    MoveReplacementsMoreThanOne = "move.replacementsMoreThanOne",
    /// No instance that fits is cheaper.
    MoveNotCheaper = "move.notCheaper",
    /// Only an equal instance would fit.
    MoveEqualShape = "move.equalShape",
    /// The pods fit as planned, but not with the scheduler's placement.
    MoveUnsteady = "move.unsteady",
    /// The savings do not outweigh the evictions.
    MoveScore = "move.score",
    /// The pool's instances change too much, and the savings do not outweigh the evictions now.
    MoveUnsettled = "move.unsettled",
    /// Spot instances are not replaced by spot instances.
    MoveSpotToSpot = "move.spotToSpot",
    /// Too few spot types are cheaper, so that the replacement would soon be replaced again.
    MoveSpotOptions = "move.spotOptions",
    /// The pool's budgets allow no disruption now.
    BudgetClosed = "budget.closed",
    /// The pool's budgets are used up.
    BudgetUsed = "budget.used",
    /// A budget of the pool cannot be read, so no disruption is allowed.
    BudgetInvalid = "budget.invalid",
    /// The instance keeps capacity for a `CapacityBuffer`.
    BufferProtects = "buffer.protects",
    /// The pool keeps a fixed number of instances.
    StaticReplicas = "static.replicas",
    /// Replacing drifted instances of the pool has failed, and is tried again later.
    DriftBackoff = "drift.backoff",
    /// A move of this kind was undone recently.
    RevertedRecently = "revertedRecently",
}

/// One reason, with its pool if it concerns one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    /// The stable id.
    pub id: ReasonId,
    /// The pool it concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_pool: Option<String>,
    /// Details for programs.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
    /// A sentence for users.
    pub message: String,
}

impl Reason {
    /// A reason that concerns no pool.
    pub fn new(id: ReasonId, message: impl Into<String>) -> Self {
        Self { id, node_pool: None, params: BTreeMap::new(), message: message.into() }
    }

    /// The same reason, concerning `pool`.
    pub fn in_pool(mut self, pool: &str) -> Self {
        self.node_pool = Some(pool.to_owned());
        self
    }

    /// The same reason with one more detail.
    #[expect(clippy::needless_pass_by_value, reason = "numbers and texts read alike at the caller")]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.params.insert(name.to_owned(), value.to_string());
        self
    }
}
