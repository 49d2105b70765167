//! Which instance to make for an order.

use std::sync::Arc;

use joiner_core::{
    evenness::{self, Standing},
    instance_type::{InstanceType, Offering},
    label::{self, Labels, WellKnown},
    requirement::{Requirement, Requirements},
    resources::{CPU, MEMORY},
};

use crate::order::Order;

/// An instance type and one of its offerings.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'t> {
    /// The type.
    pub instance_type: &'t Arc<InstanceType>,
    /// The offering.
    pub offering: &'t Offering,
    /// The price of an hour, with the corrections that the planner used.
    pub price: f64,
}

impl Choice<'_> {
    /// The labels that the choice decides.
    pub fn labels(&self) -> Labels {
        let mut labels = self.instance_type.requirements.single_values();
        labels.extend(self.offering.requirements.single_values());
        labels.insert(label::INSTANCE_TYPE.to_owned(), self.instance_type.name.clone());
        labels
    }
}

impl<'t> Choice<'t> {
    /// The zone; empty for a place without one.
    pub fn zone(&self) -> &'t str {
        let offering: &'t Offering = self.offering;
        offering.requirements.get(label::ZONE).and_then(Requirement::single).unwrap_or_default()
    }
}

/// Sorts choices into the order in which they are tried: by price, then by size, then by zone. `room`
/// is the free room of the choice's place, where it is known; `instances` says how many instances of
/// the pool are in a zone.
pub fn in_order<'t>(
    choices: &mut [Choice<'t>],
    room: impl Fn(&Choice<'t>) -> Option<i64>,
    instances: impl Fn(&str) -> usize,
) {
    let size = |choice: &Choice<'t>| {
        let capacity = &choice.instance_type.capacity;
        (capacity.get(CPU), capacity.get(MEMORY))
    };
    let terms = |a: &Choice<'t>, b: &Choice<'t>| {
        a.price.total_cmp(&b.price).then_with(|| size(a).cmp(&size(b)))
    };
    choices
        .sort_by(|a, b| terms(a, b).then_with(|| a.instance_type.name.cmp(&b.instance_type.name)));
    for equals in choices.chunk_by_mut(|a, b| terms(a, b).is_eq()) {
        evenness::in_order(equals, |choice| {
            let zone = choice.zone();
            Standing { zone, room: room(choice), instances: instances(zone) }
        });
    }
}

/// The cheapest available way to make an instance that serves the order; among equals the type that
/// comes first, and its first offering.
pub fn cheapest<'t>(
    order: &Order,
    types: &'t [Arc<InstanceType>],
    well_known: &WellKnown,
) -> Option<Choice<'t>> {
    every(order, types, well_known).min_by(|a, b| a.price.total_cmp(&b.price))
}

/// Every available way to make an instance that serves the order, in order of types and offerings.
///
/// COMPAT: upstream's providers ignore corrections, and may choose an offering that a corrected price
/// excludes.
pub fn every<'o, 't: 'o>(
    order: &'o Order,
    types: &'t [Arc<InstanceType>],
    well_known: &'o WellKnown,
) -> impl Iterator<Item = Choice<'t>> {
    let requirements: &Requirements = &order.requirements;
    types
        .iter()
        .filter(|instance_type| requirements.intersects(&instance_type.requirements).is_ok())
        .flat_map(|instance_type| {
            let corrected = order.corrected_type(&instance_type.name).unwrap_or(instance_type);
            // A correction leaves offerings in their order.
            let offerings = instance_type.offerings.iter().zip(&corrected.offerings);
            offerings.map(move |(offering, as_corrected)| {
                let choice = Choice { instance_type, offering, price: as_corrected.price };
                (choice, corrected.allocatable(as_corrected))
            })
        })
        .filter(|(Choice { offering, .. }, allocatable)| {
            offering.available
                && offering.serves(requirements, well_known)
                && order.requests.fits(allocatable)
        })
        .map(|(choice, _)| choice)
}

#[cfg(test)]
mod tests {
    use joiner_core::testing::instance_type;

    use super::*;
    use crate::{class::NodeClass, order::ClaimId};

    fn types() -> Vec<Arc<InstanceType>> {
        let of = |name: &str, cpu: &str, price: f64| {
            Arc::new(instance_type(name).cpu(cpu).zones(["a", "b"]).price(price).build())
        };
        vec![of("large", "8", 2.0), of("small", "4", 1.0), of("dear", "2", 3.0)]
    }

    fn ordered(room: impl Fn(&str) -> Option<i64>, in_b: usize) -> Vec<String> {
        let order = Order::plain(ClaimId::default(), "p", Arc::new(NodeClass::default()));
        let (types, well_known) = (types(), WellKnown::default());
        let mut choices: Vec<Choice<'_>> = every(&order, &types, &well_known).collect();
        let instances = |zone: &str| if zone == "b" { in_b } else { 1 };
        in_order(&mut choices, |choice| room(choice.zone()), instances);
        choices.iter().map(|own| format!("{} {}", own.instance_type.name, own.zone())).collect()
    }

    #[test]
    fn a_lower_price_counts_for_more_than_room() {
        let room = |zone: &str| Some(if zone == "b" { 900 } else { 100 });
        assert_eq!(
            ordered(room, 5),
            ["small b", "small a", "large b", "large a", "dear b", "dear a"]
        );
    }

    #[test]
    fn where_no_room_is_known_the_instances_of_the_pool_decide_then_names() {
        assert_eq!(ordered(|_| None, 0)[..2], ["small b", "small a"]);
        assert_eq!(ordered(|_| None, 2)[..2], ["small a", "small b"]);
        assert_eq!(ordered(|_| None, 1)[..2], ["small a", "small b"]);
    }
}
