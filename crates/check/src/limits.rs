//! Limits of pools, and capacity of reservations.

use std::{collections::BTreeMap, rc::Rc};

use joiner_core::{
    quantity::Quantity,
    requirement::Requirement,
    resources::{NODES, Resources},
    snapshot::Node,
};

use crate::{
    facts::Facts,
    finding::{Findings, Rule},
    pools,
    shape::{self, Shape},
};

/// Checks the pools that get claims.
///
/// When a claim is opened, each of its types must fit into the remaining limits. Then the largest amount of each
/// resource is subtracted from them. Afterwards types are only removed. So in the result, the largest types of all
/// claims together are within the limits.
pub(crate) fn check_pools(
    facts: &Facts<'_>,
    shapes: &[Option<Rc<Shape<'_>>>],
    findings: &mut Findings,
) {
    let mut of_pool: BTreeMap<&str, Vec<&Shape<'_>>> = BTreeMap::new();
    for shape in shapes.iter().flatten() {
        of_pool.entry(&shape.pool.pool.name).or_default().push(shape);
    }
    for (name, shapes) in of_pool {
        let limits = &shapes[0].pool.pool.limits;
        if limits.is_empty() {
            continue;
        }
        let mine = |node: &&Node| !node.leaving && node.pool.as_deref() == Some(name);
        let (mut there, mut in_flight) = (Resources::new(), Resources::new());
        for node in facts.snapshot.nodes.iter().filter(mine) {
            let counted = if node.node.is_some() { &mut there } else { &mut in_flight };
            counted.add(&node.counted_capacity());
        }
        for (resource, limit) in limits.iter() {
            let (there, in_flight) = (there.get(resource), in_flight.get(resource));
            let new = if resource == NODES {
                Quantity::whole(shapes.len() as i64)
            } else {
                largest_together(&shapes, resource)
            };
            let Some(rule) = broken_limit(resource, limit, [there, in_flight, new]) else {
                continue;
            };
            let message = format!(
                "{resource} is limited to {limit}; its nodes have {there}, instances on their way \
                 {in_flight}, and its claims come to {new}"
            );
            findings.add(rule, format!("pool {name}"), message);
        }
    }
}

/// The rule that is broken if `there`, `in_flight` and `new` exceed `limit`.
fn broken_limit(resource: &str, limit: Quantity, used: [Quantity; 3]) -> Option<Rule> {
    let [there, in_flight, new] = used;
    if there + in_flight + new <= limit {
        None
    } else if resource == NODES {
        // Even a planner that does not count its own claims opens none if nothing is left.
        Some(if there < limit { Rule::LimitNodes } else { Rule::Limit })
    } else if there + new <= limit {
        Some(Rule::LimitInFlight)
    } else {
        Some(Rule::Limit)
    }
}

/// The sum of `resource` over the claims if each becomes the type with the most of it.
fn largest_together(shapes: &[&Shape<'_>], resource: &str) -> Quantity {
    // Claims of one shape are often adjacent, and a shape has hundreds of types.
    let mut known: BTreeMap<*const usize, Quantity> = BTreeMap::new();
    shapes.iter().fold(Quantity::ZERO, |sum, shape| {
        let largest = *known.entry(shape.types.as_ptr()).or_insert_with(|| {
            let capacities = shape.listed().map(|(each, _)| each.of.capacity.get(resource));
            capacities.max().unwrap_or_default()
        });
        sum + largest
    })
}

/// Checks that no reservation is promised to more claims than it has instances.
pub(crate) fn check_reservations(
    facts: &Facts<'_>,
    shapes: &[Option<Rc<Shape<'_>>>],
    findings: &mut Findings,
) {
    let catalog = &facts.snapshot.catalog;
    let Some(key) = catalog.reservation_id_label.as_deref() else { return };
    if !facts.settings.reserved_capacity {
        return;
    }
    let mut promised: BTreeMap<&str, u32> = BTreeMap::new();
    for (number, shape) in shapes.iter().enumerate() {
        let Some(shape) = shape else { continue };
        let left = &shape.left.requirements;
        if !shape::is_reserved(left, Some(key))
            || names_reservation_itself(facts, number, shape, key)
        {
            continue;
        }
        let ids = left.get(key).filter(|ids| !ids.is_complement()).map(Requirement::values);
        for id in ids.into_iter().flatten() {
            *promised.entry(id).or_default() += 1;
        }
    }
    let capacity = reservation_capacity(facts, key);
    for (id, claims) in promised {
        let instances = capacity.get(id).copied().unwrap_or_default();
        if claims > instances {
            let message = format!("{claims} claims may take it, and it has {instances} instances");
            findings.add(Rule::Reservation, format!("reservation {id}"), message);
        }
    }
}

/// Whether a claim names reservations only because its pool or pods do. If pods may use other capacity, such a
/// claim need not hold a reservation.
fn names_reservation_itself(
    facts: &Facts<'_>,
    number: usize,
    shape: &Shape<'_>,
    key: &str,
) -> bool {
    facts.settings.reserved_fallback
        && (shape.pool.template.get(key).is_some()
            || facts.placement.claims[number].iter().any(|&pod| {
                facts.spec(pod).alternatives().iter().any(|wanted| wanted.get(key).is_some())
            }))
}

/// The instances of each reservation: the smallest number in any of its offerings.
fn reservation_capacity<'a>(facts: &Facts<'a>, key: &str) -> BTreeMap<&'a str, u32> {
    let catalog = &facts.snapshot.catalog;
    let mut capacity = BTreeMap::new();
    for pool in facts.snapshot.pools.iter().filter(|pool| pools::is_usable(pool)) {
        for offering in catalog.types(&pool.name).iter().flat_map(|each| &each.offerings) {
            let id = offering.requirements.get(key).and_then(Requirement::single);
            if let (true, Some(id)) = (offering.is_reserved(), id) {
                let least = capacity.entry(id).or_insert(offering.reservation_capacity);
                *least = (*least).min(offering.reservation_capacity);
            }
        }
    }
    capacity
}

/// Checks that the pool of every claim is usable.
pub(crate) fn check_usable(
    facts: &Facts<'_>,
    shapes: &[Option<Rc<Shape<'_>>>],
    findings: &mut Findings,
) {
    for (number, shape) in shapes.iter().enumerate() {
        match shape {
            None => {
                let message = "the snapshot has no such pool";
                findings.add(Rule::PoolUnknown, facts.claim_name(number), message);
            }
            Some(shape) if !pools::is_usable(shape.pool.pool) => {
                let message = "its pool is not ready, is being deleted or has a fixed size";
                findings.add(Rule::PoolUnusable, facts.claim_name(number), message);
            }
            Some(_) => {}
        }
    }
}
