//! Groups of a cluster's VMs.

use crate::support::{Client, Object, Spec, named};

async fn set(client: &Client, cluster: &Object, name: &str, members: &[&Object]) -> String {
    let members: String = members.iter().map(|vm| named("vm", vm)).collect();
    let spec = format!(
        "<spec xsi:type=\"ClusterConfigSpecEx\"><groupSpec><operation>edit</operation>\
         <info xsi:type=\"ClusterVmGroup\"><name>{name}</name>{members}</info></groupSpec></spec>\
         <modify>true</modify>"
    );
    let run = client.run("ReconfigureComputeResource_Task", cluster, &spec).await;
    run.map_or_else(|fault| fault, |_| "done".to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_group_has_the_members_that_it_was_told_until_they_are_gone() {
    let client = Client::small().await;
    let cluster = client.find("/dc1/host/cluster1").await;
    let vm = client.clone_vm("web", &Spec::default()).await.unwrap();
    assert_eq!(set(&client, &cluster, "rack1", &[&vm]).await, "done");
    let told = client.read(&cluster, &["configurationEx.group"]).await;
    assert!(told.contains(&vm.1) && told.contains("rack1"), "{told}");
    client.run("Destroy_Task", &vm, "").await.unwrap();
    let told = client.read(&cluster, &["configurationEx.group"]).await;
    assert!(!told.contains(&vm.1), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_group_that_is_not_there_cannot_be_told_anything() {
    let client = Client::small().await;
    let cluster = client.find("/dc1/host/cluster1").await;
    assert_eq!(set(&client, &cluster, "rack9", &[]).await, "InvalidArgument");
}
