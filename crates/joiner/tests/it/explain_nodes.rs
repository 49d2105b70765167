//! `joiner explain node`, `joiner explain nodes` and `joiner explain drain`.

use expect_test::{Expect, expect};
use serde_json::Value;

use crate::{
    Run, check,
    right_size::{
        self, BY_DAY, COMMAND, Change, DELETE_FIRST, FIXED_NUMBER, UNREADABLE_BUDGET, WORKER_3,
        worker_3_with,
    },
    run, run_with,
};

/// The sample cluster, in the forenoon of a Monday.
const FORENOON: [&str; 4] = ["-f", "examples/right-size", "--at", "2026-03-02T10:00:00Z"];

fn explain<'a>(what: &[&'a str]) -> Vec<&'a str> {
    [&["explain"], what, &FORENOON[..]].concat()
}

/// Explains something of the sample cluster but for these changes.
#[track_caller]
fn check_changed(what: &[&str], changes: &[Change<'_>], expected: &Expect) {
    expected.assert_eq(&changed(what, changes).to_string());
}

fn changed(what: &[&str], changes: &[Change<'_>]) -> Run {
    let args = [&["explain"], what, &["-f", "-"], &right_size::FORENOON].concat();
    run_with(&args, &right_size::but(changes), &[])
}

fn json(what: &[&str]) -> Value {
    let answer = run(&[&explain(what)[..], &["-o", "json"]].concat());
    assert_eq!(answer.code, Some(0), "{answer}");
    serde_json::from_str(&answer.stdout).expect("programs get JSON")
}

#[test]
fn all_nodes_at_a_glance() {
    check(
        &explain(&["nodes"]),
        "",
        &expect![[r#"
            NODE       POOL       TYPE               ZONE         PRICE/H  PODS  CPU              MEMORY           VERDICT      WHY
            control-1                                test-zone-a        –     0  ░░░░░░░░░░   0%  ░░░░░░░░░░   0%  is not ours  no NodeClaim belongs to it, so that nobody removes it by itself
            db-1       databases  m-4x-amd64-linux   test-zone-a   0.1344     1  ███████░░░  77%  ███████░░░  75%  stays        the budgets of NodePool "databases" allow no disruption for reason Drifted now; more is allowed from 2026-03-02T22:00:00Z
            db-2       databases  m-4x-amd64-linux   test-zone-b   0.1344     1  ███████░░░  77%  ███████░░░  75%  stays        NodePool "databases" has consolidation policy WhenEmpty, and db-2 is not empty
            edge-1     edge       c-2x-amd64-linux   test-zone-d   0.0543     0  ░░░░░░░░░░   0%  ░░░░░░░░░░   0%  stays        disruption is paused by netops, new switches until Friday; remove the annotation joiner.sh/pause-disruption from NodePool edge to resume
            worker-1   general    c-16x-amd64-linux  test-zone-a   0.4344     2  ████████░░  88%  ██████░░░░  63%  stays        its pods need an instance like worker-1: the best replacement is another c-16x-amd64-linux (now on-demand in zone test-zone-a)
            worker-2   general    c-4x-amd64-linux   test-zone-b   0.1086     0  ░░░░░░░░░░   0%  ░░░░░░░░░░   0%  goes         worker-2 holds nothing that would have to move; 0.1086 per hour are saved
            worker-3   general    c-4x-amd64-linux   test-zone-c   0.1086     2  ██░░░░░░░░  26%  █░░░░░░░░░  13%  goes         worker-3: the 2 pods fit on worker-1 (2); 0.1086 per hour are saved
            worker-4   general    s-16x-amd64-linux  test-zone-a   0.4687     1  ██░░░░░░░░  28%  ░░░░░░░░░░   9%  is replaced  worker-4: its pod fits on a new c-8x-amd64-linux at 0.2172 per hour (1, NodePool "general"); 0.2515 per hour are saved
            worker-5   general    c-4x-amd64-linux   test-zone-b   0.1086     1  █████░░░░░  51%  ██░░░░░░░░  25%  stays        PodDisruptionBudget shop/checkout allows no eviction of pod shop/checkout-p2hxn5tk9-k4gn9 now
            worker-6   general    c-2x-amd64-linux   test-zone-a   0.0543     1  ███████░░░  79%  ██░░░░░░░░  25%  stays        pod reports/nightly-mfrbb has the annotation karpenter.sh/do-not-disrupt

            10 nodes, 1.6062 per hour; 3 would go.
        "#]],
    );
}

#[test]
fn programs_get_the_same_of_all_nodes() {
    let answer = json(&["nodes"]);
    let nodes = answer["nodes"].as_array().unwrap();
    let shown: Vec<String> = nodes
        .iter()
        .map(|node| {
            let text = |key: &str| node[key].as_str().unwrap_or_default().to_owned();
            let id = node["reason"]["id"].as_str().unwrap_or("-");
            format!("{} {} {id}", text("node"), text("verdict"))
        })
        .collect();
    expect![[r"
        control-1 foreign -
        db-1 stay budget.closed
        db-2 stay pool.whenEmpty
        edge-1 stay disruption.paused
        worker-1 stay move.equalShape
        worker-2 delete node.empty
        worker-3 delete node.underutilized
        worker-4 replace node.underutilized
        worker-5 stay pod.pdb
        worker-6 stay pod.doNotDisrupt"]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn a_node_that_goes_says_what_is_saved_and_where_its_pods_go() {
    check(
        &explain(&["node", "worker-3"]),
        "",
        &expect![[r"
            worker-3 goes.
              pool general, c-4x-amd64-linux, test-zone-c, 0.1086 per hour, 2 pods, cpu 26%, memory 13%

            Why: worker-3: the 2 pods fit on worker-1 (2); 0.1086 per hour are saved

            POD                       WOULD BE ON
            shop/web-vprthw56v-7bvl6  worker-1
            shop/web-vprthw56v-q89v9  worker-1

            0.1086 per hour less, without a new instance.

            How many instances of pool general may be away at once:
              Underutilized: 3 of 6, 0 taken
              Empty: 3 of 6, 0 taken
              Drifted: 3 of 6, 0 taken
        "]],
    );
    check(
        &explain(&["node", "worker-4"]),
        "",
        &expect![[r#"
            worker-4 is replaced.
              pool general, s-16x-amd64-linux, test-zone-a, 0.4687 per hour, 1 pod, cpu 28%, memory 9%

            Why: worker-4: its pod fits on a new c-8x-amd64-linux at 0.2172 per hour (1, NodePool "general"); 0.2515 per hour are saved

            POD                          WOULD BE ON
            shop/search-g4bq79c7l-c7r4k  a new instance: c-8x-amd64-linux or 3 others of pool general, 0.2172 per hour

            0.2515 per hour less, with a new c-8x-amd64-linux or 3 others of pool general in its place.

            How many instances of pool general may be away at once:
              Underutilized: 3 of 6, 0 taken
              Empty: 3 of 6, 0 taken
              Drifted: 3 of 6, 0 taken
        "#]],
    );
    check(
        &explain(&["node", "worker-2"]),
        "",
        &expect![[r"
            worker-2 goes.
              pool general, c-4x-amd64-linux, test-zone-b, 0.1086 per hour, 0 pods, cpu 0%, memory 0%

            Why: worker-2 holds nothing that would have to move; 0.1086 per hour are saved

            0.1086 per hour less, without a new instance.

            How many instances of pool general may be away at once:
              Underutilized: 3 of 6, 0 taken
              Empty: 3 of 6, 0 taken
              Drifted: 3 of 6, 0 taken
        "]],
    );
}

#[test]
fn a_node_that_is_kept_by_a_pod_names_what_keeps_it_and_the_remedy() {
    check(
        &explain(&["node", "worker-5"]),
        "",
        &expect![[r"
            worker-5 stays.
              pool general, c-4x-amd64-linux, test-zone-b, 0.1086 per hour, 1 pod, cpu 51%, memory 25%

            Why it stays, what stands in the way first:
              PodDisruptionBudget shop/checkout allows no eviction of pod shop/checkout-p2hxn5tk9-k4gn9 now
                → let PodDisruptionBudget shop/checkout allow an eviction: more replicas, or a larger maxUnavailable

            IF IT WENT NOW                 WOULD BE ON
            shop/checkout-p2hxn5tk9-k4gn9  stays, kept by PodDisruptionBudget shop/checkout: wait until more of its pods are ready, run more of them, or let it allow more; then a new instance: c-4x-amd64-linux or 8 others of pool general, 0.1086 per hour

            The best move that there is: as much per hour as before, with a new c-4x-amd64-linux or 8 others of pool general in its place.

            How many instances of pool general may be away at once:
              Underutilized: 3 of 6, 0 taken
              Empty: 3 of 6, 0 taken
              Drifted: 3 of 6, 0 taken
        "]],
    );
    check(
        &explain(&["node", "worker-6"]),
        "",
        &expect![[r"
            worker-6 stays.
              pool general, c-2x-amd64-linux, test-zone-a, 0.0543 per hour, 1 pod, cpu 79%, memory 25%

            Why it stays, what stands in the way first:
              pod reports/nightly-mfrbb has the annotation karpenter.sh/do-not-disrupt
                → remove the annotation karpenter.sh/do-not-disrupt from pod reports/nightly-mfrbb

            IF IT WENT NOW         WOULD BE ON
            reports/nightly-mfrbb  stays, kept by its annotation karpenter.sh/do-not-disrupt: whoever runs the pod ends it or removes the annotation; then worker-5

            The best move that there is: 0.0543 per hour less, without a new instance.

            How many instances of pool general may be away at once:
              Underutilized: 3 of 6, 0 taken
              Empty: 3 of 6, 0 taken
              Drifted: 3 of 6, 0 taken
        "]],
    );
}

#[test]
fn a_node_that_waits_for_a_budget_says_when_it_opens() {
    check(
        &explain(&["node", "db-1"]),
        "",
        &expect![[r#"
            db-1 stays.
              pool databases, m-4x-amd64-linux, test-zone-a, 0.1344 per hour, 1 pod, cpu 77%, memory 75%

            Why it stays, what stands in the way first:
              the budgets of NodePool "databases" allow no disruption for reason Drifted now; more is allowed from 2026-03-02T22:00:00Z
                → wait, or allow more in spec.disruption.budgets of the NodePool
              NodePool "databases" has consolidation policy WhenEmpty, and db-1 is not empty
                → set spec.disruption.consolidationPolicy of the NodePool to WhenEmptyOrUnderutilized

            IF IT WENT NOW   WOULD BE ON
            data/postgres-0  a new instance: m-4x-amd64-linux or 9 others of pool databases, 0.1344 per hour

            The best move that there is: as much per hour as before, with a new m-4x-amd64-linux or 9 others of pool databases in its place.

            How many instances of pool databases may be away at once:
              Underutilized: 1 of 2, 0 taken
              Empty: 1 of 2, 0 taken
              Drifted: 0 of 2, 0 taken; more from 2026-03-02T22:00:00Z
        "#]],
    );
}

#[test]
fn a_node_of_a_paused_pool_says_who_paused_it() {
    check(
        &explain(&["node", "edge-1"]),
        "",
        &expect![[r"
            edge-1 stays.
              pool edge, c-2x-amd64-linux, test-zone-d, 0.0543 per hour, 0 pods, cpu 0%, memory 0%

            Why it stays, what stands in the way first:
              disruption is paused by netops, new switches until Friday; remove the annotation joiner.sh/pause-disruption from NodePool edge to resume
                → remove the annotation joiner.sh/pause-disruption from NodePool edge

            The best move that there is: 0.0543 per hour less, without a new instance.

            How many instances of pool edge may be away at once:
              Underutilized: 1 of 1, 0 taken
              Empty: 1 of 1, 0 taken
              Drifted: 1 of 1, 0 taken
        "]],
    );
}

#[test]
fn a_node_that_is_not_ours_is_told_so() {
    check(
        &explain(&["node", "control-1"]),
        "",
        &expect![[r"
        control-1 is not ours: no NodeClaim belongs to it, so that nobody removes it by itself.
          test-zone-a, 0 pods, cpu 0%, memory 0%
    "]],
    );
}

/// Somebody has deleted the claim of worker-5, whose pod must not be evicted.
const WORKER_5_LEAVES: (&str, &str) = (
    "  name: general-x3n7c\n",
    "  name: general-x3n7c\n  deletionTimestamp: \"2026-03-02T09:50:00Z\"\n",
);

#[test]
fn a_node_that_is_leaving_says_what_its_drain_waits_for() {
    check_changed(
        &["node", "worker-5"],
        &[WORKER_5_LEAVES],
        &expect![[r"
        worker-5 is leaving: it has been told to go already.
          pool general, c-4x-amd64-linux, test-zone-b, 0.1086 per hour, 1 pod, cpu 51%, memory 25%

        worker-5 is leaving, and is left by its pods in this order:
          1. workloads
            shop/checkout-p2hxn5tk9-k4gn9  stays, kept by PodDisruptionBudget shop/checkout: wait until more of its pods are ready, run more of them, or let it allow more; then worker-2

        No new instance is needed.
        The drain would wait for what is kept above, until somebody does what is said there.

        How many instances of pool general may be away at once:
          Underutilized: 3 of 6, 1 taken
          Empty: 3 of 6, 1 taken
          Drifted: 3 of 6, 1 taken
    "]],
    );
    let answer = changed(&["node", "worker-5", "-o", "json"], &[WORKER_5_LEAVES]);
    let answer: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(answer["reasons"][0]["id"], "node.leaving");
    expect![[r#"
        {
          "completes": false,
          "homeless": 0,
          "nodes": [
            {
              "forced": false,
              "leaving": true,
              "node": "worker-5",
              "nodeClaim": "general-x3n7c",
              "steps": [
                {
                  "pods": [
                    {
                      "kept": {
                        "by": "PodDisruptionBudget shop/checkout",
                        "remedy": "wait until more of its pods are ready, run more of them, or let it allow more"
                      },
                      "node": "worker-2",
                      "nodeClaim": "general-7wq9d",
                      "place": "existing",
                      "pod": "shop/checkout-p2hxn5tk9-k4gn9"
                    }
                  ],
                  "what": "workloads"
                }
              ]
            }
          ],
          "replacements": []
        }"#]].assert_eq(&serde_json::to_string_pretty(&answer["drain"]).unwrap());
}

/// The claim of worker-5, a day and two hours old, with an age at which it is too old.
fn worker_5_expires(after: &str) -> (String, String) {
    let claim = "  name: general-x3n7c\n  creationTimestamp: \"2026-03-01T08:00:00Z\"\n  \
                 labels: {karpenter.sh/nodepool: general}\nspec:\n";
    (claim.to_owned(), format!("{claim}  expireAfter: {after}\n"))
}

#[test]
fn a_node_that_has_expired_says_what_its_drain_waits_for() {
    let (claim, expired) = worker_5_expires("24h");
    check_changed(
        &["node", "worker-5"],
        &[(&claim, &expired)],
        &expect![[r"
        worker-5 is leaving: it has expired, and is removed whatever runs on it.
          pool general, c-4x-amd64-linux, test-zone-b, 0.1086 per hour, 1 pod, cpu 51%, memory 25%

        worker-5 is left by its pods in this order:
          1. workloads
            shop/checkout-p2hxn5tk9-k4gn9  stays, kept by PodDisruptionBudget shop/checkout: wait until more of its pods are ready, run more of them, or let it allow more; then worker-2

        No new instance is needed.
        The drain would wait for what is kept above, until somebody does what is said there.

        How many instances of pool general may be away at once:
          Underutilized: 3 of 6, 0 taken
          Empty: 3 of 6, 0 taken
          Drifted: 3 of 6, 0 taken
    "]],
    );
}

#[test]
fn a_node_that_expires_says_when() {
    let (claim, expires) = worker_5_expires("48h");
    check_changed(
        &["node", "worker-5"],
        &[(&claim, &expires)],
        &expect![[r"
        worker-5 stays.
          pool general, c-4x-amd64-linux, test-zone-b, 0.1086 per hour, 1 pod, cpu 51%, memory 25%

        Why it stays, what stands in the way first:
          PodDisruptionBudget shop/checkout allows no eviction of pod shop/checkout-p2hxn5tk9-k4gn9 now
            → let PodDisruptionBudget shop/checkout allow an eviction: more replicas, or a larger maxUnavailable

        IF IT WENT NOW                 WOULD BE ON
        shop/checkout-p2hxn5tk9-k4gn9  stays, kept by PodDisruptionBudget shop/checkout: wait until more of its pods are ready, run more of them, or let it allow more; then a new instance: c-4x-amd64-linux or 8 others of pool general, 0.1086 per hour

        The best move that there is: as much per hour as before, with a new c-4x-amd64-linux or 8 others of pool general in its place.

        How many instances of pool general may be away at once:
          Underutilized: 3 of 6, 0 taken
          Empty: 3 of 6, 0 taken
          Drifted: 3 of 6, 0 taken
        It expires at 2026-03-03T08:00:00Z, and goes then whatever runs on it.
    "]],
    );
}

#[test]
fn a_drain_that_has_begun_waits_for_the_same_as_one_that_has_not() {
    check_changed(
        &["drain", "worker-5"],
        &[WORKER_5_LEAVES],
        &expect![[r"
        worker-5 is leaving, and is left by its pods in this order:
          1. workloads
            shop/checkout-p2hxn5tk9-k4gn9  stays, kept by PodDisruptionBudget shop/checkout: wait until more of its pods are ready, run more of them, or let it allow more; then worker-2

        No new instance is needed.
        The drain would wait for what is kept above, until somebody does what is said there.
    "]],
    );
}

#[test]
fn a_node_that_a_running_controller_removes_is_leaving() {
    let begun = worker_3_with(COMMAND);
    check_changed(
        &["node", "worker-3"],
        &[(WORKER_3, &begun)],
        &expect![[r"
        worker-3 is leaving: a command that is being carried out removes it.
          pool general, c-4x-amd64-linux, test-zone-c, 0.1086 per hour, 2 pods, cpu 26%, memory 13%

        worker-3 is leaving, and is left by its pods in this order:
          1. workloads
            shop/web-vprthw56v-7bvl6  worker-1
            shop/web-vprthw56v-q89v9  worker-1

        No new instance is needed.
        The drain would come to its end.

        How many instances of pool general may be away at once:
          Underutilized: 3 of 6, 1 taken
          Empty: 3 of 6, 1 taken
          Drifted: 3 of 6, 1 taken
    "]],
    );
}

#[test]
fn a_node_of_a_fixed_number_says_where_its_pods_would_be() {
    check_changed(
        &["node", "db-1", "--feature-gates=StaticCapacity=true"],
        &[FIXED_NUMBER, BY_DAY],
        &expect![[r#"
            db-1 is replaced.
              pool databases, m-4x-amd64-linux, test-zone-a, 0.1344 per hour, 1 pod, cpu 77%, memory 75%

            Why: db-1 is not what NodePool "databases" wants any more (NodePoolDrifted); another one takes its place first

            POD              WOULD BE ON
            data/postgres-0  a new instance: any type that NodePool databases allows

            as much per hour as before, with a new instance in its place, of any type that NodePool databases allows.

            How many instances of pool databases may be away at once:
              Underutilized: 1 of 2, 0 taken
              Empty: 1 of 2, 0 taken
              Drifted: 1 of 2, 0 taken
        "#]],
    );
}

#[test]
fn a_node_that_goes_before_another_comes_says_so() {
    check_changed(
        &["node", "db-1", "--feature-gates=StaticCapacity=true"],
        &[DELETE_FIRST, BY_DAY],
        &expect![[r#"
            db-1 goes.
              pool databases, m-4x-amd64-linux, test-zone-a, 0.1344 per hour, 1 pod, cpu 77%, memory 75%

            Why: db-1 is not what NodePool "databases" wants any more (NodePoolDrifted); another one takes its place once it is gone

            POD              WOULD BE ON
            data/postgres-0  nowhere: NodePool databases makes another instance once this one is gone

            as much per hour as before, with a new instance once it is gone.

            How many instances of pool databases may be away at once:
              Underutilized: 1 of 2, 0 taken
              Empty: 1 of 2, 0 taken
              Drifted: 1 of 2, 0 taken
        "#]],
    );
}

#[test]
fn a_node_does_not_go_first_while_nobody_would_make_another() {
    check_changed(
        &["node", "db-1"],
        &[DELETE_FIRST, BY_DAY],
        &expect![[r#"
        db-1 stays.
          pool databases, m-4x-amd64-linux, test-zone-a, 0.1344 per hour, 1 pod, cpu 77%, memory 75%

        Why it stays, what stands in the way first:
          NodePool "databases" is limited to 2 nodes and has 2, so no replacement can come first
            → raise spec.limits.nodes of the NodePool
          NodePool "databases" keeps 2 instances, whether they are used or not
            → lower spec.replicas of the NodePool

        IF IT WENT NOW   WOULD BE ON
        data/postgres-0  nowhere: incompatible requirements with pool "general": label "example.com/tier" does not have known values

        How many instances of pool databases may be away at once:
          Underutilized: 1 of 2, 0 taken
          Empty: 1 of 2, 0 taken
          Drifted: 1 of 2, 0 taken
        stderr: joiner: NodePool "databases" has replicas, but the feature gate StaticCapacity is off: nothing is made for it
    "#]],
    );
}

#[test]
fn a_budget_that_cannot_be_read_says_so_on_its_nodes_and_on_no_other() {
    check_changed(
        &["node", "db-1"],
        &[UNREADABLE_BUDGET],
        &expect![[r#"
        db-1 stays.
          pool databases, m-4x-amd64-linux, test-zone-a, 0.1344 per hour, 1 pod, cpu 77%, memory 75%

        Why it stays, what stands in the way first:
          nothing is allowed, because a budget cannot be read: NodePool "databases": spec.disruption.budgets[0].schedule "0 25 * * *": hour "25": expected 0 to 23
            → correct the budget as the message says
          NodePool "databases" has consolidation policy WhenEmpty, and db-1 is not empty
            → set spec.disruption.consolidationPolicy of the NodePool to WhenEmptyOrUnderutilized

        IF IT WENT NOW   WOULD BE ON
        data/postgres-0  a new instance: m-4x-amd64-linux or 9 others of pool databases, 0.1344 per hour

        The best move that there is: as much per hour as before, with a new m-4x-amd64-linux or 9 others of pool databases in its place.

        How many instances of pool databases may be away at once:
          Underutilized: none, NodePool "databases": spec.disruption.budgets[0].schedule "0 25 * * *": hour "25": expected 0 to 23
          Empty: none, NodePool "databases": spec.disruption.budgets[0].schedule "0 25 * * *": hour "25": expected 0 to 23
          Drifted: none, NodePool "databases": spec.disruption.budgets[0].schedule "0 25 * * *": hour "25": expected 0 to 23
    "#]],
    );
    let healthy = changed(&["node", "worker-2"], &[UNREADABLE_BUDGET]);
    assert!(healthy.stdout.starts_with("worker-2 goes."), "{healthy}");
}

#[test]
fn a_pause_of_the_whole_cluster_is_told_of_each_node_and_below_all() {
    let pause = "{apiVersion: v1, kind: Namespace, metadata: {name: joiner, annotations: \
                 {joiner.sh/pause-disruption: 'storage team, disks are being moved'}}}";
    let explain = |what: &[&str]| {
        let args = [&["explain"], what, &FORENOON[..2], &["-"], &FORENOON[2..]].concat();
        run_with(&args, pause, &[]).to_string()
    };
    expect![[r"
        worker-2 stays.
          pool general, c-4x-amd64-linux, test-zone-b, 0.1086 per hour, 0 pods, cpu 0%, memory 0%

        Why it stays, what stands in the way first:
          disruption is paused by storage team, disks are being moved; remove the annotation joiner.sh/pause-disruption from Namespace joiner to resume
            → remove the annotation joiner.sh/pause-disruption from Namespace joiner

        The best move that there is: 0.1086 per hour less, without a new instance.

        How many instances of pool general may be away at once:
          Underutilized: 3 of 6, 0 taken
          Empty: 3 of 6, 0 taken
          Drifted: 3 of 6, 0 taken
        Disruption is paused for the whole cluster by Namespace joiner: storage team, disks are being moved
    "]].assert_eq(&explain(&["node", "worker-2"]));
    let nodes = explain(&["nodes"]);
    let (_, below) = nodes.split_once("\n\n").unwrap();
    expect![[r"
        10 nodes, 1.6062 per hour; none would go.
        Disruption is paused for the whole cluster by Namespace joiner: storage team, disks are being moved
    "]]
    .assert_eq(below);
}

#[test]
fn where_no_budget_limits_anything_all_instances_may_be_away() {
    let unlimited = ("budgets:\n      - {nodes: 50%}", "budgets: []");
    let answer = changed(&["node", "worker-2", "-o", "json"], &[unlimited]);
    let answer: Value = serde_json::from_str(&answer.stdout).unwrap();
    let empty = &answer["budgets"][1];
    assert_eq!((&empty["allowed"], &empty["instances"]), (&6.into(), &6.into()));
}

#[test]
fn a_pod_with_several_budgets_is_told_what_helps() {
    let another = "apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: another, namespace: shop}
spec:
  maxUnavailable: 1
  selector: {matchLabels: {app: checkout}}
status: {currentHealthy: 1, desiredHealthy: 0, disruptionsAllowed: 1, expectedPods: 1}
---
# Reports would have to start";
    let two_budgets = ("# Reports would have to start", another);
    let answer = changed(&["node", "worker-5"], &[two_budgets]);
    let why: Vec<&str> = answer.stdout.lines().skip(3).take(3).collect();
    expect![[r"
        Why it stays, what stands in the way first:
          pod shop/checkout-p2hxn5tk9-k4gn9 has several PodDisruptionBudgets (shop/checkout, shop/another), and Kubernetes evicts no such pod
            → narrow the selectors of the PodDisruptionBudgets shop/checkout, shop/another, or delete all but one: a pod must match no more than one"]].assert_eq(&why.join("\n"));
}

#[test]
fn a_node_is_also_known_by_its_claim() {
    let by_claim = json(&["node", "databases-q6f8w"]);
    assert_eq!((&by_claim["node"], &by_claim["verdict"]), (&"db-1".into(), &"stay".into()));
}

#[test]
fn programs_get_reasons_remedies_and_places() {
    let answer = json(&["node", "worker-6"]);
    expect![[r#"
        {
          "budgets": [
            {
              "allowed": 3,
              "instances": 6,
              "reason": "Underutilized",
              "taken": 0
            },
            {
              "allowed": 3,
              "instances": 6,
              "reason": "Empty",
              "taken": 0
            },
            {
              "allowed": 3,
              "instances": 6,
              "reason": "Drifted",
              "taken": 0
            }
          ],
          "cpu": 0.7894736842105263,
          "ifGone": {
            "pods": [
              {
                "kept": {
                  "by": "its annotation karpenter.sh/do-not-disrupt",
                  "remedy": "whoever runs the pod ends it or removes the annotation"
                },
                "node": "worker-5",
                "nodeClaim": "general-x3n7c",
                "place": "existing",
                "pod": "reports/nightly-mfrbb"
              }
            ],
            "replacements": [],
            "savings": 0.054294967296
          },
          "instanceType": "c-2x-amd64-linux",
          "memory": 0.25061184532550174,
          "node": "worker-6",
          "nodeClaim": "general-d9v4j",
          "nodePool": "general",
          "pods": 1,
          "price": 0.054294967296,
          "reasons": [
            {
              "id": "pod.doNotDisrupt",
              "message": "pod reports/nightly-mfrbb has the annotation karpenter.sh/do-not-disrupt",
              "params": {
                "pod": "reports/nightly-mfrbb"
              },
              "remedy": "remove the annotation karpenter.sh/do-not-disrupt from pod reports/nightly-mfrbb"
            }
          ],
          "verdict": "stay",
          "zone": "test-zone-a"
        }"#]].assert_eq(&serde_json::to_string_pretty(&answer).unwrap());
}

#[test]
fn nodes_that_are_not_there_are_guessed_all_at_once() {
    check(
        &explain(&["node", "wroker-3"]),
        "",
        &expect![[r"
        stderr: joiner: no Node and no NodeClaim is called wroker-3: did you mean worker-3?
        exit code: 2
    "]],
    );
    check(
        &explain(&["drain", "worker-33", "worker-1", "nothing-like-it"]),
        "",
        &expect![[r"
        stderr: joiner: no Node and no NodeClaim is called worker-33: did you mean worker-3 or worker-1 or worker-2?
        stderr: joiner: no Node and no NodeClaim is called nothing-like-it: there are 10 nodes, none with a similar name; joiner explain nodes lists them
        exit code: 2
    "]],
    );
    check(
        &["explain", "node", "n", "-f", "examples/vsphere"],
        "",
        &expect![[r"
        stderr: joiner: no Node and no NodeClaim is called n: there are no nodes at all
        exit code: 2
    "]],
    );
}

#[test]
fn a_drain_says_where_pods_go() {
    check(
        &explain(&["drain", "worker-3", "worker-4"]),
        "",
        &expect![[r"
            worker-3 is left by its pods in this order:
              1. workloads
                shop/web-vprthw56v-7bvl6  worker-1
                shop/web-vprthw56v-q89v9  worker-1

            worker-4 is left by its pods in this order:
              1. workloads
                shop/search-g4bq79c7l-c7r4k  a new instance: c-8x-amd64-linux or 5 others of pool general, 0.2172 per hour

            A new instance is needed: c-8x-amd64-linux or 5 others of pool general, 0.2172 per hour.
            The drain would come to its end.
        "]],
    );
}

#[test]
fn a_drain_that_would_not_end_says_who_must_do_what() {
    check(
        &explain(&["drain", "worker-5", "worker-6"]),
        "",
        &expect![[r"
            worker-5 is left by its pods in this order:
              1. workloads
                shop/checkout-p2hxn5tk9-k4gn9  stays, kept by PodDisruptionBudget shop/checkout: wait until more of its pods are ready, run more of them, or let it allow more; then worker-2

            worker-6 is left by its pods in this order:
              1. workloads
                reports/nightly-mfrbb  stays, kept by its annotation karpenter.sh/do-not-disrupt: whoever runs the pod ends it or removes the annotation

            No new instance is needed.
            The drain would wait for what is kept above, until somebody does what is said there.
        "]],
    );
}

#[test]
fn a_drain_of_volumes_goes_where_the_volumes_are() {
    check(
        &explain(&["drain", "db-2"]),
        "",
        &expect![[r"
        db-2 is left by its pods in this order:
          1. workloads
            data/postgres-1  a new instance: m-4x-amd64-linux or 9 others of pool databases, 0.1344 per hour

        A new instance is needed: m-4x-amd64-linux or 9 others of pool databases, 0.1344 per hour.
        The drain would come to its end.
    "]],
    );
    let answer = json(&["drain", "db-2"]);
    assert_eq!(answer["completes"], true);
    let zones: Vec<&Value> = answer["replacements"][0]["requirements"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|requirement| requirement["key"] == "topology.kubernetes.io/zone")
        .map(|requirement| &requirement["values"])
        .collect();
    assert_eq!(zones, [&serde_json::json!(["test-zone-b"])]);
}

#[test]
fn pods_leave_in_order_of_who_needs_whom() {
    check(
        &["explain", "drain", "n", "-f", "-"],
        ORDERED,
        &expect![[r"
            n is left by its pods in this order:
              1. workloads
                shop/nightly-0  stays until 2100-01-01T02:00:00Z, kept by its annotation karpenter.sh/do-not-disrupt: wait until then, or remove the annotation; then nowhere: no dynamic nodepools found
                shop/shell      nowhere: no dynamic nodepools found (nobody makes it again)
              2. daemons
                kube-system/agent-0  ends with the node
              3. critical workloads
                kube-system/dns-0  nowhere: no dynamic nodepools found

            No new instance is needed.
            3 pods would have no place and wait.
            The drain would come to its end.
        "]],
    );
}

/// A node of nobody's with pods of every sort.
const ORDERED: &str = "
{apiVersion: v1, kind: Node, metadata: {name: n}, status: {allocatable: {cpu: 4, pods: 10}}}
---
apiVersion: v1
kind: Pod
metadata: {name: dns-0, namespace: kube-system, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: dns, uid: dns}]}
spec: {nodeName: n, priorityClassName: system-cluster-critical, containers: []}
---
apiVersion: v1
kind: Pod
metadata: {name: agent-0, namespace: kube-system, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: agent}]}
spec: {nodeName: n, containers: []}
---
apiVersion: v1
kind: Pod
metadata: {name: shell, namespace: shop}
spec: {nodeName: n, containers: []}
---
apiVersion: v1
kind: Pod
metadata: {name: nightly-0, namespace: shop, annotations: {karpenter.sh/do-not-disrupt: 2h}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: nightly, uid: nightly}]}
spec: {nodeName: n, containers: []}
status: {phase: Running, startTime: '2100-01-01T00:00:00Z'}
";

#[test]
fn a_pool_that_cannot_be_used_is_named_whatever_is_asked() {
    let unusable = (
        "key: kubernetes.io/os, operator: In, values: [linux]}\n        - {key: kubernetes.io/arch, \
         operator: In, values: [amd64]}\n        - {key: karpenter.sh/capacity-type, operator: In, \
         values: [on-demand]}\n        - {key: karpenter.kwok.sh/instance-family, operator: In, \
         values: [m]}",
        "key: karpenter.sh/nodepool, operator: Exists}",
    );
    for question in [&["nodes"][..], &["node", "db-1"], &["drain", "db-1"]] {
        let args = [&["explain"], question, &["-f", "-"], &right_size::FORENOON[..]].concat();
        let told = run_with(&args, &right_size::but(&[unusable]), &[]).stderr;
        assert!(told.contains(r#"NodePool "databases": is not ready: "#), "{question:?}: {told}");
    }
}
