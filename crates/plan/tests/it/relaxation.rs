//! What pods prefer, and in which order they give it up.

use expect_test::expect;
use joiner_core::{
    label::{HOSTNAME, INSTANCE_TYPE, ZONE},
    requirement::Operator::In,
    settings::{PlanSettings, PreferencePolicy},
    taint::Effect::{NoSchedule, PreferNoSchedule},
    testing::{fake_default_instance_types, node, pod, pool, selector},
};

use crate::support::{check, check_with, cluster, cluster_of};

#[test]
fn alternatives_of_a_required_affinity_are_tried_in_order() {
    check(
        cluster().pod(
            pod("a")
                .require(ZONE, In, ["invalid"])
                .or_require(ZONE, In, ["invalid"])
                .or_require(ZONE, In, ["test-zone-1"])
                .or_require(ZONE, In, ["test-zone-2"]),
        ),
        expect![[r#"
            claim default: a | small-instance-type +5 | zone=test-zone-1
        "#]],
    );
}

#[test]
fn the_last_required_alternative_is_kept() {
    check(
        cluster().pod(pod("a").require(ZONE, In, ["invalid"])),
        expect![[r#"
            unschedulable a: pool.requirement.conflict
        "#]],
    );
}

#[test]
fn the_heaviest_preference_that_can_be_met_is_met() {
    check(
        cluster_of(pool("default").require(ZONE, In, ["test-zone-1", "test-zone-2"])).pod(
            pod("a")
                .prefer(1, ZONE, In, ["test-zone-1"])
                .prefer(50, ZONE, In, ["test-zone-2"])
                .prefer(100, INSTANCE_TYPE, In, ["test-zone-3"]),
        ),
        expect![[r#"
            claim default: a | small-instance-type +5 | zone=test-zone-2
        "#]],
    );
}

#[test]
fn only_one_preference_is_active_at_a_time() {
    // Both could be met; the lighter one is looked at only once the heavier one is given up.
    check(
        cluster().pod(pod("a").prefer(2, ZONE, In, ["test-zone-2"]).prefer(
            1,
            INSTANCE_TYPE,
            In,
            ["default-instance-type"],
        )),
        expect![[r#"
            claim default: a | small-instance-type +5 | zone=test-zone-2
        "#]],
    );
}

#[test]
fn of_equal_preferences_the_first_counts() {
    check(
        cluster().pod(pod("a").prefer(1, ZONE, In, ["test-zone-2"]).prefer(
            1,
            ZONE,
            In,
            ["test-zone-1"],
        )),
        expect![[r#"
            claim default: a | small-instance-type +5 | zone=test-zone-2
        "#]],
    );
}

#[test]
fn a_preference_yields_to_a_requirement() {
    check(
        cluster().pod(pod("a").require(ZONE, In, ["test-zone-3"]).prefer(
            1,
            ZONE,
            In,
            ["test-zone-1"],
        )),
        expect![[r#"
            claim default: a | small-instance-type +5 | capacity-type=on-demand zone=test-zone-3
        "#]],
    );
}

#[test]
fn required_alternatives_are_used_up_before_any_preference_is_given_up() {
    // The first alternative would do without the preference, but the second one does with it.
    check(
        cluster().pod(
            pod("a")
                .require(ZONE, In, ["test-zone-1"])
                .or_require(ZONE, In, ["test-zone-2"])
                .prefer(1, ZONE, In, ["test-zone-2"]),
        ),
        expect![[r#"
            claim default: a | small-instance-type +5 | zone=test-zone-2
        "#]],
    );
    // No alternative does with the preference: the last alternative is all that is left.
    check(
        cluster().pod(
            pod("b")
                .require(ZONE, In, ["test-zone-1"])
                .or_require(ZONE, In, ["test-zone-2"])
                .prefer(1, ZONE, In, ["test-zone-3"]),
        ),
        expect![[r#"
            claim default: b | small-instance-type +5 | zone=test-zone-2
        "#]],
    );
}

#[test]
fn a_preference_may_cost_an_instance() {
    // Upstream treats preferences as requirements as long as they can be met.
    check(
        cluster()
            .node(node("n").zone("test-zone-1"))
            .pod(pod("a").prefer(1, ZONE, In, ["test-zone-2"]))
            .pod(pod("b")),
        expect![[r#"
            claim default: a | small-instance-type +5 | zone=test-zone-2
            node n: b
        "#]],
    );
}

#[test]
fn preferred_affinity_is_given_up_before_preferred_node_affinity() {
    check(
        cluster().pod(pod("a").prefer_affinity(1, ZONE, selector([("app", "nowhere")])).prefer(
            1,
            ZONE,
            In,
            ["test-zone-2"],
        )),
        expect![[r#"
            claim default: a | small-instance-type +5 | zone=test-zone-2
        "#]],
    );
}

#[test]
fn preferred_anti_affinity_is_given_up_before_preferred_node_affinity() {
    let web = || selector([("app", "web")]);
    check(
        cluster()
            .node(node("1").zone("test-zone-1").cpu("1").pod(pod("x").label("app", "web")))
            .node(node("2").zone("test-zone-2").cpu("1").pod(pod("y").label("app", "web")))
            .node(node("3").zone("test-zone-3").cpu("1").pod(pod("z").label("app", "web")))
            .pod(pod("a").cpu("1500m").prefer_anti_affinity(1, ZONE, web()).prefer(
                1,
                ZONE,
                In,
                ["test-zone-2"],
            )),
        expect![[r#"
            claim default: a | small-instance-type +5 | zone=test-zone-2
        "#]],
    );
}

#[test]
fn preferred_affinity_is_given_up_before_preferred_anti_affinity() {
    // Near "db" and away from "web", which are in the same zone: being near goes first.
    check(
        cluster()
            .node(
                node("n")
                    .zone("test-zone-1")
                    .cpu("1")
                    .pod(pod("x").label("app", "web"))
                    .pod(pod("y").label("app", "db")),
            )
            .pod(
                pod("a")
                    .cpu("1500m")
                    .prefer_affinity(100, ZONE, selector([("app", "db")]))
                    .prefer_anti_affinity(1, ZONE, selector([("app", "web")])),
            ),
        expect![[r#"
            claim default: a | small-instance-type +5 | zone=test-zone-2,test-zone-3
        "#]],
    );
}

#[test]
fn preferred_node_affinity_is_given_up_before_soft_spread() {
    check(
        cluster().pods(
            pod("a")
                .label("app", "web")
                .spread_anyway(ZONE, 1, selector([("app", "web")]))
                .prefer(1, INSTANCE_TYPE, In, ["none"])
                .replicas(2),
        ),
        expect![[r#"
            claim default: a-0 | small-instance-type +5 | zone=test-zone-1
            claim default: a-1 | small-instance-type +5 | zone=test-zone-2
        "#]],
    );
}

#[test]
fn the_heaviest_of_several_preferred_terms_goes_first() {
    check(
        cluster()
            .node(node("n").zone("test-zone-2").cpu("1").pod(pod("x").label("app", "db")))
            .pod(
                pod("a")
                    .cpu("1500m")
                    .prefer_affinity(1, ZONE, selector([("app", "db")]))
                    .prefer_affinity(100, ZONE, selector([("app", "nowhere")])),
            ),
        expect![[r#"
            claim default: a | small-instance-type +5 | zone=test-zone-2
        "#]],
    );
}

#[test]
fn a_pool_that_prefers_not_to_be_used_is_used_when_nothing_else_is_left() {
    let shy = || pool("default").taint("shy", "", PreferNoSchedule);
    check(
        cluster_of(shy()).pod(
            pod("a")
                .prefer(1, ZONE, In, ["invalid"])
                .prefer(2, INSTANCE_TYPE, In, ["invalid"])
                .prefer_affinity(1, HOSTNAME, selector([("app", "nowhere")])),
        ),
        expect![[r#"
            claim default: a | small-instance-type +5
        "#]],
    );
    // Another pool goes first, whatever the weights.
    check(
        cluster_of(shy().weight(100))
            .pool(pool("other"), fake_default_instance_types())
            .pod(pod("a")),
        expect![[r#"
            claim other: a | small-instance-type +5
        "#]],
    );
    // A pod gives up what it prefers before it goes to such a pool.
    check(
        cluster_of(shy().label("team", "x"))
            .pool(pool("other"), fake_default_instance_types())
            .pod(pod("a").prefer(1, "team", In, ["x"])),
        expect![[r#"
            claim other: a | small-instance-type +5
        "#]],
    );
}

#[test]
fn a_hard_taint_is_never_relaxed() {
    check(
        cluster_of(pool("default").taint("shy", "", PreferNoSchedule).taint("own", "", NoSchedule))
            .pod(pod("a")),
        expect![[r#"
            unschedulable a: pool.taint.untolerated
        "#]],
    );
}

#[test]
fn a_node_that_prefers_not_to_be_used_is_used_only_if_some_pool_prefers_it_too() {
    let shy = || node("n").taint("shy", "", PreferNoSchedule);
    check(
        cluster().node(shy()).pod(pod("a")),
        expect![[r#"
            claim default: a | small-instance-type +5
        "#]],
    );
    check(
        cluster_of(pool("default").taint("shy", "", PreferNoSchedule)).node(shy()).pod(pod("a")),
        expect![[r#"
            node n: a
        "#]],
    );
}

#[test]
fn a_pod_that_is_tried_again_wants_everything_again() {
    // At first there is nobody to be near, whatever "a" gives up. Once "db" has a place, "a" still
    // gets the type that it prefers.
    check(
        cluster()
            .pod(pod("a").cpu("1500m").affinity(ZONE, selector([("app", "db")])).prefer(
                1,
                INSTANCE_TYPE,
                In,
                ["default-instance-type"],
            ))
            .pod(pod("db").cpu("1").label("app", "db").on_node_selector(ZONE, "test-zone-2")),
        expect![[r#"
            claim default: db a | default-instance-type | zone=test-zone-2
        "#]],
    );
}

#[test]
fn preferences_can_be_ignored() {
    let settings =
        PlanSettings { preferences: PreferencePolicy::Ignore, ..PlanSettings::default() };
    let web = || selector([("app", "web")]);
    check_with(
        &settings,
        cluster()
            .pods(pod("node").prefer(1, ZONE, In, ["test-zone-2"]).replicas(1))
            .pods(
                pod("away")
                    .label("app", "web")
                    .prefer_anti_affinity(1, HOSTNAME, web())
                    .replicas(2),
            )
            .pods(pod("near").prefer_affinity(1, ZONE, selector([("app", "none")])).replicas(1))
            .pods(pod("spread").label("app", "web").spread_anyway(HOSTNAME, 1, web()).replicas(1)),
        expect![[r#"
            claim default: away-0 away-1 near-0 node-0 spread-0 | small-instance-type +4
        "#]],
    );
    // Alternatives of what is required, and pools that prefer not to be used, are no preferences.
    check_with(
        &settings,
        cluster_of(pool("default").taint("shy", "", PreferNoSchedule))
            .pod(pod("a").require(ZONE, In, ["invalid"]).or_require(ZONE, In, ["test-zone-2"])),
        expect![[r#"
            claim default: a | small-instance-type +5 | zone=test-zone-2
        "#]],
    );
}
