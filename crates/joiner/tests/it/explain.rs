//! `joiner explain pod`.

use expect_test::expect;

use crate::{check, run_with};

fn explain<'a>(pod: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["explain", "pod", pod, "-f", "examples/first-look"], more].concat()
}

#[test]
fn a_pod_without_a_place_learns_what_each_pool_has_against_it() {
    check(
        &explain("ml/train-0", &[]),
        "",
        &expect![[r"
        ml/train-0 cannot be placed.

        What a new instance of each pool would say to it:
          general    no instance type has enough resources: the largest leaves cpu 15800m besides daemons, the pod needs 24, 8200m more
                     → offer a type with at least 8200m more cpu, or request less
          databases  did not tolerate taint example.com/tier=database:NoSchedule
                     → add a toleration for example.com/tier=database:NoSchedule to the pod, or use a pool without it
          batch      did not tolerate taint example.com/batch:NoSchedule
                     → add a toleration for example.com/batch:NoSchedule to the pod, or use a pool without it
    "]],
    );
}

#[test]
fn a_placed_pod_learns_where() {
    check(
        &explain("data/postgres-0", &[]),
        "",
        &expect![[r#"
            data/postgres-0 would be placed on a new instance of pool databases:
              m-4x-amd64-linux or 9 others, zone test-zone-a, 0.1344 per hour, for this pod alone

            What a new instance of each pool would say to it:
              databases  welcome, and chosen
              general    incompatible requirements: label "example.com/tier" does not have known values
              batch      did not tolerate taint example.com/batch:NoSchedule
        "#]],
    );
    check(
        &explain("shop/cart-pqdf8xxpt-2n5w4", &[]),
        "",
        &expect![[r"
            shop/cart-pqdf8xxpt-2n5w4 would be placed on worker-1, which is there already

            What a new instance of each pool would say to it:
              general    welcome
              databases  did not tolerate taint example.com/tier=database:NoSchedule
              batch      did not tolerate taint example.com/batch:NoSchedule
        "]],
    );
}

#[test]
fn a_waiting_pod_learns_for_what() {
    check(
        &explain("data/postgres-2", &[]),
        "",
        &expect![[r"
        data/postgres-2 must wait: PersistentVolumeClaim data/data-postgres-2 does not exist; create it
    "]],
    );
}

#[test]
fn programs_get_json() {
    check(
        &explain("ml/train-0", &["-o", "json"]),
        "",
        &expect![[r#"
        {
          "pod": "ml/train-0",
          "fate": "unschedulable",
          "message": "no instance type of pool \"general\" has enough resources: the largest leaves cpu 15800m besides daemons, the pod needs 24, 8200m more",
          "nodePools": [
            {
              "nodePool": "general",
              "accepts": false,
              "reason": {
                "id": "shape.tooSmall",
                "nodePool": "general",
                "params": {
                  "largest": "15800m",
                  "missing": "8200m",
                  "requested": "24",
                  "resource": "cpu"
                },
                "message": "no instance type of pool \"general\" has enough resources: the largest leaves cpu 15800m besides daemons, the pod needs 24, 8200m more"
              },
              "remedy": "offer a type with at least 8200m more cpu, or request less"
            },
            {
              "nodePool": "databases",
              "accepts": false,
              "reason": {
                "id": "pool.taint.untolerated",
                "nodePool": "databases",
                "params": {
                  "taint": "example.com/tier=database:NoSchedule"
                },
                "message": "did not tolerate taint example.com/tier=database:NoSchedule of pool \"databases\""
              },
              "remedy": "add a toleration for example.com/tier=database:NoSchedule to the pod, or use a pool without it"
            },
            {
              "nodePool": "batch",
              "accepts": false,
              "reason": {
                "id": "pool.taint.untolerated",
                "nodePool": "batch",
                "params": {
                  "taint": "example.com/batch:NoSchedule"
                },
                "message": "did not tolerate taint example.com/batch:NoSchedule of pool \"batch\""
              },
              "remedy": "add a toleration for example.com/batch:NoSchedule to the pod, or use a pool without it"
            }
          ]
        }
    "#]],
    );
}

#[test]
fn a_misspelt_pod_is_guessed() {
    check(
        &explain("ml/trian-0", &[]),
        "",
        &expect![[r"
        stderr: joiner: no pod ml/trian-0 waits for a place: did you mean ml/train-0 or ml/train-1?
        exit code: 2
    "]],
    );
    check(
        &explain("postgres-0", &[]),
        "",
        &expect![[r"
        stderr: joiner: no pod default/postgres-0 waits for a place: did you mean data/postgres-0 or data/postgres-1 or data/postgres-2?
        exit code: 2
    "]],
    );
    check(
        &explain("nothing/like-it", &[]),
        "",
        &expect![[r"
        stderr: joiner: no pod nothing/like-it waits for a place: 22 pods do, none with a similar name
        exit code: 2
    "]],
    );
}

#[test]
fn a_running_pod_needs_no_explanation() {
    check(
        &explain("kube-system/agent-2tlpb", &[]),
        "",
        &expect![[r"
        stderr: joiner: pod kube-system/agent-2tlpb is on node worker-1 and needs no other place
        exit code: 2
    "]],
    );
}

#[test]
fn a_pod_that_is_not_placed_learns_which_of_all_the_reasons_it_is() {
    let why = |more: &str| {
        let pod = format!("{{apiVersion: v1, kind: Pod, {more}}}");
        let told = run_with(&["explain", "pod", "p", "-f", "-"], &pod, &[]);
        assert_eq!(told.code, Some(2), "{told}");
        told.stderr.trim_start_matches("joiner: pod default/p ").to_owned()
    };
    let spec = "spec: {containers: []}";
    let states = [
        format!("metadata: {{name: p}}, {spec}, status: {{phase: Succeeded}}"),
        format!("metadata: {{name: p, deletionTimestamp: '2026-01-01T00:00:00Z'}}, {spec}"),
        "metadata: {name: p}, spec: {containers: [], schedulingGates: [{name: example.com/quota}]}"
            .to_owned(),
        format!(
            "metadata: {{name: p, ownerReferences: [{{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: u}}]}}, {spec}"
        ),
    ];
    let told: String = states.iter().map(|state| why(state)).collect();
    expect![[r"
        has finished (Succeeded) and needs no place
        is being deleted and needs no place
        is gated: it is placed once example.com/quota is gone from spec.schedulingGates
        is one of DaemonSet agent, which has a pod on each node that suits it: no node is made for it
    "]]
    .assert_eq(&told);
    let pod = format!("{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, {spec}}}");
    let args = ["explain", "pod", "p", "-f", "-", "--pending", "unschedulable"];
    let told = run_with(&args, &pod, &[]);
    expect![[r"
        joiner: pod default/p is left out: no scheduler has found yet that it fits nowhere; --pending unbound looks at every pod without a node
    "]]
    .assert_eq(&told.stderr);
}
