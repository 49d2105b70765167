//! Compares our CRDs with upstream's.
//!
//! ```text
//! compare-crds FOLDER [--write-facts FOLDER]
//! ```
//!
//! Each of our CRDs must be in a YAML file below the folder, with equal facts. Each CRD there of an API group that
//! we serve must be one of ours. The folder may have definitions of several versions of Karpenter. Ours are those
//! of the newest, and [`ACCEPTED`] lists the differences of older ones. With `--write-facts`, the facts of
//! upstream's CRDs are also written for the tests, one file for each CRD.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use joiner_api::{crd::crds, facts::Facts};
use serde_json::Value;

/// Intended differences, as they are printed, each with its reason.
const ACCEPTED: [(&str, &str); 1] = [(
    r#"nodepools.karpenter.sh: v1 .spec.disruption.budgets[].reasons[] enum: ours is ["Drifted","Empty","Underutilized","Unhealthy"], upstream's is ["Drifted","Empty","Underutilized"]"#,
    "Karpenter 1.15 has added the reason Unhealthy, so its definition is ours, and that of 1.14 accepts less",
)];

const USAGE: &str = "usage: compare-crds FOLDER [--write-facts FOLDER]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (upstream, facts_folder) = match arguments.as_slice() {
        [upstream] => (Path::new(*upstream), None),
        [upstream, "--write-facts", folder] => (Path::new(*upstream), Some(Path::new(*folder))),
        _ => return fail(USAGE),
    };
    match compare(upstream, facts_folder) {
        Ok(differences) => judge(&differences),
        Err(problem) => fail(&problem),
    }
}

/// Success if all differences are accepted. Accepted ones are printed with their reasons.
fn judge(differences: &[String]) -> ExitCode {
    let mut others = Vec::new();
    for difference in differences {
        match ACCEPTED.iter().find(|(accepted, _)| accepted == difference) {
            Some((_, why)) => say(&format!("accepted: {difference}: {why}")),
            None => others.push(difference.as_str()),
        }
    }
    if others.is_empty() { ExitCode::SUCCESS } else { fail(&others.join("\n")) }
}

fn fail(text: &str) -> ExitCode {
    say(text);
    ExitCode::FAILURE
}

fn say(text: &str) {
    // If standard error is closed, the text cannot be reported in any other way.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// One line for each difference between our CRDs and those below `folder`.
fn compare(folder: &Path, facts_folder: Option<&Path>) -> Result<Vec<String>, String> {
    let mut ours = BTreeMap::new();
    let mut groups = Vec::new();
    for crd in crds() {
        groups.push(crd.spec.group.clone());
        let crd = serde_json::to_value(crd).map_err(|error| error.to_string())?;
        ours.insert(name(&crd).to_owned(), Facts::of(&crd));
    }
    let mut upstream = Vec::new();
    collect(folder, &mut upstream)?;
    upstream.retain(|crd| groups.iter().any(|group| crd["spec"]["group"] == **group));

    let mut differences = Vec::new();
    for crd in &upstream {
        let (name, theirs) = (name(crd), Facts::of(crd));
        if let Some(folder) = facts_folder {
            let file = folder.join(format!("{name}.txt"));
            fs::write(&file, theirs.to_string()).map_err(|error| about(&file, &error))?;
        }
        match ours.get(name) {
            Some(ours) => {
                differences.extend(ours.differences(&theirs).map(|line| format!("{name}: {line}")));
            }
            None => differences.push(format!("{name}: only upstream has this CRD")),
        }
    }
    let missing = ours.keys().filter(|ours| upstream.iter().all(|crd| name(crd) != *ours));
    differences.extend(missing.map(|name| format!("{name}: only we have this CRD")));
    Ok(differences)
}

/// All CRDs in YAML files below `folder`.
fn collect(folder: &Path, crds: &mut Vec<Value>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|error| about(folder, &error))?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()
        .map_err(|error| about(folder, &error))?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, crds)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            let text = fs::read_to_string(&path).map_err(|error| about(&path, &error))?;
            let documents: Vec<Value> =
                serde_saphyr::from_multiple(&text).map_err(|error| about(&path, &error))?;
            crds.extend(
                documents
                    .into_iter()
                    .filter(|document| document["kind"] == "CustomResourceDefinition"),
            );
        }
    }
    Ok(())
}

fn name(crd: &Value) -> &str {
    crd["metadata"]["name"].as_str().unwrap_or_default()
}

fn about(path: &Path, error: &dyn std::error::Error) -> String {
    format!("{}: {error}", path.display())
}
