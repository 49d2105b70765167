//! Optional features.

/// Which optional features are on. The defaults are Karpenter's and stand with the setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gates {
    /// Nodes that stay unhealthy are replaced.
    pub node_repair: bool,
    /// Reserved capacity is looked at.
    pub reserved_capacity: bool,
    /// Spot instances may be replaced by cheaper spot instances.
    pub spot_to_spot_consolidation: bool,
    /// `NodeOverlay`s change prices and capacities.
    pub node_overlay: bool,
    /// `NodePool`s may have a fixed number of nodes.
    pub static_capacity: bool,
    /// `CapacityBuffer`s hold room free.
    pub capacity_buffer: bool,
}

/// Every feature, in the order of the setting's default.
const NAMES: [&str; 6] = [
    "NodeRepair",
    "ReservedCapacity",
    "SpotToSpotConsolidation",
    "NodeOverlay",
    "StaticCapacity",
    "CapacityBuffer",
];

impl Gates {
    /// The names of the features that are on.
    pub fn on(&self) -> Vec<&'static str> {
        let mut gates = *self;
        NAMES.into_iter().filter(|name| gates.named(name).is_some_and(|gate| *gate)).collect()
    }

    /// The switch of a feature; none for a name that no feature has.
    pub(super) fn named(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "NodeRepair" => &mut self.node_repair,
            "ReservedCapacity" => &mut self.reserved_capacity,
            "SpotToSpotConsolidation" => &mut self.spot_to_spot_consolidation,
            "NodeOverlay" => &mut self.node_overlay,
            "StaticCapacity" => &mut self.static_capacity,
            "CapacityBuffer" => &mut self.capacity_buffer,
            _ => return None,
        })
    }
}
