//! Amounts of resources as plain numbers, counted as the scheduler of Kubernetes counts: CPU in
//! thousandths, everything else in whole units, rounded up.

use std::collections::BTreeMap;

use joiner_core::{
    quantity::Quantity,
    resources::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources},
};

/// The number of a resource's name.
pub(super) type ResourceId = usize;

/// The numbers of the names that are always there.
pub(super) const CPU_ID: ResourceId = 0;
pub(super) const MEMORY_ID: ResourceId = 1;
pub(super) const PODS_ID: ResourceId = 3;

/// The names of resources, by number.
#[derive(Debug)]
pub(super) struct Names {
    names: Vec<String>,
    ids: BTreeMap<String, ResourceId>,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Self { names: Vec::new(), ids: BTreeMap::new() };
        for known in [CPU, MEMORY, EPHEMERAL_STORAGE, PODS] {
            names.id(known);
        }
        names
    }
}

impl Names {
    /// The number of a name, a new one if it was never seen.
    pub(super) fn id(&mut self, name: &str) -> ResourceId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = self.names.len();
        self.names.push(name.to_owned());
        self.ids.insert(name.to_owned(), id);
        id
    }

    /// The name of a number.
    pub(super) fn name(&self, id: ResourceId) -> &str {
        &self.names[id]
    }

    /// Amounts by number, without those that are zero.
    pub(super) fn sparse(&mut self, resources: &Resources) -> Vec<(ResourceId, i64)> {
        let amounts = resources.iter().map(|(name, quantity)| {
            let id = self.id(name);
            (id, count(id, quantity))
        });
        let mut sparse: Vec<_> = amounts.filter(|(_, amount)| *amount != 0).collect();
        sparse.sort_unstable();
        sparse
    }

    /// Amounts in the order of the numbers.
    pub(super) fn dense(&mut self, resources: &Resources) -> Vec<i64> {
        let mut dense = Vec::new();
        for (id, amount) in self.sparse(resources) {
            add(&mut dense, id, amount);
        }
        dense
    }
}

fn count(id: ResourceId, quantity: Quantity) -> i64 {
    let unit = if id == CPU_ID { 1_000_000 } else { 1_000_000_000 };
    let units = (quantity.nanos() + unit - 1).div_euclid(unit);
    i64::try_from(units).unwrap_or(if units < 0 { i64::MIN } else { i64::MAX })
}

/// The amount of a resource in a list that ends where only zeros would follow.
pub(super) fn amount(dense: &[i64], id: ResourceId) -> i64 {
    dense.get(id).copied().unwrap_or_default()
}

/// Adds to the amount of a resource.
pub(super) fn add(dense: &mut Vec<i64>, id: ResourceId, amount: i64) {
    if dense.len() <= id {
        dense.resize(id + 1, 0);
    }
    dense[id] = dense[id].saturating_add(amount);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_counts_in_thousandths_and_all_else_in_whole_units_rounded_up() {
        let mut names = Names::default();
        let resources: Resources =
            [("cpu", "100.1m"), ("memory", "1Ki"), ("gpu", "2"), ("pods", "0")]
                .map(|(name, text)| (name, text.parse().unwrap()))
                .into_iter()
                .collect();
        assert_eq!(names.sparse(&resources), [(CPU_ID, 101), (MEMORY_ID, 1024), (4, 2)]);
        assert_eq!(names.dense(&resources), [101, 1024, 0, 0, 2]);
        assert_eq!(names.name(4), "gpu");
        assert_eq!(amount(&[1], 4), 0);
    }
}
