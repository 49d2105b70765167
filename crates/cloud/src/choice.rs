//! Which machine to make for an order.

use std::sync::Arc;

use joiner_core::{
    instance_type::{InstanceType, Offering},
    label::{self, Labels, WellKnown},
    requirement::Requirements,
};

use crate::order::Order;

/// A type, and the terms on which a machine of it is had.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'t> {
    /// The type.
    pub instance_type: &'t Arc<InstanceType>,
    /// The terms.
    pub offering: &'t Offering,
    /// What an hour costs, as those see it who planned the machine.
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

/// The cheapest available way to make a machine that serves the order; among equals the type that
/// comes first, and its first offering.
pub fn cheapest<'t>(
    order: &Order,
    types: &'t [Arc<InstanceType>],
    well_known: &WellKnown,
) -> Option<Choice<'t>> {
    every(order, types, well_known).min_by(|a, b| a.price.total_cmp(&b.price))
}

/// Every available way to make a machine that serves the order, in order of types and offerings.
///
/// COMPAT: upstream's providers know nothing of corrections, and choose what a corrected price has ruled out.
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
