//! What is promised of a provider under load.

use std::time::Duration;

use joiner_cloud::{
    CloudProvider,
    testing::scenes::{self, highest_load},
};
use joiner_vcenter::Inventory;
use serde_json::json;

use crate::bench::{World, class, order};

/// An inventory with room for many instances, whose clones take a second.
fn large() -> Inventory {
    let mut inventory = Inventory::small();
    inventory.behaviour.durations.clone = Duration::from_secs(1);
    for host in &mut inventory.datacenters[0].clusters[0].hosts {
        host.cores = 20_000;
        host.memory_mib = 1 << 30;
    }
    for datastore in &mut inventory.datacenters[0].datastores {
        datastore.capacity_gib = 10_000_000;
    }
    inventory
}

#[tokio::test(start_paused = true)]
async fn two_hundred_claims_at_once_never_exceed_the_limit() {
    let class = class(json!({"cloneMode": "linkedClone"}));
    let world = World { class, ..World::of(large()) };
    let clones = || {
        let tasks = world.server.picture().tasks;
        tasks.iter().filter(|task| task.method == "CloneVM_Task").count()
    };
    let most = highest_load(&world, 200, clones).await;
    assert!((16..=32).contains(&most), "{most} clones at once");
    assert_eq!(world.all_instances().await.len(), 200);
}

/// The calls that it takes to make one more instance where there are so many. One question for news
/// serves everybody who waits for a task, so those are no instance's own.
async fn calls_for_one_more(instances: u32) -> Vec<String> {
    let mut inventory = large();
    for number in 0..instances {
        let mut instance = joiner_vcenter::inventory::Vm::new(&format!("other-{number}"));
        "k8s".clone_into(&mut instance.folder);
        instance.written_gib = 0;
        inventory.datacenters[0].vms.push(instance);
    }
    let world = World::of(inventory);
    let calls = || world.server.calls().into_iter().map(|call| call.method).collect();
    let calls = scenes::calls_for_one_more(&world, calls).await;
    calls.into_iter().filter(|method| method != "WaitForUpdatesEx").collect()
}

#[tokio::test(start_paused = true)]
async fn an_instance_takes_as_many_calls_among_five_thousand_as_among_a_hundred() {
    let (few, many) = (calls_for_one_more(100).await, calls_for_one_more(5_000).await);
    assert_eq!(few.len(), many.len());
    assert!(few.len() <= 10, "{} calls for one instance: {few:#?}", few.len());
}

/// How many calls a process that was started just now takes for its first instance, and how many of
/// them are about tags.
async fn first_calls(world: &World, number: u32) -> (usize, usize) {
    let since = world.server.calls().len();
    let order = order(&class(json!({})), number);
    world.provider().create(&order).await.expect("there is room");
    let calls = world.server.calls().split_off(since).into_iter().map(|call| call.method);
    let calls: Vec<String> = calls.filter(|method| method != "WaitForUpdatesEx").collect();
    let about_tags = calls.iter().filter(|method| method.contains("/tagging/")).count();
    (calls.len(), about_tags)
}

#[tokio::test(start_paused = true)]
async fn a_process_that_knows_nothing_asks_for_each_thing_once() {
    let world = World::of(large());
    let (all, about_tags) = first_calls(&world, 1).await;
    // A list, six categories, six tags, and one to put them on.
    assert!(all <= 48 && about_tags <= 14, "{all}, {about_tags}");
    // Now they are there: each has to be read by itself.
    let (all, about_tags) = first_calls(&world, 2).await;
    assert!(all <= 54 && about_tags <= 20, "{all}, {about_tags}");
}
