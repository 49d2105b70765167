//! Input that cannot be used: exit code 2, and a message that names file, object, field and remedy.

use expect_test::{Expect, expect};

use crate::{check, run, run_with};

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
    let nowhere = [("KUBECONFIG", "/nowhere/config")];
    expect![[r#"
        stderr: joiner: no cluster is known: failed to infer config: in-cluster: (failed to read an incluster environment variable: environment variable not found), kubeconfig: (failed to read kubeconfig from '"/nowhere/config"': No such file or directory (os error 2)). Give --kubeconfig, set KUBECONFIG, or run in a pod with a service account
        exit code: 2
    "#]].assert_eq(&run_with(&["plan"], "", &nowhere).to_string());
}

#[test]
fn a_file_that_is_not_there() {
    check(
        &["plan", "-f", "examples/no-such-file.yaml"],
        "",
        &expect![[r"
        stderr: joiner: examples/no-such-file.yaml cannot be read; check that it is there and that you may read it: No such file or directory (os error 2)
        exit code: 2
    "]],
    );
}

#[test]
fn a_folder_without_objects() {
    let folder = std::env::temp_dir().join(format!("joiner-empty-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let run = run(&["plan", "-f", folder.to_str().unwrap()]);
    std::fs::remove_dir(&folder).unwrap();
    expect![[r"
        stderr: joiner: no Kubernetes object in FOLDER: give what `kubectl get … -o yaml` printed, or a folder of *.yaml, *.yml or *.json files
        exit code: 2
    "]].assert_eq(&run.to_string().replace(folder.to_str().unwrap(), "FOLDER"));
}

#[test]
fn only_kinds_that_are_not_used() {
    let typo = "apiVersion: v1\nkind: Pood\nmetadata: {name: web}\n";
    let service = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n";
    refused(
        &format!("{typo}---\n{service}---\n{service}"),
        &expect![[r"
            stderr: joiner: no object is of a kind that is used here, there are only 2 ConfigMap, 1 Pood: check the spelling of each kind, and give Pods, Nodes, NodePools and what belongs to them
            exit code: 2
        "]],
    );
}

#[test]
fn speeds_that_time_cannot_pass_at() {
    for speed in ["1e99", "0", "-1", "NaN", "inf", "1e-9"] {
        for command in [&["demo", "--headless"][..], &["lab", "serve"]] {
            let run = run(&[command, &[&format!("--speed={speed}")]].concat());
            assert_eq!(run.code, Some(2), "{run}");
            let told = "is out of range; use a number from 0.001 to 1000";
            assert!(run.stderr.contains(told), "{run}");
        }
    }
}

#[test]
fn times_that_no_clock_counts_to() {
    for flag in ["--patience", "--idle"] {
        let run = run(&["bench", "e2e", &format!("{flag}=18446744073709551615")]);
        assert_eq!(run.code, Some(2), "{run}");
        let told = format!("invalid value '18446744073709551615' for '{flag}");
        assert!(run.stderr.contains(&told), "{run}");
    }
}

#[test]
fn a_context_that_is_not_there() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("config");
    let config = "
apiVersion: v1
kind: Config
current-context: gone
contexts:
- {name: staging, context: {cluster: one, user: one}}
- {name: prod, context: {cluster: one, user: one}}
clusters: [{name: one, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: one, user: {}}]
";
    std::fs::write(&path, config).unwrap();
    let path = path.to_str().unwrap();
    let told = |args: &[&str], variables: &[(&str, &str)]| {
        run_with(args, "", variables).to_string().replace(path, "FILE")
    };
    expect![[r#"
        stderr: joiner: --context "prdo" is not in the kubeconfig FILE: use one of prod, staging
        exit code: 2
    "#]]
    .assert_eq(&told(&["plan", "--kubeconfig", path, "--context", "prdo"], &[]));
    expect![[r#"
        stderr: joiner: --context "prdo" is not in the kubeconfig: use one of prod, staging
        exit code: 2
    "#]]
    .assert_eq(&told(&["plan", "--context", "prdo"], &[("KUBECONFIG", path)]));
    expect![[r#"
        stderr: joiner: current-context "gone" is not in the kubeconfig FILE: use one of prod, staging
        exit code: 2
    "#]]
    .assert_eq(&told(&["plan", "--kubeconfig", path], &[]));
}

#[test]
fn truncated_yaml() {
    refused(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web\n",
        &expect![[r"
        stderr: joiner: standard input: document 1: is not valid YAML: unclosed bracket '{' at line 3, column 11
        exit code: 2
    "]],
    );
}

#[test]
fn truncated_json() {
    refused(
        r#"{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1""#,
        &expect![[r"
            stderr: joiner: standard input: document 1: is not valid JSON: EOF while parsing an object at line 1 column 66
            exit code: 2
        "]],
    );
}

#[test]
fn no_object_at_all() {
    refused(
        "just some text\n",
        &expect![[r"
        stderr: joiner: standard input: document 1: is not a Kubernetes object; write apiVersion, kind and metadata
        exit code: 2
    "]],
    );
}

#[test]
fn an_unknown_operator() {
    refused(
        &pool("[{key: kubernetes.io/arch, operator: Is, values: [amd64]}]"),
        &expect![[r#"
        stderr: joiner: standard input: document 1: NodePool general: spec.template.spec.requirements[0].operator: is "Is"; use In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte
        exit code: 2
    "#]],
    );
}

#[test]
fn more_min_values_than_values() {
    let requirement = "[{key: kubernetes.io/arch, operator: In, values: [amd64], minValues: 2}]";
    refused(
        &pool(requirement),
        &expect![[r"
        stderr: joiner: standard input: document 1: NodePool general: spec.template.spec.requirements[0].minValues: is 2, but there are 1 values; add values or lower it
        exit code: 2
    "]],
    );
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
    refused(
        pod,
        &expect![[r"
        stderr: joiner: standard input: document 1: Pod default/web: spec.containers[0].resources.requests.cpu: -1 is below zero; write 0 or more
        exit code: 2
    "]],
    );
}

#[test]
fn an_object_that_is_there_twice() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: []}\n";
    refused(
        &format!("{pod}---\n{pod}"),
        &expect![[r"
        stderr: joiner: standard input: document 2: Pod default/web was already in standard input: document 1; remove one
        exit code: 2
    "]],
    );
}

#[test]
fn a_pool_whose_instances_nobody_knows() {
    let pool = pool("[]").replace("karpenter.kwok.sh", "cloud.example.com");
    refused(
        &pool.replace("KWOKNodeClass", "ExampleNodeClass"),
        &expect![[r#"
        stderr: joiner: NodePool "general": spec.template.spec.nodeClassRef is ExampleNodeClass "default" of group "cloud.example.com", whose instances are not known here: list them in a file and give it with --instance-types
        exit code: 2
    "#]],
    );
}

#[test]
fn a_bad_instance_type_file() {
    let types = "crates/joiner/tests/fixtures/bad-instance-types.yaml";
    check(
        &["plan", "-f", "-", "--instance-types", types],
        &pool("[]"),
        &expect![[r#"
        stderr: joiner: crates/joiner/tests/fixtures/bad-instance-types.yaml: entry 1 "medium": capacity.cpu: "two" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3
        exit code: 2
    "#]],
    );
    check(
        &["plan", "-f", "-", "--instance-types", "no-such-file"],
        &pool("[]"),
        &expect![[r"
            stderr: joiner: --instance-types: no-such-file cannot be read; check the path: No such file or directory (os error 2)
            exit code: 2
        "]],
    );
}

#[test]
fn all_bad_settings_at_once() {
    let settings = ["--preference-policy=Maybe", "--pending=some", "--feature-gates=NodeOverlay"];
    check(
        &[&["plan", "-f", "-"], &settings[..]].concat(),
        "",
        &expect![[r#"
        stderr: joiner: --feature-gates (FEATURE_GATES) cannot be "NodeOverlay": use NAME=true or NAME=false
        stderr: joiner: --preference-policy (PREFERENCE_POLICY) cannot be "Maybe": use Respect or Ignore
        stderr: joiner: --pending cannot be "some": use unbound or unschedulable
        exit code: 2
    "#]],
    );
}

#[test]
fn a_doctor_who_does_not_know_where_to_look() {
    expect![[r"
        stderr: joiner: --cluster-name (CLUSTER_NAME): it is not given: there is no vCenter to look at without it
        stderr: joiner: --vsphere-endpoint (GOVC_URL): it is not given: there is no vCenter to look at without it
        stderr: joiner: --vsphere-username (GOVC_USERNAME): it is not given: there is no vCenter to look at without it
        stderr: joiner: --vsphere-password (GOVC_PASSWORD): it is not given: there is no vCenter to look at without it
        stderr: joiner: --vsphere-path (VSPHERE_FOLDER): it is not given: there is no vCenter to look at without it
        exit code: 2
    "]].assert_eq(&run(&["doctor", "vsphere"]).to_string());
}

#[test]
fn a_doctor_who_is_given_no_class() {
    let flags = [
        "doctor",
        "vsphere",
        "--cluster-name=prod",
        "--vsphere-endpoint=127.0.0.1:1",
        "--vsphere-username=joiner",
        "--vsphere-password=secret",
        "--vsphere-path=k8s",
        "-f",
        "examples/vsphere-start/pool.yaml",
    ];
    expect![[r"
        stderr: joiner: there is no VsphereNodeClass in the files: give what `kubectl get vspherenodeclasses -o yaml` prints, or leave -f out
        exit code: 2
    "]].assert_eq(&run(&flags).to_string());
}

#[test]
fn a_misspelt_field_is_named_and_the_rest_is_planned() {
    let pool = "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  limit: {cpu: 64}
  disruption: {consolidatonPolicy: WhenEmpty}
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements: []
---
apiVersion: karpenter.sh/v1
kind: NodePoolList
items:
- metadata: {name: other}
  specs: {}
  spec:
    template: {spec: {nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}}}
";
    check(
        &["plan", "-f", "-"],
        pool,
        &expect![[r"
        No pod waits for an instance.
        stderr: joiner: standard input: document 1: NodePool general: spec.disruption.consolidatonPolicy is no field that is known, and has no effect; kubectl explain nodepool.spec.disruption lists those that are
        stderr: joiner: standard input: document 1: NodePool general: spec.limit is no field that is known, and has no effect; kubectl explain nodepool.spec lists those that are
        stderr: joiner: standard input: document 2, item 1: NodePool other: specs is no field that is known, and has no effect; kubectl explain nodepool lists those that are
    "]],
    );
}

#[test]
fn a_kubeconfig_that_is_not_there_is_named() {
    check(
        &["plan", "--kubeconfig", "nowhere.yaml"],
        "",
        &expect![[r#"
        stderr: joiner: --kubeconfig nowhere.yaml cannot be read: failed to read kubeconfig from '"nowhere.yaml"': No such file or directory (os error 2)
        exit code: 2
    "#]],
    );
}
