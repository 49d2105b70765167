//! What every provider has to do, and does.

use joiner_cloud::conformance;

use crate::bench::World;

#[tokio::test(start_paused = true)]
async fn the_provider_does_what_every_provider_has_to() {
    let report = conformance::check(async || World::new().with_status().await).await;
    assert!(report.is_clean(), "{report}");
    assert!(report.to_string().ends_with("31 of 31 hold"), "{report}");
}

#[tokio::test(start_paused = true)]
async fn it_does_so_where_users_may_expunge() {
    let report = conformance::check(async || {
        let world = World::new();
        world.server.behave(|behaviour| behaviour.users_may_expunge = true);
        world.with_status().await
    });
    let report = report.await;
    assert!(report.is_clean(), "{report}");
}
