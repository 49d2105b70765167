//! Whether datastores have room for machines of a class.

use super::{Finding, Subject};
use crate::{
    clone_spec::Copying,
    inventory::{Datastore, Template},
    machines::Machines,
    node_class::NodeClass,
    vm_settings::Provisioning,
};
use joiner_vim::spec::Backing;

const GIB: u64 = 1 << 30;
/// What a disk that grows with its use takes, as one in so many: a guess.
const THIN_SHARE: u64 = 5;
/// What is to be left of a datastore, as one in so many and in bytes, whichever is more.
const LEFT_SHARE: u64 = 10;
const LEFT_LEAST: u64 = 20 * GIB;

/// Bytes that the largest machine of a class takes.
pub(crate) fn demand(class: &NodeClass, image: &Template, machines: &Machines) -> u64 {
    let of_data: u64 = class
        .spec
        .data_disks
        .iter()
        .flatten()
        .map(|disk| {
            let bytes = disk.size_gib.and_then(|gib| u64::try_from(gib).ok()).unwrap_or_default();
            let mode = Provisioning::read(disk.provisioning_mode.as_deref()).unwrap_or_default();
            takes(bytes.saturating_mul(GIB), mode == Provisioning::Thin)
        })
        .sum();
    let of_system = machines.hardware.values().map(|hardware| {
        let linked =
            matches!(Copying::choose(class, image, hardware.disk_gib), Ok(Copying::Linked(_)));
        let disks = image.details.disks.iter().enumerate().map(|(i, disk)| {
            let asked = if i == 0 { hardware.disk_gib.saturating_mul(GIB) } else { 0 };
            let thin = matches!(
                &disk.backing,
                Some(Backing::FlatDisk(flat)) if flat.thin_provisioned == Some(true)
            );
            takes(disk.bytes.max(asked), linked || thin)
        });
        disks.sum::<u64>()
    });
    of_system.max().unwrap_or_default() + of_data
}

fn takes(bytes: u64, grows: bool) -> u64 {
    if grows { bytes / THIN_SHARE } else { bytes }
}

/// Whether a datastore takes a machine that needs so many bytes, and keeps some.
pub(crate) fn room(class: &str, datastore: &Datastore, demand: u64) -> Finding {
    let subject = Subject::new("datastore", class);
    let Datastore { named, free, capacity, .. } = datastore;
    let gib = |bytes: u64| bytes.div_ceil(GIB);
    let told = format!(
        "{} has {} of {} GiB free, a machine takes about {} GiB",
        named.path,
        free / GIB,
        gib(*capacity),
        gib(demand)
    );
    let left = (capacity / LEFT_SHARE).max(LEFT_LEAST);
    let remedy = "make room, or add another datastore to spec.datastoreSelector";
    if *free < demand {
        subject.problem("DatastoreFull", &format!("{told}; {remedy}"))
    } else if *free < demand.saturating_add(left) {
        let told = format!("{told}, and {} GiB should be left", gib(left));
        subject.warning("DatastoreAlmostFull", &format!("{told}; {remedy}"))
    } else {
        subject.fine(told)
    }
}

#[cfg(test)]
mod tests {
    use joiner_vim::MoRef;

    use super::*;
    use crate::{doctor::Severity, inventory::Named};

    #[test]
    fn a_tenth_or_twenty_gib_stay_free() {
        let judged = |free: u64, capacity: u64| {
            let named = Named {
                reference: MoRef::new("Datastore", "datastore-1"),
                name: "d".to_owned(),
                path: "/dc1/datastore/d".to_owned(),
            };
            let datastore = Datastore {
                named,
                usable: true,
                free: free * GIB,
                capacity: capacity * GIB,
                pod: None,
            };
            room("class", &datastore, 10 * GIB).severity
        };
        assert_eq!(judged(9, 1000), Severity::Problem);
        assert_eq!(judged(109, 1000), Severity::Warning);
        assert_eq!(judged(110, 1000), Severity::Ok);
        assert_eq!((judged(29, 100), judged(30, 100)), (Severity::Warning, Severity::Ok));
    }
}
