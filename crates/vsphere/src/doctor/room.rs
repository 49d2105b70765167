//! Whether datastores and resource pools have room for instances of a class.

use joiner_cloud::doctor::{Finding, Subject};

use crate::{
    instances::Instances,
    inventory::Datastore,
    node_class::NodeClass,
    room::{PoolDemand, PoolRoom, left_free},
};

const GIB: u64 = 1 << 30;

/// Whether a datastore takes an instance that needs so many bytes, and keeps some.
pub(crate) fn room(class: &str, datastore: &Datastore, demand: u64) -> Finding {
    let subject = Subject::new("datastore", class);
    let Datastore { named, free, capacity, .. } = datastore;
    let gib = |bytes: u64| bytes.div_ceil(GIB);
    let told = format!(
        "{} has {} of {} GiB free, an instance takes about {} GiB",
        named.path,
        free / GIB,
        gib(*capacity),
        gib(demand)
    );
    let left = left_free(*capacity);
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

/// What a resource pool cannot take; nothing is said of one that takes every size.
pub(crate) fn pool(
    subject: Subject<'_>,
    path: &str,
    pool: &PoolRoom,
    class: &NodeClass,
    instances: &Instances,
) -> Option<Finding> {
    let sizes = instances.hardware.iter();
    let refused: Vec<(&str, String)> = sizes
        .filter_map(|(size, hardware)| {
            let demand = PoolDemand::of(class, instances, size, hardware);
            Some((size.as_str(), pool.objection(&demand)?))
        })
        .collect();
    let (size, why) = refused.first()?;
    let others = match refused.len() - 1 {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    let message = format!(
        "no room for {size}{others}: {path} {why}; raise the pool's limit or reservation, add \
         hosts, or choose another"
    );
    Some(if refused.len() == instances.hardware.len() {
        subject.problem("PoolWithoutRoom", &message)
    } else {
        subject.warning("PoolWithoutRoom", &message)
    })
}

#[cfg(test)]
mod tests {
    use joiner_cloud::doctor::Severity;
    use joiner_vim::MoRef;

    use super::*;
    use crate::inventory::Named;

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
