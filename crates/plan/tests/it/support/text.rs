//! Plans as text.

use std::collections::BTreeSet;

use joiner_core::{
    label,
    plan::{Plan, PlannedClaim, Unplaced},
    requirement::{Operator, RequirementSpec},
    snapshot::Snapshot,
};
use joiner_plan::Planned;

/// From this many pods on, a line gives their number rather than their names.
const NAMED_MAX: usize = 6;

/// A plan in lines, equal neighbours as one:
///
/// ```text
/// claim <pool>: <pods> | <cheapest type> +<other types> | <what is left of the requirements>
/// node <name>: <pods>
/// unschedulable <pod>: <reasons>
/// deferred <pod>: <reasons>
/// pool <name>: <what was noticed>
/// ```
pub(crate) fn tell(snapshot: &Snapshot, planned: &Planned) -> String {
    let Planned { plan, report } = planned;
    let mut lines: Vec<String> = plan.claims.iter().map(|claim| told(snapshot, claim)).collect();
    for existing in &plan.existing {
        let name = if existing.node.is_empty() { &existing.node_claim } else { &existing.node };
        lines.push(format!("node {name}: {}", pods(&existing.pods)));
    }
    lines.extend(unplaced("unschedulable", &plan.unschedulable));
    lines.extend(unplaced("deferred", &plan.deferred));
    for reason in &report.pools {
        let pool = reason.node_pool.as_deref().unwrap_or_default();
        lines.push(format!("pool {pool}: {}", reason.id.as_str()));
    }
    in_one(lines)
}

/// Equal neighbours as one line, with their number.
fn in_one(lines: Vec<String>) -> String {
    let mut counted: Vec<(usize, String)> = Vec::new();
    for line in lines {
        match counted.last_mut() {
            Some((count, last)) if *last == line => *count += 1,
            _ => counted.push((1, line)),
        }
    }
    counted
        .into_iter()
        .map(|(count, line)| if count == 1 { line + "\n" } else { format!("{count} x {line}\n") })
        .collect()
}

fn told(snapshot: &Snapshot, claim: &PlannedClaim) -> String {
    let types = match &*claim.instance_types {
        [] => "no types".to_owned(),
        [only] => only.clone(),
        [cheapest, others @ ..] => format!("{cheapest} +{}", others.len()),
    };
    let left: Vec<String> = claim
        .requirements
        .iter()
        .filter(|spec| says_something(snapshot, claim, spec))
        .map(requirement)
        .collect();
    let mut line = format!("claim {}: {} | {types}", claim.node_pool, pods(&claim.pods));
    if !left.is_empty() {
        line += &format!(" | {}", left.join(" "));
    }
    line
}

/// Whether a requirement is more than what every claim of the pool has: the names of its pool and
/// class, its types, and every capacity type that the pool can have.
fn says_something(snapshot: &Snapshot, claim: &PlannedClaim, spec: &RequirementSpec) -> bool {
    if spec.min_values.is_some() {
        return true;
    }
    match spec.key.as_str() {
        label::NODE_POOL | label::INSTANCE_TYPE => false,
        label::CAPACITY_TYPE => {
            let types = snapshot.catalog.types(&claim.node_pool).iter();
            let offered: BTreeSet<&str> = types
                .flat_map(|instance_type| &instance_type.offerings)
                .filter(|offering| offering.available)
                .filter_map(|offering| offering.requirements.get(label::CAPACITY_TYPE)?.single())
                .collect();
            !offered.into_iter().eq(spec.values.iter().map(String::as_str))
        }
        key => !key.ends_with("/testnodeclass"),
    }
}

fn requirement(spec: &RequirementSpec) -> String {
    let key = spec.key.rsplit('/').next().unwrap_or_default();
    let values = spec.values.join(",");
    let mut told = match spec.operator {
        Operator::In if spec.key == label::INSTANCE_TYPE => key.to_owned(),
        Operator::In => format!("{key}={values}"),
        Operator::NotIn => format!("{key}!={values}"),
        Operator::Exists => format!("{key}=*"),
        Operator::DoesNotExist => format!("!{key}"),
        Operator::Gt => format!("{key}>{values}"),
        Operator::Lt => format!("{key}<{values}"),
        Operator::Gte => format!("{key}>={values}"),
        Operator::Lte => format!("{key}<={values}"),
    };
    if let Some(min_values) = spec.min_values {
        told += &format!("(min {min_values})");
    }
    told
}

fn pods(keys: &[String]) -> String {
    if keys.len() > NAMED_MAX {
        return format!("{} pods", keys.len());
    }
    keys.iter().map(|key| short(key)).collect::<Vec<_>>().join(" ")
}

fn short(key: &str) -> &str {
    key.strip_prefix("default/").unwrap_or(key)
}

fn unplaced(what: &str, list: &[Unplaced]) -> Vec<String> {
    let mut by_reasons: Vec<(String, Vec<String>)> = Vec::new();
    for unplaced in list {
        let ids: Vec<&str> = unplaced.reasons.iter().map(|reason| reason.id.as_str()).collect();
        let ids = ids.join(", ");
        match by_reasons.iter_mut().find(|(known, _)| *known == ids) {
            Some((_, pods)) => pods.push(unplaced.pod.clone()),
            None => by_reasons.push((ids, vec![unplaced.pod.clone()])),
        }
    }
    let line = |(ids, keys): (String, Vec<String>)| format!("{what} {}: {ids}", pods(&keys));
    by_reasons.into_iter().map(line).collect()
}

/// The pods without a place, each with everything there is to say about it.
pub(crate) fn reasons(plan: &Plan) -> String {
    let mut text = String::new();
    for unplaced in plan.unschedulable.iter().chain(&plan.deferred) {
        let message = unplaced.reasons.first().map(|reason| &reason.message);
        assert_eq!(Some(&unplaced.message), message, "the message is that of the nearest miss");
        text += &format!("{}\n", short(&unplaced.pod));
        for reason in &unplaced.reasons {
            let pool = reason.node_pool.as_deref().map(|pool| format!(" in {pool}"));
            text += &format!("  {}{}\n", reason.id.as_str(), pool.unwrap_or_default());
            for (name, value) in reason.params.iter().filter(|(name, _)| *name != "nodePool") {
                text += &format!("    {name}: {value}\n");
            }
            text += &format!("    {}\n", reason.message);
        }
    }
    text
}
