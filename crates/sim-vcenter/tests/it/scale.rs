//! Five thousand VMs.

use joiner_sim_vcenter::{
    Inventory,
    inventory::{Host, Vm},
};

use crate::support::{Client, Spec, all_inside, collector, from_view, inside, properties};

/// Five thousand VMs that run on 64 hosts.
fn large() -> Inventory {
    let mut inventory = Inventory::small();
    let dc = &mut inventory.datacenters[0];
    dc.clusters[0].hosts = (1..=64).map(|n| Host::new(&format!("esx{n}"), 128, 2048)).collect();
    dc.datastores[0].capacity_gib = 200_000;
    for n in 0..5_000 {
        let mut instance = Vm::new(&format!("vm{n:04}"));
        "k8s".clone_into(&mut instance.folder);
        instance.powered_on = true;
        instance.host = format!("esx{}", n % 64 + 1);
        instance.extra_config = vec![("joiner.cluster".to_owned(), "prod".to_owned())];
        instance.extra_config.push(("guestinfo.userdata".to_owned(), "x".repeat(8_192)));
        dc.vms.push(instance);
    }
    inventory
}

#[tokio::test(start_paused = true)]
async fn thousands_of_vms_are_listed_with_what_a_provider_wants_to_know() {
    let client = Client::admin(large()).await;
    let folder = client.find("dc1/vm/k8s").await;
    let view = client.container_view(&folder, &["VirtualMachine"], true).await;
    let paths = [
        "name",
        "config.uuid",
        "config.instanceUuid",
        "config.template",
        "config.annotation",
        "config.createDate",
        "config.hardware.numCPU",
        "config.hardware.memoryMB",
        "runtime.powerState",
        "runtime.connectionState",
        "runtime.host",
        "config.extraConfig[\"joiner.cluster\"].value",
    ];
    let spec = format!(
        "<specSet>{}{}</specSet><options><maxObjects>200</maxObjects></options>",
        properties("VirtualMachine", &paths),
        from_view(&view)
    );
    let started = std::time::Instant::now();
    let mut answer = client.call("RetrievePropertiesEx", &collector(), &spec).await.ok();
    let (mut pages, mut owned) = (1, 0);
    loop {
        owned += answer.matches(">prod</val>").count();
        let Some(token) = inside(&answer, "token") else { break };
        let token = format!("<token>{token}</token>");
        answer = client.call("ContinueRetrievePropertiesEx", &collector(), &token).await.ok();
        pages += 1;
    }
    println!("5,000 VMs in {pages} pages: {:?}", started.elapsed());
    assert_eq!((owned, pages), (5_000, 25));
    assert_eq!(all_inside(&answer, "objects").len(), 200);
    let started = std::time::Instant::now();
    let vm = client.clone_vm("one-more", &Spec::default()).await.unwrap();
    client.run("PowerOnVM_Task", &vm, "").await.unwrap();
    println!("one more, from clone to power: {:?}", started.elapsed());
    assert_eq!(client.vcenter.picture().hosts.iter().map(|host| host.vms).sum::<usize>(), 5_001);
}

#[tokio::test(start_paused = true)]
async fn thousands_of_vms_are_watched_while_more_come() {
    let client = Client::admin(large()).await;
    let folder = client.find("dc1/vm/k8s").await;
    let view = client.container_view(&folder, &["VirtualMachine"], true).await;
    let spec = format!(
        "<spec>{}{}</spec><partialUpdates>false</partialUpdates>",
        properties("VirtualMachine", &["name", "runtime.powerState"]),
        from_view(&view)
    );
    client.call("CreateFilter", &collector(), &spec).await.object();
    let started = std::time::Instant::now();
    for n in 0..100 {
        let power_on = true;
        client
            .begin_clone(&format!("more{n:02}"), &Spec { power_on, ..Spec::default() })
            .await
            .object();
    }
    let (mut version, mut entered, mut answers) = (String::new(), 0, 0);
    while entered < 5_100 {
        let arguments = format!("<version>{version}</version>");
        let update = client.call("WaitForUpdatesEx", &collector(), &arguments).await.ok();
        version = inside(&update, "version").unwrap();
        entered += update.matches("<kind>enter</kind>").count();
        answers += 1;
    }
    println!("100 more while 5,000 are watched, {answers} answers: {:?}", started.elapsed());
}
