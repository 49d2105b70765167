//! What is done to VMs that exist.

use std::time::Duration;

use joiner_sim_vcenter::{Inventory, Lost};

use crate::support::{Client, Object, Spec, inside};

async fn small_with_vm() -> (Client, Object) {
    let client = Client::small().await;
    let vm = client.clone_vm("web", &Spec::default()).await.unwrap();
    (client, vm)
}

#[tokio::test(start_paused = true)]
async fn power_goes_on_once_and_off_once() {
    let (client, vm) = small_with_vm().await;
    client.run("PowerOnVM_Task", &vm, "").await.unwrap();
    assert_eq!(client.text(&vm, "runtime.powerState").await.as_deref(), Some("poweredOn"));
    let again = client.call("PowerOnVM_Task", &vm, "").await.object();
    assert_eq!(client.wait(&again).await.unwrap_err(), "InvalidPowerState");
    let info = client.read(&again, &["info"]).await;
    assert_eq!(inside(&info, "requestedState").as_deref(), Some("poweredOn"));
    assert_eq!(inside(&info, "existingState").as_deref(), Some("poweredOn"));
    client.run("PowerOffVM_Task", &vm, "").await.unwrap();
    let again = client.run("PowerOffVM_Task", &vm, "").await;
    assert_eq!(again.unwrap_err(), "InvalidPowerState");
}

#[tokio::test(start_paused = true)]
async fn a_power_state_that_does_not_suit_can_be_refused_at_the_call() {
    let mut inventory = Inventory::small();
    inventory.behaviour.refuses_at_call = true;
    let client = Client::admin(inventory).await;
    let vm = client.clone_vm("web", &Spec::default()).await.unwrap();
    let off = client.call("PowerOffVM_Task", &vm, "").await;
    assert_eq!(off.fault(), "InvalidPowerState");
    assert_eq!(inside(&off.body, "existingState").as_deref(), Some("poweredOff"));
    client.run("PowerOnVM_Task", &vm, "").await.unwrap();
    for method in ["PowerOnVM_Task", "Destroy_Task", "UpgradeVM_Task"] {
        assert_eq!(client.call(method, &vm, "").await.fault(), "InvalidPowerState", "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_suspended_vm_can_be_powered_off_and_must_be_before_it_is_destroyed() {
    let (client, vm) = small_with_vm().await;
    client.run("PowerOnVM_Task", &vm, "").await.unwrap();
    client.vcenter.suspend_vm("web").unwrap();
    assert_eq!(client.text(&vm, "runtime.powerState").await.as_deref(), Some("suspended"));
    assert_eq!(client.run("Destroy_Task", &vm, "").await.unwrap_err(), "InvalidPowerState");
    client.run("PowerOffVM_Task", &vm, "").await.unwrap();
    client.run("Destroy_Task", &vm, "").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_vm_that_is_lost_has_a_name_but_no_configuration() {
    let (client, vm) = small_with_vm().await;
    client.vcenter.lose_vm("web", Some(Lost::Inaccessible)).unwrap();
    let state = "runtime.connectionState";
    assert_eq!(client.text(&vm, state).await.as_deref(), Some("inaccessible"));
    assert_eq!(client.text(&vm, "name").await.as_deref(), Some("web"));
    for path in ["config", "config.uuid", "config.extraConfig[\"a\"].value"] {
        assert_eq!(client.text(&vm, path).await, None, "{path}");
    }
    assert_eq!(client.run("Destroy_Task", &vm, "").await.unwrap_err(), "InvalidState");
    client.vcenter.lose_vm("web", None).unwrap();
    client.run("Destroy_Task", &vm, "").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_vm_that_is_registered_twice_has_one_bios_uuid_and_two_identities() {
    let client = Client::small().await;
    let mark = "<extraConfig><key>a</key><value xsi:type=\"xsd:string\">b</value></extraConfig>";
    client.clone_vm("web", &Spec::config(mark)).await.unwrap();
    client.vcenter.register_again("web", "twin").unwrap();
    let [web, twin] = ["web", "twin"].map(|name| client.vcenter.vm(name).unwrap());
    assert_eq!((&web.uuid, &web.disks, &web.folder), (&twin.uuid, &twin.disks, &twin.folder));
    assert_ne!(web.instance_uuid, twin.instance_uuid);
    let twin = client.find("/dc1/vm/k8s/twin").await;
    assert_eq!(client.text(&twin, "config.extraConfig[\"a\"].value").await.as_deref(), Some("b"));
}

#[tokio::test(start_paused = true)]
async fn a_vm_that_is_made_a_template_keeps_what_it_is_known_by() {
    let (client, vm) = small_with_vm().await;
    let before = client.vcenter.vm("web").unwrap();
    client.run("PowerOnVM_Task", &vm, "").await.unwrap();
    client.vcenter.mark_as_template("web").unwrap();
    let after = client.vcenter.vm("web").unwrap();
    assert!(after.template && !after.powered_on && after.pool.is_none());
    assert_eq!((after.uuid, after.instance_uuid), (before.uuid, before.instance_uuid));
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_is_what_a_linked_clone_begins_with() {
    let (client, vm) = small_with_vm().await;
    let snapshot = "<name>later</name><memory>false</memory><quiesce>false</quiesce>";
    let made = client.run("CreateSnapshot_Task", &vm, snapshot).await.unwrap().unwrap();
    assert_eq!(client.text(&vm, "snapshot.currentSnapshot").await, Some(made.1));
}

#[tokio::test(start_paused = true)]
async fn only_a_vm_that_is_off_can_be_destroyed_and_then_it_is_gone() {
    let (client, vm) = small_with_vm().await;
    client.run("PowerOnVM_Task", &vm, "").await.unwrap();
    assert_eq!(client.run("Destroy_Task", &vm, "").await.unwrap_err(), "InvalidPowerState");
    client.run("PowerOffVM_Task", &vm, "").await.unwrap();
    client.run("Destroy_Task", &vm, "").await.unwrap();
    assert_eq!(client.call("Destroy_Task", &vm, "").await.fault(), "ManagedObjectNotFound");
    assert_eq!(client.vcenter.vm("web"), None);
    assert_eq!(client.vcenter.deleted_files(), ["[datastore1] web/web.vmdk"]);
}

#[tokio::test(start_paused = true)]
async fn destroying_a_vm_deletes_attached_files_but_no_first_class_disks() {
    let (client, vm) = small_with_vm().await;
    let volume = |name: &str| format!("[datastore1] fcd/{name}.vmdk");
    client.vcenter.attach_volume("web", 10, &volume("claim"), Some("fcd-1")).unwrap();
    client.vcenter.attach_volume("web", 10, &volume("plain"), None).unwrap();
    let id = client.text(&vm, "config.hardware.device[2001].vDiskId.id").await;
    assert_eq!(id.as_deref(), Some("fcd-1"));
    client.run("Destroy_Task", &vm, "").await.unwrap();
    let deleted = client.vcenter.deleted_files();
    assert_eq!(deleted, ["[datastore1] web/web.vmdk", "[datastore1] fcd/plain.vmdk"]);
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_is_detached_first_survives() {
    let (client, vm) = small_with_vm().await;
    client.vcenter.attach_volume("web", 10, "[datastore1] fcd/plain.vmdk", None).unwrap();
    let detach = "<spec><deviceChange><operation>remove</operation><device xsi:type=\"VirtualDisk\">\
                  <key>2001</key><capacityInKB>0</capacityInKB></device></deviceChange></spec>";
    client.run("ReconfigVM_Task", &vm, detach).await.unwrap();
    client.run("Destroy_Task", &vm, "").await.unwrap();
    assert_eq!(client.vcenter.deleted_files(), ["[datastore1] web/web.vmdk"]);
}

#[tokio::test(start_paused = true)]
async fn reconfiguring_sets_and_removes_keys_and_adds_disks() {
    let (client, vm) = small_with_vm().await;
    let set = |value: &str| {
        format!(
            "<spec><extraConfig><key>guestinfo.metadata</key>\
             <value xsi:type=\"xsd:string\">{value}</value></extraConfig></spec>"
        )
    };
    let path = "config.extraConfig[\"guestinfo.metadata\"].value";
    client.run("ReconfigVM_Task", &vm, &set("abc")).await.unwrap();
    assert_eq!(client.text(&vm, path).await.as_deref(), Some("abc"));
    client.run("ReconfigVM_Task", &vm, &set("")).await.unwrap();
    assert_eq!(client.text(&vm, path).await, None);
    let disk = "<spec><deviceChange><operation>add</operation><fileOperation>create</fileOperation>\
        <device xsi:type=\"VirtualDisk\"><key>-1</key><backing xsi:type=\"VirtualDiskFlatVer2BackingInfo\">\
        <fileName></fileName><diskMode>persistent</diskMode><thinProvisioned>true</thinProvisioned></backing>\
        <controllerKey>1000</controllerKey><capacityInKB>1048576</capacityInKB></device></deviceChange></spec>";
    client.run("ReconfigVM_Task", &vm, disk).await.unwrap();
    let unit = client.text(&vm, "config.hardware.device[2001].unitNumber").await;
    assert_eq!(unit.as_deref(), Some("1"));
    assert_eq!(client.vcenter.vm("web").unwrap().disks[1], "[datastore1] web/web_1.vmdk");
}

#[tokio::test(start_paused = true)]
async fn a_running_vm_keeps_its_size() {
    let (client, vm) = small_with_vm().await;
    client.run("PowerOnVM_Task", &vm, "").await.unwrap();
    let more = client.run("ReconfigVM_Task", &vm, "<spec><numCPUs>4</numCPUs></spec>").await;
    assert_eq!(more.unwrap_err(), "InvalidPowerState");
    let note = "<spec><annotation>seen</annotation></spec>";
    client.run("ReconfigVM_Task", &vm, note).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_vm_has_one_task_at_a_time() {
    let (client, vm) = small_with_vm().await;
    let task = client.call("PowerOnVM_Task", &vm, "").await.object();
    let second = client.call("ReconfigVM_Task", &vm, "<spec/>").await;
    assert_eq!(second.fault(), "TaskInProgress");
    assert_eq!(inside(&second.body, "task"), Some(task.1.clone()));
    client.wait(&task).await.unwrap();
    client.run("ReconfigVM_Task", &vm, "<spec/>").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn hardware_is_upgraded_while_off_and_once() {
    let (client, vm) = small_with_vm().await;
    let upgrade = "<version>vmx-21</version>";
    client.run("UpgradeVM_Task", &vm, upgrade).await.unwrap();
    assert_eq!(client.text(&vm, "config.version").await.as_deref(), Some("vmx-21"));
    assert_eq!(client.call("UpgradeVM_Task", &vm, upgrade).await.fault(), "AlreadyUpgraded");
}

#[tokio::test(start_paused = true)]
async fn a_guest_shuts_itself_down_once_it_is_up() {
    let (client, vm) = small_with_vm().await;
    assert_eq!(client.call("ShutdownGuest", &vm, "").await.fault(), "InvalidPowerState");
    client.run("PowerOnVM_Task", &vm, "").await.unwrap();
    assert_eq!(client.call("ShutdownGuest", &vm, "").await.fault(), "ToolsUnavailable");
    client.clock.sleep(Duration::from_secs(30)).await;
    client.call("ShutdownGuest", &vm, "").await.ok();
    assert!(client.vcenter.vm("web").unwrap().powered_on);
    client.clock.sleep(Duration::from_secs(10)).await;
    assert!(!client.vcenter.vm("web").unwrap().powered_on);
}

#[tokio::test(start_paused = true)]
async fn nothing_can_be_done_to_vms_of_a_host_that_is_away() {
    let (client, vm) = small_with_vm().await;
    client.vcenter.connect_host(&client.vcenter.vm("web").unwrap().host, false).unwrap();
    let state = client.text(&vm, "runtime.connectionState").await;
    assert_eq!(state.as_deref(), Some("disconnected"));
    assert_eq!(client.run("Destroy_Task", &vm, "").await.unwrap_err(), "HostNotConnected");
    client.vcenter.connect_host(&client.vcenter.vm("web").unwrap().host, true).unwrap();
    client.run("Destroy_Task", &vm, "").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_change_of_what_has_changed_meanwhile_is_refused() {
    let (client, vm) = small_with_vm().await;
    let seen = client.text(&vm, "config.changeVersion").await.unwrap();
    let change = |note: &str| {
        format!("<spec><changeVersion>{seen}</changeVersion><annotation>{note}</annotation></spec>")
    };
    client.run("ReconfigVM_Task", &vm, &change("first")).await.unwrap();
    let again = client.call("ReconfigVM_Task", &vm, &change("second")).await;
    assert_eq!(again.fault(), "ConcurrentAccess");
}
