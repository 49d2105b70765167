//! What happens in VMs.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use joiner_sim_vcenter::{GuestEvent, Inventory, serial_number};

use crate::support::{Client, Spec};

fn listen(client: &Client) -> Arc<Mutex<Vec<(Duration, GuestEvent)>>> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (into, clock) = (Arc::clone(&heard), client.clock.clone());
    client.vcenter.on_guest(move |event| {
        into.lock().unwrap().push((clock.running(), event.clone()));
    });
    heard
}

#[tokio::test(start_paused = true)]
async fn who_listens_hears_of_a_guest_with_what_it_was_given() {
    let client = Client::small().await;
    let heard = listen(&client);
    let vcenter = client.vcenter.clone();
    let running = tokio::spawn(async move { vcenter.run().await });
    let config = "<numCPUs>4</numCPUs><memoryMB>8192</memoryMB><extraConfig>\
        <key>guestinfo.userdata</key><value xsi:type=\"xsd:string\">abc</value></extraConfig>\
        <extraConfig><key>joiner.cluster</key><value xsi:type=\"xsd:string\">prod</value></extraConfig>";
    let spec = Spec { power_on: true, ..Spec::config(config) };
    client.begin_clone("web", &spec).await.object();
    // Nobody asks anything: the guest boots all the same.
    client.clock.sleep(Duration::from_mins(1)).await;
    running.abort();
    let heard = heard.lock().unwrap().clone();
    let [(on, GuestEvent::PoweredOn(instance)), (up, GuestEvent::Booted { name, .. })] = &heard[..]
    else {
        panic!("{heard:?}");
    };
    assert_eq!((instance.name.as_str(), name.as_str()), ("web", "web"));
    assert_eq!((instance.cpus, instance.memory_mib, instance.disk_gib), (4, 8192, 20));
    assert_eq!(instance.guest_info("guestinfo.userdata"), Some("abc"));
    assert_eq!(instance.guest_info("joiner.cluster"), None);
    assert_eq!(instance.uuid, client.vcenter.vm("web").unwrap().uuid);
    assert_eq!(up.saturating_sub(*on), Duration::from_secs(25));
    assert!(serial_number(&instance.uuid).unwrap().starts_with("VMware-"));
}

#[tokio::test(start_paused = true)]
async fn name_and_address_are_there_once_the_guest_is_up() {
    let client = Client::small().await;
    let vm = client.clone_vm("web", &Spec::default()).await.unwrap();
    client.run("PowerOnVM_Task", &vm, "").await.unwrap();
    assert_eq!(client.text(&vm, "guest.hostName").await, None);
    let running = "guest.toolsRunningStatus";
    assert_eq!(client.text(&vm, running).await.as_deref(), Some("guestToolsNotRunning"));
    client.clock.sleep(Duration::from_secs(25)).await;
    assert_eq!(client.text(&vm, "guest.hostName").await.as_deref(), Some("web"));
    assert_eq!(client.text(&vm, running).await.as_deref(), Some("guestToolsRunning"));
    let ip = client.text(&vm, "guest.ipAddress").await.unwrap();
    assert!(ip.starts_with("10.20."), "{ip}");
    client.run("PowerOffVM_Task", &vm, "").await.unwrap();
    assert_eq!(client.text(&vm, "guest.ipAddress").await, None);
}

#[tokio::test(start_paused = true)]
async fn a_guest_without_tools_says_nothing() {
    let mut inventory = Inventory::small();
    inventory.datacenters[0].vms[0].tools = false;
    let client = Client::admin(inventory).await;
    let vm = client.clone_vm("web", &Spec::default()).await.unwrap();
    client.run("PowerOnVM_Task", &vm, "").await.unwrap();
    client.clock.sleep(Duration::from_mins(1)).await;
    assert_eq!(client.text(&vm, "guest.toolsStatus").await.as_deref(), Some("toolsNotInstalled"));
    assert_eq!(client.text(&vm, "guest.hostName").await, None);
}

#[tokio::test(start_paused = true)]
async fn a_guest_that_was_stopped_while_it_booted_does_not_come_up() {
    let client = Client::small().await;
    let heard = listen(&client);
    let vm = client.clone_vm("web", &Spec::default()).await.unwrap();
    client.run("PowerOnVM_Task", &vm, "").await.unwrap();
    client.vcenter.stop_vm("web").unwrap();
    client.clock.sleep(Duration::from_secs(20)).await;
    client.run("PowerOnVM_Task", &vm, "").await.unwrap();
    client.clock.sleep(Duration::from_secs(10)).await;
    // The first run would be up by now; the second is not.
    assert!(!client.vcenter.vm("web").unwrap().booted);
    client.vcenter.remove_vm("web").unwrap();
    let kinds: Vec<&str> = heard.lock().unwrap().iter().map(|(_, event)| kind(event)).collect();
    assert_eq!(kinds, ["on", "off", "on", "off"]);
}

fn kind(event: &GuestEvent) -> &'static str {
    match event {
        GuestEvent::PoweredOn(_) => "on",
        GuestEvent::Booted { .. } => "up",
        GuestEvent::PoweredOff { .. } => "off",
    }
}
