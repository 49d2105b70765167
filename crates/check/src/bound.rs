//! A lower bound on the price of instances for these pods.
//!
//! Let every instance charge its price to its pods. A pod that requests a tenth of the CPU may be charged up to a
//! tenth of the price. Then all pods together are never charged more than the price. So a pod costs at least its
//! share of the cheapest instance for it, and the sum over all pods is a bound.
//!
//! The same is true for memory, for every other resource, and for limited places: an instance takes only one of
//! several pods that must be on different hosts. It is also true for every mixture of these ways to charge. The
//! best mixture that is found quickly is used ([`mixture`]).

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

/// The share by which the bound is lowered, so that rounding never puts it above the price of an optimal plan. It
/// is far above the rounding error of these sums.
const ROUNDING: f64 = 1e-9;

/// A lower bound on the price of new instances for the pods that `plan` puts on claims.
///
/// It is valid for every clean plan that puts these pods on claims. So the ratio of price to bound limits how much
/// cheaper a plan could be.
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
    // An empty sum of floats is -0.0, and would be printed with its sign.
    let bound = components.iter().fold(0.0, |sum, component| sum + component.bound());
    bound * (1.0 - ROUNDING)
}
