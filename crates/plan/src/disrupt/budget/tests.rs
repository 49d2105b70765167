use joiner_core::testing::{budget, budget_at, budget_for, fleet, node, now, pool, snapshot};

use joiner_core::instance_type::InstanceType;

use super::*;

/// A pool of ten instances with these budgets, as `Underutilized/Empty/Drifted`.
fn allowed_of<const N: usize>(budgets: [NodeBudget; N]) -> String {
    let told: Vec<String> =
        allowances_of(budgets).iter().map(|each| each.allowed.to_string()).collect();
    told.join("/")
}

fn allowances_of<const N: usize>(budgets: [NodeBudget; N]) -> Vec<Allowance> {
    let ten = (0..10).fold(snapshot().pool(pool("p"), [] as [InstanceType; 0]), |cluster, i| {
        cluster.node(node(&format!("n{i}")).pool("p"))
    });
    let ten = ten.build();
    allowances(&ten, &fleet(&ten).budgets("p", budgets).build())
}

fn error_of(budget: NodeBudget) -> String {
    let all = allowances_of([budget]);
    assert!(
        all.iter().all(|each| each.allowed == 0),
        "a budget that cannot be read closes the pool"
    );
    all[0].error.clone().expect("an error")
}

fn opens(budgets: [NodeBudget; 1]) -> Option<String> {
    Some(allowances_of(budgets)[0].opens?.to_string())
}

/// B-01
#[test]
fn a_budget_of_0_for_all_reasons_closes_the_pool() {
    assert_eq!(allowed_of([budget("0"), budget_for("Empty", "5")]), "0/0/0");
}

/// B-02, B-08, B-14
#[test]
fn budgets_that_are_not_in_force_limit_nothing() {
    assert_eq!(allowed_of([budget_at("0 18 * * *", 60, "0")]), "2147483647/2147483647/2147483647");
    assert_eq!(allowed_of([]), "2147483647/2147483647/2147483647");
}

/// B-03
#[test]
fn a_budget_for_one_reason_that_is_not_in_force_is_ignored() {
    let evening =
        NodeBudget { reasons: vec!["Empty".to_owned()], ..budget_at("0 18 * * *", 60, "0") };
    assert_eq!(allowed_of([evening, budget("4")]), "4/4/4");
}

/// B-04, and defect 10: a list without entries is no list.
#[test]
fn a_budget_without_reasons_is_about_all_of_them() {
    assert_eq!(allowed_of([budget("3")]), "3/3/3");
    assert_eq!(allowed_of([NodeBudget { reasons: Vec::new(), ..budget("2") }]), "2/2/2");
}

/// Karpenter 1.15 writes such budgets.
#[test]
fn a_budget_for_unhealthy_nodes_limits_nothing_else() {
    assert_eq!(allowed_of([budget("4"), budget_for("Unhealthy", "0")]), "4/4/4");
}

/// HS-03: of ten instances two are away, whatever the reason.
#[test]
fn instances_that_are_rebooted_count_and_are_away() {
    let ten = (0..10).fold(snapshot().pool(pool("p"), [] as [InstanceType; 0]), |cluster, i| {
        let instance = node(&format!("n{i}")).pool("p");
        cluster.node(if i == 0 { instance.uninitialized() } else { instance })
    });
    let ten = ten.build();
    let fleet = fleet(&ten)
        .budgets("p", [budget("100%")])
        .claim("n0", |claim| claim.rebooting = true)
        .claim("n1", |claim| claim.rebooting = true)
        .build();
    let counted: Vec<(u32, u32)> =
        allowances(&ten, &fleet).iter().map(|each| (each.instances, each.consuming)).collect();
    assert_eq!(counted, [(10, 2); 3]);
}

/// B-05
#[test]
fn the_least_counts_for_each_reason() {
    let budgets = [
        budget("7"),
        budget_for("Empty", "5"),
        budget_for("Drifted", "2"),
        budget_for("Drifted", "9"),
    ];
    assert_eq!(allowed_of(budgets), "7/5/2");
}

/// B-06, B-18
#[test]
fn a_schedule_that_cannot_be_read_closes_the_pool() {
    assert_eq!(
        error_of(budget_at("* * * *", 60, "5")),
        "NodePool \"p\": spec.disruption.budgets[0].schedule \"* * * *\": expected five fields \
         (minute, hour, day of month, month, day of week), found 4"
    );
    assert_eq!(
        error_of(budget_at("0 0 30 2 *", 60, "5")),
        "NodePool \"p\": spec.disruption.budgets[0].schedule \"0 0 30 2 *\": no such day ever comes"
    );
}

/// B-07
#[test]
fn a_number_that_cannot_be_read_closes_the_pool() {
    for nodes in ["", "-1", "ten", "101%", "-10%", "1000%", "%", "5.5", "99999999999"] {
        let error = error_of(budget(nodes));
        let expected = format!(
            "NodePool \"p\": spec.disruption.budgets[0].nodes {nodes:?}: expected a number such as \
             3, or a percentage from 0% to 100%"
        );
        assert_eq!(error, expected);
    }
}

#[test]
fn half_a_window_closes_the_pool() {
    let no_duration = NodeBudget { schedule: Some("@daily".to_owned()), ..budget("5") };
    assert!(
        error_of(no_duration)
            .ends_with("[0].duration is missing: a schedule needs one, such as 8h")
    );
    let no_schedule = NodeBudget { duration: Some(SignedDuration::from_mins(5)), ..budget("5") };
    assert!(
        error_of(no_schedule)
            .ends_with("[0].schedule is missing: a duration needs one, such as 0 9 * * *")
    );
    assert!(error_of(budget_at("@daily", 0, "5")).contains("duration: expected more than 0"));
    let odd = error_of(budget_for("Bored", "5"));
    let expected = "reasons \"Bored\": expected Underutilized, Empty, Drifted or Unhealthy";
    assert!(odd.ends_with(expected), "{odd}");
}

/// B-09, B-10
#[test]
fn percentages_are_rounded_up() {
    for (nodes, expected) in
        [("3", "3/3/3"), ("100%", "10/10/10"), ("15%", "2/2/2"), ("1%", "1/1/1"), ("0%", "0/0/0")]
    {
        assert_eq!(allowed_of([budget(nodes)]), expected, "{nodes}");
    }
}

/// B-11 to B-17: it is noon in UTC.
#[test]
fn a_window_is_open_from_its_time_on_for_its_duration() {
    for (schedule, minutes, in_force) in [
        ("0 12 * * *", 1, true),
        ("0 11 * * *", 61, true),
        ("0 11 * * *", 60, false),
        ("1 12 * * *", 1440, true),
        ("1 12 * * *", 1439, false),
        ("0 13 * * *", 60, false),
        // Longer than it takes until the next time.
        ("@hourly", 90, true),
        ("30 11 * * *", 45, true),
        ("0 12 * * thu", 60, false),
        ("0 12 * * wed", 60, true),
    ] {
        let expected = if in_force { "0/0/0" } else { "2147483647/2147483647/2147483647" };
        assert_eq!(
            allowed_of([budget_at(schedule, minutes, "0")]),
            expected,
            "{schedule} {minutes}"
        );
    }
}

#[test]
fn a_pool_opens_when_the_window_that_limits_it_closes() {
    assert_eq!(now().to_string(), "2026-03-04T12:00:00Z");
    assert_eq!(opens([budget_at("0 9 * * *", 480, "0")]).as_deref(), Some("2026-03-04T17:00:00Z"));
    assert_eq!(opens([budget("0")]), None);
    // It never closes.
    assert_eq!(opens([budget_at("@hourly", 60, "0")]), None);
    // It is not in force.
    assert_eq!(opens([budget_at("0 18 * * *", 60, "0")]), None);
}

#[test]
fn a_pool_opens_when_the_last_of_several_windows_closes() {
    let budgets =
        [budget_at("0 9 * * *", 240, "0"), budget_at("0 12 * * *", 120, "0"), budget("3")];
    let all = allowances_of(budgets);
    assert_eq!(
        (all[0].allowed, all[0].opens.unwrap().to_string()),
        (0, "2026-03-04T14:00:00Z".to_owned())
    );
}

/// D-33 to D-38
#[test]
fn instances_that_are_ours_and_initialized_count_and_those_not_ready_or_leaving_consume() {
    let cluster = snapshot()
        .pool(pool("p"), [] as [InstanceType; 0])
        .node(node("fine").pool("p"))
        .node(node("not-ready").pool("p"))
        .node(node("leaving").pool("p").leaving())
        .node(node("queued").pool("p"))
        .node(node("young").pool("p").uninitialized())
        .node(node("terminating").pool("p"))
        .node(node("unmanaged"))
        .build();
    let fleet = fleet(&cluster)
        .instance("not-ready", |instance| instance.ready = false)
        .instance("queued", |instance| instance.queued = true)
        .claim("terminating", |claim| claim.instance_terminating = true)
        .budgets("p", [budget("2")])
        .build();
    let ledger = Ledger::new(&cluster, &fleet);
    let counted = ledger.allowance("p", DisruptionReason::Empty).unwrap();
    assert_eq!((counted.instances, counted.consuming, counted.allowed), (4, 3, 2));
    // Never negative.
    assert_eq!(ledger.left("p", DisruptionReason::Empty), 0);
}

#[test]
fn what_goes_for_one_reason_counts_against_all() {
    let cluster =
        snapshot().pool(pool("p"), [] as [InstanceType; 0]).node(node("n").pool("p")).build();
    let fleet = fleet(&cluster).budgets("p", [budget("2"), budget_for("Empty", "1")]).build();
    let mut ledger = Ledger::new(&cluster, &fleet);
    assert_eq!(ledger.left("p", DisruptionReason::Empty), 1);
    ledger.take("p");
    assert_eq!(ledger.left("p", DisruptionReason::Empty), 0);
    assert_eq!(ledger.left("p", DisruptionReason::Drifted), 1);
    assert_eq!(ledger.left("gone", DisruptionReason::Drifted), 0);
}
