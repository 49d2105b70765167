//! Where each pod of an instance would be if the instance went.

use std::collections::HashMap;

use anstyle::Style;
use jiff::Timestamp;
use joiner_core::{
    disruption::{KeptBy, PodFacts},
    label::DO_NOT_DISRUPT,
    plan::{ExistingPlacement, PlannedClaim, Unplaced},
    reason::Reason,
};
use serde::Serialize;

use crate::{
    table,
    text::{self, BAD, Cell, GOOD, WAITS},
};

/// A pod and what becomes of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodPlace<'j> {
    /// `namespace/name`.
    pub(super) pod: String,
    /// Where it goes, if that was asked.
    #[serde(flatten)]
    place: Option<Place<'j>>,
    /// What keeps it where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kept: Option<Kept>,
    /// Whether no controller recreates it after an eviction.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bare: bool,
}

/// Where a pod goes.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "place")]
enum Place<'j> {
    /// To an instance that exists or is on its way.
    Existing { node: &'j str, node_claim: &'j str },
    /// To an instance that would be made; its position among them.
    New {
        replacement: usize,
        #[serde(skip)]
        claim: &'j PlannedClaim,
    },
    /// It has no place.
    Nowhere { message: &'j str, reasons: &'j [Reason] },
    /// It ends where it is, and needs no other place.
    Ends,
}

/// What keeps a pod where it is.
#[derive(Debug, Serialize)]
pub(super) struct Kept {
    by: String,
    /// When that ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) until: Option<Timestamp>,
    /// Who must do what.
    remedy: String,
}

/// Where pods go, by `namespace/name`.
#[derive(Debug)]
pub(super) struct Places<'j>(HashMap<&'j str, Place<'j>>);

impl<'j> Places<'j> {
    pub(super) fn new(
        existing: &'j [ExistingPlacement],
        claims: &'j [PlannedClaim],
        unplaced: &'j [Unplaced],
    ) -> Self {
        let mut places = HashMap::new();
        for at in existing {
            let place = Place::Existing { node: &at.node, node_claim: &at.node_claim };
            places.extend(at.pods.iter().map(|pod| (pod.as_str(), place.clone())));
        }
        for (replacement, claim) in claims.iter().enumerate() {
            let place = Place::New { replacement, claim };
            places.extend(claim.pods.iter().map(|pod| (pod.as_str(), place.clone())));
        }
        for each in unplaced {
            let place = Place::Nowhere { message: &each.message, reasons: &each.reasons };
            places.insert(&each.pod, place);
        }
        Self(places)
    }

    /// What becomes of a pod.
    pub(super) fn of(&self, pod: String, facts: &PodFacts) -> PodPlace<'j> {
        let place = match self.0.get(pod.as_str()) {
            Some(place) => Some(place.clone()),
            None => (!facts.reschedulable).then_some(Place::Ends),
        };
        let kept = facts.kept_by.as_ref().map(|by| Kept::new(by, facts.movable));
        PodPlace { pod, place, kept, bare: facts.bare && facts.reschedulable }
    }
}

impl Kept {
    fn new(by: &KeptBy, can_change_by_itself: bool) -> Self {
        let kept = |by: String, until, remedy: &str| Self { by, until, remedy: remedy.to_owned() };
        match by {
            KeptBy::DoNotDisrupt(until) => kept(
                format!("its annotation {DO_NOT_DISRUPT}"),
                *until,
                match until {
                    Some(_) => "wait until then, or remove the annotation",
                    None => "whoever runs the pod ends it or removes the annotation",
                },
            ),
            KeptBy::Budget(budget) => kept(
                format!("PodDisruptionBudget {budget}"),
                None,
                if can_change_by_itself {
                    "wait until more of its pods are ready, run more of them, or let it allow more"
                } else {
                    "it never allows an eviction: let it allow one, or end the pod by hand"
                },
            ),
            KeptBy::Budgets(budgets) => kept(
                format!("PodDisruptionBudgets {}", budgets.join(" and ")),
                None,
                "Kubernetes evicts no pod that several budgets are about: remove all but one",
            ),
        }
    }
}

impl PodPlace<'_> {
    /// As people read it.
    pub(super) fn cell(&self) -> Cell {
        let (mut text, mut style) = self.place.as_ref().map(Place::words).unwrap_or_default();
        if self.bare {
            text.push_str(" (nobody makes it again)");
        }
        if let Some(Kept { by, until, remedy }) = &self.kept {
            let until = until.map(|until| format!(" until {until}")).unwrap_or_default();
            let then = if self.place.is_some() { format!("; then {text}") } else { text };
            text = format!("stays{until}, kept by {by}: {remedy}{then}");
            style = BAD;
        }
        Cell::new(text, style)
    }
}

impl Place<'_> {
    fn words(&self) -> (String, Style) {
        match self {
            Self::Existing { node: "", node_claim } => {
                (format!("{node_claim}, which is on its way"), GOOD)
            }
            Self::Existing { node, .. } => ((*node).to_owned(), GOOD),
            Self::New { claim, .. } => (format!("a new instance: {}", new_instance(claim)), WAITS),
            Self::Nowhere { message, .. } => (format!("nowhere: {message}"), BAD),
            Self::Ends => ("ends with the node".to_owned(), GOOD),
        }
    }
}

/// An instance that would be made, in a phrase.
pub(super) fn new_instance(claim: &PlannedClaim) -> String {
    if claim.instance_types.is_empty() {
        // What it costs is known once its provider has chosen.
        return table::shape(claim);
    }
    format!("{}, {} per hour", new_shape(claim), text::price(claim.price))
}

/// The same without its price.
pub(super) fn new_shape(claim: &PlannedClaim) -> String {
    format!("{} of pool {}", table::shape(claim), claim.node_pool)
}
