//! Properties of VMs and of their snapshots.

use std::collections::BTreeSet;

use super::{devices::devices, status};
use crate::{
    estate::vm::{Allocation, Power, Snapshot, Vm},
    reference::Ref,
    wire::value::{
        Step,
        Value::{self, Bool, Data, Int, List, Long, Ref as Named, Time, Unset},
    },
    world::World,
};

pub(super) fn vm<'w>(world: &'w World, object: Ref, name: &str) -> Option<Value<'w>> {
    let estate = &world.estate;
    let own = estate.vms.get(&object)?;
    Some(match name {
        // The contents of unreadable files are unknown.
        "config" | CONFIG_WITHOUT_LISTS | EXTRA_CONFIG | DEVICES if own.lost.is_some() => Unset,
        "config" => config(world, object, own, true),
        CONFIG_WITHOUT_LISTS => config(world, object, own, false),
        EXTRA_CONFIG => extra_config(own),
        DEVICES => devices(world, &own.devices),
        "runtime" => runtime(world, own),
        "summary" => Data(
            "VirtualMachineSummary",
            vec![
                ("vm", Named(object)),
                ("runtime", runtime(world, own)),
                ("guest", guest_summary(own)),
                ("config", config_summary(world, object, own)),
                ("quickStats", Data("VirtualMachineQuickStats", Vec::new())),
                ("overallStatus", status()),
            ],
        ),
        "guest" => guest(world, own),
        "datastore" => {
            let mut all: BTreeSet<Ref> = own.disks().map(|disk| disk.datastore).collect();
            all.insert(own.datastore);
            Value::refs(all)
        }
        "network" => Value::refs(own.nics().map(|nic| nic.network).collect::<BTreeSet<_>>()),
        "resourcePool" => Value::maybe(own.pool, Named),
        "snapshot" => snapshots(object, own),
        // There are no vApps here.
        "parentVApp" => Unset,
        "guestHeartbeatStatus" => {
            let up = own.guest.is_some();
            Value::word("ManagedEntityStatus", if up { "green" } else { "gray" })
        }
        _ => return None,
    })
}

// Parts of `config` that are made on their own, since thousands of VMs are asked for them at once.
// None of these is a name that a client could write.
const CONFIG_WITHOUT_LISTS: &str = "config without lists";
const EXTRA_CONFIG: &str = "config, its options alone";
const DEVICES: &str = "config, its devices alone";

/// The part of a VM that a path leads into, and how many steps lead to that part.
pub(super) fn part<'p>(first: &'p str, rest: &[Step<'_>]) -> (&'p str, usize) {
    match (first, rest) {
        ("config", [Step::Field("extraConfig"), ..]) => (EXTRA_CONFIG, 2),
        ("config", [Step::Field("hardware"), Step::Field("device"), ..]) => (DEVICES, 3),
        ("config", [Step::Field("hardware")] | []) => (first, 1),
        ("config", _) => (CONFIG_WITHOUT_LISTS, 1),
        _ => (first, 1),
    }
}

fn extra_config(own: &Vm) -> Value<'_> {
    let options = own.extra.iter().map(|(key, value)| {
        let value = Value::text(&**value).any();
        Value::sub("OptionValue", vec![("key", Value::text(&**key)), ("value", value)])
    });
    List("OptionValue", options.collect())
}

fn config<'w>(world: &'w World, object: Ref, own: &'w Vm, lists: bool) -> Value<'w> {
    let files = Data("VirtualMachineFileInfo", vec![("vmPathName", path_name(world, own))]);
    let flags = Data(
        "VirtualMachineFlagInfo",
        vec![("enableLogging", Bool(true)), ("diskUuidEnabled", Bool(own.disk_uuids))],
    );
    let vapp = own.vapp.then(|| {
        Data(
            "VmConfigInfo",
            vec![("installBootRequired", Bool(false)), ("installBootStopDelay", Int(0))],
        )
    });
    Data(
        "VirtualMachineConfigInfo",
        vec![
            ("changeVersion", Value::text(own.changes.to_string())),
            ("modified", Time(own.created)),
            ("name", Value::text(world.estate.name(object))),
            ("guestFullName", Value::text(&*own.guest_id)),
            ("version", Value::text(format!("vmx-{}", own.hardware))),
            ("uuid", Value::text(&*own.uuid)),
            ("createDate", Time(own.created)),
            ("instanceUuid", Value::text(&*own.instance_uuid)),
            ("locationId", Unset),
            ("template", Bool(own.template)),
            ("guestId", Value::text(&*own.guest_id)),
            ("alternateGuestName", Value::text("")),
            ("annotation", Value::text(&*own.annotation)),
            ("files", files),
            ("flags", flags),
            ("hardware", hardware(world, own, lists)),
            ("cpuAllocation", allocation(&own.cpu)),
            ("memoryAllocation", allocation(&own.memory)),
            ("memoryHotAddEnabled", Bool(false)),
            ("cpuHotAddEnabled", Bool(false)),
            ("extraConfig", if lists { extra_config(own) } else { Unset }),
            ("vAppConfig", vapp.unwrap_or(Unset)),
            ("changeTrackingEnabled", Bool(false)),
            ("firmware", Value::text(&*own.firmware)),
            ("managedBy", Unset),
            ("memoryReservationLockedToMax", Bool(own.memory_locked)),
            ("nestedHVEnabled", Bool(own.nested)),
        ],
    )
}

fn hardware<'w>(world: &'w World, own: &'w Vm, lists: bool) -> Value<'w> {
    Data(
        "VirtualHardware",
        vec![
            ("numCPU", Int(own.cpus as i32)),
            ("numCoresPerSocket", Int(own.cores_per_socket as i32)),
            ("memoryMB", Int(own.memory_mib as i32)),
            ("device", if lists { devices(world, &own.devices) } else { Unset }),
            ("motherboardLayout", Value::maybe(own.mainboard.as_deref(), Value::text)),
        ],
    )
}

fn path_name<'w>(world: &'w World, own: &'w Vm) -> Value<'w> {
    let datastore = world.estate.name(own.datastore);
    Value::text(format!("[{datastore}] {0}/{0}.vmx", own.home))
}

fn allocation(own: &Allocation) -> Value<'_> {
    let (shares, level) = &own.shares;
    let shares = Data(
        "SharesInfo",
        vec![("shares", Int(*shares)), ("level", Value::word("SharesLevel", &**level))],
    );
    Data(
        "ResourceAllocationInfo",
        vec![
            ("reservation", Long(own.reservation as i64)),
            ("expandableReservation", Bool(false)),
            ("limit", Long(own.limit.map_or(-1, |limit| limit as i64))),
            ("shares", shares),
        ],
    )
}

fn runtime(world: &World, own: &Vm) -> Value<'static> {
    let away = world.estate.hosts.get(&own.host).is_some_and(|host| !host.connected);
    let connection = own.lost.unwrap_or(if away { "disconnected" } else { "connected" });
    let started = own.started.filter(|_| own.power == Power::On);
    Data(
        "VirtualMachineRuntimeInfo",
        vec![
            ("host", Named(own.host)),
            ("connectionState", Value::word("VirtualMachineConnectionState", connection)),
            ("powerState", Value::word("VirtualMachinePowerState", own.power.word())),
            (
                "faultToleranceState",
                Value::word("VirtualMachineFaultToleranceState", "notConfigured"),
            ),
            ("toolsInstallerMounted", Bool(false)),
            ("suspendTime", Unset),
            ("bootTime", Value::maybe(started, |at| Time(world.moment(at)))),
            ("question", Unset),
            ("maxCpuUsage", Unset),
            ("maxMemoryUsage", Int(own.memory_mib as i32)),
            ("numMksConnections", Int(0)),
            ("recordReplayState", Value::word("VirtualMachineRecordReplayState", "inactive")),
            ("onlineStandby", Bool(false)),
            ("consolidationNeeded", Bool(false)),
        ],
    )
}

fn config_summary<'w>(world: &'w World, object: Ref, own: &'w Vm) -> Value<'w> {
    Data(
        "VirtualMachineConfigSummary",
        vec![
            ("name", Value::text(world.estate.name(object))),
            ("template", Bool(own.template)),
            ("vmPathName", path_name(world, own)),
            ("memorySizeMB", Int(own.memory_mib as i32)),
            ("cpuReservation", Int(own.cpu.reservation as i32)),
            ("memoryReservation", Int(own.memory_reservation_mib() as i32)),
            ("numCpu", Int(own.cpus as i32)),
            ("numEthernetCards", Int(own.nics().count() as i32)),
            ("numVirtualDisks", Int(own.disks().count() as i32)),
            ("uuid", Value::text(&*own.uuid)),
            ("instanceUuid", Value::text(&*own.instance_uuid)),
            ("guestId", Value::text(&*own.guest_id)),
            ("guestFullName", Value::text(&*own.guest_id)),
            ("annotation", Value::text(&*own.annotation)),
            ("managedBy", Unset),
            ("hwVersion", Value::text(format!("vmx-{}", own.hardware))),
        ],
    )
}

fn tools_running(own: &Vm) -> &'static str {
    if own.guest.is_some() { "guestToolsRunning" } else { "guestToolsNotRunning" }
}

fn guest_summary(own: &Vm) -> Value<'_> {
    let known = own.guest.as_ref();
    Data(
        "VirtualMachineGuestSummary",
        vec![
            ("guestId", Unset),
            ("toolsRunningStatus", Value::text(tools_running(own))),
            ("hostName", Value::maybe(known, |guest| Value::text(&*guest.host_name))),
            ("ipAddress", Value::maybe(known, |guest| Value::text(&*guest.ip))),
        ],
    )
}

fn guest<'w>(world: &'w World, own: &'w Vm) -> Value<'w> {
    let known = own.guest.as_ref();
    let nics = own.nics().enumerate().filter(|_| known.is_some()).map(|(at, nic)| {
        let ip = known.filter(|_| at == 0).map(|guest| &*guest.ip);
        Data(
            "GuestNicInfo",
            vec![
                ("network", Value::text(world.estate.name(nic.network))),
                ("ipAddress", Value::texts(ip)),
                ("macAddress", Value::text(&*nic.mac)),
                ("connected", Bool(true)),
                ("deviceConfigId", Int(4000 + at as i32)),
            ],
        )
    });
    let status = match (own.tools, known.is_some()) {
        (false, _) => "toolsNotInstalled",
        (true, false) => "toolsNotRunning",
        (true, true) => "toolsOk",
    };
    Data(
        "GuestInfo",
        vec![
            ("toolsStatus", Value::word("VirtualMachineToolsStatus", status)),
            ("toolsVersionStatus2", Unset),
            ("toolsRunningStatus", Value::text(tools_running(own))),
            ("toolsVersion", Unset),
            ("guestId", Value::maybe(known, |_| Value::text(&*own.guest_id))),
            ("guestFamily", Value::maybe(known, |_| Value::text("linuxGuest"))),
            ("hostName", Value::maybe(known, |guest| Value::text(&*guest.host_name))),
            ("ipAddress", Value::maybe(known, |guest| Value::text(&*guest.ip))),
            ("net", List("GuestNicInfo", nics.collect())),
            ("guestState", Value::text(if known.is_some() { "running" } else { "notRunning" })),
            ("guestOperationsReady", Bool(known.is_some())),
            ("guestStateChangeSupported", Bool(known.is_some())),
        ],
    )
}

fn snapshots(object: Ref, own: &Vm) -> Value<'_> {
    let Some(current) = own.snapshots.last() else { return Unset };
    // Each is the only child of the one before.
    let tree = own
        .snapshots
        .iter()
        .enumerate()
        .rev()
        .fold(None, |child, (at, of)| Some(snapshot_tree(object, at, of, child)));
    let roots = List("VirtualMachineSnapshotTree", tree.into_iter().collect());
    Data(
        "VirtualMachineSnapshotInfo",
        vec![("currentSnapshot", Named(current.reference)), ("rootSnapshotList", roots)],
    )
}

fn snapshot_tree<'w>(vm: Ref, at: usize, of: &'w Snapshot, child: Option<Value<'w>>) -> Value<'w> {
    Data(
        "VirtualMachineSnapshotTree",
        vec![
            ("snapshot", Named(of.reference)),
            ("vm", Named(vm)),
            ("name", Value::text(&*of.name)),
            ("description", Value::text("")),
            ("id", Int(at as i32 + 1)),
            ("createTime", Time(of.created)),
            ("state", Value::word("VirtualMachinePowerState", "poweredOff")),
            ("quiesced", Bool(false)),
            ("childSnapshotList", List("VirtualMachineSnapshotTree", child.into_iter().collect())),
        ],
    )
}

pub(super) fn snapshot<'w>(world: &'w World, object: Ref, name: &str) -> Option<Value<'w>> {
    let vm = *world.estate.snapshots.get(&object)?;
    let own = world.estate.vms.get(&vm)?;
    let at = own.snapshots.iter().position(|snapshot| snapshot.reference == object)?;
    Some(match name {
        "vm" => Named(vm),
        "childSnapshot" => Value::refs(own.snapshots.get(at + 1).map(|child| child.reference)),
        _ => return None,
    })
}
