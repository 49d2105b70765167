//! Hosts and datastores are finite.

use joiner_sim_vcenter::{Inventory, PoolBounds, inventory::Host};

use crate::support::{Client, Object, Spec, first_object, inside, object};

/// One host of 8 cores and 16 GiB.
fn tiny() -> Inventory {
    let mut inventory = Inventory::small();
    inventory.datacenters[0].clusters[0].hosts = vec![Host::new("esx1", 8, 16)];
    inventory
}

async fn start(client: &Client, name: &str, config: &str) -> Result<(), String> {
    let vm = client.clone_vm(name, &Spec::config(config)).await?;
    client.run("PowerOnVM_Task", &vm, "").await.map(|_| ())
}

#[tokio::test(start_paused = true)]
async fn a_host_runs_as_much_memory_as_it_has() {
    let client = Client::admin(tiny()).await;
    let config = "<memoryMB>8192</memoryMB>";
    start(&client, "a", config).await.unwrap();
    start(&client, "b", config).await.unwrap();
    let full = start(&client, "c", config).await;
    assert_eq!(full.unwrap_err(), "InsufficientHostMemoryCapacityFault");
    let host = &client.vcenter.picture().hosts[0];
    assert_eq!((host.vms, host.memory_used_mib, host.memory_mib), (2, 16384, 16384));
    // Whoever leaves makes room.
    client.vcenter.remove_vm("a").unwrap();
    let vm = client.find("dc1/vm/k8s/c").await;
    client.run("PowerOnVM_Task", &vm, "").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_vm_has_no_more_cpus_than_its_host_has_cores() {
    let client = Client::admin(tiny()).await;
    let large = start(&client, "a", "<numCPUs>9</numCPUs><memoryMB>4096</memoryMB>").await;
    assert_eq!(large.unwrap_err(), "InsufficientHostCpuCapacityFault");
}

#[tokio::test(start_paused = true)]
async fn reservations_of_cpu_are_kept() {
    let client = Client::admin(tiny()).await;
    let config =
        "<memoryMB>1024</memoryMB><cpuAllocation><reservation>12000</reservation></cpuAllocation>";
    start(&client, "a", config).await.unwrap();
    let full = start(&client, "b", config).await;
    assert_eq!(full.unwrap_err(), "InsufficientHostCpuCapacityFault");
}

#[tokio::test(start_paused = true)]
async fn a_bounded_pool_promises_no_more_than_it_may() {
    let client = Client::admin(tiny()).await;
    let config = "<memoryMB>4096</memoryMB><memoryAllocation><reservation>1024</reservation></memoryAllocation>";
    let (free, pool) = (PoolBounds::default(), "dc1/host/cluster1/Resources/workers");
    for bounds in
        [PoolBounds { reservation: Some(1536), ..free }, PoolBounds { limit: Some(1536), ..free }]
    {
        client.vcenter.bound_pool(pool, free, bounds).unwrap();
        start(&client, "a", config).await.unwrap();
        let full = start(&client, "b", config).await;
        assert_eq!(full.unwrap_err(), "InsufficientMemoryResourcesFault", "{bounds:?}");
        for name in ["a", "b"] {
            client.vcenter.remove_vm(name).unwrap();
        }
    }
    client.vcenter.bound_pool("dc1/host/cluster1", free, free).unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn with_drs_a_vm_starts_where_most_memory_is_left() {
    let client = Client::small().await;
    for name in ["a", "b", "c"] {
        start(&client, name, "<memoryMB>8192</memoryMB>").await.unwrap();
    }
    let hosts = client.vcenter.picture().hosts;
    assert_eq!(hosts.iter().map(|host| host.vms).collect::<Vec<_>>(), [1, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn room_is_kept_for_the_failure_of_a_host() {
    let mut inventory = Inventory::small();
    inventory.datacenters[0].clusters[0].failover_hosts = 2;
    inventory.datacenters[0].clusters[0].hosts =
        (1..=3).map(|n| Host::new(&format!("esx{n}"), 8, 16)).collect();
    let client = Client::admin(inventory).await;
    start(&client, "a", "<memoryMB>12288</memoryMB>").await.unwrap();
    let more = start(&client, "b", "<memoryMB>8192</memoryMB>").await;
    assert_eq!(more.unwrap_err(), "InsufficientFailoverResourcesFault");
}

#[tokio::test(start_paused = true)]
async fn hosts_in_maintenance_take_nothing() {
    let client = Client::admin(tiny()).await;
    let vm = client.clone_vm("a", &Spec::default()).await.unwrap();
    client.vcenter.maintain_host("esx1", true).unwrap();
    assert_eq!(client.run("PowerOnVM_Task", &vm, "").await.unwrap_err(), "NoCompatibleHost");
    let clone = client.clone_vm("b", &Spec::default()).await;
    assert_eq!(clone.unwrap_err(), "NoCompatibleHost");
}

#[tokio::test(start_paused = true)]
async fn a_full_datastore_takes_no_full_clone_but_a_linked_one() {
    let client = Client::small().await;
    client.vcenter.leave_free("datastore1", 4).unwrap();
    let full = client.clone_vm("a", &Spec::full()).await;
    assert_eq!(full.unwrap_err(), "NoDiskSpace");
    client.clone_vm("b", &Spec::default()).await.unwrap();
    client.vcenter.reach_datastore("datastore1", false).unwrap();
    let clone = client.clone_vm("c", &Spec::default()).await;
    assert_eq!(clone.unwrap_err(), "InaccessibleDatastore");
}

#[tokio::test(start_paused = true)]
async fn space_is_put_aside_while_a_clone_is_made() {
    let client = Client::small().await;
    client.vcenter.leave_free("datastore1", 8).unwrap();
    let first = client.begin_clone("a", &Spec::full()).await.object();
    let second = client.begin_clone("b", &Spec::full()).await.object();
    assert_eq!(client.wait(&second).await.unwrap_err(), "NoDiskSpace");
    client.wait(&first).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_disk_is_not_added_where_there_is_no_room_for_it() {
    let client = Client::small().await;
    let vm = client.clone_vm("a", &Spec::default()).await.unwrap();
    client.vcenter.leave_free("datastore1", 4).unwrap();
    let disk = "<spec><deviceChange><operation>add</operation><fileOperation>create</fileOperation>\
        <device xsi:type=\"VirtualDisk\"><key>-1</key><backing xsi:type=\"VirtualDiskFlatVer2BackingInfo\">\
        <fileName></fileName><diskMode>persistent</diskMode></backing><controllerKey>1000</controllerKey>\
        <capacityInKB>8388608</capacityInKB></device></deviceChange></spec>";
    assert_eq!(client.run("ReconfigVM_Task", &vm, disk).await.unwrap_err(), "NoDiskSpace");
}

#[tokio::test(start_paused = true)]
async fn a_datastore_that_no_host_has_leaves_no_host() {
    let mut inventory = Inventory::small();
    inventory.datacenters[0].datastores[1].hosts = vec!["esx2".to_owned()];
    let client = Client::admin(inventory).await;
    let spec = Spec { datastore: "datastore2".to_owned(), ..Spec::full() };
    client.clone_vm("a", &spec).await.unwrap();
    assert_eq!(client.vcenter.vm("a").unwrap().host, "esx2");
    client.vcenter.maintain_host("esx2", true).unwrap();
    assert_eq!(client.clone_vm("b", &spec).await.unwrap_err(), "NoCompatibleHost");
}

#[tokio::test(start_paused = true)]
async fn the_emptiest_datastore_of_a_cluster_is_recommended() {
    let client = Client::small().await;
    let pod = client.find("dc1/datastore/pod1").await;
    let manager = object("StorageResourceManager", "StorageResourceManager");
    let spec = format!(
        "<storageSpec><type>clone</type><podSelectionSpec><storagePod type=\"StoragePod\">{}\
         </storagePod></podSelectionSpec></storageSpec>",
        pod.1
    );
    let recommended = async || -> Option<Object> {
        let answer = client.call("RecommendDatastores", &manager, &spec).await.ok();
        first_object(&inside(&answer, "action")?, "destination")
    };
    assert_eq!(recommended().await, Some(client.find("dc1/datastore/pod1/pod-b").await));
    client.vcenter.maintain_datastore("pod-b", true).unwrap();
    assert_eq!(recommended().await, Some(client.find("dc1/datastore/pod1/pod-a").await));
}
