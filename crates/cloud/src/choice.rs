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
    every(order, types, well_known).min_by(|a, b| a.offering.price.total_cmp(&b.offering.price))
}

/// Every available way to make a machine that serves the order, in order of types and offerings.
pub fn every<'t>(
    order: &Order,
    types: &'t [Arc<InstanceType>],
    well_known: &WellKnown,
) -> impl Iterator<Item = Choice<'t>> {
    let requirements: &Requirements = &order.requirements;
    types
        .iter()
        .filter(|instance_type| requirements.intersects(&instance_type.requirements).is_ok())
        .flat_map(|instance_type| {
            instance_type.offerings.iter().map(move |offering| Choice { instance_type, offering })
        })
        .filter(|choice| {
            let Choice { instance_type, offering } = choice;
            offering.available
                && offering.serves(requirements, well_known)
                && order.requests.fits(&instance_type.allocatable(offering))
        })
}
