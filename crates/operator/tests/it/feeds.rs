//! Watches that break, and what counts as known meanwhile.

use serde_json::json;

use crate::stage::Stage;

/// A list comes in pages of five hundred. Before its last page nobody knows what has happened since the watch broke.
#[tokio::test(start_paused = true)]
async fn a_kind_counts_as_known_again_at_the_end_of_a_list_and_not_at_its_beginning() {
    let mut stage = Stage::bare();
    for number in 0..501 {
        stage.create("", "namespaces", json!({"metadata": {"name": format!("team-{number}")}}));
    }
    stage.begin().await;
    stage.faults("at 0s joiner: 503 on watch namespaces once");
    stage.faults("at 0s joiner: slow 20s on list namespaces after 1 calls once");
    let is_missing = |stage: &Stage| stage.context.feeds.missing_of(&["namespaces"]).is_some();
    // The watch that is open comes to its end.
    let mut waited = 0;
    while !is_missing(&stage) {
        assert!(waited < 600);
        waited += 1;
        stage.pass(1).await;
    }
    stage.pass(10).await;
    assert!(is_missing(&stage), "the second page is on its way");
    stage.pass(20).await;
    assert!(!is_missing(&stage));
}
