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

/// A plan in lines:
///
/// ```text
/// claim <pool>: <pods> | <cheapest type> +<other types> | <what is left of the requirements>
/// node <name>: <pods>
/// unschedulable <pod>: <reasons>
/// deferred <pod>: <reasons>
/// pool <name>: <what was noticed>
/// ```
pub(crate) fn tell(snapshot: &Snapshot, planned: &Planned) -> String {
    tell_naming(snapshot, planned, NAMED_MAX)
}

/// As [`tell`], with the numbers of pods in place of their names and equal neighbours as one line.
pub(crate) fn tell_counts(snapshot: &Snapshot, planned: &Planned) -> String {
    let mut counted: Vec<(usize, &str)> = Vec::new();
    let told = tell_naming(snapshot, planned, 0);
    for line in told.lines() {
        match counted.last_mut() {
            Some((count, last)) if *last == line => *count += 1,
            _ => counted.push((1, line)),
        }
    }
    let lines: Vec<String> =
        counted.into_iter().map(|(count, line)| format!("{count} x {line}\n")).collect();
    lines.concat()
}

fn tell_naming(snapshot: &Snapshot, planned: &Planned, named_max: usize) -> String {
    let Planned { plan, report } = planned;
    let pods = |keys: &[String]| pods(keys, named_max);
    let told = |claim: &PlannedClaim| told(snapshot, claim, &pods(&claim.pods));
    let mut lines: Vec<String> = plan.claims.iter().map(told).collect();
    for existing in &plan.existing {
        lines.push(format!("node {}: {}", existing.name(), pods(&existing.pods)));
    }
    for (what, list) in [("unschedulable", &plan.unschedulable), ("deferred", &plan.deferred)] {
        let together = by_reasons(list).into_iter();
        lines.extend(together.map(|(ids, keys)| format!("{what} {}: {ids}", pods(&keys))));
    }
    for reason in &report.pools {
        let pool = reason.node_pool.as_deref().unwrap_or_default();
        lines.push(format!("pool {pool}: {}", reason.id.as_str()));
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

fn told(snapshot: &Snapshot, claim: &PlannedClaim, pods: &str) -> String {
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
    let mut line = format!("claim {}: {pods} | {types}", claim.node_pool);
    if !left.is_empty() {
        line += " | ";
        line += &left.join(" ");
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
    let told = match spec.operator {
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
    match spec.min_values {
        Some(min_values) => format!("{told}(min {min_values})"),
        None => told,
    }
}

fn pods(keys: &[String], named_max: usize) -> String {
    if keys.len() > named_max {
        return format!("{} pods", keys.len());
    }
    keys.iter().map(|key| short(key)).collect::<Vec<_>>().join(" ")
}

fn short(key: &str) -> &str {
    key.strip_prefix("default/").unwrap_or(key)
}

/// Ids of reasons, and the pods that have exactly these.
fn by_reasons(list: &[Unplaced]) -> Vec<(String, Vec<String>)> {
    let mut by_reasons: Vec<(String, Vec<String>)> = Vec::new();
    for unplaced in list {
        let ids: Vec<&str> = unplaced.reasons.iter().map(|reason| reason.id.as_str()).collect();
        let ids = ids.join(", ");
        match by_reasons.iter_mut().find(|(known, _)| *known == ids) {
            Some((_, pods)) => pods.push(unplaced.pod.clone()),
            None => by_reasons.push((ids, vec![unplaced.pod.clone()])),
        }
    }
    by_reasons
}

/// The pods without a place, each with everything there is to say about it.
pub(crate) fn reasons(plan: &Plan) -> String {
    let mut lines = Vec::new();
    for unplaced in plan.unschedulable.iter().chain(&plan.deferred) {
        let message = unplaced.reasons.first().map(|reason| &reason.message);
        assert_eq!(Some(&unplaced.message), message, "the message is that of the nearest miss");
        lines.push(short(&unplaced.pod).to_owned());
        for reason in &unplaced.reasons {
            let pool = reason.node_pool.as_deref().map(|pool| format!(" in {pool}"));
            lines.push(format!("  {}{}", reason.id.as_str(), pool.unwrap_or_default()));
            let facts = reason.params.iter().filter(|(name, _)| *name != "nodePool");
            lines.extend(facts.map(|(name, value)| format!("    {name}: {value}")));
            lines.push(format!("    {}", reason.message));
        }
    }
    lines.iter().flat_map(|line| [line.trim_end(), "\n"]).collect()
}
