//! Random small clusters: whatever is in them, planning ends, the plan breaks no rule, every pod is in
//! it once, and the order of things in the snapshot does not matter ([`plan`] sees to all of that).

use std::fmt::{self, Debug, Formatter};

use joiner_core::{
    instance_type::InstanceType,
    label::{ARCH, CAPACITY_TYPE, HOSTNAME, INSTANCE_TYPE, ZONE},
    pod::{InclusionPolicy, Role, SpreadConstraint},
    requirement::Operator::{Exists, Gt, In, NotIn},
    settings::{MinValuesPolicy, PlanSettings, PreferencePolicy},
    snapshot::Snapshot,
    taint::Effect::{NoSchedule, PreferNoSchedule},
    testing::{
        NodeBuilder, PodBuilder, PoolBuilder, instance_type, node, pod, pool, selector, snapshot,
        spread_constraint,
    },
};
use joiner_plan::explain;
use proptest::{
    bool::weighted,
    collection::vec,
    prelude::*,
    sample::{select, subsequence},
};

use crate::support::plan;

const DRIVER: &str = "csi.example.com";

/// Types that differ in everything that types can differ in.
fn types() -> [InstanceType; 6] {
    [
        instance_type("small").cpu("2").mem("4Gi").pods(4).price(1.0).zones(["a", "b"]),
        instance_type("spot").cpu("2").mem("2Gi").price(0.5).capacity_types(["spot", "on-demand"]),
        instance_type("large").cpu("16").mem("64Gi").price(9.0).volume_limit(DRIVER, 2),
        instance_type("arm").arch("arm64").cpu("8").price(3.0).zones(["c"]),
        instance_type("held").cpu("4").mem("8Gi").price(2.0).reserved("a", "r", 1, 0.1),
        instance_type("sized").keeps("cpu", "100m").price(2.0).require("size", In, ["s"]),
    ]
    .map(Into::into)
}

/// A change to something under construction, and how it is written.
#[derive(Clone, Copy)]
struct Change<T>(&'static str, fn(T) -> T);

impl<T> Debug for Change<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// One of some changes, or none.
macro_rules! one_of {
    ($thing:ty: $($change:expr,)+) => {{
        let changes: Vec<Change<$thing>> = vec![$(Change(stringify!($change), $change)),+];
        prop_oneof![2 => Just(Change("none", |same| same)), 3 => select(changes)]
    }};
}

fn apply<T>(start: T, changes: &[Change<T>]) -> T {
    changes.iter().fold(start, |made, change| change.1(made))
}

/// What a cluster is made from. Unlike a snapshot, it is short enough to be read.
#[derive(Debug, Clone)]
struct Recipe {
    pools: Vec<(Vec<Change<PoolBuilder>>, Vec<usize>)>,
    nodes: Vec<NodeRecipe>,
    workloads: Vec<(Vec<Change<PodBuilder>>, usize)>,
    daemons: Vec<Vec<Change<PodBuilder>>>,
}

#[derive(Debug, Clone)]
struct NodeRecipe {
    changes: Vec<Change<NodeBuilder>>,
    pods: Vec<Vec<Change<PodBuilder>>>,
    in_flight: bool,
}

impl Recipe {
    fn make(&self) -> Snapshot {
        let types = types();
        let mut made = snapshot();
        for (n, (changes, of_types)) in self.pools.iter().enumerate() {
            let of_types = of_types.iter().map(|at| types[*at].clone());
            made = made.pool(apply(pool(&format!("pool-{n}")), changes), of_types);
        }
        for (n, recipe) in self.nodes.iter().enumerate() {
            made = made.node(recipe.make(n));
        }
        for (n, (changes, replicas)) in self.workloads.iter().enumerate() {
            made = made.pods(apply(pod(&format!("pod-{n}")), changes).replicas(*replicas));
        }
        for (n, changes) in self.daemons.iter().enumerate() {
            made = made.daemon(apply(pod(&format!("daemon-{n}")), changes));
        }
        made.build()
    }
}

impl NodeRecipe {
    fn make(&self, n: usize) -> NodeBuilder {
        let made = apply(node(&format!("node-{n}")), &self.changes);
        if self.in_flight {
            return made.pool("pool-0").in_flight();
        }
        let pods = self.pods.iter().enumerate();
        pods.map(|(at, changes)| apply(pod(&format!("on-{n}-{at}")), changes))
            .fold(made, NodeBuilder::pod)
    }
}

fn pools() -> impl Strategy<Value = Vec<(Vec<Change<PoolBuilder>>, Vec<usize>)>> {
    let change = one_of![PoolBuilder:
        |pool| pool.weight(1),
        |pool| pool.require(ZONE, In, ["a", "b"]),
        |pool| pool.require(ZONE, NotIn, ["a"]),
        |pool| pool.require("team", In, ["x", "y"]),
        |pool| pool.require("rank", Gt, ["1"]),
        |pool| pool.require(CAPACITY_TYPE, In, ["spot"]),
        |pool| pool.label("team", "x"),
        |pool| pool.taint("own", "", NoSchedule),
        |pool| pool.taint("shy", "", PreferNoSchedule),
        |pool| pool.limit("cpu", "8"),
        |pool| pool.limit("nodes", "2"),
        |pool| pool.min_values(INSTANCE_TYPE, Exists, [], 2),
        |pool| pool.min_values(ZONE, Exists, [], 3),
        PoolBuilder::fixed,
    ];
    vec((vec(change, 0..4), subsequence((0..6).collect::<Vec<_>>(), 0..=6)), 1..4)
}

fn shape() -> impl Strategy<Value = Change<PodBuilder>> {
    one_of![PodBuilder:
        |pod| pod.cpu("100m"),
        |pod| pod.cpu("1"),
        |pod| pod.cpu("3").mem("1Gi"),
        |pod| pod.mem("3Gi"),
        |pod| pod.label("app", "web"),
        |pod| pod.label("app", "db"),
        |pod| pod.label("app", "web").label("revision", "2"),
        |pod| pod.tolerate("own"),
        |pod| pod.host_port(80),
    ]
}

fn node_wishes() -> impl Strategy<Value = Change<PodBuilder>> {
    one_of![PodBuilder:
        |pod| pod.on_node_selector(ZONE, "a"),
        |pod| pod.on_node_selector("team", "x"),
        |pod| pod.on_node_selector(ARCH, "arm64"),
        |pod| pod.require(ZONE, NotIn, ["a"]),
        |pod| pod.require("team", NotIn, ["y"]),
        |pod| pod.require(ZONE, In, ["c"]).or_require(ZONE, In, ["b", "a"]),
        |pod| pod.prefer(1, ZONE, In, ["b"]),
        |pod| pod.prefer(2, "team", In, ["y"]),
        |pod| pod.volume_in(ZONE, ["a", "b"]).volume_in(ZONE, ["c"]),
        |pod| pod.volume(DRIVER, "shared"),
        |pod| pod.volume(DRIVER, "1").volume(DRIVER, "2").volume(DRIVER, "3"),
    ]
}

fn pod_wishes() -> impl Strategy<Value = Change<PodBuilder>> {
    one_of![PodBuilder:
        |pod| pod.spread(ZONE, 1, selector([("app", "web")])),
        |pod| pod.spread(HOSTNAME, 2, selector([("app", "web")])),
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
        |pod| pod.spread("team", 1, selector([("app", "web")])),
        |pod| pod.affinity(ZONE, selector([("app", "web")])),
        |pod| pod.affinity(HOSTNAME, selector([("app", "db")])),
        |pod| pod.anti_affinity(ZONE, selector([("app", "web")])),
        |pod| pod.anti_affinity(HOSTNAME, selector([("app", "db")])),
        |pod| pod.prefer_affinity(1, ZONE, selector([("app", "db")])),
        |pod| pod.prefer_anti_affinity(1, HOSTNAME, selector([("app", "web")])),
    ]
}

/// Spread over hosts, with everything that decides which of them count.
fn host_spreads() -> impl Strategy<Value = Change<PodBuilder>> {
    fn over_hosts(max_skew: i32) -> SpreadConstraint {
        spread_constraint(HOSTNAME, max_skew, selector([("app", "web")]))
    }
    one_of![PodBuilder:
        |pod| pod.spread_constraint(over_hosts(1)),
        |pod| pod.spread_constraint(over_hosts(2)),
        |pod| pod.spread_anyway(HOSTNAME, 1, selector([("app", "web")])),
        |pod| {
            pod.spread_constraint(SpreadConstraint { min_domains: Some(3), ..over_hosts(1) })
        },
        |pod| {
            pod.spread_constraint(SpreadConstraint {
                node_taints_policy: InclusionPolicy::Honor,
                ..over_hosts(1)
            })
        },
        |pod| {
            pod.spread_constraint(SpreadConstraint {
                node_affinity_policy: InclusionPolicy::Ignore,
                ..over_hosts(1)
            })
        },
    ]
}

fn workloads() -> impl Strategy<Value = Vec<(Vec<Change<PodBuilder>>, usize)>> {
    let role = one_of![PodBuilder:
        PodBuilder::buffer,
        |pod| pod.role(Role::Moving),
        |pod| pod.created(3),
        |pod| pod.created(7),
        |pod| pod.role(Role::Pending),
        PodBuilder::dra,
        |pod| pod.waits_for_volume("claim default/data is not there"),
    ];
    let changes =
        (vec(shape(), 1..3), vec(node_wishes(), 0..2), vec(pod_wishes(), 0..3), vec(role, 0..2))
            .prop_map(|(shape, node, pod, role)| [shape, node, pod, role].concat());
    vec((changes, 1..4_usize), 0..7)
}

fn node_changes() -> impl Strategy<Value = Vec<Change<NodeBuilder>>> {
    let change = one_of![NodeBuilder:
        |node| node.zone("b"),
        |node| node.zone("elsewhere"),
        |node| node.without_label(ZONE),
        |node| node.cpu("1"),
        |node| node.label("team", "y"),
        |node| node.pool("pool-0"),
        |node| node.pool("pool-0").uninitialized(),
        NodeBuilder::leaving,
        |node| node.taint("own", "", NoSchedule),
        |node| node.volume_limit(DRIVER, 1),
    ];
    vec(change, 0..4)
}

fn nodes() -> impl Strategy<Value = Vec<NodeRecipe>> {
    let pod = (vec(shape(), 1..3), vec(pod_wishes(), 0..2))
        .prop_map(|(shape, wishes)| [shape, wishes].concat());
    let recipe = (node_changes(), vec(pod, 0..3), weighted(0.2))
        .prop_map(|(changes, pods, in_flight)| NodeRecipe { changes, pods, in_flight });
    vec(recipe, 0..3)
}

/// Nodes on which pods of a workload run that is spread over hosts.
fn hosts() -> impl Strategy<Value = Vec<NodeRecipe>> {
    let web: Change<PodBuilder> = Change("web", |pod| pod.label("app", "web").cpu("100m"));
    let recipe = (node_changes(), vec(Just(vec![web]), 0..4), weighted(0.1))
        .prop_map(|(changes, pods, in_flight)| NodeRecipe { changes, pods, in_flight });
    vec(recipe, 1..6)
}

/// More of those pods, and some that get in their way.
fn growing_workloads() -> impl Strategy<Value = Vec<(Vec<Change<PodBuilder>>, usize)>> {
    let web: Just<Change<PodBuilder>> = Just(Change("web", |pod| pod.label("app", "web")));
    let wishes = (vec(node_wishes(), 0..2), vec(pod_wishes(), 0..2));
    let growing =
        (shape(), web, host_spreads(), wishes).prop_map(|(shape, web, spread, (node, pod))| {
            [vec![shape, web, spread], node, pod].concat()
        });
    let growing = vec((growing, 1..6_usize), 1..3);
    (growing, workloads()).prop_map(|(growing, others)| [growing, others].concat())
}

/// Clusters in which workloads grow that are spread over hosts.
fn growing() -> impl Strategy<Value = Recipe> {
    (pools(), hosts(), growing_workloads()).prop_map(|(pools, nodes, workloads)| Recipe {
        pools,
        nodes,
        workloads,
        daemons: Vec::new(),
    })
}

fn recipes() -> impl Strategy<Value = Recipe> {
    let daemon = (vec(shape(), 0..2), vec(node_wishes(), 0..2))
        .prop_map(|(shape, wishes)| [shape, wishes].concat());
    (pools(), nodes(), workloads(), vec(daemon, 0..3))
        .prop_map(|(pools, nodes, workloads, daemons)| Recipe { pools, nodes, workloads, daemons })
}

fn settings() -> impl Strategy<Value = PlanSettings> {
    let preferences = select(vec![PreferencePolicy::Respect, PreferencePolicy::Ignore]);
    let min_values = select(vec![MinValuesPolicy::Strict, MinValuesPolicy::BestEffort]);
    (preferences, min_values, any::<bool>(), select(vec![2, 600])).prop_map(
        |(preferences, min_values, reserved_fallback, instance_types_max)| PlanSettings {
            preferences,
            min_values,
            reserved_fallback,
            instance_types_max,
            ..PlanSettings::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn plans_break_no_rule(recipe in recipes(), settings in settings()) {
        check_plan(&recipe.make(), &settings)?;
    }

    #[test]
    fn plans_for_workloads_that_grow_break_no_rule(recipe in growing(), settings in settings()) {
        check_plan(&recipe.make(), &settings)?;
    }
}

fn check_plan(snapshot: &Snapshot, settings: &PlanSettings) -> Result<(), TestCaseError> {
    let planned = plan(snapshot, settings);
    for unplaced in &planned.plan.unschedulable {
        prop_assert!(!unplaced.reasons.is_empty(), "{} has no reason", unplaced.pod);
    }
    // At the end, a pod without a place must still be refused by every pool.
    if let Some(unplaced) = planned.plan.unschedulable.first() {
        let explained = explain::pod(snapshot, settings, &unplaced.pod);
        let verdicts = explained.map(|explained| explained.pools).unwrap_or_default();
        for verdict in verdicts {
            prop_assert!(verdict.refusal.is_some(), "{} takes {}", verdict.pool, unplaced.pod);
        }
    }
    Ok(())
}
