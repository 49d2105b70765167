//! Clones: what is honoured, what is refused, and who gets a name.

use joiner_sim_vcenter::Inventory;

use crate::support::{Client, Object, Spec, first_object, inside, named};

const GIB: u64 = 1 << 30;

fn nic(key: i32, backing: &str) -> String {
    format!(
        "<deviceChange><operation>add</operation><device xsi:type=\"VirtualVmxnet3\"><key>{key}</key>\
         {backing}<connectable><startConnected>true</startConnected>\
         <allowGuestControl>true</allowGuestControl><connected>true</connected></connectable>\
         <addressType>generated</addressType></device></deviceChange>"
    )
}

fn standard(name: &str) -> String {
    format!(
        "<backing xsi:type=\"VirtualEthernetCardNetworkBackingInfo\"><deviceName>{name}</deviceName></backing>"
    )
}

fn disk_edit(bytes: u64) -> String {
    format!(
        "<deviceChange><operation>edit</operation><device xsi:type=\"VirtualDisk\"><key>2000</key>\
         <capacityInKB>{}</capacityInKB><capacityInBytes>{bytes}</capacityInBytes></device></deviceChange>",
        bytes / 1024
    )
}

#[tokio::test(start_paused = true)]
async fn a_clone_is_what_its_spec_says() {
    let client = Client::small().await;
    let config = "<instanceUuid>11111111-2222-4333-8444-555555555555</instanceUuid>\
        <guestId>otherLinux64Guest</guestId><annotation>cloned_from:/dc1/vm/templates/ubuntu-2404</annotation>\
        <flags><diskUuidEnabled>true</diskUuidEnabled></flags><numCPUs>8</numCPUs>\
        <numCoresPerSocket>4</numCoresPerSocket><memoryMB>16384</memoryMB>\
        <cpuAllocation><reservation>1000</reservation><limit>4000</limit>\
        <shares><shares>2000</shares><level>custom</level></shares></cpuAllocation>\
        <extraConfig><key>joiner.nodeclaim-uid</key><value xsi:type=\"xsd:string\">u1</value></extraConfig>\
        <extraConfig><key>guestinfo.userdata</key><value xsi:type=\"xsd:string\">I2Nsb3Vk</value></extraConfig>\
        <memoryReservationLockedToMax>true</memoryReservationLockedToMax>";
    let vm = client.clone_vm("web-1", &Spec::config(config)).await.unwrap();
    for (path, value) in [
        ("name", "web-1"),
        ("config.instanceUuid", "11111111-2222-4333-8444-555555555555"),
        ("config.guestId", "otherLinux64Guest"),
        ("config.annotation", "cloned_from:/dc1/vm/templates/ubuntu-2404"),
        ("config.flags.diskUuidEnabled", "true"),
        ("config.hardware.numCPU", "8"),
        ("config.hardware.numCoresPerSocket", "4"),
        ("config.hardware.memoryMB", "16384"),
        ("config.cpuAllocation.reservation", "1000"),
        ("config.cpuAllocation.shares.shares", "2000"),
        ("config.memoryReservationLockedToMax", "true"),
        ("config.extraConfig[\"joiner.nodeclaim-uid\"].value", "u1"),
        ("config.template", "false"),
        ("config.createDate", "2026-01-01T12:00:04.100000Z"),
        ("runtime.powerState", "poweredOff"),
        ("config.hardware.device[2000].backing.fileName", "[datastore1] web-1/web-1.vmdk"),
    ] {
        assert_eq!(client.text(&vm, path).await.as_deref(), Some(value), "{path}");
    }
    let picture = client.vcenter.vm("web-1").unwrap();
    assert_eq!(picture.folder, "/dc1/vm/k8s");
    assert_eq!(picture.pool.as_deref(), Some("workers"));
    assert_ne!(picture.uuid, client.vcenter.vm("ubuntu-2404").unwrap().uuid);
}

#[tokio::test(start_paused = true)]
async fn appliance_properties_go_when_they_are_told_to() {
    let mut inventory = Inventory::small();
    inventory.datacenters[0].vms[0].vapp = true;
    let client = Client::admin(inventory).await;
    let kept = client.clone_vm("kept", &Spec::default()).await.unwrap();
    let removed = Spec::config("<vAppConfigRemoved>true</vAppConfigRemoved>");
    let removed = client.clone_vm("removed", &removed).await.unwrap();
    assert!(client.text(&kept, "config.vAppConfig").await.is_some());
    assert_eq!(client.text(&removed, "config.vAppConfig").await, None);
}

#[tokio::test(start_paused = true)]
async fn nics_are_replaced_and_connected_to_networks_of_every_kind() {
    let client = Client::small().await;
    let remove = "<deviceChange><operation>remove</operation><device xsi:type=\"VirtualVmxnet3\">\
                  <key>4000</key></device></deviceChange>";
    let group = client.find("dc1/network/workers").await;
    let switch = client.find("dc1/network/dvs1").await;
    let uuid = client.text(&switch, "uuid").await.unwrap();
    let port = format!(
        "<backing xsi:type=\"VirtualEthernetCardDistributedVirtualPortBackingInfo\"><port>\
         <switchUuid>{uuid}</switchUuid><portgroupKey>{}</portgroupKey></port></backing>",
        group.1
    );
    let segment = client.find("dc1/network/segment1").await;
    let id = client.text(&segment, "summary.opaqueNetworkId").await.unwrap();
    let opaque = format!(
        "<backing xsi:type=\"VirtualEthernetCardOpaqueNetworkBackingInfo\"><opaqueNetworkId>{id}\
         </opaqueNetworkId><opaqueNetworkType>nsx.LogicalSwitch</opaqueNetworkType></backing>"
    );
    let config =
        [remove, &nic(-100, &standard("VM Network")), &nic(-101, &port), &nic(-102, &opaque)];
    let vm = client.clone_vm("nics", &Spec::config(&config.concat())).await.unwrap();
    let read = client.read(&vm, &["network"]).await;
    assert_eq!(read.matches("<ManagedObjectReference type=").count(), 3, "{read}");
    let path = "config.hardware.device[4001].backing.port.portgroupKey";
    assert_eq!(client.text(&vm, path).await, Some(group.1));
    let mac = client.text(&vm, "config.hardware.device[4000].macAddress").await.unwrap();
    assert!(mac.starts_with("00:50:56:"), "{mac}");
}

#[tokio::test(start_paused = true)]
async fn devices_that_make_no_sense_fail_the_task() {
    let client = Client::small().await;
    let clash = nic(-100, &standard("VM Network")) + &nic(-100, &standard("VM Network"));
    let contradiction = "<deviceChange><operation>edit</operation><device xsi:type=\"VirtualDisk\">\
        <key>2000</key><capacityInKB>41943040</capacityInKB><capacityInBytes>1</capacityInBytes></device></deviceChange>";
    for (what, config) in [
        ("no such network", nic(-100, &standard("nowhere"))),
        ("one key twice", clash),
        ("a smaller disk", disk_edit(10 * GIB)),
        ("two sizes", contradiction.to_owned()),
        ("a disk beyond all bounds", disk_edit(1 << 62)),
    ] {
        let spec = Spec { config, ..Spec::full() };
        assert_eq!(client.clone_vm("a", &spec).await.unwrap_err(), "InvalidDeviceSpec", "{what}");
    }
    assert_eq!(client.vcenter.vm("a"), None);
}

#[tokio::test(start_paused = true)]
async fn sizes_that_no_vm_can_have_fail_the_task() {
    let client = Client::small().await;
    for config in [
        "<memoryMB>8590</memoryMB>",
        "<memoryMB>9223372036854775804</memoryMB>",
        "<numCPUs>0</numCPUs>",
        "<guestId>linux</guestId>",
    ] {
        let failed = client.clone_vm("a", &Spec::config(config)).await;
        assert_eq!(failed.unwrap_err(), "InvalidArgument", "{config}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_clone_may_grow_its_disk_and_a_linked_one_may_not() {
    let client = Client::small().await;
    let config = disk_edit(60 * GIB);
    let full = Spec { config: config.clone(), ..Spec::full() };
    let vm = client.clone_vm("full", &full).await.unwrap();
    let path = "config.hardware.device[2000].capacityInBytes";
    assert_eq!(client.text(&vm, path).await, Some((60 * GIB).to_string()));
    let linked = client.clone_vm("linked", &Spec { config, ..Spec::default() }).await;
    assert_eq!(linked.unwrap_err(), "InvalidDeviceSpec");
}

#[tokio::test(start_paused = true)]
async fn a_linked_clone_needs_a_snapshot_of_its_source() {
    let client = Client::small().await;
    let source = client.find("dc1/vm/templates/ubuntu-2404").await;
    let arguments = client.clone_arguments("a", &Spec::default()).await;
    let (before, after) = arguments.split_once("<snapshot").unwrap();
    let (_, after) = after.split_once("</snapshot>").unwrap();
    let reply = client.call("CloneVM_Task", &source, &format!("{before}{after}")).await;
    assert_eq!(reply.fault(), "InvalidArgument");
    assert_eq!(inside(&reply.body, "invalidProperty").as_deref(), Some("spec.snapshot"));
}

#[tokio::test(start_paused = true)]
async fn linked_clones_are_quick_and_small_and_full_ones_are_not() {
    let client = Client::small().await;
    let used = || client.vcenter.picture().datastores[0].used_bytes;
    let (start, before) = (client.clock.running(), used());
    client.clone_vm("linked", &Spec::default()).await.unwrap();
    let (linked, small) = (client.since(start), used() - before);
    let (start, before) = (client.clock.running(), used());
    client.clone_vm("full", &Spec::full()).await.unwrap();
    let (full, large) = (client.since(start), used() - before);
    assert!(linked.as_secs() < 6 && full.as_secs() >= 14, "{linked:?} {full:?}");
    assert_eq!((small, large), (16 << 20, 5 * GIB));
    let vm = client.find("dc1/vm/k8s/linked").await;
    let parent = "config.hardware.device[2000].backing.parent.fileName";
    let file = "[datastore1] ubuntu-2404/ubuntu-2404.vmdk";
    assert_eq!(client.text(&vm, parent).await.as_deref(), Some(file));
}

#[tokio::test(start_paused = true)]
async fn a_name_belongs_to_who_is_ready_first() {
    let client = Client::small().await;
    // Both are under way at once; the task of the second tells so at its end.
    let full = client.begin_clone("web", &Spec::full()).await.object();
    let linked = client.begin_clone("web", &Spec::default()).await.object();
    assert!(client.wait(&linked).await.is_ok());
    assert_eq!(client.wait(&full).await.unwrap_err(), "DuplicateName");
    let info = client.read(&full, &["info"]).await;
    let vm = client.find("dc1/vm/k8s/web").await;
    assert_eq!(first_object(&inside(&info, "error").unwrap(), "object"), Some(vm));
    // The space that the loser had put aside is free again: the template's and the winner's are left.
    let used = client.vcenter.picture().datastores[0].used_bytes;
    assert_eq!(used, 5 * GIB + (16 << 20));
    // Whoever comes later hears it from the task as well, at its start.
    assert_eq!(client.clone_vm("web", &Spec::default()).await.unwrap_err(), "DuplicateName");
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_taken_can_be_refused_at_the_call() {
    let mut inventory = Inventory::small();
    inventory.behaviour.refuses_at_call = true;
    let client = Client::admin(inventory).await;
    client.clone_vm("web", &Spec::default()).await.unwrap();
    assert_eq!(client.begin_clone("web", &Spec::default()).await.fault(), "DuplicateName");
}

#[tokio::test(start_paused = true)]
async fn an_instance_uuid_that_is_taken_is_replaced() {
    let client = Client::small().await;
    let uuid = "11111111-2222-4333-8444-555555555555";
    let spec = Spec::config(&format!("<instanceUuid>{uuid}</instanceUuid>"));
    client.clone_vm("one", &spec).await.unwrap();
    client.clone_vm("two", &spec).await.unwrap();
    let picture = |name| client.vcenter.vm(name).unwrap().instance_uuid;
    assert_eq!(picture("one"), uuid);
    assert_ne!(picture("two"), uuid);
}

async fn clone_with(client: &Client, replace: (&str, String)) -> String {
    let source = client.find("dc1/vm/templates/ubuntu-2404").await;
    let arguments = client.clone_arguments("a", &Spec::default()).await;
    let (tag, with) = replace;
    let begin = arguments.find(&format!("<{tag} ")).unwrap();
    let end = arguments.find(&format!("</{tag}>")).unwrap() + tag.len() + 3;
    let arguments = format!("{}{with}{}", &arguments[..begin], &arguments[end..]);
    client.call("CloneVM_Task", &source, &arguments).await.fault()
}

#[tokio::test(start_paused = true)]
async fn what_a_clone_needs_has_to_be_there() {
    let client = Client::small().await;
    let gone = |kind: &str, id: &str| -> Object { (kind.to_owned(), id.to_owned()) };
    for (tag, object) in [
        ("folder", gone("Folder", "group-999")),
        ("pool", gone("ResourcePool", "resgroup-999")),
        ("datastore", gone("Datastore", "datastore-999")),
    ] {
        let fault = clone_with(&client, (tag, named(tag, &object))).await;
        assert_eq!(fault, "ManagedObjectNotFound", "{tag}");
    }
    // A template is in no pool, so one has to be named.
    assert_eq!(clone_with(&client, ("pool", String::new())).await, "InvalidArgument");
}

#[tokio::test(start_paused = true)]
async fn a_clone_that_is_powered_on_at_once_runs_at_its_end() {
    let client = Client::small().await;
    let spec = Spec { power_on: true, ..Spec::default() };
    client.clone_vm("web", &spec).await.unwrap();
    assert!(client.vcenter.vm("web").unwrap().powered_on);
}
