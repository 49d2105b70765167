//! The order of equally good zones.

use std::collections::BTreeMap;

use joiner_core::{
    evenness::{self, Standing, ZoneRoom},
    label,
};

use super::{
    labels::{Key, LabelSpace, Req, ReqId},
    nodes::Nodes,
};

/// The facts that order zones, besides the nodes.
#[derive(Debug, Clone)]
pub(super) struct Zones<'s> {
    zone: Key,
    pool: Key,
    /// The free capacity that clouds report for their zones, pool by pool.
    room: &'s BTreeMap<String, ZoneRoom>,
}

impl<'s> Zones<'s> {
    pub(super) fn new(room: &'s BTreeMap<String, ZoneRoom>, labels: &mut LabelSpace) -> Self {
        Self { zone: labels.key(label::ZONE), pool: labels.key(label::NODE_POOL), room }
    }

    /// Sorts domains into the order in which a claim with these requirements tries them. Zones come in the order in
    /// which the cloud would choose them for an instance of the pool, other domains by name.
    pub(super) fn put_in_order(
        &self,
        domains: &mut [usize],
        (key, requirements): (Key, ReqId),
        nodes: &Nodes<'_>,
        labels: &LabelSpace,
    ) {
        let pool = labels.get(requirements, self.pool).and_then(Req::single);
        let pool = pool.filter(|_| key == self.zone);
        let pool = pool.map(|pool| labels.value_name(self.pool, pool));
        let room = pool.and_then(|pool| self.room.get(pool));
        evenness::in_order(domains, |domain| {
            let zone = labels.value_name(key, *domain);
            Standing {
                zone,
                room: room.and_then(|room| room.get(zone)).copied(),
                instances: pool.map_or(0, |pool| nodes.instances(pool, zone)),
            }
        });
    }
}
