//! The zone of a class and the zone that the cloud controller reads from the inventory's tags.

use joiner_cloud::{CloudProvider, class::NodeClass};
use serde_json::json;

use crate::bench::{World, class, condition};

const CLUSTER: &str = "/dc1/host/cluster1";

/// A vCenter whose objects carry these zones and regions.
fn tagged(tags: &[(&str, &str, &str)]) -> World {
    let world = World::new();
    for (path, category, tag) in tags {
        world.server.tag(path, category, tag).expect("it is there");
    }
    world
}

async fn zones_ready(world: &World, class: &NodeClass) -> (Option<bool>, String, String) {
    condition(&world.provider(), class, "ZonesReady").await
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_in_another_zone_than_the_class_says() {
    // The nearest of each counts, wherever on the way it is.
    let world = tagged(&[(CLUSTER, "k8s-zone", "az2"), ("/dc1", "k8s-region", "dc1")]);
    let (holds, reason, message) = zones_ready(&world, &class(json!({}))).await;
    assert_eq!((holds, reason.as_str()), (Some(false), "ZoneMismatch"));
    for words in [
        "spec.instanceTypes[0].zone is \"az1\"",
        "tags of the category \"k8s-zone\" say \"az2\" for /dc1/host/cluster1",
        "correct the class's zone, or the tags",
    ] {
        assert!(message.contains(words), "{words:?} is not in {message:?}");
    }
    assert!(!message.contains("instanceTypes[1]"), "each zone is told once: {message}");
    let zones = json!({"zones": [{"name": "az2"}, {"name": "az1"}]});
    let (_, _, message) = zones_ready(&world, &class(zones)).await;
    assert!(message.starts_with("spec.zones[1].name is \"az1\""), "{message}");
}

#[tokio::test(start_paused = true)]
async fn tags_that_say_the_same_or_settle_nothing_are_no_mismatch() {
    let region = ("/dc1", "k8s-region", "dc1");
    let elsewhere = (CLUSTER, "k8s-zone", "az2");
    for (tags, why) in [
        (vec![], "there are none"),
        (vec![(CLUSTER, "k8s-zone", "az1"), region], "it is the same"),
        (vec![elsewhere], "without a region the cloud controller looks elsewhere"),
        (
            vec![elsewhere, region, ("/dc1/host/cluster1/esx1", "k8s-zone", "az1")],
            "one of the hosts is in it",
        ),
        (vec![elsewhere, (CLUSTER, "k8s-zone", "az3"), region], "it may be either"),
    ] {
        let world = tagged(&tags);
        let (holds, _, message) = zones_ready(&world, &class(json!({}))).await;
        assert_eq!((holds, message.as_str()), (Some(true), ""), "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn tags_that_nobody_can_ask_for_are_no_mismatch() {
    let world = tagged(&[(CLUSTER, "k8s-zone", "az2"), (CLUSTER, "k8s-region", "dc1")]);
    world.server.trouble("http 503 on /rest always").expect("it is understood");
    let (holds, reason, _) = zones_ready(&world, &class(json!({}))).await;
    assert_eq!((holds, reason.as_str()), (None, "TagsUnknown"));
}

/// Where no cloud controller runs, tags do no harm.
#[tokio::test(start_paused = true)]
async fn whatever_tags_say_machines_are_made() {
    let world = tagged(&[(CLUSTER, "k8s-zone", "az2"), ("/dc1", "k8s-region", "dc1")]);
    let status = world.provider().resolve_class(&class(json!({})), None).await.unwrap();
    let zones = status.conditions.iter().find(|own| own.type_ == "ZonesReady").unwrap();
    assert_eq!((zones.holds, zones.blocks), (Some(false), false));
}
