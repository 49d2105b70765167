//! What is remembered of a cluster's objects, and the picture made of it.

mod claims;
mod events;
mod instances;
mod nodes;
mod pods;
mod pools;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::Timestamp;
use joiner_api::{node_claim::NodeClaim, node_pool::NodePool};
use k8s_openapi::api::core::v1::{Event, Node, Pod};
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::{claims::Claim, nodes::Seat, pods::Guest, pools::PoolFacts};
use crate::{
    happenings::{Figures, Happenings, Note},
    prices::Prices,
    scene::{Happening, Kind, Scene, Totals},
    site::{Site, Watched},
    timeline::Timeline,
};

/// An object of a kind that matters for the picture.
#[derive(Clone, Debug)]
pub enum Seen {
    /// A pod.
    Pod(Box<Pod>),
    /// A node.
    Node(Box<Node>),
    /// A claim.
    NodeClaim(Box<NodeClaim>),
    /// A pool.
    NodePool(Box<NodePool>),
    /// An event.
    Event(Box<Event>),
}

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is there, in this version.
    There,
    /// It is gone; this was its last version.
    Gone,
}

/// An object that is not as its kind must be.
#[derive(Debug, thiserror::Error)]
#[error("an object of {plural} cannot be read")]
pub struct Unreadable {
    plural: String,
    #[source]
    source: serde_json::Error,
}

impl Seen {
    /// Reads an object of a resource; none for kinds that the picture does not show.
    pub fn read(group: &str, plural: &str, object: Value) -> Result<Option<Self>, Unreadable> {
        fn typed<T: DeserializeOwned>(object: Value) -> serde_json::Result<Box<T>> {
            serde_json::from_value(object).map(Box::new)
        }
        let seen = match (group, plural) {
            ("", "pods") => typed(object).map(Self::Pod),
            ("", "nodes") => typed(object).map(Self::Node),
            ("", "events") => typed(object).map(Self::Event),
            ("karpenter.sh", "nodeclaims") => typed(object).map(Self::NodeClaim),
            ("karpenter.sh", "nodepools") => typed(object).map(Self::NodePool),
            _ => return Ok(None),
        };
        let unreadable = |source| Unreadable { plural: plural.to_owned(), source };
        seen.map(Some).map_err(unreadable)
    }
}

/// Everything that is remembered of a cluster's objects.
#[derive(Clone, Debug)]
pub struct View {
    start: Timestamp,
    prices: Prices,
    pools: BTreeMap<String, PoolFacts>,
    claims: BTreeMap<String, Claim>,
    seats: BTreeMap<String, Seat>,
    guests: BTreeMap<(String, String), Guest>,
    happenings: Happenings,
    timeline: Timeline,
    site: Watched,
    /// Whether pods have been waiting since it was last told that none does.
    unsettled: bool,
    /// The longest time from a pod's creation to its being ready, since then.
    longest_wait: f64,
}

impl View {
    /// A view that begins now.
    pub fn new(start: Timestamp, prices: Prices) -> Self {
        Self {
            start,
            prices,
            pools: BTreeMap::new(),
            claims: BTreeMap::new(),
            seats: BTreeMap::new(),
            guests: BTreeMap::new(),
            happenings: Happenings::default(),
            timeline: Timeline::default(),
            site: Watched::default(),
            unsettled: false,
            longest_wait: 0.0,
        }
    }

    /// Takes note of an object.
    pub fn see(&mut self, at: Timestamp, seen: &Seen, change: Change) {
        let at = self.seconds(at);
        match seen {
            Seen::Pod(pod) => self.see_pod(at, pod, change),
            Seen::Node(node) => self.see_node(at, node, change),
            Seen::NodeClaim(claim) => self.see_claim(at, claim, change),
            Seen::NodePool(pool) => self.see_pool(pool, change),
            Seen::Event(event) => self.see_event(at, event, change),
        }
    }

    /// Takes note of how the place looks where instances are made.
    pub fn see_site(&mut self, at: Timestamp, site: Site) {
        let at = self.seconds(at);
        self.site.see(at, site, &mut self.happenings);
    }

    /// Records an external action, and why it matters.
    pub fn tell(&mut self, at: Timestamp, what: &str, why: &str) {
        let note = Note::new(Kind::Story, "", what, why);
        self.happenings.note(self.seconds(at), note);
    }

    /// Takes note that time has passed. To be called at least every second of the cluster's time.
    pub fn pass(&mut self, at: Timestamp) {
        let at = self.seconds(at);
        let totals = self.totals();
        self.tell_of_late_launches(at);
        self.tell_of_ends(at);
        self.tell_if_settled(at, totals);
        if self.timeline.is_due(at) {
            self.timeline.add(at, totals);
        }
    }

    /// What the cluster looks like.
    pub fn scene(&self, at: Timestamp) -> Scene {
        let nodes = self.instances();
        Scene {
            now: self.seconds(at),
            totals: self.totals_of(&nodes),
            pools: self.pools_of(&nodes),
            nodes,
            waiting: self.waiting(),
            happenings: self.happenings.as_told(),
            timeline: self.timeline.samples().to_vec(),
            site: self.site.latest.clone(),
        }
    }

    /// What happened, from a number on, as far as it can be told: what may still be told together
    /// with something that follows is left for later.
    pub fn told(&self, at: Timestamp, from: u64) -> Vec<Happening> {
        self.happenings.settled(self.seconds(at), from)
    }

    /// The cluster in figures.
    pub fn totals(&self) -> Totals {
        self.totals_of(&self.instances())
    }

    fn tell_if_settled(&mut self, at: f64, totals: Totals) {
        if totals.waiting > 0 {
            self.unsettled = true;
        }
        if !self.unsettled
            || totals.waiting + totals.starting + totals.unready > 0
            || totals.running == 0
        {
            return;
        }
        let (pods, seconds) = (totals.running, self.longest_wait);
        let figures = Figures { pods, seconds, ..Figures::default() };
        self.happenings.note(at, Note { figures, ..Note::new(Kind::Settled, "", "", "") });
        self.unsettled = false;
        self.longest_wait = 0.0;
    }

    fn seconds(&self, at: Timestamp) -> f64 {
        at.duration_since(self.start).as_secs_f64()
    }
}
