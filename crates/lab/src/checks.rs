//! Was this ever violated? Questions to a [history](crate::history::History).
//!
//! A check knows nothing of the programs whose doing it looks at: it replays what was stored and
//! what was called, and says where a rule was broken.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use jiff::Timestamp;
use joiner_apiserver::{Call, Change, ChangeKind, Key, Object};
use joiner_core::label::Labels;
use serde_json::Value;

use crate::{
    cluster::selection::selector,
    history::{Entry, History},
};

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When.
    pub at: Timestamp,
    /// Which rule, as a word.
    pub rule: &'static str,
    /// What happened, with the objects at fault.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.at, self.rule, self.what)
    }
}

/// All checks that hold in every cluster.
pub fn all(history: &History) -> Vec<Violation> {
    let mut violations = evictions_within_budgets(history);
    violations.extend(unique(history, "", "nodes", "one node per provider id", |node| {
        node["spec"]["providerID"].as_str().filter(|id| !id.is_empty()).map(str::to_owned)
    }));
    violations.extend(bound_once(history));
    violations.extend(orphans(history));
    violations.sort_by_key(|violation| violation.at);
    violations
}

/// No eviction succeeds that leaves fewer healthy pods than a budget wants.
pub fn evictions_within_budgets(history: &History) -> Vec<Violation> {
    let mut world = Pods::default();
    let mut violations = Vec::new();
    // The changes that a call makes stand before it, so the state before an eviction is the one
    // before the first change that carries the eviction's mark.
    let mut before_eviction: BTreeMap<Key, Vec<Violation>> = BTreeMap::new();
    for entry in history.entries().iter() {
        match entry {
            Entry::Change(change) => {
                if let Some(pod) = evicted_by(change) {
                    before_eviction.insert(pod, world.broken_by_loss_of(change));
                }
                world.apply(change);
            }
            Entry::Call(call) if is_eviction(call) => {
                violations.extend(before_eviction.remove(&call.key).unwrap_or_default());
            }
            _ => {}
        }
    }
    violations
}

/// No two objects of a resource have the same identity at the same time.
pub fn unique(
    history: &History,
    group: &str,
    plural: &str,
    rule: &'static str,
    identity: impl Fn(&Value) -> Option<String>,
) -> Vec<Violation> {
    let mut owners: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut identities: BTreeMap<Key, String> = BTreeMap::new();
    let mut violations = Vec::new();
    for change in history.changes_of(group, plural) {
        let key = change.object.key.clone();
        let now = match change.kind {
            ChangeKind::Deleted => None,
            _ => identity(&change.object.value()),
        };
        if identities.get(&key) == now.as_ref() {
            continue;
        }
        if let Some(earlier) = identities.remove(&key)
            && let Some(holders) = owners.get_mut(&earlier)
        {
            holders.remove(&key.to_string());
        }
        if let Some(identity) = now {
            let holders = owners.entry(identity.clone()).or_default();
            holders.insert(key.to_string());
            if holders.len() > 1 {
                let names: Vec<&str> = holders.iter().map(String::as_str).collect();
                let what = format!("{plural} {} all have {identity:?}", names.join(", "));
                violations.push(Violation { at: change.at, rule, what });
            }
            identities.insert(key, identity);
        }
    }
    violations
}

/// Never more objects of a group than its limit at the same time. `group_of` says which group an
/// object counts for, and how many of that group there may be just then.
pub fn at_most(
    history: &History,
    group: &str,
    plural: &str,
    rule: &'static str,
    group_of: impl Fn(&Value) -> Option<(String, usize)>,
) -> Vec<Violation> {
    let mut members: BTreeMap<String, BTreeSet<Key>> = BTreeMap::new();
    let mut violations = Vec::new();
    for change in history.changes_of(group, plural) {
        let key = change.object.key.clone();
        for keys in members.values_mut() {
            keys.remove(&key);
        }
        if change.kind == ChangeKind::Deleted {
            continue;
        }
        if let Some((name, limit)) = group_of(&change.object.value()) {
            let keys = members.entry(name.clone()).or_default();
            keys.insert(key);
            if keys.len() > limit {
                let what = format!("{} {plural} of {name}, at most {limit} allowed", keys.len());
                violations.push(Violation { at: change.at, rule, what });
            }
        }
    }
    violations
}

/// A pod never moves from one node to another.
fn bound_once(history: &History) -> Vec<Violation> {
    let node = |object: &Object| object.field("spec.nodeName").to_owned();
    let moved = |change: &Change| {
        let before = node(change.previous.as_deref()?);
        let after = node(&change.object);
        (change.kind == ChangeKind::Modified && !before.is_empty() && before != after).then(|| {
            let what = format!("pod {} moved from {before} to {after}", change.object.key);
            Violation { at: change.at, rule: "a pod is bound once", what }
        })
    };
    history.changes_of("", "pods").iter().filter_map(moved).collect()
}

/// At the end nothing is left whose owners are all gone, unless it is on its way out. Objects that
/// are younger than the garbage collector's patience are let be.
pub fn orphans(history: &History) -> Vec<Violation> {
    const PATIENCE_SECONDS: i64 = 60;
    let mut alive: BTreeMap<(String, Key), (Change, Timestamp)> = BTreeMap::new();
    let mut gone: BTreeMap<String, Timestamp> = BTreeMap::new();
    let mut end = Timestamp::MIN;
    for entry in history.entries().iter() {
        let Entry::Change(change) = entry else { continue };
        end = end.max(change.at);
        let id = (change.resource.to_string(), change.object.key.clone());
        if change.kind == ChangeKind::Deleted {
            gone.insert(change.object.uid.to_string(), change.at);
            alive.remove(&id);
        } else {
            alive.insert(id, (change.clone(), change.at));
        }
    }
    let mut violations = Vec::new();
    for ((resource, key), (change, _)) in alive {
        let object = &change.object;
        if object.owners.is_empty() || object.deleting {
            continue;
        }
        let last =
            object.owners.iter().map(|uid| gone.get(&**uid).copied()).collect::<Option<Vec<_>>>();
        let Some(last) = last.and_then(|times| times.into_iter().max()) else { continue };
        if end.duration_since(last).as_secs() > PATIENCE_SECONDS {
            let what = format!("{resource} {key} outlived its owners");
            violations.push(Violation { at: last, rule: "nothing outlives its owners", what });
        }
    }
    violations
}

fn is_eviction(call: &Call) -> bool {
    call.verb == "create" && call.subresource.as_deref() == Some("eviction") && call.code == 201
}

/// The pod that a change marks as evicted through the API.
fn evicted_by(change: &Change) -> Option<Key> {
    if !change.resource.is("", "pods") || change.kind != ChangeKind::Modified {
        return None;
    }
    let marked = |object: &Object| {
        let value = object.value();
        let conditions = value["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|c| c["reason"] == "EvictionByEvictionAPI")
    };
    let before = change.previous.as_deref().is_some_and(marked);
    (!before && marked(&change.object)).then(|| change.object.key.clone())
}

/// Pods and budgets as a replay has them.
#[derive(Debug, Default)]
struct Pods {
    pods: BTreeMap<Key, Pod>,
    budgets: BTreeMap<Key, Value>,
}

#[derive(Debug)]
struct Pod {
    labels: Labels,
    healthy: bool,
}

impl Pods {
    fn apply(&mut self, change: &Change) {
        let key = change.object.key.clone();
        let deleted = change.kind == ChangeKind::Deleted;
        if change.resource.is("", "pods") {
            if deleted {
                self.pods.remove(&key);
            } else {
                self.pods.insert(key, pod_of(&change.object));
            }
        } else if change.resource.is("policy", "poddisruptionbudgets") {
            if deleted {
                self.budgets.remove(&key);
            } else {
                self.budgets.insert(key, change.object.value());
            }
        }
    }

    /// The budgets that the loss of a pod breaks.
    fn broken_by_loss_of(&self, change: &Change) -> Vec<Violation> {
        let key = &change.object.key;
        let Some(pod) = self.pods.get(key).filter(|pod| pod.healthy) else { return Vec::new() };
        let mut violations = Vec::new();
        for (name, budget) in &self.budgets {
            let selector = selector(&budget["spec"]["selector"]);
            if name.namespace != key.namespace || !selector.matches(&pod.labels) {
                continue;
            }
            let of_budget = self.pods.iter().filter(|(pod, state)| {
                pod.namespace == name.namespace && selector.matches(&state.labels)
            });
            let healthy = of_budget.filter(|(_, state)| state.healthy).count() as i64;
            let desired = budget["status"]["desiredHealthy"].as_i64().unwrap_or(0);
            if healthy - 1 < desired {
                let what = format!(
                    "pod {key} evicted although budget {name} wants {desired} healthy pods and \
                     there were {healthy}"
                );
                let rule = "evictions respect budgets";
                violations.push(Violation { at: change.at, rule, what });
            }
        }
        violations
    }
}

fn pod_of(object: &Object) -> Pod {
    let value = object.value();
    let conditions = value["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let ready = conditions.iter().any(|c| c["type"] == "Ready" && c["status"] == "True");
    let labels = object.labels.iter().map(|(key, value)| (key.to_string(), value.to_string()));
    Pod { labels: labels.collect(), healthy: ready && !object.deleting }
}
