//! A price below which no plan can have instances for these pods.
//!
//! Let every instance share its price out among its pods. If a pod asks for a tenth of the CPU, it
//! may be charged up to a tenth of the price, and all pods together are never charged more than
//! the price. So a pod costs at least its share of the cheapest-for-it instance that it fits on, and
//! the sum over all pods is a bound. The same holds for memory, for each other resource, and for
//! things of which an instance has only so many places: of pods that must be on different hosts it
//! takes one. And it holds for every mixture of these ways to charge, so the best mixture that can
//! be found quickly is taken ([`mixture`]).

mod demand;
mod mixture;
mod supply;

use joiner_core::{plan::Plan, pod::PodSpec, snapshot::Snapshot};

use self::{demand::Demands, supply::Supplies};
use crate::{
    facts::{Interned, Specs},
    finding::Findings,
    placement,
};

/// The bound is lowered by this share, so that rounding never lifts it above the price of a plan
/// that meets it exactly.
const ROUNDING: f64 = 1e-9;

/// A lower bound on the price of new instances for the pods that `plan` puts on claims.
///
/// It holds for any clean plan that puts these pods on claims, so the ratio of the price to it says
/// how much cheaper a plan could be at best.
pub fn lower_bound(snapshot: &Snapshot, plan: &Plan) -> f64 {
    let placement = placement::resolve(snapshot, plan, &mut Findings::default());
    let pods: Vec<usize> = placement.claims.into_iter().flatten().collect();
    let mut interned: Interned<'_, PodSpec> = Interned::default();
    let spec_of: Vec<usize> =
        pods.iter().map(|&pod| interned.number(&snapshot.pods[pod].spec)).collect();
    let specs = Specs::of(&interned, snapshot);
    let Some(supplies) = Supplies::new(snapshot, &specs.columns) else { return 0.0 };
    let demands = Demands::new(snapshot, &specs, &pods, &spec_of, &supplies);
    let components = demands.components(supplies.len());
    // An empty sum of floats is -0.0, which would be printed as such.
    let bound = components.iter().fold(0.0, |sum, component| sum + component.bound());
    bound * (1.0 - ROUNDING)
}
