//! Was this ever violated? Questions to a [history](crate::history::History).
//!
//! A check knows nothing of the programs whose doing it looks at: it replays what was stored and
//! what was called, and says where a rule was broken.

mod budgets;
mod owners;
mod pools;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use jiff::Timestamp;
use joiner_apiserver::{Change, ChangeKind, Key, Object};
use serde_json::Value;

use crate::history::History;

pub use budgets::{deletions_within_budgets, evictions_within_budgets};
pub use owners::{orphans, owners_wait_for_dependents};
pub use pools::disruptions_within_budgets;

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
    violations.extend(disruptions_within_budgets(history));
    violations.extend(orphans(history));
    violations.extend(owners_wait_for_dependents(history));
    violations.sort_by_key(|violation| violation.at);
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
/// object counts for, and how many of that group there may be just then. Told is every object that
/// joins a group that is full.
pub fn at_most(
    history: &History,
    group: &str,
    plural: &str,
    rule: &'static str,
    group_of: impl Fn(&Value) -> Option<(String, usize)>,
) -> Vec<Violation> {
    let mut members: BTreeMap<String, BTreeSet<Key>> = BTreeMap::new();
    let mut groups: BTreeMap<Key, String> = BTreeMap::new();
    let mut violations = Vec::new();
    for change in history.changes_of(group, plural) {
        let key = change.object.key.clone();
        let now = match change.kind {
            ChangeKind::Deleted => None,
            _ => group_of(&change.object.value()),
        };
        let before = groups.remove(&key);
        if let Some(left) = &before
            && let Some(keys) = members.get_mut(left)
        {
            keys.remove(&key);
        }
        let Some((name, limit)) = now else { continue };
        let keys = members.entry(name.clone()).or_default();
        keys.insert(key.clone());
        if keys.len() > limit && before.as_ref() != Some(&name) {
            let what = format!(
                "{plural} {key} is number {} of {name}, which may have {limit}",
                keys.len()
            );
            violations.push(Violation { at: change.at, rule, what });
        }
        groups.insert(key, name);
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
