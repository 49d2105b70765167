//! Input that makes no sense is refused, and the rest is planned.

use expect_test::expect;
use joiner_core::{
    instance_type::{InstanceType, Offering},
    label::{CAPACITY_TYPE, CAPACITY_TYPE_RESERVED, HOSTNAME, ZONE},
    pod::SpreadConstraint,
    requirement::{Operator::In, Requirement, Requirements},
    resources::Resources,
    selector::LabelSelector,
    settings::PlanSettings,
    snapshot::Node,
    taint::Effect,
    testing::{
        SnapshotBuilder, instance_type, node, offering, pod, pool, quantity, selector, snapshot,
        spread_constraint,
    },
};

use crate::support::{check, check_each, cluster, cluster_of, plan, tell};

fn web() -> LabelSelector {
    selector([("app", "web")])
}

fn with_type(changed: impl FnOnce(&mut InstanceType)) -> SnapshotBuilder {
    let mut odd = instance_type("odd").build();
    changed(&mut odd);
    snapshot().pool(pool("default"), [odd, instance_type("plain").build()]).pod(pod("a"))
}

#[test]
fn amounts_without_measure() {
    check_each(
        [
            ("huge", cluster().pod(pod("a").cpu("9223372036854775807"))),
            ("more than huge", cluster().pod(pod("a").mem("99999999999E"))),
            ("tiny", cluster().pod(pod("a").cpu("1n").mem("1m"))),
            ("negative", cluster().pod(pod("a").cpu("-1")).pod(pod("b").cpu("1"))),
            ("huge daemon", cluster().daemon(pod("d").cpu("9223372036854775807")).pod(pod("a"))),
            (
                "huge node",
                cluster()
                    .node(node("n").cpu("9223372036854775807").mem("9223372036854775807Ti"))
                    .pods(pod("a").cpu("1000000").replicas(2)),
            ),
            ("negative limit", cluster_of(pool("default").limit("cpu", "-1")).pod(pod("a"))),
        ],
        expect![[r#"
            huge: unschedulable a: shape.tooSmall
            more than huge: unschedulable a: shape.tooSmall
            tiny: claim default: a | small-instance-type +5
            negative: claim default: b a | small-instance-type +4
            huge daemon: unschedulable a: shape.tooSmall
            huge node: node n: a-0 a-1
            negative limit: unschedulable a: pool.limit.reached
        "#]],
    );
}

#[test]
fn spreads_that_nothing_can_satisfy() {
    let with = |constraint: SpreadConstraint| {
        cluster().pods(pod("a").label("app", "web").spread_constraint(constraint).replicas(2))
    };
    let zone = |max_skew| spread_constraint(ZONE, max_skew, web());
    check_each(
        [
            ("skew 0", with(zone(0))),
            ("skew 0 by host", with(spread_constraint(HOSTNAME, 0, web()))),
            ("skew below 0", with(zone(i32::MIN))),
            ("huge skew", with(zone(i32::MAX))),
            ("minDomains 0", with(SpreadConstraint { min_domains: Some(0), ..zone(1) })),
            ("minDomains below 0", with(SpreadConstraint { min_domains: Some(-1), ..zone(1) })),
            ("huge minDomains", with(SpreadConstraint { min_domains: Some(i32::MAX), ..zone(1) })),
            ("no key", with(spread_constraint("", 1, web()))),
            ("impossible selector", with(spread_constraint(ZONE, 1, LabelSelector::nothing()))),
        ],
        expect![[r#"
            skew 0: unschedulable a-0 a-1: topology.spread
            skew 0 by host: unschedulable a-0 a-1: topology.spread
            skew below 0: unschedulable a-0 a-1: topology.spread
            huge skew: claim default: a-0 a-1 | small-instance-type +4 | zone=test-zone-1
            minDomains 0: claim default: a-0 | small-instance-type +5 | zone=test-zone-1
            minDomains 0: claim default: a-1 | small-instance-type +5 | zone=test-zone-2
            minDomains below 0: claim default: a-0 | small-instance-type +5 | zone=test-zone-1
            minDomains below 0: claim default: a-1 | small-instance-type +5 | zone=test-zone-2
            huge minDomains: claim default: a-0 | small-instance-type +5 | zone=test-zone-1
            huge minDomains: claim default: a-1 | small-instance-type +5 | zone=test-zone-2
            no key: unschedulable a-0 a-1: topology.spread
            impossible selector: claim default: a-0 a-1 | small-instance-type +4 | zone=test-zone-1
        "#]],
    );
}

#[test]
fn types_that_nobody_can_launch() {
    check_each(
        [
            ("no offerings", with_type(|odd| odd.offerings.clear())),
            ("nothing in it", with_type(|odd| odd.capacity = Resources::new())),
            ("no labels", with_type(|odd| odd.requirements = Requirements::new())),
            ("price is no number", with_type(|odd| odd.offerings[0].price = f64::NAN)),
            ("price without end", with_type(|odd| odd.offerings[0].price = f64::INFINITY)),
            ("price below zero", with_type(|odd| odd.offerings[0].price = -1.0)),
            (
                "an offering anywhere",
                with_type(|odd| {
                    odd.offerings = vec![Offering { price: 0.5, ..Offering::default() }];
                }),
            ),
            (
                "overhead beyond capacity",
                with_type(|odd| odd.overhead.kube_reserved.set("memory", quantity("1Ti"))),
            ),
        ],
        expect![[r#"
            no offerings: claim default: a | plain
            nothing in it: claim default: a | plain
            no labels: claim default: a | odd +1
            price is no number: claim default: a | odd +1
            price without end: claim default: a | odd +1
            price below zero: claim default: a | odd +1
            an offering anywhere: claim default: a | odd +1
            overhead beyond capacity: claim default: a | plain
        "#]],
    );
}

#[test]
fn reserved_capacity_that_nobody_can_hold_does_not_make_pods_wait_for_ever() {
    // An offering that says "reserved" but not which reservation it draws from.
    let without_id = with_type(|odd| {
        let reserved = offering("a", CAPACITY_TYPE_RESERVED, 0.1);
        odd.offerings.push(Offering { reservation_capacity: 1, ..reserved });
        odd.requirements.set(CAPACITY_TYPE, Requirement::one_of(["on-demand", "reserved"]));
    });
    check(
        without_id,
        expect![[r#"
            claim default: a | odd +1
        "#]],
    );
    // A provider that has no label for reservations.
    let mut unlabelled = snapshot()
        .pool(pool("default"), [instance_type("t").reserved("a", "r", 1, 0.1)])
        .pod(pod("a"))
        .build();
    unlabelled.catalog.reservation_id_label = None;
    expect![[r#"
        claim default: a | t
    "#]]
    .assert_eq(&tell(&unlabelled, &plan(&unlabelled, &PlanSettings::default())));
}

#[test]
fn names_that_are_missing() {
    let mut nameless = cluster().pod(pod("a").cpu("1")).build();
    nameless.nodes.push(Node::default());
    expect![[r#"
        claim default: a | small-instance-type +5
    "#]]
    .assert_eq(&tell(&nameless, &plan(&nameless, &PlanSettings::default())));
    check(
        cluster_of(pool("")).pod(pod("a").affinity("", web())).pod(pod("b")),
        expect![[r#"
            claim : b | small-instance-type +5
            unschedulable a: affinity.unmet
        "#]],
    );
}

#[test]
fn effects_and_operators_that_nobody_knows() {
    let strange = || Effect::Other("Strange".to_owned());
    check_each(
        [
            ("refused", cluster_of(pool("default").taint("own", "", strange())).pod(pod("a"))),
            (
                "tolerated",
                cluster_of(pool("default").taint("own", "", strange()))
                    .pod(pod("a").tolerate("own")),
            ),
            // Contradictory, and far too many.
            (
                "alternatives",
                cluster().pod((0..500).fold(pod("a"), |pod, n| {
                    pod.or_require(ZONE, In, [format!("zone-{n}").as_str()])
                })),
            ),
        ],
        expect![[r#"
            refused: unschedulable a: pool.taint.untolerated
            tolerated: claim default: a | small-instance-type +5
            alternatives: unschedulable a: pool.requirement.conflict
        "#]],
    );
}
