//! Rules of the house that an instance can keep: who may depend on whom, licences, documentation
//! that goes with the code.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What `cargo metadata` says about the workspace and everything it is built from.
struct Packages {
    names: BTreeMap<String, String>,
    licences: BTreeMap<String, Option<String>>,
    /// Dependencies that are not for tests only.
    uses: BTreeMap<String, Vec<String>>,
}

impl Packages {
    fn read() -> Self {
        // Dependencies that only systems have which Joiner is not built for are nobody's concern.
        let systems = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];
        let systems = systems.map(|system| format!("--filter-platform={system}"));
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--locked", "--offline", "--all-features"])
            .args(systems)
            .current_dir(root())
            .output()
            .expect("cargo can be run");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
        let text = |value: &Value| value.as_str().expect("a string").to_owned();
        let list = |value: &Value| value.as_array().expect("a list").clone();
        let mut packages =
            Self { names: BTreeMap::new(), licences: BTreeMap::new(), uses: BTreeMap::new() };
        for package in list(&metadata["packages"]) {
            let id = text(&package["id"]);
            packages.names.insert(id.clone(), text(&package["name"]));
            packages.licences.insert(id, package["license"].as_str().map(str::to_owned));
        }
        for node in list(&metadata["resolve"]["nodes"]) {
            let normal = |dependency: &Value| {
                list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null())
            };
            let dependencies = list(&node["deps"]);
            let used = dependencies.iter().filter(|d| normal(d)).map(|d| text(&d["pkg"])).collect();
            packages.uses.insert(text(&node["id"]), used);
        }
        packages
    }

    /// Names of everything that a package is built from.
    fn closure(&self, name: &str) -> BTreeSet<String> {
        let start = self.names.iter().find(|(_, known)| *known == name).expect("it is a package").0;
        let (mut seen, mut open) = (BTreeSet::new(), vec![start.clone()]);
        while let Some(id) = open.pop() {
            for used in &self.uses[&id] {
                if seen.insert(used.clone()) {
                    open.push(used.clone());
                }
            }
        }
        seen.iter().map(|id| self.names[id].clone()).collect()
    }
}

#[test]
fn pure_crates_stay_pure() {
    let packages = Packages::read();
    for pure in ["joiner-core", "joiner-plan", "joiner-check"] {
        let closure = packages.closure(pure);
        for impure in ["tokio", "kube", "kube-core", "k8s-openapi", "hyper", "reqwest", "getrandom"]
        {
            assert!(!closure.contains(impure), "{pure} is built from {impure}");
        }
    }
}

#[test]
fn the_checker_shares_nothing_with_the_planner() {
    let packages = Packages::read();
    assert!(!packages.closure("joiner-check").contains("joiner-plan"));
    assert!(!packages.closure("joiner-plan").contains("joiner-check"));
}

#[test]
fn clouds_know_nothing_of_each_other() {
    let packages = Packages::read();
    let clouds = ["joiner-kwok", "joiner-vsphere", "joiner-cloudstack"];
    for (cloud, other) in clouds.iter().flat_map(|a| clouds.map(|b| (*a, b))) {
        assert!(!packages.closure(cloud).contains(other), "{cloud} is built from {other}");
    }
}

#[test]
fn dependencies_have_licences_that_suit() {
    const SUIT: [&str; 9] = [
        "Apache-2.0",
        "MIT",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "ISC",
        "Unicode-3.0",
        "Zlib",
        "Unlicense",
        "Apache-2.0 WITH LLVM-exception",
    ];
    let packages = Packages::read();
    for (id, licence) in &packages.licences {
        let licence = licence.as_deref().unwrap_or_default().replace(['(', ')'], "");
        // Of alternatives one has to suit, of things that hold together all.
        let suits = licence.split(" AND ").all(|part| {
            part.split(" OR ").flat_map(|one| one.split('/')).any(|one| SUIT.contains(&one.trim()))
        });
        assert!(suits, "{id} has licence {licence:?}");
    }
}

#[test]
fn every_reason_has_its_section() {
    let page = std::fs::read_to_string(root().join("docs/reasons.md")).expect("the page is there");
    for id in joiner_core::reason::ReasonId::ALL {
        let heading = format!("\n### `{}`\n", id.as_str());
        assert!(page.contains(&heading), "docs/reasons.md has no section {:?}", id.as_str());
    }
    let sections = page.matches("\n### `").count();
    assert_eq!(sections, joiner_core::reason::ReasonId::ALL.len(), "a section speaks of no reason");
}

#[test]
fn the_page_of_settings_lists_them_all() {
    expect_test::expect_file!["../../../../docs/settings.md"]
        .assert_eq(&joiner::house::settings_page());
}
