//! What guests find, and what their virtual router tells them.

use std::sync::{Arc, Mutex};

use joiner_sim_cloudstack::{GuestEvent, GuestVm};

use crate::support::Client;

#[tokio::test(start_paused = true)]
async fn a_guest_reads_its_user_data_and_who_it_is_from_the_router() {
    let client = Client::small();
    let changed = [
        ("userdata", "I2Nsb3VkLWNvbmZpZwo="),
        ("keypair", "ops"),
        ("userdatadetails[0].pool", "a"),
    ];
    let id = client.deployed("web-1", &changed).await;
    let row = &client.list("listVirtualMachines", &[("id", &id)]).await[0];
    let address = row["ipaddress"].as_str().unwrap();
    let read = |path: &str| {
        let answer = client.cloud.router(address, path)?;
        Some(String::from_utf8(answer).unwrap())
    };
    assert_eq!(read("/latest/user-data").unwrap(), "#cloud-config\n");
    assert_eq!(read("/latest/meta-data/instance-id"), Some(id.clone()));
    assert_eq!(read("/latest/meta-data/local-hostname").unwrap(), "web-1");
    assert_eq!(read("/latest/meta-data/availability-zone").unwrap(), "zone-1");
    assert_eq!(read("/latest/meta-data/local-ipv4").unwrap(), address);
    assert_eq!(read("/latest/meta-data/public-keys").unwrap(), "ops");
    assert_eq!(read("/latest/meta-data/pool").unwrap(), "a");
    assert!(read("/latest/meta-data/").unwrap().contains("instance-id\nlocal-hostname"));
    assert_eq!(
        (read("/latest/meta-data/nothing"), read("/"), read("/latest/x")),
        (None, None, None)
    );
    assert_eq!(client.cloud.router("10.1.1.99", "/latest/user-data"), None);
    let stored = client.list("listVirtualMachines", &[("id", &id), ("userdata", "true")]).await;
    assert_eq!(stored[0]["userdata"], "I2Nsb3VkLWNvbmZpZwo=");
}

#[tokio::test(start_paused = true)]
async fn a_network_without_the_service_has_no_router() {
    let client = Client::small();
    client.deployed("web-1", &[("networkids", &client.id("network", "bare"))]).await;
    let guest = &client.cloud.vms()[0].guest;
    assert_eq!((&guest.address, &guest.router), (&None, &None));
}

#[tokio::test(start_paused = true)]
async fn starts_and_stops_are_told_when_they_happen() {
    let client = Client::small();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&heard);
    client.cloud.on_guest(move |event| {
        noted.lock().unwrap().push(match event {
            GuestEvent::Started(GuestVm { name, cpus, .. }) => format!("{name} with {cpus} CPUs"),
            GuestEvent::Stopped { name, .. } => format!("{name} stopped"),
        });
    });
    let cloud = client.cloud.clone();
    let running = tokio::spawn(async move { cloud.run().await });
    client.deploy("web-1", &[]).await.ok();
    client.clock.sleep(std::time::Duration::from_secs(10)).await;
    assert_eq!(*heard.lock().unwrap(), ["web-1 with 2 CPUs"]);
    let id = client.cloud.vms()[0].id.clone();
    client.done("destroyVirtualMachine", &[("id", &id)]).await;
    running.abort();
    assert_eq!(*heard.lock().unwrap(), ["web-1 with 2 CPUs", "web-1 stopped"]);
}
