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
    // The crate of a cloud whose provider is not complete is not in the table yet.
    let names = joiner::house::clouds().into_iter().chain(["proxmox"]);
    let clouds: Vec<String> = names.map(|name| format!("joiner-{name}")).collect();
    assert!(clouds.len() >= 2, "there is more than one cloud");
    for cloud in &clouds {
        let closure = packages.closure(cloud);
        for other in &clouds {
            assert!(!closure.contains(other), "{cloud} is built from {other}");
        }
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

/// The crates of the table in ARCHITECTURE.md, from top to bottom.
fn listed_crates() -> Vec<String> {
    let map = read("ARCHITECTURE.md");
    let table = map.split("## The crates").nth(1).expect("there is a section about crates");
    let rows = table.lines().skip_while(|line| !line.starts_with("|---"));
    rows.skip(1)
        .map_while(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name.to_owned())
        .collect()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect(path)
}

#[test]
fn the_map_lists_every_crate_after_those_that_it_uses() {
    let (listed, packages) = (listed_crates(), Packages::read());
    let folders: BTreeSet<String> = std::fs::read_dir(root().join("crates"))
        .expect("the folder of crates is there")
        .map(|entry| entry.expect("it can be read").file_name().display().to_string())
        .collect();
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), folders);
    let package = |folder: &str| match folder {
        "joiner" => folder.to_owned(),
        other => format!("joiner-{other}"),
    };
    for (at, folder) in listed.iter().enumerate() {
        let used = packages.closure(&package(folder));
        for later in &listed[at + 1..] {
            assert!(!used.contains(&package(later)), "{folder} uses {later}, which is below it");
        }
    }
}

#[test]
fn the_map_names_places_that_exist() {
    let map = read("ARCHITECTURE.md");
    let named = map.split('`').skip(1).step_by(2);
    for place in named.filter(|place| place.contains("/src/")) {
        let path = root().join("crates").join(place.trim_start_matches("crates/"));
        let is_there = path.exists() || path.with_extension("rs").exists();
        assert!(is_there, "ARCHITECTURE.md names {place:?}, which does not exist");
    }
}

/// The anchor that readers of Markdown give to a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn links_of_the_documentation_lead_somewhere() {
    let mut pages: Vec<PathBuf> = std::fs::read_dir(root().join("docs"))
        .expect("the folder of documentation is there")
        .map(|entry| entry.expect("it can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|page| root().join(page)));
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("it can be read");
        let targets = text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
        for target in targets.filter(|target| !target.contains("://") && !target.contains(' ')) {
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let folder = page.parent().expect("a page is in a folder");
            let path = if path.is_empty() { page.clone() } else { folder.join(path) };
            assert!(path.exists(), "{}: {target} does not exist", page.display());
            let headings = || std::fs::read_to_string(&path).expect("a page can be read");
            let leads = heading.is_empty()
                || headings().lines().any(|line| line.starts_with('#') && anchor(line) == heading);
            assert!(leads, "{}: {target} has no such heading", page.display());
        }
    }
}
