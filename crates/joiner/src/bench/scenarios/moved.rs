//! What a controller counts about itself.

use serde::Serialize;

/// What a controller has moved since it was started. Both programs count under the same names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::bench) struct Moved {
    /// Pods that were asked to leave their node and did.
    pub(in crate::bench) evictions: usize,
    /// Decisions to remove or replace instances.
    pub(in crate::bench) commands: usize,
}

impl Moved {
    /// What a page of metrics says, in Prometheus' text format.
    pub(in crate::bench) fn read(text: &str) -> Self {
        Self {
            evictions: sum(text, "karpenter_pods_drained_total"),
            commands: sum(text, "karpenter_voluntary_disruption_decisions_total"),
        }
    }
}

/// The sum of a counter over all its labels, in Prometheus' text format.
fn sum(text: &str, name: &str) -> usize {
    let values = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let is_it = rest.starts_with(['{', ' ']);
        rest.rsplit_once(' ').filter(|_| is_it)?.1.parse::<f64>().ok()
    });
    values.sum::<f64>() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_summed_over_their_labels() {
        let text = "# HELP karpenter_pods_drained_total Pods.\n\
                    # TYPE karpenter_pods_drained_total counter\n\
                    karpenter_pods_drained_total{reason=\"underutilized\"} 4\n\
                    karpenter_pods_drained_total{reason=\"a b\"} 3\n\
                    karpenter_pods_drained_total_other 100\n\
                    karpenter_voluntary_disruption_decisions_total 2\n";
        assert_eq!(Moved::read(text), Moved { evictions: 7, commands: 2 });
        assert_eq!(Moved::read(""), Moved::default());
    }
}
