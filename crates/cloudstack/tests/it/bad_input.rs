//! What is wrong with keys, classes and the cloud is told with its object and the remedy, and there is
//! one instance or none.

use jiff::SignedDuration;
use joiner_cloud::{CloudError, CloudProvider};
use joiner_cloudstack::CloudStack;
use joiner_sim_cloudstack::{Resource, VmState};
use serde_json::{Value, json};

use crate::bench::{World, class};

/// What a creation answers, and how many instances there are then.
async fn created(world: &World) -> (Result<String, CloudError>, usize) {
    let answer = world.provider().create(&world.order(1)).await;
    (answer.map(|own| own.provider_id), world.vms().len())
}

/// What the condition says that does not hold.
async fn broken(world: &World, provider: &CloudStack) -> String {
    let status = provider.resolve_class(&world.class, None).await.unwrap();
    let broken = status.conditions.iter().filter(|own| own.holds != Some(true));
    let told: Vec<String> =
        broken.map(|own| format!("{} {}: {}", own.type_, own.reason, own.message)).collect();
    told.join("\n")
}

#[track_caller]
fn check(told: &str, parts: &[&str]) {
    for part in parts {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
}

fn with(more: Value) -> World {
    World { class: class(more), ..World::new() }
}

#[tokio::test(start_paused = true)]
async fn wrong_keys() {
    let world = World::new();
    world.server.rotate_key("user", "other-keys", "other-secrets").unwrap();
    let (answer, count) = created(&world).await;
    let Err(CloudError::Unknown(why)) = answer else { panic!("{answer:?}") };
    check(&why, &["refuses the keys", "check that the keys are right"]);
    assert_eq!(count, 0);
    check(&broken(&world, &world.provider()).await, &["ZoneReady APIError", "refuses the keys"]);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_off() {
    let world = World::new();
    world.server.behave(|behaviour| behaviour.clock_skew = SignedDuration::from_hours(2));
    let (answer, count) = created(&world).await;
    let Err(CloudError::Unknown(why)) = answer else { panic!("{answer:?}") };
    check(&why, &["refuses the keys", "clock"]);
    assert_eq!(count, 0);
}

#[tokio::test(start_paused = true)]
async fn a_role_that_lacks_a_command() {
    let mut inventory = World::inventory();
    let user = inventory.accounts.iter_mut().find(|own| own.name == "user").unwrap();
    user.lacks = vec!["deployVirtualMachine".to_owned()];
    let (answer, count) = created(&World::of(inventory)).await;
    let Err(CloudError::Create { reason, message }) = answer else { panic!("{answer:?}") };
    assert_eq!((reason, count), ("PermissionDenied", 0));
    check(&message, &["deployVirtualMachine", "add it"]);
}

#[tokio::test(start_paused = true)]
async fn an_offering_that_was_removed_between_judgement_and_creation() {
    let world = with(json!({"serviceOfferingSelectorTerms": [{"name": "small"}]}));
    let provider = world.provider();
    provider.resolve_class(&world.class, None).await.unwrap();
    world.server.set_offering("small", false).unwrap();
    let answer = provider.create(&world.order(1)).await;
    assert!(matches!(answer, Err(CloudError::InsufficientCapacity(_))), "{answer:?}");
    assert_eq!(world.vms().len(), 0);
    check(&broken(&world, &provider).await, &["ServiceOfferingsReady", "small"]);
}

#[tokio::test(start_paused = true)]
async fn a_template_that_is_not_ready_in_the_zone() {
    let world = with(json!({"templateSelectorTerms": [{"name": "downloading"}]}));
    let told = broken(&world, &world.provider()).await;
    check(&told, &["TemplatesReady TemplateNotReady", "downloading", "zone-1"]);
    assert_eq!(created(&world).await.1, 0);
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_the_account() {
    let world = World::new();
    world.server.set_limit("user", Resource::UserVm, Some(0)).unwrap();
    let provider = world.provider();
    let answer = provider.create(&world.order(1)).await;
    let Err(CloudError::InsufficientCapacity(why)) = answer else { panic!("{answer:?}") };
    check(&why, &["user_vm", "user"]);
    let told = format!("{:?}", provider.notes().unwrap().next().await);
    check(&told, &["QuotaExceeded", "user_vm"]);
    let types = provider.instance_types("general", &world.class).unwrap();
    assert!(types.iter().all(|own| !own.offerings[0].available), "nothing is offered");
}

#[tokio::test(start_paused = true)]
async fn a_network_without_addresses() {
    let world = World::new();
    world.server.set_addresses("nodes", 0).unwrap();
    let (answer, count) = created(&world).await;
    assert!(matches!(answer, Err(CloudError::InsufficientCapacity(_))), "{answer:?}");
    assert_eq!(count, 0);
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_cut_short_or_html() {
    for trouble in ["cut short", "http 502", "http 500"] {
        let world = World::new();
        world.server.trouble(&format!("{trouble} on deployVirtualMachine")).unwrap();
        let (answer, _) = created(&world).await;
        assert!(matches!(answer, Err(CloudError::Unknown(_))), "{trouble}: {answer:?}");
        let (answer, count) = created(&world).await;
        assert!(answer.is_ok() && count == 1, "{trouble}: {answer:?}, {count}");
    }
}

#[tokio::test(start_paused = true)]
async fn jobs_that_never_end() {
    let world = World::new();
    world.server.trouble("job never ends on deployVirtualMachine").unwrap();
    let (answer, count) = created(&world).await;
    let (again, still) = created(&world).await;
    assert_eq!((answer.unwrap(), count), (again.unwrap(), still), "one instance is waited for");
}

#[tokio::test(start_paused = true)]
async fn a_project_without_access_is_named() {
    let project = "00000000-0000-4000-8000-00000000abcd";
    let world = with(json!({"projectID": project}));
    let (answer, count) = created(&world).await;
    assert!(answer.is_err() && count == 0, "{answer:?}");
    let told = broken(&world, &world.provider()).await;
    check(&told, &["projectid"]);
}

#[tokio::test(start_paused = true)]
async fn an_instance_in_error_is_replaced_when_its_claim_is_asked_for_again() {
    let world = World::new();
    world.provider().create(&world.order(1)).await.unwrap();
    world.server.set_state("karpenter-general-1", VmState::Error).unwrap();
    let (answer, count) = created(&world).await;
    assert!(answer.is_ok() && count == 1, "{answer:?}");
    assert_eq!(world.vms()[0].name, "karpenter-general-1-r1");
}
