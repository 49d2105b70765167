//! The domains of a topology key before any pod is placed.
//!
//! If interpretations of the rules differ, a spread is judged by the domains that exist under all of them.

use std::collections::BTreeSet;

use joiner_core::{
    instance_type::InstanceType,
    pool::NodePool,
    requirement::{Operator, Requirement, Requirements},
    snapshot::Snapshot,
};

use crate::pools;

/// The domains of a pool's new instances.
pub(super) struct PoolDomains<'a> {
    pub(super) pool: &'a NodePool,
    /// Domains that one of the pool's types allows and offers, available now or not.
    pub(super) certain: BTreeSet<String>,
    /// The same, and all other values that a type or the pool mentions.
    pub(super) possible: BTreeSet<String>,
}

/// The domains of every usable pool.
pub(super) fn of_pools<'a>(snapshot: &'a Snapshot, key: &str) -> Vec<PoolDomains<'a>> {
    let usable = snapshot.pools.iter().filter(|pool| pools::is_usable(pool));
    usable.map(|pool| of_pool(snapshot, pool, key)).collect()
}

fn of_pool<'a>(snapshot: &'a Snapshot, pool: &'a NodePool, key: &str) -> PoolDomains<'a> {
    // The names of the pool and of the class are not included.
    let mut template = Requirements::from_specs(&pool.requirements);
    template.add_all(&Requirements::from_labels(&pool.labels));
    let of_template = template.get(key);
    let (mut certain, mut possible) = (BTreeSet::new(), BTreeSet::new());
    if let Some(listed) = of_template.filter(|listed| listed.operator() == Operator::In) {
        possible.extend(listed.values().iter().cloned());
    }
    for each in snapshot.catalog.types(&pool.name) {
        let both = match (of_template, each.requirements.get(key)) {
            (Some(template), Some(of_type)) => template.intersection(of_type),
            (Some(one), None) | (None, Some(one)) => one.clone(),
            (None, None) => continue,
        };
        possible.extend(both.values().iter().cloned());
        if !both.is_complement() {
            certain.extend(both.values().iter().filter(|value| offers(each, key, value)).cloned());
        }
    }
    PoolDomains { pool, certain, possible }
}

/// Whether an offering of a type is in a domain, or does not mention the key.
fn offers(each: &InstanceType, key: &str, domain: &str) -> bool {
    each.offerings.iter().any(|offering| {
        offering.requirements.get(key).is_none_or(|required: &Requirement| required.has(domain))
    })
}
