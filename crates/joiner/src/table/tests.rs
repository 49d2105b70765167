//! Plans made by hand, and how they read.

use expect_test::{Expect, expect};
use joiner_core::{
    plan::{ExistingPlacement, Unplaced},
    reason::{Reason, ReasonId},
    requirement::Operator,
    resources::{CPU, MEMORY, PODS},
    testing::{instance_type, node, pod, pool, requirement, resources, snapshot},
};

use super::*;

fn a_snapshot() -> Snapshot {
    snapshot()
        .pool(
            pool("general"),
            [
                instance_type("small").cpu("4").mem("8Gi").price(0.1),
                instance_type("large").cpu("16").mem("32Gi").price(0.4),
            ],
        )
        .node(
            node("worker-1")
                .pool("general")
                .zone("a")
                .cpu("8")
                .mem("16Gi")
                .pod(pod("old").cpu("2").mem("4Gi")),
        )
        .pods((0..40).map(|n| pod(&format!("web-{n}")).namespace("shop").cpu("1").mem("1Gi")))
        .pods((0..5).map(|n| pod(&format!("train-{n}")).namespace("ml").cpu("64")))
        .pod(pod("db-0").namespace("data"))
        .build()
}

fn a_claim(pods: std::ops::Range<usize>, zone: Option<&str>) -> PlannedClaim {
    let zones = zone.map(|zone| requirement(label::ZONE, Operator::In, [zone]));
    let cpu = pods.len().to_string();
    PlannedClaim {
        node_pool: "general".to_owned(),
        pods: pods.clone().map(|n| format!("shop/web-{n}")).collect(),
        instance_types: ["small".to_owned(), "large".to_owned()].into(),
        requirements: zones.into_iter().collect(),
        requests: resources([(CPU, &cpu), (MEMORY, &format!("{cpu}Gi")), (PODS, &cpu)]),
        price: 0.1,
        ..PlannedClaim::default()
    }
}

fn summary(plan: &Plan, lower_bound: f64) -> Summary {
    Summary {
        pods: plan.placed() + plan.unschedulable.len() + plan.deferred.len(),
        placed: plan.placed(),
        claims: plan.claims.len(),
        price: plan.price(),
        lower_bound,
        solve_seconds: 0.0,
        checked: true,
    }
}

#[track_caller]
fn check(plan: &Plan, lower_bound: f64, wide: bool, expected: &Expect) {
    let view = View { wide, live: false };
    let text = render(&a_snapshot(), plan, &summary(plan, lower_bound), view);
    expected.assert_eq(&anstream::adapter::strip_str(&text).to_string());
}

#[test]
fn instances_are_one_line_each_and_equal_ones_share_it() {
    let mut gpu = a_claim(9..10, Some("c"));
    gpu.requests.set("example.com/gpu", joiner_core::quantity::Quantity::whole(2));
    let plan = Plan {
        claims: vec![a_claim(0..3, None), a_claim(3..6, None), a_claim(6..9, Some("b")), gpu],
        existing: vec![ExistingPlacement {
            node: "worker-1".to_owned(),
            pods: vec!["shop/web-10".to_owned(), "shop/web-11".to_owned()],
            ..ExistingPlacement::default()
        }],
        ..Plan::default()
    };
    check(
        &plan,
        0.37,
        false,
        &expect![[r"
            INSTANCE           POOL     SHAPE             ZONE  PRICE/H  PODS  CPU              MEMORY           ALSO
            2× new             general  small or 1 other  any    0.1000     3  ███████░░░  75%  ███░░░░░░░  38%
            new                general  small or 1 other  b      0.1000     3  ███████░░░  75%  ███░░░░░░░  38%
            new                general  small or 1 other  c      0.1000     1  ██░░░░░░░░  25%  █░░░░░░░░░  13%  example.com/gpu 2
            worker-1 (exists)  general                    a           –    +2  █████░░░░░  50%  ███░░░░░░░  38%

            4 new instances for 10 pods, 0.4000 per hour (at least 0.3700; the best possible lies between).
            2 more pods fit on 1 instance already there.
        "]],
    );
    check(
        &plan,
        0.4,
        true,
        &expect![[r"
            INSTANCE           POOL     SHAPE             ZONE  PRICE/H  PODS  CPU              MEMORY           ALSO
            new                general  small or 1 other  any    0.1000     3  ███████░░░  75%  ███░░░░░░░  38%
              types  small, large
              pods   shop/web-0, shop/web-1, shop/web-2
            new                general  small or 1 other  any    0.1000     3  ███████░░░  75%  ███░░░░░░░  38%
              types  small, large
              pods   shop/web-3, shop/web-4, shop/web-5
            new                general  small or 1 other  b      0.1000     3  ███████░░░  75%  ███░░░░░░░  38%
              types  small, large
              pods   shop/web-6, shop/web-7, shop/web-8
            new                general  small or 1 other  c      0.1000     1  ██░░░░░░░░  25%  █░░░░░░░░░  13%  example.com/gpu 2
              types  small, large
              pods   shop/web-9
            worker-1 (exists)  general                    a           –    +2  █████░░░░░  50%  ███░░░░░░░  38%
              pods   shop/web-10, shop/web-11

            4 new instances for 10 pods, 0.4000 per hour (no plan could cost less).
            2 more pods fit on 1 instance already there.
        "]],
    );
}

#[test]
fn many_instances_are_folded_by_shape() {
    let claims = (0..40).map(|n| a_claim(0..1 + n % 3, ["a", "b"].get(n % 2).copied())).collect();
    let mut plan = Plan { claims, ..Plan::default() };
    for (n, claim) in plan.claims.iter_mut().enumerate() {
        claim.requests.set(CPU, joiner_core::quantity::Quantity::milli(1000 + 50 * n as i64));
    }
    check(
        &plan,
        0.0,
        false,
        &expect![[r"
            INSTANCE  POOL     SHAPE             ZONE  PRICE/H  PODS  CPU              MEMORY
            20× new   general  small or 1 other  a      0.1000   1–3  ████░░░░░░  49%  ██░░░░░░░░  25%
            20× new   general  small or 1 other  b      0.1000   1–3  █████░░░░░  50%  ██░░░░░░░░  24%

            40 new instances for 79 pods, 4.0000 per hour.
        "]],
    );
}

#[test]
fn pods_without_a_place_are_told_by_workload_and_reason() {
    let too_small = |pool: &str| {
        Reason::new(ReasonId::ShapeTooSmall, "asks for 64 CPUs, the largest type has 16")
            .in_pool(pool)
    };
    let taint = Reason::new(ReasonId::PoolTaintUntolerated, "does not tolerate x=y:NoSchedule");
    let unplaced = |pod: String, reasons: Vec<Reason>| Unplaced {
        pod,
        message: "no pool can serve it".to_owned(),
        reasons,
    };
    let mut unschedulable: Vec<Unplaced> = (0..5)
        .map(|n| {
            let reasons =
                vec![taint.clone().in_pool("gpu"), too_small("general"), too_small("spare")];
            unplaced(format!("ml/train-{n}"), reasons)
        })
        .collect();
    unschedulable.push(unplaced("shop/web-39".to_owned(), Vec::new()));
    let waits = "waits for PersistentVolumeClaim data/db-0, which does not exist: create it";
    let plan = Plan {
        unschedulable,
        deferred: vec![Unplaced {
            pod: "data/db-0".to_owned(),
            message: waits.to_owned(),
            reasons: vec![Reason::new(ReasonId::WaitingVolume, waits)],
        }],
        ..Plan::default()
    };
    check(
        &plan,
        0.0,
        false,
        &expect![[r"
            No instance would be made.

            6 pods cannot be placed:

              5× ml/train (ml/train-0, ml/train-1, ml/train-2 and 2 more)
                gpu             does not tolerate x=y:NoSchedule
                general, spare  asks for 64 CPUs, the largest type has 16

              shop/web-39
                no pool can serve it

            More: joiner explain pod ml/train-0 -f …

            1 pod must wait:

              data/db-0
                waits for PersistentVolumeClaim data/db-0, which does not exist: create it
        "]],
    );
}

#[test]
fn a_cluster_that_needs_nothing_says_so() {
    check(
        &Plan::default(),
        0.0,
        false,
        &expect![[r"
        No pod waits for an instance.
    "]],
    );
}
