//! What the containers of a pod request together.

use joiner_core::quantity::Quantity;
use serde_json::Value;

use super::resources::quantity;
use crate::fields::Fields;

/// How much of a resource the containers of a pod request at the same time: the regular ones and
/// sidecars together, or one init container with the sidecars started before it, whatever is more.
pub(crate) fn requests(spec: &Value, resource: &str) -> Quantity {
    let of = |container: &Value| {
        container
            .part("resources")
            .part("requests")
            .field(resource)
            .map_or(Quantity::ZERO, quantity)
    };
    let mut running = spec.list("containers").iter().map(of).fold(Quantity::ZERO, |a, b| a + b);
    let (mut sidecars, mut starting) = (Quantity::ZERO, Quantity::ZERO);
    for container in spec.list("initContainers") {
        if container.text("restartPolicy") == "Always" {
            sidecars = sidecars + of(container);
            running = running + of(container);
            starting = starting.max(sidecars);
        } else {
            starting = starting.max(sidecars + of(container));
        }
    }
    running.max(starting)
}
