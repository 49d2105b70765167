//! `NodeOverlay`s in the planner's words.

use std::sync::Arc;

use joiner_api::node_overlay::NodeOverlay;
use joiner_plan::overlay::Overlay;

use super::convert;

/// Overlays, for [`joiner_plan::overlay::evaluate`].
pub fn overlays<'o>(overlays: impl IntoIterator<Item = &'o Arc<NodeOverlay>>) -> Vec<Overlay> {
    let overlay = |overlay: &Arc<NodeOverlay>| {
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
    overlays.into_iter().map(overlay).collect()
}
