//! Prices of instances in clouds without a price list.
//!
//! Private clouds rarely have prices, but plans are compared by price. One function for all providers gives
//! instances of equal size equal prices, and larger ones higher prices.

use crate::resources::{CPU, MEMORY, Resources};

/// Resources that count as GPUs.
const GPUS: [&str; 4] = ["nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe"];

/// Hourly prices of the parts of an instance, in any unit. Only comparisons matter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitPrices {
    /// For a virtual CPU.
    pub per_vcpu: f64,
    /// For 10^9 bytes of memory.
    pub per_gb: f64,
    /// For a GPU.
    pub per_gpu: f64,
    /// For an instance of any size. Above zero, one instance is cheaper than two halves.
    pub per_vm: f64,
}

impl Default for UnitPrices {
    /// The prices that KWOK's price list is computed with.
    fn default() -> Self {
        Self { per_vcpu: 0.025, per_gb: 0.001, per_gpu: 1.0, per_vm: 0.0 }
    }
}

impl UnitPrices {
    /// The hourly price of an instance with these `parts`. Only whole units count, and resources without a price
    /// cost nothing.
    pub fn of_instance(&self, parts: &Resources) -> f64 {
        let amount = |name: &str| parts.get(name).floor() as f64;
        let gpus: f64 = GPUS.iter().map(|name| amount(name)).sum();
        self.per_vcpu * amount(CPU)
            + self.per_gb * amount(MEMORY) / 1e9
            + self.per_gpu * gpus
            + self.per_vm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(parts: &[(&str, &str)]) -> Resources {
        parts.iter().map(|&(name, amount)| (name, amount.parse().unwrap())).collect()
    }

    #[test]
    fn an_instance_costs_what_its_parts_cost() {
        let prices = UnitPrices::default();
        let small = instance(&[("cpu", "1"), ("memory", "2Gi"), ("pods", "110")]);
        assert_eq!(prices.of_instance(&small).to_string(), "0.027147483648");
        let with_gpus =
            instance(&[("cpu", "8"), ("memory", "32G"), ("nvidia.com/gpu", "2"), ("a.b/c", "9")]);
        assert_eq!(prices.of_instance(&with_gpus).to_string(), "2.232");
        assert_eq!(prices.of_instance(&Resources::new()).to_string(), "0");
    }

    #[test]
    fn a_price_per_instance_makes_one_whole_cheaper_than_two_halves() {
        let half = instance(&[("cpu", "4"), ("memory", "16Gi")]);
        let whole = instance(&[("cpu", "8"), ("memory", "32Gi")]);
        let prices = UnitPrices::default();
        assert_eq!(
            prices.of_instance(&whole).to_string(),
            (2.0 * prices.of_instance(&half)).to_string()
        );
        let prices = UnitPrices { per_vm: 0.5, ..prices };
        assert!(prices.of_instance(&whole) < 2.0 * prices.of_instance(&half));
    }
}
