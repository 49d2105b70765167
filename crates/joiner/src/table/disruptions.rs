//! Which instances would go, what that saves, where their pods go, and why the others stay.

use std::{cmp::Reverse, collections::BTreeMap};

use joiner_core::{
    disruption::{Command, Decision, Disruptions, Fleet, Staying},
    snapshot::Snapshot,
};

use super::{View, savings, shape};
use crate::text::{self, Align, BOLD, Cell, DIM, GOOD, Table, WAITS, styled};

/// How many instances or pods are named where there are more.
const EXAMPLES: usize = 3;
/// Up to so many instances that stay get a line each; more are told together by their reason.
const LINES_MAX: usize = 20;
/// Width of the lists that `wide` prints below a command.
const WIDE: usize = 120;

/// Renders what was decided about instances.
pub(crate) fn render(
    snapshot: &Snapshot,
    fleet: &Fleet,
    disruptions: &Disruptions,
    view: View,
) -> String {
    let mut sections = vec![totals(disruptions)];
    sections.extend(disruptions.commands.iter().map(|each| command(each, view.wide)));
    if let Some(paused) = &fleet.paused {
        sections.push(styled(&text::paused(paused), WAITS) + "\n");
    }
    sections.extend(staying(snapshot, &disruptions.staying, view));
    sections.join("\n")
}

fn totals(disruptions: &Disruptions) -> String {
    let commands = &disruptions.commands;
    let going: usize = commands.iter().map(|command| command.candidates.len()).sum();
    let coming: usize = commands.iter().map(|command| command.replacements.len()).sum();
    if going == 0 {
        return "No instance would go.\n".to_owned();
    }
    let saved = commands.iter().fold(0.0, |sum, command| sum + command.savings);
    let goes = styled(&format!("{} would go", text::count(going, "instance")), BOLD);
    let comes = match coming {
        0 => String::new(),
        coming => format!(", {coming} would come"),
    };
    format!("{goes}{comes}: {}.\n", styled(&savings(saved), BOLD))
}

fn command(command: &Command, wide: bool) -> String {
    let nodes: Vec<&str> =
        command.candidates.iter().map(|candidate| candidate.node.as_str()).collect();
    let shown = if wide { nodes.len() } else { EXAMPLES };
    let mut pools: Vec<&str> =
        command.candidates.iter().map(|candidate| candidate.node_pool.as_str()).collect();
    pools.sort_unstable();
    pools.dedup();
    let what = match command.decision {
        Decision::Delete => styled("remove", GOOD),
        Decision::Replace => styled("replace", WAITS),
    };
    let by: Vec<String> = command.replacements.iter().map(shape).collect();
    let by = if by.is_empty() { String::new() } else { format!(" by {}", by.join(" and ")) };
    let mut lines = vec![
        format!(
            "  {what} {} ({}){by}: {}",
            styled(&text::some_of(&nodes, shown), BOLD),
            pools.join(", "),
            savings(command.savings)
        ),
        format!("    {}", command.reason.message),
    ];
    if wide {
        lines.extend(pods_by_name(command));
    }
    lines.join("\n") + "\n"
}

/// Which pods go where. How many do is in the command's reason.
fn pods_by_name(command: &Command) -> Vec<String> {
    let line = |(place, pods): (&str, &[String])| {
        let title = format!("    to {place}");
        let indent = title.chars().count() + 2;
        text::wrapped(&title, pods, indent, WIDE)
    };
    places(command).map(line).collect()
}

/// Where pods go, and which.
fn places(command: &Command) -> impl Iterator<Item = (&str, &[String])> {
    let existing = command.destinations.iter().map(|at| (at.name(), at.pods.as_slice()));
    let new = command.replacements.iter().map(|claim| ("a new instance", claim.pods.as_slice()));
    existing.chain(new).filter(|(_, pods)| !pods.is_empty())
}

/// The instances that stay; nothing if there are none.
fn staying(snapshot: &Snapshot, staying: &[Staying], view: View) -> Option<String> {
    if staying.is_empty() {
        return None;
    }
    let title = match staying.len() {
        1 => "1 instance stays:".to_owned(),
        many => format!("{} stay:", text::count(many, "instance")),
    };
    let table = if view.wide || staying.len() <= LINES_MAX {
        one_by_one(snapshot, staying)
    } else {
        by_reason(staying)
    };
    let hint = view.more(&format!("node {}", staying[0].node));
    let hint = hint.map(|hint| format!("\n{hint}\n")).unwrap_or_default();
    Some(format!("{}\n\n{}{hint}", styled(&title, BOLD), table.render()))
}

fn one_by_one(snapshot: &Snapshot, staying: &[Staying]) -> Table {
    let pools: BTreeMap<&str, &str> = snapshot
        .nodes
        .iter()
        .map(|node| (node.name(), node.pool.as_deref().unwrap_or_default()))
        .collect();
    let mut table = Table::new([
        ("INSTANCE", Align::Left),
        ("POOL", Align::Left),
        ("WHY IT STAYS", Align::Left),
        ("", Align::Left),
    ]);
    for Staying { node, reasons, .. } in staying {
        let why = reasons.first().map_or("", |reason| reason.message.as_str());
        let more = match reasons.len() {
            0 | 1 => String::new(),
            many => format!("(and {} more)", many - 1),
        };
        table.row([
            Cell::new(node, BOLD),
            pools.get(node.as_str()).copied().unwrap_or_default().into(),
            why.into(),
            Cell::new(more, DIM),
        ]);
    }
    table
}

/// Instances that stay for the same kind of reason are told together, the most first.
fn by_reason(staying: &[Staying]) -> Table {
    let mut groups: BTreeMap<&str, Vec<&Staying>> = BTreeMap::new();
    for each in staying {
        let id = each.reasons.first().map_or("", |reason| reason.id.as_str());
        groups.entry(id).or_default().push(each);
    }
    let mut groups: Vec<Vec<&Staying>> = groups.into_values().collect();
    groups.sort_by_key(|group| Reverse(group.len()));
    let mut table = Table::new([
        ("INSTANCES", Align::Right),
        ("SUCH AS", Align::Left),
        ("WHY THE FIRST OF THEM STAYS", Align::Left),
    ]);
    for group in groups {
        let names: Vec<&str> = group.iter().map(|each| each.node.as_str()).collect();
        let why = group[0].reasons.first().map_or("", |reason| reason.message.as_str());
        table.row([
            Cell::new(text::thousands(group.len()), BOLD),
            names.into_iter().take(EXAMPLES).collect::<Vec<_>>().join(", ").into(),
            why.into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests;
