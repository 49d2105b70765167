//! Passes in which some nodes take no pods.

use joiner_core::snapshot::Node;

use super::Solver;

impl Solver<'_> {
    /// From now on these nodes take no pods.
    pub(crate) fn bar_nodes(&mut self, barred: impl Fn(&Node) -> bool) {
        let positions: Vec<usize> =
            (0..self.nodes.len()).filter(|at| barred(self.nodes.candidate(*at).node)).collect();
        for variant in self.classes.all.iter_mut().flat_map(|class| &mut class.variants) {
            for position in &positions {
                variant.dead_nodes.insert(*position);
            }
        }
    }
}
