use joiner_cloud::order::ClaimId;
use joiner_vim::spec::Operation;
use serde_json::{Value, json};

use super::*;
use crate::inventory::{Named, Nic};

fn class(spec: Value) -> NodeClass {
    NodeClass::read(&json!({"metadata": {"name": "general"}, "spec": spec})).unwrap()
}

fn named(kind: &str, path: &str) -> Named {
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    Named { reference: MoRef::new(kind, &name), name, path: path.to_owned() }
}

fn disk(key: i32, unit: i32, gib: u64) -> Disk {
    Disk {
        key,
        controller_key: Some(1000),
        unit_number: Some(unit),
        bytes: gib * GIB,
        file_name: format!("[ds1] node/node_{unit}.vmdk"),
        backing: None,
        first_class: false,
    }
}

/// A template with a disk of 20 GiB and one adapter.
fn template(snapshots: &[&str]) -> Template {
    let snapshots: Vec<(String, MoRef)> = snapshots
        .iter()
        .map(|name| ((*name).to_owned(), MoRef::new("VirtualMachineSnapshot", *name)))
        .collect();
    Template {
        named: named("VirtualMachine", "/DC0/vm/ubuntu"),
        is_marked: true,
        created: None,
        instance_uuid: "template-uuid".to_owned(),
        details: Details {
            disks: vec![disk(2000, 0, 20)],
            nics: vec![Nic { key: 4000, kind: "VirtualE1000".to_owned(), mac: None }],
            current_snapshot: snapshots.last().map(|(_, snapshot)| snapshot.clone()),
            snapshots,
            ..Details::default()
        },
    }
}

fn copying(spec: Value, snapshots: &[&str], gib: u64) -> Result<Copying, &'static str> {
    Copying::choose(&class(spec), &template(snapshots), gib).map_err(|error| error.reason)
}

fn linked(name: &str) -> Copying {
    Copying::Linked(MoRef::new("VirtualMachineSnapshot", name))
}

#[test]
fn a_clone_is_linked_where_it_can_be() {
    assert_eq!(copying(json!({}), &["one", "two"], 0), Ok(linked("two")));
    assert_eq!(copying(json!({}), &["one", "two"], 20), Ok(linked("two")));
    assert_eq!(copying(json!({}), &["one"], 60), Ok(Copying::Full), "its disk is to grow");
    assert_eq!(copying(json!({}), &[], 0), Ok(Copying::Full));
    assert_eq!(copying(json!({"snapshot": "one"}), &["one", "two"], 0), Ok(linked("one")));
    assert_eq!(copying(json!({"cloneMode": "fullClone"}), &["one"], 0), Ok(Copying::Full));
}

#[test]
fn a_linked_clone_that_cannot_be_is_told() {
    let linked = json!({"cloneMode": "linkedClone"});
    assert_eq!(copying(linked.clone(), &[], 0), Err("SnapshotNotFound"));
    assert_eq!(copying(linked.clone(), &["one"], 60), Err("DiskCannotGrow"));
    let named = json!({"cloneMode": "linkedClone", "snapshot": "three"});
    assert_eq!(copying(named, &["one"], 0), Err("SnapshotNotFound"));
}

/// As many networks as there are adapters: workers, net1, net2, …
fn networks(count: usize) -> Vec<Network> {
    let name = |i| if i == 0 { "workers".to_owned() } else { format!("net{i}") };
    let network = |name: String| Network {
        named: named("Network", &format!("/DC0/network/{name}")),
        backing: Some(Backing::Network { device_name: name }),
    };
    (0..count).map(name).map(network).collect()
}

fn made(spec: Value, copying: &Copying, disk_gib: u64) -> CloneSpec {
    let mark = Mark {
        cluster: "prod".to_owned(),
        claim: ClaimId { name: "general-1".to_owned(), uid: "uid-1".to_owned() },
        pool: "general".to_owned(),
        ..Mark::default()
    };
    let networks = networks(spec.get("networks").and_then(Value::as_array).map_or(1, Vec::len));
    clone_spec(&Making {
        class: &class(spec),
        template: &template(&["one"]),
        copying,
        folder: &MoRef::new("Folder", "folder"),
        pool: &MoRef::new("ResourcePool", "pool"),
        datastore: &MoRef::new("Datastore", "ds2"),
        storage_policy: Some("policy-1"),
        networks: &networks,
        hardware: Hardware { cpus: 4, memory_mib: 16384, disk_gib, cores_per_socket: Some(2) },
        mark: &mark,
        guestinfo: &[("guestinfo.userdata".to_owned(), Secret::from("secret"))],
    })
}

fn config(spec: &CloneSpec) -> &ConfigSpec {
    spec.config.as_ref().unwrap()
}

#[test]
fn an_instance_carries_its_mark_from_the_start() {
    let spec = made(json!({}), &Copying::Full, 0);
    let config = config(&spec);
    assert_eq!(config.instance_uuid.as_deref(), Some("uid-1"));
    let has = |key: &str, value: &str| config.extra_config.contains(&ExtraConfig::new(key, value));
    assert!(has("joiner.cluster", "prod") && has("joiner.nodeclaim-uid", "uid-1"));
    assert!(has("guestinfo.userdata", "secret"));
    assert_eq!(
        config.annotation.as_deref().and_then(|notes| notes.lines().next()),
        Some("cloned_from:/DC0/vm/ubuntu")
    );
    assert_eq!(config.uuid, None, "vCenter chooses what the guest sees");
}

#[test]
fn an_instance_is_of_the_size_that_was_asked_for_and_off() {
    let spec = made(json!({}), &Copying::Full, 0);
    let own = config(&spec);
    assert_eq!(
        (own.num_cpus, own.memory_mb, own.num_cores_per_socket),
        (Some(4), Some(16384), Some(2))
    );
    assert_eq!(own.guest_id, None, "the template's");
    assert_eq!((own.disk_uuid_enabled, own.v_app_config_removed), (Some(true), Some(true)));
    assert!(!spec.power_on && !spec.template);
    let other = made(json!({"guestId": "ubuntu64Guest"}), &Copying::Full, 0);
    assert_eq!(config(&other).guest_id.as_deref(), Some("ubuntu64Guest"));
}

#[test]
fn a_full_clone_copies_every_disk_and_shares_nothing() {
    let CloneSpec { location, snapshot, .. } = made(json!({}), &Copying::Full, 0);
    assert_eq!(location.disk_move_type, Some(DiskMoveType::MoveAllDiskBackingsAndConsolidate));
    let [disk] = &location.disks[..] else { panic!("{location:?}") };
    assert_eq!((disk.disk_id, disk.datastore.id.as_str()), (2000, "ds2"));
    assert_eq!(disk.disk_move_type, Some(DiskMoveType::MoveAllDiskBackingsAndDisallowSharing));
    assert_eq!(snapshot, None);
}

#[test]
fn every_disk_and_the_instances_own_files_have_the_storage_policy() {
    let spec = made(json!({"dataDisks": [{"sizeGiB": 10}]}), &Copying::Full, 0);
    let policy = Some("policy-1".to_owned());
    assert_eq!(spec.location.profile, policy);
    assert!(spec.location.disks.iter().all(|disk| disk.profile == policy));
    let changes = &config(&spec).device_changes;
    let disks: Vec<_> =
        changes.iter().filter(|own| matches!(own.device.kind, DeviceKind::Disk { .. })).collect();
    assert_eq!(disks.len(), 1);
    assert!(disks.iter().all(|own| own.profile == policy));
}

#[test]
fn a_linked_clone_hangs_on_a_snapshot_and_keeps_its_size() {
    let spec = made(json!({}), &linked("one"), 20);
    assert_eq!(spec.location.disk_move_type, Some(DiskMoveType::CreateNewChildDiskBacking));
    assert_eq!(spec.snapshot.as_ref().map(|own| own.id.as_str()), Some("one"));
    assert!(config(&spec).device_changes.iter().all(|own| own.operation != Operation::Edit));
}

#[test]
fn the_templates_adapters_go_and_one_in_the_classes_network_comes() {
    let spec = made(json!({}), &Copying::Full, 0);
    let [removed, added] = &config(&spec).device_changes[..] else { panic!("{spec:?}") };
    assert_eq!((removed.operation, removed.device.key), (Operation::Remove, 4000));
    assert_eq!((added.operation, added.device.key), (Operation::Add, -100));
    assert_eq!(added.device.backing, Some(Backing::Network { device_name: "workers".to_owned() }));
}

#[test]
fn the_root_disk_grows_and_never_shrinks() {
    let grown = |gib| {
        let spec = made(json!({}), &Copying::Full, gib);
        let edits = config(&spec).device_changes.iter();
        let edits: Vec<(i32, DeviceKind)> = edits
            .filter(|own| own.operation == Operation::Edit)
            .map(|own| (own.device.key, own.device.kind.clone()))
            .collect();
        edits
    };
    assert_eq!(grown(60), [(2000, DeviceKind::Disk { capacity_in_bytes: 60 * GIB })]);
    assert_eq!(grown(20), []);
    assert_eq!(grown(0), []);
}

#[test]
fn data_disks_take_the_free_places_of_the_root_disks_controller() {
    let disks: Vec<Value> =
        (0..8).map(|_| json!({"sizeGiB": 10, "provisioningMode": "Thin"})).collect();
    let spec = made(json!({"dataDisks": disks}), &Copying::Full, 0);
    let new: Vec<&DeviceChange> = config(&spec)
        .device_changes
        .iter()
        .filter(|own| own.file_operation == Some(FileOperation::Create))
        .collect();
    let units: Vec<i32> = new.iter().filter_map(|own| own.device.unit_number).collect();
    assert_eq!(units, [1, 2, 3, 4, 5, 6, 8, 9], "0 is the root disk's, 7 the controller's");
    let keys: Vec<i32> = new.iter().map(|own| own.device.key).collect();
    assert_eq!(keys, (-307..=-300).rev().collect::<Vec<_>>());
    let Some(Backing::FlatDisk(flat)) = &new[0].device.backing else { panic!("{new:?}") };
    assert_eq!(flat.thin_provisioned, Some(true));
}

#[test]
fn users_settings_of_the_instance_are_passed_on() {
    let spec =
        made(json!({"customVMXKeys": {"sched.swap.vmxSwapEnabled": "FALSE"}}), &Copying::Full, 0);
    assert!(
        config(&spec)
            .extra_config
            .contains(&ExtraConfig::new("sched.swap.vmxSwapEnabled", "FALSE"))
    );
}

#[test]
fn volumes_are_taken_off_before_an_instance_is_destroyed() {
    let own = disk(2000, 0, 20);
    let elsewhere = Disk { file_name: "[ds2] node/node_1.vmdk".to_owned(), ..disk(2001, 1, 10) };
    let volume = Disk { first_class: true, ..disk(2002, 2, 10) };
    let of_others = Disk { file_name: "[ds1] kubevols/pv.vmdk".to_owned(), ..disk(2003, 3, 10) };
    let all = [own, elsewhere, volume, of_others];
    let keys = |file: &str| -> Vec<i32> {
        disks_to_detach(&all, file).iter().map(|disk| disk.key).collect()
    };
    assert_eq!(keys("[ds1] node/node.vmx"), [2002, 2003]);
    assert_eq!(keys(""), [2000, 2001, 2002, 2003], "on doubt nothing is destroyed");
}
