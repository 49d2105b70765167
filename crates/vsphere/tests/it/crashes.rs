//! A process may die anywhere: the next one goes on from what it finds.

use std::time::Duration;

use joiner_cloud::{
    CloudProvider,
    conformance::Mishap,
    order::Order,
    testing::scenes::{
        crash_sweep, create_again, created_twice, deleted_after_a_crash, deleted_meanwhile,
        kill_creation, orphaned_by_a_crash,
    },
};
use serde_json::json;

use crate::bench::{World, class, order};

/// Kills a creation at a call, before or after it took effect, and answers the order.
async fn killed_at(world: &World, mishap: Mishap, call: &'static str) -> Order {
    let order = order(&world.class, 1);
    kill_creation(world, &order, mishap, call).await;
    order
}

#[tokio::test(start_paused = true)]
async fn killed_before_the_clone_is_asked_for() {
    let world = World::new();
    let order = killed_at(&world, Mishap::KilledBefore, "CloneVM_Task").await;
    assert_eq!(world.all_instances().await.len(), 0);
    create_again(&world, &order).await;
}

#[tokio::test(start_paused = true)]
async fn killed_after_the_clone_was_asked_for() {
    let world = World::new();
    let order = killed_at(&world, Mishap::KilledAfter, "CloneVM_Task").await;
    create_again(&world, &order).await;
}

#[tokio::test(start_paused = true)]
async fn killed_after_the_clone_was_done() {
    let world = World::new();
    let order = killed_at(&world, Mishap::KilledAfter, "CloneVM_Task").await;
    world.clock.sleep(Duration::from_mins(5)).await;
    assert_eq!(world.all_instances().await.len(), 1);
    create_again(&world, &order).await;
    assert_eq!(world.server.count("CloneVM_Task"), 1, "it is adopted, not made again");
}

/// Hardware is upgraded and tags are made and put on between the clone and the start.
#[tokio::test(start_paused = true)]
async fn killed_while_the_instance_is_prepared_and_tagged() {
    const ATTACH: &str = "POST /rest/com/vmware/cis/tagging/tag-association\
                          ?~action=attach-multiple-tags-to-object";
    let world = || {
        let class = class(json!({"hardwareVersion": "vmx-20", "tags": {"k8s-zone": "az1"}}));
        World { class, ..World::new() }
    };
    let calls = [
        "UpgradeVM_Task",
        "POST /rest/com/vmware/cis/tagging/category",
        "POST /rest/com/vmware/cis/tagging/tag",
        ATTACH,
    ];
    crash_sweep(world, &calls, async |world: &World, when: &str| {
        let counted = ["CloneVM_Task", "PowerOnVM_Task"].map(|own| world.server.count(own));
        assert_eq!(counted, [1, 1], "{when}: it is adopted");
        let version = world.property("prod-karp-general-1", "config.version").await;
        assert_eq!(version.as_deref(), Some("vmx-20"), "{when}");
        let tags = world.server.vm("prod-karp-general-1").expect("it is there").tags;
        let zones: Vec<_> = tags.iter().filter(|(category, _)| category == "k8s-zone").collect();
        assert_eq!(zones.len(), 1, "{when}: {tags:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn killed_before_the_instance_is_switched_on() {
    let world = World::new();
    let order = killed_at(&world, Mishap::KilledBefore, "PowerOnVM_Task").await;
    let power = world.property("prod-karp-general-1", "runtime.powerState").await;
    assert_eq!(power.as_deref(), Some("poweredOff"));
    create_again(&world, &order).await;
    assert_eq!(world.server.count("CloneVM_Task"), 1);
}

#[tokio::test(start_paused = true)]
async fn killed_after_the_instance_was_switched_on() {
    let world = World::new();
    let order = killed_at(&world, Mishap::KilledAfter, "PowerOnVM_Task").await;
    create_again(&world, &order).await;
    assert_eq!(world.server.count("CloneVM_Task"), 1);
}

#[tokio::test(start_paused = true)]
async fn the_answer_was_never_written_down() {
    let world = World::new();
    let order = order(&class(json!({})), 1);
    let first = world.provider().create(&order).await.expect("nothing is wrong");
    let again = world.provider().create(&order).await.expect("nothing is wrong");
    assert_eq!(first, again);
    assert_eq!(world.server.count("CloneVM_Task"), 1);
    assert_eq!(world.server.count("PowerOnVM_Task"), 1);
}

#[tokio::test(start_paused = true)]
async fn the_claim_is_deleted_while_its_instance_is_cloned() {
    deleted_after_a_crash(&World::new(), "CloneVM_Task").await;
}

#[tokio::test(start_paused = true)]
async fn the_claim_is_deleted_while_this_process_clones_its_instance() {
    deleted_meanwhile(&World::new()).await;
}

#[tokio::test(start_paused = true)]
async fn the_claim_went_while_no_process_was_there() {
    orphaned_by_a_crash(&World::new(), "CloneVM_Task").await;
}

#[tokio::test(start_paused = true)]
async fn two_processes_make_one_instance() {
    for number in 0..8 {
        created_twice(&World::new(), Duration::from_millis(700 * number)).await;
    }
}
