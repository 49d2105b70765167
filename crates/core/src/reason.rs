//! Why a pod has no place, and why an instance stays or goes. Ids are stable words for programs; each
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
            /// Every id there is.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The stable word.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $id,)+ }
            }
        }
    };
}

reason_ids! {
    /// There is no pool that instances could be made from.
    PoolNone = "pool.none",
    /// The pool is not ready, or is being deleted.
    PoolNotReady = "pool.notReady",
    /// The pool's requirements leave none of its instance types.
    PoolNoTypes = "pool.noTypes",
    /// The pod does not tolerate one of the pool's taints.
    PoolTaintUntolerated = "pool.taint.untolerated",
    /// The pod wants a label that the pool's instances do not have.
    PoolLabelUnknown = "pool.label.unknown",
    /// The pod wants a value of a label that the pool or its types do not allow.
    PoolRequirementConflict = "pool.requirement.conflict",
    /// The pool may not grow any more.
    PoolLimitReached = "pool.limit.reached",
    /// No type of the pool is large enough.
    ShapeTooSmall = "shape.tooSmall",
    /// No type of the pool takes one more pod.
    ShapePodsMax = "shape.podsMax",
    /// Types that fit exist, but none is offered where and how it is needed.
    OfferingNone = "offering.none",
    /// The pod's volumes are where the pool cannot be.
    ZoneVolume = "zone.volume",
    /// The instance could not attach one more volume.
    VolumeLimit = "volume.limit",
    /// Placing the pod would spread its workload too unevenly.
    TopologySpread = "topology.spread",
    /// No pod that this pod must be near has a known place.
    AffinityUnmet = "affinity.unmet",
    /// Every place is near a pod that this pod must be away from, or the other way round.
    AntiAffinityBlocked = "antiAffinity.blocked",
    /// A daemon already has the port on every fitting instance.
    HostPortTaken = "hostPort.taken",
    /// The pod asks for devices through Dynamic Resource Allocation, which is ignored by default.
    DraIgnored = "dra.ignored",
    /// The claim would leave fewer values of a label than the pool's `minValues`.
    MinValuesUnmet = "minValues.unmet",
    /// The pod selects on a label that nobody may select on.
    PodSelectorRestricted = "pod.selector.restricted",
    /// A selector of the pod is not valid.
    PodSelectorInvalid = "pod.selector.invalid",
    /// The pod has asked not to run on instances of any pool.
    PodOptedOut = "pod.optedOut",
    /// Reserved capacity that fits is taken; the pod waits for it.
    WaitingReservation = "waiting.reservation",
    /// The pod waits for its volumes.
    WaitingVolume = "waiting.volume",
    /// Looking for a place is more work than the pass can spend on pods with such long lists.
    WaitingWork = "waiting.work",
    /// The instance goes: it holds nothing that would have to move.
    NodeEmpty = "node.empty",
    /// The instance goes: it is not what its pool wants any more.
    NodeDrifted = "node.drifted",
    /// The instance goes: its pods fit elsewhere, or on something cheaper.
    NodeUnderutilized = "node.underutilized",
    /// Somebody has paused the removal of instances.
    DisruptionPaused = "disruption.paused",
    /// The instance is on its way out already.
    NodeLeaving = "node.leaving",
    /// The instance is too old, and is removed without a plan.
    NodeExpired = "node.expired",
    /// The instance is part of a command that is being carried out.
    NodeQueued = "node.queued",
    /// The claim has no Node.
    NodeMissing = "node.missing",
    /// Several Nodes say that they are the instance.
    NodeShared = "node.shared",
    /// The instance is not initialized.
    NodeUninitialized = "node.uninitialized",
    /// The instance is being rebooted, and comes back.
    NodeRebooting = "node.rebooting",
    /// A pod that waits was promised a place on the instance.
    NodeNominated = "node.nominated",
    /// The annotation on the Node forbids its removal.
    NodeDoNotDisrupt = "node.doNotDisrupt",
    /// The instance does not say which pool it belongs to.
    NodeNoPool = "node.noPool",
    /// The instance takes pods of instances that go.
    NodeReceives = "node.receives",
    /// Other instances go first.
    NodeLater = "node.later",
    /// Something has happened to the instance's pods too short a while ago.
    NodeTooYoung = "node.tooYoung",
    /// The instance's pool has no such instance type, so nobody knows what the instance costs.
    NodeTypeUnknown = "node.typeUnknown",
    /// The instance lacks a label without which nobody knows what it costs.
    NodeLabelMissing = "node.labelMissing",
    /// The instance's pool is gone.
    PoolNotFound = "pool.notFound",
    /// The pool has consolidation switched off.
    PoolConsolidationOff = "pool.consolidationOff",
    /// The pool gives up instances only once they are empty.
    PoolWhenEmpty = "pool.whenEmpty",
    /// A pod's annotation keeps it where it is.
    PodDoNotDisrupt = "pod.doNotDisrupt",
    /// A disruption budget keeps a pod where it is.
    PodPdb = "pod.pdb",
    /// A pod has no owner that would start it again.
    PodBare = "pod.bare",
    /// A pod would have no place.
    PodWouldNotFit = "pod.wouldNotFit",
    /// More than one instance would have to be made.
    MoveReplacementsMoreThanOne = "move.replacementsMoreThanOne",
    /// Nothing that would do is cheaper.
    MoveNotCheaper = "move.notCheaper",
    /// Only an instance just like it would do.
    MoveEqualShape = "move.equalShape",
    /// The pods fit as planned, but not as the scheduler would put them.
    MoveUnsteady = "move.unsteady",
    /// The savings are not worth the moving.
    MoveScore = "move.score",
    /// Much is happening on the pool's instances, and the savings are not worth the moving now.
    MoveUnsettled = "move.unsettled",
    /// Spot instances are not replaced by spot instances.
    MoveSpotToSpot = "move.spotToSpot",
    /// Too few spot types are cheaper, so that the replacement would soon be replaced again.
    MoveSpotOptions = "move.spotOptions",
    /// The pool's budgets allow nothing now.
    BudgetClosed = "budget.closed",
    /// The pool's budgets are used up.
    BudgetUsed = "budget.used",
    /// A budget of the pool cannot be read, so that nothing is allowed.
    BudgetInvalid = "budget.invalid",
    /// The instance keeps room for a `CapacityBuffer`.
    BufferProtects = "buffer.protects",
    /// The pool keeps a fixed number of instances.
    StaticReplicas = "static.replicas",
    /// Replacing drifted instances of the pool has failed, and is tried again later.
    DriftBackoff = "drift.backoff",
    /// Such a move was undone a short while ago.
    RevertedRecently = "revertedRecently",
}

/// One reason, for one pool where it is about one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    /// The stable word.
    pub id: ReasonId,
    /// The pool it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_pool: Option<String>,
    /// Facts for programs.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
    /// A sentence for people.
    pub message: String,
}

impl Reason {
    /// A reason that is not about one pool.
    pub fn new(id: ReasonId, message: impl Into<String>) -> Self {
        Self { id, node_pool: None, params: BTreeMap::new(), message: message.into() }
    }

    /// The same reason, about `pool`.
    pub fn in_pool(mut self, pool: &str) -> Self {
        self.node_pool = Some(pool.to_owned());
        self
    }

    /// The same reason with one more fact.
    #[expect(clippy::needless_pass_by_value, reason = "numbers and texts read alike at the caller")]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.params.insert(name.to_owned(), value.to_string());
        self
    }
}
