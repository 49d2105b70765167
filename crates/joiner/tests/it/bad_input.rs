//! Input that cannot be used: exit code 2, and a message that names file, object, field and remedy.

use expect_test::{Expect, expect};

use crate::{check, run};

#[track_caller]
fn refused(objects: &str, expected: &Expect) {
    check(&["plan", "-f", "-"], objects, expected);
}

/// A pool of KWOK's with these requirements.
fn pool(requirements: &str) -> String {
    format!(
        "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: general}}
spec:
  template:
    spec:
      nodeClassRef: {{group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}}
      requirements: {requirements}
"
    )
}

#[test]
fn no_cluster_at_all() {
    check(&["plan"], "", &expect![[""]]);
}

#[test]
fn a_file_that_is_not_there() {
    check(&["plan", "-f", "examples/no-such-file.yaml"], "", &expect![[""]]);
}

#[test]
fn a_folder_without_objects() {
    let folder = std::env::temp_dir().join(format!("joiner-empty-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let run = run(&["plan", "-f", folder.to_str().unwrap()]);
    std::fs::remove_dir(&folder).unwrap();
    expect![[""]].assert_eq(&run.to_string().replace(folder.to_str().unwrap(), "FOLDER"));
}

#[test]
fn truncated_yaml() {
    refused("apiVersion: v1\nkind: Pod\nmetadata: {name: web\n", &expect![[""]]);
}

#[test]
fn truncated_json() {
    refused(r#"{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1""#, &expect![[""]]);
}

#[test]
fn no_object_at_all() {
    refused("just some text\n", &expect![[""]]);
}

#[test]
fn an_unknown_operator() {
    refused(&pool("[{key: kubernetes.io/arch, operator: Is, values: [amd64]}]"), &expect![[""]]);
}

#[test]
fn more_min_values_than_values() {
    let requirement = "[{key: kubernetes.io/arch, operator: In, values: [amd64], minValues: 2}]";
    refused(&pool(requirement), &expect![[""]]);
}

#[test]
fn a_negative_quantity() {
    let pod = "
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: main, image: web, resources: {requests: {cpu: -1}}}]
";
    refused(pod, &expect![[""]]);
}

#[test]
fn an_object_that_is_there_twice() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: []}\n";
    refused(&format!("{pod}---\n{pod}"), &expect![[""]]);
}

#[test]
fn a_pool_whose_machines_nobody_knows() {
    let pool = pool("[]").replace("karpenter.kwok.sh", "cloud.example.com");
    refused(&pool.replace("KWOKNodeClass", "ExampleNodeClass"), &expect![[""]]);
}

#[test]
fn a_bad_instance_type_file() {
    let types = "crates/joiner/tests/fixtures/bad-instance-types.yaml";
    check(&["plan", "-f", "-", "--instance-types", types], &pool("[]"), &expect![[""]]);
    check(&["plan", "-f", "-", "--instance-types", "no-such-file"], &pool("[]"), &expect![[""]]);
}

#[test]
fn all_bad_settings_at_once() {
    let settings = ["--preference-policy=Maybe", "--pending=some", "--feature-gates=NodeOverlay"];
    check(&[&["plan", "-f", "-"], &settings[..]].concat(), "", &expect![[""]]);
}
