//! Looks whether places have room, for classes that ask for it.

use std::collections::{BTreeMap, BTreeSet};

use joiner_cloud::unavailable::{Shortages, zone_of};
use joiner_vim::{MoRef, VimError};

use super::Inner;
use crate::{
    instances::Instances,
    node_class::NodeClass,
    places::Resolution,
    room::{HOSTS, Host, POOLS, PoolDemand, PoolRoom, needed_space, short_of},
};

impl Inner {
    /// What sizes of a class lack now, zone by zone.
    pub(super) async fn shortages(
        &self,
        class: &NodeClass,
        instances: &Instances,
        resolution: &Resolution,
    ) -> Result<Shortages, VimError> {
        let mut found = Shortages::new();
        if class.spec.capacity_check != Some(true) {
            return Ok(found);
        }
        let mut hosts: BTreeMap<MoRef, Vec<Host>> = BTreeMap::new();
        for place in &resolution.places {
            let cluster = &place.compute.cluster;
            if !hosts.contains_key(cluster) {
                hosts.insert(cluster.clone(), self.hosts_of(cluster).await?);
            }
        }
        let pools = self.pools_room(resolution).await?;
        for own in &instances.types {
            let Some(hardware) = instances.hardware.get(&own.name) else { continue };
            let needed = needed_space(class, &resolution.image, hardware.disk_gib);
            let demand = PoolDemand::of(class, instances, &own.name, hardware);
            for zone in own.offerings.iter().map(zone_of) {
                let Some(place) = resolution.place(zone) else { continue };
                let networks: Vec<MoRef> =
                    place.networks.iter().map(|own| own.named.reference.clone()).collect();
                let (hosts, datastores) =
                    (&hosts[&place.compute.cluster], &place.datastores.usable);
                let pool = pools.get(&place.compute.pool).copied().unwrap_or_default();
                let in_pool = || pool.objection(&demand).map(|_| "pool");
                if let Some(what) = short_of(hosts, &networks, datastores, needed).or_else(in_pool)
                {
                    found.insert((own.name.clone(), zone.unwrap_or_default().to_owned()), what);
                }
            }
        }
        Ok(found)
    }

    /// What the resource pools of a class may give to one more instance.
    pub(super) async fn pools_room(
        &self,
        resolution: &Resolution,
    ) -> Result<BTreeMap<MoRef, PoolRoom>, VimError> {
        let pools: BTreeSet<&MoRef> =
            resolution.places.iter().map(|place| &place.compute.pool).collect();
        let pools: Vec<MoRef> = pools.into_iter().cloned().collect();
        let read = self.vim.read(&pools, POOLS).await?;
        Ok(read.iter().map(|own| (own.reference.clone(), PoolRoom::read(own))).collect())
    }

    async fn hosts_of(&self, cluster: &MoRef) -> Result<Vec<Host>, VimError> {
        let read = self.vim.read(std::slice::from_ref(cluster), &["host"]).await?;
        let hosts = read.first().map(|own| own.references("host")).unwrap_or_default();
        let read = self.vim.read(&hosts, HOSTS).await?;
        Ok(read.iter().map(Host::read).collect())
    }
}
