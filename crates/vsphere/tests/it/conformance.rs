//! What every provider has to do, and does.

use joiner_cloud::conformance;

use crate::bench::{OnSite, World};

#[tokio::test(start_paused = true)]
async fn the_provider_does_what_every_provider_has_to() {
    let report = conformance::check(async || OnSite::new(World::new())).await;
    assert!(report.is_clean(), "{report}");
    assert!(report.to_string().ends_with("31 of 31 hold"), "{report}");
}
