//! The input of disruption besides the snapshot, and its decisions.

use std::{collections::BTreeMap, fmt, str::FromStr};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    label,
    plan::{ExistingPlacement, PlannedClaim},
    reason::Reason,
};

/// How long a proposed command waits before it is validated. Karpenter's value.
pub const VALIDATION_DELAY: SignedDuration = SignedDuration::from_secs(15);

/// The instances of a snapshot as candidates for removal, with the rules of their pools.
#[derive(Debug, Clone, Default)]
pub struct Fleet {
    /// One for each of the snapshot's nodes, in the same order.
    pub instances: Vec<Instance>,
    /// The rules of each pool, by its name. The pool of an instance without rules no longer exists.
    pub pools: BTreeMap<String, PoolRules>,
    /// Set if the removal of instances is paused for the whole cluster.
    pub paused: Option<Paused>,
    /// Kinds of moves that were undone. They are not repeated for a while.
    pub held_back: Vec<HeldMove>,
    /// The time of the snapshot.
    pub now: Timestamp,
}

/// The state of an instance that scheduling does not need.
#[derive(Debug, Clone, Default)]
pub struct Instance {
    /// The state of its claim; `None` for an instance without one.
    pub claim: Option<ClaimFacts>,
    /// Whether its Node is ready.
    pub ready: bool,
    /// Whether it is part of a command in progress.
    pub queued: bool,
    /// Whether a pod was promised a place on it recently.
    pub nominated: bool,
    /// Whether another Node has the same provider ID, so that its pods are unknown.
    pub shared: bool,
    /// Whether the annotation on its Node forbids its removal.
    pub do_not_disrupt: bool,
    /// One for each of the pods that stay on it, in the snapshot's order.
    pub pods: Vec<PodFacts>,
}

/// The state of an instance's claim that decides about its removal.
#[derive(Debug, Clone, Default)]
pub struct ClaimFacts {
    /// When its pods last changed; `None` before it is initialized.
    pub quiet_since: Option<Timestamp>,
    /// Whether its condition `Consolidatable` is true.
    pub consolidatable: bool,
    /// Why and since when it has drifted.
    pub drifted: Option<Drifted>,
    /// When it expires and is removed, whatever runs on it; `None` if it never does.
    pub expires: Option<Timestamp>,
    /// Whether it has a terminationGracePeriod: its pods are evicted by force in the end, so protected pods only
    /// delay its removal.
    pub has_grace_period: bool,
    /// Whether its provider is removing the instance.
    pub instance_terminating: bool,
    /// Whether its instance is being rebooted, and will be back.
    pub rebooting: bool,
}

/// Why and since when an instance has drifted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drifted {
    /// A word in camel case.
    pub reason: String,
    /// When the drift was noticed.
    pub since: Timestamp,
}

/// The facts about a pod that matter when its instance is removed.
#[derive(Debug, Clone, PartialEq)]
pub struct PodFacts {
    /// Whether it needs another place when its instance is removed.
    pub reschedulable: bool,
    /// Whether it may be moved now, so that a place must be found for it.
    pub movable: bool,
    /// The cost of its eviction: 1 for an ordinary pod, from -10 to 10.
    pub eviction_cost: f64,
    /// Why it must stay.
    pub kept_by: Option<KeptBy>,
    /// Whether it has no controller that would create it again.
    pub bare: bool,
}

impl Default for PodFacts {
    fn default() -> Self {
        Self { reschedulable: true, movable: true, eviction_cost: 1.0, kept_by: None, bare: false }
    }
}

/// Why a pod must stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptBy {
    /// Its annotation, and the time when that ends.
    DoNotDisrupt(Option<Timestamp>),
    /// The PodDisruptionBudget, as `namespace/name`, that allows no eviction now.
    Budget(String),
    /// More than one PodDisruptionBudget. Kubernetes evicts no such pod.
    Budgets(Vec<String>),
}

/// The disruption rules of a pool.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PoolRules {
    /// Which instances consolidation may remove.
    pub policy: ConsolidationPolicy,
    /// The score that moves must have, if the pool overrides its policy.
    pub min_score: Option<MinScore>,
    /// How long an instance must have been quiet; `None` disables consolidation.
    pub consolidate_after: Option<SignedDuration>,
    /// How many instances may be removed at once, and when.
    pub budgets: Vec<NodeBudget>,
    /// The replicas of a static pool.
    pub replicas: Option<u32>,
    /// The pool's limit of instances.
    pub nodes_max: Option<u32>,
    /// Whether drifted instances of a static pool are removed before their replacements are created, if the limit
    /// has no room for both.
    pub delete_first: bool,
    /// Set if the removal of the pool's instances is paused.
    pub paused: Option<Paused>,
    /// Until when drifted instances stay, because a replacement has failed.
    pub drift_resumes: Option<Timestamp>,
    /// Since when the pool has been restless in every pass, as far as is known.
    pub restless_since: Option<Timestamp>,
}

/// Which instances consolidation may remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConsolidationPolicy {
    /// Only empty instances.
    WhenEmpty,
    /// Also instances whose pods fit elsewhere, or on something cheaper.
    #[default]
    WhenEmptyOrUnderutilized,
    /// As `WhenEmptyOrUnderutilized`, if the savings are worth the evictions.
    Balanced,
}

/// The lowest score of an allowed move, as users write it: `0.5`.
#[derive(Debug, Clone, PartialEq)]
pub enum MinScore {
    /// A valid score.
    Score(f64),
    /// A text that is not a valid score.
    Unreadable(String),
}

impl From<&str> for MinScore {
    fn from(text: &str) -> Self {
        match text.trim().parse() {
            Ok(score) if score > 0.0 && f64::is_finite(score) => Self::Score(score),
            _ => Self::Unreadable(text.to_owned()),
        }
    }
}

impl MinScore {
    /// The error, if the text is not a valid score.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::Score(_) => None,
            Self::Unreadable(text) => Some(format!(
                "annotation {} is {text:?}, which is no number above 0, such as 0.5: until it is \
                 corrected or removed, no instance of the pool that holds pods is consolidated",
                label::CONSOLIDATION_MIN_SCORE
            )),
        }
    }
}

/// A pool's disruption budget, as written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeBudget {
    /// A number, or a percentage of the pool's instances.
    pub nodes: String,
    /// The reasons it limits; all if empty.
    pub reasons: Vec<String>,
    /// When it starts to be in force: five fields, or a word such as `@daily`, in UTC. Without it, it is always in
    /// force.
    pub schedule: Option<String>,
    /// How long it is in force after each time of the schedule.
    pub duration: Option<SignedDuration>,
}

/// A number or share of nodes, as users write it: `3`, or `20%`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeCount {
    /// A number of nodes.
    Nodes(u32),
    /// A percentage, rounded up: 20 % of three nodes is one.
    Percent(u32),
}

/// The error for a text that is not a number of nodes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither a number of nodes, such as 3, nor a percentage from 0% to 100%")]
pub struct NotANodeCount(String);

impl NodeCount {
    /// The number for a total of `nodes`.
    pub const fn of(self, nodes: usize) -> usize {
        match self {
            Self::Nodes(count) => count as usize,
            Self::Percent(percent) => (nodes * percent as usize).div_ceil(100),
        }
    }
}

impl fmt::Display for NodeCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes(nodes) => write!(f, "{nodes}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl FromStr for NodeCount {
    type Err = NotANodeCount;

    fn from_str(text: &str) -> Result<Self, NotANodeCount> {
        // Parsing would accept a sign.
        let number = |digits: &str| {
            let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse::<u32>().ok().filter(|_| is_plain)
        };
        let read = match text.strip_suffix('%') {
            Some(digits) => number(digits)
                .filter(|percent| *percent <= 100 && digits.len() <= 3)
                .map(Self::Percent),
            None => number(text).map(Self::Nodes),
        };
        read.ok_or_else(|| NotANodeCount(text.to_owned()))
    }
}

/// A pause of disruption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paused {
    /// The text of the annotation: who paused it, and why.
    pub by: String,
    /// The object with the annotation, such as `NodePool general`.
    pub on: String,
}

impl fmt::Display for Paused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { by, on } = self;
        let annotation = label::PAUSE_DISRUPTION;
        write!(
            f,
            "disruption is paused by {by}; remove the annotation {annotation} from {on} to resume"
        )
    }
}

/// A kind of move that was undone soon after it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldMove {
    /// The pool whose instance was removed.
    pub pool: String,
    /// The type of the instance.
    pub instance_type: String,
    /// Until when such instances stay.
    pub until: Timestamp,
}

/// The decisions about the instances of a cluster.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Disruptions {
    /// The commands in order. All of them can start at once.
    pub commands: Vec<Command>,
    /// The instances that stay, in order of name, although they could be removed. The first reason is the one to
    /// look at first.
    pub staying: Vec<Staying>,
    /// The allowance of each pool, in order of name and reason.
    pub allowances: Vec<Allowance>,
    /// How many instances each method could consider, before budgets.
    pub eligible: Vec<(Method, usize)>,
    /// Pools with many recent changes, in order of name.
    pub restless: Vec<Restless>,
}

/// A pool with many recent changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restless {
    /// The pool's name.
    pub node_pool: String,
    /// When more of its pods may move, even if it does not settle; `None` once it is treated like any other.
    pub until: Option<Timestamp>,
}

/// A command to remove or replace instances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// The method that proposed it.
    pub method: Method,
    /// Whether replacements are created first.
    pub decision: Decision,
    /// The instances that are removed.
    pub candidates: Vec<Candidate>,
    /// The instances that are created first.
    pub replacements: Vec<PlannedClaim>,
    /// Where pods go on existing instances.
    #[serde(rename = "existing", default, skip_serializing_if = "Vec::is_empty")]
    pub destinations: Vec<ExistingPlacement>,
    /// The reason.
    pub reason: Reason,
    /// The savings per hour.
    pub savings: f64,
    /// The lowest score of the move over its pools. It is 0 if no score is computed, because no pod moves or the
    /// instances must be removed.
    pub score: f64,
    /// The score for each pool that requires one, in order of name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<Score>,
}

/// The score of a move for a pool that requires one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Score {
    /// The pool.
    pub node_pool: String,
    /// The share of the pool's price that is saved, divided by the share of its eviction cost.
    pub score: f64,
    /// The required score.
    pub threshold: f64,
    /// The saved share of the pool's price, in percent.
    pub savings: f64,
    /// The share of the pool's eviction cost, in percent.
    pub disruption: f64,
}

/// Whether replacements are created first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Instances are removed without replacements.
    Delete,
    /// Instances are removed once their replacements are ready.
    Replace,
}

/// An instance that is removed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// Its claim.
    pub node_claim: String,
    /// Its Node.
    pub node: String,
    /// Its pool.
    #[serde(skip)]
    pub node_pool: String,
    /// `namespace/name` of the pods that move.
    pub pods: Vec<String>,
}

/// An instance that stays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Staying {
    /// The node's name, or the claim's while there is none.
    pub node: String,
    /// Its claim.
    #[serde(skip)]
    pub claim: String,
    /// The reason to look at first comes first.
    pub reasons: Vec<Reason>,
}

/// The allowance of a pool's budgets for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowance {
    /// The pool.
    pub pool: String,
    /// The reason for disruption.
    pub reason: DisruptionReason,
    /// The number of instances that the budgets in force allow.
    pub allowed: u32,
    /// The number of unavailable instances: not ready, or being removed for any reason.
    pub consuming: u32,
    /// The number of the pool's instances that budgets count.
    pub instances: u32,
    /// When a schedule next allows more.
    pub opens: Option<Timestamp>,
    /// The error of a budget that cannot be read, so that nothing is allowed.
    pub error: Option<String>,
}

macro_rules! words {
    ($(#[doc = $about:literal])+ $name:ident { $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name {
            $($(#[doc = $doc])+ #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All values, in order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word for the value.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// The reasons that budgets can name.
    DisruptionReason {
        /// Pods fit elsewhere, or on something cheaper.
        Underutilized = "Underutilized",
        /// No pod has to move.
        Empty = "Empty",
        /// The instance has drifted.
        Drifted = "Drifted",
        /// The node is unhealthy. Karpenter 1.15 knows this reason.
        Unhealthy = "Unhealthy",
    }
}

impl DisruptionReason {
    /// The reasons of the methods. Node repair ignores budgets.
    pub const OF_METHODS: &[Self] = &[Self::Underutilized, Self::Empty, Self::Drifted];
}

words! {
    /// The methods that propose commands, in their order.
    Method {
        /// Removes empty instances.
        Emptiness = "emptiness",
        /// Replaces drifted instances of static pools.
        StaticDrift = "staticDrift",
        /// Replaces drifted instances.
        Drift = "drift",
        /// Removes or replaces several instances together.
        MultiNode = "multiNodeConsolidation",
        /// Removes or replaces one instance.
        SingleNode = "singleNodeConsolidation",
    }
}

impl Method {
    /// The reason that its budgets name.
    pub const fn budget(self) -> DisruptionReason {
        match self {
            Self::Emptiness => DisruptionReason::Empty,
            Self::StaticDrift | Self::Drift => DisruptionReason::Drifted,
            Self::MultiNode | Self::SingleNode => DisruptionReason::Underutilized,
        }
    }

    /// Whether its commands are validated before they start.
    pub const fn is_validated(self) -> bool {
        matches!(self, Self::Emptiness | Self::MultiNode | Self::SingleNode)
    }

    /// The value of its consolidation type in metrics.
    pub const fn consolidation_type(self) -> &'static str {
        match self {
            Self::Emptiness => "empty",
            Self::StaticDrift | Self::Drift => "",
            Self::MultiNode => "multi",
            Self::SingleNode => "single",
        }
    }
}

/// Why a command is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The kind of change.
    pub because: Change,
    /// A sentence for users.
    pub message: String,
}

words! {
    /// The change since a command was proposed.
    Change {
        /// A budget no longer allows it, or a pod was promised a place on a candidate.
        Budget = "budget",
        /// Pods would not find places as before.
        Scheduling = "scheduling",
        /// A candidate can no longer be removed.
        Churn = "churn",
    }
}

/// User settings of disruption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DisruptionSettings {
    /// Whether spot instances may be replaced by cheaper spot instances.
    pub spot_to_spot: bool,
    /// Whether a consolidation must also work with the scheduler's placement.
    pub as_scheduled: bool,
}
