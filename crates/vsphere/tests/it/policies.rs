//! Storage policies: where instances may be, and what is said of classes that lead elsewhere.

use std::sync::Arc;

use joiner_cloud::{CloudProvider, class::NodeClass};
use joiner_sim_vcenter::inventory::StoragePolicy;
use serde_json::{Value, json};

use crate::bench::{World, class, condition, order};

const NAME: &str = "prod-karp-general-1";

/// A vCenter whose smaller datastore of a datastore cluster alone meets the policy gold.
fn world() -> World {
    let mut inventory = World::inventory();
    let datastores = vec!["pod-a".to_owned()];
    inventory.storage_policies = vec![StoragePolicy { name: "gold".to_owned(), datastores }];
    World::of(inventory)
}

fn with_policy(datastores: &str, policy: &str) -> Arc<NodeClass> {
    class(json!({
        "datastoreSelector": {"name": datastores},
        "storagePolicyName": policy,
        "dataDisks": [{"sizeGiB": 10}],
    }))
}

#[tokio::test(start_paused = true)]
async fn an_instance_goes_where_its_policy_is_met_and_its_disks_keep_it() {
    let world = world();
    let class = with_policy("pod1", "gold");
    world.provider().create(&order(&class, 1)).await.expect("nothing is wrong");
    let made = world.server.vm(NAME).expect("it is there");
    assert!(made.disks.iter().all(|file| file.starts_with("[pod-a]")), "{:?}", made.disks);
    assert_eq!(made.policies, vec![Some("gold".to_owned()); 3], "its own files and two disks");
}

#[tokio::test(start_paused = true)]
async fn without_a_policy_nobody_is_asked_about_policies() {
    let world = world();
    let class = class(json!({"datastoreSelector": {"name": "pod1"}}));
    world.provider().create(&order(&class, 1)).await.expect("nothing is wrong");
    let made = world.server.vm(NAME).expect("it is there");
    assert!(made.disks[0].starts_with("[pod-b]"), "the one with most room: {:?}", made.disks);
    assert_eq!(made.policies, vec![None; 2]);
    assert_eq!(world.server.count("PbmQueryProfile"), 0);
}

async fn told(world: &World, class: &NodeClass) -> (Option<bool>, String, String) {
    condition(&world.provider(), class, "DatastoreReady").await
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_is_not_there_is_told_with_those_that_are() {
    let (holds, reason, message) = told(&world(), &with_policy("pod1", "silver")).await;
    assert_eq!((holds, reason.as_str()), (Some(false), "StoragePolicyNotFound"));
    assert_eq!(message, "spec.storagePolicyName: there is no policy \"silver\"; write one of gold");
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_no_datastore_of_the_class_meets_is_told() {
    let (holds, reason, message) = told(&world(), &with_policy("datastore1", "gold")).await;
    assert_eq!((holds, reason.as_str()), (Some(false), "StoragePolicyNotMet"));
    assert!(message.contains("/dc1/datastore/datastore1"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn an_account_that_may_not_see_policies_is_told_what_it_lacks() {
    let world = world();
    world.server.trouble("fault NoPermission on PbmQueryProfile always").expect("it is a script");
    let (holds, reason, message) = told(&world, &with_policy("pod1", "gold")).await;
    assert_eq!((holds, reason.as_str()), (Some(false), "PermissionDenied"));
    assert!(message.contains("StorageProfile.View"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_over_is_begun_anew_for_policies_too() {
    let world = world();
    let class = with_policy("pod1", "gold");
    let provider = world.provider();
    assert_eq!(condition(&provider, &class, "DatastoreReady").await.0, Some(true));
    world.server.trouble("expire sessions on PbmQueryProfile once").expect("it is a script");
    assert_eq!(condition(&provider, &class, "DatastoreReady").await.0, Some(true));
}

#[tokio::test(start_paused = true)]
async fn another_policy_is_drift() {
    let world = world();
    let before = with_policy("pod1", "gold");
    let provider = world.provider();
    let instance = provider.create(&order(&before, 1)).await.expect("nothing is wrong");
    assert_eq!(provider.drift(&instance, &before).await, Ok(None));
    let mut after = NodeClass::clone(&before);
    after.generation += 1;
    after.spec["storagePolicyName"] = Value::Null;
    assert_eq!(provider.drift(&instance, &after).await, Ok(Some("NodeClassDrift".to_owned())));
}
