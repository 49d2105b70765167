//! `NodeOverlay`s in the planner's words.

use joiner_plan::overlay::Overlay;

use super::convert;
use crate::objects::Objects;

/// All overlays, for [`joiner_plan::overlay::evaluate`].
pub fn overlays(objects: &Objects) -> Vec<Overlay> {
    let overlay = |overlay: &joiner_api::node_overlay::NodeOverlay| {
        let spec = &overlay.spec;
        let change = spec.price.as_ref().or(spec.price_adjustment.as_ref());
        Overlay {
            name: overlay.metadata.name.clone().unwrap_or_default(),
            weight: spec.weight.unwrap_or_default(),
            requirements: convert::requirements(&spec.requirements),
            price: change.and_then(|text| text.parse().ok()),
            capacity: convert::resources(Some(&spec.capacity)),
        }
    };
    objects.node_overlays.iter().map(|object| overlay(object)).collect()
}
