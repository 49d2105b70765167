//! Claims that have not been launched yet.

use joiner_api::node_claim::NodeClaim;
use joiner_core::{
    instance_type::{Catalog, InstanceType},
    label,
    requirement::Requirements,
    resources::Resources,
    snapshot::Node,
};

use super::{
    convert,
    nodes::{claim_name, lasting_taints},
};

/// The guaranteed part of a future instance: the labels that its claim fixes, and the room of the
/// smallest possible type. Against its pool's limits it counts as the largest possible type.
///
/// COMPAT: upstream omits such claims, and plans nothing while there is one. Where launches take
/// minutes, that would be most of the time.
pub(super) fn node(claim: &NodeClaim, catalog: &Catalog) -> Node {
    let mut labels = convert::labels(&claim.metadata);
    let requirements = Requirements::from_specs(&convert::requirements(&claim.spec.requirements));
    for (key, value) in requirements.single_values() {
        labels.entry(key).or_insert(value);
    }
    let pool = labels.get(label::NODE_POOL).cloned();
    let types = pool.as_deref().map_or(&[][..], |pool| catalog.types(pool));
    let requests = convert::resources(claim.spec.resources.as_ref().map(|r| &r.requests));
    let (allocatable, capacity) = types
        .iter()
        .flat_map(|instance_type| shapes(instance_type, &requirements, &requests, catalog))
        .reduce(|(room, most), (other, larger)| (room.lower(&other), most.higher(&larger)))
        .unwrap_or_else(|| (requests.clone(), requests.clone()));
    Node {
        claim: Some(claim_name(claim).to_owned()),
        pool,
        hostname: claim_name(claim).to_owned(),
        taints: lasting_taints(convert::taints(&claim.spec.taints), claim),
        labels,
        allocatable,
        capacity,
        ..Node::default()
    }
}

/// Allocatable and capacity of every offering of this type that the claim allows.
fn shapes(
    instance_type: &InstanceType,
    requirements: &Requirements,
    requests: &Resources,
    catalog: &Catalog,
) -> Vec<(Resources, Resources)> {
    if requirements.intersects(&instance_type.requirements).is_err() {
        return Vec::new();
    }
    // Most offerings of a type differ only in place and price.
    let mut seen = Vec::new();
    let mut shapes = Vec::new();
    for offering in instance_type.compatible_offerings(requirements, &catalog.well_known) {
        let difference = (&offering.capacity, &offering.overhead);
        if seen.contains(&difference) {
            continue;
        }
        seen.push(difference);
        let allocatable = instance_type.allocatable(offering);
        if requests.fits(&allocatable) {
            shapes.push((allocatable, instance_type.offered_capacity(offering)));
        }
    }
    shapes
}
