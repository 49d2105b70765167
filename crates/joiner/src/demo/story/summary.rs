//! What came of a story, in one line.

use joiner_view::{
    amounts::{count, price, span},
    scene::Totals,
};

/// Figures that are gathered while a story is told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    pods_max: usize,
    nodes_max: usize,
    price_max: f64,
    /// What all instances have cost so far.
    cost: f64,
    /// When this was last told the figures.
    latest: f64,
    burst: Burst,
}

/// How far the answer to the burst has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Burst {
    #[default]
    NotYet,
    /// It began then.
    Since(f64),
    /// It took so long until no pod waited any more.
    Took(f64),
}

impl Summary {
    /// Takes note that the burst begins.
    pub(crate) fn burst_begins(&mut self, at: f64) {
        self.burst = Burst::Since(at);
    }

    /// Takes note of the figures of a moment, in seconds since the story began.
    pub(crate) fn note(&mut self, at: f64, totals: &Totals) {
        let nodes = totals.ready + totals.lost + totals.leaving;
        self.pods_max = self.pods_max.max(totals.running);
        self.nodes_max = self.nodes_max.max(nodes);
        self.price_max = self.price_max.max(totals.price);
        self.cost += totals.price * (at - self.latest).max(0.0) / 3600.0;
        self.latest = at;
        if let Burst::Since(began) = self.burst
            // A moment for the first of its pods to be there.
            && at - began > 1.0
            && totals.waiting + totals.starting + totals.unready == 0
        {
            self.burst = Burst::Took(at - began);
        }
    }

    /// One line for people.
    pub(crate) fn in_words(&self, totals: &Totals) -> String {
        let burst = match self.burst {
            Burst::Took(seconds) => format!("the burst ran after {}", span(seconds)),
            Burst::NotYet | Burst::Since(_) => "the burst never ran as a whole".to_owned(),
        };
        let waiting = match totals.waiting {
            0 => String::new(),
            pods => format!("; {} still waiting", count(pods, "pod")),
        };
        format!(
            "up to {} on {} for {}/h; {burst}; at the end {} on {} for {}/h; {} spent in {}{waiting}",
            count(self.pods_max, "pod"),
            count(self.nodes_max, "node"),
            price(self.price_max),
            count(totals.running, "pod"),
            count(totals.ready, "node"),
            price(totals.price),
            price(self.cost),
            span(self.latest),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(running: usize, waiting: usize, ready: usize) -> Totals {
        Totals { running, waiting, ready, price: ready as f64, ..Totals::default() }
    }

    #[test]
    fn peaks_cost_and_the_burst_are_told() {
        let mut summary = Summary::default();
        summary.note(0.0, &figures(0, 0, 0));
        summary.note(60.0, &figures(10, 0, 2));
        summary.burst_begins(60.0);
        summary.note(60.5, &figures(10, 0, 2));
        summary.note(62.0, &figures(10, 40, 2));
        summary.note(110.0, &figures(50, 0, 8));
        let end = figures(10, 0, 3);
        summary.note(3600.0, &end);
        assert_eq!(
            summary.in_words(&end),
            "up to 50 pods on 8 nodes for 8.000/h; the burst ran after 50 s; at the end 10 pods on \
             3 nodes for 3.000/h; 3.049 spent in 1 h"
        );
    }

    #[test]
    fn pods_that_still_wait_are_not_kept_silent() {
        let mut summary = Summary::default();
        summary.burst_begins(0.0);
        let end = figures(3, 2, 1);
        summary.note(100.0, &end);
        assert_eq!(
            summary.in_words(&end),
            "up to 3 pods on 1 node for 1.000/h; the burst never ran as a whole; at the end 3 pods \
             on 1 node for 1.000/h; 0.028 spent in 1 min 40 s; 2 pods still waiting"
        );
    }
}
