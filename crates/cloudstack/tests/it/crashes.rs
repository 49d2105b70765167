//! A process may die anywhere: the next one goes on from what it finds. Each row of the crash matrix
//! is a test.

use std::time::Duration;

use expect_test::expect;
use joiner_cloud::{
    CloudError, CloudProvider, Deletion,
    conformance::Mishap,
    testing::scenes::{
        crash_sweep, create_again, created_twice, deleted_after_a_crash, deleted_meanwhile,
        fault_sweep, kill_creation, orphaned_by_a_crash, remove,
    },
};
use joiner_cloudstack::marks;
use joiner_sim_cloudstack::VmState;

use crate::bench::World;

const DEPLOY: &str = "deployVirtualMachine";
const TAGS: &str = "createTags";
const DESTROY: &str = "destroyVirtualMachine";

#[tokio::test(start_paused = true)]
async fn killed_before_the_deployment_is_asked_for() {
    let world = World::new();
    let order = world.order(1);
    kill_creation(&world, &order, Mishap::KilledBefore, DEPLOY).await;
    assert_eq!(world.vms().len(), 0);
    create_again(&world, &order).await;
}

#[tokio::test(start_paused = true)]
async fn killed_before_it_heard_that_the_deployment_was_rejected() {
    let world = World::new();
    world.server.trouble("fail 503 \"maintenance\" on deployVirtualMachine once").unwrap();
    let order = world.order(1);
    kill_creation(&world, &order, Mishap::KilledAfter, DEPLOY).await;
    assert_eq!(world.vms().len(), 0);
    create_again(&world, &order).await;
}

#[tokio::test(start_paused = true)]
async fn killed_before_it_heard_that_the_deployment_was_accepted() {
    let world = World::new();
    let order = world.order(1);
    kill_creation(&world, &order, Mishap::KilledAfter, DEPLOY).await;
    create_again(&world, &order).await;
    assert_eq!(world.server.count(DEPLOY), 1, "it is found by its job");
}

#[tokio::test(start_paused = true)]
async fn the_server_died_between_the_row_of_the_vm_and_the_row_of_its_job() {
    let world = World::new();
    world.server.trouble("no job on deployVirtualMachine once").unwrap();
    let order = world.order(1);
    let answer = world.provider().create(&order).await;
    assert!(matches!(answer, Err(CloudError::Unknown(_))), "{answer:?}");
    assert_eq!(world.vms()[0].state, VmState::Stopped);
    create_again(&world, &order).await;
    assert_eq!(world.server.count(DEPLOY), 1, "it is found by its name, and started");
    assert_eq!(world.server.count("startVirtualMachine"), 1);
}

#[tokio::test(start_paused = true)]
async fn killed_before_the_tags_are_written() {
    let world = World::new();
    let order = world.order(1);
    kill_creation(&world, &order, Mishap::KilledBefore, TAGS).await;
    create_again(&world, &order).await;
    let tags = &world.vms()[0].tags;
    assert_eq!(tags.get(marks::CLAIM), Some(&order.claim.name), "{tags:?}");
    assert_eq!(tags.get(marks::INSTANCE), Some(&world.vms()[0].id), "{tags:?}");
    assert_eq!(world.server.count(DEPLOY), 1);
}

#[tokio::test(start_paused = true)]
async fn the_answer_was_never_written_down() {
    let world = World::new();
    let order = world.order(1);
    let first = world.provider().create(&order).await.unwrap();
    let again = world.provider().create(&order).await.unwrap();
    assert_eq!(first, again);
    assert_eq!((world.server.count(DEPLOY), world.server.count(TAGS)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn killed_at_any_command_of_a_creation() {
    let calls = [DEPLOY, TAGS, "listVirtualMachines", "queryAsyncJobResult", "listZones"];
    crash_sweep(World::new, &calls, async |world: &World, when: &str| {
        assert_eq!(world.server.count(DEPLOY), 1, "{when}");
        assert_eq!(world.vms()[0].tags.len(), 6, "{when}: {:?}", world.vms()[0].tags);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_claim_is_deleted_after_its_creation_was_killed() {
    deleted_after_a_crash(&World::new(), DEPLOY).await;
    deleted_after_a_crash(&World::new(), TAGS).await;
}

#[tokio::test(start_paused = true)]
async fn the_claim_is_deleted_while_this_process_makes_its_instance() {
    deleted_meanwhile(&World::new()).await;
}

#[tokio::test(start_paused = true)]
async fn the_claim_went_while_no_process_was_there() {
    orphaned_by_a_crash(&World::new(), DEPLOY).await;
    orphaned_by_a_crash(&World::new(), TAGS).await;
}

#[tokio::test(start_paused = true)]
async fn the_answer_to_a_removal_was_lost() {
    let world = World::new();
    let order = world.order(1);
    let instance = world.provider().create(&order).await.unwrap();
    world.line.mishaps.arm_at(Mishap::AnswerLost, DESTROY);
    let id = Some(instance.provider_id.as_str());
    let answer = world.provider().delete(&order.claim, id).await;
    assert!(matches!(answer, Err(CloudError::Unknown(_))), "{answer:?}");
    assert_eq!(world.provider().delete(&order.claim, id).await, Ok(Deletion::Requested));
    remove(&world.provider(), &world.clock, &order.claim, id).await;
    assert_eq!(world.server.count(DESTROY), 1, "the pending job is seen");
    assert_eq!(world.vms().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn two_processes_make_one_instance() {
    for number in 0..8 {
        created_twice(&World::new(), Duration::from_millis(200 * number)).await;
    }
}

/// What comes of faults at each command of a creation: nothing is made twice, and nothing is left
/// that the claim does not have.
#[tokio::test(start_paused = true)]
async fn faults_at_each_command_of_a_creation() {
    let rows = [
        ("lost before on deployVirtualMachine", 2),
        ("lost after on deployVirtualMachine", 2),
        ("silence after on deployVirtualMachine", 2),
        ("cut short on deployVirtualMachine", 2),
        ("http 502 on deployVirtualMachine", 2),
        ("fail 429 on deployVirtualMachine", 1),
        ("fail 530 \"NullPointerException\" on deployVirtualMachine", 2),
        ("fail 431 \"Unable to find template\" on deployVirtualMachine 2 times", 2),
        ("fail 531 \"not allowed\" on deployVirtualMachine", 2),
        ("fail 533 \"No room\" on deployVirtualMachine always", 1),
        ("job fails 533 \"No destination found\" on deployVirtualMachine always", 1),
        ("job fails 534 \"Unable to start\" on deployVirtualMachine", 1),
        ("job fails 530 \"Failed to deploy VM\" on deployVirtualMachine", 2),
        ("job cancelled on deployVirtualMachine", 1),
        ("job interrupted on deployVirtualMachine", 1),
        ("no job on deployVirtualMachine", 2),
        ("lost after on createTags", 1),
        ("job fails 530 \"tag is there\" on createTags", 1),
        ("http 502 on queryAsyncJobResult 3 times", 1),
        ("silence before on listVirtualMachines", 1),
    ];
    let scene = |script: &str| {
        let world = World::new();
        world.server.trouble(script).unwrap();
        world
    };
    expect![[r#"
        lost before on deployVirtualMachine: Unknown("CloudStack did not answer: the connection broke before an answer came"), made, 1 left
        lost after on deployVirtualMachine: Unknown("CloudStack did not answer: the connection broke before an answer came"), made, 1 left
        silence after on deployVirtualMachine: Unknown("CloudStack did not answer: no answer within 120 s"), made, 1 left
        cut short on deployVirtualMachine: Unknown("CloudStack's answer cannot be read: deployVirtualMachine: no JSON"), made, 1 left
        http 502 on deployVirtualMachine: Unknown("CloudStack's address answered with HTTP status 502 and without JSON"), made, 1 left
        fail 429 on deployVirtualMachine: made, 1 left
        fail 530 "NullPointerException" on deployVirtualMachine: LaunchFailed, made, 1 left
        fail 431 "Unable to find template" on deployVirtualMachine 2 times: InvalidConfiguration, made, 1 left
        fail 531 "not allowed" on deployVirtualMachine: PermissionDenied, made, 1 left
        fail 533 "No room" on deployVirtualMachine always: InsufficientCapacity, 0 left
        job fails 533 "No destination found" on deployVirtualMachine always: InsufficientCapacity, 0 left
        job fails 534 "Unable to start" on deployVirtualMachine: made, 1 left
        job fails 530 "Failed to deploy VM" on deployVirtualMachine: Unknown("DeployVM: Failed to deploy VM (530)"), made, 1 left
        job cancelled on deployVirtualMachine: made, 1 left
        job interrupted on deployVirtualMachine: made, 1 left
        no job on deployVirtualMachine: Unknown("CloudStack did not answer: the connection broke before an answer came"), made, 1 left
        lost after on createTags: made, 1 left
        job fails 530 "tag is there" on createTags: made, 1 left
        http 502 on queryAsyncJobResult 3 times: made, 1 left
        silence before on listVirtualMachines: made, 1 left"#]].assert_eq(&fault_sweep(scene, &rows).await);
}
