//! What an hour of an instance costs.

use joiner_core::{price::UnitPrices, resources::Resources};

use super::{Settings, Size};
use crate::client::objects::ServiceOffering;

/// The detail of a service offering in which its operators say what an hour costs.
pub(crate) const PRICE: &str = "karpenter.sh/price";
/// Units of 10^9 bytes in a GiB.
const GB_PER_GIB: f64 = 1.073_741_824;

/// What its operators say an hour of a service offering costs.
pub(crate) fn written_price(offering: &ServiceOffering) -> Option<f64> {
    let price: f64 = offering.details.get(PRICE)?.trim().parse().ok()?;
    (price.is_finite() && price >= 0.0).then_some(price)
}

/// The price of an hour. What is written on a customized offering says nothing of its sizes, which
/// would all cost the same.
pub(crate) fn of(
    offering: &ServiceOffering,
    size: Size,
    instance: &Resources,
    settings: &Settings,
) -> f64 {
    let written = written_price(offering).filter(|_| !size.is_custom);
    written.unwrap_or_else(|| unit_prices(settings).of_instance(instance))
}

fn unit_prices(settings: &Settings) -> UnitPrices {
    let shared = settings.prices;
    UnitPrices {
        per_vcpu: settings.price_per_cpu.unwrap_or(shared.per_vcpu),
        per_gb: settings.price_per_gib.map_or(shared.per_gb, |own| own / GB_PER_GIB),
        ..shared
    }
}
