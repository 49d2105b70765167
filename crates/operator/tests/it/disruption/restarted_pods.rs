//! Pods that are restarted in a full cluster: their old place is theirs again before an instance could
//! come.

use super::scene::Scene;

/// An instance that is full, and a pod on it that somebody has deleted while another waits for its
/// place.
async fn full_instance() -> Scene {
    let mut scene = Scene::with_instances(&["a"]).await;
    for pod in 0..8 {
        scene.pod(&format!("web-{pod}"), "a");
    }
    scene.stage.delete("", "pods", "default/web-0");
    scene.waiting_pod("again");
    scene.stage.pass(1).await;
    scene
}

#[tokio::test(start_paused = true)]
async fn no_instance_is_made_while_a_pod_that_ends_makes_room() {
    let mut scene = full_instance().await;
    scene.provision().await;
    scene.stage.pass(1).await;
    assert_eq!(scene.claims(), ["a"]);
    let told = scene.stage.events("Pod", "again");
    assert!(told.iter().any(|event| event.ends_with("node/a")), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_does_not_end_in_time_is_not_counted_on() {
    let mut scene = full_instance().await;
    // Its grace period is half a minute.
    scene.stage.pass(45).await;
    scene.provision().await;
    assert_eq!(scene.claims().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn room_that_is_promised_once_is_not_promised_again() {
    let mut scene = full_instance().await;
    scene.waiting_pod("another");
    scene.stage.pass(1).await;
    scene.provision().await;
    assert_eq!(scene.claims().len(), 2);
}
