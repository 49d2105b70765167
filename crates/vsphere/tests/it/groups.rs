//! Zones whose instances belong to a group of their cluster.

use std::sync::Arc;

use joiner_cloud::{CloudProvider, class::NodeClass, conformance::Mishap};
use joiner_sim_vcenter::inventory::Account;
use serde_json::json;

use crate::bench::{World, class, condition, order};

const NAME: &str = "prod-karp-general-1";

fn in_group(group: &str) -> Arc<NodeClass> {
    class(json!({"zones": [{"name": "az1", "vmGroup": group}]}))
}

/// Ids of the instances in the group rack1.
async fn members(world: &World) -> Vec<String> {
    let cluster = world.at("/dc1/host/cluster1").await;
    let path = "configurationEx.group";
    let read = world.admin.read(&[cluster], &[path]).await.expect("it answers");
    let groups = read[0].value(path).expect("there is a group");
    groups.children[0].children_named("vm").map(|own| own.text.to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn instances_are_in_the_group_of_their_zone_until_they_go() {
    let world = World::new();
    let provider = world.provider();
    let class = in_group("rack1");
    let orders = [1, 2, 3].map(|number| order(&class, number));
    let (one, two, three) = tokio::join!(
        provider.create(&orders[0]),
        provider.create(&orders[1]),
        provider.create(&orders[2])
    );
    for made in [one, two, three] {
        made.expect("nothing is wrong");
    }
    let mut ids: Vec<String> = world
        .server
        .picture()
        .vms
        .iter()
        .filter(|vm| !vm.template)
        .map(|vm| vm.id.clone())
        .collect();
    let mut grouped = members(&world).await;
    ids.sort();
    grouped.sort();
    assert_eq!(grouped, ids, "whoever joins at the same time pushes nobody out");
    world.remove(&provider, &orders[0].claim, None).await;
    assert_eq!(members(&world).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn others_in_the_group_stay_in_it() {
    let world = World::new();
    world.clone_as_somebody("somebodys", joiner_vim::spec::ConfigSpec::default()).await;
    let other = world.at("/dc1/vm/k8s/somebodys").await;
    let cluster = world.at("/dc1/host/cluster1").await;
    let members_before = vec![other.clone()];
    let method = joiner_vim::Method::SetGroup { name: "rack1".to_owned(), members: members_before };
    let task = world.admin.start(&cluster, method).await.expect("it is taken");
    world.admin.wait(&task, std::time::Duration::from_hours(1)).await.expect("it is done");
    let order = order(&in_group("rack1"), 1);
    let provider = world.provider();
    provider.create(&order).await.expect("nothing is wrong");
    assert!(members(&world).await.contains(&other.id));
    world.remove(&provider, &order.claim, None).await;
    assert_eq!(members(&world).await, [other.id]);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_dies_on_the_way_into_the_group_leaves_the_instance_off() {
    for mishap in [Mishap::KilledBefore, Mishap::KilledAfter] {
        let world = World::new();
        let order = order(&in_group("rack1"), 1);
        world.arm_at(mishap, "ReconfigureComputeResource_Task");
        let answer = world.until_killed(async |provider| provider.create(&order).await).await;
        assert!(answer.is_none(), "it was to be killed: {answer:?}");
        let power = world.property(NAME, "runtime.powerState").await;
        assert_eq!(power.as_deref(), Some("poweredOff"));
        world.provider().create(&order).await.expect("the next process goes on");
        assert_eq!(members(&world).await.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_that_is_not_there_is_told() {
    let (holds, reason, message) =
        condition(&World::new().provider(), &in_group("rack9"), "ComputeReady").await;
    assert_eq!((holds, reason.as_str()), (Some(false), "VmGroupNotFound"));
    assert_eq!(
        message,
        "spec.zones (az1).vmGroup: /dc1/host/cluster1 has no group \"rack9\" of virtual machines; \
         make it, or write one of rack1"
    );
}

#[tokio::test(start_paused = true)]
async fn an_account_that_may_not_change_the_cluster_is_told() {
    let mut inventory = World::inventory();
    let read_only = Account::new("administrator@vsphere.local", "secret");
    let read_only = read_only.grant("/", true, &["System.Read", "System.View"]);
    inventory.accounts = vec![read_only];
    let world = World::of(inventory);
    let (holds, reason, message) =
        condition(&world.provider(), &in_group("rack1"), "ComputeReady").await;
    assert_eq!((holds, reason.as_str()), (Some(false), "PermissionDenied"));
    assert!(message.contains("Host.Inventory.EditCluster on /dc1/host/cluster1"), "{message}");
}
