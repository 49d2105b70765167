//! Which host has room for a VM.

use std::collections::BTreeMap;

use super::{Estate, Host, Number, Vm};

/// What VMs use of a host.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    pub(crate) mhz: u64,
    pub(crate) memory_mib: u64,
    pub(crate) gpus: u64,
}

/// What a host gives out.
pub(crate) fn room(host: &Host, overcommit: f64) -> (u64, u64) {
    let mhz = u64::from(host.facts.cores) * u64::from(host.facts.mhz);
    let grown = |amount: u64| (amount as f64 * overcommit) as u64;
    (grown(mhz), grown(host.facts.memory_mib))
}

impl Estate {
    /// What all hosts give to VMs.
    pub(crate) fn used_of_hosts(&self) -> BTreeMap<Number, Used> {
        let mut used = BTreeMap::<Number, Used>::new();
        for vm in self.vms.values() {
            let Some(host) = vm.host else { continue };
            let of_host = used.entry(host).or_default();
            of_host.mhz += u64::from(vm.cpus) * u64::from(vm.mhz);
            of_host.memory_mib += vm.memory_mib;
            of_host.gpus += self.gpus(vm.offering);
        }
        used
    }

    /// The host for a VM: of those that have room, tags and, for groups, suitable neighbours, the
    /// one with the most free memory.
    pub(crate) fn place(&self, vm: &Vm, overcommit: f64) -> Option<Number> {
        let used = self.used_of_hosts();
        let offering = self.service_offerings.get(&vm.offering)?;
        let free = |(number, host): (&Number, &Host)| {
            let used = used.get(number).copied().unwrap_or_default();
            let (mhz, memory_mib) = room(host, overcommit);
            let wanted_mhz = u64::from(vm.cpus) * u64::from(vm.mhz);
            let fits = host.zone == vm.zone
                && host.connected
                && vm.cpus <= host.facts.cores
                && used.mhz + wanted_mhz <= mhz
                && used.memory_mib + vm.memory_mib <= memory_mib
                && used.gpus + u64::from(offering.facts.gpus) <= u64::from(host.facts.gpus)
                && offering.facts.host_tags.iter().all(|tag| host.facts.tags.contains(tag))
                && self.neighbours_suit(vm, *number);
            fits.then_some((memory_mib.saturating_sub(used.memory_mib), *number))
        };
        let best = self.hosts.iter().filter_map(free);
        best.max_by_key(|(room, number)| (*room, std::cmp::Reverse(*number))).map(|(_, host)| host)
    }

    /// Whether groups of a VM allow a host.
    fn neighbours_suit(&self, vm: &Vm, host: Number) -> bool {
        vm.affinity_groups.iter().all(|group| {
            let Some(kind) = self.affinity_groups.get(group).map(|group| group.kind.as_str())
            else {
                return true;
            };
            let mut others = self.vms.values().filter(|other| {
                other.id != vm.id && other.host.is_some() && other.affinity_groups.contains(group)
            });
            match kind {
                "host anti-affinity" => others.all(|other| other.host != Some(host)),
                "host affinity" => others.all(|other| other.host == Some(host)),
                _ => true,
            }
        })
    }
}
