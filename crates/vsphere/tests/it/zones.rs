//! The zone of a class and the zone that the cloud controller reads from the inventory's tags.

use std::{collections::BTreeMap, sync::Arc};

use joiner_cloud::{CloudProvider, class::NodeClass};
use joiner_core::label;
use joiner_sim_vcenter::inventory::{Cluster, Host, Vm};
use joiner_vsphere::Vsphere;
use serde_json::json;

use crate::bench::{World, class, condition, order};

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
async fn whatever_tags_say_instances_are_made() {
    let world = tagged(&[(CLUSTER, "k8s-zone", "az2"), ("/dc1", "k8s-region", "dc1")]);
    let status = world.provider().resolve_class(&class(json!({})), None).await.unwrap();
    let zones = status.conditions.iter().find(|own| own.type_ == "ZonesReady").unwrap();
    assert_eq!((zones.holds, zones.blocks), (Some(false), false));
}

/// Two zones of two hosts each, `az1` and `az2`; in the first runs somebody else's instance with so
/// many processors.
fn two_zones(others_cpus: u32) -> World {
    let mut inventory = World::inventory();
    let datacenter = &mut inventory.datacenters[0];
    datacenter.clusters = ["az1", "az2"]
        .map(|zone| {
            let hosts = (1..=2).map(|n| Host::new(&format!("{zone}-esx{n}"), 64, 1024));
            Cluster { hosts: hosts.collect(), ..Cluster::new(zone) }
        })
        .into();
    datacenter.vms.push(Vm {
        powered_on: true,
        cpus: others_cpus,
        memory_mib: 4096,
        ..Vm::new("somebody-elses")
    });
    World::of(inventory)
}

fn class_of_two_zones() -> Arc<NodeClass> {
    let zone = |zone: &str| json!({"name": zone, "computeSelector": {"name": zone}});
    class(json!({
        "zones": [zone("az1"), zone("az2")],
        "instanceTypes": [{"os": "linux", "cpu": 8, "memory": 16}],
    }))
}

/// Has so many instances made at once; how many went to each zone.
async fn made(provider: &Vsphere, numbers: std::ops::Range<u32>) -> BTreeMap<String, usize> {
    let class = class_of_two_zones();
    let creations = numbers.map(|number| {
        let (provider, order) = (provider.clone(), order(&class, number));
        tokio::spawn(async move { provider.create(&order).await })
    });
    let creations: Vec<_> = creations.collect();
    let mut zones: BTreeMap<String, usize> = BTreeMap::new();
    for creation in creations {
        let instance = creation.await.expect("it does not panic").expect("there is room");
        *zones.entry(instance.labels[label::ZONE].clone()).or_default() += 1;
    }
    zones
}

fn zones<const N: usize>(counts: [(&str, usize); N]) -> BTreeMap<String, usize> {
    counts.map(|(zone, count)| (zone.to_owned(), count)).into()
}

#[tokio::test(start_paused = true)]
async fn instances_that_are_made_at_once_are_spread_over_equally_priced_zones() {
    let world = two_zones(4);
    assert_eq!(made(&world.provider(), 0..8).await, zones([("az1", 4), ("az2", 4)]));
}

#[tokio::test(start_paused = true)]
async fn a_zone_whose_hosts_are_full_of_other_instances_gets_fewer() {
    let world = two_zones(32);
    assert_eq!(made(&world.provider(), 0..8).await, zones([("az1", 2), ("az2", 6)]));
}

#[tokio::test(start_paused = true)]
async fn a_process_that_was_started_again_counts_what_is_there() {
    let world = two_zones(4);
    made(&world.provider(), 0..3).await;
    assert_eq!(made(&world.provider(), 3..4).await, zones([("az1", 1)]));
}

#[tokio::test(start_paused = true)]
async fn plans_are_told_the_room_that_creations_go_by() {
    let world = two_zones(32);
    let (provider, class) = (world.provider(), class_of_two_zones());
    assert!(provider.room(&class).is_empty(), "nothing is known before the first look");
    made(&provider, 0..1).await;
    let room = provider.room(&class);
    assert_eq!((room["az1"], room["az2"]), (750, 937));
}
