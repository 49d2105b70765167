//! The cost of each pool's instances.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use joiner_api::node_claim::NodeClaim;
use joiner_cloud::InstanceTypes;
use joiner_core::{
    instance_type::InstanceType,
    label::{CAPACITY_TYPE, INSTANCE_TYPE, WellKnown, ZONE},
    requirement::{Requirement, Requirements},
};

use super::{Lines, Shown};
use crate::{
    claims::{self, label, uid},
    context::Context,
    text::first_of,
    world::Kept,
};

/// UIDs of claims with an unknown price. Each is reported and counted once.
pub(super) type Unpriced = BTreeSet<String>;

pub(super) fn work_out(context: &Context, shown: &Shown, unpriced: &mut Unpriced) {
    let corrected = context.corrected_types().unwrap_or_default().by_pool;
    let mut types = types_by_pool(context, shown);
    for (pool, types) in &mut types {
        if let Some(corrected) = corrected.get(*pool) {
            *types = Arc::clone(corrected);
        }
    }
    let mut costs: BTreeMap<&str, f64> = BTreeMap::new();
    let mut still = Unpriced::new();
    let mut new = Vec::new();
    for claim in &shown.claims {
        let Some(provider) = context.provider_of(claim) else { continue };
        let Some((pool, bought)) = claims::pool(claim).zip(bought_as(claim)) else { continue };
        let price = types.get(pool).and_then(|types| price(&bought, types, &provider.well_known()));
        let cost = costs.entry(pool).or_default();
        match price {
            Some(price) => *cost += price,
            None => {
                let identity = uid(&claim.metadata).to_owned();
                if !unpriced.contains(&identity) {
                    context.metrics.nodepools_cost_tracker_errors(pool).inc();
                    new.push(claim.key());
                }
                still.insert(identity);
            }
        }
    }
    *unpriced = still;
    if !new.is_empty() {
        tracing::error!(
            claims = new.len(),
            "the price of instances is not known, so that they count as nothing in the cost of their \
             pools: {}",
            first_of(&new)
        );
    }
    let mut lines = Lines::default();
    for (pool, cost) in costs {
        lines.add(pool, &[pool], cost);
    }
    lines.show(context.metrics.nodepools_cost());
}

/// The types of every pool, where they are known.
pub(super) fn types_by_pool<'s>(
    context: &Context,
    shown: &'s Shown,
) -> BTreeMap<&'s str, InstanceTypes> {
    let types = shown.pools.iter().filter_map(|pool| {
        let name = claims::name(&pool.metadata);
        let reference = pool.spec.template.spec.node_class_ref.as_ref();
        let provider = context.provider(reference)?;
        let class = shown.classes.iter().find(|class| claims::refers_to(reference, class))?;
        Some((name, provider.instance_types(name, class).ok()?))
    });
    types.collect()
}

/// How an instance was bought.
struct Bought<'c> {
    instance_type: &'c str,
    offering: Requirements,
}

fn bought_as(claim: &NodeClaim) -> Option<Bought<'_>> {
    let known = |key: &str| Some(label(claim, key)).filter(|value| !value.is_empty());
    let mut offering = Requirements::new();
    for key in [ZONE, CAPACITY_TYPE] {
        offering.add(key, Requirement::one_of([known(key)?]));
    }
    Some(Bought { instance_type: known(INSTANCE_TYPE)?, offering })
}

/// The hourly price of an instance, whether or not its offering is available now.
fn price(bought: &Bought<'_>, types: &[Arc<InstanceType>], well_known: &WellKnown) -> Option<f64> {
    let instance_type = types.iter().find(|known| known.name == bought.instance_type)?;
    let mut prices = instance_type
        .offerings
        .iter()
        .filter(|offering| offering.serves(&bought.offering, well_known))
        .map(|offering| offering.price);
    let first = prices.next()?;
    Some(prices.fold(first, f64::min))
}
