//! Which domains there are for a topology key, before any pod is placed.
//!
//! Where readings of the rules differ, a spread is judged by the domains that exist under all of
//! them.

use std::collections::BTreeSet;

use joiner_core::{
    instance_type::InstanceType,
    pool::NodePool,
    requirement::{Operator, Requirement, Requirements},
    snapshot::Snapshot,
};

use crate::pools;

/// The domains that new instances of a pool can be in.
pub(super) struct PoolDomains<'a> {
    pub(super) pool: &'a NodePool,
    /// Domains that one of the pool's types allows and offers, available at the moment or not.
    pub(super) certain: BTreeSet<String>,
    /// These, and whatever else a type or the pool mentions.
    pub(super) possible: BTreeSet<String>,
}

/// The domains of every usable pool.
pub(super) fn of_pools<'a>(snapshot: &'a Snapshot, key: &str) -> Vec<PoolDomains<'a>> {
    let usable = snapshot.pools.iter().filter(|pool| pools::is_usable(pool));
    usable.map(|pool| of_pool(snapshot, pool, key)).collect()
}

fn of_pool<'a>(snapshot: &'a Snapshot, pool: &'a NodePool, key: &str) -> PoolDomains<'a> {
    // The pool's and the node class's own names are no part of it.
    let mut template = Requirements::from_specs(&pool.requirements);
    template.add_all(&Requirements::from_labels(&pool.labels));
    let of_template = template.get(key);
    let (mut certain, mut possible) = (BTreeSet::new(), BTreeSet::new());
    if let Some(listed) = of_template.filter(|listed| listed.operator() == Operator::In) {
        possible.extend(listed.values().iter().cloned());
    }
    for each in snapshot.catalog.types(&pool.name) {
        let both = match (of_template, each.requirements.get(key)) {
            (Some(template), Some(own)) => template.intersection(own),
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

/// Whether some offering of a type is in a domain, or has nothing to say about it.
fn offers(each: &InstanceType, key: &str, domain: &str) -> bool {
    each.offerings.iter().any(|offering| {
        offering.requirements.get(key).is_none_or(|own: &Requirement| own.has(domain))
    })
}
