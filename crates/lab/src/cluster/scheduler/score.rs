//! Which of the nodes that are possible is best.

use joiner_core::taint::{Effect, first_untolerated};

use super::{
    amounts::{CPU_ID, MEMORY_ID, amount},
    counts::Held,
    pod::Pod,
    state::{Node, NodeId, State},
};

/// The most that one aspect can give.
const BEST: i64 = 100;

/// The best of some nodes for a pod; of several that are equally good, the first by name.
pub(super) fn best(state: &State, pod: &Pod, nodes: &[NodeId]) -> Option<NodeId> {
    if let [only] = nodes {
        return Some(*only);
    }
    let mut totals = vec![0; nodes.len()];
    // The weights are those that Kubernetes gives by default.
    for (weight, scores) in [
        (1, Some(least_allocated(state, pod, nodes))),
        (1, Some(balanced(state, pod, nodes))),
        (3, taints(state, pod, nodes)),
        (2, node_affinity(state, pod, nodes)),
        (2, spread(state, pod, nodes)),
        (2, pod_affinity(state, pod, nodes)),
    ] {
        for (total, score) in totals.iter_mut().zip(scores.into_iter().flatten()) {
            *total += weight * score;
        }
    }
    let best = totals.iter().max()?;
    let ties = nodes.iter().zip(&totals).filter(|(_, total)| *total == best).map(|(id, _)| *id);
    ties.min_by_key(|id| &state.nodes[*id].name)
}

/// One score per node; none when the aspect makes no difference.
type Scores = Option<Vec<i64>>;

/// The share of CPU or memory that a pod would leave taken on a node.
fn share(node: &Node, pod: &Pod, which: usize) -> Option<f64> {
    let has = amount(&node.allocatable, [CPU_ID, MEMORY_ID][which]);
    (has > 0).then(|| (node.weight[which] + pod.weight[which]) as f64 / has as f64)
}

fn least_allocated(state: &State, pod: &Pod, nodes: &[NodeId]) -> Vec<i64> {
    let free = |node: &Node, which: usize| {
        let has = i128::from(amount(&node.allocatable, [CPU_ID, MEMORY_ID][which]));
        let used = i128::from(node.weight[which] + pod.weight[which]);
        if has <= 0 || used > has { 0 } else { ((has - used) * i128::from(BEST) / has) as i64 }
    };
    let score = |id: &NodeId| {
        let node = &state.nodes[*id];
        i64::midpoint(free(node, 0), free(node, 1))
    };
    nodes.iter().map(score).collect()
}

/// Better the closer the shares of CPU and memory are to each other.
fn balanced(state: &State, pod: &Pod, nodes: &[NodeId]) -> Vec<i64> {
    let score = |id: &NodeId| {
        let node = &state.nodes[*id];
        let shares = [0, 1].map(|which| share(node, pod, which).map(|share| share.min(1.0)));
        let apart = match shares {
            [Some(cpu), Some(memory)] => (cpu - memory).abs() / 2.0,
            _ => 0.0,
        };
        ((1.0 - apart) * BEST as f64) as i64
    };
    nodes.iter().map(score).collect()
}

/// Better the fewer taints that would rather keep the pod away.
fn taints(state: &State, pod: &Pod, nodes: &[NodeId]) -> Scores {
    let unwelcome = |id: &NodeId| {
        let taints = state.nodes[*id].facts.taints.iter();
        let soft = taints.filter(|taint| taint.effect == Effect::PreferNoSchedule);
        soft.filter(|taint| {
            first_untolerated(std::slice::from_ref(*taint), &pod.tolerations).is_some()
        })
        .count() as i64
    };
    let counts: Vec<_> = nodes.iter().map(unwelcome).collect();
    let most = *counts.iter().max()?;
    (most > 0).then(|| counts.iter().map(|count| BEST - BEST * count / most).collect())
}

fn node_affinity(state: &State, pod: &Pod, nodes: &[NodeId]) -> Scores {
    if !pod.nodes.has_preferences() {
        return None;
    }
    let sums = nodes.iter().map(|id| {
        let node = &state.nodes[*id];
        pod.nodes.preference(&node.name, &node.facts.labels)
    });
    let sums: Vec<_> = sums.collect();
    let most = *sums.iter().max()?;
    (most > 0).then(|| sums.iter().map(|sum| BEST * sum / most).collect())
}

/// Better the fewer pods of the same sort are in the domain, for spreads that may be broken.
fn spread(state: &State, pod: &Pod, nodes: &[NodeId]) -> Scores {
    let soft: Vec<_> = pod.spread.iter().filter(|spread| !spread.hard).collect();
    if soft.is_empty() {
        return None;
    }
    let columns: Vec<_> = soft.iter().map(|own| state.counts.column(&own.topology_key)).collect();
    let labelled = |id: NodeId| columns.iter().all(|column| column.value(id) != 0);
    let mut raw = vec![0.0; nodes.len()];
    for (spread, column) in soft.iter().zip(&columns) {
        let per_node = state.counts.per_node(std::slice::from_ref(&spread.scope));
        let mut counts = vec![0_u32; column.width()];
        for id in state.present().filter(|id| labelled(*id)) {
            if spread.counts_node(pod, &state.nodes[id]) {
                counts[column.value(id)] += per_node.get(id).map_or(0, |count| count.staying);
            }
        }
        let mut seen = vec![false; column.width()];
        nodes.iter().filter(|id| labelled(**id)).for_each(|id| seen[column.value(*id)] = true);
        let domains = seen.iter().filter(|seen| **seen).count();
        // Domains that are many weigh more, or hosts would never count against a few zones.
        let weight = ((domains + 2) as f64).ln();
        for (sum, id) in raw.iter_mut().zip(nodes) {
            *sum += f64::from(counts[column.value(*id)]) * weight + (spread.max_skew - 1) as f64;
        }
    }
    let rounded: Vec<_> = nodes
        .iter()
        .zip(&raw)
        .map(|(id, sum)| labelled(*id).then_some(sum.round() as i64))
        .collect();
    let least = rounded.iter().flatten().min().copied()?;
    let most = rounded.iter().flatten().max().copied()?;
    let score = |sum: &Option<i64>| match sum {
        None => 0,
        Some(_) if most == 0 => BEST,
        Some(sum) => BEST * (most + least - sum) / most,
    };
    Some(rounded.iter().map(score).collect())
}

/// Better the more pods that the pod likes, or that like it, are in the domain.
fn pod_affinity(state: &State, pod: &Pod, nodes: &[NodeId]) -> Scores {
    let counts = &state.counts;
    let mut sums = vec![0_i64; nodes.len()];
    let mut add = |key: &str, weight: i64, per_node: &[u32]| {
        let column = counts.column(key);
        let mut domains = vec![0_i64; column.width()];
        for (id, count) in per_node.iter().enumerate() {
            domains[column.value(id)] += i64::from(*count);
        }
        domains[0] = 0;
        for (sum, id) in sums.iter_mut().zip(nodes) {
            *sum += weight * domains[column.value(*id)];
        }
    };
    for (weight, term) in &pod.preferred {
        let per_node = counts.per_node(std::slice::from_ref(&term.scope));
        let all: Vec<_> = per_node.iter().map(|count| count.all).collect();
        add(&term.topology_key, *weight, &all);
    }
    for (held, per_node) in counts.held_for(pod) {
        if let Held::Likes(weight, _) = held {
            add(held.topology_key(), *weight, per_node);
        }
    }
    let (least, most) = (*sums.iter().min()?, *sums.iter().max()?);
    (most > least).then(|| sums.iter().map(|sum| BEST * (sum - least) / (most - least)).collect())
}
