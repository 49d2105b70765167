//! Node selectors and node affinity against what pools and types offer.

use expect_test::expect;
use joiner_core::{
    label::{self, ARCH, INSTANCE_TYPE, NODE_POOL, OS, REGION, WINDOWS_BUILD, ZONE},
    requirement::Operator::{DoesNotExist, Exists, Gt, Gte, In, Lt, Lte, NotIn},
    testing::{instance_type, node, pod, pool, snapshot},
};

use crate::support::{check, check_each, cluster, cluster_of};

#[test]
fn a_label_that_the_pool_does_not_define_cannot_be_asked_for() {
    check_each(
        [
            ("selector", cluster().pod(pod("a").on_node_selector("team", "x"))),
            ("In", cluster().pod(pod("a").require("team", In, ["x"]))),
            ("Exists", cluster().pod(pod("a").require("team", Exists, []))),
            ("Gt", cluster().pod(pod("a").require("team", Gt, ["1"]))),
            ("Lt", cluster().pod(pod("a").require("team", Lt, ["1"]))),
        ],
        expect![[r#"
            selector: unschedulable a: pool.label.unknown
            In: unschedulable a: pool.label.unknown
            Exists: unschedulable a: pool.label.unknown
            Gt: unschedulable a: pool.label.unknown
            Lt: unschedulable a: pool.label.unknown
        "#]],
    );
}

#[test]
fn a_label_that_the_pool_does_not_define_can_be_excluded() {
    check_each(
        [
            ("NotIn", cluster().pod(pod("a").require("team", NotIn, ["x"]))),
            ("DoesNotExist", cluster().pod(pod("a").require("team", DoesNotExist, []))),
        ],
        expect![[r#"
            NotIn: claim default: a | small-instance-type +5 | team!=x
            DoesNotExist: claim default: a | small-instance-type +5 | !team
        "#]],
    );
}

#[test]
fn a_label_that_the_pool_defines_can_be_asked_for() {
    let team = || cluster_of(pool("default").require("team", In, ["x"]));
    check_each(
        [
            ("In", team().pod(pod("a").require("team", In, ["x"]))),
            ("In another", team().pod(pod("a").require("team", In, ["y"]))),
            ("NotIn", team().pod(pod("a").require("team", NotIn, ["x"]))),
            ("NotIn another", team().pod(pod("a").require("team", NotIn, ["y"]))),
            ("Exists", team().pod(pod("a").require("team", Exists, []))),
            ("DoesNotExist", team().pod(pod("a").require("team", DoesNotExist, []))),
        ],
        expect![[r#"
            In: claim default: a | small-instance-type +5 | team=x
            In another: unschedulable a: pool.requirement.conflict
            NotIn: unschedulable a: pool.requirement.conflict
            NotIn another: claim default: a | small-instance-type +5 | team=x
            Exists: claim default: a | small-instance-type +5 | team=x
            DoesNotExist: unschedulable a: pool.requirement.conflict
        "#]],
    );
}

#[test]
fn a_label_of_the_template_is_a_requirement_with_one_value() {
    let team = || cluster_of(pool("default").label("team", "x"));
    check_each(
        [
            ("same", team().pod(pod("a").on_node_selector("team", "x"))),
            ("other", team().pod(pod("a").on_node_selector("team", "y"))),
        ],
        expect![[r#"
            same: claim default: a | small-instance-type +5 | team=x
            other: unschedulable a: pool.requirement.conflict
        "#]],
    );
}

#[test]
fn well_known_labels_need_not_be_defined() {
    check_each(
        [
            ("zone", cluster().pod(pod("a").on_node_selector(ZONE, "test-zone-2"))),
            ("type", cluster().pod(pod("a").on_node_selector(INSTANCE_TYPE, "arm-instance-type"))),
            ("arch", cluster().pod(pod("a").on_node_selector(ARCH, "arm64"))),
            ("os", cluster().pod(pod("a").on_node_selector(OS, "ios"))),
            ("pool", cluster().pod(pod("a").on_node_selector(NODE_POOL, "default"))),
            // Types that say nothing of a label do not refuse it.
            ("region", cluster().pod(pod("a").on_node_selector(REGION, "anywhere"))),
            ("build", cluster().pod(pod("a").on_node_selector(WINDOWS_BUILD, "10.0.1"))),
        ],
        expect![[r#"
            zone: claim default: a | small-instance-type +5 | zone=test-zone-2
            type: claim default: a | arm-instance-type
            arch: claim default: a | arm-instance-type | arch=arm64
            os: claim default: a | arm-instance-type | os=ios
            pool: claim default: a | small-instance-type +5
            region: claim default: a | small-instance-type +5 | region=anywhere
            build: claim default: a | small-instance-type +5 | windows-build=10.0.1
        "#]],
    );
}

#[test]
fn values_that_no_type_has_are_refused() {
    check_each(
        [
            ("zone", cluster().pod(pod("a").on_node_selector(ZONE, "unknown"))),
            ("arch", cluster().pod(pod("a").on_node_selector(ARCH, "unknown"))),
            ("pool", cluster().pod(pod("a").on_node_selector(NODE_POOL, "unknown"))),
            ("no zone", cluster().pod(pod("a").require(ZONE, DoesNotExist, []))),
            (
                "no zone left",
                cluster().pod(pod("a").require(
                    ZONE,
                    NotIn,
                    ["test-zone-1", "test-zone-2", "test-zone-3"],
                )),
            ),
        ],
        expect![[r#"
            zone: unschedulable a: pool.requirement.conflict
            arch: unschedulable a: pool.requirement.conflict
            pool: unschedulable a: pool.requirement.conflict
            no zone: unschedulable a: pool.requirement.conflict
            no zone left: unschedulable a: pool.requirement.conflict
        "#]],
    );
}

#[test]
fn exists_never_widens_what_is_required_elsewhere() {
    check(
        cluster().pod(pod("a").require(ZONE, In, ["non-existent-zone"]).require(ZONE, Exists, [])),
        expect![[r#"
            unschedulable a: pool.requirement.conflict
        "#]],
    );
}

#[test]
fn pods_that_want_different_values_get_different_instances() {
    check(
        cluster_of(pool("default").require("team", In, ["a", "b"]))
            .pod(pod("1").on_node_selector("team", "a"))
            .pod(pod("2").on_node_selector("team", "b")),
        expect![[r#"
            claim default: 1 | small-instance-type +5 | team=a
            claim default: 2 | small-instance-type +5 | team=b
        "#]],
    );
}

#[test]
fn pods_whose_requirements_meet_share_an_instance() {
    check(
        cluster()
            .pod(pod("1").require(ZONE, In, ["test-zone-1", "test-zone-2"]))
            .pod(pod("2").require(ZONE, NotIn, ["test-zone-1"]))
            .pod(pod("3").require(ARCH, In, ["amd64"])),
        expect![[r#"
            claim default: 1 2 3 | small-instance-type +3 | arch=amd64 zone=test-zone-2
        "#]],
    );
}

#[test]
fn types_may_lack_a_label_altogether() {
    // `special` exists only on types that are large.
    check_each(
        [
            ("Exists", cluster().pod(pod("a").require("special", Exists, []))),
            ("In", cluster().pod(pod("a").require("special", In, ["optional"]))),
            ("NotIn", cluster().pod(pod("a").require("special", NotIn, ["optional"]))),
            ("DoesNotExist", cluster().pod(pod("a").require("special", DoesNotExist, []))),
        ],
        expect![[r#"
            Exists: claim default: a | arm-instance-type | special=*
            In: claim default: a | arm-instance-type | special=optional
            NotIn: claim default: a | small-instance-type +4 | special!=optional
            DoesNotExist: claim default: a | small-instance-type +4 | !special
        "#]],
    );
}

#[test]
fn numbers_are_compared_as_numbers() {
    let sized = |operator, bound| {
        cluster_of(pool("default").require("integer", operator, [bound])).pod(pod("a"))
    };
    check_each(
        [
            ("Gt 8", sized(Gt, "8")),
            ("Lt 8", sized(Lt, "8")),
            ("Lt 4", sized(Lt, "4")),
            ("Gte 16", sized(Gte, "16")),
            ("Gte 17", sized(Gte, "17")),
            ("Lte 2", sized(Lte, "2")),
            ("pod Gt 8", cluster().pod(pod("a").require("integer", Gt, ["8"]))),
            ("pod Lt 4", cluster().pod(pod("a").require("integer", Lt, ["4"]))),
        ],
        expect![[r#"
            Gt 8: claim default: a | arm-instance-type | integer>=9
            Lt 8: claim default: a | small-instance-type +4 | integer<=7
            Lt 4: claim default: a | small-instance-type | integer<=3
            Gte 16: claim default: a | arm-instance-type | integer>=16
            Gte 17: unschedulable a: pool.noTypes
            Gte 17: pool default: pool.noTypes
            Lte 2: claim default: a | small-instance-type | integer<=2
            pod Gt 8: claim default: a | arm-instance-type | integer>=9
            pod Lt 4: claim default: a | small-instance-type | integer<=3
        "#]],
    );
}

#[test]
fn beta_labels_are_those_in_use() {
    check_each(
        [
            (
                "zone",
                cluster().pod(
                    pod("a")
                        .on_node_selector("failure-domain.beta.kubernetes.io/zone", "test-zone-2"),
                ),
            ),
            ("arch", cluster().pod(pod("a").on_node_selector("beta.kubernetes.io/arch", "arm64"))),
            (
                "pool",
                cluster_of(pool("default").require(
                    "failure-domain.beta.kubernetes.io/zone",
                    In,
                    ["test-zone-1"],
                ))
                .pod(pod("a").on_node_selector(ZONE, "test-zone-1"))
                .pod(pod("b").on_node_selector(ZONE, "test-zone-2")),
            ),
        ],
        expect![[r#"
            zone: claim default: a | small-instance-type +5 | zone=test-zone-2
            arch: claim default: a | arm-instance-type | arch=arm64
            pool: claim default: a | small-instance-type +5 | zone=test-zone-1
            pool: unschedulable b: pool.requirement.conflict
        "#]],
    );
}

#[test]
fn labels_of_kubernetes_domains_may_be_defined_by_a_pool() {
    let pool = pool("default")
        .label("kubernetes.io/custom", "v")
        .require("node.kubernetes.io/custom", In, ["v"])
        .require("custom.k8s.io/custom", In, ["v"]);
    check(
        cluster_of(pool).pod(
            pod("a")
                .on_node_selector("kubernetes.io/custom", "v")
                .on_node_selector("node.kubernetes.io/custom", "v")
                .on_node_selector("custom.k8s.io/custom", "v"),
        ),
        expect![[r#"
            claim default: a | small-instance-type +5 | custom=v custom=v custom=v
        "#]],
    );
}

#[test]
fn labels_that_belong_to_karpenter_or_the_node_cannot_be_asked_for() {
    // Not even where a node has them.
    let nodes = || {
        cluster().node(node("n").label(label::INITIALIZED, "true").label("x.karpenter.sh/y", "z"))
    };
    check_each(
        [
            ("hostname", nodes().pod(pod("a").on_node_selector(label::HOSTNAME, "n"))),
            ("initialized", nodes().pod(pod("a").on_node_selector(label::INITIALIZED, "true"))),
            ("sub-domain", nodes().pod(pod("a").require("x.karpenter.sh/y", In, ["z"]))),
            ("other domain", nodes().pod(pod("a").require("notkarpenter.sh/y", NotIn, ["z"]))),
            // Every alternative is looked at.
            (
                "alternative",
                nodes().pod(pod("a").require(ZONE, In, ["a"]).or_require(
                    label::HOSTNAME,
                    In,
                    ["n"],
                )),
            ),
            // Preferences are not.
            ("preferred", nodes().pod(pod("a").prefer(1, label::HOSTNAME, In, ["n"]))),
        ],
        expect![[r#"
            hostname: unschedulable a: pod.selector.restricted
            initialized: unschedulable a: pod.selector.restricted
            sub-domain: unschedulable a: pod.selector.restricted
            other domain: node n: a
            alternative: unschedulable a: pod.selector.restricted
            preferred: node n: a
        "#]],
    );
}

#[test]
fn a_pod_may_stay_away_from_all_pools() {
    let with_node = || cluster().node(node("n"));
    check_each(
        [
            ("required", with_node().pod(pod("a").require(NODE_POOL, DoesNotExist, []))),
            ("preferred", with_node().pod(pod("a").prefer(1, NODE_POOL, DoesNotExist, []))),
            // Only the heaviest preference counts; of equals the first.
            (
                "not the heaviest",
                with_node().pod(pod("a").prefer(1, NODE_POOL, DoesNotExist, []).prefer(
                    2,
                    ZONE,
                    In,
                    ["a"],
                )),
            ),
            (
                "not the first",
                with_node().pod(pod("a").prefer(2, ZONE, In, ["a"]).prefer(
                    2,
                    NODE_POOL,
                    DoesNotExist,
                    [],
                )),
            ),
        ],
        expect![[r#"
            required: unschedulable a: pod.optedOut
            preferred: unschedulable a: pod.optedOut
            not the heaviest: node n: a
            not the first: node n: a
        "#]],
    );
}

#[test]
fn selectors_that_kubernetes_would_refuse_are_refused() {
    check_each(
        [
            ("In nothing", cluster().pod(pod("a").require(ZONE, In, []))),
            ("not a number", cluster().pod(pod("a").require("integer", Gt, ["many"]))),
            ("two bounds", cluster().pod(pod("a").require("integer", Gt, ["1", "2"]))),
            ("key", cluster().pod(pod("a").require("-x-", Exists, []))),
            ("value", cluster().pod(pod("a").on_node_selector(ZONE, "a b"))),
            ("capacity type", cluster().pod(pod("a").on_node_selector(label::CAPACITY_TYPE, "x"))),
        ],
        expect![[r#"
            In nothing: unschedulable a: pod.selector.invalid
            not a number: unschedulable a: pod.selector.invalid
            two bounds: unschedulable a: pod.selector.invalid
            key: unschedulable a: pod.selector.invalid
            value: unschedulable a: pod.selector.invalid
            capacity type: unschedulable a: pod.selector.invalid
        "#]],
    );
}

#[test]
fn an_offering_must_match_as_a_whole() {
    // Spot is offered, and zone 3 is offered, but there is no spot in zone 3.
    check(
        cluster().pod(
            pod("a")
                .on_node_selector(label::CAPACITY_TYPE, "spot")
                .on_node_selector(ZONE, "test-zone-3"),
        ),
        expect![[r#"
            unschedulable a: offering.none
        "#]],
    );
}

#[test]
fn a_claim_narrows_with_each_pod_until_no_type_is_left() {
    let types = [instance_type("x").zones(["a"]), instance_type("y").zones(["b"]).arch("arm64")];
    check(
        snapshot()
            .pool(pool("default"), types)
            .pod(pod("1").on_node_selector(ZONE, "a"))
            .pod(pod("2").on_node_selector(ARCH, "arm64"))
            .pod(pod("3").on_node_selector(ZONE, "a").on_node_selector(ARCH, "arm64")),
        expect![[r#"
            claim default: 1 | x | zone=a
            claim default: 2 | y | arch=arm64
            unschedulable 3: pool.requirement.conflict
        "#]],
    );
}
