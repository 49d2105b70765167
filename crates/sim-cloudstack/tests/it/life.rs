//! The life of a VM after its deployment.

use std::time::Duration;

use joiner_sim_cloudstack::VmState;
use serde_json::json;

use crate::support::Client;

#[tokio::test(start_paused = true)]
async fn a_destroyed_vm_is_hidden_from_users_and_holds_its_name_until_it_is_expunged() {
    let client = Client::small();
    let id = client.deployed("web-1", &[]).await;
    let destroyed = client.done("destroyVirtualMachine", &[("id", &id)]).await;
    assert_eq!(destroyed["virtualmachine"]["state"], "Destroyed");
    let list = [("id", id.as_str())];
    assert_eq!(client.call("listVirtualMachines", &list).await.ok(), json!({}));
    let admin = client.as_account("admin");
    assert_eq!(admin.fields("listVirtualMachines", "state", &list).await, ["Destroyed"]);
    let present = [("id", id.as_str()), ("state", "Present")];
    assert_eq!(admin.call("listVirtualMachines", &present).await.ok(), json!({}));
    let taken = client.deploy("web-1", &[]).await;
    assert!(taken.refusal().1.contains("already exists in the network domain"));
    client.clock.sleep(Duration::from_hours(24)).await;
    assert_eq!(client.states(), json!({}));
    // The id stays known: the list is empty, and no parameter is wrong.
    assert_eq!(admin.call("listVirtualMachines", &list).await.ok(), json!({}));
    client.deployed("web-1", &[]).await;
}

#[tokio::test(start_paused = true)]
async fn a_user_who_may_not_expunge_learns_it_from_the_job_and_the_vm_keeps_running() {
    let client = Client::small();
    let id = client.deployed("web-1", &[]).await;
    let expunge = [("id", id.as_str()), ("expunge", "true")];
    let (code, text) = client.failed("destroyVirtualMachine", &expunge).await;
    assert_eq!((code, text.as_str()), (530, "Account does not have permission for expunging."));
    assert_eq!(client.states(), json!({ "web-1": "Running" }));
    client.as_account("admin").done("destroyVirtualMachine", &expunge).await;
    assert_eq!(client.states(), json!({}));
    client.cloud.behave(|behaviour| behaviour.users_may_expunge = true);
    let id = client.deployed("web-1", &[]).await;
    client.done("destroyVirtualMachine", &[("id", &id), ("expunge", "true")]).await;
    assert_eq!(client.states(), json!({}));
}

#[tokio::test(start_paused = true)]
async fn expunging_comes_after_destroying() {
    let client = Client::small();
    let admin = client.as_account("admin");
    let id = client.deployed("web-1", &[]).await;
    let expunge = [("id", id.as_str())];
    assert_eq!(client.call("expungeVirtualMachine", &expunge).await.refusal().0, 531);
    assert!(admin.call("expungeVirtualMachine", &expunge).await.refusal().1.contains("destroy"));
    client.done("destroyVirtualMachine", &expunge).await;
    assert_eq!(admin.done("expungeVirtualMachine", &expunge).await, json!({ "success": true }));
    assert_eq!(client.states(), json!({}));
    assert_eq!(admin.call("destroyVirtualMachine", &expunge).await.refusal().0, 431);
}

#[tokio::test(start_paused = true)]
async fn a_vm_in_error_is_expunged_by_its_destruction() {
    let client = Client::small();
    let offering = client.id("serviceoffering", "huge");
    let begun = client.deploy("web-1", &[("serviceofferingid", &offering)]).await.ok();
    client.wait(begun["jobid"].as_str().unwrap()).await;
    assert_eq!(client.states(), json!({ "web-1": "Error" }));
    assert_eq!(client.fields("listVirtualMachines", "state", &[]).await, ["Error"]);
    assert!(client.deploy("web-1", &[]).await.refusal().1.contains("already exists"));
    let id = begun["id"].as_str().unwrap();
    let gone = client.done("destroyVirtualMachine", &[("id", id)]).await;
    assert_eq!(gone["virtualmachine"]["state"], "Expunging");
    let expunge = [("id", id), ("expunge", "true")];
    client.as_account("admin").done("destroyVirtualMachine", &expunge).await;
    assert_eq!(client.states(), json!({}));
}

#[tokio::test(start_paused = true)]
async fn data_disks_outlive_a_vm_unless_they_are_named() {
    let client = Client::small();
    let offering = client.id("diskoffering", "Small disk");
    let with_disk = [("diskofferingid", offering.as_str())];
    let mut volumes = Vec::new();
    for name in ["web-1", "web-2"] {
        let id = client.deployed(name, &with_disk).await;
        let data = [("virtualmachineid", id.as_str()), ("type", "DATADISK")];
        volumes.push((id.clone(), client.fields("listVolumes", "id", &data).await.remove(0)));
    }
    let (first, second) = (&volumes[0], &volumes[1]);
    client.done("destroyVirtualMachine", &[("id", &first.0)]).await;
    let named = [("id", second.0.as_str()), ("volumeids", second.1.as_str())];
    client.done("destroyVirtualMachine", &named).await;
    let left = client.list("listVolumes", &[("type", "DATADISK")]).await;
    assert_eq!((left.len(), &left[0]["id"]), (1, &json!(first.1)));
    assert_eq!(left[0].get("virtualmachineid"), None);
    client.call("deleteVolume", &[("id", &first.1)]).await.ok();
    assert_eq!(client.list("listVolumes", &[("type", "DATADISK")]).await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_volume_in_use_stays_and_a_destroyed_one_is_told() {
    let client = Client::small();
    let offering = client.id("diskoffering", "Small disk");
    let id = client.deployed("web-1", &[("diskofferingid", &offering)]).await;
    let data = client.fields("listVolumes", "id", &[("type", "DATADISK")]).await.remove(0);
    let volume = [("id", data.as_str())];
    assert_eq!(client.call("deleteVolume", &volume).await.refusal().0, 431);
    assert_eq!(client.call("destroyVolume", &volume).await.refusal().0, 431);
    client.done("destroyVirtualMachine", &[("id", &id)]).await;
    let told = client.done("destroyVolume", &volume).await;
    assert_eq!(told["volume"]["state"], "Destroy");
    client.done("destroyVolume", &[("id", &data), ("expunge", "true")]).await;
    assert_eq!(client.list("listVolumes", &[("type", "DATADISK")]).await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_protected_vm_is_not_destroyed() {
    let client = Client::small();
    let id = client.deployed("web-1", &[]).await;
    let protect = [("id", id.as_str()), ("deleteprotection", "true")];
    let row = client.call("updateVirtualMachine", &protect).await.ok();
    assert_eq!(row["virtualmachine"]["deleteprotection"], true);
    let refused = client.call("destroyVirtualMachine", &[("id", &id)]).await;
    assert_eq!(refused.refusal().0, 431);
    assert!(refused.refusal().1.contains("delete protection"));
}

#[tokio::test(start_paused = true)]
async fn new_details_replace_all_of_the_old_ones() {
    let client = Client::small();
    let id = client.deployed("web-1", &[("details[0].mark", "a"), ("details[1].other", "b")]).await;
    let update = [("id", id.as_str()), ("details[0].note", "c"), ("displayname", "New")];
    let row = client.call("updateVirtualMachine", &update).await.ok();
    assert_eq!(row["virtualmachine"]["details"], json!({ "note": "c" }));
    assert_eq!(row["virtualmachine"]["displayname"], "New");
    let wrong = [("id", id.as_str()), ("name", "1web")];
    assert_eq!(client.call("updateVirtualMachine", &wrong).await.refusal().0, 431);
}

#[tokio::test(start_paused = true)]
async fn vms_stop_start_and_reboot() {
    let client = Client::small();
    let id = client.deployed("web-1", &[]).await;
    let vm = [("id", id.as_str())];
    client.done("rebootVirtualMachine", &vm).await;
    client.done("stopVirtualMachine", &vm).await;
    assert_eq!(client.states(), json!({ "web-1": "Stopped" }));
    assert_eq!(client.call("rebootVirtualMachine", &vm).await.refusal().0, 431);
    client.done("startVirtualMachine", &vm).await;
    assert_eq!(client.states(), json!({ "web-1": "Running" }));
    let other = client.as_account("other");
    assert_eq!(other.call("stopVirtualMachine", &vm).await.refusal().0, 531);
    let host = [("id", id.as_str()), ("hostid", &client.id("host", "host-1"))];
    assert_eq!(client.call("startVirtualMachine", &host).await.refusal().0, 531);
}

#[tokio::test(start_paused = true)]
async fn people_and_hosts_do_things_past_the_api() {
    let client = Client::small();
    client.deployed("web-1", &[]).await;
    for state in [VmState::Stopped, VmState::Error, VmState::Destroyed] {
        client.cloud.set_state("web-1", state).unwrap();
        assert_eq!(client.states()["web-1"], state.name());
    }
    client.cloud.expunge("web-1").unwrap();
    let missing = client.cloud.expunge("web-1").unwrap_err();
    assert_eq!(missing.to_string(), "there is no VM \"web-1\"");
    client.cloud.set_zone("zone-1", false).unwrap();
    assert_eq!(client.deploy("web-2", &[]).await.refusal().0, 531);
    client.cloud.set_zone("zone-1", true).unwrap();
    client.cloud.set_offering("small", false).unwrap();
    assert_eq!(client.deploy("web-2", &[]).await.refusal().0, 431);
}
