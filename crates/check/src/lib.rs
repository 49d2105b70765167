//! An independent checker of plans, and a lower bound on their price.
//!
//! [`check`] states the rules of every plan and shares no logic with the planner. It reads only the snapshot and
//! the finished plan, and finds every rule that the plan certainly breaks. Being sound is more important than being
//! complete. The order of placement is unknown, so a rule about it becomes a rule about the result that is valid in
//! every order. If Karpenter's rules have several interpretations, the weakest one counts. Rules that Karpenter
//! itself breaks in known cases are separate ([`Rule::broken_by_karpenter`]), so that its plans can be checked too.

mod amounts;
mod bound;
mod claims;
mod compat;
mod disruptions;
mod facts;
mod finding;
mod limits;
mod metadata;
mod nodes;
mod placement;
mod pools;
mod ports;
mod shape;
#[cfg(test)]
mod tests;
mod topology;

use std::{collections::BTreeSet, rc::Rc};

use joiner_core::{plan::Plan, settings::PlanSettings, snapshot::Snapshot};

pub use self::{
    bound::lower_bound,
    disruptions::check_disruptions,
    finding::{Finding, Rule},
};
use self::{
    facts::Facts,
    finding::Findings,
    shape::{Shape, Shapes},
    topology::LowestHost,
};

/// Finds every rule that `plan` breaks. A plan without findings is clean.
pub fn check(snapshot: &Snapshot, settings: &PlanSettings, plan: &Plan) -> Vec<Finding> {
    check_with(snapshot, settings, plan, LowestHost::Counted)
}

fn check_with(
    snapshot: &Snapshot,
    settings: &PlanSettings,
    plan: &Plan,
    lowest_host: LowestHost,
) -> Vec<Finding> {
    let mut findings = Findings::default();
    let facts = Facts::new(snapshot, settings, plan, &mut findings);
    placement::check(snapshot, settings, plan, &facts.placement, &mut findings);
    let names: BTreeSet<&str> = plan.claims.iter().map(|claim| &*claim.node_pool).collect();
    let pools = pools::by_name(snapshot, &names, &facts.specs.columns, settings.ignore_dra);
    let mut known = Shapes::new(snapshot, settings, &pools);
    let shapes: Vec<Option<Rc<Shape<'_>>>> =
        plan.claims.iter().map(|claim| known.of(claim)).collect();
    limits::check_usable(&facts, &shapes, &mut findings);
    for (number, shape) in shapes.iter().enumerate() {
        if let Some(shape) = shape {
            claims::check(&facts, number, shape, &mut findings);
        }
    }
    nodes::check(&facts, &mut findings);
    limits::check_pools(&facts, &shapes, &mut findings);
    limits::check_reservations(&facts, &shapes, &mut findings);
    topology::check(&facts, &shapes, lowest_host, &mut findings);
    findings.into_vec()
}

/// Panics with all findings unless `plan` is clean.
#[cfg(any(test, feature = "testing"))]
pub fn assert_clean(snapshot: &Snapshot, settings: &PlanSettings, plan: &Plan) {
    let findings = check(snapshot, settings, plan);
    let list: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(list.is_empty(), "the plan breaks {} rules:\n{}", list.len(), list.join("\n"));
}
