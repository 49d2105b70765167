//! The decision about one pod: which node, or why none.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use joiner_apiserver::Key;

use super::{
    fit::Fit,
    pod::Pod,
    preempt::{self, Budget, Candidate},
    refusal::{Refusal, Rule, histogram, summary},
    score,
    state::{NodeId, State},
    storage::Supply,
};

/// With fewer nodes than this, all are looked at; with more, at least so many that are possible.
const POSSIBLE_AT_LEAST: usize = 100;

/// How many failures are remembered.
const FAILURES_KEPT: usize = 64;

/// What becomes of a pod.
#[derive(Debug)]
pub(super) enum Decision {
    /// It goes to a node; volumes are chosen or made for it there.
    Place { node: NodeId, supplies: Vec<Supply> },
    /// It goes nowhere yet.
    Refuse(Failure),
}

/// Why a pod goes nowhere.
#[derive(Debug)]
pub(super) struct Failure {
    /// The sentence for people.
    pub(super) message: String,
    /// The rules that refused nodes.
    pub(super) rules: BTreeSet<Rule>,
    /// Where others have to make room for it.
    pub(super) room: Option<Candidate>,
    /// Whether it goes on waiting for the node that it was promised.
    pub(super) keeps_nomination: bool,
}

/// What decisions remember from one pod to the next.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Where the last look at nodes ended. Large clusters are looked at in turns.
    next_node: NodeId,
    /// Pods that found no node, and the state they found none in: their likes need not look again.
    failures: Vec<(Arc<Pod>, u64, String, BTreeSet<Rule>)>,
}

impl Memory {
    /// Decides about a pod.
    pub(super) fn decide(
        &mut self,
        state: &mut State,
        pod: &Arc<Pod>,
        budgets: &BTreeMap<Key, Budget>,
    ) -> Decision {
        if state.size() == 0 {
            return refuse("no nodes available to schedule pods".to_owned(), [Rule::Node]);
        }
        if let Some((message, rules)) = self.remembered(state, pod) {
            return refuse(message, rules);
        }
        state.prepare(pod);
        let refusals = match self.look(state, pod) {
            Ok(decision) => return decision,
            Err(Ok(refusals)) => refusals,
            Err(Err(why)) => {
                let nodes = state.size();
                let message = format!(
                    "0/{nodes} nodes are available: {why}. preemption: 0/{nodes} nodes are \
                     available: {nodes} Preemption is not helpful for scheduling."
                );
                return refuse(message, [Rule::Volumes]);
            }
        };
        let rules: BTreeSet<_> = refusals.values().map(Refusal::rule).collect();
        let reasons = histogram(refusals.values(), &state.names);
        let mut message = summary(state.size(), &reasons);
        match preempt::choose(state, pod, &refusals, budgets) {
            Ok(room) => {
                let room = Some(room);
                Decision::Refuse(Failure { message, rules, room, keeps_nomination: false })
            }
            Err(why) => {
                message = format!("{message} preemption: {why}");
                let keeps_nomination = why.starts_with("not eligible due to a terminating pod");
                self.remember(state, pod, &message, &rules);
                Decision::Refuse(Failure { message, rules, room: None, keeps_nomination })
            }
        }
    }

    /// Looks for a node. Fails with why each node is not for the pod, or why none can be.
    fn look(
        &mut self,
        state: &State,
        pod: &Pod,
    ) -> Result<Decision, Result<BTreeMap<NodeId, Refusal>, String>> {
        let fit = Fit::new(state, pod).map_err(Err)?;
        let mut refusals = BTreeMap::new();
        let mut possible = Vec::new();
        let promised = pod.nominated.as_deref().and_then(|name| state.find(name));
        if let Some(id) = promised.filter(|id| fit.refusal(*id).is_none()) {
            possible.push(id);
        } else {
            let enough = enough(state.size());
            let count = state.nodes.len();
            for step in 0..count {
                let id = (self.next_node + step) % count;
                if !state.nodes[id].present {
                    continue;
                }
                match fit.refusal(id) {
                    None => possible.push(id),
                    Some(refusal) => drop(refusals.insert(id, refusal)),
                }
                if possible.len() >= enough {
                    self.next_node = (id + 1) % count;
                    break;
                }
            }
        }
        let Some(node) = score::best(state, pod, &possible) else { return Err(Ok(refusals)) };
        let supplies = state.storage.supplies(fit.needs(), &state.nodes[node]).unwrap_or_default();
        Ok(Decision::Place { node, supplies })
    }

    fn remembered(&self, state: &State, pod: &Pod) -> Option<(String, BTreeSet<Rule>)> {
        let (_, _, message, rules) = self
            .failures
            .iter()
            .find(|(known, version, ..)| *version == state.version() && known.is_like(pod))?;
        Some((message.clone(), rules.clone()))
    }

    fn remember(&mut self, state: &State, pod: &Arc<Pod>, message: &str, rules: &BTreeSet<Rule>) {
        self.failures.retain(|(_, version, ..)| *version == state.version());
        if self.failures.len() < FAILURES_KEPT && pod.nominated.is_none() {
            let failure = (Arc::clone(pod), state.version(), message.to_owned(), rules.clone());
            self.failures.push(failure);
        }
    }
}

fn refuse(message: String, rules: impl IntoIterator<Item = Rule>) -> Decision {
    let rules = rules.into_iter().collect();
    Decision::Refuse(Failure { message, rules, room: None, keeps_nomination: false })
}

/// How many possible nodes are enough to choose from, as Kubernetes has it: half of a small
/// cluster, down to a twentieth of a large one.
fn enough(nodes: usize) -> usize {
    let percent = 50_usize.saturating_sub(nodes / 125).max(5);
    (nodes * percent / 100).max(POSSIBLE_AT_LEAST).min(nodes)
}

#[cfg(test)]
mod tests {
    use super::enough;

    #[test]
    fn small_clusters_are_looked_at_whole_and_large_ones_in_part() {
        let nodes = [1, 99, 150, 500, 5000, 15000];
        assert_eq!(nodes.map(enough), [1, 99, 100, 230, 500, 750]);
    }
}
