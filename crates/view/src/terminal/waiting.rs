//! Pods without a node, told together where they are alike.

use std::collections::BTreeMap;

use ratatui::text::{Line, Span};

use super::{
    Palette,
    words::{fitted, fitted_words},
};
use crate::{
    amounts::{bytes, cores, span},
    scene::{Scene, Waiting},
};

/// Pods of one workload that wait for the same reason.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group<'s> {
    pub(super) first: &'s Waiting,
    pub(super) pods: usize,
    /// How many of them know where they will go.
    pub(super) headed: usize,
}

/// Pods that wait, by workload and reason, those that were refused first.
pub(super) fn groups(scene: &Scene) -> Vec<Group<'_>> {
    let mut groups: BTreeMap<(bool, &str, &str), Group<'_>> = BTreeMap::new();
    for pod in &scene.waiting {
        let key = (pod.why.is_empty(), pod.workload.as_str(), pod.why.as_str());
        let group = groups.entry(key).or_insert(Group { first: pod, pods: 0, headed: 0 });
        group.pods += 1;
        group.headed += usize::from(!pod.headed_for.is_empty());
    }
    groups.into_values().collect()
}

/// One line for each group.
pub(super) fn lines(scene: &Scene, columns: u16, palette: Palette) -> Vec<Line<'static>> {
    let line = |group: Group<'_>| {
        let Waiting { workload, cpu, memory, since, why, .. } = group.first;
        let who = format!("{:>3}× {} ", group.pods, fitted(workload, 16));
        let (what, style) = if !why.is_empty() {
            (why.clone(), palette.bad())
        } else if group.headed > 0 {
            ("an instance is on its way".to_owned(), palette.coming())
        } else {
            let size = format!("cpu {}, memory {}", cores(*cpu), bytes(*memory));
            let waited = span(scene.now - since);
            (format!("{size} each, {waited}"), palette.quiet())
        };
        let room = usize::from(columns).saturating_sub(who.chars().count());
        Line::from(vec![Span::raw(who), Span::styled(fitted_words(&what, room), style)])
    };
    groups(scene).into_iter().map(line).collect()
}
