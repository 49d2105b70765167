//! Hosts and networks that are full.

use joiner_sim_cloudstack::Inventory;
use serde_json::json;

use crate::support::Client;

#[tokio::test(start_paused = true)]
async fn a_vm_that_fits_nowhere_fails_its_job_with_533_and_is_left_in_error() {
    let client = Client::small();
    let offering = client.id("serviceoffering", "huge");
    let begun = client.deploy("web-1", &[("serviceofferingid", &offering)]).await.ok();
    let job = client.wait(begun["jobid"].as_str().unwrap()).await;
    assert_eq!((&job["jobstatus"], &job["jobresultcode"]), (&json!(2), &json!(533)));
    let text = job["jobresult"]["errortext"].as_str().unwrap();
    assert!(text.starts_with("No destination found for a deployment for VM instance {"), "{text}");
    assert_eq!(job["jobresult"].get("cserrorcode"), None);
    assert_eq!(client.states(), json!({ "web-1": "Error" }));
    assert_eq!(client.list("listVolumes", &[]).await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn hosts_fill_up_and_have_room_again() {
    let mut inventory = Inventory::small();
    inventory.hosts.truncate(1);
    let client = Client::of(inventory);
    let offering = client.id("serviceoffering", "Large Instance");
    let large = [("serviceofferingid", offering.as_str())];
    let first = client.deployed("web-1", &large).await;
    client.deployed("web-2", &large).await;
    let full = client.deploy("web-3", &large).await.ok();
    let job = client.wait(full["jobid"].as_str().unwrap()).await;
    assert_eq!(job["jobresultcode"], 533);
    client.done("destroyVirtualMachine", &[("id", &first)]).await;
    client.deployed("web-4", &large).await;
}

#[tokio::test(start_paused = true)]
async fn tags_and_gpus_of_offerings_choose_the_host() {
    let client = Client::small();
    for (offering, host) in [("fast", "host-2"), ("gpu", "host-1")] {
        let id = client.id("serviceoffering", offering);
        client.deployed(offering, &[("serviceofferingid", &id)]).await;
        let vm = client.cloud.vms().into_iter().find(|vm| vm.name == offering).unwrap();
        assert_eq!(vm.host.as_deref(), Some(host));
    }
    let gpu = client.id("serviceoffering", "gpu");
    let second = client.deploy("gpu-2", &[("serviceofferingid", &gpu)]).await.ok();
    assert_eq!(client.wait(second["jobid"].as_str().unwrap()).await["jobresultcode"], 533);
}

#[tokio::test(start_paused = true)]
async fn an_anti_affinity_group_has_a_host_for_each_vm() {
    let client = Client::small();
    let apart = [("affinitygroupnames", "apart")];
    client.deployed("web-1", &apart).await;
    client.deployed("web-2", &apart).await;
    let hosts: Vec<_> = client.cloud.vms().into_iter().map(|vm| vm.host).collect();
    assert_ne!(hosts[0], hosts[1]);
    let third = client.deploy("web-3", &apart).await.ok();
    assert_eq!(client.wait(third["jobid"].as_str().unwrap()).await["jobresultcode"], 533);
}

#[tokio::test(start_paused = true)]
async fn a_network_without_addresses_refuses_at_once_and_makes_nothing() {
    let client = Client::small();
    let shared = client.id("network", "shared");
    let shared = [("networkids", shared.as_str())];
    for name in ["web-1", "web-2", "web-3"] {
        client.deployed(name, &shared).await;
    }
    let full = client.deploy("web-4", &shared).await;
    assert_eq!(full.refusal().0, 533);
    assert!(full.refusal().1.starts_with("Insufficient address capacity"));
    let row = &client.list("listNetworks", &[("name", "shared")]).await[0];
    assert_eq!(row["canusefordeploy"], false);
    assert_eq!(client.cloud.vms().len(), 3);
    client.cloud.expunge("web-2").unwrap();
    client.deployed("web-4", &shared).await;
    let row = &client.list("listVirtualMachines", &[("name", "web-4")]).await[0];
    assert_eq!(row["ipaddress"], "192.168.7.11");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_lost_during_the_start_fails_it() {
    let mut inventory = Inventory::small();
    inventory.hosts.truncate(1);
    let client = Client::of(inventory);
    let begun = client.deploy("web-1", &[]).await.ok();
    client.clock.sleep(std::time::Duration::from_secs(1)).await;
    client.states();
    client.cloud.set_host("host-1", false).unwrap();
    let job = client.wait(begun["jobid"].as_str().unwrap()).await;
    assert_eq!(job["jobresultcode"], 530);
    let text = format!(
        "Unable to start a VM [{}] due to insufficient capacity.",
        begun["id"].as_str().unwrap()
    );
    assert_eq!(job["jobresult"]["errortext"], text);
    assert_eq!(client.states(), json!({ "web-1": "Error" }));
}
