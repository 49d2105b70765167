//! Pods without a place, and why.

use std::{cmp::Reverse, collections::BTreeMap};

use anstyle::Style;
use joiner_core::{plan::Unplaced, reason::Reason};

use super::{Pods, View, without_pool};
use crate::{
    text::{self, BAD, BOLD, DIM, WAITS, styled},
    workload,
};

/// How many pods a group names, and how many pools it gives reasons for.
const EXAMPLES: usize = 3;
/// How many groups are told about.
const GROUPS_MAX: usize = 20;

/// Pods that were considered and have no place; nothing if there are none.
pub(super) fn render_unschedulable(
    unplaced: &[Unplaced],
    pods: &Pods<'_>,
    view: View,
) -> Option<String> {
    let mut lines = lines(unplaced, "cannot be placed", BAD, pods, view.wide)?;
    let hint = unplaced.first().and_then(|first| view.more(&format!("pod {}", first.pod)));
    lines.extend(hint.map(|hint| format!("\n{hint}")));
    Some(lines.join("\n") + "\n")
}

/// Pods that are not considered yet; nothing if there are none.
pub(super) fn render_deferred(
    unplaced: &[Unplaced],
    pods: &Pods<'_>,
    view: View,
) -> Option<String> {
    Some(lines(unplaced, "must wait", WAITS, pods, view.wide)?.join("\n") + "\n")
}

/// What pools say, nearest miss first: their names, and the sentence.
type Reasons = Vec<(String, String)>;

/// Pods of one workload and with the same reasons are told together, the largest group first.
fn lines(
    unplaced: &[Unplaced],
    fate: &str,
    style: Style,
    pods: &Pods<'_>,
    wide: bool,
) -> Option<Vec<String>> {
    if unplaced.is_empty() {
        return None;
    }
    let mut groups: BTreeMap<(String, Reasons), Vec<&str>> = BTreeMap::new();
    for one in unplaced {
        let workload = pods.get(&one.pod).map_or_else(|| one.pod.clone(), |pod| workload::of(pod));
        groups.entry((workload, reasons(one))).or_default().push(&one.pod);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, pods)| Reverse(pods.len()));
    let title = format!("{} {fate}:", text::count(unplaced.len(), "pod"));
    let mut lines = vec![styled(&title, style)];
    let shown = if wide { groups.len() } else { groups.len().min(GROUPS_MAX) };
    for ((workload, reasons), pods) in &groups[..shown] {
        lines.push(format!("\n  {}", group_title(workload, pods, wide)));
        lines.extend(reason_texts(reasons, wide));
    }
    let rest: usize = groups[shown..].iter().map(|(_, pods)| pods.len()).sum();
    if rest > 0 {
        lines.push(format!("\n  and {} more; see -o wide", text::count(rest, "pod")));
    }
    Some(lines)
}

/// Pools that say the same are named together.
fn reasons(unplaced: &Unplaced) -> Reasons {
    let mut lines = Reasons::new();
    for Reason { node_pool, message, .. } in &unplaced.reasons {
        let pool = node_pool.clone().unwrap_or_default();
        let message = without_pool(message, &pool);
        match lines.iter_mut().find(|(_, said)| *said == message) {
            Some((pools, _)) => *pools = format!("{pools}, {pool}"),
            None => lines.push((pool, message)),
        }
    }
    if lines.is_empty() {
        lines.push((String::new(), unplaced.message.clone()));
    }
    lines
}

fn group_title(workload: &str, pods: &[&str], wide: bool) -> String {
    match pods {
        [only] => styled(only, BOLD),
        pods => {
            let shown = if wide { pods.len() } else { EXAMPLES };
            let title = styled(&format!("{}× {workload}", text::thousands(pods.len())), BOLD);
            format!("{title} {}", styled(&format!("({})", text::some_of(pods, shown)), DIM))
        }
    }
}

fn reason_texts(reasons: &Reasons, wide: bool) -> Vec<String> {
    let shown = if wide { reasons.len() } else { reasons.len().min(EXAMPLES) };
    let (told, rest) = reasons.split_at(shown);
    let indent = told.iter().map(|(pools, _)| pools.chars().count()).max().unwrap_or(0) + 2;
    let line = |(pools, message): &(String, String)| match pools.as_str() {
        "" => format!("    {message}"),
        pools => format!("    {pools:indent$}{message}"),
    };
    let mut lines: Vec<String> = told.iter().map(line).collect();
    if !rest.is_empty() {
        lines.push(format!("    and {} from other pools", text::count(rest.len(), "more reason")));
    }
    lines
}
