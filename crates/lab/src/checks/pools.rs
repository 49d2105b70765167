//! Disruptions of instances and the budgets of their pools that they must leave intact.
//!
//! Knows of Karpenter's objects what they say: a claim whose condition `DisruptionReason` is true was
//! chosen to go, and `spec.disruption.budgets` of its pool says how many may be away at once.

mod window;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Change, ChangeKind};
use serde_json::Value;

use self::window::is_open;
use super::Violation;
use crate::history::{Entry, History};

const RULE: &str = "disruptions respect budgets of pools";

/// How long a disruption controller may take to notice an instance that is not ready.
const SEEN_WITHIN: SignedDuration = SignedDuration::from_mins(1);
/// What a pool allows that says nothing.
const USUAL: &str = "10%";

/// No instance is chosen to go while as many instances of its pool are away as the pool's budgets allow
/// for that reason. Away is what was chosen to go, is being deleted, or is not ready.
pub fn disruptions_within_budgets(history: &History) -> Vec<Violation> {
    let mut world = World::default();
    let mut violations = Vec::new();
    for entry in history.entries().iter() {
        let Entry::Change(change) = entry else { continue };
        let Some(name) = world.apply(change) else { continue };
        violations.extend(world.objection(&name, change.at));
    }
    violations
}

/// Pools, claims and nodes as a replay has them, by name.
#[derive(Debug, Default)]
struct World {
    pools: BTreeMap<String, Value>,
    claims: BTreeMap<String, Claim>,
    nodes: BTreeMap<String, Node>,
}

#[derive(Debug)]
struct Claim {
    pool: String,
    node: String,
    deleting: bool,
    /// Its instance is being switched off: it counts for nothing any more.
    ending: bool,
    /// Why it was chosen to go.
    reason: Option<String>,
}

#[derive(Debug)]
struct Node {
    initialized: bool,
    deleting: bool,
    /// Since when it is not ready.
    unready_since: Option<Timestamp>,
}

impl World {
    /// Takes note of a change; answers with the claim that it chooses to go.
    fn apply(&mut self, change: &Change) -> Option<String> {
        let resource = &change.resource;
        let name = change.object.key.name.to_string();
        let is_gone = change.kind == ChangeKind::Deleted;
        if resource.is("karpenter.sh", "nodepools") {
            put(&mut self.pools, name, (!is_gone).then(|| change.object.value()));
        } else if resource.is("", "nodes") {
            let before = self.nodes.get(&name).and_then(|node| node.unready_since);
            let node = (!is_gone).then(|| node_of(change, before));
            put(&mut self.nodes, name, node);
        } else if resource.is("karpenter.sh", "nodeclaims") {
            let was_chosen = self.claims.get(&name).is_some_and(|claim| claim.reason.is_some());
            let claim = (!is_gone).then(|| claim_of(change));
            let is_chosen = claim.as_ref().is_some_and(|claim| claim.reason.is_some());
            put(&mut self.claims, name.clone(), claim);
            return (is_chosen && !was_chosen).then_some(name);
        }
        None
    }

    /// What budgets have against the choice of a claim that was made just now.
    fn objection(&self, name: &str, at: Timestamp) -> Option<Violation> {
        let chosen = &self.claims[name];
        let reason = chosen.reason.as_deref()?;
        // Without its pool, nothing says how many may go.
        let pool = self.pools.get(&chosen.pool)?;
        let (mut all, mut away) = (0, 0);
        for claim in self.claims.values().filter(|claim| claim.pool == chosen.pool) {
            let Some(node) = self.nodes.get(&claim.node) else { continue };
            if node.initialized && !claim.ending {
                all += 1;
                away += u64::from(is_away(claim, node, at));
            }
        }
        let allowed = allowed(pool, reason, all, at)?;
        (away > allowed).then(|| {
            let what = format!(
                "nodeclaim {name} was chosen to go ({reason}) as number {away} of {all} of pool {}, \
                 which allows {allowed}",
                chosen.pool
            );
            Violation { at, rule: RULE, what }
        })
    }
}

fn put<T>(all: &mut BTreeMap<String, T>, name: String, now: Option<T>) {
    match now {
        Some(now) => drop(all.insert(name, now)),
        None => drop(all.remove(&name)),
    }
}

fn is_away(claim: &Claim, node: &Node, at: Timestamp) -> bool {
    let long_unready =
        node.unready_since.is_some_and(|since| at.duration_since(since) > SEEN_WITHIN);
    claim.reason.is_some() || claim.deleting || node.deleting || long_unready
}

/// The least that the budgets in force for a reason allow of so many instances; nothing if none is.
fn allowed(pool: &Value, reason: &str, instances: u64, at: Timestamp) -> Option<u64> {
    let Some(budgets) = pool["spec"]["disruption"]["budgets"].as_array() else {
        return Some(share(USUAL, instances));
    };
    let is_about = |budget: &&Value| {
        let reasons = budget["reasons"].as_array().filter(|reasons| !reasons.is_empty());
        reasons.is_none_or(|reasons| reasons.iter().any(|own| own == reason))
    };
    let in_force = |budget: &&Value| match budget["schedule"].as_str() {
        Some(schedule) => is_open(schedule, budget["duration"].as_str().unwrap_or_default(), at),
        None => true,
    };
    let counts = budgets.iter().filter(is_about).filter(in_force);
    counts.map(|budget| share(budget["nodes"].as_str().unwrap_or(USUAL), instances)).min()
}

/// A number, or a percentage of so many instances with parts of an instance counted as a whole one.
/// What is neither allows nothing.
fn share(nodes: &str, instances: u64) -> u64 {
    match nodes.strip_suffix('%') {
        Some(percent) => {
            percent.parse().map_or(0, |percent: u64| (percent * instances).div_ceil(100))
        }
        None => nodes.parse().unwrap_or(0),
    }
}

fn claim_of(change: &Change) -> Claim {
    let value = change.object.value();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let holds = |type_: &str| true_condition(&value, type_).is_some();
    Claim {
        pool: text(&value["metadata"]["labels"]["karpenter.sh/nodepool"]),
        node: text(&value["status"]["nodeName"]),
        deleting: change.object.deleting,
        ending: holds("InstanceTerminating"),
        reason: true_condition(&value, "DisruptionReason").map(|it| text(&it["reason"])),
    }
}

/// A node, and since when it was not ready before.
fn node_of(change: &Change, unready_since: Option<Timestamp>) -> Node {
    let value = change.object.value();
    let is_ready = true_condition(&value, "Ready").is_some();
    Node {
        initialized: change.object.label("karpenter.sh/initialized") == Some("true"),
        deleting: change.object.deleting,
        unready_since: (!is_ready).then(|| unready_since.unwrap_or(change.at)),
    }
}

fn true_condition<'v>(object: &'v Value, type_: &str) -> Option<&'v Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == type_ && condition["status"] == "True")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_least_of_the_budgets_for_a_reason_counts() {
        let at: Timestamp = "2026-01-01T09:30:00Z".parse().unwrap();
        for (budgets, reason, allows) in [
            (json!(null), "Empty", Some(1)),
            (json!([]), "Empty", None),
            (json!([{"nodes": "3"}, {"nodes": "25%"}]), "Empty", Some(3)),
            (json!([{"nodes": "3"}, {"nodes": "21%"}]), "Empty", Some(3)),
            (json!([{"nodes": "3"}, {"nodes": "20%"}]), "Empty", Some(2)),
            (json!([{"nodes": "0", "reasons": ["Drifted"]}]), "Empty", None),
            (json!([{"nodes": "0", "reasons": ["Drifted"]}]), "Drifted", Some(0)),
            (json!([{"nodes": "5", "reasons": []}]), "Drifted", Some(5)),
            (json!([{"nodes": "some"}]), "Empty", Some(0)),
            (json!([{"nodes": "0", "schedule": "0 9 * * *", "duration": "1h"}]), "Empty", Some(0)),
            (json!([{"nodes": "0", "schedule": "0 9 * * *", "duration": "10m"}]), "Empty", None),
        ] {
            let pool = json!({"spec": {"disruption": {"budgets": budgets}}});
            assert_eq!(allowed(&pool, reason, 10, at), allows, "{budgets} for {reason}");
        }
    }
}
