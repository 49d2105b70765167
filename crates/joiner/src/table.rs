//! A plan as people read it: instances, what they cost, and what has no place.

pub(crate) mod disruptions;
mod instances;
mod unplaced;

use std::collections::HashMap;

use joiner_core::{
    label,
    plan::{Plan, PlannedClaim},
    pod::Pod,
    requirement::Requirements,
    resources::Resources,
    snapshot::Snapshot,
};

use crate::{
    plan::Summary,
    text::{self, BOLD, DIM, styled},
};

/// Pods to place by `namespace/name`.
type Pods<'s> = HashMap<String, &'s Pod>;

/// How a plan is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    /// Whether every pod and every type is named and nothing is folded.
    pub(crate) wide: bool,
    /// Whether a cluster itself was read, and not files.
    pub(crate) live: bool,
}

impl View {
    /// Where to read on; nothing where everything is told.
    fn more(self, about: &str) -> Option<String> {
        let files = if self.live { "" } else { " -f …" };
        (!self.wide).then(|| styled(&format!("More: joiner explain {about}{files}"), DIM))
    }
}

/// Renders a plan.
pub(crate) fn render(snapshot: &Snapshot, plan: &Plan, summary: &Summary, view: View) -> String {
    let pods: Pods<'_> = snapshot.pods.iter().map(|pod| (pod.key(), pod)).collect();
    let mut sections = Vec::new();
    sections.extend(instances::render(snapshot, &pods, plan, view.wide));
    sections.push(totals(plan, summary));
    sections.extend(unplaced::render_unschedulable(&plan.unschedulable, &pods, view));
    sections.extend(unplaced::render_deferred(&plan.deferred, &pods, view));
    sections.join("\n")
}

/// `s-8x-amd64-linux or 3 others`. A pool that keeps a fixed number of instances leaves the choice to
/// its provider.
pub(crate) fn shape(claim: &PlannedClaim) -> String {
    match &*claim.instance_types {
        [] => format!("any type that NodePool {} allows", claim.node_pool),
        [only] => only.clone(),
        [cheapest, _] => format!("{cheapest} or 1 other"),
        [cheapest, others @ ..] => format!("{cheapest} or {} others", others.len()),
    }
}

/// A pool's reason, where the pool is named beside it and need not be named again.
pub(crate) fn without_pool(message: &str, pool: &str) -> String {
    let pool = format!("pool {pool:?}");
    let rest = message.strip_prefix(&pool).unwrap_or(message);
    rest.replace(&format!(" of {pool}"), "").replace(&format!(" with {pool}"), "").trim().to_owned()
}

/// `0.1000 per hour less`.
pub(crate) fn savings(savings: f64) -> String {
    match text::price(savings.abs()) {
        amount if amount == text::price(0.0) => "as much per hour as before".to_owned(),
        amount if savings > 0.0 => format!("{amount} per hour less"),
        amount => format!("{amount} per hour more"),
    }
}

/// The share of a resource that is asked for; nothing where there is none of it.
pub(crate) fn share(requests: &Resources, room: &Resources, name: &str) -> Option<f64> {
    let room = room.get(name).as_f64();
    (room > 0.0).then(|| requests.get(name).as_f64() / room)
}

/// The zones a claim is held to: one by name, several by number, none if it may be anywhere.
pub(crate) fn zone(claim: &PlannedClaim) -> String {
    let requirements = Requirements::from_specs(claim.requirements.iter());
    match requirements.get(label::ZONE) {
        Some(zones) if !zones.is_complement() => match zones.single() {
            Some(zone) => zone.to_owned(),
            None => format!("any of {}", zones.values().len()),
        },
        _ => "any".to_owned(),
    }
}

fn totals(plan: &Plan, summary: &Summary) -> String {
    let received: usize = plan.existing.iter().map(|existing| existing.pods.len()).sum();
    let there = text::count(plan.existing.len(), "instance");
    let mut lines = vec![match (summary.claims, received) {
        (0, 0) if summary.pods == 0 => "No pod waits for an instance.".to_owned(),
        (0, 0) => "No instance would be made.".to_owned(),
        (0, _) => {
            format!("No new instance is needed: {} on {there} already there.", fit(received, ""))
        }
        (claims, _) => format!(
            "{} for {}, {} per hour{}.",
            styled(&text::count(claims, "new instance"), BOLD),
            text::count(summary.placed - received, "pod"),
            styled(&text::price(summary.price), BOLD),
            bound(summary)
        ),
    }];
    if summary.claims > 0 && received > 0 {
        lines.push(format!("{} on {there} already there.", fit(received, "more ")));
    }
    lines.join("\n") + "\n"
}

/// What is known about cheaper plans. The bound is below every plan, and there may be none that reaches it.
fn bound(summary: &Summary) -> String {
    if summary.lower_bound <= 0.0 {
        return String::new();
    }
    match (text::price(summary.price), text::price(summary.lower_bound)) {
        (price, bound) if price == bound => " (no plan could cost less)".to_owned(),
        (_, bound) => format!(" (at least {bound}; the best possible lies between)"),
    }
}

fn fit(pods: usize, more: &str) -> String {
    let verb = if pods == 1 { "fits" } else { "fit" };
    format!("{} {verb}", text::count(pods, &format!("{more}pod")))
}

#[cfg(test)]
mod tests;
