//! The claim object: labels, annotations, requirements, types, requests, price.

use expect_test::{Expect, expect};
use joiner_core::{
    label::{ARCH, CAPACITY_TYPE, ZONE},
    plan::PlannedClaim,
    requirement::Operator::{DoesNotExist, Exists, Gte, In, Lt, Lte, NotIn},
    settings::PlanSettings,
    taint::Effect::{NoExecute, NoSchedule},
    testing::{
        PoolBuilder, SnapshotBuilder, fake_instance_types, instance_type, pod, pool, snapshot,
    },
};

use crate::support::{cluster_of, plan};

/// A claim in full.
fn told(claim: &PlannedClaim) -> String {
    let mut lines = vec![format!("types: {}", claim.instance_types.join(" "))];
    for spec in claim.requirements.iter() {
        let min_values = spec.min_values.map(|min| format!(" minValues {min}"));
        lines.push(format!(
            "requires {} {} {:?}{}",
            spec.key,
            spec.operator,
            spec.values,
            min_values.unwrap_or_default()
        ));
    }
    lines.push(format!("requests: {}", claim.requests));
    lines.extend(claim.labels.iter().map(|(key, value)| format!("label {key}: {value}")));
    lines.extend(claim.annotations.iter().map(|(key, value)| format!("annotation {key}: {value}")));
    lines.extend(claim.taints.iter().map(|taint| format!("taint {taint}")));
    lines.extend(claim.startup_taints.iter().map(|taint| format!("startup taint {taint}")));
    lines.push(format!("price: {:.4}", claim.price));
    lines.join("\n") + "\n"
}

fn only_claim(settings: &PlanSettings, snapshot: SnapshotBuilder) -> PlannedClaim {
    let mut claims = plan(&snapshot.build(), settings).plan.claims;
    assert_eq!(claims.len(), 1, "one claim");
    claims.remove(0)
}

fn check_claim(snapshot: SnapshotBuilder, expected: Expect) {
    expected.assert_eq(&told(&only_claim(&PlanSettings::default(), snapshot)));
}

/// The labels that a claim gets besides those of every claim.
fn custom_labels(pool: PoolBuilder) -> String {
    let claim = only_claim(&PlanSettings::default(), cluster_of(pool).pod(pod("a")));
    let own = claim.labels.iter().filter(|(key, _)| !key.contains("karpenter"));
    own.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_claim_carries_what_its_pool_says_and_what_its_pods_need() {
    let general = pool("general")
        .label("team", "a")
        .annotation("note", "kept")
        .taint("own", "yes", NoSchedule)
        .startup_taint("starting", "", NoExecute)
        .require(ARCH, In, ["amd64", "arm64"])
        .require("example.com/rack", In, ["r2", "r1"]);
    check_claim(
        snapshot()
            .pool(general, fake_instance_types(2))
            .pod(pod("a").cpu("500m").mem("64Mi").tolerate("own").on_node_selector(ARCH, "amd64"))
            .pod(pod("b").cpu("100m").tolerate("own").on_node_selector(ZONE, "test-zone-3")),
        expect![[r#"
            types: fake-it-0 fake-it-1
            requires example.com/rack In ["r1", "r2"]
            requires karpenter.sh/capacity-type In ["on-demand"]
            requires karpenter.sh/nodepool In ["general"]
            requires karpenter.test.sh/testnodeclass In ["default"]
            requires kubernetes.io/arch In ["amd64"]
            requires node.kubernetes.io/instance-type In ["fake-it-0", "fake-it-1"]
            requires team In ["a"]
            requires topology.kubernetes.io/zone In ["test-zone-3"]
            requests: cpu 600m, memory 64Mi, pods 2
            label example.com/rack: r1
            label karpenter.sh/nodepool: general
            label karpenter.test.sh/testnodeclass: default
            label team: a
            annotation karpenter.sh/nodeclaim-min-values-relaxed: false
            annotation karpenter.sh/nodepool-hash: general-hash
            annotation karpenter.sh/nodepool-hash-version: v3
            annotation note: kept
            taint own=yes:NoSchedule
            startup taint starting:NoExecute
            price: 0.3147
        "#]],
    );
}

#[test]
fn custom_labels_get_a_value_that_the_requirement_allows() {
    let pool = || pool("default");
    for (pool, expected) in [
        (pool().require("k", In, ["b", "a"]), expect!["k=a"]),
        (pool().require("k", Exists, []), expect!["k=0"]),
        (pool().require("k", NotIn, ["0", "1"]), expect!["k=2"]),
        (pool().require("k", Gte, ["5"]), expect!["k=5"]),
        (pool().require("k", Lte, ["5"]), expect!["k=0"]),
        (pool().require("k", Lt, ["5"]).require("k", NotIn, ["0"]), expect!["k=1"]),
        (pool().require("k", DoesNotExist, []), expect![""]),
    ] {
        expected.assert_eq(&custom_labels(pool));
    }
}

#[test]
fn labels_that_the_provider_fills_in_are_left_to_it() {
    expect![""].assert_eq(&custom_labels(
        pool("default").require(ZONE, In, ["test-zone-1"]).require("size", In, ["small"]),
    ));
}

#[test]
fn a_label_that_only_a_pod_excludes_gets_another_value() {
    let claim = only_claim(
        &PlanSettings::default(),
        snapshot()
            .pool(pool("default"), [instance_type("t")])
            .pod(pod("a").require("team", NotIn, ["0"]))
            .pod(pod("b").require("gone", DoesNotExist, [])),
    );
    expect![[r#"
        types: t
        requires gone DoesNotExist []
        requires karpenter.sh/capacity-type In ["on-demand"]
        requires karpenter.sh/nodepool In ["default"]
        requires karpenter.test.sh/testnodeclass In ["default"]
        requires node.kubernetes.io/instance-type In ["t"]
        requires team NotIn ["0"]
        requests: pods 2
        label karpenter.sh/nodepool: default
        label karpenter.test.sh/testnodeclass: default
        label team: 1
        annotation karpenter.sh/nodeclaim-min-values-relaxed: false
        annotation karpenter.sh/nodepool-hash: default-hash
        annotation karpenter.sh/nodepool-hash-version: v3
        price: 1.0000
    "#]]
    .assert_eq(&told(&claim));
}

#[test]
fn capacity_types_are_those_of_offerings_that_can_be_had() {
    let mut t = instance_type("t").zones(["a", "b"]).capacity_types(["on-demand", "spot"]).build();
    // Spot is gone in zone a.
    for offering in &mut t.offerings {
        let single = |key| offering.requirements.get(key).and_then(|own| own.single());
        offering.available = (single(ZONE), single(CAPACITY_TYPE)) != (Some("a"), Some("spot"));
    }
    let capacity_types = |zone: &str| {
        let claim = only_claim(
            &PlanSettings::default(),
            snapshot()
                .pool(pool("default"), [t.clone()])
                .pod(pod("a").on_node_selector(ZONE, zone)),
        );
        let own = claim.requirements.iter().find(|spec| spec.key == CAPACITY_TYPE).cloned();
        own.map(|own| own.values.join(" ")).unwrap_or_default()
    };
    assert_eq!(capacity_types("a"), "on-demand");
    assert_eq!(capacity_types("b"), "on-demand spot");
}

#[test]
fn a_claim_lists_only_so_many_types_the_cheapest_ones() {
    let types = [
        instance_type("d").price(1.0),
        instance_type("c").price(1.0),
        instance_type("b").price(0.5),
        instance_type("a").price(2.0),
        instance_type("too-small").cpu("1").price(0.1),
    ];
    let settings = PlanSettings { instance_types_max: 2, ..PlanSettings::default() };
    let claim =
        only_claim(&settings, snapshot().pool(pool("default"), types).pod(pod("p").cpu("2")));
    expect!["b c"].assert_eq(&claim.instance_types.join(" "));
    let own = claim.requirements.iter().find(|spec| spec.key.ends_with("instance-type"));
    expect!["b c"].assert_eq(&own.map(|own| own.values.join(" ")).unwrap_or_default());
    expect!["0.5"].assert_eq(&claim.price.to_string());
}

#[test]
fn six_hundred_types_are_listed_at_most() {
    let types = (0..650).map(|n| instance_type(&format!("t{n:03}")).price(f64::from(n)));
    let claim =
        only_claim(&PlanSettings::default(), snapshot().pool(pool("default"), types).pod(pod("p")));
    assert_eq!(claim.instance_types.len(), 600);
    assert_eq!(claim.instance_types.last().map(String::as_str), Some("t599"));
}

#[test]
fn prices_are_those_of_where_the_claim_may_be() {
    let t = || {
        let dear = joiner_core::testing::offering("b", "on-demand", 7.0);
        [instance_type("t").zones(["a"]).price(1.0).offering(dear)]
    };
    let price = |zone: &str| {
        let pods = pod("p").require(ZONE, In, [zone]);
        only_claim(&PlanSettings::default(), snapshot().pool(pool("x"), t()).pod(pods)).price
    };
    assert_eq!(price("a").to_string(), "1");
    assert_eq!(price("b").to_string(), "7");
}

#[test]
fn overlays_leave_a_mark_on_claims_that_could_use_what_they_changed() {
    let mut priced = instance_type("priced").build();
    priced.price_overlaid = true;
    let mut sized = instance_type("sized").cpu("8").build();
    sized.capacity_overlaid = true;
    let annotations = |cpu: &str| {
        let types = [priced.clone(), sized.clone()];
        let claim = only_claim(
            &PlanSettings::default(),
            snapshot().pool(pool("x"), types).pod(pod("p").cpu(cpu)),
        );
        let marks = claim.annotations.iter().filter(|(key, _)| key.contains("overlay"));
        marks.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
    };
    expect!["karpenter.sh/capacity-overlay-applied=true karpenter.sh/price-overlay-applied=true"]
        .assert_eq(&annotations("1"));
    expect!["karpenter.sh/capacity-overlay-applied=true"].assert_eq(&annotations("6"));
}

#[test]
fn claims_come_in_the_order_they_were_opened() {
    let plan = plan(
        &snapshot()
            .pool(pool("default"), [instance_type("t").cpu("4")])
            .pod(pod("b").cpu("3"))
            .pod(pod("a").cpu("2"))
            .pod(pod("c").cpu("4"))
            .build(),
        &PlanSettings::default(),
    )
    .plan;
    let pods: Vec<String> = plan.claims.iter().map(|claim| claim.pods.join(" ")).collect();
    assert_eq!(pods, ["default/c", "default/b", "default/a"]);
    assert_eq!(plan.price().to_string(), "3");
    assert_eq!(plan.placed(), 3);
}
