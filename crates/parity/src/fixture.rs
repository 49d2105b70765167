//! Scenarios that are kept, as folders that a person can read and that `joiner plan` can be run on.
//!
//! A folder holds `cluster.json`, `instance-types.json`, `flags.json` and `expectation.json`. The
//! expectation is what Karpenter achieved when the fixture was made, so that our side can be held
//! to it where no oracle is at hand.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    compare::{Checked, Verdict},
    scenario::{Kind, Scenario},
    trial::Trial,
};

/// What a plan of a fixture must achieve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Expectation {
    /// Why the fixture is kept.
    pub why: String,
    /// The seed it was shrunk from.
    pub seed: u64,
    /// What it is about.
    pub kinds: BTreeSet<Kind>,
    /// `same`, `better`, or the number of the defect that explains what differs.
    pub verdict: String,
    /// Pods that must have a place.
    pub placed: Vec<String>,
    /// At most so many instances, if exactly these pods have a place.
    pub instances: usize,
    /// At most this price, if exactly these pods have a place.
    pub price: f64,
}

impl Expectation {
    /// What is to be achieved: what Karpenter did, or what we did where that is known to be right
    /// or better.
    pub fn of(scenario: &Scenario, trial: &Trial, why: &str) -> Self {
        let verdict = trial.comparison.verdict();
        let runs = match verdict {
            Verdict::Same | Verdict::Worse => trial.theirs.as_slice(),
            Verdict::Better | Verdict::Named(_) => std::slice::from_ref(&trial.ours),
        };
        let mut placed = runs.first().map(Checked::placed).unwrap_or_default();
        for run in runs {
            let theirs = run.placed();
            placed.retain(|pod| theirs.contains(pod));
        }
        let placed: Vec<String> = placed.into_iter().map(str::to_owned).collect();
        let mut instances: Vec<usize> = runs.iter().map(|run| run.plan.claims.len()).collect();
        instances.sort_unstable();
        let mut prices: Vec<f64> = runs.iter().map(|run| run.plan.price()).collect();
        prices.sort_by(f64::total_cmp);
        Self {
            why: why.to_owned(),
            seed: scenario.seed,
            kinds: scenario.kinds.clone(),
            verdict: verdict_text(verdict).to_owned(),
            placed,
            instances: instances.get(instances.len() / 2).copied().unwrap_or_default(),
            price: prices.get(prices.len() / 2).copied().unwrap_or_default(),
        }
    }

    /// What a plan of ours misses, as sentences.
    pub fn missed_by(&self, ours: &Checked) -> Vec<String> {
        let mut missed: Vec<String> = ours.findings.iter().map(ToString::to_string).collect();
        let placed = ours.placed();
        let wanted: BTreeSet<&str> = self.placed.iter().map(String::as_str).collect();
        missed.extend(wanted.difference(&placed).map(|pod| format!("{pod} has no place")));
        if placed == wanted {
            if ours.plan.claims.len() > self.instances {
                missed.push(format!(
                    "{} instances instead of {}",
                    ours.plan.claims.len(),
                    self.instances
                ));
            }
            if ours.plan.price() > self.price + 1e-9 {
                missed.push(format!("price {} instead of {}", ours.plan.price(), self.price));
            }
        }
        missed
    }
}

/// How a verdict is written in an expectation.
pub fn verdict_text(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Named(id) => id,
        other => other.name(),
    }
}

/// Writes a scenario as a fixture.
pub fn write(folder: &Path, scenario: &Scenario, expectation: &Expectation) -> Result<()> {
    write_scenario(folder, scenario)?;
    write_json(folder, "expectation.json", expectation)
}

/// Writes the files of a scenario, which `joiner plan` and the oracle read.
pub fn write_scenario(folder: &Path, scenario: &Scenario) -> Result<()> {
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let cluster = json!({"apiVersion": "v1", "kind": "List", "items": scenario.objects});
    write_json(folder, "cluster.json", &cluster)?;
    write_json(folder, "instance-types.json", &scenario.instance_types)?;
    write_json(folder, "flags.json", &scenario.flags)
}

/// Reads a fixture.
pub fn read(folder: &Path) -> Result<(Scenario, Expectation)> {
    let expectation: Expectation = read_json(folder, "expectation.json")?;
    let mut cluster: Value = read_json(folder, "cluster.json")?;
    let Value::Array(objects) = cluster["items"].take() else {
        bail!("{}: cluster.json is not a List", folder.display());
    };
    let scenario = Scenario {
        seed: expectation.seed,
        kinds: expectation.kinds.clone(),
        objects,
        instance_types: read_json(folder, "instance-types.json")?,
        flags: read_json(folder, "flags.json")?,
    };
    Ok((scenario, expectation))
}

fn write_json(folder: &Path, file: &str, value: &impl Serialize) -> Result<()> {
    let path = folder.join(file);
    let text = serde_json::to_string_pretty(value).context("a fixture is always JSON")?;
    fs::write(&path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
}

fn read_json<T: DeserializeOwned>(folder: &Path, file: &str) -> Result<T> {
    let path = folder.join(file);
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not as it must be", path.display()))
}
