//! What vCenter's faults come to, from the first answer to the last, and what is left of the instance.

use expect_test::{Expect, expect};
use joiner_cloud::testing::scenes::fault_sweep;

use crate::bench::World;

async fn check(rows: &[(&str, usize)], expected: &Expect) {
    let world = |script: &str| {
        let world = World::new();
        world.server.trouble(script).expect("it is understood");
        world
    };
    expected.assert_eq(&fault_sweep(world, rows).await);
}

#[tokio::test(start_paused = true)]
async fn of_an_instance_that_is_switched_on() {
    let rows = [
        ("fault InsufficientMemoryResourcesFault on PowerOnVM_Task always", 1),
        ("fault NoDiskSpace on PowerOnVM_Task always", 1),
        ("fault NoCompatibleHost on PowerOnVM_Task always", 1),
        ("fault TaskInProgress on PowerOnVM_Task once", 1),
        ("fault SystemError on PowerOnVM_Task always", 3),
        ("fault HostNotConnected on PowerOnVM_Task 2 times", 3),
        ("fault QuestionPending on PowerOnVM_Task 3 times", 4),
        ("fault SomethingNew on PowerOnVM_Task 4 times", 5),
        ("fault SomethingNew on PowerOnVM_Task 5 times", 5),
        ("fault SomethingNew on PowerOnVM_Task 5 times", 6),
        ("fault ManagedObjectNotFound on PowerOnVM_Task once", 2),
        ("fault InvalidDeviceSpec on PowerOnVM_Task always", 1),
        ("fault NoPermission on PowerOnVM_Task always", 1),
        ("fault RestrictedVersion on PowerOnVM_Task always", 1),
        ("fault NotEnoughLicenses on PowerOnVM_Task always", 1),
        ("fault RequestCanceled on PowerOnVM_Task once", 2),
    ];
    check(&rows, &expect![[r#"
        fault InsufficientMemoryResourcesFault on PowerOnVM_Task always: InsufficientCapacity, 0 left
        fault NoDiskSpace on PowerOnVM_Task always: InsufficientCapacity, 0 left
        fault NoCompatibleHost on PowerOnVM_Task always: InsufficientCapacity, 0 left
        fault TaskInProgress on PowerOnVM_Task once: made, 1 left
        fault SystemError on PowerOnVM_Task always: CreateInstanceFailed, CreateInstanceFailed, InsufficientCapacity, 0 left
        fault HostNotConnected on PowerOnVM_Task 2 times: CreateInstanceFailed, CreateInstanceFailed, made, 1 left
        fault QuestionPending on PowerOnVM_Task 3 times: CreateInstanceFailed, CreateInstanceFailed, CreateInstanceFailed, made, 1 left
        fault SomethingNew on PowerOnVM_Task 4 times: CreateInstanceFailed, CreateInstanceFailed, CreateInstanceFailed, CreateInstanceFailed, made, 1 left
        fault SomethingNew on PowerOnVM_Task 5 times: CreateInstanceFailed, CreateInstanceFailed, CreateInstanceFailed, CreateInstanceFailed, CreateInstanceFailed, 0 left
        fault SomethingNew on PowerOnVM_Task 5 times: CreateInstanceFailed, CreateInstanceFailed, CreateInstanceFailed, CreateInstanceFailed, CreateInstanceFailed, made, 1 left
        fault ManagedObjectNotFound on PowerOnVM_Task once: CreateInstanceFailed, made, 1 left
        fault InvalidDeviceSpec on PowerOnVM_Task always: InvalidInstance, 0 left
        fault NoPermission on PowerOnVM_Task always: NodeClassNotReady, 0 left
        fault RestrictedVersion on PowerOnVM_Task always: NodeClassNotReady, 0 left
        fault NotEnoughLicenses on PowerOnVM_Task always: NotEnoughLicenses, 0 left
        fault RequestCanceled on PowerOnVM_Task once: CreateInstanceFailed, made, 1 left"#]]).await;
}

#[tokio::test(start_paused = true)]
async fn of_a_template_that_is_cloned() {
    let rows = [
        ("fault InsufficientHostCapacityFault on CloneVM_Task always", 1),
        ("task fault InsufficientStorageSpace after 1s on CloneVM_Task always", 1),
        ("fault NoCompatibleDatastore on CloneVM_Task always", 1),
        ("fault InvalidState on CloneVM_Task always", 1),
        ("fault FileLocked on CloneVM_Task once", 2),
        ("task fault TooManyConcurrentNativeClones after 1s on CloneVM_Task once", 2),
        ("task fault HostNotReachable after 1s on CloneVM_Task always", 3),
        ("fault NotAuthenticated on CloneVM_Task once", 1),
        ("http 503 on CloneVM_Task once", 2),
        ("fault ManagedObjectNotFound on CloneVM_Task once", 1),
        ("fault ManagedObjectNotFound on CloneVM_Task always", 1),
        ("fault NoPermission on CloneVM_Task always", 1),
        ("task fault InvalidArgument after 1s on CloneVM_Task always", 1),
        ("task fault RequestCanceled after 1s on CloneVM_Task once", 2),
        ("fault SomethingNew on CloneVM_Task once", 2),
    ];
    check(&rows, &expect![[r#"
        fault InsufficientHostCapacityFault on CloneVM_Task always: InsufficientCapacity, 0 left
        task fault InsufficientStorageSpace after 1s on CloneVM_Task always: InsufficientCapacity, 0 left
        fault NoCompatibleDatastore on CloneVM_Task always: InsufficientCapacity, 0 left
        fault InvalidState on CloneVM_Task always: InsufficientCapacity, 0 left
        fault FileLocked on CloneVM_Task once: CreateInstanceFailed, made, 1 left
        task fault TooManyConcurrentNativeClones after 1s on CloneVM_Task once: CreateInstanceFailed, made, 1 left
        task fault HostNotReachable after 1s on CloneVM_Task always: CreateInstanceFailed, CreateInstanceFailed, InsufficientCapacity, 0 left
        fault NotAuthenticated on CloneVM_Task once: made, 1 left
        http 503 on CloneVM_Task once: Unknown("asking for a clone: vCenter answered with HTTP status 503"), made, 1 left
        fault ManagedObjectNotFound on CloneVM_Task once: made, 1 left
        fault ManagedObjectNotFound on CloneVM_Task always: NodeClassNotReady, 0 left
        fault NoPermission on CloneVM_Task always: NodeClassNotReady, 0 left
        task fault InvalidArgument after 1s on CloneVM_Task always: InvalidInstance, 0 left
        task fault RequestCanceled after 1s on CloneVM_Task once: CreateInstanceFailed, made, 1 left
        fault SomethingNew on CloneVM_Task once: CreateInstanceFailed, made, 1 left"#]]).await;
}
