//! `joiner plan`.

use expect_test::{expect, expect_file};
use serde_json::Value;

use crate::{check, run, run_with};

/// The sample cluster of the README.
const FIRST_LOOK: [&str; 3] = ["plan", "-f", "examples/first-look"];

/// Plans what is on stdin, with two types of instances.
const TYPES: [&str; 5] =
    ["plan", "-f", "-", "--instance-types", "crates/joiner/tests/fixtures/instance-types.yaml"];

/// A pool of some cloud's instances, and a pod.
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
fn the_first_look_reads_well() {
    check(
        &FIRST_LOOK,
        "",
        &expect![[r"
            INSTANCE           POOL       SHAPE                           ZONE         PRICE/H  PODS  CPU              MEMORY
            new                batch      c-32x-amd64-linux or 20 others  any           0.6081     4  ███████░░░  76%  ██████░░░░  63%
            new                databases  m-4x-amd64-linux or 9 others    test-zone-a   0.1344     1  ███████░░░  79%  ███████░░░  75%
            new                databases  m-4x-amd64-linux or 9 others    test-zone-b   0.1344     1  ███████░░░  79%  ███████░░░  75%
            new                general    c-8x-amd64-linux or 5 others    test-zone-d   0.2172     4  ██████░░░░  65%  ███████░░░  73%
            new                general    c-4x-amd64-linux or 8 others    test-zone-b   0.1086     3  ██████░░░░  67%  █████░░░░░  52%
            new                general    c-4x-amd64-linux or 7 others    test-zone-c   0.1086     3  ██████░░░░  67%  █████░░░░░  52%
            worker-1 (exists)  general    s-8x-amd64-linux                test-zone-a        –    +3  █████████░  90%  ██████░░░░  66%

            6 new instances for 16 pods, 1.3112 per hour (at least 0.9299; the best possible lies between).
            3 more pods fit on 1 instance already there.

            2 pods cannot be placed:

              2× ml/train (ml/train-0, ml/train-1)
                general    no instance type has enough resources: the largest leaves cpu 15800m besides daemons, the pod needs 24, 8200m more
                databases  did not tolerate taint example.com/tier=database:NoSchedule
                batch      did not tolerate taint example.com/batch:NoSchedule

            More: joiner explain pod ml/train-0 -f …

            1 pod must wait:

              data/postgres-2
                PersistentVolumeClaim data/data-postgres-2 does not exist; create it
        "]],
    );
}

#[test]
fn the_wide_table_names_every_pod_and_type() {
    check(
        &[&FIRST_LOOK[..], &["-o", "wide"]].concat(),
        "",
        &expect![[r"
            INSTANCE           POOL       SHAPE                           ZONE         PRICE/H  PODS  CPU              MEMORY
            new                batch      c-32x-amd64-linux or 20 others  any           0.6081     4  ███████░░░  76%  ██████░░░░  63%
              types  c-32x-amd64-linux, s-32x-amd64-linux, m-32x-amd64-linux, c-48x-amd64-linux, s-48x-amd64-linux,
                     m-48x-amd64-linux, c-64x-amd64-linux, s-64x-amd64-linux, m-64x-amd64-linux, c-96x-amd64-linux,
                     s-96x-amd64-linux, m-96x-amd64-linux, c-128x-amd64-linux, s-128x-amd64-linux, m-128x-amd64-linux,
                     c-192x-amd64-linux, s-192x-amd64-linux, m-192x-amd64-linux, c-256x-amd64-linux, s-256x-amd64-linux,
                     m-256x-amd64-linux
              pods   reports/nightly-mfrbb, reports/nightly-mvj8k, reports/nightly-rxgtn, reports/nightly-xh2dl
            new                databases  m-4x-amd64-linux or 9 others    test-zone-a   0.1344     1  ███████░░░  79%  ███████░░░  75%
              types  m-4x-amd64-linux, m-8x-amd64-linux, m-16x-amd64-linux, m-32x-amd64-linux, m-48x-amd64-linux, m-64x-amd64-linux,
                     m-96x-amd64-linux, m-128x-amd64-linux, m-192x-amd64-linux, m-256x-amd64-linux
              pods   data/postgres-0
            new                databases  m-4x-amd64-linux or 9 others    test-zone-b   0.1344     1  ███████░░░  79%  ███████░░░  75%
              types  m-4x-amd64-linux, m-8x-amd64-linux, m-16x-amd64-linux, m-32x-amd64-linux, m-48x-amd64-linux, m-64x-amd64-linux,
                     m-96x-amd64-linux, m-128x-amd64-linux, m-192x-amd64-linux, m-256x-amd64-linux
              pods   data/postgres-1
            new                general    c-8x-amd64-linux or 5 others    test-zone-d   0.2172     4  ██████░░░░  65%  ███████░░░  73%
              types  c-8x-amd64-linux, s-8x-amd64-linux, m-8x-amd64-linux, c-16x-amd64-linux, s-16x-amd64-linux, m-16x-amd64-linux
              pods   shop/cart-pqdf8xxpt-qq74h, shop/cart-pqdf8xxpt-wjs5x, shop/checkout-p2hxn5tk9-k4gn9, shop/web-vprthw56v-jtcrz
            new                general    c-4x-amd64-linux or 8 others    test-zone-b   0.1086     3  ██████░░░░  67%  █████░░░░░  52%
              types  c-4x-amd64-linux, s-4x-amd64-linux, m-4x-amd64-linux, c-8x-amd64-linux, s-8x-amd64-linux, m-8x-amd64-linux,
                     c-16x-amd64-linux, s-16x-amd64-linux, m-16x-amd64-linux
              pods   shop/checkout-p2hxn5tk9-lwlcj, shop/web-vprthw56v-7bvl6, shop/web-vprthw56v-q89v9
            new                general    c-4x-amd64-linux or 7 others    test-zone-c   0.1086     3  ██████░░░░  67%  █████░░░░░  52%
              types  c-4x-amd64-linux, s-4x-amd64-linux, m-4x-amd64-linux, c-8x-amd64-linux, s-8x-amd64-linux, m-8x-amd64-linux,
                     c-16x-amd64-linux, s-16x-amd64-linux
              pods   shop/checkout-p2hxn5tk9-vwb4p, shop/web-vprthw56v-d4hpg, shop/web-vprthw56v-r4cwh
            worker-1 (exists)  general    s-8x-amd64-linux                test-zone-a        –    +3  █████████░  90%  ██████░░░░  66%
              pods   shop/cart-pqdf8xxpt-2n5w4, shop/cart-pqdf8xxpt-dz57h, shop/web-vprthw56v-l4dj6

            6 new instances for 16 pods, 1.3112 per hour (at least 0.9299; the best possible lies between).
            3 more pods fit on 1 instance already there.

            2 pods cannot be placed:

              2× ml/train (ml/train-0, ml/train-1)
                general    no instance type has enough resources: the largest leaves cpu 15800m besides daemons, the pod needs 24, 8200m more
                databases  did not tolerate taint example.com/tier=database:NoSchedule
                batch      did not tolerate taint example.com/batch:NoSchedule

            1 pod must wait:

              data/postgres-2
                PersistentVolumeClaim data/data-postgres-2 does not exist; create it
        "]],
    );
}

#[test]
fn json_is_as_documented() {
    let output = run(&[&FIRST_LOOK[..], &["-o", "json"]].concat());
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    let seconds = &document["summary"]["solveSeconds"];
    assert!(seconds.as_f64().unwrap() > 0.0);
    let text =
        output.stdout.replace(&format!("\"solveSeconds\": {seconds}"), "\"solveSeconds\": 0.0");
    expect_file!["../golden/first-look.json"].assert_eq(&text);
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
fn the_detailed_exit_code_tells_whether_instances_would_be_made() {
    assert_eq!(run(&[&FIRST_LOOK[..], &["--detailed-exitcode"]].concat()).code, Some(3));
    assert_eq!(run(&FIRST_LOOK).code, Some(0));
    let nothing_to_do = ["plan", "-f", "examples/first-look/pools.yaml", "--detailed-exitcode"];
    check(
        &nothing_to_do,
        "",
        &expect![[r"
        No pod waits for an instance.
    "]],
    );
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
- {apiVersion: v1, kind: Namespace, metadata: {name: d}}
";
    check(
        &["plan", "-f", "-"],
        objects,
        &expect![[r"
            No pod waits for an instance.
            stderr: joiner: not used: 2 ConfigMap, 1 Secret
        "]],
    );
}

#[test]
fn an_instance_type_file_serves_pools_of_any_class() {
    check(
        &TYPES,
        POOL_AND_POD,
        &expect![[r"
            INSTANCE  POOL     SHAPE              ZONE  PRICE/H  PODS  CPU              MEMORY
            new       general  medium or 1 other  any    0.1000     1  ████████░░  83%  █░░░░░░░░░  13%

            1 new instance for 1 pod, 0.1000 per hour (no plan could cost less).
        "]],
    );
}

#[test]
fn settings_come_from_variables_too() {
    let run = run_with(&FIRST_LOOK, "", &[("PREFERENCE_POLICY", "Never")]);
    expect![[r#"
        stderr: joiner: --preference-policy (PREFERENCE_POLICY) cannot be "Never": use Respect or Ignore
        exit code: 2
    "#]].assert_eq(&run.to_string());
}

#[test]
fn a_flag_wins_over_its_variable() {
    // No setting takes such a word, so that the refusals tell which was read.
    let variables = ["PREFERENCE_POLICY", "MIN_VALUES_POLICY", "FEATURE_GATES", "PRICE_PER_VM"]
        .map(|variable| (variable, "variable"));
    let flags = ["--preference-policy=flag", "--feature-gates=flag", "--cpu-requests=flag"];
    let both = run_with(&[&FIRST_LOOK[..], &flags].concat(), "", &variables);
    expect![[r#"
        stderr: joiner: --feature-gates (FEATURE_GATES) cannot be "flag": use NAME=true or NAME=false
        stderr: joiner: --preference-policy (PREFERENCE_POLICY) cannot be "flag": use Respect or Ignore
        stderr: joiner: --min-values-policy (MIN_VALUES_POLICY) cannot be "variable": use Strict or BestEffort
        stderr: joiner: --cpu-requests (CPU_REQUESTS) cannot be "flag": use a whole number of millicores
        stderr: joiner: --price-per-vm (PRICE_PER_VM) cannot be "variable": use a price, 0 or more
        exit code: 2
    "#]].assert_eq(&both.to_string());

    let flag = [&FIRST_LOOK[..], &["--preference-policy=Respect"]].concat();
    let beside_nonsense = run_with(&flag, "", &[("PREFERENCE_POLICY", "variable")]);
    assert_eq!(beside_nonsense.to_string(), run(&FIRST_LOOK).to_string());
}

#[test]
fn features_that_are_not_named_are_as_by_default_wherever_the_others_are_named() {
    let types = "
reservationIDLabel: example.com/reservation
instanceTypes:
  - name: small
    requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [small]}]
    capacity: {cpu: 2, memory: 8Gi, pods: 110}
    offerings:
      - price: 0.1
        available: true
        requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
      - price: 0.1
        available: true
        reservationCapacity: 1
        requirements:
          - {key: karpenter.sh/capacity-type, operator: In, values: [reserved]}
          - {key: example.com/reservation, operator: In, values: [the-only-instance]}
";
    let overlay = "
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: dear}
spec: {price: \"0.5\", requirements: []}
";
    let (pool, pod) = POOL_AND_POD.split_once("---").expect("a pool and a pod");
    let fixed_pool = pool.replace("general", "fixed") + "  replicas: 0\n";
    let another_pod = pod.replace("web", "another");
    let objects = [POOL_AND_POD, &another_pod, &fixed_pool, overlay].join("---");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, types).unwrap();
    let plan = ["plan", "-f", "-", "--instance-types", file.path().to_str().unwrap()];

    let open = |variable: &str, flags: &[&str]| -> Vec<&str> {
        let variables = [("FEATURE_GATES", variable)];
        let run = run_with(&[&plan, flags].concat(), &objects, &variables);
        assert_eq!(run.code, Some(0), "{run}");
        let signs = [
            ("NodeOverlay", run.stdout.contains("0.5000")),
            ("ReservedCapacity", run.stdout.contains("1 pod must wait")),
            ("StaticCapacity", !run.stderr.contains("StaticCapacity is off")),
        ];
        signs.into_iter().filter_map(|(feature, is_open)| is_open.then_some(feature)).collect()
    };
    assert_eq!(open("", &[]), ["ReservedCapacity"]);
    assert_eq!(open("NodeOverlay=true", &[]), ["NodeOverlay", "ReservedCapacity"]);
    assert_eq!(open("StaticCapacity=true,ReservedCapacity=false", &[]), ["StaticCapacity"]);
    let of_flag = ["--feature-gates=StaticCapacity=true"];
    assert_eq!(open("", &of_flag), ["ReservedCapacity", "StaticCapacity"]);
    assert_eq!(
        open("NodeOverlay=true,ReservedCapacity=false", &of_flag),
        ["ReservedCapacity", "StaticCapacity"],
        "the flag is for the whole variable, also for what it does not name"
    );
    assert_eq!(open("FromTheFuture=true", &[]), ["ReservedCapacity"]);
}

#[test]
fn a_pool_that_is_not_ready_is_left_alone_and_named() {
    let status = "\
status:
  conditions: [{type: Ready, status: \"False\", reason: NodeClassMissing}]
---
";
    let objects = POOL_AND_POD.replacen("---\n", status, 1);
    check(
        &TYPES,
        &objects,
        &expect![[r#"
            No instance would be made.

            1 pod cannot be placed:

              default/web
                no dynamic nodepools found
                general  is not ready: NodeClassMissing

            More: joiner explain pod default/web -f …
            stderr: joiner: NodePool "general": is not ready: NodeClassMissing
        "#]],
    );
}

#[test]
fn overlays_change_prices_where_their_gate_is_open() {
    let overlay = "
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: medium-is-dear}
spec:
  price: \"0.5\"
  requirements:
    - {key: node.kubernetes.io/instance-type, operator: In, values: [medium]}
---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: another-opinion}
spec:
  price: \"0.6\"
  requirements:
    - {key: node.kubernetes.io/instance-type, operator: In, values: [medium]}
";
    let objects = format!("{POOL_AND_POD}---{overlay}");
    check(
        &TYPES,
        &objects,
        &expect![[r"
            INSTANCE  POOL     SHAPE              ZONE  PRICE/H  PODS  CPU              MEMORY
            new       general  medium or 1 other  any    0.1000     1  ████████░░  83%  █░░░░░░░░░  13%

            1 new instance for 1 pod, 0.1000 per hour (no plan could cost less).
            stderr: joiner: 2 NodeOverlays are ignored: the gate NodeOverlay is off (--feature-gates NodeOverlay=true)
        "]],
    );
    let gate = [&TYPES[..], &["--feature-gates", "NodeOverlay=true"]].concat();
    check(
        &gate,
        &objects,
        &expect![[r#"
            INSTANCE  POOL     SHAPE             ZONE  PRICE/H  PODS  CPU              MEMORY
            new       general  large or 1 other  any    0.4000     1  █░░░░░░░░░  19%  ░░░░░░░░░░   3%

            1 new instance for 1 pod, 0.4000 per hour (no plan could cost less).
            stderr: joiner: NodeOverlay "another-opinion" has no effect: conflicts with overlay "medium-is-dear": give one of them another weight
        "#]],
    );
}

/// A pool, and a Deployment as it is in a repository: without pods.
fn manifests(cpu: &str) -> String {
    let (pool, _) = POOL_AND_POD.split_once("---").expect("a pool and a pod");
    format!(
        "{pool}---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec:
  replicas: 3
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: main, image: web, resources: {{requests: {{cpu: {cpu}}}}}}}]}}
"
    )
}

#[test]
fn pods_of_manifests_are_planned_for() {
    check(
        &[&TYPES[..], &["-o", "wide"]].concat(),
        &manifests("500m"),
        &expect![[r"
            INSTANCE  POOL     SHAPE              ZONE  PRICE/H  PODS  CPU              MEMORY
            new       general  medium or 1 other  any    0.1000     3  ████████░░  83%  ░░░░░░░░░░   0%
              types  medium, large
              pods   shop/web-vmj54zmwwf-5j6bx, shop/web-vmj54zmwwf-5ql7k, shop/web-vmj54zmwwf-gvrkt

            1 new instance for 3 pods, 0.1000 per hour (no plan could cost less).
            stderr: joiner: 3 pods are planned for that are not in the files yet, of Deployment shop/web (3)
        "]],
    );
    let rule = [&TYPES[..], &["--pending", "unschedulable"]].concat();
    check(
        &rule,
        &manifests("500m"),
        &expect![[r"
        No pod waits for an instance.
    "]],
    );
    let many = manifests("500m").replace("replicas: 3", "replicas: 300000");
    check(
        &TYPES,
        &many,
        &expect![[r"
        stderr: joiner: Deployment shop/web: spec.replicas is 300000: with those of the other workloads that makes 300000 pods, and 50000 can be planned for at most; lower it, or leave the object out
        exit code: 2
    "]],
    );
}

#[test]
fn pods_without_a_place_are_an_exit_code_where_that_is_asked_for() {
    let fail = [&TYPES[..], &["--fail-on", "unschedulable", "--detailed-exitcode"]].concat();
    assert_eq!(run_with(&fail, &manifests("500m"), &[]).code, Some(3));
    let failed = run_with(&fail, &manifests("500"), &[]);
    assert_eq!(failed.code, Some(4), "{failed}");
    let told = "joiner: 3 pods cannot be placed (--fail-on unschedulable)";
    assert!(failed.stderr.contains(told), "{failed}");
    assert_eq!(run_with(&TYPES, &manifests("500"), &[]).code, Some(0));
}

#[test]
fn only_pods_that_the_scheduler_gave_up_on_may_be_asked_for() {
    let rule = [&TYPES[..], &["--pending", "unschedulable"]].concat();
    check(
        &rule,
        POOL_AND_POD,
        &expect![[r"
        No pod waits for an instance.
    "]],
    );
}

#[test]
fn what_is_made_besides_a_plan_and_what_a_gate_leaves_out_is_said() {
    let gates = "--feature-gates=StaticCapacity=true,CapacityBuffer=true,NodeOverlay=true";
    let told = |run: crate::Run| run.stderr;
    let (open, closed) = (
        told(run(&["plan", "-f", "examples/capacity", gates])),
        told(run(&["plan", "-f", "examples/capacity"])),
    );
    expect![[r#"
        joiner: 10 pods are planned for that are not in the files yet, of Deployment default/web (10)
        joiner: NodePool "licences" keeps 3 instances and has 0: 3 more instances would come besides this plan
    "#]].assert_eq(&open);
    expect![[r#"
        joiner: 10 pods are planned for that are not in the files yet, of Deployment default/web (10)
        joiner: 2 NodeOverlays are ignored: the gate NodeOverlay is off (--feature-gates NodeOverlay=true)
        joiner: 2 CapacityBuffers are ignored: the gate CapacityBuffer is off (--feature-gates CapacityBuffer=true)
        joiner: NodePool "licences" has replicas, but the feature gate StaticCapacity is off: nothing is made for it
    "#]].assert_eq(&closed);
}
