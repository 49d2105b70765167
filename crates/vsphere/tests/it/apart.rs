//! Instances that are kept on different hosts where that is possible.

use std::{collections::BTreeSet, sync::Arc};

use joiner_cloud::{CloudProvider, class::NodeClass, conformance::Mishap};
use joiner_vim::Module;
use serde_json::json;

use crate::bench::{World, class, order};

const NAME: &str = "prod-karp-general-1";

fn apart() -> Arc<NodeClass> {
    class(json!({"antiAffinity": "preferred"}))
}

async fn modules(world: &World) -> Vec<Module> {
    world.admin.modules().all().await.expect("it answers")
}

/// Ids of the instances in the one module that there is.
async fn members(world: &World) -> BTreeSet<String> {
    let modules = modules(world).await;
    assert_eq!(modules.len(), 1, "{modules:?}");
    let members = world.admin.modules().members(&modules[0].id).await.expect("it answers");
    members.into_iter().map(|vm| vm.id).collect()
}

fn instances(world: &World) -> BTreeSet<String> {
    let all = world.server.picture().vms;
    all.into_iter().filter(|vm| !vm.template).map(|vm| vm.id).collect()
}

#[tokio::test(start_paused = true)]
async fn instances_of_a_class_share_a_module_that_ends_with_the_last_of_them() {
    let world = World::new();
    let class = apart();
    let orders = [1, 2, 3].map(|number| order(&class, number));
    let provider = world.provider();
    let (one, two) = tokio::join!(provider.create(&orders[0]), provider.create(&orders[1]));
    one.expect("nothing is wrong");
    two.expect("nothing is wrong");
    // A process that was started later finds the module again.
    world.provider().create(&orders[2]).await.expect("nothing is wrong");
    assert_eq!(members(&world).await, instances(&world));
    let provider = world.provider();
    world.remove(&provider, &orders[0].claim, None).await;
    assert_eq!(members(&world).await, instances(&world));
    for order in &orders[1..] {
        world.remove(&provider, &order.claim, None).await;
    }
    assert_eq!(modules(&world).await, []);
}

#[tokio::test(start_paused = true)]
async fn modules_of_others_are_left_alone() {
    let world = World::new();
    let cluster = world.at("/dc1/host/cluster1").await;
    let theirs = world.admin.modules().create(&cluster).await.expect("it answers");
    let order = order(&apart(), 1);
    let provider = world.provider();
    provider.create(&order).await.expect("nothing is wrong");
    assert_eq!(modules(&world).await.len(), 2);
    world.remove(&provider, &order.claim, None).await;
    let left: Vec<String> = modules(&world).await.into_iter().map(|own| own.id).collect();
    assert_eq!(left, [theirs]);
}

#[tokio::test(start_paused = true)]
async fn what_is_only_preferred_keeps_no_instance_from_running() {
    let world = World::new();
    world.server.trouble("http 503 on /rest/vcenter always").expect("it is a script");
    world.provider().create(&order(&apart(), 1)).await.expect("it runs all the same");
    let power = world.property(NAME, "runtime.powerState").await;
    assert_eq!(power.as_deref(), Some("poweredOn"));
}

#[tokio::test(start_paused = true)]
async fn a_process_that_dies_on_the_way_into_the_module_is_followed_by_one_that_goes_on() {
    for mishap in [Mishap::KilledBefore, Mishap::KilledAfter] {
        let world = World::new();
        let order = order(&apart(), 1);
        world.arm_at(mishap, "ReconfigVM_Task");
        let answer = world.until_killed(async |provider| provider.create(&order).await).await;
        assert!(answer.is_none(), "it was to be killed: {answer:?}");
        world.provider().create(&order).await.expect("the next process goes on");
        let id = world.property(NAME, "config.extraConfig[\"joiner.module\"].value").await;
        let id = id.expect("the instance names its module");
        let members = world.admin.modules().members(&id).await.expect("it answers");
        assert_eq!(members.len(), 1, "{mishap:?}");
    }
}

/// A module has no name by which it could be known again. One that somebody else made and has yet to
/// fill looks the same as one that was left behind, so nobody uses it and nobody removes it.
#[tokio::test(start_paused = true)]
async fn a_process_that_dies_with_a_new_module_leaves_it_empty_and_the_next_one_goes_on() {
    let world = World::new();
    let class = apart();
    let first = order(&class, 1);
    world.arm_at(Mishap::KilledAfter, "POST /rest/vcenter/cluster/modules");
    let answer = world.until_killed(async |provider| provider.create(&first).await).await;
    assert!(answer.is_none(), "it was to be killed: {answer:?}");
    let [left] = &modules(&world).await[..] else { panic!("one was made") };
    world.provider().create(&first).await.expect("the next process goes on");
    world.provider().create(&order(&class, 2)).await.expect("nothing is wrong");
    let now = modules(&world).await;
    assert_eq!(now.len(), 2, "both instances are in one: {now:?}");
    for own in &now {
        let members = world.admin.modules().members(&own.id).await.expect("it answers");
        let expected = if own == left { BTreeSet::new() } else { instances(&world) };
        let members: BTreeSet<String> = members.into_iter().map(|vm| vm.id).collect();
        assert_eq!(members, expected);
    }
    let provider = world.provider();
    for number in [1, 2] {
        world.remove(&provider, &order(&class, number).claim, None).await;
    }
    assert_eq!(modules(&world).await, std::slice::from_ref(left), "it may be somebody else's");
}

#[tokio::test(start_paused = true)]
async fn a_class_that_does_not_ask_for_it_has_no_module() {
    let world = World::new();
    world.provider().create(&order(&class(json!({})), 1)).await.expect("nothing is wrong");
    assert_eq!(modules(&world).await, []);
}
