//! Optional features.

use joiner_settings::{Reader, Setting, boolean};

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
    /// The defaults of all features, with those given changed. A name that no feature has may come
    /// from a later version, and is no reason not to start.
    pub(super) fn read(from: &mut Reader<'_>, setting: &Setting) -> Self {
        let mut gates = Self::default();
        let given = setting.default.split(',').chain(from.text(setting).split(','));
        for pair in given.map(str::trim).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (boolean(value.trim()), gates.named(name.trim())) {
                (None, _) => from.refuse(setting, pair, "use NAME=true or NAME=false"),
                (Some(on), Some(gate)) => *gate = on,
                (Some(_), None) => from.warn(format!(
                    "--{} ({}) names {:?}, which is no feature: it has no effect",
                    setting.name,
                    setting.variable,
                    name.trim()
                )),
            }
        }
        gates
    }

    /// The names of the features that are on.
    pub fn on(&self) -> Vec<&'static str> {
        let mut gates = *self;
        NAMES.into_iter().filter(|name| gates.named(name).is_some_and(|gate| *gate)).collect()
    }

    /// The switch of a feature; none for a name that no feature has.
    fn named(&mut self, name: &str) -> Option<&mut bool> {
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
