//! Pushing out less important pods.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use joiner_apiserver::Key;
use joiner_core::selector::LabelSelector;

use super::{
    fit::Fit,
    pod::Pod,
    refusal::{Refusal, histogram, summary},
    state::{NodeId, State},
};

/// Kubernetes looks for at least this many nodes to choose from, and a tenth of all.
const CANDIDATES_AT_LEAST: usize = 100;

/// A `PodDisruptionBudget`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Budget {
    pub(super) selector: LabelSelector,
    pub(super) allowed: i64,
}

/// A node on which a pod would have room, and what that would cost.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) node: NodeId,
    /// The most important first.
    pub(super) victims: Vec<Arc<Pod>>,
    violations: usize,
}

/// The node on which room is best made for a pod, or the sentence that says why nowhere.
///
/// Pods are taken out of the state to see what would be, and are back when this returns.
pub(super) fn choose(
    state: &mut State,
    pod: &Pod,
    refusals: &BTreeMap<NodeId, Refusal>,
    budgets: &BTreeMap<Key, Budget>,
) -> Result<Candidate, String> {
    if !pod.preempts {
        return Err("not eligible due to preemptionPolicy=Never.".to_owned());
    }
    if let Some(node) = pod.nominated.as_deref().and_then(|name| state.find(name)) {
        let leaving = |other: &&Arc<Pod>| other.deleting && other.priority < pod.priority;
        let resolvable = refusals.get(&node).is_none_or(Refusal::is_resolvable);
        if resolvable && state.nodes[node].pods.values().any(|other| leaving(&other)) {
            return Err("not eligible due to a terminating pod on the nominated node.".to_owned());
        }
    }
    let enough = (state.size() / 10).max(CANDIDATES_AT_LEAST);
    let mut found = Vec::new();
    let mut failed = Vec::new();
    let mut hopeless = 0;
    for (node, refusal) in refusals {
        if !refusal.is_resolvable() {
            hopeless += 1;
            continue;
        }
        match candidate(state, pod, *node, budgets) {
            Ok(candidate) => found.push(candidate),
            Err(why) => failed.push(why),
        }
        if found.len() >= enough {
            break;
        }
    }
    found.into_iter().min_by_key(|candidate| candidate.cost(state)).ok_or_else(|| {
        let mut reasons = histogram(failed.iter().flatten(), &state.names);
        let without = failed.iter().filter(|why| why.is_none()).count();
        for (reason, count) in [
            ("No preemption victims found for incoming pod", without),
            ("Preemption is not helpful for scheduling", hopeless),
        ] {
            if count > 0 {
                reasons.insert(reason.to_owned(), count);
            }
        }
        summary(state.size(), &reasons)
    })
}

impl Candidate {
    /// What counts, the weightiest first: broken budgets, how important the most important victim
    /// is, how important all are, how many, how long the most important one is there.
    fn cost(&self, state: &State) -> impl Ord + use<> {
        let highest = self.victims.first().map_or(i64::MIN, |victim| victim.priority);
        let sum: i128 = self.victims.iter().map(|victim| i128::from(victim.priority)).sum();
        let important = self.victims.iter().filter(|victim| victim.priority == highest);
        let earliest = important.map(|victim| victim.created).min();
        let name = Arc::clone(&state.nodes[self.node].name);
        (self.violations, highest, sum, self.victims.len(), Reverse(earliest), name)
    }
}

/// The victims on a node that make room for a pod: as few and of as low priority as possible. Fails
/// with the remaining obstacles, or with nothing where there are no victims.
fn candidate(
    state: &mut State,
    pod: &Pod,
    node: NodeId,
    budgets: &BTreeMap<Key, Budget>,
) -> Result<Candidate, Option<Refusal>> {
    let name = Arc::clone(&state.nodes[node].name);
    let on_node = state.nodes[node].pods.values();
    let mut lesser: Vec<_> =
        on_node.filter(|other| other.priority < pod.priority).cloned().collect();
    if lesser.is_empty() {
        return Err(None);
    }
    lesser.sort_by_key(|other| (Reverse(other.priority), other.created, other.key.clone()));
    for other in &lesser {
        state.unassign(&other.key);
    }
    if let Some(refusal) = refusal(state, pod, node) {
        for other in lesser {
            state.assign(other, &name);
        }
        return Err(Some(refusal));
    }
    let (protected, free) = split_by_budgets(&lesser, budgets);
    let mut victims: Vec<Arc<Pod>> = Vec::new();
    let mut violations = 0;
    let both = protected.into_iter().map(|other| (other, true));
    for (other, is_protected) in both.chain(free.into_iter().map(|other| (other, false))) {
        state.assign(Arc::clone(&other), &name);
        if refusal(state, pod, node).is_some() {
            state.unassign(&other.key);
            violations += usize::from(is_protected);
            victims.push(other);
        }
    }
    for victim in &victims {
        state.assign(Arc::clone(victim), &name);
    }
    if victims.is_empty() {
        // No victim was needed: the pod fits now and is tried again.
        return Err(None);
    }
    victims.sort_by_key(|other| (Reverse(other.priority), other.created, other.key.clone()));
    Ok(Candidate { node, victims, violations })
}

fn refusal(state: &mut State, pod: &Pod, node: NodeId) -> Option<Refusal> {
    state.prepare(pod);
    match Fit::new(state, pod) {
        Ok(fit) => fit.refusal(node),
        Err(_) => Some(Refusal::NoVolume),
    }
}

/// Pods whose going would break a budget, and the others. Each pod that may go uses up one
/// disruption of its budgets.
fn split_by_budgets(
    pods: &[Arc<Pod>],
    budgets: &BTreeMap<Key, Budget>,
) -> (Vec<Arc<Pod>>, Vec<Arc<Pod>>) {
    let mut left: BTreeMap<&Key, i64> =
        budgets.iter().map(|(key, budget)| (key, budget.allowed)).collect();
    pods.iter().cloned().partition(|pod| {
        let mut broken = false;
        for (key, budget) in budgets {
            let own = key.namespace == pod.key.namespace && !pod.labels.is_empty();
            if own && budget.selector.matches(&pod.labels) {
                let left = left.get_mut(key).expect("every budget is in both maps");
                *left -= 1;
                broken |= *left < 0;
            }
        }
        broken
    })
}
