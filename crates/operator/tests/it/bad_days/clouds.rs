//! What is open in a cloud, such as a session.

use super::running::Running;

#[tokio::test(start_paused = true)]
async fn what_is_open_in_a_cloud_is_kept_while_the_engine_acts_and_ended_with_it() {
    let mut running = Running::prepared();
    running.start();
    running.pass(30).await;
    assert_eq!(running.readiness.why_not(), "");
    assert_eq!(running.stage.cloud.calls("keep alive"), 1);
    assert_eq!(running.stage.cloud.calls("close"), 0);
    running.stop();
    running.pass(30).await;
    assert_eq!(running.ended().await, "told to");
    assert_eq!(running.stage.cloud.calls("close"), 1);
}
