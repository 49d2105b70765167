//! A process may die anywhere: the next one goes on from what it finds.

use std::time::Duration;

use joiner_cloud::{CloudProvider, Deletion, conformance::Mishap, order::Order};
use serde_json::json;

use crate::bench::{World, class, order};

/// Kills a creation at a call, before or after it took effect, and answers the order.
async fn killed_at(world: &World, mishap: Mishap, call: &'static str) -> Order {
    let order = order(&class(json!({})), 1);
    world.arm_at(mishap, call);
    let answer = world.until_killed(async |provider| provider.create(&order).await).await;
    assert!(answer.is_none(), "it was to be killed at {call}: {answer:?}");
    order
}

/// A new process goes on, and there is one instance, which runs.
async fn goes_on(world: &World, order: &Order) {
    let instance = world.provider().create(order).await.expect("nothing is wrong any more");
    assert_eq!(instance.claim.as_ref(), Some(&order.claim));
    let all = world.all_instances().await;
    assert_eq!(all.len(), 1, "{all:?}");
    let power = world.property("prod-karp-general-1", "runtime.powerState").await;
    assert_eq!(power.as_deref(), Some("poweredOn"));
}

async fn removed(world: &World, order: &Order, provider_id: Option<&str>) {
    world.remove(&world.provider(), &order.claim, provider_id).await;
    assert_eq!(world.all_instances().await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn killed_before_the_clone_is_asked_for() {
    let world = World::new();
    let order = killed_at(&world, Mishap::KilledBefore, "CloneVM_Task").await;
    assert_eq!(world.all_instances().await.len(), 0);
    goes_on(&world, &order).await;
}

#[tokio::test(start_paused = true)]
async fn killed_after_the_clone_was_asked_for() {
    let world = World::new();
    let order = killed_at(&world, Mishap::KilledAfter, "CloneVM_Task").await;
    goes_on(&world, &order).await;
}

#[tokio::test(start_paused = true)]
async fn killed_after_the_clone_was_done() {
    let world = World::new();
    let order = killed_at(&world, Mishap::KilledAfter, "CloneVM_Task").await;
    world.clock.sleep(Duration::from_mins(5)).await;
    assert_eq!(world.all_instances().await.len(), 1);
    goes_on(&world, &order).await;
    assert_eq!(world.server.count("CloneVM_Task"), 1, "it is adopted, not made again");
}

/// Hardware is upgraded and tags are made and put on between the clone and the start.
#[tokio::test(start_paused = true)]
async fn killed_while_the_instance_is_prepared_and_tagged() {
    const ATTACH: &str = "POST /rest/com/vmware/cis/tagging/tag-association\
                          ?~action=attach-multiple-tags-to-object";
    for call in [
        "UpgradeVM_Task",
        "POST /rest/com/vmware/cis/tagging/category",
        "POST /rest/com/vmware/cis/tagging/tag",
        ATTACH,
    ] {
        for mishap in [Mishap::KilledBefore, Mishap::KilledAfter] {
            let world = World::new();
            let class = class(json!({"hardwareVersion": "vmx-20", "tags": {"k8s-zone": "az1"}}));
            let order = order(&class, 1);
            world.arm_at(mishap, call);
            let answer = world.until_killed(async |provider| provider.create(&order).await).await;
            assert!(answer.is_none(), "it was to be killed at {call}: {answer:?}");
            goes_on(&world, &order).await;
            let counted = ["CloneVM_Task", "PowerOnVM_Task"].map(|own| world.server.count(own));
            assert_eq!(counted, [1, 1], "{mishap:?} at {call}: it is adopted");
            let version = world.property("prod-karp-general-1", "config.version").await;
            assert_eq!(version.as_deref(), Some("vmx-20"), "{mishap:?} at {call}");
            let tags = world.server.vm("prod-karp-general-1").expect("it is there").tags;
            let zones: Vec<_> =
                tags.iter().filter(|(category, _)| category == "k8s-zone").collect();
            assert_eq!(zones.len(), 1, "{mishap:?} at {call}: {tags:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn killed_before_the_instance_is_switched_on() {
    let world = World::new();
    let order = killed_at(&world, Mishap::KilledBefore, "PowerOnVM_Task").await;
    let power = world.property("prod-karp-general-1", "runtime.powerState").await;
    assert_eq!(power.as_deref(), Some("poweredOff"));
    goes_on(&world, &order).await;
    assert_eq!(world.server.count("CloneVM_Task"), 1);
}

#[tokio::test(start_paused = true)]
async fn killed_after_the_instance_was_switched_on() {
    let world = World::new();
    let order = killed_at(&world, Mishap::KilledAfter, "PowerOnVM_Task").await;
    goes_on(&world, &order).await;
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
    let world = World::new();
    let order = killed_at(&world, Mishap::KilledAfter, "CloneVM_Task").await;
    removed(&world, &order, None).await;
    world.clock.sleep(Duration::from_hours(1)).await;
    assert_eq!(world.all_instances().await.len(), 0, "nothing comes after it was said to be gone");
}

#[tokio::test(start_paused = true)]
async fn the_claim_is_deleted_while_this_process_clones_its_instance() {
    let world = World::new();
    let order = order(&class(json!({})), 1);
    let provider = world.provider();
    let creation = provider.create(&order);
    let deletion = async {
        world.clock.sleep(Duration::from_secs(2)).await;
        let mut answer = Deletion::Requested;
        while answer != Deletion::Gone {
            answer = provider.delete(&order.claim, None).await.expect("it answers");
            world.clock.sleep(Duration::from_secs(5)).await;
        }
    };
    let _ = tokio::join!(creation, deletion);
    world.clock.sleep(Duration::from_hours(1)).await;
    removed(&world, &order, None).await;
}

#[tokio::test(start_paused = true)]
async fn the_claim_went_while_nobody_was_there() {
    let world = World::new();
    let order = killed_at(&world, Mishap::KilledAfter, "CloneVM_Task").await;
    world.clock.sleep(Duration::from_hours(8)).await;
    let listed = world.provider().list().await.expect("nothing is wrong").instances;
    let [orphan] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!(orphan.claim.as_ref(), Some(&order.claim), "whoever lists knows whose it was");
    let id = orphan.provider_id.clone();
    removed(&world, &order, Some(&id)).await;
}

#[tokio::test(start_paused = true)]
async fn two_processes_make_one_instance() {
    for number in 0..8 {
        let world = World::new();
        let order = order(&class(json!({})), 1);
        let (one, other) = (world.provider(), world.provider());
        let delayed = async {
            world.clock.sleep(Duration::from_millis(700 * number)).await;
            other.create(&order).await
        };
        let (one, other) = tokio::join!(one.create(&order), delayed);
        let (one, other) = (one.expect("it is made"), other.expect("it is found"));
        assert_eq!(one.provider_id, other.provider_id);
        assert_eq!(world.all_instances().await.len(), 1);
    }
}
