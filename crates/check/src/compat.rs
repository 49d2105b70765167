//! Whether an instance fits a pod, whatever the instance may still become.
//!
//! A planner asks whether a pod and a claim have a common value. The finished plan must satisfy more: every value
//! that the claim allows is one that the pod accepts, because the instance may get any of them.

use joiner_core::{
    label::{self, WellKnown},
    requirement::{Operator, Requirement, Requirements},
    taint::{Effect, Taint, Toleration},
};

/// Whether every value that `inner` allows is one that `outer` allows.
pub(crate) fn is_within(inner: &Requirement, outer: &Requirement) -> bool {
    if is_empty(inner) {
        return excludes(outer);
    }
    if !inner.is_complement() {
        return inner.values().iter().all(|value| outer.has(value));
    }
    let (inner_low, inner_high) = inner.bounds();
    let (outer_low, outer_high) = outer.bounds();
    let bounded = inner_low.is_some() || inner_high.is_some();
    outer.is_complement()
        && outer_low.is_none_or(|low| inner_low.is_some_and(|inner| inner >= low))
        && outer_high.is_none_or(|high| inner_high.is_some_and(|inner| inner <= high))
        // Karpenter omits excluded values beside bounds, so their absence proves nothing.
        && (bounded || outer.values().is_subset(inner.values()))
}

/// Whether the label can have no value at all. Karpenter writes `Lt 0` as `Lte -1`, and accepts no negative label.
fn is_empty(requirement: &Requirement) -> bool {
    let nothing_listed = !requirement.is_complement() && requirement.values().is_empty();
    nothing_listed || requirement.bounds().1.is_some_and(|high| high < 0)
}

/// Whether the requirement accepts an instance without the label.
pub(crate) fn excludes(requirement: &Requirement) -> bool {
    is_empty(requirement)
        || matches!(requirement.operator(), Operator::NotIn | Operator::DoesNotExist)
}

/// The first key of `wanted` that a claim with the requirements `left` may violate, as text. The instance type is
/// checked separately.
pub(crate) fn shortfall(
    left: &Requirements,
    wanted: &Requirements,
    well_known: &WellKnown,
) -> Option<String> {
    wanted.iter().filter(|(key, _)| *key != label::INSTANCE_TYPE).find_map(|(key, requirement)| {
        match left.get(key) {
            Some(left) if is_within(left, requirement) => None,
            Some(left) => Some(format!("{key} {requirement} is wanted and {left} is left")),
            None if excludes(requirement) && !well_known.contains(key) => None,
            None => Some(format!("{key} {requirement} is wanted and nothing is said of it")),
        }
    })
}

/// The first taint that keeps pods with `tolerations` away for good. `PreferNoSchedule` does not, because
/// preferences are dropped if nothing else helps.
pub(crate) fn first_forbidding<'t>(
    taints: &'t [Taint],
    tolerations: &[Toleration],
) -> Option<&'t Taint> {
    taints
        .iter()
        .filter(|taint| taint.effect != Effect::PreferNoSchedule)
        .find(|taint| !tolerations.iter().any(|toleration| toleration.tolerates(taint)))
}
