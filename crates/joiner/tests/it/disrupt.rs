//! `joiner plan --disrupt`.

use expect_test::{Expect, expect, expect_file};
use serde_json::Value;

use crate::{
    check,
    right_size::{
        self, BY_DAY, COMMAND, Change, FIXED_NUMBER, UNREADABLE_BUDGET, WORKER_3, worker_3_with,
    },
    run, run_with,
};

/// The sample cluster, in the forenoon of a Monday.
const FORENOON: [&str; 6] =
    ["plan", "--disrupt", "-f", "examples/right-size", "--at", "2026-03-02T10:00:00Z"];

fn forenoon<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&FORENOON[..], more].concat()
}

/// The sample cluster but for these changes, in the forenoon of the same Monday.
#[track_caller]
fn check_changed(flags: &[&str], changes: &[Change<'_>], expected: &Expect) {
    let args = ["plan", "--disrupt", "-f", "-"];
    check(&[&args, &right_size::FORENOON[..], flags].concat(), &right_size::but(changes), expected);
}

#[test]
fn what_goes_comes_first_and_then_why_the_others_stay() {
    check(
        &FORENOON,
        "",
        &expect![[r#"
            No pod waits for an instance.

            3 instances would go, 1 would come: 0.4687 per hour less.

              remove worker-2 (general): 0.1086 per hour less
                worker-2 holds nothing that would have to move; 0.1086 per hour are saved

              replace worker-4 (general) by c-8x-amd64-linux or 3 others: 0.2515 per hour less
                worker-4: its pod fits on a new c-8x-amd64-linux at 0.2172 per hour (1, NodePool "general"); 0.2515 per hour are saved

              remove worker-3 (general): 0.1086 per hour less
                worker-3: the 2 pods fit on worker-1 (2); 0.1086 per hour are saved

            6 instances stay:

            INSTANCE  POOL       WHY IT STAYS
            db-1      databases  the budgets of NodePool "databases" allow no disruption for reason Drifted now; more is allowed from 2026-03-02T22:00:00Z                 (and 1 more)
            db-2      databases  NodePool "databases" has consolidation policy WhenEmpty, and db-2 is not empty
            edge-1    edge       disruption is paused by netops, new switches until Friday; remove the annotation joiner.sh/pause-disruption from NodePool edge to resume
            worker-1  general    its pods need an instance like worker-1: the best replacement is another c-16x-amd64-linux (now on-demand in zone test-zone-a)            (and 1 more)
            worker-5  general    PodDisruptionBudget shop/checkout allows no eviction of pod shop/checkout-p2hxn5tk9-k4gn9 now
            worker-6  general    pod reports/nightly-mfrbb has the annotation karpenter.sh/do-not-disrupt

            More: joiner explain node db-1 -f …
        "#]],
    );
}

#[test]
fn the_wide_table_says_where_each_pod_goes() {
    check(
        &forenoon(&["-o", "wide"]),
        "",
        &expect![[r#"
            No pod waits for an instance.

            3 instances would go, 1 would come: 0.4687 per hour less.

              remove worker-2 (general): 0.1086 per hour less
                worker-2 holds nothing that would have to move; 0.1086 per hour are saved

              replace worker-4 (general) by c-8x-amd64-linux or 3 others: 0.2515 per hour less
                worker-4: its pod fits on a new c-8x-amd64-linux at 0.2172 per hour (1, NodePool "general"); 0.2515 per hour are saved
                to a new instance  shop/search-g4bq79c7l-c7r4k

              remove worker-3 (general): 0.1086 per hour less
                worker-3: the 2 pods fit on worker-1 (2); 0.1086 per hour are saved
                to worker-1  shop/web-vprthw56v-7bvl6, shop/web-vprthw56v-q89v9

            6 instances stay:

            INSTANCE  POOL       WHY IT STAYS
            db-1      databases  the budgets of NodePool "databases" allow no disruption for reason Drifted now; more is allowed from 2026-03-02T22:00:00Z                 (and 1 more)
            db-2      databases  NodePool "databases" has consolidation policy WhenEmpty, and db-2 is not empty
            edge-1    edge       disruption is paused by netops, new switches until Friday; remove the annotation joiner.sh/pause-disruption from NodePool edge to resume
            worker-1  general    its pods need an instance like worker-1: the best replacement is another c-16x-amd64-linux (now on-demand in zone test-zone-a)            (and 1 more)
            worker-5  general    PodDisruptionBudget shop/checkout allows no eviction of pod shop/checkout-p2hxn5tk9-k4gn9 now
            worker-6  general    pod reports/nightly-mfrbb has the annotation karpenter.sh/do-not-disrupt
        "#]],
    );
}

#[test]
fn what_budgets_forbid_by_day_is_done_at_night() {
    let night = ["plan", "--disrupt", "-f", "examples/right-size", "--at", "2026-03-02T23:00:00Z"];
    let plan = run(&night);
    assert!(plan.stdout.contains("replace db-1 (databases)"), "{plan}");
    let forenoon = run(&FORENOON);
    assert!(!forenoon.stdout.contains("replace db-1"), "{forenoon}");
}

#[test]
fn programs_get_commands_and_what_is_blocked() {
    let json = run(&forenoon(&["-o", "json"]));
    assert_eq!(json.code, Some(0), "{json}");
    let document: Value = serde_json::from_str(&json.stdout).unwrap();
    let mut shown = serde_json::json!({
        "commands": document["commands"],
        "blocked": document["blocked"],
    });
    // What a claim looks like is shown elsewhere.
    for command in shown["commands"].as_array_mut().unwrap() {
        for claim in command["replacements"].as_array_mut().unwrap() {
            *claim = serde_json::json!({"nodePool": claim["nodePool"], "pods": claim["pods"]});
        }
    }
    let text = serde_json::to_string_pretty(&shown).unwrap() + "\n";
    expect_file!["../golden/right-size.json"].assert_eq(&text);

    let yaml = run(&forenoon(&["-o", "yaml"]));
    let same: Value = serde_saphyr::from_str(&yaml.stdout).unwrap();
    assert_eq!(same["commands"], document["commands"]);
    assert_eq!(same["blocked"], document["blocked"]);
}

#[test]
fn without_the_flag_nothing_is_said_about_removals() {
    let plan = run(&["plan", "-f", "examples/right-size", "-o", "json"]);
    let document: Value = serde_json::from_str(&plan.stdout).unwrap();
    assert!(document.get("commands").is_none() && document.get("blocked").is_none());
}

#[test]
fn instances_that_would_go_are_changes() {
    let code = |args: &[&str]| run(&[args, &["--detailed-exitcode"]].concat()).code;
    assert_eq!(code(&FORENOON), Some(3));
    assert_eq!(code(&["plan", "-f", "examples/right-size"]), Some(0));
}

#[test]
fn a_cluster_whose_disruption_is_paused_says_by_whom() {
    let pause = "{apiVersion: v1, kind: Namespace, metadata: {name: joiner, annotations: \
                 {joiner.sh/pause-disruption: 'storage team, disks are being moved'}}}";
    let plan = run_with(&[&FORENOON[..4], &["-"]].concat(), pause, &[]);
    assert!(plan.stdout.contains("No instance would go."), "{plan}");
    let by = "by Namespace joiner: storage team, disks are being moved";
    assert!(
        plan.stdout.contains(&format!("Disruption is paused for the whole cluster {by}")),
        "{plan}"
    );
}

#[test]
fn a_budget_that_cannot_be_read_closes_its_pool_and_no_other() {
    check_changed(
        &[],
        &[UNREADABLE_BUDGET],
        &expect![[r#"
            No pod waits for an instance.

            3 instances would go, 1 would come: 0.4687 per hour less.

              remove worker-2 (general): 0.1086 per hour less
                worker-2 holds nothing that would have to move; 0.1086 per hour are saved

              replace worker-4 (general) by c-8x-amd64-linux or 3 others: 0.2515 per hour less
                worker-4: its pod fits on a new c-8x-amd64-linux at 0.2172 per hour (1, NodePool "general"); 0.2515 per hour are saved

              remove worker-3 (general): 0.1086 per hour less
                worker-3: the 2 pods fit on worker-1 (2); 0.1086 per hour are saved

            6 instances stay:

            INSTANCE  POOL       WHY IT STAYS
            db-1      databases  nothing is allowed, because a budget cannot be read: NodePool "databases": spec.disruption.budgets[0].schedule "0 25 * * *": hour "25": expected 0 to 23  (and 1 more)
            db-2      databases  NodePool "databases" has consolidation policy WhenEmpty, and db-2 is not empty
            edge-1    edge       disruption is paused by netops, new switches until Friday; remove the annotation joiner.sh/pause-disruption from NodePool edge to resume
            worker-1  general    its pods need an instance like worker-1: the best replacement is another c-16x-amd64-linux (now on-demand in zone test-zone-a)                            (and 1 more)
            worker-5  general    PodDisruptionBudget shop/checkout allows no eviction of pod shop/checkout-p2hxn5tk9-k4gn9 now
            worker-6  general    pod reports/nightly-mfrbb has the annotation karpenter.sh/do-not-disrupt

            More: joiner explain node db-1 -f …
        "#]],
    );
}

#[test]
fn nothing_is_replaced_by_instances_of_a_class_that_is_being_deleted() {
    let class = "kind: KWOKNodeClass\nmetadata:\n";
    let deleting = format!("{class}  deletionTimestamp: \"2026-03-02T09:00:00Z\"\n");
    check_changed(
        &[],
        &[(class, &deleting)],
        &expect![[r#"
            No pod waits for an instance.

            2 instances would go: 0.2172 per hour less.

              remove worker-2 (general): 0.1086 per hour less
                worker-2 holds nothing that would have to move; 0.1086 per hour are saved

              remove worker-3 (general): 0.1086 per hour less
                worker-3: the 2 pods fit on worker-1 (2); 0.1086 per hour are saved

            7 instances stay:

            INSTANCE  POOL       WHY IT STAYS
            db-1      databases  the budgets of NodePool "databases" allow no disruption for reason Drifted now; more is allowed from 2026-03-02T22:00:00Z                                                                                              (and 1 more)
            db-2      databases  NodePool "databases" has consolidation policy WhenEmpty, and db-2 is not empty
            edge-1    edge       disruption is paused by netops, new switches until Friday; remove the annotation joiner.sh/pause-disruption from NodePool edge to resume
            worker-1  general    pod shop/web-vprthw56v-mfs9c would have no place: pool "databases" is not ready: KWOKNodeClass "default" is being deleted: name another one in spec.template.spec.nodeClassRef, or create it again once it is gone     (and 1 more)
            worker-4  general    pod shop/search-g4bq79c7l-c7r4k would have no place: pool "databases" is not ready: KWOKNodeClass "default" is being deleted: name another one in spec.template.spec.nodeClassRef, or create it again once it is gone
            worker-5  general    PodDisruptionBudget shop/checkout allows no eviction of pod shop/checkout-p2hxn5tk9-k4gn9 now
            worker-6  general    pod reports/nightly-mfrbb has the annotation karpenter.sh/do-not-disrupt

            More: joiner explain node db-1 -f …
            stderr: joiner: NodePool "databases": is not ready: KWOKNodeClass "default" is being deleted: name another one in spec.template.spec.nodeClassRef, or create it again once it is gone
            stderr: joiner: NodePool "edge": is not ready: KWOKNodeClass "default" is being deleted: name another one in spec.template.spec.nodeClassRef, or create it again once it is gone
            stderr: joiner: NodePool "general": is not ready: KWOKNodeClass "default" is being deleted: name another one in spec.template.spec.nodeClassRef, or create it again once it is gone
        "#]],
    );
}

#[test]
fn an_instance_of_a_fixed_number_is_replaced_by_whatever_its_pool_allows() {
    check_changed(
        &["--feature-gates=StaticCapacity=true", "-o", "wide"],
        &[FIXED_NUMBER, BY_DAY],
        &expect![[r#"
            No pod waits for an instance.

            4 instances would go, 2 would come: 0.4687 per hour less.

              remove worker-2 (general): 0.1086 per hour less
                worker-2 holds nothing that would have to move; 0.1086 per hour are saved

              replace db-1 (databases) by any type that NodePool databases allows: as much per hour as before
                db-1 is not what NodePool "databases" wants any more (NodePoolDrifted); another one takes its place first
                to a new instance  data/postgres-0

              replace worker-4 (general) by c-8x-amd64-linux or 3 others: 0.2515 per hour less
                worker-4: its pod fits on a new c-8x-amd64-linux at 0.2172 per hour (1, NodePool "general"); 0.2515 per hour are saved
                to a new instance  shop/search-g4bq79c7l-c7r4k

              remove worker-3 (general): 0.1086 per hour less
                worker-3: the 2 pods fit on worker-1 (2); 0.1086 per hour are saved
                to worker-1  shop/web-vprthw56v-7bvl6, shop/web-vprthw56v-q89v9

            5 instances stay:

            INSTANCE  POOL       WHY IT STAYS
            db-2      databases  NodePool "databases" keeps 2 instances, whether they are used or not
            edge-1    edge       disruption is paused by netops, new switches until Friday; remove the annotation joiner.sh/pause-disruption from NodePool edge to resume
            worker-1  general    its pods need an instance like worker-1: the best replacement is another c-16x-amd64-linux (now on-demand in zone test-zone-a)            (and 1 more)
            worker-5  general    PodDisruptionBudget shop/checkout allows no eviction of pod shop/checkout-p2hxn5tk9-k4gn9 now
            worker-6  general    pod reports/nightly-mfrbb has the annotation karpenter.sh/do-not-disrupt
        "#]],
    );
}

#[test]
fn what_a_running_controller_has_begun_is_not_proposed_again() {
    check_changed(
        &[],
        &[(WORKER_3, &worker_3_with(COMMAND))],
        &expect![[r#"
            INSTANCE           POOL     SHAPE              ZONE         PRICE/H  PODS  CPU              MEMORY
            worker-1 (exists)  general  c-16x-amd64-linux  test-zone-a        –    +2  █████████░  94%  ██████░░░░  66%

            No new instance is needed: 2 pods fit on 1 instance already there.

            2 instances would go, 1 would come: 0.3601 per hour less.

              remove worker-2 (general): 0.1086 per hour less
                worker-2 holds nothing that would have to move; 0.1086 per hour are saved

              replace worker-4 (general) by c-8x-amd64-linux or 3 others: 0.2515 per hour less
                worker-4: its pod fits on a new c-8x-amd64-linux at 0.2172 per hour (1, NodePool "general"); 0.2515 per hour are saved

            7 instances stay:

            INSTANCE  POOL       WHY IT STAYS
            db-1      databases  the budgets of NodePool "databases" allow no disruption for reason Drifted now; more is allowed from 2026-03-02T22:00:00Z                 (and 1 more)
            db-2      databases  NodePool "databases" has consolidation policy WhenEmpty, and db-2 is not empty
            edge-1    edge       disruption is paused by netops, new switches until Friday; remove the annotation joiner.sh/pause-disruption from NodePool edge to resume
            worker-1  general    worker-1 is where pod shop/web-vprthw56v-7bvl6 goes, which waits for a node
            worker-3  general    worker-3 is part of a command that is being carried out
            worker-5  general    PodDisruptionBudget shop/checkout allows no eviction of pod shop/checkout-p2hxn5tk9-k4gn9 now
            worker-6  general    pod reports/nightly-mfrbb has the annotation karpenter.sh/do-not-disrupt

            More: joiner explain node db-1 -f …
        "#]],
    );
}

#[test]
fn what_a_running_controller_has_begun_but_cannot_be_read_is_told() {
    let objects = right_size::but(&[(WORKER_3, &worker_3_with("{"))]);
    let plan = run_with(&["plan", "-f", "-"], &objects, &[]);
    expect![[r#"
        joiner: NodeClaim "general-m2b6t": annotation joiner.sh/disruption-command cannot be read, and the controller removes it: EOF while parsing an object at line 1 column 1
    "#]].assert_eq(&plan.stderr);
}

#[test]
fn a_moment_that_is_none_is_told_what_to_write() {
    check(
        &["plan", "--disrupt", "-f", "examples/right-size", "--at", "tonight"],
        "",
        &expect![[r"
            stderr: error: invalid value 'tonight' for '--at <TIME>': is no moment; write it as 2026-01-31T22:00:00Z
            stderr:
            stderr: For more information, try '--help'.
            exit code: 2
        "]],
    );
}

#[test]
fn a_budget_that_cannot_be_meant_names_object_field_and_remedy() {
    let pool = "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  disruption: {budgets: [{nodes: 10%}, {nodes: 150%}]}
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements: []
";
    check(
        &["plan", "--disrupt", "-f", "-"],
        pool,
        &expect![[r#"
        stderr: joiner: standard input: document 1: NodePool general: spec.disruption.budgets[1].nodes: is "150%"; write a number, or a percentage from 0% to 100%
        exit code: 2
    "#]],
    );
}
