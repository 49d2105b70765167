//! The limits and the use of pools.

use joiner_api::ResourceList;
use joiner_core::resources::Resources;

use super::{Lines, Shown, resource_type};
use crate::{claims::name, context::Context, index::resources};

pub(super) fn work_out(context: &Context, shown: &Shown) {
    let (mut limits, mut usage) = (Lines::default(), Lines::default());
    for pool in shown.pools.iter().filter(|pool| context.serves(pool)) {
        let name = name(&pool.metadata);
        add(&mut limits, name, &read(&pool.spec.limits));
        if let Some(status) = &pool.status {
            add(&mut usage, name, &read(&status.resources));
        }
    }
    limits.show(context.metrics.nodepools_limit());
    usage.show(context.metrics.nodepools_usage());
}

fn read(list: &ResourceList) -> Resources {
    resources(Some(list))
}

fn add(lines: &mut Lines, pool: &str, amounts: &Resources) {
    for (resource, amount) in amounts.iter() {
        lines.add(pool, &[resource_type(resource).as_str(), pool], amount.as_f64());
    }
}
