//! Random small clusters, with everything in them that has a say in where pods go.

use jiff::{SignedDuration, Timestamp};
use joiner_core::{
    disruption::{ClaimFacts, Fleet, Instance, PodFacts, PoolRules},
    instance_type::InstanceType,
    label::{ARCH, CAPACITY_TYPE, HOSTNAME, INSTANCE_TYPE, ZONE},
    pod::{InclusionPolicy, Role, SpreadConstraint},
    requirement::Operator::{Exists, In, NotIn},
    settings::{MinValuesPolicy, PlanSettings, PreferencePolicy},
    snapshot::{Node, Snapshot},
    taint::Effect::{NoSchedule, PreferNoSchedule},
    testing::{
        NodeBuilder, PodBuilder, PoolBuilder, instance_type, node, pod, pool, rng::Rng, selector,
        snapshot, spread_constraint,
    },
};

use super::Question;

const DRIVER: &str = "csi.example.com";

type Change<T> = fn(T) -> T;

/// Types that differ in everything that types can differ in.
fn types() -> [InstanceType; 6] {
    [
        instance_type("small").cpu("2").mem("4Gi").pods(4).price(1.0).zones(["a", "b"]),
        instance_type("spot").cpu("2").mem("2Gi").price(0.5).capacity_types(["spot", "on-demand"]),
        instance_type("large").cpu("16").mem("64Gi").price(9.0).volume_limit(DRIVER, 2),
        instance_type("arm").arch("arm64").cpu("8").price(3.0).zones(["c"]),
        instance_type("held").cpu("4").mem("8Gi").price(2.0).reserved("a", "r", 1, 0.1),
        instance_type("middle").cpu("6").mem("8Gi").keeps("cpu", "100m").price(2.5),
    ]
    .map(joiner_core::testing::TypeBuilder::build)
}

const POOL: [Change<PoolBuilder>; 10] = [
    |pool| pool.weight(1),
    |pool| pool.require(ZONE, In, ["a", "b"]),
    |pool| pool.require(CAPACITY_TYPE, In, ["spot"]),
    |pool| pool.label("team", "x"),
    |pool| pool.taint("own", "", NoSchedule),
    |pool| pool.taint("shy", "", PreferNoSchedule),
    |pool| pool.limit("cpu", "24").limit("nodes", "6"),
    |pool| pool.limit("cpu", "10"),
    |pool| pool.min_values(INSTANCE_TYPE, Exists, [], 2),
    PoolBuilder::fixed,
];

const SHAPE: [Change<PodBuilder>; 8] = [
    |pod| pod.cpu("100m"),
    |pod| pod.cpu("1"),
    |pod| pod.cpu("1500m").mem("1Gi"),
    |pod| pod.mem("2Gi"),
    |pod| pod.cpu("500m").label("app", "web"),
    |pod| pod.label("app", "db"),
    |pod| pod.label("app", "web").label("revision", "2"),
    |pod| pod.tolerate("own"),
];

const WISH: [Change<PodBuilder>; 22] = [
    |pod| pod.host_port(80),
    |pod| pod.on_node_selector(ZONE, "a"),
    |pod| pod.on_node_selector("team", "x"),
    |pod| pod.on_node_selector(ARCH, "arm64"),
    |pod| pod.require(ZONE, NotIn, ["a"]),
    |pod| pod.require(ZONE, In, ["c"]).or_require(ZONE, In, ["b", "a"]),
    |pod| pod.prefer(1, ZONE, In, ["b"]),
    |pod| pod.prefer(2, "team", In, ["y"]),
    |pod| pod.volume_in(ZONE, ["a", "b"]).volume_in(ZONE, ["c"]),
    |pod| pod.volume(DRIVER, "shared"),
    |pod| pod.volume(DRIVER, "1").volume(DRIVER, "2"),
    |pod| pod.spread(ZONE, 1, selector([("app", "web")])),
    |pod| pod.spread(HOSTNAME, 1, selector([("app", "web")])),
    |pod| pod.spread_anyway(ZONE, 1, selector([("app", "db")])),
    |pod| {
        pod.spread_constraint(SpreadConstraint {
            min_domains: Some(3),
            match_label_keys: vec!["revision".to_owned()],
            node_taints_policy: InclusionPolicy::Honor,
            ..spread_constraint(ZONE, 1, selector([("app", "web")]))
        })
    },
    |pod| pod.affinity(ZONE, selector([("app", "web")])),
    |pod| pod.affinity(HOSTNAME, selector([("app", "db")])),
    |pod| pod.anti_affinity(ZONE, selector([("app", "web")])),
    |pod| pod.anti_affinity(HOSTNAME, selector([("app", "db")])),
    |pod| pod.anti_affinity(HOSTNAME, selector([("app", "web")])).label("app", "web"),
    |pod| pod.prefer_affinity(1, ZONE, selector([("app", "db")])),
    |pod| pod.prefer_anti_affinity(1, HOSTNAME, selector([("app", "web")])),
];

const NODE: [Change<NodeBuilder>; 11] = [
    |node| node.zone("b"),
    |node| node.zone("c"),
    |node| node.zone("far"),
    |node| node.cpu("2"),
    |node| node.cpu("12").mem("16Gi"),
    |node| node.label("team", "y"),
    |node| node.label("team", "x"),
    NodeBuilder::uninitialized,
    NodeBuilder::leaving,
    |node| node.taint("own", "", NoSchedule),
    |node| node.volume_limit(DRIVER, 2),
];

fn apply<T>(start: T, changes: &[Change<T>], count: usize, rng: &mut Rng) -> T {
    (0..count).fold(start, |made, _| rng.pick(changes)(made))
}

fn some_pod(name: &str, rng: &mut Rng) -> PodBuilder {
    let shaped = apply(pod(name), &SHAPE, rng.between(1, 2), rng);
    let wishes = [0, 0, 1, 1, 2];
    let count = *rng.pick(&wishes);
    apply(shaped, &WISH, count, rng)
}

/// The cluster of a seed. `waiting` says whether pods wait in it.
pub(super) fn cluster(seed: u64, waiting: bool) -> (Snapshot, Fleet) {
    let rng = &mut Rng::new(seed);
    let mut made = snapshot();
    let pools = rng.between(1, 3);
    for n in 0..pools {
        let count = rng.between(0, 3);
        let changed = apply(pool(&format!("pool-{n}")), &POOL, count, rng);
        let count = rng.between(1, 6);
        made = made.pool(changed, rng.pick_some(&types(), count));
    }
    for n in 0..rng.below(3) {
        let daemon = apply(pod(&format!("daemon-{n}")), &SHAPE, 1, rng);
        made = made.daemon(daemon);
    }
    for n in 0..rng.between(2, 9) {
        let count = rng.below(4);
        let mut changed = apply(node(&format!("node-{n}")), &NODE, count, rng);
        if rng.chance(85) {
            changed = changed.pool(&format!("pool-{}", rng.below(pools)));
        }
        if rng.chance(7) {
            made = made.node(changed.in_flight());
            continue;
        }
        for at in 0..rng.below(5) {
            let mut there = some_pod(&format!("on-{n}-{at}"), rng);
            if rng.chance(10) {
                there = there.terminating();
            }
            changed = changed.pod(there);
        }
        made = made.node(changed);
    }
    if waiting {
        let roles: [Change<PodBuilder>; 3] =
            [|pod| pod, |pod| pod.role(Role::Moving), PodBuilder::buffer];
        for n in 0..rng.between(1, 4) {
            let workload = some_pod(&format!("waits-{n}"), rng);
            let replicas = rng.between(1, 3);
            made = made.pods(rng.pick(&roles)(workload).replicas(replicas));
        }
    }
    let snapshot = made.build();
    let fleet = some_fleet(&snapshot, rng);
    (snapshot, fleet)
}

fn some_fleet(snapshot: &Snapshot, rng: &mut Rng) -> Fleet {
    let now = Timestamp::from_second(1_000).unwrap();
    let mut facts = |node: &Node| Instance {
        claim: node.claim.as_ref().map(|_| ClaimFacts {
            quiet_since: rng
                .chance(90)
                .then(|| now - SignedDuration::from_secs(rng.below(60) as i64)),
            ..ClaimFacts::default()
        }),
        pods: node
            .pods
            .iter()
            // Pods that keep others away all over a zone are movable here: a group without any pod left that declares
            // it still asks nodes for the label, which a cluster made anew would not know of.
            .map(|pod| PodFacts {
                movable: !pod.spec.anti_affinity.is_empty() || rng.chance(85),
                ..PodFacts::default()
            })
            .collect(),
        ..Instance::default()
    };
    let instances = snapshot.nodes.iter().map(&mut facts).collect();
    let after = [None, Some(SignedDuration::ZERO), Some(SignedDuration::from_secs(30))];
    let mut pools = std::collections::BTreeMap::new();
    for pool in &snapshot.pools {
        let rules = PoolRules { consolidate_after: *rng.pick(&after), ..PoolRules::default() };
        pools.insert(pool.name.clone(), rules);
    }
    Fleet { instances, pools, now, ..Fleet::default() }
}

pub(super) fn settings(seed: u64) -> PlanSettings {
    let rng = &mut Rng::child(seed, 1);
    PlanSettings {
        preferences: *rng.pick(&[PreferencePolicy::Respect, PreferencePolicy::Ignore]),
        min_values: *rng.pick(&[MinValuesPolicy::Strict, MinValuesPolicy::BestEffort]),
        ..PlanSettings::default()
    }
}

/// Some instances and what to ask about them.
pub(super) fn question(snapshot: &Snapshot, rng: &mut Rng) -> (Vec<usize>, Question) {
    let all: Vec<usize> = (0..snapshot.nodes.len()).collect();
    let count = *rng.pick(&[1, 1, 2, 3]);
    let question = Question { respect_quiet: rng.chance(50), claims_max: None };
    (rng.pick_some(&all, count), question)
}
