//! What questions about removals are answered with.

mod random;
mod reference;

use jiff::{SignedDuration, Timestamp};
use joiner_core::{
    disruption::{ClaimFacts, Fleet, Instance, PodFacts, PoolRules},
    label::{HOSTNAME, INSTANCE_TYPE, ZONE},
    pod::Role,
    reason::ReasonId,
    requirement::Operator::Exists,
    settings::{MinValuesPolicy, PlanSettings},
    snapshot::Snapshot,
    testing::{
        NodeBuilder, PodBuilder, SnapshotBuilder, instance_type, node, pod, pool, selector,
        snapshot,
    },
};

use super::{Outcome, Question, Simulator};

const CONSOLIDATION: Question = Question { respect_quiet: true, claims_max: None };
const DRIFT: Question = Question { respect_quiet: false, claims_max: None };

/// One pool, with instances of 4 CPUs for 1.0 an hour and of 16 for 3.0.
fn cluster() -> SnapshotBuilder {
    snapshot().pool(
        pool("general"),
        [
            instance_type("small").cpu("4").mem("8Gi").price(1.0),
            instance_type("large").cpu("16").mem("32Gi").price(3.0),
        ],
    )
}

/// An instance of 4 CPUs of the pool.
fn instance(name: &str) -> NodeBuilder {
    node(name).pool("general")
}

fn web(name: &str) -> PodBuilder {
    pod(name).cpu("1").label("app", "web")
}

/// Facts that say nothing special: every pod can be moved, every instance has been quiet for ever.
fn fleet(snapshot: &Snapshot) -> Fleet {
    let instances = snapshot.nodes.iter().map(|node| Instance {
        claim: node.claim.as_ref().map(|_| ClaimFacts {
            quiet_since: Some(Timestamp::UNIX_EPOCH),
            ..ClaimFacts::default()
        }),
        ready: true,
        pods: vec![PodFacts::default(); node.pods.len()],
        ..Instance::default()
    });
    let rules = PoolRules {
        consolidate_after: Some(SignedDuration::from_secs(60)),
        ..PoolRules::default()
    };
    Fleet {
        instances: instances.collect(),
        pools: snapshot.pools.iter().map(|pool| (pool.name.clone(), rules.clone())).collect(),
        now: Timestamp::from_second(3_600).unwrap(),
        ..Fleet::default()
    }
}

/// An outcome in a few words.
fn tell(outcome: &Outcome) -> String {
    let mut told: Vec<String> = Vec::new();
    for claim in &outcome.claims {
        let cheapest = claim.instance_types.first().map_or("nothing", String::as_str);
        told.push(format!("new {cheapest}: {}", claim.pods.join(" ")));
    }
    for place in &outcome.existing {
        told.push(format!("{}: {}", place.node, place.pods.join(" ")));
    }
    if !outcome.homeless.is_empty() {
        told.push(format!("homeless: {}", outcome.homeless.join(" ")));
    }
    told.join("\n").replace("default/", "")
}

fn ask(snapshot: SnapshotBuilder, instances: &[usize], question: Question) -> String {
    let snapshot = snapshot.build();
    let fleet = fleet(&snapshot);
    let mut simulator = Simulator::new(&snapshot, &fleet, &PlanSettings::default());
    tell(&simulator.without(instances, question))
}

#[test]
fn pods_move_to_instances_that_have_room() {
    let cluster = cluster()
        .node(instance("a").pod(web("a-0")).pod(web("a-1").cpu("2")))
        .node(instance("b").pod(web("b-0").cpu("2")))
        .node(instance("c"));
    // The larger pod comes first.
    assert_eq!(ask(cluster, &[0], CONSOLIDATION), "b: a-1\nc: a-0");
}

#[test]
fn pods_without_room_get_a_new_instance() {
    let cluster = cluster()
        .node(instance("a").pod(web("a-0").cpu("3")).pod(web("a-1").cpu("500m")))
        .node(instance("b").pod(web("b-0").cpu("3")));
    assert_eq!(ask(cluster, &[0], CONSOLIDATION), "new small: a-0\nb: a-1");
}

#[test]
fn nobody_moves_to_an_instance_that_goes_as_well() {
    let cluster = cluster()
        .node(instance("a").pod(web("a-0")))
        .node(instance("b").pod(web("b-0")))
        .node(instance("c").pod(web("c-0")));
    assert_eq!(ask(cluster, &[0, 1], CONSOLIDATION), "c: a-0 b-0");
}

#[test]
fn pods_that_cannot_be_moved_need_no_place() {
    let snapshot = cluster().node(instance("a").pod(web("a-0")).pod(web("a-1"))).build();
    let mut fleet = fleet(&snapshot);
    fleet.instances[0].pods[1].movable = false;
    let mut simulator = Simulator::new(&snapshot, &fleet, &PlanSettings::default());
    assert_eq!(tell(&simulator.without(&[0], DRIFT)), "new small: a-0");
}

#[test]
fn a_question_about_an_empty_instance_has_an_empty_answer() {
    let cluster = cluster().node(instance("a")).node(instance("b"));
    assert_eq!(ask(cluster, &[0], CONSOLIDATION), "");
}

#[test]
fn an_instance_that_is_leaving_is_not_asked_about() {
    let cluster = cluster().node(instance("a").leaving().pod(web("a-0"))).node(instance("b"));
    assert_eq!(ask(cluster, &[0], CONSOLIDATION), "");
}

// O-66
#[test]
fn a_pod_that_has_no_place_anyway_is_nobodys_concern() {
    let cluster = cluster()
        .node(instance("a").pod(web("a-0")))
        .node(instance("b"))
        .pod(web("huge").cpu("100"));
    assert_eq!(ask(cluster, &[0], CONSOLIDATION), "b: a-0");
}

// P-15
#[test]
fn pods_that_wait_have_the_first_choice() {
    let cluster = cluster()
        .node(instance("a").pod(web("a-0").cpu("2")))
        .node(instance("b"))
        .pod(web("waits").cpu("3"));
    assert_eq!(ask(cluster, &[0], CONSOLIDATION), "new small: a-0");
}

#[test]
fn pods_that_were_promised_the_instance_move_with_its_own() {
    let cluster = cluster()
        .node(instance("a").pod(web("a-0")))
        .node(instance("b"))
        .pod(web("waits").cpu("2"));
    let snapshot = cluster.build();
    let fleet = fleet(&snapshot);
    let mut simulator = Simulator::new(&snapshot, &fleet, &PlanSettings::default());
    assert_eq!(simulator.guests(0), [0]);
    assert!(simulator.guests(1).is_empty());
    assert_eq!(tell(&simulator.without(&[0], CONSOLIDATION)), "b: waits a-0");
}

#[test]
fn claims_for_pods_that_wait_take_no_others() {
    let cluster = cluster()
        .node(instance("a").pod(web("a-0")))
        .pod(web("waits").cpu("4"))
        .pod(web("waits-too").cpu("8"));
    assert_eq!(ask(cluster, &[0], CONSOLIDATION), "new small: a-0");
}

// O-61, O-65
#[test]
fn nobody_moves_to_an_instance_that_is_not_ready_but_ready_ones_are_tried_first() {
    let with = |spare: bool| {
        let cluster =
            cluster().node(instance("a").pod(web("a-0"))).node(instance("b").uninitialized());
        if spare { cluster.node(instance("c")) } else { cluster }
    };
    assert_eq!(ask(with(true), &[0], CONSOLIDATION), "c: a-0");
    assert_eq!(ask(with(false), &[0], CONSOLIDATION), "homeless: a-0");

    let snapshot = with(false).build();
    let fleet = fleet(&snapshot);
    let mut simulator = Simulator::new(&snapshot, &fleet, &PlanSettings::default());
    let explained = simulator.explain_homeless(&[0], CONSOLIDATION);
    let messages: Vec<&str> = explained.iter().map(|each| each.message.as_str()).collect();
    assert_eq!(messages, ["would schedule against uninitialized nodeclaim/b, node/b"]);
}

// M-01
#[test]
fn pods_of_instances_that_are_leaving_may_go_to_one_that_is_not_ready() {
    let cluster = cluster()
        .node(instance("a").pod(web("a-0")))
        .node(instance("b").uninitialized())
        .pod(web("moves").role(Role::Moving));
    // The pod that moves was promised a place on the instance in question, and takes another one.
    assert_eq!(ask(cluster, &[0], CONSOLIDATION), "b: moves\nhomeless: a-0");
}

// O-62, O-63, O-64
#[test]
fn consolidation_leaves_instances_alone_on_which_something_has_just_happened() {
    let snapshot = cluster().node(instance("a").pod(web("a-0"))).node(instance("b")).build();
    let mut fleet = fleet(&snapshot);
    let mut busy = |consolidate_after: Option<SignedDuration>, seconds: i64, question| {
        let claim = fleet.instances[1].claim.as_mut().unwrap();
        claim.quiet_since = Some(fleet.now - SignedDuration::from_secs(seconds));
        fleet.pools.get_mut("general").unwrap().consolidate_after = consolidate_after;
        let mut simulator = Simulator::new(&snapshot, &fleet, &PlanSettings::default());
        tell(&simulator.without(&[0], question))
    };
    let minute = Some(SignedDuration::from_secs(60));
    assert_eq!(busy(minute, 59, CONSOLIDATION), "new small: a-0");
    assert_eq!(busy(minute, 60, CONSOLIDATION), "b: a-0");
    assert_eq!(busy(minute, 59, DRIFT), "b: a-0");
    assert_eq!(busy(None, 59, CONSOLIDATION), "b: a-0");
}

#[test]
fn a_pod_that_waits_may_go_where_something_has_just_happened() {
    let snapshot = cluster()
        .node(instance("a").cpu("2"))
        .node(instance("b"))
        .pod(web("waits").cpu("2"))
        .build();
    let mut fleet = fleet(&snapshot);
    fleet.instances[1].claim.as_mut().unwrap().quiet_since = Some(fleet.now);
    let mut simulator = Simulator::new(&snapshot, &fleet, &PlanSettings::default());
    assert_eq!(tell(&simulator.without(&[0], CONSOLIDATION)), "b: waits");
}

// O-83
#[test]
fn pods_that_leave_no_longer_count_where_they_were() {
    let spread = |name: &str| web(name).spread(ZONE, 1, selector([("app", "web")]));
    let cluster = cluster()
        .node(instance("a").zone("a").pod(spread("a-0")))
        .node(instance("b").zone("b").pod(spread("b-0")))
        .node(instance("c").zone("c").pod(spread("c-0")).cpu("1"))
        .node(instance("d").zone("a"));
    assert_eq!(ask(cluster, &[0], CONSOLIDATION), "d: a-0");
}

// O-84
#[test]
fn pods_that_keep_away_from_each_other_still_do() {
    let alone = |name: &str| web(name).anti_affinity(HOSTNAME, selector([("app", "web")]));
    let cluster =
        cluster().node(instance("a").pod(alone("a-0"))).node(instance("b").pod(alone("b-0")));
    assert_eq!(ask(cluster, &[0], CONSOLIDATION), "new small: a-0");
}

#[test]
fn a_domain_goes_with_its_last_instance() {
    // No pool reaches the zone, so once its instance is gone nobody has to be spread over it.
    let spread = |name: &str| web(name).spread(ZONE, 1, selector([("app", "web")]));
    let snapshot = snapshot()
        .pool(pool("general"), [instance_type("small").cpu("4").zones(["near"])])
        .node(instance("far").zone("far").pod(spread("far-0")).pod(spread("far-1")))
        .node(instance("near").zone("near"))
        .build();
    let fleet = fleet(&snapshot);
    let mut simulator = Simulator::new(&snapshot, &fleet, &PlanSettings::default());
    assert_eq!(tell(&simulator.without(&[0], CONSOLIDATION)), "near: far-0 far-1");
}

#[test]
fn an_instance_that_goes_gives_back_to_its_pools_limits() {
    let limited = |limit: &str| {
        snapshot()
            .pool(
                pool("general").limit("cpu", limit),
                [instance_type("small").cpu("4").mem("8Gi").price(1.0)],
            )
            .node(instance("a").pod(web("a-0").cpu("3")))
            .node(instance("b").pod(web("b-0").cpu("3")))
    };
    assert_eq!(ask(limited("8"), &[0], CONSOLIDATION), "new small: a-0");
    assert_eq!(ask(limited("7"), &[0], CONSOLIDATION), "homeless: a-0");
}

// O-91
#[test]
fn min_values_are_not_lowered_for_consolidation() {
    let snapshot = snapshot()
        .pool(
            pool("general").min_values(INSTANCE_TYPE, Exists, [], 2),
            [
                instance_type("small").cpu("4").mem("8Gi").price(1.0),
                instance_type("large").cpu("16").mem("32Gi").price(3.0),
            ],
        )
        .node(instance("a").cpu("16").pod(web("a-0").cpu("10")))
        .build();
    let fleet = fleet(&snapshot);
    let planning =
        PlanSettings { min_values: MinValuesPolicy::BestEffort, ..PlanSettings::default() };
    let mut simulator = Simulator::new(&snapshot, &fleet, &planning);
    assert_eq!(tell(&simulator.without(&[0], CONSOLIDATION)), "homeless: a-0");
    assert_eq!(tell(&simulator.without(&[0], DRIFT)), "new large: a-0");
}

#[test]
fn a_question_ends_with_one_claim_more_than_it_cares_for() {
    let alone = |name: &str| web(name).anti_affinity(HOSTNAME, selector([("app", "web")]));
    let mut cluster = cluster();
    for name in ["a", "b", "c", "d"] {
        cluster = cluster.node(instance(name).pod(alone(name)));
    }
    let snapshot = cluster.build();
    let fleet = fleet(&snapshot);
    let mut simulator = Simulator::new(&snapshot, &fleet, &PlanSettings::default());
    let mut claims = |claims_max| {
        let question = Question { claims_max, ..CONSOLIDATION };
        let outcome = simulator.without(&[0, 1, 2, 3], question);
        assert!(outcome.homeless.is_empty(), "nobody knows yet: {outcome:?}");
        outcome.claims.len()
    };
    assert_eq!([claims(Some(1)), claims(Some(4)), claims(None)], [2, 4, 4]);
}

#[test]
fn reasons_are_told_for_pods_that_would_have_no_place() {
    let snapshot = cluster()
        .node(instance("a").cpu("64").pod(web("devices").dra()).pod(web("huge").cpu("32")))
        .build();
    let fleet = fleet(&snapshot);
    let mut simulator = Simulator::new(&snapshot, &fleet, &PlanSettings::default());
    let outcome = simulator.without(&[0], CONSOLIDATION);
    assert_eq!(outcome.homeless, ["default/devices", "default/huge"]);
    let explained = simulator.explain_homeless(&[0], CONSOLIDATION);
    let told: Vec<(&str, &str)> =
        explained.iter().map(|each| (&*each.pod, each.reasons[0].id.as_str())).collect();
    assert_eq!(told, [("default/devices", "dra.ignored"), ("default/huge", "shape.tooSmall")]);
}

#[test]
fn what_is_decided_counts_from_then_on() {
    let cluster = cluster()
        .node(instance("a").pod(web("a-0").cpu("2")))
        .node(instance("b").pod(web("b-0").cpu("2")))
        .node(instance("c").pod(web("c-0").cpu("2")));
    let snapshot = cluster.build();
    let fleet = fleet(&snapshot);
    let mut simulator = Simulator::new(&snapshot, &fleet, &PlanSettings::default());
    assert_eq!(tell(&simulator.without(&[1], CONSOLIDATION)), "a: b-0");
    assert_eq!(tell(&simulator.commit(&[0], CONSOLIDATION)), "b: a-0");
    // What it has, and what it was given.
    assert_eq!(tell(&simulator.without(&[1], CONSOLIDATION)), "new small: b-0\nc: a-0");
    assert_eq!(tell(&simulator.without(&[2], CONSOLIDATION)), "new small: c-0");
    assert_eq!(tell(&simulator.without(&[0], CONSOLIDATION)), "", "it is gone already");
}

/// Which of the instances can go, one after the other.
fn walk(snapshot: SnapshotBuilder, instances: &[usize]) -> Vec<usize> {
    let snapshot = snapshot.build();
    let fleet = fleet(&snapshot);
    let mut simulator = Simulator::new(&snapshot, &fleet, &PlanSettings::default());
    let mut walk = simulator.walk(CONSOLIDATION);
    instances.iter().copied().filter(|instance| walk.can_go_too(*instance)).collect()
}

#[test]
fn instances_go_one_after_the_other_as_long_as_there_is_room() {
    let holding = |name: &str, cpu: &str| instance(name).pod(web(name).cpu(cpu));
    let cluster = || {
        let [a, b] = ["a", "b"].map(|name| holding(name, "1"));
        cluster().node(a).node(b).node(holding("c", "3")).node(holding("d", "2"))
    };
    // The pod of a goes to b, and with that of b to c and d, which have nowhere to go then.
    assert_eq!(walk(cluster(), &[0, 1, 2, 3]), [0, 1]);
    // The pod of c goes to a, and from there to b, and that of a to d.
    assert_eq!(walk(cluster(), &[2, 0, 3, 1]), [2, 0]);
}

#[test]
fn instances_that_go_one_by_one_leave_no_pod_on_one_that_is_not_ready() {
    let cluster = || cluster().node(instance("a").pod(web("a-0")));
    assert!(walk(cluster().node(instance("b").uninitialized()), &[0]).is_empty());
    assert_eq!(walk(cluster().node(instance("b")), &[0]), [0]);
}

#[test]
fn instances_that_were_decided_on_take_no_pods_of_others() {
    let full = |name: &str| instance(name).pod(web(name).cpu("3"));
    let snapshot = cluster().node(full("a")).node(full("b").pod(web("b-1").cpu("500m"))).build();
    let fleet = fleet(&snapshot);
    let mut simulator = Simulator::new(&snapshot, &fleet, &PlanSettings::default());
    assert_eq!(tell(&simulator.commit(&[0], CONSOLIDATION)), "new small: a");
    assert_eq!(tell(&simulator.without(&[1], CONSOLIDATION)), "new small: b b-1");
}

/// A pod that would rather be away from so many others.
fn long(name: &str, wishes: usize) -> PodBuilder {
    let away = |pod: PodBuilder, n: usize| {
        pod.prefer_anti_affinity(1, ZONE, selector([("app", n.to_string().as_str())]))
    };
    (0..wishes).fold(pod(name).cpu("1"), away)
}

#[test]
fn an_instance_stays_whose_pod_is_too_much_work_to_place() {
    let homeless = |wishes: usize| {
        let full = instance("a").pod(long("long", wishes));
        let snapshot = cluster().node(full).node(instance("b")).build();
        let fleet = fleet(&snapshot);
        let settings = PlanSettings::default();
        let mut simulator = Simulator::new(&snapshot, &fleet, &settings);
        (tell(&simulator.without(&[0], DRIFT)), simulator.explain_homeless(&[0], DRIFT))
    };
    let (outcome, reasons) = homeless(60_000);
    assert_eq!(outcome, "homeless: long");
    assert_eq!(reasons[0].reasons[0].id, ReasonId::WaitingWork);
    assert_eq!(homeless(600).0, "b: long");
}

#[test]
fn questions_about_long_lists_use_up_what_there_is_and_then_instances_stay() {
    let full = instance("a").pod(long("long", 20_000).cpu("100"));
    let snapshot = cluster().node(full).node(instance("b")).build();
    let (fleet, settings) = (fleet(&snapshot), PlanSettings::default());
    let mut simulator = Simulator::new(&snapshot, &fleet, &settings);
    let mut asked = 0;
    let reason = loop {
        asked += 1;
        let reasons = simulator.explain_homeless(&[0], DRIFT);
        let reason = reasons[0].reasons[0].id;
        if reason == ReasonId::WaitingWork || asked == 1_000 {
            break reason;
        }
    };
    assert_eq!(reason, ReasonId::WaitingWork, "after {asked} questions");
}
