//! Hosts fail, and their VMs with them.

use std::time::Duration;

use joiner_sim_vcenter::{Inventory, inventory::Host};

use crate::support::{Client, Spec};

/// Two hosts of 16 GiB, and a VM of half of one.
async fn with_a_vm(ha: bool) -> Client {
    let mut inventory = Inventory::small();
    let cluster = &mut inventory.datacenters[0].clusters[0];
    cluster.hosts = vec![Host::new("esx1", 8, 16), Host::new("esx2", 8, 16)];
    cluster.ha = ha;
    let client = Client::admin(inventory).await;
    let vm = client.clone_vm("web", &Spec::config("<memoryMB>8192</memoryMB>")).await.unwrap();
    client.run("PowerOnVM_Task", &vm, "").await.unwrap();
    client
}

fn host_of(client: &Client, vm: &str) -> Option<String> {
    client.vcenter.vm(vm).filter(|vm| vm.powered_on).map(|vm| vm.host)
}

#[tokio::test(start_paused = true)]
async fn with_ha_the_vms_of_a_host_that_fails_are_started_elsewhere() {
    let client = with_a_vm(true).await;
    let first = host_of(&client, "web").unwrap();
    client.vcenter.fail_host(&first).unwrap();
    assert_eq!(host_of(&client, "web"), None, "what runs on it stops at once");
    client.clock.sleep(Duration::from_secs(31)).await;
    let second = host_of(&client, "web").unwrap();
    assert_ne!(second, first);
    assert!(!client.vcenter.vm("web").unwrap().booted, "it boots anew");
}

#[tokio::test(start_paused = true)]
async fn without_ha_they_stay_off() {
    let client = with_a_vm(false).await;
    client.vcenter.fail_host(&host_of(&client, "web").unwrap()).unwrap();
    client.clock.sleep(Duration::from_hours(1)).await;
    assert_eq!(host_of(&client, "web"), None);
}

#[tokio::test(start_paused = true)]
async fn without_room_it_is_tried_until_there_is_some() {
    let client = with_a_vm(true).await;
    let first = host_of(&client, "web").unwrap();
    let other = if first == "esx1" { "esx2" } else { "esx1" };
    client.vcenter.maintain_host(other, true).unwrap();
    client.vcenter.fail_host(&first).unwrap();
    client.clock.sleep(Duration::from_mins(10)).await;
    assert_eq!(host_of(&client, "web"), None);
    client.vcenter.maintain_host(other, false).unwrap();
    client.clock.sleep(Duration::from_secs(31)).await;
    assert_eq!(host_of(&client, "web").as_deref(), Some(other));
}

#[tokio::test(start_paused = true)]
async fn a_vm_that_was_off_stays_off() {
    let client = with_a_vm(true).await;
    let host = host_of(&client, "web").unwrap();
    client.vcenter.stop_vm("web").unwrap();
    client.vcenter.fail_host(&host).unwrap();
    client.clock.sleep(Duration::from_mins(10)).await;
    assert_eq!(host_of(&client, "web"), None);
}

#[tokio::test(start_paused = true)]
async fn the_picture_tells_which_clone_is_made_and_which_had_no_space() {
    let client = Client::small().await;
    client.begin_clone("web", &Spec::full()).await.object();
    client.clock.sleep(Duration::from_secs(5)).await;
    let task = client.vcenter.picture().tasks.remove(0);
    assert_eq!(task.makes.as_deref(), Some("web"));
    assert!(task.progress > 0, "{task:?}");
    client.vcenter.leave_free("datastore1", 0).unwrap();
    let refused = client.clone_vm("other", &Spec::full()).await.unwrap_err();
    let picture = client.vcenter.picture();
    let [failed] = &picture.failed[..] else { panic!("{:?}", picture.failed) };
    assert_eq!(failed.fault, refused);
    assert_eq!(failed.makes.as_deref(), Some("other"));
    client.clock.sleep(Duration::from_mins(1)).await;
    assert_eq!(client.vcenter.vm("web").unwrap().datastore, "datastore1");
}
