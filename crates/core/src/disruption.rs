//! What the removal of instances depends on besides the snapshot, and what is decided about it.

use std::{collections::BTreeMap, fmt, str::FromStr};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    label,
    plan::{ExistingPlacement, PlannedClaim},
    reason::Reason,
};

/// How long a command that moves pods is only proposed, until it is looked at once more.
pub const VALIDATION_DELAY: SignedDuration = SignedDuration::from_secs(15);

/// The instances of a snapshot as candidates for removal, and the rules of their pools.
#[derive(Debug, Clone, Default)]
pub struct Fleet {
    /// One for each of the snapshot's nodes, in the same order.
    pub instances: Vec<Instance>,
    /// What each pool allows, by its name. An instance whose pool is not here has lost it.
    pub pools: BTreeMap<String, PoolRules>,
    /// Who has paused the removal of instances for the whole cluster.
    pub paused: Option<Paused>,
    /// Moves that were made and undone, and are not made again for a while.
    pub held_back: Vec<HeldMove>,
    /// The moment that the fleet was looked at.
    pub now: Timestamp,
}

/// What is known of an instance besides what pods care about.
#[derive(Debug, Clone, Default)]
pub struct Instance {
    /// What its claim says; nothing for an instance that is not ours.
    pub claim: Option<ClaimFacts>,
    /// Whether its Node says that it is ready.
    pub ready: bool,
    /// Whether it is part of a command that is being carried out.
    pub queued: bool,
    /// Whether a pod was promised a place on it a moment ago.
    pub nominated: bool,
    /// Whether another Node says that it is the same instance, so that nobody knows what runs on it.
    pub shared: bool,
    /// Whether the annotation on its Node forbids its removal.
    pub do_not_disrupt: bool,
    /// One for each of the pods that stay on it, in the snapshot's order.
    pub pods: Vec<PodFacts>,
}

/// What an instance's claim says about its removal.
#[derive(Debug, Clone, Default)]
pub struct ClaimFacts {
    /// Since when nothing has happened to its pods; nothing before it is initialized.
    pub quiet_since: Option<Timestamp>,
    /// Whether its condition says that it has been quiet for long enough.
    pub consolidatable: bool,
    /// Why it is not what its pool wants any more, and since when.
    pub drifted: Option<Drifted>,
    /// When it is too old and is removed, whatever runs on it; nothing for one that never is.
    pub expires: Option<Timestamp>,
    /// Whether its pods are removed by force in the end, so that protected pods delay its removal but do not forbid it.
    pub has_grace_period: bool,
    /// Whether its instance is being removed by its provider.
    pub instance_terminating: bool,
    /// Whether its instance is being rebooted, and comes back.
    pub rebooting: bool,
}

/// Why an instance is not what its pool wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drifted {
    /// A word in camel case.
    pub reason: String,
    /// When it was noticed.
    pub since: Timestamp,
}

/// What the removal of an instance means for one of its pods.
#[derive(Debug, Clone, PartialEq)]
pub struct PodFacts {
    /// Whether it needs another place when its instance goes.
    pub reschedulable: bool,
    /// Whether it could be moved now, so that a place has to be found for it.
    pub movable: bool,
    /// How dear its eviction is: 1 for an ordinary pod, from -10 to 10.
    pub eviction_cost: f64,
    /// What keeps it where it is.
    pub kept_by: Option<KeptBy>,
    /// Whether it has no owner that would make it again.
    pub bare: bool,
}

impl Default for PodFacts {
    fn default() -> Self {
        Self { reschedulable: true, movable: true, eviction_cost: 1.0, kept_by: None, bare: false }
    }
}

/// What keeps a pod where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptBy {
    /// Its own annotation, until then if it ends.
    DoNotDisrupt(Option<Timestamp>),
    /// A disruption budget, `namespace/name`, that allows no eviction now.
    Budget(String),
    /// More than one budget; Kubernetes evicts no such pod.
    Budgets(Vec<String>),
}

/// What a pool allows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PoolRules {
    /// When instances that are needed less are removed.
    pub policy: ConsolidationPolicy,
    /// What moves have to be worth, where the pool says more than its policy.
    pub min_score: Option<MinScore>,
    /// How long an instance must have been quiet; nothing forbids consolidation.
    pub consolidate_after: Option<SignedDuration>,
    /// How many instances may be removed at once, and when.
    pub budgets: Vec<NodeBudget>,
    /// How many instances a static pool keeps.
    pub replicas: Option<u32>,
    /// The pool's limit of instances.
    pub nodes_max: Option<u32>,
    /// Whether drifted instances of a static pool go before their replacements come, where the limit
    /// has no room for both.
    pub delete_first: bool,
    /// Who has paused the removal of the pool's instances.
    pub paused: Option<Paused>,
    /// Until when drifted instances are left alone, because replacing one has failed.
    pub drift_resumes: Option<Timestamp>,
    /// Since when it has been restless at every look, as far as somebody remembers.
    pub restless_since: Option<Timestamp>,
}

/// When instances that are needed less are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConsolidationPolicy {
    /// Only once they are empty.
    WhenEmpty,
    /// Also when their pods fit elsewhere, or on something cheaper.
    #[default]
    WhenEmptyOrUnderutilized,
    /// As before, where the savings are worth the moving.
    Balanced,
}

/// The least score of a move that is made, as people write it: `0.5`.
#[derive(Debug, Clone, PartialEq)]
pub enum MinScore {
    /// So much.
    Score(f64),
    /// What is written is no score.
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
    /// What is wrong with what is written, if anything is.
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

/// A pool's disruption budget, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeBudget {
    /// A number, or a percentage of the pool's instances.
    pub nodes: String,
    /// What it is about; everything if nothing is named.
    pub reasons: Vec<String>,
    /// When it is in force; always without. Five fields, or a word such as `@daily`, in UTC.
    pub schedule: Option<String>,
    /// For how long after each time of the schedule.
    pub duration: Option<SignedDuration>,
}

/// How many of some nodes, as people write it: `3`, or `20%`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeCount {
    /// So many.
    Nodes(u32),
    /// So many of a hundred, rounded up: one of three is allowed by 20 %.
    Percent(u32),
}

/// A text that says no number of nodes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither a number of nodes, such as 3, nor a percentage from 0% to 100%")]
pub struct NotANodeCount(String);

impl NodeCount {
    /// How many of so many nodes that is.
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
        // A sign is no digit, though it would parse.
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

/// Somebody wants instances to be left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paused {
    /// Who, and why, as a phrase for people.
    pub by: String,
    /// The object that says so, such as `NodePool general`.
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
    /// Until when such instances are left alone.
    pub until: Timestamp,
}

/// What was decided about the instances of a cluster.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Disruptions {
    /// What to do, in this order. All of it can be begun at once: no command is in another's way.
    pub commands: Vec<Command>,
    /// For each instance that stays and that we could remove, why it stays, the first reason first; in order of name.
    pub staying: Vec<Staying>,
    /// What each pool's budgets come to, in order of name and reason.
    pub allowances: Vec<Allowance>,
    /// How many instances each method could consider, after everything that keeps instances but before budgets.
    pub eligible: Vec<(Method, usize)>,
    /// Pools in which much has just happened, in order of name.
    pub restless: Vec<Restless>,
}

/// A pool in which much has just happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restless {
    /// The pool's name.
    pub node_pool: String,
    /// When more of its pods may move, although it has not settled; nothing once it is treated like any other.
    pub until: Option<Timestamp>,
}

/// Something to do about instances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// Who proposes it.
    pub method: Method,
    /// Whether instances come before instances go.
    pub decision: Decision,
    /// The instances that go.
    pub candidates: Vec<Candidate>,
    /// The instances that come first.
    pub replacements: Vec<PlannedClaim>,
    /// Where pods go on instances that exist.
    #[serde(rename = "existing", default, skip_serializing_if = "Vec::is_empty")]
    pub destinations: Vec<ExistingPlacement>,
    /// Why.
    pub reason: Reason,
    /// How much less an hour costs.
    pub savings: f64,
    /// What that is worth for the moving, to the pool to which it is worth least; 0 where it is not weighed, since
    /// nothing moves or the instances have to go.
    pub score: f64,
    /// How much the savings are worth the moving, for each pool that asks for that, in order of name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<Score>,
}

/// How a move was judged by a pool that asks what it is worth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Score {
    /// The pool.
    pub node_pool: String,
    /// What the move is worth: its share of the pool's price for its share of the pool's moving.
    pub score: f64,
    /// What it has to be worth.
    pub threshold: f64,
    /// The share of the pool's price that it saves, in percent.
    pub savings: f64,
    /// The share of the pool's moving that it costs, in percent.
    pub disruption: f64,
}

/// Whether instances come before instances go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Instances go.
    Delete,
    /// Instances go once others have come.
    Replace,
}

/// An instance that goes.
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
    /// Nearest to a removal first.
    pub reasons: Vec<Reason>,
}

/// What a pool's budgets come to for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowance {
    /// The pool.
    pub pool: String,
    /// What for.
    pub reason: DisruptionReason,
    /// How many instances the budgets in force allow.
    pub allowed: u32,
    /// How many instances take from it: not ready, or on their way out for whatever reason.
    pub consuming: u32,
    /// How many instances the pool has, as budgets count them.
    pub instances: u32,
    /// When the budgets allow more next, if a schedule says so.
    pub opens: Option<Timestamp>,
    /// Why a budget cannot be read, so that nothing is allowed.
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
            /// All there are, in order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word for it.
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
    /// What budgets are given for.
    DisruptionReason {
        /// Pods fit elsewhere, or on something cheaper.
        Underutilized = "Underutilized",
        /// There is nothing to move.
        Empty = "Empty",
        /// The instance is not what its pool wants.
        Drifted = "Drifted",
        /// The node is unhealthy. Karpenter 1.15 knows this reason.
        Unhealthy = "Unhealthy",
    }
}

impl DisruptionReason {
    /// Those that methods take from budgets for. Node repair looks at no budget.
    pub const OF_METHODS: &[Self] = &[Self::Underutilized, Self::Empty, Self::Drifted];
}

words! {
    /// Who proposes a command, in the order in which they are asked.
    Method {
        /// Removes instances that hold nothing.
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
    /// What it takes from budgets.
    pub const fn budget(self) -> DisruptionReason {
        match self {
            Self::Emptiness => DisruptionReason::Empty,
            Self::StaticDrift | Self::Drift => DisruptionReason::Drifted,
            Self::MultiNode | Self::SingleNode => DisruptionReason::Underutilized,
        }
    }

    /// Whether its commands are looked at once more after a while, before they are begun.
    pub const fn is_validated(self) -> bool {
        matches!(self, Self::Emptiness | Self::MultiNode | Self::SingleNode)
    }

    /// What metrics call its kind of consolidation.
    pub const fn consolidation_type(self) -> &'static str {
        match self {
            Self::Emptiness => "empty",
            Self::StaticDrift | Self::Drift => "",
            Self::MultiNode => "multi",
            Self::SingleNode => "single",
        }
    }
}

/// Why a command is not carried out after all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// What kind of change.
    pub because: Change,
    /// A sentence for people.
    pub message: String,
}

words! {
    /// What has changed since a command was proposed.
    Change {
        /// A budget allows it no more, or a pod was promised a place on a candidate.
        Budget = "budget",
        /// Pods would not find places as they did.
        Scheduling = "scheduling",
        /// A candidate is none any more.
        Churn = "churn",
    }
}

/// What the user can choose about the removal of instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DisruptionSettings {
    /// Whether spot instances may be replaced by cheaper spot instances.
    pub spot_to_spot: bool,
    /// Whether a consolidation has to hold, too, where the scheduler puts the pods rather than the plan.
    pub as_scheduled: bool,
}
