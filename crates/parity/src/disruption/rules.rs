//! What no move may do, read from the objects alone.

use std::collections::BTreeMap;

use anyhow::Result;
use joiner_core::{
    disruption::{Candidate, DisruptionReason, Method},
    label,
    plan::{Plan, Unplaced},
};
use serde_json::Value;

use super::{
    cluster::Cluster,
    facts::{annotation, holds, is_active, is_reschedulable, key, label, selects},
    history::Move,
};
use crate::{named, ours::prepare};

const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";

/// A schedule and a duration that hold at the time of every scenario.
pub(super) const IN_FORCE: (&str, &str) = ("@daily", "10m");
/// A schedule and a duration that do not.
pub(super) const NOT_IN_FORCE: (&str, &str) = ("0 12 * * *", "1h");

/// How many instances may come in the place of those that consolidation removes together.
const COME_MAX: usize = 2;

/// How many instances of each pool there are, and how many of them are down or on their way out.
#[derive(Debug)]
pub struct Ledger {
    pools: BTreeMap<String, (usize, usize)>,
}

impl Ledger {
    /// As a round begins.
    pub fn new(cluster: &Cluster) -> Self {
        let mut pools = BTreeMap::<String, (usize, usize)>::new();
        for node in cluster.scenario.of_kind("Node") {
            if label(node, label::INITIALIZED) == "true" {
                let (all, consuming) =
                    pools.entry(label(node, label::NODE_POOL).to_owned()).or_default();
                *all += 1;
                *consuming += usize::from(!holds(node, "Ready"));
            }
        }
        Self { pools }
    }

    /// Takes an instance from the pool's budgets, unless they allow no more.
    fn take(&mut self, pool: &Value, name: &str, reason: DisruptionReason) -> bool {
        let Some((all, consuming)) = self.pools.get_mut(name) else { return false };
        let budgets = pool["spec"]["disruption"]["budgets"].as_array();
        let applying = budgets.into_iter().flatten().filter(|budget| applies(budget, reason));
        let allowed = applying.map(|budget| nodes_of(budget, *all)).min().unwrap_or(usize::MAX);
        *consuming += 1;
        *consuming <= allowed
    }
}

fn applies(budget: &Value, reason: DisruptionReason) -> bool {
    let reasons = budget["reasons"].as_array();
    let meant = reasons.is_none_or(|reasons| reasons.iter().any(|it| it == reason.as_str()));
    meant && budget["schedule"] != NOT_IN_FORCE.0
}

fn nodes_of(budget: &Value, all: usize) -> usize {
    let text = budget["nodes"].as_str().unwrap_or_default();
    match text.strip_suffix('%') {
        Some(percent) => (all * percent.parse().unwrap_or(0)).div_ceil(100),
        None => text.parse().unwrap_or(0),
    }
}

/// The rules that a move breaks by what goes, in a cluster in which it has not happened yet.
pub fn broken(cluster: &Cluster, step: &Move, ledger: &mut Ledger) -> Vec<String> {
    let mut findings = Vec::new();
    if step.candidates.is_empty() {
        findings.push("no instance goes".to_owned());
    }
    for candidate in &step.candidates {
        let why = wrong_with(cluster, step, candidate, ledger);
        findings.extend(why.into_iter().map(|why| format!("{}: {why}", candidate.node)));
    }
    if matches!(step.method, Method::MultiNode | Method::SingleNode) {
        findings.extend(does_not_pay(cluster, step));
    }
    let receivers = step
        .destinations
        .iter()
        .filter(|to| step.candidates.iter().any(|from| from.node == to.node));
    findings.extend(receivers.map(|to| format!("{} goes and receives pods", to.node)));
    findings
}

fn wrong_with(
    cluster: &Cluster,
    step: &Move,
    candidate: &Candidate,
    ledger: &mut Ledger,
) -> Vec<String> {
    let (Some(node), Some(claim)) =
        (cluster.find("Node", &candidate.node), cluster.find("NodeClaim", &candidate.node_claim))
    else {
        return vec!["there is no such instance".to_owned()];
    };
    let name = label(node, label::NODE_POOL);
    let Some(pool) = cluster.find("NodePool", name) else {
        return vec![format!("its NodePool {name} is gone")];
    };
    let mut findings = Vec::new();
    if label(node, label::INITIALIZED) != "true" {
        findings.push("it is not initialized".to_owned());
    }
    if annotation(node, DO_NOT_DISRUPT) == Some("true") {
        findings.push("its annotation forbids it".to_owned());
    }
    if !ledger.take(pool, name, step.method.budget()) {
        findings.push(format!("the budgets of NodePool {name} do not allow it"));
    }
    let by_force = step.method.budget() == DisruptionReason::Drifted
        && !claim["spec"]["terminationGracePeriod"].is_null();
    let pods: Vec<&Value> = cluster.pods_on(&candidate.node).filter(|pod| is_active(pod)).collect();
    if !by_force {
        findings.extend(pods.iter().filter_map(|pod| kept(cluster, pod)));
    }
    if step.method != Method::Emptiness {
        let free = pods.iter().filter(|pod| is_reschedulable(pod) && kept(cluster, pod).is_none());
        let homeless = free.map(|pod| key(pod)).filter(|pod| !step.places(pod));
        findings.extend(homeless.map(|pod| format!("pod {pod} is left without a place")));
    }
    findings.extend(wrong_method(step.method, pool, claim, &pods));
    findings
}

/// What keeps a pod where it is.
fn kept(cluster: &Cluster, pod: &Value) -> Option<String> {
    if annotation(pod, DO_NOT_DISRUPT) == Some("true") {
        return Some(format!("the annotation of pod {} forbids it", key(pod)));
    }
    let namespace = &pod["metadata"]["namespace"];
    let budgets: Vec<&Value> = cluster
        .scenario
        .of_kind("PodDisruptionBudget")
        .filter(|budget| budget["metadata"]["namespace"] == *namespace)
        .filter(|budget| selects(&budget["spec"]["selector"], pod))
        .collect();
    match budgets.as_slice() {
        [] => None,
        [one] if one["status"]["disruptionsAllowed"].as_u64().unwrap_or(0) > 0 => None,
        [one] => Some(format!("PodDisruptionBudget {} keeps pod {}", key(one), key(pod))),
        _ => Some(format!("pod {} has several budgets", key(pod))),
    }
}

/// Whether the method is one for such an instance.
fn wrong_method(method: Method, pool: &Value, claim: &Value, pods: &[&Value]) -> Option<String> {
    let disruption = &pool["spec"]["disruption"];
    if matches!(method, Method::Drift | Method::StaticDrift) {
        return (!holds(claim, "Drifted")).then(|| "it has not drifted".to_owned());
    }
    if disruption["consolidateAfter"] == "Never" {
        return Some("its pool is never consolidated".to_owned());
    }
    if !holds(claim, "Consolidatable") {
        return Some("it is not consolidatable".to_owned());
    }
    let empty_only =
        method == Method::Emptiness || disruption["consolidationPolicy"] == "WhenEmpty";
    let is_empty = !pods.iter().any(|pod| is_reschedulable(pod) && eviction_cost(pod) > 0.0);
    (empty_only && !is_empty).then(|| "it is not empty".to_owned())
}

/// What moving a pod costs: 1, more for what is important, less for what says so.
fn eviction_cost(pod: &Value) -> f64 {
    let stated = annotation(pod, "controller.kubernetes.io/pod-deletion-cost");
    let stated = stated.and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    let priority = pod["spec"]["priority"].as_f64().unwrap_or(0.0);
    1.0 + stated / 27_f64.exp2() + priority / 25_f64.exp2()
}

/// Consolidation replaces instances by one or two that are cheaper than all of them together, or by none.
fn does_not_pay(cluster: &Cluster, step: &Move) -> Option<String> {
    let coming = step.replacements.len();
    if coming == 0 {
        return None;
    }
    if coming > COME_MAX {
        return Some(format!("{coming} instances come"));
    }
    let claims = step.candidates.iter().filter_map(|it| cluster.find("NodeClaim", &it.node_claim));
    let saved: f64 = claims.map(|claim| cluster.price(claim)).sum();
    let prices = step.replacements.iter().map(|claim| cluster.launch_price(claim));
    match prices.sum::<Option<f64>>() {
        Some(price) if price < saved => None,
        Some(price) => {
            Some(format!("instances for {saved:.4} are replaced by {coming} for {price:.4}"))
        }
        None => Some("the replacement cannot be had".to_owned()),
    }
}

/// The rules that a move breaks by where its pods go, in a cluster from which its instances have
/// gone: what the checker says of a plan for the pods that are left without a place.
pub fn broken_by_placement(cluster: &Cluster, step: &Move) -> Result<Vec<String>> {
    let question = prepare(&cluster.scenario)?;
    let mut plan = Plan {
        claims: step.replacements.clone(),
        existing: step.destinations.clone(),
        ..Plan::default()
    };
    let unplaced = |pod: String| Unplaced { pod, message: String::new(), reasons: Vec::new() };
    let waiting = question.waiting().filter(|pod| !step.places(pod));
    plan.unschedulable = waiting.map(unplaced).collect();
    let findings = question.check(plan)?.findings;
    // Karpenter's simulations break the rules that its plans are known to break.
    let unknown = findings.into_iter().filter(|finding| named::of_rule(finding.rule).is_none());
    Ok(unknown.map(|finding| finding.to_string()).collect())
}

#[cfg(test)]
mod tests;
