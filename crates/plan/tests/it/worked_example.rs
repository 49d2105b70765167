//! One plan worked out by hand from the rules.
//!
//! Five types with 1 to 5 CPUs; a pool "gp" that is heavier but prefers not to be used, and a pool
//! "alt"; a daemon. A pod of 2 CPUs, two of 1500m that are spread over zones, and a small one that
//! wants a label which only "gp" has.

use expect_test::expect;
use joiner_core::{
    label::{CAPACITY_TYPE, ZONE},
    plan::PlannedClaim,
    requirement::Operator::In,
    settings::PlanSettings,
    snapshot::Snapshot,
    taint::Effect::PreferNoSchedule,
    testing::{fake_instance_types, pod, pool, selector, snapshot},
};

use crate::support::{plan, tell};

fn example() -> Snapshot {
    let gp = pool("gp")
        .weight(10)
        .require(CAPACITY_TYPE, In, ["on-demand"])
        .label("team", "a")
        .taint("dedicated", "x", PreferNoSchedule);
    let spread = |name: &str, created| {
        pod(name).cpu("1500m").mem("512Mi").created(created).label("app", "b").spread(
            ZONE,
            1,
            selector([("app", "b")]),
        )
    };
    snapshot()
        .pool(gp, fake_instance_types(5))
        .pool(pool("alt"), fake_instance_types(5))
        .daemon(pod("daemon").cpu("100m").mem("64Mi"))
        .pod(pod("a").cpu("2").mem("1Gi"))
        .pod(spread("b", 1))
        .pod(spread("c", 2))
        .pod(pod("d").cpu("200m").on_node_selector("team", "a"))
        .build()
}

#[test]
fn three_claims() {
    let snapshot = example();
    let planned = plan(&snapshot, &PlanSettings::default());
    expect![[r#"
        claim alt: a b | fake-it-3 +1 | zone=test-zone-1
        claim alt: c | fake-it-1 +3 | zone=test-zone-2
        claim gp: d | fake-it-0 +4 | capacity-type=on-demand team=a
    "#]]
    .assert_eq(&tell(&snapshot, &planned));
    let requests: Vec<String> =
        planned.plan.claims.iter().map(|claim| claim.requests.to_string()).collect();
    assert_eq!(
        requests,
        [
            "cpu 3600m, memory 1600Mi, pods 3",
            "cpu 1600m, memory 576Mi, pods 2",
            "cpu 300m, memory 64Mi, pods 2",
        ]
    );
}

#[test]
fn the_third_claim_in_full() {
    let plan = plan(&example(), &PlanSettings::default()).plan;
    let claim: &PlannedClaim = &plan.claims[2];
    let pairs = |map: &joiner_core::label::Labels| {
        map.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>()
    };
    assert_eq!(
        pairs(&claim.labels),
        ["karpenter.sh/nodepool=gp", "karpenter.test.sh/testnodeclass=default", "team=a"]
    );
    assert_eq!(
        pairs(&claim.annotations),
        [
            "karpenter.sh/nodeclaim-min-values-relaxed=false",
            "karpenter.sh/nodepool-hash=gp-hash",
            "karpenter.sh/nodepool-hash-version=v3",
        ]
    );
    let taints: Vec<String> = claim.taints.iter().map(ToString::to_string).collect();
    assert_eq!(taints, ["dedicated=x:PreferNoSchedule"]);
    let mut requirements: Vec<String> = claim
        .requirements
        .iter()
        .map(|spec| format!("{} {} {}", spec.key, spec.operator, spec.values.join(" ")))
        .collect();
    requirements.sort();
    assert_eq!(
        requirements,
        [
            "karpenter.sh/capacity-type In on-demand",
            "karpenter.sh/nodepool In gp",
            "karpenter.test.sh/testnodeclass In default",
            "node.kubernetes.io/instance-type In fake-it-0 fake-it-1 fake-it-2 fake-it-3 fake-it-4",
            "team In a",
        ]
    );
}
