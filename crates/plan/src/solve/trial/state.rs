//! The state that a trial may change, as text, so that tests can see whether all of it was undone.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use crate::solve::{Solver, limits::Remaining, nodes::Nodes};

impl Solver<'_> {
    /// All state that answers depend on. Caches of permanent facts are left out.
    pub(crate) fn state(&self) -> String {
        let mut text = nodes_state(&self.nodes);
        for group in &self.topology.groups {
            let _ = writeln!(text, "{}", group.state());
        }
        let reserved: BTreeMap<usize, u32> =
            self.reservations.left.iter().map(|(id, left)| (*id, *left)).collect();
        let _ = writeln!(text, "{reserved:?}\n{:?}\n{}", self.claims, self.placed);
        let _ = writeln!(text, "{:?}", self.limits_left());
        for class in &self.classes.all {
            let dead = class.known_forms().map(|form| &form.dead_claims);
            let dead: Vec<_> = dead.filter(|claims| !claims.is_empty()).collect();
            let _ = writeln!(text, "{:?} {dead:?}", class.refused_at);
        }
        text
    }

    /// The remaining limits of every template: amounts by name, and the number of instances.
    pub(crate) fn limits_left(&self) -> Vec<(BTreeMap<&str, i64>, Option<i64>)> {
        let of = |remaining: &Remaining| {
            let amounts = remaining.amounts.iter();
            let named = amounts.map(|(column, left)| (self.columns.name(*column), *left));
            (named.collect(), remaining.nodes)
        };
        self.remaining.iter().map(of).collect()
    }
}

fn nodes_state(nodes: &Nodes<'_>) -> String {
    let Nodes { gone, quiet, touched, sites, .. } = nodes;
    let mut text = format!("{gone:?} {quiet:?} {touched:?} {sites:?}\n");
    for (candidate, free) in nodes.candidates.iter().zip(nodes.free.chunks(nodes.width.max(1))) {
        let volumes: BTreeMap<&str, BTreeSet<&str>> = candidate
            .volumes
            .iter()
            .map(|(driver, claims)| (*driver, claims.iter().copied().collect()))
            .collect();
        let (pods, ports, settled) = (&candidate.pods, candidate.ports.taken(), candidate.settled);
        let _ = writeln!(text, "{free:?} {pods:?} {settled} {ports:?} {volumes:?}");
    }
    text
}
