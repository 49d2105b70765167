//! Amounts by resource name.

use std::{
    collections::BTreeMap,
    fmt::{self, Display, Formatter},
};

use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// CPU, in cores.
pub const CPU: &str = "cpu";
/// Memory, in bytes.
pub const MEMORY: &str = "memory";
/// The number of pods on a node; each pod requests 1.
pub const PODS: &str = "pods";
/// Local disk, in bytes.
pub const EPHEMERAL_STORAGE: &str = "ephemeral-storage";
/// A limit on the number of a pool's nodes; every node counts as 1.
pub const NODES: &str = "nodes";
/// Prefix of pre-allocated memory pages. They are subtracted from a node's memory.
pub const HUGE_PAGES_PREFIX: &str = "hugepages-";

/// Amounts of some resources. A missing resource counts as zero.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Resources(BTreeMap<String, Quantity>);

impl<K: Into<String>> FromIterator<(K, Quantity)> for Resources {
    fn from_iter<I: IntoIterator<Item = (K, Quantity)>>(iter: I) -> Self {
        Self(iter.into_iter().map(|(name, quantity)| (name.into(), quantity)).collect())
    }
}

impl Resources {
    /// No resource.
    pub fn new() -> Self {
        Self::default()
    }

    /// The amount of `name`; zero if it is missing.
    pub fn get(&self, name: &str) -> Quantity {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// Whether `name` is present, even with zero.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Sets the amount of `name`.
    pub fn set(&mut self, name: impl Into<String>, quantity: Quantity) {
        self.0.insert(name.into(), quantity);
    }

    /// Names and amounts in order of name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Quantity)> {
        self.0.iter().map(|(name, quantity)| (name.as_str(), *quantity))
    }

    /// Whether no resource is present.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds every amount of `other`.
    pub fn add(&mut self, other: &Self) {
        for (name, quantity) in &other.0 {
            match self.0.get_mut(name) {
                Some(sum) => *sum = *sum + *quantity,
                None => {
                    self.0.insert(name.clone(), *quantity);
                }
            }
        }
    }

    /// The sum of both.
    pub fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        sum.add(other);
        sum
    }

    /// The difference for each resource of `self`. Other resources of `other` are ignored.
    pub fn minus(&self, other: &Self) -> Self {
        self.iter().map(|(name, quantity)| (name, quantity - other.get(name))).collect()
    }

    /// The larger amount of each resource in either.
    pub fn higher(&self, other: &Self) -> Self {
        let mut largest = self.clone();
        for (name, quantity) in &other.0 {
            let larger = largest.0.entry(name.clone()).or_insert(*quantity);
            *larger = (*larger).max(*quantity);
        }
        largest
    }

    /// The smaller amount of each resource in both.
    pub fn lower(&self, other: &Self) -> Self {
        self.iter()
            .filter(|(name, _)| other.contains(name))
            .map(|(name, quantity)| (name, quantity.min(other.get(name))))
            .collect()
    }

    /// Each amount, with negative ones replaced by zero.
    pub fn floored(&self) -> Self {
        self.iter().map(|(name, quantity)| (name, quantity.max(Quantity::ZERO))).collect()
    }

    /// Replaces amounts by those of `other`, resource by resource.
    pub fn overlaid(&self, other: &Self) -> Self {
        let mut all = self.clone();
        for (name, quantity) in &other.0 {
            all.0.insert(name.clone(), *quantity);
        }
        all
    }

    /// Whether `self` fits into `room`. If any amount of `room` is negative, nothing fits.
    pub fn fits(&self, room: &Self) -> bool {
        room.0.values().all(|quantity| *quantity >= Quantity::ZERO)
            && self.iter().all(|(name, quantity)| quantity <= room.get(name))
    }
}

impl Display for Resources {
    /// `cpu 2, memory 4Gi`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, (name, quantity)) in self.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{name} {quantity}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cpu 2, memory 4Gi`.
    fn resources(text: &str) -> Resources {
        let pairs = text.split(", ").filter(|pair| !pair.is_empty());
        pairs
            .map(|pair| pair.split_once(' ').unwrap())
            .map(|(name, q)| (name, q.parse().unwrap()))
            .collect()
    }

    #[test]
    fn sums_have_the_resources_of_both() {
        for (a, b, sum) in [
            ("", "", ""),
            ("cpu 1", "", "cpu 1"),
            ("", "cpu 1", "cpu 1"),
            ("cpu 1, memory 1Gi", "cpu 500m, gpu 1", "cpu 1500m, gpu 1, memory 1Gi"),
            ("memory 0", "memory 1Gi", "memory 1Gi"),
            ("cpu 1", "cpu -1", "cpu 0"),
        ] {
            assert_eq!(resources(a).plus(&resources(b)).to_string(), sum, "{a} and {b}");
        }
    }

    #[test]
    fn differences_have_the_resources_of_the_left_side_only() {
        for (a, b, difference) in [
            ("cpu 1", "", "cpu 1"),
            ("", "cpu 1", ""),
            ("cpu 1, memory 1Gi", "cpu 2, gpu 1", "cpu -1, memory 1Gi"),
        ] {
            assert_eq!(resources(a).minus(&resources(b)).to_string(), difference, "{a} less {b}");
        }
    }

    #[test]
    fn the_largest_is_of_all_resources_and_the_smallest_of_common_ones() {
        let (a, b) = (&resources("cpu 1, memory 1Gi"), &resources("cpu 2, memory 1G, gpu 1"));
        assert_eq!(a.higher(b).to_string(), "cpu 2, gpu 1, memory 1Gi");
        assert_eq!(b.higher(a), a.higher(b));
        assert_eq!(a.lower(b).to_string(), "cpu 1, memory 1G");
        assert_eq!(b.min(a), a.min(b));
        assert_eq!(resources("cpu -1, gpu 1").floored().to_string(), "cpu 0, gpu 1");
        assert_eq!(a.overlaid(b).to_string(), "cpu 2, gpu 1, memory 1G");
    }

    #[test]
    fn nothing_fits_where_anything_is_negative() {
        for (wanted, room, fits) in [
            ("", "", true),
            ("cpu 1", "cpu 1", true),
            ("cpu 1001m", "cpu 1", false),
            ("cpu 1", "cpu 2, memory 0", true),
            // What is not there is zero.
            ("gpu 1", "cpu 1", false),
            ("gpu 0", "cpu 1", true),
            ("gpu -1", "cpu 1", true),
            // A negative amount stops also pods that do not ask for it.
            ("cpu 1", "cpu 2, memory -1", false),
            ("", "memory -1n", false),
        ] {
            assert_eq!(resources(wanted).fits(&resources(room)), fits, "{wanted} into {room}");
        }
    }

    #[test]
    fn what_is_not_there_is_zero() {
        let all = resources("cpu 0");
        assert_eq!(all.get("memory"), Quantity::ZERO);
        assert!(all.contains("cpu") && !all.contains("memory") && !all.is_empty());
    }

    #[test]
    fn json_is_an_object_of_quantities() {
        let all: Resources = serde_json::from_str(r#"{"memory":"0.5Gi","cpu":1.5}"#).unwrap();
        assert_eq!(serde_json::to_string(&all).unwrap(), r#"{"cpu":"1500m","memory":"512Mi"}"#);
        assert!(serde_json::from_str::<Resources>(r#"{"cpu":"one"}"#).is_err());
    }
}
