//! Events: what controllers say about their decisions.

use k8s_openapi::api::core::v1::Event;

use super::{Change, View};
use crate::{
    happenings::{Figures, Note},
    scene::Kind,
    types,
};

/// The source of refusals that are about existing nodes. Other sources report why no instance is made
/// for a pod.
const SCHEDULER: &str = "default-scheduler";

impl View {
    pub(super) fn see_event(&mut self, at: f64, event: &Event, change: Change) {
        if change == Change::Gone {
            return;
        }
        let about = &event.involved_object;
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let (namespace, name) = (text(&about.namespace), text(&about.name));
        let message = text(&event.message);
        let kind = about.kind.as_deref().unwrap_or_default();
        match (kind, event.reason.as_deref().unwrap_or_default()) {
            ("Pod", "Nominated") => {
                if let Some(guest) = self.guests.get_mut(&(namespace, name)) {
                    headed_for(&message).clone_into(&mut guest.headed_for);
                    guest.refused.clear();
                }
            }
            ("Pod", "FailedScheduling") if !is_of_scheduler(event) => {
                let why = types::in_sentence(reason_of_refusal(&message));
                self.refuse(at, &(namespace, name), &why);
            }
            ("NodeClaim", "DisruptionTerminating") => {
                let why = self.in_words(&within_a_line(after_colon(&message)));
                let Some(claim) = self.claims.get_mut(&name) else { return };
                if claim.why_leaving.is_empty() {
                    claim.why_leaving = why;
                }
                if claim.deleting.is_some() {
                    self.tell_of_end(at, &name, 0.0);
                }
            }
            _ => {}
        }
    }

    fn refuse(&mut self, at: f64, pod: &(String, String), why: &str) {
        let Some(guest) = self.guests.get_mut(pod) else { return };
        if guest.refused == why {
            return;
        }
        why.clone_into(&mut guest.refused);
        guest.headed_for.clear();
        let note = Note::new(Kind::Refused, &guest.workload, "", why);
        let figures = Figures { pods: 1, ..Figures::default() };
        let key = format!("{}: {why}", guest.workload);
        self.happenings.note(at, Note { key, figures, ..note });
    }
}

fn is_of_scheduler(event: &Event) -> bool {
    let source = event.source.as_ref().and_then(|source| source.component.as_deref());
    [source, event.reporting_component.as_deref()].contains(&Some(SCHEDULER))
}

/// The instance in `Pod should schedule on: nodeclaim/a, node/b`.
fn headed_for(message: &str) -> &str {
    let first = after_colon(message).split(',').next().unwrap_or_default();
    first.split_once('/').map_or(first, |(_, name)| name).trim()
}

/// The reason in `Failed to schedule pod, no pool …`.
fn reason_of_refusal(message: &str) -> &str {
    message.strip_prefix("Failed to schedule pod, ").unwrap_or(message)
}

/// A sentence as it stands behind a colon; a reason that is only a word stays as it is.
fn within_a_line(sentence: &str) -> String {
    let mut signs = sentence.chars();
    match signs.next() {
        Some(first) if sentence.contains(' ') => first.to_lowercase().chain(signs).collect(),
        _ => sentence.to_owned(),
    }
}

/// What follows the first colon; everything where there is none.
fn after_colon(message: &str) -> &str {
    message.split_once(':').map_or(message, |(_, rest)| rest).trim()
}
