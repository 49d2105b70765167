//! The server driven by a client of others: the Python package `cs`.
//!
//! `JOINER_PYTHON_CS` names the Python that has it, which `scripts/install-real-parts python-cs`
//! prints; without it the test is skipped.

use std::time::Duration;

use joiner_clock::Clock;
use joiner_sim_cloudstack::{CloudStack, Inventory};
use tokio::process::Command;

#[tokio::test]
async fn python_cs_signs_pages_deploys_waits_tags_and_destroys() {
    let Some(python) = std::env::var_os("JOINER_PYTHON_CS") else {
        println!(
            "skipped: no Python with the package cs; \
             JOINER_PYTHON_CS=$(scripts/install-real-parts python-cs) names one"
        );
        return;
    };
    let mut inventory = Inventory::small();
    // The outsider waits by the clock on the wall.
    let durations = &mut inventory.behaviour.durations;
    for duration in [
        &mut durations.queued,
        &mut durations.start,
        &mut durations.stop,
        &mut durations.expunge,
        &mut durations.write,
    ] {
        *duration = Duration::from_millis(20);
    }
    inventory.behaviour.page_size_max = 3;
    let cloud = CloudStack::new(inventory, Clock::wall()).unwrap();
    let serving = cloud.serve(false).await.unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/outsider.py");
    let endpoint = format!("{}/client/api", serving.url());
    let output = Command::new(python).arg(script).arg(endpoint).output().await.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(cloud.complaints(), []);
    assert_eq!(cloud.vms().len(), 0);
    for command in ["deployVirtualMachine", "createTags", "deleteTags", "destroyVirtualMachine"] {
        assert!(cloud.count(command) > 0, "{command}");
    }
}
