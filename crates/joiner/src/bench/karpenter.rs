//! Karpenter's own scheduler on the same files, by way of the oracle program.

use std::{path::Path, process::Command};

use joiner_core::settings::PreferencePolicy;
use serde::{Deserialize, Serialize};

use super::folder::Folder;
use crate::errors::Failure;

/// What Karpenter took and gave: medians over its runs, and ranges where its answers vary.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    /// Pods to place.
    pub(super) pods: usize,
    /// Pods with a place.
    pub(super) placed: usize,
    /// How long a run took.
    pub(super) seconds: f64,
    /// Fewest and most claims.
    pub(super) nodes_range: [f64; 2],
    /// Lowest and highest price.
    pub(super) price_range: [f64; 2],
}

/// What the oracle is told so that it runs as Karpenter's own benchmark does: with five workers
/// (one for each core it believes to have), and without waiting for reserved capacity.
const SETTINGS: [&str; 3] = ["--cpu-requests", "5000", "--reserved-fallback"];

/// Asks the oracle.
pub(super) fn ask(
    oracle: &Path,
    folder: &Folder,
    runs: usize,
    preferences: PreferencePolicy,
) -> Result<Answer, Failure> {
    let failed =
        |problem: String| Failure::bad_input(format!("the oracle {} {problem}", oracle.display()));
    let output = Command::new(oracle)
        .args(["bench", "-f"])
        .arg(folder.snapshot())
        .arg("--instance-types")
        .arg(folder.instance_types())
        .args(["--runs", &runs.to_string()])
        .args(SETTINGS)
        .args((preferences == PreferencePolicy::Ignore).then_some("--preference-policy=Ignore"))
        .output()
        .map_err(|error| failed(format!("did not start: {error}; see --oracle")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("ended with {}: {}", output.status, said.trim())));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| failed(format!("gave no answer that can be read: {error}")))
}
