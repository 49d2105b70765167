//! Whether a claim's labels, annotations and taints match its pool and its requirements.

use std::collections::BTreeSet;

use joiner_core::{
    label::{self, WellKnown},
    plan::PlannedClaim,
    requirement::{Operator, Requirement},
    taint::Taint,
};

use crate::{
    finding::{Findings, Rule},
    pools::template_labels,
    shape::{Shape, UNWRITTEN},
};

/// The version of the pool hash. Karpenter's value.
const HASH_VERSION: &str = "v3";

/// The annotation that names the drivers whose devices a claim's pods use.
const DRA_DRIVERS: &str = "karpenter.sh/requested-dra-drivers";

pub(crate) fn check(
    name: &str,
    claim: &PlannedClaim,
    shape: &Shape<'_>,
    well_known: &WellKnown,
    findings: &mut Findings,
) {
    check_labels(name, claim, shape, well_known, findings);
    check_annotations(name, claim, shape, findings);
    let pool = shape.pool.pool;
    for (kind, of_claim, of_pool) in [
        ("taints", &claim.taints, &pool.taints),
        ("startup taints", &claim.startup_taints, &pool.startup_taints),
    ] {
        let sorted = |taints: &[Taint]| taints.iter().cloned().collect::<BTreeSet<_>>();
        if sorted(of_claim) != sorted(of_pool) {
            findings.add(Rule::ClaimTaints, name, format!("its {kind} are not its pool's"));
        }
    }
}

/// Labels are the template's, and a value for every requirement on a label that no provider sets.
fn check_labels(
    name: &str,
    claim: &PlannedClaim,
    shape: &Shape<'_>,
    well_known: &WellKnown,
    findings: &mut Findings,
) {
    let template = template_labels(shape.pool.pool);
    let requirements = &shape.left.requirements;
    let mut add = |message: String| findings.add(Rule::ClaimLabels, name, message);
    for (key, value) in &template {
        if claim.labels.get(key) != Some(value) {
            add(format!("label {key} must be {value:?}, as in its pool"));
        }
    }
    let is_custom = |key: &str| !well_known.contains(key) && !UNWRITTEN.contains(&key);
    for (key, requirement) in requirements.iter().filter(|(key, _)| is_custom(key)) {
        let must_have_value = match requirement.operator() {
            Operator::In => requirement.values().iter().any(|value| !value.is_empty()),
            Operator::Exists => true,
            _ => false,
        };
        match claim.labels.get(key) {
            None if must_have_value => add(format!("label {key} is missing; {requirement}")),
            Some(value) if !may_be(requirement, value) => {
                add(format!("label {key} must not be {value:?}; {requirement}"));
            }
            _ => {}
        }
    }
    for key in claim.labels.keys() {
        let required = is_custom(key) && requirements.get(key).is_some();
        if !template.contains_key(key) && !required {
            add(format!("label {key} comes from nowhere"));
        }
    }
}

/// Karpenter draws a number for open requirements, and may draw an excluded value.
fn may_be(requirement: &Requirement, value: &str) -> bool {
    requirement.is_complement() || requirement.has(value)
}

fn check_annotations(name: &str, claim: &PlannedClaim, shape: &Shape<'_>, findings: &mut Findings) {
    let pool = shape.pool.pool;
    let mut expected = pool.annotations.clone();
    expected.insert(label::NODE_POOL_HASH.to_owned(), pool.hash.clone());
    expected.insert(label::NODE_POOL_HASH_VERSION.to_owned(), HASH_VERSION.to_owned());
    for (key, overlaid) in [
        (label::PRICE_OVERLAY_APPLIED, shape.listed().any(|(each, _)| each.of.price_overlaid)),
        (
            label::CAPACITY_OVERLAY_APPLIED,
            shape.listed().any(|(each, _)| each.of.capacity_overlaid),
        ),
    ] {
        if overlaid {
            expected.insert(key.to_owned(), "true".to_owned());
        }
    }
    for (key, value) in &expected {
        if claim.annotations.get(key) != Some(value) {
            let message = format!("annotation {key} must be {value:?}");
            findings.add(Rule::ClaimAnnotations, name, message);
        }
    }
    for key in claim.annotations.keys() {
        let optional = [label::MIN_VALUES_RELAXED, DRA_DRIVERS].contains(&key.as_str());
        if !optional && !expected.contains_key(key) {
            let message = format!("annotation {key} comes from nowhere");
            findings.add(Rule::ClaimAnnotations, name, message);
        }
    }
    let relaxed = claim.annotations.get(label::MIN_VALUES_RELAXED).map(String::as_str);
    let truth = if shape.lowered { "true" } else { "false" };
    if relaxed != Some(truth) {
        let said = matches!(relaxed, Some("true" | "false"));
        let rule = if said { Rule::MinValuesUnmarked } else { Rule::ClaimAnnotations };
        let message = format!("annotation {} must be {truth:?}", label::MIN_VALUES_RELAXED);
        findings.add(rule, name, message);
    }
}
