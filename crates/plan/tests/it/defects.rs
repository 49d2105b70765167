//! Places where Karpenter does something else, because of what we take for a defect of it.
//!
//! Each test is called after the number of the defect, and says what Karpenter does. Those that do
//! not show in a plan are not here.

use expect_test::expect;
use joiner_core::{
    label::{self, INSTANCE_TYPE, ZONE},
    pod::SpreadConstraint,
    requirement::Operator::{Exists, Gt, In, Lt, NotIn},
    selector::LabelSelector,
    settings::{MinValuesPolicy, PlanSettings},
    taint::Effect::PreferNoSchedule,
    testing::{
        SnapshotBuilder, fake_default_instance_types, fake_instance_types, instance_type, node,
        pod, pool, selector, snapshot, spread_constraint,
    },
};

use crate::support::{Cluster, check, check_each, cluster, cluster_of, plan};

fn web() -> LabelSelector {
    selector([("app", "web")])
}

/// What the claims of a plan require of a label.
fn required(snapshot: SnapshotBuilder, key: &str) -> String {
    let plan = plan(&snapshot.build(), &PlanSettings::default()).plan;
    let specs = plan.claims.iter().flat_map(|claim| claim.requirements.iter());
    let told = specs
        .filter(|spec| spec.key == key)
        .map(|spec| format!("{} {}", spec.operator, spec.values.join(" ")).trim().to_owned());
    told.collect::<Vec<_>>().join("; ")
}

#[test]
fn d1_spreads_that_differ_in_the_values_of_a_selector_count_apart() {
    // Each workload is spread over the nodes it selects, of which only the other has some with the
    // label in zone 1. Upstream compares the keys of the selectors, not the values: "b" would count
    // the pods of "a" and go to zone 2.
    let own = |name: &str| {
        pod(name).cpu("1").label("app", "web").spread(ZONE, 1, web()).on_node_selector("team", name)
    };
    check(
        cluster_of(pool("default").require("team", In, ["a", "b"]))
            .node(
                node("n")
                    .zone("test-zone-1")
                    .label("team", "a")
                    .cpu("0")
                    .pod(pod("x").label("app", "web")),
            )
            .pod(own("a"))
            .pod(own("b")),
        expect![[r#"
            claim default: a | small-instance-type +5 | team=a zone=test-zone-2
            claim default: b | small-instance-type +5 | team=b zone=test-zone-1
        "#]],
    );
}

#[test]
fn d1_spreads_that_differ_in_min_domains_count_apart() {
    // Two zones. Without minDomains four pods go 2 and 2; with 3 there are too few zones, and more
    // than one pod in a zone is too many. Upstream takes both for the same spread, and places the
    // last pod as well.
    let own = |name: &str, min_domains| {
        let constraint = SpreadConstraint { min_domains, ..spread_constraint(ZONE, 1, web()) };
        pod(name).label("app", "web").spread_constraint(constraint)
    };
    let mut cluster =
        Cluster::new(cluster_of(pool("default").require(ZONE, In, ["test-zone-1", "test-zone-2"])));
    let easy = own("easy", None).cpu("1").replicas(4);
    cluster.pass(easy.into_iter().chain([own("strict", Some(3)).build()]));
    expect!["test-zone-1=2 test-zone-2=2 waiting=1"].assert_eq(&cluster.skew(ZONE));
}

#[test]
fn d2_a_spread_without_selector_counts_nobody() {
    // Upstream counts every pod of the namespace that runs already, finds zone 1 two ahead of zone
    // 2, and refuses the pod.
    let nobody = SpreadConstraint { selector: None, ..spread_constraint(ZONE, 1, web()) };
    check(
        cluster_of(pool("default").require(ZONE, In, ["test-zone-1"]))
            .node(node("n1").zone("test-zone-1").cpu("0").pod(pod("x")).pod(pod("y")))
            .node(node("n2").zone("test-zone-2").cpu("0"))
            .pod(pod("a").cpu("1").spread_constraint(nobody)),
        expect![[r#"
            claim default: a | small-instance-type +5 | zone=test-zone-1
        "#]],
    );
}

#[test]
fn d3_pods_with_affinity_to_their_own_kind_settle_for_one_domain() {
    // Upstream may pick two zones for the first pod, which then counts nowhere.
    check(
        cluster().pods(pod("a").cpu("10").label("app", "web").affinity(ZONE, web()).replicas(3)),
        expect![[r#"
            claim default: a-0 | arm-instance-type | zone=test-zone-1
            claim default: a-1 | arm-instance-type | zone=test-zone-1
            claim default: a-2 | arm-instance-type | zone=test-zone-1
        "#]],
    );
}

#[test]
fn d4_values_that_a_pool_excludes_are_no_domains() {
    // Upstream takes the excluded rack for a domain without pods, and stops after one pod.
    let own = || pod("a").label("app", "web").spread("rack", 1, web());
    let types = || [instance_type("t").require("rack", In, ["r1", "r2", "r3"])];
    let mut cluster = Cluster::new(
        snapshot().pool(pool("default").require("rack", NotIn, ["r3", "r4"]), types()),
    );
    cluster.pass(own().replicas(6));
    expect!["r1=3 r2=3"].assert_eq(&cluster.skew("rack"));
}

#[test]
fn d4_zones_that_no_type_is_offered_in_are_no_domains() {
    // Another pool lists a zone that does not exist. Upstream takes it for a domain that stays
    // empty, so that no zone could have a second pod.
    let mut cluster = Cluster::new(
        cluster_of(pool("default").require(ZONE, In, ["test-zone-1", "test-zone-2"])).pool(
            pool("wrong").require(ZONE, In, ["test-zone-1", "no-such-zone"]),
            fake_default_instance_types(),
        ),
    );
    cluster.pass(pod("a").label("app", "web").spread(ZONE, 1, web()).replicas(6));
    expect!["test-zone-1=3 test-zone-2=3"].assert_eq(&cluster.skew(ZONE));
}

#[test]
fn d5_domains_of_nodes_are_known_to_those_that_keep_others_away() {
    // "x" keeps the pod away from its own zone; the node is in a zone that no pool knows. Upstream
    // has not heard of that zone, and refuses it.
    check(
        cluster_of(pool("default").limit("nodes", "0"))
            .node(node("1").zone("test-zone-1").cpu("0").pod(pod("x").anti_affinity(ZONE, web())))
            .node(node("2").zone("unmanaged"))
            .pod(pod("a").label("app", "web")),
        expect![[r#"
            node 2: a
        "#]],
    );
}

#[test]
fn d6_claims_of_a_pass_count_against_the_number_of_nodes() {
    // Upstream makes five instances where two are allowed.
    check(
        cluster_of(pool("default").limit("nodes", "2")).pods(
            pod("a").cpu("3").require(INSTANCE_TYPE, In, ["default-instance-type"]).replicas(5),
        ),
        expect![[r#"
            claim default: a-0 | default-instance-type
            claim default: a-1 | default-instance-type
            unschedulable a-2 a-3 a-4: pool.limit.reached
        "#]],
    );
}

#[test]
fn d6_claims_on_their_way_count_against_limits() {
    // Upstream forgets a claim until it is launched.
    check(
        cluster_of(pool("default").limit("nodes", "1"))
            .node(node("c").pool("default").cpu("1").in_flight())
            .pod(pod("a").cpu("3")),
        expect![[r#"
            unschedulable a: pool.limit.reached
        "#]],
    );
}

#[test]
fn d7_every_alternative_of_a_daemon_is_looked_at_on_a_node() {
    // Upstream looks only at the first, and puts the pod on the node, where the daemon then lacks
    // room.
    let daemon = pod("agent").cpu("1").require(ZONE, In, ["b"]).or_require(ZONE, In, ["a"]);
    check(
        cluster().daemon(daemon).node(node("n").cpu("2")).pod(pod("p").cpu("1500m")),
        expect![[r#"
            claim default: p | small-instance-type +5
        "#]],
    );
}

#[test]
fn d7_a_daemon_does_not_mind_a_node_that_prefers_not_to_be_used() {
    // Upstream expects the daemon there only if it has looked at a pool with such a taint before.
    check(
        cluster()
            .daemon(pod("agent").cpu("1"))
            .node(node("n").cpu("2").taint("shy", "", PreferNoSchedule))
            .pod(pod("p").cpu("1500m").tolerate("shy")),
        expect![[r#"
            claim default: p | default-instance-type +3
        "#]],
    );
}

#[test]
fn d7_a_daemon_counts_the_same_for_every_type() {
    // Upstream drops an alternative of the daemon at the first type that does not suit, and misses
    // it for the types that follow: both orders of the types must give the same.
    let types = [
        instance_type("x").cpu("2").require("size", In, ["x"]),
        instance_type("y").cpu("2").require("size", In, ["y"]),
    ];
    let daemon = pod("agent").cpu("1").require("size", In, ["x"]).or_require("size", In, ["y"]);
    check(
        snapshot().pool(pool("default"), types).daemon(daemon).pod(pod("p").cpu("1500m")),
        expect![[r#"
            unschedulable p: shape.tooSmall
        "#]],
    );
}

#[test]
fn d8_an_unexpected_daemon_does_not_hide_an_expected_one() {
    // Upstream compares sums: the pod of a daemon set that is gone would stand for the agent.
    check(
        cluster()
            .daemon(pod("agent").cpu("1"))
            .node(node("n").cpu("4").pod(pod("gone").cpu("1").of_daemon("default/gone")))
            .pod(pod("a").cpu("2500m"))
            .pod(pod("b").cpu("2")),
        expect![[r#"
            claim default: a | default-instance-type +3
            node n: b
        "#]],
    );
}

#[test]
fn d9_a_pod_whose_volumes_cannot_be_looked_up_waits() {
    // Upstream logs the error, and places the pod as if it had no volumes.
    check(
        cluster().pod(pod("a").waits_for_volume("persistentvolumeclaim default/x is not there")),
        expect![[r#"
            deferred a: waiting.volume
        "#]],
    );
}

#[test]
fn d10_new_instances_attach_only_so_many_volumes() {
    // Upstream packs all six pods on one instance, which cannot attach their volumes.
    const DRIVER: &str = "csi.example.com";
    let types = || {
        [
            instance_type("few").price(1.0).volume_limit(DRIVER, 2),
            instance_type("more").price(2.0).volume_limit(DRIVER, 4),
        ]
    };
    let pods = || (0..6).map(|n| pod(&format!("a-{n}")).volume(DRIVER, &format!("v-{n}")));
    check_each(
        [
            ("six", snapshot().pool(pool("default"), types()).pods(pods())),
            (
                "shared",
                snapshot()
                    .pool(pool("default"), types())
                    .pods(pod("a").volume(DRIVER, "v").replicas(6)),
            ),
            (
                "daemons too",
                snapshot()
                    .pool(pool("default"), types())
                    .daemon(pod("agent").volume(DRIVER, "log"))
                    .pods(pods()),
            ),
        ],
        expect![[r#"
            six: claim default: a-0 a-1 a-2 a-3 | more
            six: claim default: a-4 a-5 | few +1
            shared: claim default: a-0 a-1 a-2 a-3 a-4 a-5 | few +1
            daemons too: claim default: a-0 a-1 a-2 | more
            daemons too: claim default: a-3 a-4 a-5 | more
        "#]],
    );
}

#[test]
fn d11_an_exclusion_next_to_bounds_is_kept() {
    // Upstream writes only the bounds, so that the instance may have the excluded value.
    let own =
        pool("default").require("example.com/n", Gt, ["4"]).require("example.com/n", NotIn, ["5"]);
    expect!["Gte 5; NotIn 5"].assert_eq(&required(cluster_of(own).pod(pod("a")), "example.com/n"));
}

#[test]
fn d11_nothing_is_below_zero() {
    // Upstream writes `Lte -1`, which the API server refuses.
    let own = pool("default").require("example.com/n", Lt, ["0"]);
    expect!["DoesNotExist"].assert_eq(&required(cluster_of(own).pod(pod("a")), "example.com/n"));
}

#[test]
fn d15_what_is_missing_is_said_for_size_and_offering_apart() {
    // The types are large enough; they cannot be had where they are wanted. Upstream says that
    // they are too small as well.
    let wanted = || {
        pod("a")
            .on_node_selector(label::CAPACITY_TYPE, "spot")
            .on_node_selector(ZONE, "test-zone-3")
    };
    check_each(
        [("offering", cluster().pod(wanted())), ("size", cluster().pod(pod("a").cpu("100")))],
        expect![[r#"
            offering: unschedulable a: offering.none
            size: unschedulable a: shape.tooSmall
        "#]],
    );
}

#[test]
fn d17_spare_capacity_comes_after_real_pods() {
    // Upstream lets the larger spare pod have the node.
    check(
        cluster()
            .node(node("n").cpu("2"))
            .pod(pod("spare").cpu("2").buffer())
            .pod(pod("real").cpu("1")),
        expect![[r#"
            claim default: spare | default-instance-type +4
            node n: real
        "#]],
    );
}

#[test]
fn d18_relaxing_a_pod_does_not_change_what_its_spread_selects() {
    // Upstream adds the values of matchLabelKeys once more whenever the pod gives up a preference;
    // equal pods then count in different groups.
    let own = || {
        pod("a")
            .cpu("1")
            .label("app", "web")
            .label("revision", "1")
            .spread_constraint(SpreadConstraint {
                match_label_keys: vec!["revision".to_owned()],
                ..spread_constraint(ZONE, 1, web())
            })
            .prefer(1, INSTANCE_TYPE, In, ["none"])
            .prefer(2, INSTANCE_TYPE, In, ["none either"])
    };
    let mut cluster = Cluster::new(cluster());
    cluster.pass(own().replicas(6));
    expect!["test-zone-1=2 test-zone-2=2 test-zone-3=2"].assert_eq(&cluster.skew(ZONE));
}

#[test]
fn d23_labels_that_are_left_open_are_the_same_every_time() {
    // Upstream draws a random number.
    let own = pool("default").require("example.com/open", Exists, []);
    let plan = plan(&cluster_of(own).pod(pod("a")).build(), &PlanSettings::default()).plan;
    assert_eq!(plan.claims[0].labels["example.com/open"], "0");
}

#[test]
fn d24_claims_count_for_a_spread_only_once_they_define_the_key() {
    // COMPAT: kept. The spread of "a" counts nodes with its architecture. "x" is placed first and
    // may be of any architecture, so it does not count, and "a" may go to its zone.
    check(
        cluster()
            .pod(pod("x").cpu("3500m").label("app", "web").on_node_selector(ZONE, "test-zone-1"))
            .pod(
                pod("a")
                    .cpu("3")
                    .label("app", "web")
                    .spread(ZONE, 1, web())
                    .on_node_selector(label::ARCH, "amd64"),
            ),
        expect![[r#"
            claim default: x | default-instance-type +4 | zone=test-zone-1
            claim default: a | default-instance-type +3 | arch=amd64 zone=test-zone-1
        "#]],
    );
}

#[test]
fn d27_each_claim_says_for_itself_whether_min_values_were_lowered() {
    // Upstream keeps one map for all claims of the pool: the last claim speaks for all.
    let own = pool("default").min_values(INSTANCE_TYPE, Exists, [], 3);
    let settings =
        PlanSettings { min_values: MinValuesPolicy::BestEffort, ..PlanSettings::default() };
    let snapshot = snapshot()
        .pool(own, fake_instance_types(5))
        .pod(pod("lowered").cpu("4500m"))
        .pod(pod("kept").cpu("2500m"))
        .build();
    let plan = plan(&snapshot, &settings).plan;
    let told: Vec<String> = plan
        .claims
        .iter()
        .map(|claim| format!("{} {}", claim.pods[0], claim.annotations[label::MIN_VALUES_RELAXED]))
        .collect();
    assert_eq!(told, ["default/lowered true", "default/kept false"]);
}

#[test]
fn d28_a_type_without_daemons_counts_as_nothing() {
    // The daemon runs on one of the two types. Upstream's claim requests 1300m or 1 CPU, whichever
    // type it happens to look at first.
    let types = [
        instance_type("x").require("size", In, ["x"]),
        instance_type("y").require("size", In, ["y"]),
    ];
    let snapshot = snapshot()
        .pool(pool("default"), types)
        .daemon(pod("agent").cpu("300m").on_node_selector("size", "x"))
        .pod(pod("a").cpu("1"))
        .build();
    let plan = plan(&snapshot, &PlanSettings::default()).plan;
    assert_eq!(plan.claims[0].requests.to_string(), "cpu 1, pods 1");
}

#[test]
fn a_preference_that_contradicts_a_requirement_is_given_up() {
    // D35: upstream reads the two as "the label must be absent" and places the pod anywhere.
    check_each(
        [
            (
                "required of nobody",
                cluster().pod(pod("a").require("team", In, ["x"]).prefer(1, "team", NotIn, ["x"])),
            ),
            (
                "required of the pool",
                cluster_of(pool("default").label("team", "x"))
                    .pod(pod("a").require("team", In, ["x"]).prefer(1, "team", NotIn, ["x"])),
            ),
            (
                "twice required",
                cluster().pod(pod("a").on_node_selector("team", "x").require("team", NotIn, ["x"])),
            ),
        ],
        expect![[r#"
            required of nobody: unschedulable a: pool.label.unknown
            required of the pool: claim default: a | small-instance-type +5 | team=x
            twice required: unschedulable a: pod.selector.invalid
        "#]],
    );
}
