//! The picture of a cluster at one moment.
//!
//! Its serialised form is what the page reads. Times are seconds since the view began, amounts are
//! cores and bytes, prices are per hour.

use serde::Serialize;

use crate::site::Site;

/// A cluster at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Scene {
    /// When.
    pub now: f64,
    /// The cluster in figures.
    pub totals: Totals,
    /// Pools, by name.
    pub pools: Vec<Pool>,
    /// Instances, by pool and then by age, from the moment they are asked for.
    pub nodes: Vec<Node>,
    /// Pods that have no node, those that wait longest first.
    pub waiting: Vec<Waiting>,
    /// What happened, oldest first.
    pub happenings: Vec<Happening>,
    /// How the figures have changed, oldest first.
    pub timeline: Vec<Sample>,
    /// The site where instances are made, if it is readable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
}

/// How much of something is asked for, and how much there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Amount {
    /// What pods ask for.
    pub requested: f64,
    /// What there is for pods.
    pub total: f64,
}

impl Amount {
    /// The share that is asked for; 0 of nothing.
    pub fn share(self) -> f64 {
        if self.total > 0.0 { self.requested / self.total } else { 0.0 }
    }

    /// The same, where at least as much is there as is asked for. An instance on its way is at least as
    /// large as what it was asked for, even before the cloud has said how large it will be.
    #[must_use]
    pub(crate) fn covered(self) -> Self {
        Self { total: self.total.max(self.requested), ..self }
    }

    /// The sum of both parts.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { requested: self.requested + other.requested, total: self.total + other.total }
    }
}

/// A cluster in figures. Daemons' pods are counted in amounts only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Pods that are ready.
    pub running: usize,
    /// Pods that have a node and are not ready yet.
    pub starting: usize,
    /// Pods that were ready and are not any more.
    pub unready: usize,
    /// Pods that have no node.
    pub waiting: usize,
    /// Instances that can take pods.
    pub ready: usize,
    /// Instances that are on their way.
    pub coming: usize,
    /// Instances that do not answer.
    pub lost: usize,
    /// Instances that are on their way out.
    pub leaving: usize,
    /// CPU of instances that can take pods.
    pub cpu: Amount,
    /// Memory of instances that can take pods.
    pub memory: Amount,
    /// What all instances cost in an hour, as far as their prices are known.
    pub price: f64,
}

/// A pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pool {
    /// Its name; empty for instances of no pool.
    pub name: String,
    /// Its instances in any phase.
    pub nodes: usize,
    /// Pods on its instances, without daemons.
    pub pods: usize,
    /// CPU of its instances, those on their way included.
    pub cpu: Amount,
    /// Memory of its instances, likewise.
    pub memory: Amount,
    /// How much CPU its instances may have together.
    pub cpu_limit: Option<f64>,
    /// What its instances cost in an hour.
    pub price: f64,
}

/// How far an instance has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// It was asked for; the cloud has not made it yet.
    #[default]
    Asked,
    /// The cloud has made it; it boots, and its kubelet has not said anything yet.
    Booting,
    /// Its kubelet has joined and gets ready.
    Joining,
    /// It takes pods.
    Ready,
    /// It was ready and does not answer any more.
    Lost,
    /// It takes no pods, and its pods move elsewhere.
    Draining,
    /// It is empty, and the cloud takes it away.
    Leaving,
}

impl Phase {
    /// One word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Booting => "booting",
            Self::Joining => "joining",
            Self::Ready => "ready",
            Self::Lost => "lost",
            Self::Draining => "draining",
            Self::Leaving => "leaving",
        }
    }

    /// Whether it has not taken pods yet.
    pub fn is_coming(self) -> bool {
        matches!(self, Self::Asked | Self::Booting | Self::Joining)
    }
}

/// An instance: a claim, a node, or both.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// The claim's name, or the node's where there is no claim.
    pub name: String,
    /// The Node object, once it is there.
    pub node: Option<String>,
    /// The pool; empty for instances of no pool.
    pub pool: String,
    /// What the cloud calls this kind of instance; empty until it is known, as are the next two.
    pub instance_type: String,
    /// Where it is.
    pub zone: String,
    /// Whether it is `spot`, `on-demand` or `reserved`.
    pub capacity_type: String,
    /// What it costs in an hour, if that is known.
    pub price: Option<f64>,
    /// How far it has come.
    pub phase: Phase,
    /// Since when it is in this phase.
    pub since: f64,
    /// Why it is on its way out, or what is wrong with it; empty where there is nothing to say.
    pub why: String,
    /// CPU. While it is on its way, what it was asked for.
    pub cpu: Amount,
    /// Memory, likewise.
    pub memory: Amount,
    /// Pods it is asked for, daemons included; 0 once it takes pods.
    pub planned_pods: usize,
    /// Its pods, by namespace and name, daemons last.
    pub pods: Vec<Pod>,
}

/// How far a pod with a node has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PodState {
    /// Not ready yet.
    #[default]
    Starting,
    /// Ready.
    Running,
    /// It was ready and is not any more.
    Unready,
    /// Deleted or evicted; it stops.
    Ending,
}

/// A pod that has a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// `namespace/name` of what it belongs to.
    pub workload: String,
    /// How far it has come.
    pub state: PodState,
    /// Whether every node has one.
    pub daemon: bool,
    /// What it asks for.
    pub cpu: f64,
    /// What it asks for.
    pub memory: f64,
}

/// A pod that has no node.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// `namespace/name` of what it belongs to.
    pub workload: String,
    /// Since when.
    pub since: f64,
    /// What it asks for.
    pub cpu: f64,
    /// What it asks for.
    pub memory: f64,
    /// The planned node; empty while it is unknown.
    pub headed_for: String,
    /// Why there is no place for it; empty while it is unknown.
    pub why: String,
}

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An external action: the chapter of a story.
    Story,
    /// Pods want a place.
    Arrived,
    /// Pods have no place, and it is said why.
    Refused,
    /// Instances are asked for.
    Asked,
    /// The cloud makes instances.
    Launched,
    /// Instances cannot be made where they were to be.
    Thwarted,
    /// Instances take pods.
    Ready,
    /// Instances do not answer.
    Lost,
    /// Instances that did not answer do so again.
    Back,
    /// Instances are started elsewhere.
    Moved,
    /// Instances are to go.
    Leaving,
    /// Instances are gone.
    Gone,
    /// No pod waits any more.
    Settled,
}

#[cfg(test)]
impl Kind {
    /// Every kind.
    pub(crate) const ALL: [Self; 13] = [
        Self::Story,
        Self::Arrived,
        Self::Refused,
        Self::Asked,
        Self::Launched,
        Self::Thwarted,
        Self::Ready,
        Self::Lost,
        Self::Back,
        Self::Moved,
        Self::Leaving,
        Self::Gone,
        Self::Settled,
    ];
}

/// Something that happened, for people.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Happening {
    /// Counts happenings from 0; one whose text still changes keeps its number.
    pub number: u64,
    /// When.
    pub at: f64,
    /// What kind of thing.
    pub kind: Kind,
    /// The subject: a workload or an instance, or how many of them.
    pub subject: String,
    /// What.
    pub what: String,
    /// The reason; empty where there is none.
    pub why: String,
}

/// The figures of one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    /// When.
    pub at: f64,
    /// The figures.
    #[serde(flatten)]
    pub totals: Totals,
}
