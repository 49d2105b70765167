//! Graphics cards, and what nodes call them.

use std::collections::BTreeMap;

use joiner_core::{quantity::Quantity, resources::Resources};

use crate::{StatusGpu, client::objects::ServiceOffering};

/// What nodes call cards, by the vendor in CloudStack's name for them.
const VENDORS: [(&str, &str); 3] =
    [("nvidia", "nvidia.com/gpu"), ("amd", "amd.com/gpu"), ("intel", "gpu.intel.com/i915")];
/// The word for a whole card where shares are named.
const WHOLE: &str = "passthrough";

/// The cards of a service offering. Old servers say them in its details.
pub(crate) fn gpus(offering: &ServiceOffering) -> Option<StatusGpu> {
    let detail = |key: &str| offering.details.get(key).map(String::as_str);
    let named = |own: &'_ Option<String>| own.clone().filter(|name| !name.is_empty());
    let card = named(&offering.gpu_card).or_else(|| detail("pciDevice").map(str::to_owned));
    let share = named(&offering.vgpu_profile).or_else(|| detail("vgpuType").map(str::to_owned));
    let share = share.filter(|share| !share.eq_ignore_ascii_case(WHOLE));
    let name = match (card, share) {
        (None, None) => return None,
        (Some(card), Some(share)) if !share.contains(&card) => format!("{card} {share}"),
        (Some(_) | None, Some(share)) => share,
        (Some(card), None) => card,
    };
    Some(StatusGpu { name, count: offering.gpu_count.filter(|count| *count > 0).unwrap_or(1) })
}

/// The resource of a service offering's cards; the card, where nobody has said what nodes call it.
pub(crate) fn resources(
    offering: &ServiceOffering,
    by_name: &BTreeMap<String, String>,
) -> (Resources, Option<String>) {
    let Some(gpu) = gpus(offering) else { return (Resources::new(), None) };
    let name = gpu.name.to_lowercase();
    let of_user = by_name.iter().find(|(part, _)| name.contains(&part.to_lowercase()));
    let vendor = VENDORS.iter().find(|(part, _)| name.contains(part));
    let resource = of_user.map(|(_, own)| own.as_str()).or(vendor.map(|(_, own)| *own));
    match resource {
        Some(resource) => ([(resource, Quantity::whole(gpu.count))].into_iter().collect(), None),
        None => (Resources::new(), Some(gpu.name)),
    }
}
