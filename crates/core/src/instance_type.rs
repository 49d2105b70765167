//! What a provider can make: shapes of machines and the terms on which they are offered.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    label::{self, WellKnown},
    quantity::Quantity,
    requirement::Requirements,
    resources::{HUGE_PAGES_PREFIX, MEMORY, Resources},
};

/// A shape of machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InstanceType {
    /// The value of the instance type label.
    pub name: String,
    /// The labels such a machine can have.
    pub requirements: Requirements,
    /// What the machine has.
    pub capacity: Resources,
    /// What the machine keeps for itself.
    pub overhead: Overhead,
    /// Where, how and for how much it can be had.
    pub offerings: Vec<Offering>,
    /// How many volumes of each CSI driver can be attached; a driver that is not there has no limit.
    pub volume_limits: BTreeMap<String, u32>,
    /// Whether a `NodeOverlay` changed a price.
    pub price_overlaid: bool,
    /// Whether a `NodeOverlay` changed the capacity.
    pub capacity_overlaid: bool,
}

/// What a machine keeps for itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overhead {
    /// For the kubelet and the container runtime.
    pub kube_reserved: Resources,
    /// For the operating system.
    pub system_reserved: Resources,
    /// Where the kubelet starts to evict.
    pub eviction_threshold: Resources,
}

impl Overhead {
    /// All of it together.
    pub fn total(&self) -> Resources {
        self.kube_reserved.plus(&self.system_reserved).plus(&self.eviction_threshold)
    }
}

/// One way to get a machine of a type.
#[derive(Debug, Clone, PartialEq)]
pub struct Offering {
    /// Zone, capacity type and whatever else tells offerings apart.
    pub requirements: Requirements,
    /// Per hour, in any unit; only comparisons matter.
    pub price: f64,
    /// Whether it can be had now.
    pub available: bool,
    /// How many machines of this reservation are left.
    pub reservation_capacity: u32,
    /// Replaces the type's capacity, resource by resource.
    pub capacity: Resources,
    /// Replaces the type's summed overhead, resource by resource.
    pub overhead: Resources,
}

impl Default for Offering {
    fn default() -> Self {
        Self {
            requirements: Requirements::new(),
            price: 0.0,
            available: true,
            reservation_capacity: 0,
            capacity: Resources::new(),
            overhead: Resources::new(),
        }
    }
}

impl Offering {
    /// Whether this is capacity somebody has reserved.
    pub fn is_reserved(&self) -> bool {
        self.requirements.get(label::CAPACITY_TYPE).and_then(|r| r.single()) == Some(label::CAPACITY_TYPE_RESERVED)
    }

    /// Whether a claim with `requirements` could be launched with this offering.
    pub fn serves(&self, requirements: &Requirements, well_known: &WellKnown) -> bool {
        requirements.compatible(&self.requirements, Some(well_known)).is_ok()
    }
}

impl InstanceType {
    /// What pods can use of a machine got through `offering`.
    pub fn allocatable(&self, offering: &Offering) -> Resources {
        let capacity = self.capacity.overlaid(&offering.capacity);
        let overhead = self.overhead.total().overlaid(&offering.overhead);
        allocatable(&capacity, &overhead)
    }

    /// What a machine got through `offering` has.
    pub fn offered_capacity(&self, offering: &Offering) -> Resources {
        self.capacity.overlaid(&offering.capacity)
    }

    /// Available offerings that serve `requirements`.
    pub fn compatible_offerings<'t>(
        &'t self,
        requirements: &'t Requirements,
        well_known: &'t WellKnown,
    ) -> impl Iterator<Item = &'t Offering> {
        self.offerings.iter().filter(|offering| offering.available && offering.serves(requirements, well_known))
    }

    /// The price of the cheapest available offering that serves `requirements`.
    pub fn cheapest(&self, requirements: &Requirements, well_known: &WellKnown) -> Option<f64> {
        self.compatible_offerings(requirements, well_known).map(|offering| offering.price).min_by(f64::total_cmp)
    }
}

/// Capacity less overhead, and memory less the pages set aside.
pub fn allocatable(capacity: &Resources, overhead: &Resources) -> Resources {
    let mut allocatable = capacity.minus(overhead);
    let pages = capacity
        .iter()
        .filter(|(name, _)| name.starts_with(HUGE_PAGES_PREFIX))
        .fold(Quantity::ZERO, |sum, (_, quantity)| sum + quantity);
    if pages > Quantity::ZERO && allocatable.contains(MEMORY) {
        allocatable.set(MEMORY, (allocatable.get(MEMORY) - pages).max(Quantity::ZERO));
    }
    allocatable
}

/// Every pool's instance types, and what the provider says about its labels.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// The types of each pool. A pool that is not there has none.
    pub by_pool: BTreeMap<String, Arc<[Arc<InstanceType>]>>,
    /// Labels the providers fill in.
    pub well_known: WellKnown,
    /// The label that tells reservations apart.
    pub reservation_id_label: Option<String>,
}

impl Catalog {
    /// The types of a pool.
    pub fn types(&self, pool: &str) -> &[Arc<InstanceType>] {
        self.by_pool.get(pool).map_or(&[], |types| types)
    }
}
