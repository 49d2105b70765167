//! What guests are given to join with leaves the vCenter once they have joined.

use std::time::Duration;

use joiner_cloud::{
    CloudProvider, adoption::Adoption, conformance::Mishap, instance::Instance, order::Order,
};
use joiner_vim::spec::ConfigSpec;
use serde_json::{Value, json};

use crate::bench::{World, class, condition, order};

const NAME: &str = "prod-karp-general-1";
const TEXTS: [&str; 5] = [
    "guestinfo.userdata",
    "guestinfo.userdata.encoding",
    "guestinfo.ignition.config.data",
    "guestinfo.ignition.config.data.encoding",
    "guestinfo.talos.config",
];

async fn setting(world: &World, key: &str) -> String {
    let path = format!("config.extraConfig[\"{key}\"].value");
    world.property(NAME, &path).await.unwrap_or_default()
}

/// The texts that the vCenter still has.
async fn texts(world: &World) -> Vec<&'static str> {
    let mut kept = Vec::new();
    for key in TEXTS {
        if !setting(world, key).await.is_empty() {
            kept.push(key);
        }
    }
    kept
}

async fn made(world: &World, user_data: Value) -> (Order, Instance) {
    let order = order(&class(json!({"userData": user_data})), 1);
    let instance = world.provider().create(&order).await.expect("nothing is wrong");
    assert!(instance.holds_join_data);
    (order, instance)
}

#[tokio::test(start_paused = true)]
async fn texts_of_every_format_are_emptied_and_what_the_guest_knows_itself_by_stays() {
    for (type_, own) in [("cloud-config", &TEXTS[..2]), ("ignition", &TEXTS[2..4])] {
        let world = World::new();
        let (order, instance) = made(&world, json!({"type": type_})).await;
        assert_eq!(texts(&world).await, own, "{type_}");
        // Talos takes a whole configuration of the user's; only its key counts here.
        world.change_settings(NAME, &[("guestinfo.talos.config", "c2VjcmV0")]).await;
        let before = setting(&world, "guestinfo.metadata").await;
        let provider = world.provider();
        provider.empty_join_data(&order.claim, &instance.provider_id).await.unwrap();
        assert_eq!(texts(&world).await, [] as [&str; 0], "{type_}");
        assert_eq!(setting(&world, "guestinfo.metadata").await, before);
        assert!(
            !before.is_empty(),
            "without it the next boot would be the first of a new instance"
        );
        let listed = world.provider().list().await.unwrap().instances;
        assert_eq!(listed.iter().map(|own| own.holds_join_data).collect::<Vec<_>>(), [false]);
        assert_eq!(listed[0].claim.as_ref(), Some(&order.claim));
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_done_once_and_begun_again_wherever_a_process_was_killed() {
    for mishap in [Mishap::KilledBefore, Mishap::KilledAfter] {
        for call in ["FindAllByUuid", "ReconfigVM_Task"] {
            let world = World::new();
            let (order, instance) = made(&world, json!({"type": "ignition"})).await;
            let id = instance.provider_id.as_str();
            world.arm_at(mishap, call);
            let killed =
                world.until_killed(async |own| own.empty_join_data(&order.claim, id).await);
            assert!(killed.await.is_none(), "it was to be killed at {call}");
            // What was asked for may still be under way.
            world.clock.sleep(Duration::from_mins(1)).await;
            world.provider().empty_join_data(&order.claim, id).await.unwrap();
            assert_eq!(texts(&world).await, [] as [&str; 0], "{mishap:?} at {call}");
            world.provider().empty_join_data(&order.claim, id).await.unwrap();
            assert_eq!(world.server.count("ReconfigVM_Task"), 1, "{mishap:?} at {call}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_predecessor_gave_its_guests_is_emptied_too() {
    let world = World::new();
    world.clone_as_somebody(NAME, ConfigSpec::default()).await;
    world.server.tag(&format!("/dc1/vm/k8s/{NAME}"), "karpenter.sh/clustername", "prod").unwrap();
    world.change_settings(NAME, &[(TEXTS[0], "c2VjcmV0"), (TEXTS[1], "base64")]).await;
    let provider = world.provider();
    let found = provider.list().await.unwrap().instances.remove(0);
    let claim = order(&class(json!({})), 1).claim;
    let by = Adoption { claim: claim.clone(), ..Adoption::default() };
    assert_eq!(provider.adopt(&found, &by).await, Ok(true));
    let found = provider.list().await.unwrap().instances.remove(0);
    assert!(found.holds_join_data);
    provider.empty_join_data(&claim, &found.provider_id).await.unwrap();
    assert_eq!(texts(&world).await, [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_class_whose_token_can_be_read_meanwhile_says_so() {
    let world = World::new();
    let told = async |user_data: Value| {
        let class = class(json!({"userData": user_data}));
        condition(&world.provider(), &class, "BootstrapReady").await
    };
    let (holds, _, message) = told(json!({"type": "ignition"})).await;
    assert_eq!(holds, Some(true));
    assert!(message.contains("can read a configured token"), "{message}");
    let (holds, _, message) = told(json!({"type": "cloud-config"})).await;
    assert_eq!(holds, Some(true));
    assert!(!message.contains("can read a configured token"), "{message}");
}
