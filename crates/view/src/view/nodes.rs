//! Nodes: what instances offer to pods.

use joiner_core::resources::{CPU, MEMORY};
use joiner_operator::index::resources;
use k8s_openapi::api::core::v1::Node;

use super::{Change, View, claims::Shape};
use crate::{
    happenings::{Figures, Note},
    scene::Kind,
};

/// What matters of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seat {
    pub(super) provider_id: String,
    pub(super) shape: Shape,
    pub(super) cpu: f64,
    pub(super) memory: f64,
    /// When it was first seen.
    pub(super) since: f64,
    /// When its kubelet was first heard: whether it is ready was unknown before. Some clouds make the
    /// Node object before there is a kubelet.
    pub(super) heard: Option<f64>,
    /// Since when it is ready, if it is.
    pub(super) ready: Option<f64>,
    /// Since when it is not ready any more, if it was.
    pub(super) lost: Option<f64>,
    /// What it says when it is not ready.
    pub(super) trouble: String,
    /// Since when it is being deleted.
    pub(super) deleting: Option<f64>,
}

impl View {
    pub(super) fn see_node(&mut self, at: f64, node: &Node, change: Change) {
        let name = node.metadata.name.clone().unwrap_or_default();
        if change == Change::Gone {
            self.seats.remove(&name);
            return;
        }
        let first = Seat { since: at, ..Seat::default() };
        let before = self.seats.get(&name).unwrap_or(&first);
        let seat = read(node, at, before);
        let missed = before.lost.filter(|_| seat.ready.is_some());
        if seat.lost == Some(at) && seat.deleting.is_none() {
            let subject = self.claim_of(&name, &seat).map_or(&name, |(claim, _)| claim);
            let note = Note::new(Kind::Lost, subject, "", &seat.trouble);
            self.happenings.note(at, note);
        }
        if let Some(missed) = missed.filter(|_| seat.deleting.is_none()) {
            self.tell_return(at, &name, &seat, at - missed);
        }
        self.seats.insert(name, seat);
    }

    /// Tells that an instance answers again, unless it is on its way out all the same.
    fn tell_return(&mut self, at: f64, node: &str, seat: &Seat, missed_for: f64) {
        let claim = self.claim_of(node, seat);
        if claim.is_some_and(|(_, claim)| claim.deleting.is_some()) {
            return;
        }
        let subject = claim.map_or(node, |(claim, _)| claim);
        let figures = Figures { seconds: missed_for, ..Figures::default() };
        let note = Note { figures, ..Note::new(Kind::Back, subject, "", "") };
        let pool = &seat.shape.pool;
        let note = if pool.is_empty() { note } else { note.of_group(pool) };
        self.happenings.note(at, note);
    }
}

fn read(node: &Node, at: f64, before: &Seat) -> Seat {
    let status = node.status.as_ref();
    let allocatable = resources(status.and_then(|status| status.allocatable.as_ref()));
    let mut conditions = status.iter().flat_map(|status| status.conditions.iter().flatten());
    let ready = conditions.find(|condition| condition.type_ == "Ready");
    let is_ready = ready.is_some_and(|condition| condition.status == "True");
    let was_ready = before.ready.is_some() || before.lost.is_some();
    let deleting = node.metadata.deletion_timestamp.is_some();
    Seat {
        provider_id: node
            .spec
            .as_ref()
            .and_then(|spec| spec.provider_id.clone())
            .unwrap_or_default(),
        shape: Shape::of(&node.metadata),
        cpu: allocatable.get(CPU).as_f64(),
        memory: allocatable.get(MEMORY).as_f64(),
        since: before.since,
        heard: before.heard.or_else(|| ready.map(|_| at)),
        ready: is_ready.then(|| before.ready.unwrap_or(at)),
        lost: (was_ready && !is_ready).then(|| before.lost.unwrap_or(at)),
        trouble: ready.and_then(|condition| condition.message.clone()).unwrap_or_default(),
        deleting: deleting.then(|| before.deleting.unwrap_or(at)),
    }
}
