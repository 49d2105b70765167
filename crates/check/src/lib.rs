//! An independent checker of plans, and a lower bound on their price.
//!
//! [`check`] states what must be true of any plan and shares no logic with the planner: it looks
//! only at the snapshot and at the finished plan, and finds every rule that the plan is certain to
//! break. It is sound before it is complete. How pods were placed one after the other is not known
//! any more, so a rule about that order is turned into what must hold at the end whatever the order
//! was; and where Karpenter's rules have more than one reading, the one that forbids less counts.
//! Rules that Karpenter itself breaks in known cases are rules of their own
//! ([`Rule::broken_by_karpenter`]), so that plans of its scheduler can be judged too.

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
