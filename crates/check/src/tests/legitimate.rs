//! What a planner may do, and what Karpenter does, without breaking a rule.

use std::sync::Arc;

use joiner_core::{
    label,
    pod::{InclusionPolicy, SpreadConstraint},
    requirement::{Operator, RequirementSpec},
    taint::Effect,
    testing::*,
};

use super::{
    rules::{cluster, one_pod, sizes, web, webs},
    scene::Scene,
};

fn like_web() -> joiner_core::selector::LabelSelector {
    selector([("app", "web")])
}

#[test]
fn preferences_may_be_dropped() {
    let pod = web()
        .prefer(10, label::ZONE, Operator::In, ["nowhere"])
        .prefer_anti_affinity(10, label::ZONE, like_web())
        .prefer_affinity(10, label::ZONE, selector([("app", "none")]))
        .spread_anyway(label::ZONE, 1, like_web());
    webs(cluster(), pod, 3).claim_in("a", "general", ["web-0", "web-1", "web-2"]).assert_clean();
}

#[test]
fn an_untolerated_prefer_no_schedule_is_a_preference_too() {
    let reluctant = pool("general").taint("spare", "", Effect::PreferNoSchedule);
    let node = node("n1").taint("spare", "", Effect::PreferNoSchedule);
    webs(snapshot().pool(reluctant, sizes()).node(node), web(), 2)
        .claim("general", ["web-0"])
        .node("n1", ["web-1"])
        .assert_clean();
}

#[test]
fn any_node_affinity_alternative_will_do() {
    let pod = web().require(label::ZONE, Operator::In, ["nowhere"]).or_require(
        label::ZONE,
        Operator::In,
        ["b"],
    );
    let mut scene = Scene::new(cluster().pod(pod.clone()));
    // The draft insists on the first alternative, so it is made for a pod without it.
    let second = web().require(label::ZONE, Operator::In, ["b"]).build();
    scene.snapshot.pods = vec![second];
    let mut scene = scene.claim("general", ["web"]);
    scene.snapshot.pods = vec![pod.build()];
    scene.assert_clean();
}

#[test]
fn one_pod_of_a_zonal_anti_affinity_need_not_be_pinned() {
    let apart = web().anti_affinity(label::ZONE, like_web());
    webs(cluster(), apart, 2).claim("general", ["web-0"]).unschedulable("web-1").assert_clean();
}

#[test]
fn anti_affinity_is_kept_by_disjoint_sets_of_zones() {
    let apart = web().anti_affinity(label::ZONE, like_web());
    webs(cluster(), apart, 2)
        .claim_in("a", "general", ["web-0"])
        .claim_with("general", ["web-1"], &[requirement(label::ZONE, Operator::In, ["b", "c"])])
        .assert_clean();
}

#[test]
fn pods_that_were_together_before_are_not_the_plans_fault() {
    let apart = || web().anti_affinity(label::HOSTNAME, like_web());
    let node = node("n1").pod(apart()).pod(pod("other").label("app", "web"));
    Scene::new(cluster().node(node).pod(pod("new"))).node("n1", ["new"]).assert_clean();
}

#[test]
fn terminating_pods_and_other_namespaces_are_nobody_to_be_away_from() {
    let apart = web().anti_affinity(label::HOSTNAME, like_web());
    let gone = pod("old").label("app", "web").terminating();
    let stranger = pod("stranger").namespace("other").label("app", "web");
    let node = node("n1").pod(gone).pod(stranger);
    Scene::new(cluster().node(node).pod(apart)).node("n1", ["web"]).assert_clean();
}

#[test]
fn the_first_pods_of_a_group_may_open_any_one_domain() {
    for key in [label::ZONE, label::HOSTNAME] {
        let together = web().affinity(key, like_web());
        webs(cluster(), together, 2).claim_in("b", "general", ["web-0", "web-1"]).assert_clean();
    }
}

#[test]
fn pods_that_accept_different_zones_each_have_a_first_one() {
    let at = |zone: &str, name: &str| {
        let together = pod(name).label("app", "web").affinity(label::ZONE, like_web());
        together.require(label::ZONE, Operator::In, [zone])
    };
    Scene::new(cluster().pod(at("a", "x")).pod(at("b", "y")))
        .claim("general", ["x"])
        .claim("general", ["y"])
        .assert_clean();
}

#[test]
fn affinity_to_pods_in_several_zones_leaves_these_zones_open() {
    let db = |name: &str, zone: &str| node(name).zone(zone).pod(pod(name).label("app", "db"));
    let near = web().affinity(label::ZONE, selector([("app", "db")]));
    Scene::new(cluster().node(db("n1", "a")).node(db("n2", "b")).pod(near))
        .claim_with("general", ["web"], &[requirement(label::ZONE, Operator::In, ["a", "b"])])
        .assert_clean();
}

#[test]
fn a_pod_may_follow_a_pod_of_the_same_plan() {
    let near = web().affinity(label::ZONE, selector([("app", "db")]));
    let db = pod("db").label("app", "db");
    Scene::new(cluster().pod(db).pod(near))
        .claim_in("c", "general", ["db"])
        .claim_in("c", "general", ["web"])
        .assert_clean();
}

#[test]
fn pods_that_are_counted_without_asking_for_spread_go_anywhere() {
    let even = web().spread(label::ZONE, 1, like_web());
    let careless = pod("careless").label("app", "web");
    Scene::new(cluster().pod(even).pods(careless.replicas(3)))
        .claim_in("a", "general", ["web", "careless-0", "careless-1", "careless-2"])
        .assert_clean();
}

#[test]
fn spread_is_as_even_as_the_zones_that_are_left_allow() {
    // One pod in a zone that the pool may not use; the other zones get two each, not three.
    let even = web().spread(label::ZONE, 1, like_web());
    let of_pool = pool("general").require(label::ZONE, Operator::In, ["a", "b"]);
    let scene =
        webs(snapshot().pool(of_pool, sizes()).node(node("n1").zone("c").pod(web())), even, 5)
            .claim_in("a", "general", ["web-0", "web-1"])
            .claim_in("b", "general", ["web-2", "web-3"]);
    let three = scene.clone().claim_in("a", "general", ["web-4"]);
    scene.unschedulable("web-4").assert_clean();
    assert_eq!(three.broken(), [crate::Rule::Spread].into());
}

#[test]
fn nodes_that_a_pod_cannot_use_do_not_count_for_its_spread() {
    let busy = || node("n1").zone("a").pod(web()).pod(pod("more").label("app", "web"));
    let tainted = busy().taint("dedicated", "", Effect::NoSchedule);
    let honor = SpreadConstraint {
        node_taints_policy: InclusionPolicy::Honor,
        ..spread_constraint(label::ZONE, 1, like_web())
    };
    let picky = web().spread_constraint(honor);
    Scene::new(cluster().node(tainted).pod(picky)).claim_in("a", "general", ["web"]).assert_clean();

    let other = busy().label("disk", "hdd");
    let of_pool = pool("general").label("disk", "ssd");
    let picky = web().on_node_selector("disk", "ssd").spread(label::ZONE, 1, like_web());
    Scene::new(snapshot().pool(of_pool, sizes()).node(other).pod(picky))
        .claim_in("a", "general", ["web"])
        .assert_clean();
}

#[test]
fn a_daemon_that_was_not_expected_may_stand_for_one_that_is() {
    // COMPAT: Karpenter counts the daemons of a node together, not each by itself.
    let stray = pod("stray").cpu("1").of_daemon("default/elsewhere");
    let node = node("n1").cpu("2").pod(stray);
    Scene::new(cluster().node(node).daemon(pod("logs").cpu("1")).pod(web()))
        .node("n1", ["web"])
        .assert_clean();
}

#[test]
fn daemons_with_several_alternatives_may_be_forgotten() {
    let either = pod("logs").cpu("10").require(label::ZONE, Operator::In, ["a"]).or_require(
        label::ZONE,
        Operator::In,
        ["nowhere"],
    );
    let mut scene = one_pod(web());
    scene.snapshot.daemons.push(either.daemon());
    scene.assert_clean();
}

#[test]
fn a_label_that_is_left_open_may_have_any_value() {
    let pod = web().require("team", Operator::Exists, []);
    let of_pool = pool("general").require("team", Operator::Exists, []);
    let mut scene =
        Scene::new(snapshot().pool(of_pool, sizes()).pod(pod)).claim("general", ["web"]);
    let labels = Arc::make_mut(&mut scene.claim_mut(0).labels);
    labels.insert("team".into(), "4711".into());
    scene.assert_clean();
}

#[test]
fn excluded_values_may_get_lost_beside_bounds() {
    // COMPAT: Karpenter writes down the bounds and forgets the exclusion.
    let pod = web().require("generation", Operator::Gt, ["2"]);
    let pod = pod.require("generation", Operator::NotIn, ["5"]);
    let of_pool = pool("general").require("generation", Operator::Exists, []);
    let mut scene =
        Scene::new(snapshot().pool(of_pool, sizes()).pod(pod)).claim("general", ["web"]);
    let claim = scene.claim_mut(0);
    let kept = |spec: &&RequirementSpec| spec.operator != Operator::NotIn;
    claim.requirements = claim.requirements.iter().filter(kept).cloned().collect();
    scene.assert_clean();
}

#[test]
fn a_claim_for_reserved_capacity_keeps_types_that_are_not_reserved() {
    let types = || {
        [
            instance_type("small").price(1.0),
            instance_type("reserved").price(2.0).reserved("a", "r1", 1, 0.1),
        ]
    };
    let mut scene = Scene::new(snapshot().pool(pool("general"), types()).pod(web()));
    scene = scene.claim_with(
        "general",
        ["web"],
        &[
            requirement(label::CAPACITY_TYPE, Operator::In, ["reserved"]),
            requirement(RESERVATION_ID, Operator::In, ["r1"]),
        ],
    );
    let claim = scene.claim_mut(0);
    claim.instance_types = ["reserved", "small"].map(str::to_owned).into();
    let both = requirement(label::INSTANCE_TYPE, Operator::In, ["reserved", "small"]);
    let others = claim.requirements.iter().filter(|spec| spec.key != label::INSTANCE_TYPE);
    claim.requirements = others.cloned().chain([both]).collect();
    scene.assert_clean();
}

#[test]
fn leaving_nodes_do_not_count_against_limits() {
    let of_pool = pool("general").limit("cpu", "8");
    let leaving = node("n1").pool("general").leaving();
    Scene::new(snapshot().pool(of_pool, sizes()).node(leaving).pod(web()))
        .claim("general", ["web"])
        .assert_clean();
}

#[test]
fn a_node_with_too_many_volumes_takes_pods_without() {
    let old = pod("old").volume("csi", "a").volume("csi", "b");
    let node = node("n1").volume_limit("csi", 1).pod(old);
    Scene::new(cluster().node(node).pod(web())).node("n1", ["web"]).assert_clean();
}

#[test]
fn an_instance_on_its_way_is_known_by_its_claim() {
    let instance = node("c1").pool("general").in_flight();
    let mut scene = Scene::new(cluster().node(instance).pod(web())).node("", ["web"]);
    scene.plan.existing[0].node_claim = "c1".to_owned();
    scene.assert_clean();
}
