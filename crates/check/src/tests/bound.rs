//! The lower bound: what it is in plain cases, and that it is never above a price that was reached.

use joiner_core::{
    label, plan::Plan, requirement::Operator, requirement::Requirements, snapshot::Snapshot,
    testing::*,
};
use proptest::prelude::*;

use super::scene::{self, Scene};
use crate::lower_bound;

/// One type: 4 CPUs, 8Gi and 10 pods for 1.
fn one_type() -> [TypeBuilder; 1] {
    [instance_type("only").cpu("4").mem("8Gi").pods(10).price(1.0)]
}

/// The bound for `count` pods, of which the plan makes one claim each.
fn bound_for(
    types: impl IntoIterator<Item = TypeBuilder>,
    pods: Vec<joiner_core::pod::Pod>,
) -> f64 {
    let scene = Scene::new(snapshot().pool(pool("general"), types).pods(pods));
    let plan = one_claim_each(&scene.snapshot);
    lower_bound(&scene.snapshot, &plan)
}

fn one_claim_each(snapshot: &Snapshot) -> Plan {
    let claims = snapshot
        .pods
        .iter()
        .map(|pod| scene::draft(snapshot, "general", &[pod.key()], &Requirements::new()));
    Plan { claims: claims.collect(), ..Plan::default() }
}

fn assert_about(bound: f64, expected: f64) {
    assert!((bound - expected).abs() < 1e-6, "{bound} is not {expected}");
}

#[test]
fn the_scarcest_resource_decides() {
    assert_about(bound_for(one_type(), pod("web").cpu("1").replicas(8)), 2.0);
    assert_about(bound_for(one_type(), pod("web").cpu("1").mem("4Gi").replicas(8)), 4.0);
    assert_about(bound_for(one_type(), pod("web").replicas(25)), 2.5);
}

#[test]
fn there_is_at_least_one_instance() {
    assert_about(bound_for(one_type(), pod("web").cpu("100m").replicas(1)), 1.0);
    assert_about(bound_for(one_type(), Vec::new()), 0.0);
}

#[test]
fn pods_that_must_be_apart_need_an_instance_each() {
    let like_web = || selector([("app", "web")]);
    let web = || pod("web").cpu("100m").label("app", "web");
    let apart = web().anti_affinity(label::HOSTNAME, like_web());
    assert_about(bound_for(one_type(), apart.replicas(7)), 7.0);
    assert_about(bound_for(one_type(), web().host_port(80).replicas(7)), 7.0);
    let two_each = web().spread(label::HOSTNAME, 2, like_web());
    assert_about(bound_for(one_type(), two_each.clone().replicas(7)), 3.5);
    // Hosts with some of them may let others have more, so only size counts.
    let hosts = snapshot().pool(pool("general"), one_type()).node(node("n1").pod(web()));
    let scene = Scene::new(hosts.pods(two_each.replicas(7)));
    assert_about(lower_bound(&scene.snapshot, &one_claim_each(&scene.snapshot)), 1.0);
}

#[test]
fn daemons_take_their_part_of_every_instance() {
    let all = snapshot().pool(pool("general"), one_type()).daemon(pod("logs").cpu("2"));
    let scene = Scene::new(all.pods(pod("web").cpu("1").replicas(8)));
    assert_about(lower_bound(&scene.snapshot, &one_claim_each(&scene.snapshot)), 4.0);
}

#[test]
fn pods_that_cannot_share_instances_are_counted_apart() {
    let types = [
        instance_type("amd").cpu("4").price(1.0),
        instance_type("arm").cpu("4").price(1.0).arch("arm64"),
    ];
    let on =
        |arch: &str| pod(arch).cpu("100m").require(label::ARCH, Operator::In, [arch]).replicas(1);
    let pods = [on("amd64"), on("arm64")].concat();
    assert_about(bound_for(types, pods), 2.0);
}

#[test]
fn only_offerings_that_a_pod_accepts_are_cheap() {
    let types = || {
        [instance_type("only").cpu("4").zones(["a"]).price(1.0).offering(offering(
            "b",
            label::CAPACITY_TYPE_ON_DEMAND,
            3.0,
        ))]
    };
    let in_zone = |zone: &str| pod("web").require(label::ZONE, Operator::In, [zone]).replicas(1);
    assert_about(bound_for(types(), in_zone("a")), 1.0);
    assert_about(bound_for(types(), in_zone("b")), 3.0);
    assert_about(bound_for(types(), pod("web").replicas(1)), 1.0);
}

#[test]
fn a_mixture_of_resources_is_better_than_each_alone() {
    // CPU-heavy and memory-heavy pods that fill instances together only by halves.
    let heavy = pod("heavy").cpu("4").mem("1Gi").replicas(4);
    let fat = pod("fat").cpu("500m").mem("8Gi").replicas(4);
    let bound = bound_for(one_type(), [heavy, fat].concat());
    // By CPU it is 4.5, by memory too; half of each charges every pod more than half an instance.
    assert!(bound > 4.49 && bound <= 8.0, "{bound}");
}

#[test]
fn pods_on_nodes_that_exist_cost_nothing() {
    let all = snapshot().pool(pool("general"), one_type()).node(node("n1"));
    let scene = Scene::new(all.pod(pod("web").cpu("1"))).node("n1", ["web"]);
    assert_about(lower_bound(&scene.snapshot, &scene.plan), 0.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is packed first-fit, its price is not below the bound, and the plan is clean.
    #[test]
    fn no_plan_is_cheaper(
        shapes in prop::collection::vec((1..9i64, 1..17i64, 1..5u32, 1..40u32), 1..5),
        sizes in prop::collection::vec((1..30i64, 1..30i64, 0..4usize), 1..25),
    ) {
        let types = shapes.iter().enumerate().map(|(i, (cpu, mem, pods, price))| {
            instance_type(&format!("type-{i}"))
                .cpu(&cpu.to_string())
                .mem(&format!("{mem}Gi"))
                .pods(*pods)
                .price(f64::from(*price) / 10.0)
        });
        let pods = sizes.iter().enumerate().map(|(i, (cpu, mem, trait_))| {
            let pod = pod(&format!("pod-{i}"))
                .cpu(&format!("{}m", cpu * 100))
                .mem(&format!("{}Mi", mem * 256))
                .label("app", "web");
            match trait_ {
                0 => pod.anti_affinity(label::HOSTNAME, selector([("app", "web")])),
                1 => pod.require(label::ZONE, Operator::In, ["a"]),
                _ => pod,
            }
        });
        let mut scene = Scene::new(snapshot().pool(pool("general"), types).pods(pods));
        first_fit(&mut scene);
        scene.assert_clean();
        let (price, bound) = (scene.plan.price(), lower_bound(&scene.snapshot, &scene.plan));
        prop_assert!(bound <= price, "{bound} is above {price}");
    }
}

/// Puts each pod on the first claim that stays clean with it.
fn first_fit(scene: &mut Scene) {
    let pods = std::mem::take(&mut scene.snapshot.pods);
    for pod in pods {
        scene.snapshot.pods.push(pod.clone());
        let key = pod.key();
        let mut candidates: Vec<Plan> = Vec::new();
        for number in 0..scene.plan.claims.len() {
            let mut plan = scene.plan.clone();
            let mut pods = plan.claims[number].pods.clone();
            pods.push(key.clone());
            plan.claims[number] =
                scene::draft(&scene.snapshot, "general", &pods, &Requirements::new());
            candidates.push(plan);
        }
        let mut alone = scene.plan.clone();
        let fresh = scene::draft(
            &scene.snapshot,
            "general",
            std::slice::from_ref(&key),
            &Requirements::new(),
        );
        alone.claims.push(fresh);
        candidates.push(alone);
        let clean = candidates.into_iter().find(|plan| {
            plan.claims.iter().all(|claim| !claim.instance_types.is_empty())
                && crate::check(&scene.snapshot, &scene.settings, plan).is_empty()
        });
        match clean {
            Some(plan) => scene.plan = plan,
            None => *scene = scene.clone().unschedulable(&pod.name),
        }
    }
}
