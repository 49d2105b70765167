//! Which CPUs an instance gets for itself: the kubelet's packed algorithm with whole caches
//! preferred.
//!
//! Whole units are taken first, from the largest to the smallest: NUMA nodes or processors, caches,
//! cores, CPUs. Among units of one kind the one with the fewest free CPUs comes first, so that whole
//! ones stay whole.

use std::collections::BTreeMap;

use super::{cpu_set::CpuSet, topology::Topology};

/// Units of one kind, by their number.
type Units = BTreeMap<u32, CpuSet>;

/// So many of the `free` CPUs; none where there are too few.
pub fn take(topology: &Topology, free: &CpuSet, count: u32) -> Option<CpuSet> {
    if count > free.len() {
        return None;
    }
    let mut choice = Choice {
        topology,
        free: free.clone(),
        taken: CpuSet::default(),
        needed: count,
        is_numa_first: topology.socket_count >= topology.numa_nodes.len() as u32,
    };
    choice.take_first_level();
    choice.take_second_level();
    choice.take_caches();
    choice.take_cores();
    choice.take_cpus();
    (choice.needed == 0).then_some(choice.taken)
}

struct Choice<'t> {
    topology: &'t Topology,
    free: CpuSet,
    taken: CpuSet,
    needed: u32,
    /// Whether a NUMA node holds whole processors, and not the other way round.
    is_numa_first: bool,
}

impl Choice<'_> {
    fn take(&mut self, cpus: &CpuSet) {
        self.free = self.free.difference(cpus);
        self.taken = self.taken.union(cpus);
        self.needed -= cpus.len();
    }

    fn take_first_level(&mut self) {
        if self.is_numa_first { self.take_numa_nodes() } else { self.take_sockets() }
    }

    fn take_second_level(&mut self) {
        if self.is_numa_first { self.take_sockets() } else { self.take_numa_nodes() }
    }

    fn take_numa_nodes(&mut self) {
        let units = &self.topology.numa_nodes;
        self.take_whole(units, &self.numa_nodes(), |_, unit| unit.len());
    }

    fn take_sockets(&mut self) {
        let units = &self.topology.sockets;
        self.take_whole(units, &self.sockets(), |topology, _| topology.cpus_per_socket());
    }

    fn take_cores(&mut self) {
        let units = &self.topology.cores;
        self.take_whole(units, &self.cores(), |topology, _| topology.cpus_per_core());
    }

    /// Takes units that are free as a whole, as long as that many CPUs are needed. `whole` is how
    /// many CPUs a unit has when all of it is free.
    fn take_whole(
        &mut self,
        units: &Units,
        order: &[u32],
        whole: impl Fn(&Topology, &CpuSet) -> u32,
    ) {
        // Which units are free is asked once, before any of them is taken.
        let is_free = |id: &&u32| {
            let unit = &units[*id];
            unit.intersection(&self.free).len() == whole(self.topology, unit)
        };
        let free: Vec<u32> = order.iter().filter(is_free).copied().collect();
        for id in free {
            let unit = &units[&id];
            let is_still_free = unit.difference(&self.free).is_empty();
            if is_still_free && self.needed >= unit.len() {
                self.take(unit);
            }
        }
    }

    fn take_caches(&mut self) {
        let units = &self.topology.caches;
        for id in self.caches() {
            if self.needed >= self.topology.cpus_per_cache() {
                self.take_whole(units, &self.caches(), |_, unit| unit.len());
            }
            if self.needed == 0 {
                return;
            }
            self.take_of_cache(&units[&id]);
            if self.needed == 0 {
                return;
            }
        }
    }

    /// Takes what is needed of one cache, if the cache alone has it.
    fn take_of_cache(&mut self, cache: &CpuSet) {
        let per_core = self.topology.cpus_per_core().max(1);
        let cores_needed = self.needed.div_ceil(per_core) as usize;
        let cores = &self.topology.cores;
        let has_free =
            |core: &&CpuSet| !core.intersection(cache).intersection(&self.free).is_empty();
        let mut cpus: CpuSet = cores
            .values()
            .filter(has_free)
            .take(cores_needed)
            .flat_map(|core| core.intersection(&self.free).iter().collect::<Vec<_>>())
            .collect();
        // An odd number leaves one thread of the last core to others.
        if !self.needed.is_multiple_of(2) && per_core > 1 && cpus.len() > self.needed {
            let all_but_last = cpus.len() as usize - 1;
            cpus = cpus.iter().take(all_but_last).collect();
        }
        if cpus.len() == self.needed {
            self.take(&cpus);
        }
    }

    fn take_cpus(&mut self) {
        let cores = self.cores();
        let in_order: Vec<u32> = cores
            .iter()
            .flat_map(|id| {
                self.topology.cores[id].intersection(&self.free).iter().collect::<Vec<_>>()
            })
            .collect();
        for cpu in in_order {
            if self.needed == 0 {
                return;
            }
            if self.free.contains(cpu) {
                self.take(&CpuSet::range(cpu, 1));
            }
        }
    }

    /// NUMA nodes with free CPUs, in the order in which they are taken.
    fn numa_nodes(&self) -> Vec<u32> {
        let units = &self.topology.numa_nodes;
        if self.is_numa_first {
            self.sorted(units, None)
        } else {
            self.within(units, &self.topology.sockets, &self.sockets())
        }
    }

    /// Processors with free CPUs, in the order in which they are taken.
    fn sockets(&self) -> Vec<u32> {
        let units = &self.topology.sockets;
        if self.is_numa_first {
            self.within(units, &self.topology.numa_nodes, &self.numa_nodes())
        } else {
            self.sorted(units, None)
        }
    }

    /// Cores with free CPUs, in the order in which they are taken.
    fn cores(&self) -> Vec<u32> {
        let units = &self.topology.cores;
        if self.is_numa_first {
            self.within(units, &self.topology.sockets, &self.sockets())
        } else {
            self.within(units, &self.topology.numa_nodes, &self.numa_nodes())
        }
    }

    /// Caches with free CPUs, in the order in which they are taken.
    fn caches(&self) -> Vec<u32> {
        self.within(&self.topology.caches, &self.topology.numa_nodes, &self.numa_nodes())
    }

    /// Units of larger ones, in the order of the larger ones.
    fn within(&self, units: &Units, larger: &Units, order: &[u32]) -> Vec<u32> {
        order.iter().flat_map(|id| self.sorted(units, Some(&larger[id]))).collect()
    }

    /// Units that have free CPUs within a larger one, those with the fewest free CPUs first.
    fn sorted(&self, units: &Units, within: Option<&CpuSet>) -> Vec<u32> {
        let free_within = within.map(|within| self.free.intersection(within));
        let free_within = free_within.as_ref().unwrap_or(&self.free);
        let mut found: Vec<(u32, u32)> = units
            .iter()
            .filter(|(_, unit)| !unit.intersection(free_within).is_empty())
            .map(|(id, unit)| (unit.intersection(&self.free).len(), *id))
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, id)| id).collect()
    }
}
