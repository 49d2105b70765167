//! Whether a place has room for a machine, before one is asked for there.
//!
//! A class asks for this with `capacityCheck`. What is found short is not offered; that a clone fails
//! all the same is always possible, and nothing depends on it.

use joiner_vim::{MoRef, Object, spec::Backing};

use crate::{
    clone_spec::Copying,
    inventory::{Datastore, Template},
};

const GIB: u64 = 1 << 30;

/// What is left free in a datastore, whatever is asked for: this much, or a share of it.
const LEFT_BYTES: u64 = 20 * GIB;
const LEFT_PERCENT: u64 = 10;
/// How much of a disk that grows as it is written to is taken into account, in percent.
const THIN_PERCENT: u64 = 20;

/// Properties of hosts that room depends on.
pub(crate) const HOSTS: &[&str] = &[
    "runtime.connectionState",
    "runtime.inMaintenanceMode",
    "runtime.inQuarantineMode",
    "datastore",
    "network",
];

/// A host that machines may run on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Host {
    /// Whether it can be used now.
    pub(crate) usable: bool,
    pub(crate) datastores: Vec<MoRef>,
    pub(crate) networks: Vec<MoRef>,
}

impl Host {
    pub(crate) fn read(object: &Object) -> Self {
        let is = |path: &str| object.parse(path) == Some(true);
        Self {
            usable: object.text("runtime.connectionState") == Some("connected")
                && !is("runtime.inMaintenanceMode")
                && !is("runtime.inQuarantineMode"),
            datastores: object.references("datastore"),
            networks: object.references("network"),
        }
    }
}

/// How much space a machine takes when it is made: all of its disks, or little of those that grow as
/// they are written to.
pub(crate) fn needed_space(template: &Template, copying: &Copying, root_gib: u64) -> u64 {
    let mut disks = template.details.disks.iter();
    let root = disks.next();
    let thin = root.is_some_and(|root| {
        matches!(&root.backing, Some(Backing::FlatDisk(flat)) if flat.thin_provisioned == Some(true))
    });
    let root = root.map_or(0, |root| root.bytes).max(root_gib * GIB);
    let all = root + disks.map(|disk| disk.bytes).sum::<u64>();
    if thin || matches!(copying, Copying::Linked(_)) { all / 100 * THIN_PERCENT } else { all }
}

/// What a place is short of, in a word; nothing if there is room in one of its datastores.
pub(crate) fn short_of(
    hosts: &[Host],
    network: &MoRef,
    datastores: &[Datastore],
    needed: u64,
) -> Option<&'static str> {
    let has_space = |datastore: &&Datastore| {
        let left = LEFT_BYTES.max(datastore.capacity / 100 * LEFT_PERCENT);
        datastore.usable && datastore.free >= needed.saturating_add(left)
    };
    let roomy: Vec<&Datastore> = datastores.iter().filter(has_space).collect();
    if roomy.is_empty() {
        return Some("space");
    }
    let serves = |host: &Host, datastore: &Datastore| {
        host.usable
            && host.networks.contains(network)
            && host.datastores.contains(&datastore.named.reference)
    };
    let is_served = |datastore: &&&Datastore| hosts.iter().any(|host| serves(host, datastore));
    roomy.iter().find(is_served).is_none().then_some("host")
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
            usable: true,
            datastores: datastores.iter().map(|id| reference(id)).collect(),
            networks: vec![reference("net")],
        }
    }

    fn short(hosts: &[Host], datastores: &[Datastore], needed_gib: u64) -> Option<&'static str> {
        short_of(hosts, &reference("net"), datastores, needed_gib * GIB)
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
        let away = Host { usable: false, ..host(&["roomy"]) };
        assert_eq!(short(&[away], &datastores, 60), Some("host"));
        let elsewhere = Host { networks: Vec::new(), ..host(&["roomy"]) };
        assert_eq!(short(&[elsewhere], &datastores, 60), Some("host"));
    }
}
