//! In which order zones are tried.

use joiner_api::hash;

use crate::node_class::Spec;

/// How zones are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// The one with the least load first.
    #[default]
    Balanced,
    /// Any order.
    AvailabilityFirst,
}

/// What is known of a zone that an instance might go to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// The region.
    pub region: String,
    /// The zone.
    pub zone: String,
    /// The share of its CPUs that is in use, in whole percent.
    pub load_percent: u32,
    /// Virtual CPUs of instances that are being made there.
    pub cpus_in_flight: u32,
    /// All its CPUs.
    pub cpus: u32,
    /// Instances of the same pool.
    pub instances: usize,
    /// Free memory in bytes.
    pub free_memory: u64,
}

impl Strategy {
    /// The strategy of a class.
    pub fn of(spec: &Spec) -> Self {
        let word = spec.placement_strategy.as_ref().and_then(|own| own.zone_balance.as_deref());
        if word == Some("AvailabilityFirst") { Self::AvailabilityFirst } else { Self::Balanced }
    }

    /// Puts zones in the order in which they are tried. `seed` decides where any order is as good;
    /// the claim's identity is one.
    ///
    /// Balanced compares load, with what is being made counted as load; of equals the zone with fewer
    /// instances of the pool comes first, then the one with more free memory.
    pub fn order(self, zones: &mut [Standing], seed: &str) {
        match self {
            Self::Balanced => zones.sort_by_cached_key(|zone| {
                (
                    zone.expected_load(),
                    zone.instances,
                    u64::MAX - zone.free_memory,
                    zone.region.clone(),
                    zone.zone.clone(),
                )
            }),
            Self::AvailabilityFirst => zones.sort_by_cached_key(|zone| {
                hash::text(&format!("{seed}/{}/{}", zone.region, zone.zone))
            }),
        }
    }
}

impl Standing {
    /// The load in percent when everything that is being made runs at full.
    fn expected_load(&self) -> u32 {
        let in_flight = u64::from(self.cpus_in_flight) * 100 / u64::from(self.cpus.max(1));
        self.load_percent.saturating_add(in_flight as u32)
    }
}
