//! What one pod's lists cost a pass. Work is counted, in entries looked at, so that every instance gives the same answer.

use std::time::Instant;

use joiner_core::{
    label::{HOSTNAME, ZONE},
    plan::Unplaced,
    pod::AffinityTerm,
    reason::ReasonId,
    requirement::Operator::{Exists, In, NotIn},
    selector::{LabelSelector, SelectorTerm},
    settings::PlanSettings,
    snapshot::Snapshot,
    taint::Effect,
    testing::{
        PodBuilder, SnapshotBuilder, affinity_term, node, pod, pool, selector, spread_constraint,
    },
};
use joiner_plan::{Planned, explain, provision};

use crate::support::{cluster, cluster_of};

/// Twice the list may be this many times the work: twice, and a little for lists that are searched by halving.
const GROWTH_MAX: f64 = 2.5;

/// What one pod may add to a pass. A unit is 5 to 20 ns, so that this is at most 200 ms.
const ONE_POD_MAX: u64 = 10_000_000;

/// Where two lists multiply, less than this is not worth bounding more closely.
const SMALL: u64 = ONE_POD_MAX / 10;

/// So many entries of the shortest kind, of some 50 bytes, fill an object of 1.5 MB.
const ENTRIES_MAX: usize = 1 << 15;

/// A pod with a list of a length.
type Listed = fn(PodBuilder, usize) -> PodBuilder;

/// Selects the pods that run, in a way of its own.
fn running(number: usize) -> LabelSelector {
    selector([("app", "web")]).and(SelectorTerm::DoesNotExist(format!("none-{number}")))
}

/// Selects them by nothing that an index could hold.
fn vaguely(number: usize) -> LabelSelector {
    LabelSelector::new([SelectorTerm::DoesNotExist(format!("none-{number}"))])
}

fn key(number: usize) -> String {
    format!("example.com/key-{number}")
}

fn in_any_namespace(number: usize) -> AffinityTerm {
    AffinityTerm {
        namespace_selector: Some(vaguely(number)),
        ..affinity_term(ZONE, running(number))
    }
}

fn each(
    pod: PodBuilder,
    count: usize,
    add: impl Fn(PodBuilder, usize) -> PodBuilder,
) -> PodBuilder {
    (0..count).fold(pod, add)
}

/// Every list that a tenant may make as long as an object can be.
const LISTS: [(&str, Listed); 25] = [
    ("labels", |pod, n| each(pod, n, |pod, i| pod.label(&key(i), "x"))),
    ("resources nothing has", |pod, n| each(pod, n, |pod, i| pod.request(&key(i), "1"))),
    ("node selector", |pod, n| each(pod, n, |pod, i| pod.on_node_selector(&key(i), "x"))),
    ("values of a required term", |pod, n| {
        each(pod.require(ZONE, In, ["test-zone-1"]), n, |pod, i| pod.require(&key(i), NotIn, ["x"]))
    }),
    ("required terms", |pod, n| {
        each(pod, n, |pod, i| pod.or_require(&key(i), In, ["x"])).or_require(ZONE, Exists, [])
    }),
    ("required terms and a node selector", |pod, n| {
        let pod = each(pod, n / 2, |pod, i| pod.on_node_selector(&key(i), "x"));
        each(pod, n / 2, |pod, _| pod.or_require(ZONE, In, ["nowhere"]))
    }),
    ("expressions about one label", |pod, n| {
        each(pod, n, |pod, i| pod.require(ZONE, NotIn, [&*format!("zone-{i}")]))
    }),
    ("preferred terms", |pod, n| {
        each(pod, n, |pod, i| pod.prefer(1, ZONE, In, [&*format!("zone-{i}")]))
    }),
    ("affinity to pods that run", |pod, n| each(pod, n, |pod, i| pod.affinity(ZONE, running(i)))),
    ("anti-affinity by host", |pod, n| {
        each(pod, n, |pod, i| pod.anti_affinity(HOSTNAME, running(i)))
    }),
    ("anti-affinity by zone", |pod, n| each(pod, n, |pod, i| pod.anti_affinity(ZONE, running(i)))),
    ("anti-affinity by a key of its own", |pod, n| {
        each(pod, n, |pod, i| pod.anti_affinity(&key(i), running(0)))
    }),
    ("preferred affinity that is met", |pod, n| {
        each(pod, n, |pod, i| pod.prefer_affinity(1, ZONE, running(i)))
    }),
    ("preferred affinity that is not met", |pod, n| {
        each(pod, n, |pod, i| pod.prefer_affinity(1, ZONE, selector([("app", &*key(i))])))
    }),
    ("preferred anti-affinity by host", |pod, n| {
        each(pod, n, |pod, i| pod.prefer_anti_affinity(1, HOSTNAME, running(i)))
    }),
    ("preferred anti-affinity by zone", |pod, n| {
        each(pod, n, |pod, i| pod.prefer_anti_affinity(1, ZONE, running(i)))
    }),
    ("vague preferences", |pod, n| {
        each(pod, n, |pod, i| pod.prefer_anti_affinity(1, ZONE, vaguely(i)))
    }),
    ("preferences and a size that no instance has", |pod, n| {
        each(pod.cpu("1000"), n, |pod, i| pod.prefer_anti_affinity(1, ZONE, running(i)))
    }),
    ("namespaces matched by selectors", |pod, n| {
        each(pod, n, |pod, i| pod.anti_affinity_term(in_any_namespace(i)))
    }),
    ("spread", |pod, n| each(pod, n, |pod, i| pod.spread(ZONE, 1_000, running(i)))),
    ("soft spread", |pod, n| each(pod, n, |pod, i| pod.spread_anyway(ZONE, 0, running(i)))),
    ("keys of a spread", |pod, n| {
        let mut constraint = spread_constraint(ZONE, 1_000, running(0));
        constraint.match_label_keys = (0..n).map(key).collect();
        each(pod.spread_constraint(constraint), n, |pod, i| pod.label(&key(i), "x"))
    }),
    ("tolerations", |pod, n| each(pod, n, |pod, i| pod.tolerate(&key(i)))),
    ("host ports", |pod, n| each(pod, n, |pod, i| pod.host_port(i as i32))),
    ("volumes", |pod, n| each(pod, n, |pod, i| pod.volume("csi", &key(i)))),
];

/// Some nodes in every zone with pods that the lists are about, and an ordinary pod that waits.
fn world() -> SnapshotBuilder {
    let nodes = (0..10).map(|at| {
        let zone = format!("test-zone-{}", at % 3 + 1);
        let web = (0..3).map(|i| {
            pod(&format!("web-{at}-{i}")).label("app", "web").host_port(40_000 + i).cpu("100m")
        });
        let node = node(&format!("node-{at}")).zone(&zone).cpu("4").mem("8Gi");
        web.fold(node.label("rack", &format!("rack-{at}")), joiner_core::testing::NodeBuilder::pod)
    });
    let world = (0..20).fold(
        cluster_of(pool("default").taint("soft", "", Effect::PreferNoSchedule)),
        |world, at| world.namespace(&format!("team-{at}"), [("team", "x")]),
    );
    nodes.fold(world, SnapshotBuilder::node).pod(pod("ordinary").cpu("1"))
}

fn planned(snapshot: &Snapshot) -> Planned {
    provision(snapshot, &PlanSettings::default())
}

fn is_left_out(unplaced: &Unplaced) -> bool {
    unplaced.reasons.iter().any(|reason| reason.id == ReasonId::WaitingWork)
}

fn has_place(planned: &Planned, pod: &str) -> bool {
    let plan = &planned.plan;
    let claims = plan.claims.iter().flat_map(|claim| &claim.pods);
    claims.chain(plan.existing.iter().flat_map(|existing| &existing.pods)).any(|each| each == pod)
}

#[test]
fn every_list_costs_about_as_much_as_it_is_long_or_is_left_out() {
    let mut superlinear = Vec::new();
    for (name, listed) in LISTS {
        let mut before: Option<u64> = None;
        let mut length = 256;
        while length <= ENTRIES_MAX {
            let snapshot = world().pod(listed(pod("long"), length)).build();
            let started = Instant::now();
            let planned = planned(&snapshot);
            let took = started.elapsed();
            assert!(has_place(&planned, "default/ordinary"), "{name}: {length}");
            let work = planned.report.work;
            if std::env::var_os("JOINER_WORK").is_some() {
                eprintln!("{name} {length}: {work} {took:?} {:?}", planned.plan.deferred.len());
            }
            if planned.plan.deferred.iter().any(is_left_out) {
                break;
            }
            let grown = work as f64 / before.unwrap_or(work).max(1) as f64;
            if (grown > GROWTH_MAX && work > SMALL) || work > ONE_POD_MAX {
                superlinear
                    .push(format!("{name}: {length} entries, {work} units, {grown:.1} times"));
            }
            before = Some(work);
            length *= 2;
        }
    }
    assert!(superlinear.is_empty(), "{}", superlinear.join("\n"));
}

/// A pod as it was written to bring a controller down: each term makes a variant, and each variant had a list of all.
fn hostile(name: &str, terms: usize) -> PodBuilder {
    each(pod(name), terms, |pod, i| pod.prefer_anti_affinity(1, ZONE, running(i)))
}

#[test]
fn a_hundred_pods_with_long_lists_keep_no_ordinary_pod_waiting() {
    let hostile = (0..100).map(|at| hostile(&format!("hostile-{at:02}"), 10_000));
    let snapshot = hostile.fold(world(), SnapshotBuilder::pod).build();
    let planned = planned(&snapshot);
    assert!(has_place(&planned, "default/ordinary"));
    let left_out = planned.plan.deferred.iter().filter(|unplaced| is_left_out(unplaced)).count();
    assert!((90..100).contains(&left_out), "{left_out} are left out");
    assert!(planned.report.work < 2 * ONE_POD_MAX, "{} units", planned.report.work);
}

#[test]
fn the_cheapest_are_served_first_and_equals_by_age() {
    let snapshot = world()
        .pod(hostile("a-long", 9_000))
        .pod(hostile("b-longest", 30_000))
        .pod(hostile("c-short", 1_000))
        .pods((0..3).map(|at| hostile(&format!("d-{at}"), 8_000).created(10 - at)))
        .build();
    let planned = planned(&snapshot);
    let left_out: Vec<&str> =
        planned.plan.deferred.iter().map(|unplaced| unplaced.pod.as_str()).collect();
    assert_eq!(left_out, ["default/a-long", "default/b-longest"]);
    let why = &planned.plan.deferred[1].reasons[0];
    assert_eq!(why.id, ReasonId::WaitingWork);
    assert!(why.message.ends_with("it is never looked at as it is"), "{}", why.message);
    let why = &planned.plan.deferred[0].reasons[0];
    assert!(why.message.ends_with("it is tried again in the next pass"), "{}", why.message);
}

#[test]
fn a_pod_that_is_left_out_is_explained_without_looking_for_a_place() {
    let snapshot = world().pod(hostile("long", 40_000)).build();
    let explained = explain::pod(&snapshot, &PlanSettings::default(), "default/long");
    let explained = explained.expect("the snapshot has the pod");
    assert!(matches!(&explained.fate, explain::Fate::Deferred(why) if is_left_out(why)));
    assert!(explained.pools.is_empty());
}

#[test]
fn an_ordinary_pod_is_served_however_large_the_cluster_is() {
    let web = (0..3_000).map(|at| pod(&format!("web-{at:04}")).label("app", "web").cpu("1m"));
    let full = web.fold(node("full").zone("test-zone-1"), joiner_core::testing::NodeBuilder::pod);
    let snapshot = cluster().node(full).pod(hostile("long-enough", 60)).build();
    assert!(has_place(&planned(&snapshot), "default/long-enough"));
}

#[test]
fn pods_that_run_cost_nothing_for_what_they_keep_away_if_no_pod_is_meant() {
    let run = |terms: usize| {
        let guard = each(pod("guard"), terms, |pod, i| {
            pod.anti_affinity(ZONE, selector([("app", &*key(i))]))
        });
        let guarded = cluster().node(node("guarded").zone("test-zone-1").pod(guard));
        planned(&guarded.pod(pod("ordinary")).build()).report.work
    };
    assert_eq!(run(10_000), run(0));
}

#[test]
fn of_many_preferences_no_more_are_given_up_than_have_to_be() {
    let there = |at: usize| {
        let app = ["", "a", "b", "c"][at];
        let web = pod(app).label("app", app).cpu("100m");
        node(&format!("node-{at}")).zone(&format!("test-zone-{at}")).cpu("4").pod(web)
    };
    // One of each zone, the heaviest to be given up first.
    let goes_to = |heavy: &str, middle: &str, light: &str| {
        let one = pod("long").cpu("1");
        let all = [(heavy, 40), (middle, 30), (light, 50)].into_iter().enumerate();
        let long = all.fold(one, |pod, (at, (app, terms))| {
            each(pod, terms, |pod, i| {
                let odd = SelectorTerm::DoesNotExist(format!("none-{i}"));
                pod.prefer_anti_affinity(90 - at as i32, ZONE, selector([("app", app)]).and(odd))
            })
        });
        let snapshot = (1..4).map(there).fold(cluster(), SnapshotBuilder::node).pod(long).build();
        planned(&snapshot).plan.existing[0].node.clone()
    };
    assert_eq!(goes_to("a", "b", "c"), "node-1");
    assert_eq!(goes_to("c", "a", "b"), "node-3");
    assert_eq!(goes_to("b", "c", "a"), "node-2");
}
