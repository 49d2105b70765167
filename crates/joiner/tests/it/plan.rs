//! `joiner plan`.

use expect_test::expect;
use serde_json::Value;

use crate::{check, run, run_with};

/// The sample cluster of the README.
const FIRST_LOOK: [&str; 3] = ["plan", "-f", "examples/first-look"];

#[test]
fn the_first_look_reads_well() {
    check(&FIRST_LOOK, "", &expect![[""]]);
}

#[test]
fn the_wide_table_names_every_pod_and_type() {
    check(&[&FIRST_LOOK[..], &["-o", "wide"]].concat(), "", &expect![[""]]);
}

#[test]
fn json_has_the_documented_fields_in_the_documented_order() {
    let output = run(&[&FIRST_LOOK[..], &["-o", "json"]].concat());
    let mut document: Value = serde_json::from_str(&output.stdout).unwrap();
    let order = |keys: &[&str]| {
        let places: Vec<usize> = keys.iter().map(|key| place(&output.stdout, key)).collect();
        assert!(places.is_sorted(), "{keys:?} are at {places:?}");
    };
    order(&["claims", "existing", "unschedulable", "deferred", "summary"]);
    order(&[
        "nodePool",
        "pods",
        "instanceTypes",
        "requirements",
        "requests",
        "labels",
        "annotations",
        "taints",
        "startupTaints",
        "price",
    ]);
    let summary = &mut document["summary"];
    assert!(summary["solveSeconds"].as_f64().unwrap() > 0.0);
    summary["solveSeconds"] = Value::Null;
    expect![[""]].assert_eq(&serde_json::to_string_pretty(summary).unwrap());
    expect![[""]].assert_eq(&serde_json::to_string_pretty(&document["claims"][0]).unwrap());
    expect![[""]].assert_eq(&serde_json::to_string_pretty(&document["unschedulable"][0]).unwrap());
    expect![[""]].assert_eq(&serde_json::to_string_pretty(&document["deferred"]).unwrap());
}

/// Where a field first appears.
fn place(text: &str, key: &str) -> usize {
    text.find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("{key} is there"))
}

#[test]
fn yaml_says_the_same_as_json() {
    let json = run(&[&FIRST_LOOK[..], &["-o", "json"]].concat());
    let yaml = run(&[&FIRST_LOOK[..], &["-o", "yaml"]].concat());
    let mut json: Value = serde_json::from_str(&json.stdout).unwrap();
    let mut yaml: Value = serde_saphyr::from_str(&yaml.stdout).unwrap();
    for document in [&mut json, &mut yaml] {
        document["summary"]["solveSeconds"] = Value::Null;
    }
    assert_eq!(json, yaml);
}

#[test]
fn two_runs_give_the_same_plan() {
    assert_eq!(run(&FIRST_LOOK).to_string(), run(&FIRST_LOOK).to_string());
}

#[test]
fn the_detailed_exit_code_tells_whether_machines_would_be_made() {
    assert_eq!(run(&[&FIRST_LOOK[..], &["--detailed-exitcode"]].concat()).code, Some(3));
    assert_eq!(run(&FIRST_LOOK).code, Some(0));
    let nothing_to_do = ["plan", "-f", "examples/first-look/pools.yaml", "--detailed-exitcode"];
    check(&nothing_to_do, "", &expect![[""]]);
}

#[test]
fn several_paths_may_follow_one_flag_or_several() {
    let files = ["pools", "nodes", "shop", "databases", "batch"]
        .map(|name| format!("examples/first-look/{name}.yaml"));
    let [pools, nodes, rest @ ..] = files.each_ref().map(String::as_str);
    let args = [&["plan", "-f", pools, nodes, "-f"], &rest[..]].concat();
    assert_eq!(run(&args).to_string(), run(&FIRST_LOOK).to_string());
}

#[test]
fn colours_are_for_terminals() {
    assert!(!run(&FIRST_LOOK).stdout.contains('\u{1b}'));
    let forced = run_with(&FIRST_LOOK, "", &[("CLICOLOR_FORCE", "1")]);
    assert!(forced.stdout.contains('\u{1b}'));
}

#[test]
fn other_kinds_are_named_once_on_stderr() {
    let objects = "
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
- {apiVersion: v1, kind: Secret, metadata: {name: c}}
";
    check(&["plan", "-f", "-"], objects, &expect![[""]]);
}

const POOL_AND_POD: &str = "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      nodeClassRef: {group: cloud.example.com, kind: ExampleNodeClass, name: default}
      requirements: []
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: main, image: web, resources: {requests: {cpu: 1500m, memory: 1Gi}}}]
";

#[test]
fn an_instance_type_file_serves_pools_of_any_class() {
    let types = "crates/joiner/tests/fixtures/instance-types.yaml";
    check(&["plan", "-f", "-", "--instance-types", types], POOL_AND_POD, &expect![[""]]);
}

#[test]
fn settings_come_from_variables_too() {
    let run = run_with(&FIRST_LOOK, "", &[("PREFERENCE_POLICY", "Never")]);
    expect![[""]].assert_eq(&run.to_string());
}
