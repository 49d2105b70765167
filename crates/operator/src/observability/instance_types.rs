//! The instance types and prices of clouds.

use joiner_core::{
    instance_type::Offering,
    label::{CAPACITY_TYPE, ZONE},
    resources::{CPU, MEMORY},
};

use super::{Lines, Shown, cost::types_by_pool};
use crate::context::Context;

pub(super) fn work_out(context: &Context, shown: &Shown) {
    let (mut prices, mut available) = (Lines::default(), Lines::default());
    let (mut cpus, mut memory) = (Lines::default(), Lines::default());
    // Pools of one class have the same types, so each is shown once.
    for types in types_by_pool(context, shown).values() {
        for known in types.iter() {
            let name = known.name.as_str();
            cpus.set(name, &[name], known.capacity.get(CPU).as_f64());
            memory.set(name, &[name], known.capacity.get(MEMORY).as_f64());
            for offering in &known.offerings {
                let labels = [name, of(offering, CAPACITY_TYPE), of(offering, ZONE)];
                let key = labels.join("/");
                prices.set(&key, &labels, offering.price);
                available.set(&key, &labels, f64::from(u8::from(offering.available)));
            }
        }
    }
    let metrics = &context.metrics;
    prices.show(metrics.instance_type_offering_price());
    available.show(metrics.instance_type_offering_available());
    cpus.show(metrics.instance_type_cpu_cores());
    memory.show(metrics.instance_type_memory_bytes());
}

fn of<'o>(offering: &'o Offering, key: &str) -> &'o str {
    offering.requirements.get(key).and_then(|values| values.single()).unwrap_or_default()
}
