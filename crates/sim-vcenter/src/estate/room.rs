//! What hosts and pools have left.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    estate::{
        Estate, Host,
        vm::{Power, Vm},
    },
    fault::Fault,
    inventory::Behaviour,
    reference::{Kind, Ref},
};

/// What the running VMs of a host have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) cpus: u64,
    pub(crate) memory_mib: u64,
    pub(crate) cpu_reserved_mhz: u64,
    pub(crate) memory_reserved_mib: u64,
    pub(crate) vms: usize,
}

/// What a resource pool has for its VMs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolRoom {
    pub(crate) usable_mhz: u64,
    pub(crate) usable_mib: u64,
    pub(crate) unreserved_mhz: u64,
    pub(crate) unreserved_mib: u64,
    /// What its own VMs have.
    pub(crate) own: Load,
}

impl Load {
    fn add(&mut self, vm: &Vm) {
        self.cpus += u64::from(vm.cpus);
        self.memory_mib += vm.memory_mib;
        self.cpu_reserved_mhz += vm.cpu.reservation;
        self.memory_reserved_mib += vm.memory_reservation_mib();
        self.vms += 1;
    }
}

impl Estate {
    /// What runs where something is true of a VM.
    pub(crate) fn load(&self, counts: impl Fn(&Vm) -> bool) -> Load {
        let running = self.vms.values().filter(|vm| vm.power == Power::On && counts(vm));
        let mut load = Load::default();
        running.for_each(|vm| load.add(vm));
        load
    }

    pub(crate) fn load_of(&self, host: Ref) -> Load {
        self.load(|vm| vm.host == host)
    }

    /// What every host has to carry, found in one go.
    pub(crate) fn loads(&self) -> BTreeMap<Ref, Load> {
        let mut loads: BTreeMap<Ref, Load> = BTreeMap::new();
        for vm in self.vms.values().filter(|vm| vm.power == Power::On) {
            loads.entry(vm.host).or_default().add(vm);
        }
        loads
    }

    /// The host that a VM is started on, or why there is none. With DRS the one with the most
    /// memory left; without, the one where the VM lies.
    pub(crate) fn host_to_start(
        &self,
        vm: Ref,
        asked: Option<Ref>,
        behaviour: &Behaviour,
    ) -> Result<Ref, Fault> {
        let Some(of) = self.vms.get(&vm) else { return Err(Fault::gone(vm)) };
        let cluster = self.above(of.host, Kind::ClusterComputeResource);
        let drs = cluster.and_then(|cluster| self.clusters.get(&cluster));
        let moves = asked.is_none() && drs.is_some_and(|cluster| cluster.drs);
        let candidates: Vec<Ref> = match cluster {
            Some(cluster) if moves => self.hosts_of(cluster).collect(),
            _ => vec![asked.unwrap_or(of.host)],
        };
        let compatible: Vec<Ref> =
            candidates.into_iter().filter(|host| self.can_host(*host, of)).collect();
        if compatible.is_empty() {
            let host = &self.hosts.get(&of.host);
            if !moves && host.is_some_and(|host| !host.connected) {
                return Err(Fault::host_not_connected(self.name(of.host)));
            }
            return Err(Fault::no_compatible_host());
        }
        if let Some(pool) = of.pool {
            self.room_in_pool(pool, of)?;
        }
        if let Some(cluster) = cluster {
            self.keep_for_failures(cluster, of.memory_mib, behaviour)?;
        }
        let mut best: Option<(u64, Ref)> = None;
        let mut refused = None;
        let loads = self.loads();
        for host in compatible {
            match self.room_for(host, of, loads.get(&host).copied(), behaviour) {
                Ok(left) if best.is_none_or(|(most, _)| left > most) => best = Some((left, host)),
                Ok(_) => {}
                Err(fault) => refused = Some(fault),
            }
        }
        best.map(|(_, host)| host).ok_or_else(|| refused.unwrap_or_else(Fault::no_compatible_host))
    }

    /// What a pool can promise its VMs altogether, and has promised.
    pub(crate) fn pool_room(&self, pool: Ref) -> PoolRoom {
        let cluster = self.above(pool, Kind::ClusterComputeResource);
        let hosts: BTreeSet<Ref> =
            cluster.map(|cluster| self.hosts_of(cluster).collect()).unwrap_or_default();
        let usable = hosts.iter().filter_map(|host| self.hosts.get(host)).filter(|h| h.is_usable());
        let (mut mhz, mut mib) = (0, 0);
        for host in usable {
            mhz += u64::from(host.cores) * u64::from(host.mhz);
            mib += host.memory_mib;
        }
        let all = self.load(|vm: &Vm| hosts.contains(&vm.host));
        let own = self.load(|vm: &Vm| vm.pool == Some(pool));
        let bounds = self.pools.get(&pool).copied().unwrap_or_default();
        let (left_mhz, left_mib) =
            (mhz.saturating_sub(all.cpu_reserved_mhz), mib.saturating_sub(all.memory_reserved_mib));
        PoolRoom {
            usable_mhz: bounds.cpu.usable(mhz),
            usable_mib: bounds.memory.usable(mib),
            unreserved_mhz: bounds.cpu.unreserved(left_mhz, own.cpu_reserved_mhz),
            unreserved_mib: bounds.memory.unreserved(left_mib, own.memory_reserved_mib),
            own,
        }
    }

    /// Whether a VM's pool can promise it what it is to be promised. Of a pool without bounds it is
    /// the hosts that say it.
    fn room_in_pool(&self, pool: Ref, vm: &Vm) -> Result<(), Fault> {
        if !self.pools.contains_key(&pool) {
            return Ok(());
        }
        let room = self.pool_room(pool);
        let memory = vm.memory_reservation_mib();
        if memory > room.unreserved_mib {
            return Err(Fault::pool_memory(room.unreserved_mib, memory));
        }
        if vm.cpu.reservation > room.unreserved_mhz {
            return Err(Fault::pool_cpu(room.unreserved_mhz, vm.cpu.reservation));
        }
        Ok(())
    }

    /// Whether a host is up and has a VM's datastores and networks.
    pub(crate) fn can_host(&self, host: Ref, vm: &Vm) -> bool {
        let up = self.hosts.get(&host).is_some_and(Host::is_usable);
        up && vm.disks().all(|disk| self.mounts(host, disk.datastore))
            && vm.nics().all(|nic| self.connects(host, nic.network))
    }

    pub(crate) fn mounts(&self, host: Ref, datastore: Ref) -> bool {
        self.datastores.get(&datastore).is_some_and(|datastore| datastore.hosts.contains(&host))
    }

    pub(crate) fn connects(&self, host: Ref, network: Ref) -> bool {
        self.networks.get(&network).is_some_and(|network| network.hosts.contains(&host))
    }

    /// How much memory a host has left for a VM, in MiB, or what it lacks.
    fn room_for(
        &self,
        host: Ref,
        vm: &Vm,
        load: Option<Load>,
        behaviour: &Behaviour,
    ) -> Result<u64, Fault> {
        let Some(own) = self.hosts.get(&host) else { return Err(Fault::gone(host)) };
        let load = load.unwrap_or_default();
        let memory = (own.memory_mib as f64 * behaviour.memory_overcommit) as u64;
        let left = memory.saturating_sub(load.memory_mib);
        if vm.memory_mib > left {
            return Err(Fault::host_memory(host, left, vm.memory_mib));
        }
        let cpus = (f64::from(own.cores) * behaviour.cpus_per_core) as u64;
        let left_cpus = cpus.saturating_sub(load.cpus);
        let mhz = u64::from(own.mhz);
        if u64::from(vm.cpus) > left_cpus || vm.cpus > own.cores {
            return Err(Fault::host_cpu(host, left_cpus * mhz, u64::from(vm.cpus) * mhz));
        }
        let reserved = load.cpu_reserved_mhz + vm.cpu.reservation;
        if reserved > u64::from(own.cores) * mhz {
            let left = (u64::from(own.cores) * mhz).saturating_sub(load.cpu_reserved_mhz);
            return Err(Fault::host_cpu(host, left, vm.cpu.reservation));
        }
        Ok(left)
    }

    /// Whether a cluster could still lose the hosts that it keeps room for.
    fn keep_for_failures(
        &self,
        cluster: Ref,
        more_mib: u64,
        behaviour: &Behaviour,
    ) -> Result<(), Fault> {
        let keep = self.clusters.get(&cluster).map_or(0, |cluster| cluster.failover_hosts);
        if keep == 0 {
            return Ok(());
        }
        let hosts: Vec<Ref> = self.hosts_of(cluster).collect();
        let usable = hosts.iter().filter_map(|host| self.hosts.get(host)).filter(|h| h.is_usable());
        let mut sizes: Vec<u64> = usable.map(|host| host.memory_mib).collect();
        sizes.sort_unstable();
        let left: u64 = sizes.iter().take(sizes.len().saturating_sub(keep)).sum();
        let left = (left as f64 * behaviour.memory_overcommit) as u64;
        let used = self.load(|vm| hosts.contains(&vm.host)).memory_mib;
        if used + more_mib > left {
            let message = "Insufficient resources to satisfy configured failover level for HA.";
            return Err(Fault::new("InsufficientFailoverResourcesFault", message));
        }
        Ok(())
    }
}
