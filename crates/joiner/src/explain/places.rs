//! Where each pod of a machine would be if the machine went.

use std::collections::HashMap;

use jiff::Timestamp;
use joiner_core::{
    disruption::{KeptBy, PodFacts},
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
    #[serde(flatten)]
    pub(super) place: Place<'j>,
    /// Whether nobody makes it again once it is evicted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) bare: bool,
}

/// What becomes of a pod.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "place")]
pub(super) enum Place<'j> {
    /// It goes to a machine that exists or is on its way.
    Existing { node: &'j str, node_claim: &'j str },
    /// It goes to a machine that would be made; its position among them.
    New {
        replacement: usize,
        #[serde(skip)]
        claim: &'j PlannedClaim,
    },
    /// It has no place.
    Nowhere { message: &'j str, reasons: &'j [Reason] },
    /// Something keeps it where it is.
    Kept {
        by: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        remedy: String,
    },
    /// It ends where it is, and needs no other place.
    Ends,
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

    /// What becomes of a pod. What keeps it comes first: a place is then of no use.
    pub(super) fn of(&self, pod: String, facts: &PodFacts) -> PodPlace<'j> {
        let place = match (&facts.kept_by, self.0.get(pod.as_str())) {
            (Some(kept_by), _) => kept(kept_by, facts.movable),
            (None, Some(place)) => place.clone(),
            (None, None) => Place::Ends,
        };
        PodPlace { pod, place, bare: facts.bare && facts.reschedulable }
    }
}

/// What keeps a pod, and who must do what.
fn kept(by: &KeptBy, can_change_by_itself: bool) -> Place<'static> {
    match by {
        KeptBy::DoNotDisrupt(until) => Place::Kept {
            by: "its annotation karpenter.sh/do-not-disrupt".to_owned(),
            until: *until,
            remedy: match until {
                Some(_) => "wait until then, or remove the annotation".to_owned(),
                None => "whoever runs the pod ends it or removes the annotation".to_owned(),
            },
        },
        KeptBy::Budget(budget) => Place::Kept {
            by: format!("PodDisruptionBudget {budget}"),
            until: None,
            remedy: if can_change_by_itself {
                "wait until more of its pods are ready, run more of them, or let it allow more"
            } else {
                "it never allows an eviction: let it allow one, or end the pod by hand"
            }
            .to_owned(),
        },
        KeptBy::Budgets(budgets) => Place::Kept {
            by: format!("PodDisruptionBudgets {}", budgets.join(" and ")),
            until: None,
            remedy: "Kubernetes evicts no pod that several budgets are about: remove all but one"
                .to_owned(),
        },
    }
}

impl PodPlace<'_> {
    /// As people read it.
    pub(super) fn cell(&self) -> Cell {
        let (text, style) = match &self.place {
            Place::Existing { node: "", node_claim } => {
                (format!("{node_claim}, which is on its way"), GOOD)
            }
            Place::Existing { node, .. } => ((*node).to_owned(), GOOD),
            Place::New { claim, .. } => (format!("a new machine: {}", new_machine(claim)), WAITS),
            Place::Nowhere { message, .. } => (format!("nowhere: {message}"), BAD),
            Place::Kept { by, until: Some(until), remedy } => {
                (format!("stays until {until}, kept by {by}: {remedy}"), BAD)
            }
            Place::Kept { by, until: None, remedy } => {
                (format!("stays, kept by {by}: {remedy}"), BAD)
            }
            Place::Ends => ("ends with the node".to_owned(), GOOD),
        };
        let bare = if self.bare { " (nobody makes it again)" } else { "" };
        Cell::new(text + bare, style)
    }
}

/// A machine that would be made, in a phrase.
pub(super) fn new_machine(claim: &PlannedClaim) -> String {
    format!(
        "{} of pool {}, {} per hour",
        table::shape(&claim.instance_types),
        claim.node_pool,
        text::price(claim.price)
    )
}
