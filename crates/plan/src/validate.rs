//! Validation of pods: requests that no instance can fulfil are refused before planning.

use joiner_core::{
    label::{self, WellKnown},
    pod::{Pod, PodSpec},
    reason::{Reason, ReasonId},
    requirement::{Operator, RequirementSpec, Requirements, validate},
};
use rustc_hash::FxHashMap;

use crate::solve::{contradiction, narrow};

/// The problems of specifications seen so far. Pods of one workload share their specification.
#[derive(Debug, Default)]
pub(crate) struct Validated(FxHashMap<*const PodSpec, Option<Vec<Reason>>>);

impl Validated {
    /// The reasons why a pod cannot be considered; `None` if it can.
    pub(crate) fn reasons(&mut self, pod: &Pod, well_known: &WellKnown) -> Option<Vec<Reason>> {
        self.0
            .entry(&raw const *pod.spec)
            .or_insert_with(|| {
                let reasons = problems(&pod.spec, well_known);
                (!reasons.is_empty()).then_some(reasons)
            })
            .clone()
    }
}

fn problems(spec: &PodSpec, well_known: &WellKnown) -> Vec<Reason> {
    if opted_out(spec) {
        let message = format!(
            "configured to not run on a provisioned node: it requires the label {:?} to be absent",
            label::NODE_POOL
        );
        return vec![Reason::new(ReasonId::PodOptedOut, message).with("key", label::NODE_POOL)];
    }
    let selected = spec.node_selector.iter().map(|(key, value)| {
        let spec = RequirementSpec::new(key, Operator::In, [value.as_str()]);
        ("spec.nodeSelector", spec)
    });
    let required = spec
        .node_affinity
        .iter()
        .flat_map(|term| &term.expressions)
        .map(|expression| ("spec.affinity.nodeAffinity", expression.clone()));
    let mut reasons: Vec<Reason> = selected
        .chain(required)
        .filter_map(|(field, spec)| {
            let problem = validate(&spec, well_known).err()?;
            let id = if problem.is_restricted() {
                ReasonId::PodSelectorRestricted
            } else {
                ReasonId::PodSelectorInvalid
            };
            Some(Reason::new(id, format!("{field}: {problem}")).with("key", &spec.key))
        })
        .collect();
    if reasons.is_empty() && !is_possible(spec) {
        reasons.push(contradiction());
    }
    if spec.node_affinity.iter().any(|term| term.has_fields) {
        let message = "spec.affinity.nodeAffinity: matchFields are not supported, an instance that \
                       does not exist yet has no name: select by label instead";
        reasons.push(Reason::new(ReasonId::PodSelectorInvalid, message));
    }
    reasons
}

/// Whether any alternative of the node affinity is satisfiable together with the node selector.
fn is_possible(spec: &PodSpec) -> bool {
    let mut terms = spec.node_affinity.iter();
    let selected = || Requirements::from_labels(&spec.node_selector);
    spec.node_affinity.is_empty() || terms.any(|term| narrow(&mut selected(), &term.expressions))
}

/// Whether the pod avoids the nodes of all pools, as Karpenter's own pods do.
fn opted_out(spec: &PodSpec) -> bool {
    let mut wanted = spec.strict_requirements(0);
    let preferred = spec.preferred_node_affinity.iter();
    // The first of the heaviest.
    if let Some(preferred) = preferred.min_by_key(|term| std::cmp::Reverse(term.weight)) {
        wanted.add_all(&Requirements::from_specs(&preferred.term.expressions));
    }
    wanted.get(label::NODE_POOL).is_some_and(|pool| pool.operator() == Operator::DoesNotExist)
}
