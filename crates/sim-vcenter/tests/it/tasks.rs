//! Tasks in time: their turn, their progress, their end.

use std::time::Duration;

use crate::support::{Client, Object, Spec, inside};

async fn state(client: &Client, task: &Object) -> String {
    client.text(task, "info.state").await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_task_waits_runs_and_ends() {
    let client = Client::small().await;
    let task = client.begin_clone("web", &Spec::default()).await.object();
    assert_eq!(state(&client, &task).await, "queued");
    assert_eq!(client.text(&task, "info.startTime").await, None);
    client.clock.sleep(Duration::from_millis(2100)).await;
    assert_eq!(state(&client, &task).await, "running");
    assert_eq!(client.text(&task, "info.progress").await.as_deref(), Some("50"));
    assert_eq!(
        client.text(&task, "info.descriptionId").await.as_deref(),
        Some("VirtualMachine.clone")
    );
    client.clock.sleep(Duration::from_secs(2)).await;
    assert_eq!(state(&client, &task).await, "success");
    let time = |field: &str| format!("info.{field}");
    let done = client.text(&task, &time("completeTime")).await;
    assert_eq!(done.as_deref(), Some("2026-01-01T12:00:04.100000Z"));
}

#[tokio::test(start_paused = true)]
async fn a_task_is_forgotten_after_a_while() {
    let client = Client::small().await;
    let task = client.begin_clone("web", &Spec::default()).await.object();
    client.wait(&task).await.unwrap();
    client.clock.sleep(Duration::from_mins(9)).await;
    assert_eq!(state(&client, &task).await, "success");
    client.clock.sleep(Duration::from_mins(2)).await;
    assert_eq!(client.try_read(&task, &["info"]).await.fault(), "ManagedObjectNotFound");
}

#[tokio::test(start_paused = true)]
async fn the_host_of_the_template_makes_four_full_clones_at_a_time() {
    let client = Client::small().await;
    let mut tasks = Vec::new();
    for n in 0..5 {
        tasks.push(client.begin_clone(&format!("full{n}"), &Spec::full()).await.object());
    }
    tasks.push(client.begin_clone("linked", &Spec::default()).await.object());
    client.clock.sleep(Duration::from_secs(1)).await;
    let mut states = Vec::new();
    for task in &tasks {
        states.push(state(&client, task).await);
    }
    assert_eq!(states, ["running", "running", "running", "running", "queued", "queued"]);
    // First come, first served: the small one does not pass the large one before it.
    client.clock.sleep(Duration::from_secs(14)).await;
    assert_eq!(state(&client, &tasks[4]).await, "running");
    for task in &tasks {
        client.wait(task).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn it_makes_sixteen_linked_ones() {
    let client = Client::small().await;
    for n in 0..20 {
        client.begin_clone(&format!("linked{n}"), &Spec::default()).await.object();
    }
    client.clock.sleep(Duration::from_secs(1)).await;
    let tasks = client.vcenter.picture().tasks;
    let running = tasks.iter().filter(|task| task.state == "running").count();
    assert_eq!((running, tasks.len()), (16, 20));
}

#[tokio::test(start_paused = true)]
async fn a_clone_can_be_cancelled_and_leaves_nothing() {
    let client = Client::small().await;
    let before = client.vcenter.picture().datastores;
    let task = client.begin_clone("web", &Spec::full()).await.object();
    client.clock.sleep(Duration::from_secs(5)).await;
    assert_eq!(client.text(&task, "info.cancelable").await.as_deref(), Some("true"));
    client.call("CancelTask", &task, "").await.ok();
    assert_eq!(client.wait(&task).await.unwrap_err(), "RequestCanceled");
    let info = client.read(&task, &["info"]).await;
    assert_eq!(inside(&info, "cancelled").as_deref(), Some("true"));
    assert_eq!(client.vcenter.vm("web"), None);
    assert_eq!(client.vcenter.picture().datastores, before);
    assert_eq!(client.call("CancelTask", &task, "").await.fault(), "InvalidState");
}

#[tokio::test(start_paused = true)]
async fn powering_on_cannot_be_cancelled_once_it_runs() {
    let client = Client::small().await;
    let vm = client.clone_vm("web", &Spec::default()).await.unwrap();
    let task = client.call("PowerOnVM_Task", &vm, "").await.object();
    client.clock.sleep(Duration::from_secs(1)).await;
    assert_eq!(client.call("CancelTask", &task, "").await.fault(), "NotSupported");
    client.wait(&task).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_same_calls_get_the_same_answers() {
    async fn story() -> (Vec<joiner_sim_vcenter::Call>, joiner_sim_vcenter::Picture) {
        let client = Client::small().await;
        for n in 0..5 {
            let spec = Spec { power_on: n % 2 == 0, ..Spec::default() };
            client.clone_vm(&format!("vm{n}"), &spec).await.unwrap();
        }
        (client.vcenter.calls(), client.vcenter.picture())
    }
    let (calls, picture) = story().await;
    let (other_calls, other_picture) = story().await;
    // Clocks count from their own beginning.
    assert_eq!(calls.len(), other_calls.len());
    for (one, other) in calls.iter().zip(&other_calls) {
        assert_eq!(one, other);
    }
    assert_eq!(picture, other_picture);
}
