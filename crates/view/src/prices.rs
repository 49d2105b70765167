//! What instances cost.

use std::collections::BTreeMap;

use joiner_core::{
    instance_type::InstanceType,
    label::{CAPACITY_TYPE, ZONE},
    requirement::Requirement,
};

/// Prices per hour by type, capacity type and zone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices(BTreeMap<[String; 3], f64>);

impl FromIterator<([String; 3], f64)> for Prices {
    /// From prices by type, capacity type and zone.
    fn from_iter<I: IntoIterator<Item = ([String; 3], f64)>>(prices: I) -> Self {
        Self(prices.into_iter().collect())
    }
}

impl Prices {
    /// The prices of these types' offerings.
    pub fn of<'t>(types: impl IntoIterator<Item = &'t InstanceType>) -> Self {
        let mut prices = BTreeMap::new();
        for instance_type in types {
            for offering in &instance_type.offerings {
                let only = |key| {
                    let own = offering.requirements.get(key).and_then(Requirement::single);
                    own.unwrap_or_default().to_owned()
                };
                let key = [instance_type.name.clone(), only(CAPACITY_TYPE), only(ZONE)];
                prices.insert(key, offering.price);
            }
        }
        Self(prices)
    }

    /// The price of an instance, if it is known.
    pub fn get(&self, instance_type: &str, capacity_type: &str, zone: &str) -> Option<f64> {
        let key = [instance_type, capacity_type, zone].map(str::to_owned);
        self.0.get(&key).copied()
    }
}
