//! The capacity of a place: working hosts, space in datastores, and free resources of its pool.
//!
//! A class may ask with `capacityCheck` that this is looked at before an instance is asked for; the
//! doctor looks always. A clone may still fail afterwards; correctness never depends on this check.

use joiner_vim::{
    MoRef, Object,
    spec::{Allocation, Backing},
};

use crate::{
    clone_spec::Copying,
    instances::{Hardware, Instances},
    inventory::{Datastore, Template},
    node_class::NodeClass,
    resources,
    vm_settings::Provisioning,
};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// The space that always stays free in a datastore: this much, or one in so many bytes.
const LEFT_BYTES: u64 = 20 * GIB;
const LEFT_SHARE: u64 = 10;
/// What a disk that grows with its use takes, as one in so many bytes: a guess.
const THIN_SHARE: u64 = 5;

/// Properties of hosts that instances depend on.
pub(crate) const HOSTS: &[&str] = &[
    "name",
    "runtime.connectionState",
    "runtime.inMaintenanceMode",
    "runtime.inQuarantineMode",
    "datastore",
    "network",
];

/// A host, as far as instances depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) name: String,
    /// Why it takes no instances at all.
    pub(crate) out_of_use: Option<&'static str>,
    pub(crate) datastores: Vec<MoRef>,
    pub(crate) networks: Vec<MoRef>,
}

impl Host {
    pub(crate) fn read(object: &Object) -> Self {
        let is = |path: &str| object.parse(path) == Some(true);
        let out_of_use = if object.text("runtime.connectionState") != Some("connected") {
            Some("is not connected")
        } else if is("runtime.inMaintenanceMode") {
            Some("is in maintenance")
        } else if is("runtime.inQuarantineMode") {
            Some("is in quarantine")
        } else {
            None
        };
        Self {
            name: object.text("name").unwrap_or_default().to_owned(),
            out_of_use,
            datastores: object.references("datastore"),
            networks: object.references("network"),
        }
    }

    /// Why no instance in these networks and in any of these datastores could run here.
    pub(crate) fn objection<'d>(
        &self,
        mut datastores: impl Iterator<Item = &'d MoRef>,
        networks: &[MoRef],
    ) -> Option<&'static str> {
        if self.out_of_use.is_some() {
            self.out_of_use
        } else if !datastores.any(|own| self.datastores.contains(own)) {
            Some("mounts none of the datastores")
        } else if !networks.iter().all(|own| self.networks.contains(own)) {
            Some("does not see all networks")
        } else {
            None
        }
    }
}

/// Properties of resource pools that instances depend on: of processors in MHz, of memory in bytes.
pub(crate) const POOLS: &[&str] = &[
    "summary.runtime.cpu.unreservedForVm",
    "summary.runtime.memory.unreservedForVm",
    "summary.runtime.memory.maxUsage",
];

/// What a resource pool may give to one more instance. Values that vCenter does not report set no
/// limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PoolRoom {
    /// What of its processors it has not promised to others.
    pub(crate) unreserved_mhz: Option<u64>,
    /// What of its memory it has not promised to others.
    pub(crate) unreserved_mib: Option<u64>,
    /// How much memory its instances may use at all.
    pub(crate) usable_mib: Option<u64>,
}

impl PoolRoom {
    pub(crate) fn read(object: &Object) -> Self {
        let mib = |path: &str| object.parse::<u64>(path).map(|bytes| bytes / MIB);
        let [cpu, memory, usable] = [POOLS[0], POOLS[1], POOLS[2]];
        Self {
            unreserved_mhz: object.parse(cpu),
            unreserved_mib: mib(memory),
            usable_mib: mib(usable),
        }
    }

    /// Why the pool cannot take an instance, with the numbers.
    pub(crate) fn objection(&self, demand: &PoolDemand) -> Option<String> {
        let PoolDemand { memory_mib, promised_mib, promised_mhz } = *demand;
        let is_short = |has: Option<u64>, wanted: u64| has.filter(|has| wanted > *has);
        if let Some(has) = is_short(self.usable_mib, memory_mib) {
            return Some(format!(
                "lets its instances use {has} MiB of memory, and one of this size has {memory_mib}"
            ));
        }
        if let Some(has) = is_short(self.unreserved_mib, promised_mib) {
            return Some(format!(
                "can promise {has} MiB more of memory, and one of this size needs {promised_mib}"
            ));
        }
        let has = is_short(self.unreserved_mhz, promised_mhz)?;
        Some(format!("can promise {has} MHz more, and one of this size needs {promised_mhz}"))
    }
}

/// What an instance asks of its resource pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PoolDemand {
    pub(crate) memory_mib: u64,
    /// Memory that it is promised.
    pub(crate) promised_mib: u64,
    /// Processors that it is promised.
    pub(crate) promised_mhz: u64,
}

impl PoolDemand {
    /// What an instance of a size asks for.
    pub(crate) fn of(
        class: &NodeClass,
        instances: &Instances,
        size: &str,
        hardware: &Hardware,
    ) -> Self {
        let has_devices = instances.devices.get(size).is_some_and(|own| !own.is_empty());
        let memory_mib = hardware.memory_mib;
        let (cpu, memory) = resources::allocations(&class.spec, memory_mib);
        let promised = |own: Option<Allocation>| own.and_then(|own| own.reservation).unwrap_or(0);
        // Devices of hosts reach into memory that must stay where it is.
        let promised_mib = if has_devices { memory_mib } else { promised(memory) };
        Self { memory_mib, promised_mib, promised_mhz: promised(cpu) }
    }
}

/// Bytes that an instance of a class with such a first disk takes when it is made.
pub(crate) fn needed_space(class: &NodeClass, image: &Template, root_gib: u64) -> u64 {
    let linked = matches!(Copying::choose(class, image, root_gib), Ok(Copying::Linked(_)));
    let of_system = image.details.disks.iter().enumerate().map(|(i, disk)| {
        let asked = if i == 0 { root_gib.saturating_mul(GIB) } else { 0 };
        let thin = matches!(
            &disk.backing,
            Some(Backing::FlatDisk(flat)) if flat.thin_provisioned == Some(true)
        );
        takes(disk.bytes.max(asked), linked || thin)
    });
    let of_data = class.spec.data_disks.iter().flatten().map(|disk| {
        let gib = disk.size_gib.and_then(|gib| u64::try_from(gib).ok()).unwrap_or_default();
        let mode = Provisioning::read(disk.provisioning_mode.as_deref()).unwrap_or_default();
        takes(gib.saturating_mul(GIB), mode == Provisioning::Thin)
    });
    of_system.chain(of_data).fold(0, u64::saturating_add)
}

fn takes(bytes: u64, grows: bool) -> u64 {
    if grows { bytes / THIN_SHARE } else { bytes }
}

/// Bytes that always stay free in a datastore.
pub(crate) fn left_free(capacity: u64) -> u64 {
    LEFT_BYTES.max(capacity / LEFT_SHARE)
}

/// The resource that a place lacks, in one word; none if one of its datastores has room.
pub(crate) fn short_of(
    hosts: &[Host],
    networks: &[MoRef],
    datastores: &[Datastore],
    needed: u64,
) -> Option<&'static str> {
    let has_space = |datastore: &&Datastore| {
        let left = left_free(datastore.capacity);
        datastore.usable && datastore.free >= needed.saturating_add(left)
    };
    let roomy = || datastores.iter().filter(has_space).map(|datastore| &datastore.named.reference);
    if roomy().next().is_none() {
        return Some("space");
    }
    let is_served = hosts.iter().any(|host| host.objection(roomy(), networks).is_none());
    (!is_served).then_some("host")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::Named;

    fn reference(id: &str) -> MoRef {
        MoRef::new("ManagedObject", id)
    }

    fn datastore(id: &str, free_gib: u64) -> Datastore {
        let named = Named { reference: reference(id), name: id.to_owned(), path: id.to_owned() };
        Datastore { named, usable: true, free: free_gib * GIB, capacity: 1000 * GIB, pod: None }
    }

    fn host(datastores: &[&str]) -> Host {
        Host {
            name: "esx1".to_owned(),
            out_of_use: None,
            datastores: datastores.iter().map(|id| reference(id)).collect(),
            networks: vec![reference("net")],
        }
    }

    fn short(hosts: &[Host], datastores: &[Datastore], needed_gib: u64) -> Option<&'static str> {
        short_of(hosts, &[reference("net")], datastores, needed_gib * GIB)
    }

    #[test]
    fn a_pool_takes_what_it_can_promise_and_what_may_be_used_at_all() {
        let pool = PoolRoom {
            unreserved_mhz: Some(2000),
            unreserved_mib: Some(1024),
            usable_mib: Some(8192),
        };
        let said = |memory_mib, promised_mib, promised_mhz| {
            let demand = PoolDemand { memory_mib, promised_mib, promised_mhz };
            pool.objection(&demand).unwrap_or_default()
        };
        assert_eq!(said(8192, 1024, 2000), "");
        assert_eq!(
            said(8196, 0, 0),
            "lets its instances use 8192 MiB of memory, and one of this size has 8196"
        );
        assert_eq!(
            said(4096, 1025, 0),
            "can promise 1024 MiB more of memory, and one of this size needs 1025"
        );
        assert_eq!(
            said(4096, 0, 2001),
            "can promise 2000 MHz more, and one of this size needs 2001"
        );
        let nothing_is_said = PoolRoom::default();
        let huge = PoolDemand { memory_mib: 1 << 40, promised_mib: 1 << 40, promised_mhz: 1 << 40 };
        assert_eq!(nothing_is_said.objection(&huge), None, "unknown is not full");
    }

    #[test]
    fn a_tenth_of_a_datastore_stays_free_whatever_is_asked_for() {
        assert_eq!(short(&[host(&["a"])], &[datastore("a", 160)], 60), None);
        assert_eq!(short(&[host(&["a"])], &[datastore("a", 159)], 60), Some("space"));
        let mut small = datastore("a", 30);
        small.capacity = 50 * GIB;
        assert_eq!(short(&[host(&["a"])], &[small.clone()], 10), None, "20 GiB at least");
        assert_eq!(short(&[host(&["a"])], &[small], 11), Some("space"));
    }

    #[test]
    fn somewhere_there_has_to_be_a_host_with_the_datastore_and_the_network() {
        let datastores = [datastore("full", 0), datastore("roomy", 500)];
        assert_eq!(short(&[host(&["full"]), host(&["roomy"])], &datastores, 60), None);
        assert_eq!(short(&[host(&["full"])], &datastores, 60), Some("host"));
        let away = Host { out_of_use: Some("is away"), ..host(&["roomy"]) };
        assert_eq!(short(&[away], &datastores, 60), Some("host"));
        let elsewhere = Host { networks: Vec::new(), ..host(&["roomy"]) };
        assert_eq!(short(&[elsewhere], &datastores, 60), Some("host"));
    }
}
