//! Everything about what is selected.

use std::collections::BTreeMap;

use ratatui::text::Line;

use super::{waiting::groups, words::wrapped};
use crate::{
    amounts::{bytes, clock, cores, count, price, span},
    scene::{Happening, Node, Scene},
};

/// An instance in full sentences.
pub(super) fn of_node(scene: &Scene, node: &Node, columns: usize) -> Vec<Line<'static>> {
    let words = [&node.instance_type, &node.capacity_type, &node.zone];
    let mut facts: Vec<String> =
        words.into_iter().filter(|word| !word.is_empty()).cloned().collect();
    facts.extend(node.price.map(|own| format!("{}/h", price(own))));
    facts.push(format!("{} for {}", node.phase.word(), span(scene.now - node.since)));
    if !node.why.is_empty() {
        facts.push(node.why.clone());
    }
    let amounts = format!(
        "{}: {}. cpu {} of {}, memory {} of {}.",
        node.node.as_deref().unwrap_or(&node.name),
        facts.join(", "),
        cores(node.cpu.requested),
        cores(node.cpu.total),
        bytes(node.memory.requested),
        bytes(node.memory.total),
    );
    let mut workloads: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in &node.pods {
        *workloads.entry(&pod.workload).or_default() += 1;
    }
    let pods: Vec<String> =
        workloads.iter().map(|(workload, pods)| format!("{pods}× {workload}")).collect();
    let mut lines = wrapped(&amounts, columns);
    lines.extend(wrapped(&pods.join(", "), columns));
    lines
}

/// Pods that wait in full sentences.
pub(super) fn of_waiting(scene: &Scene, index: usize, columns: usize) -> Vec<Line<'static>> {
    let Some(group) = groups(scene).into_iter().nth(index) else { return Vec::new() };
    let first = group.first;
    let why = if first.why.is_empty() { "nobody has said why yet" } else { &first.why };
    let headed = match group.headed {
        0 => why.to_owned(),
        headed => format!("{headed} on their way to {} and others", first.headed_for),
    };
    let text = format!(
        "{} of {} (cpu {}, memory {} each) for {}: {headed}",
        count(group.pods, "pod"),
        first.workload,
        cores(first.cpu),
        bytes(first.memory),
        span(scene.now - first.since),
    );
    wrapped(&text, columns)
}

/// A happening in full sentences.
pub(super) fn of_happening(happening: &Happening, columns: usize) -> Vec<Line<'static>> {
    let Happening { at, subject, what, why, .. } = happening;
    let colon = if why.is_empty() { "" } else { ": " };
    wrapped(&format!("{} {subject} {what}{colon}{why}", clock(*at)), columns)
}
