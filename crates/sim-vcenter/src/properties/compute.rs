//! Properties of clusters, hosts and resource pools.

use std::collections::BTreeSet;

use super::status;
use crate::{
    estate::{Host, PoolBounds},
    reference::{Kind, Ref},
    wire::value::Value::{self, Bool, Data, Int, Long, Ref as Named, Short},
    world::World,
};

pub(super) fn cluster<'w>(world: &'w World, object: Ref, name: &str) -> Option<Value<'w>> {
    let estate = &world.estate;
    let own = estate.clusters.get(&object)?;
    let hosts: BTreeSet<Ref> = estate.hosts_of(object).collect();
    Some(match name {
        "host" => Value::refs(hosts),
        "datastore" => {
            let mounted = estate.datastores.iter().filter(|(_, of)| !of.hosts.is_disjoint(&hosts));
            Value::refs(mounted.map(|(datastore, _)| *datastore))
        }
        "network" => {
            let seen = estate.networks.iter().filter(|(_, of)| !of.hosts.is_disjoint(&hosts));
            Value::refs(seen.map(|(network, _)| *network))
        }
        "resourcePool" => Value::maybe(estate.root_pool(object), Named),
        "summary" => {
            let all: Vec<&Host> = hosts.iter().filter_map(|host| estate.hosts.get(host)).collect();
            let usable: Vec<&&Host> = all.iter().filter(|host| host.is_usable()).collect();
            let cores: u32 = all.iter().map(|host| host.cores).sum();
            let mhz = |host: &Host| u64::from(host.cores) * u64::from(host.mhz);
            let memory: u64 = all.iter().map(|host| host.memory_mib << 20).sum();
            let effective: u64 = usable.iter().map(|host| host.memory_mib).sum();
            Value::sub(
                "ClusterComputeResourceSummary",
                vec![
                    ("totalCpu", Int(all.iter().map(|host| mhz(host)).sum::<u64>() as i32)),
                    ("totalMemory", Long(memory as i64)),
                    ("numCpuCores", Short(cores as i16)),
                    ("numCpuThreads", Short((cores * 2) as i16)),
                    ("effectiveCpu", Int(usable.iter().map(|host| mhz(host)).sum::<u64>() as i32)),
                    ("effectiveMemory", Long(effective as i64)),
                    ("numHosts", Int(all.len() as i32)),
                    ("numEffectiveHosts", Int(usable.len() as i32)),
                    ("overallStatus", status()),
                    ("currentFailoverLevel", Int(own.failover_hosts as i32)),
                    ("numVmotions", Int(0)),
                ],
            )
        }
        "configurationEx" => Value::sub(
            "ClusterConfigInfoEx",
            vec![
                (
                    "dasConfig",
                    Data(
                        "ClusterDasConfigInfo",
                        vec![("enabled", Bool(own.ha || own.failover_hosts > 0))],
                    ),
                ),
                (
                    "drsConfig",
                    Data(
                        "ClusterDrsConfigInfo",
                        vec![
                            ("enabled", Bool(own.drs)),
                            ("defaultVmBehavior", Value::word("DrsBehavior", "fullyAutomated")),
                        ],
                    ),
                ),
                (
                    "group",
                    Value::List("ClusterGroupInfo", own.vm_groups.iter().map(vm_group).collect()),
                ),
            ],
        ),
        _ => return None,
    })
}

fn vm_group<'w>((name, members): (&'w String, &'w BTreeSet<Ref>)) -> Value<'w> {
    let members = Value::refs(members.iter().copied());
    Value::sub("ClusterVmGroup", vec![("name", Value::text(&**name)), ("vm", members)])
}

pub(super) fn host<'w>(world: &'w World, object: Ref, name: &str) -> Option<Value<'w>> {
    let estate = &world.estate;
    let own = estate.hosts.get(&object)?;
    Some(match name {
        "runtime" => runtime(own),
        "summary" => {
            let load = estate.load_of(object);
            let usage = Data(
                "HostListSummaryQuickStats",
                vec![
                    ("overallCpuUsage", Int((load.cpus * u64::from(own.mhz) / 10) as i32)),
                    ("overallMemoryUsage", Int(load.memory_mib as i32)),
                ],
            );
            let hardware = Data(
                "HostHardwareSummary",
                vec![
                    ("vendor", Value::text("Example")),
                    ("model", Value::text("Server")),
                    ("uuid", Value::text(&*own.uuid)),
                    ("memorySize", Long((own.memory_mib << 20) as i64)),
                    ("cpuModel", Value::text("Example CPU")),
                    ("cpuMhz", Int(own.mhz as i32)),
                    ("numCpuPkgs", Short(2)),
                    ("numCpuCores", Short(own.cores as i16)),
                    ("numCpuThreads", Short((own.cores * 2) as i16)),
                ],
            );
            let config =
                Data("HostConfigSummary", vec![("name", Value::text(estate.name(object)))]);
            Data(
                "HostListSummary",
                vec![
                    ("host", Named(object)),
                    ("hardware", hardware),
                    ("runtime", runtime(own)),
                    ("config", config),
                    ("quickStats", usage),
                    ("overallStatus", status()),
                    ("rebootRequired", Bool(false)),
                ],
            )
        }
        "hardware" => Data(
            "HostHardwareInfo",
            vec![
                (
                    "cpuInfo",
                    Data(
                        "HostCpuInfo",
                        vec![
                            ("numCpuPackages", Short(2)),
                            ("numCpuCores", Short(own.cores as i16)),
                            ("numCpuThreads", Short((own.cores * 2) as i16)),
                            ("hz", Long(i64::from(own.mhz) * 1_000_000)),
                        ],
                    ),
                ),
                ("memorySize", Long((own.memory_mib << 20) as i64)),
            ],
        ),
        "vm" => Value::refs(estate.vms_where(|vm| vm.host == object)),
        "datastore" => {
            let mounted = estate.datastores.keys().filter(|at| estate.mounts(object, **at));
            Value::refs(mounted.copied())
        }
        "network" => {
            let seen = estate.networks.keys().filter(|network| estate.connects(object, **network));
            Value::refs(seen.copied())
        }
        _ => return None,
    })
}

fn runtime(own: &Host) -> Value<'static> {
    let (connection, power) =
        if own.connected { ("connected", "poweredOn") } else { ("notResponding", "unknown") };
    Data(
        "HostRuntimeInfo",
        vec![
            ("connectionState", Value::word("HostSystemConnectionState", connection)),
            ("powerState", Value::word("HostSystemPowerState", power)),
            ("inMaintenanceMode", Bool(own.maintenance)),
            ("inQuarantineMode", Bool(false)),
            ("bootTime", Value::Unset),
        ],
    )
}

pub(super) fn pool<'w>(world: &'w World, object: Ref, name: &str) -> Option<Value<'w>> {
    let estate = &world.estate;
    let tree = &estate.tree;
    Some(match name {
        "owner" => Value::maybe(estate.above(object, Kind::ClusterComputeResource), Named),
        "resourcePool" => Value::refs(tree.children(object)),
        "vm" => Value::refs(estate.vms_where(|vm| vm.pool == Some(object))),
        "config" => pool_config(world, object),
        "runtime" => pool_runtime(world, object),
        "summary" => Value::sub(
            "ResourcePoolSummary",
            vec![
                ("name", Value::text(tree.name(object))),
                ("config", pool_config(world, object)),
                ("runtime", pool_runtime(world, object)),
                ("configuredMemoryMB", Value::Unset),
            ],
        ),
        _ => return None,
    })
}

fn pool_config(world: &World, object: Ref) -> Value<'static> {
    let own = world.estate.pools.get(&object).copied().unwrap_or_default();
    let allocation = |own: PoolBounds| {
        Data(
            "ResourceAllocationInfo",
            vec![
                ("reservation", Long(own.reservation.unwrap_or_default() as i64)),
                ("expandableReservation", Bool(own.reservation.is_none())),
                ("limit", Long(own.limit.map_or(-1, |limit| limit as i64))),
                (
                    "shares",
                    Data(
                        "SharesInfo",
                        vec![
                            ("shares", Int(4000)),
                            ("level", Value::word("SharesLevel", "normal")),
                        ],
                    ),
                ),
            ],
        )
    };
    Data(
        "ResourceConfigSpec",
        vec![
            ("entity", Value::Unset),
            ("cpuAllocation", allocation(own.cpu)),
            ("memoryAllocation", allocation(own.memory)),
        ],
    )
}

/// What a pool may still give away.
fn pool_runtime(world: &World, object: Ref) -> Value<'static> {
    let room = world.estate.pool_room(object);
    let own = room.own;
    let usage = |usable: u64, unreserved: u64, reserved: u64, used: u64| {
        let left = Long(unreserved as i64);
        Data(
            "ResourcePoolResourceUsage",
            vec![
                ("reservationUsed", Long(reserved as i64)),
                ("reservationUsedForVm", Long(reserved as i64)),
                ("unreservedForPool", left.clone()),
                ("unreservedForVm", left),
                ("overallUsage", Long(used as i64)),
                ("maxUsage", Long(usable as i64)),
            ],
        )
    };
    let bytes = |mib: u64| mib << 20;
    let memory = usage(
        bytes(room.usable_mib),
        bytes(room.unreserved_mib),
        bytes(own.memory_reserved_mib),
        bytes(own.memory_mib),
    );
    let cpu = usage(room.usable_mhz, room.unreserved_mhz, own.cpu_reserved_mhz, own.cpus * 100);
    Data(
        "ResourcePoolRuntimeInfo",
        vec![("memory", memory), ("cpu", cpu), ("overallStatus", status())],
    )
}
