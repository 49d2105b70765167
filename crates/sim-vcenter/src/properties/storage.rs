//! Properties of datastores and of clusters of them.

use crate::{
    reference::{Kind, Ref},
    wire::value::Value::{self, Bool, Data, List, Long, Ref as Named},
    world::World,
};

pub(super) fn datastore<'w>(world: &'w World, object: Ref, name: &str) -> Option<Value<'w>> {
    let estate = &world.estate;
    let own = estate.datastores.get(&object)?;
    let url = || Value::text(format!("ds:///vmfs/volumes/{}/", own.uuid));
    let free = Long(own.free_bytes() as i64);
    Some(match name {
        "summary" => Data(
            "DatastoreSummary",
            vec![
                ("datastore", Named(object)),
                ("name", Value::text(estate.name(object))),
                ("url", url()),
                ("capacity", Long(own.capacity_bytes as i64)),
                ("freeSpace", free),
                ("uncommitted", Value::Unset),
                ("accessible", Bool(own.accessible)),
                ("multipleHostAccess", Bool(own.hosts.len() > 1)),
                ("type", Value::text("VMFS")),
                (
                    "maintenanceMode",
                    Value::text(if own.maintenance { "inMaintenance" } else { "normal" }),
                ),
            ],
        ),
        "info" => Value::sub(
            "VmfsDatastoreInfo",
            vec![
                ("name", Value::text(estate.name(object))),
                ("url", url()),
                ("freeSpace", free),
                ("maxFileSize", Long(62 << 40)),
            ],
        ),
        "host" => {
            let mounts = own.hosts.iter().map(|host| {
                let mount = Data(
                    "HostMountInfo",
                    vec![
                        ("path", Value::text(format!("/vmfs/volumes/{}", own.uuid))),
                        ("accessMode", Value::text("readWrite")),
                        ("mounted", Bool(true)),
                        ("accessible", Bool(own.accessible)),
                    ],
                );
                Data("DatastoreHostMount", vec![("key", Named(*host)), ("mountInfo", mount)])
            });
            List("DatastoreHostMount", mounts.collect())
        }
        "vm" => Value::refs(estate.vms_where(|vm| vm.disks().any(|disk| disk.datastore == object))),
        _ => return None,
    })
}

pub(super) fn pod<'w>(world: &'w World, object: Ref, name: &str) -> Option<Value<'w>> {
    let estate = &world.estate;
    let members = || estate.tree.children(object);
    Some(match name {
        "childEntity" => Value::refs(members()),
        "childType" => Value::texts([Kind::Datastore.name()]),
        "summary" => {
            let all = || members().filter_map(|member| estate.datastores.get(&member));
            let capacity: u64 = all().map(|datastore| datastore.capacity_bytes).sum();
            let free: u64 = all().map(super::super::estate::Datastore::free_bytes).sum();
            Data(
                "StoragePodSummary",
                vec![
                    ("name", Value::text(estate.name(object))),
                    ("capacity", Long(capacity as i64)),
                    ("freeSpace", Long(free as i64)),
                ],
            )
        }
        "podStorageDrsEntry" => {
            let pod = Data("StorageDrsPodConfigInfo", vec![("enabled", Bool(true))]);
            let config = Data("StorageDrsConfigInfo", vec![("podConfig", pod)]);
            Data("PodStorageDrsEntry", vec![("storageDrsConfig", config)])
        }
        _ => return None,
    })
}
