//! The stories of Karpenter's performance suite, with a part of their pods.

use super::*;

/// Enough pods that instances are shared and few enough that a story takes seconds without
/// optimisation; `joiner bench stories` plays them whole.
const SHARE: f64 = 0.1;

fn told(name: &str) -> Told {
    let scenario = ALL.iter().find(|scenario| scenario.name == name).unwrap();
    let told = tell(scenario, scenario.then, SHARE, 1).unwrap();
    assert_eq!(told.violations, Vec::<String>::new());
    let [out, after] = &told.chapters[..] else { panic!("two chapters: {told:?}") };
    // Parts of stories are held to the limits of whole ones.
    for (chapter, limit) in [out, after].into_iter().zip(scenario.limits.unwrap()) {
        assert_eq!(chapter.unfinished, None, "{name}");
        assert!(chapter.seconds <= limit.seconds, "{name}: {chapter:?}");
    }
    let loads = scenario.loads(SHARE);
    let pods = |left: fn(&Load, Then) -> usize| {
        loads.iter().map(|load| left(load, scenario.then)).sum::<usize>()
    };
    assert_eq!(out.fleet.pods, pods(|load, _| load.replicas));
    assert_eq!(after.fleet.pods, pods(|load, then| then.left(load)));
    told
}

/// A cluster with fewer pods costs less, and pods were moved for it only as often as there are pods.
fn assert_smaller(told: &Told) {
    let [out, after] = &told.chapters[..] else { unreachable!() };
    assert!(after.fleet.price < out.fleet.price, "{told:?}");
    assert!(after.moved.evictions <= after.fleet.pods, "{told:?}");
}

#[test]
fn fewer_pods_of_two_sizes_need_fewer_instances() {
    let told = told("basic");
    assert_smaller(&told);
    // Little is left to save that would not have to be made again.
    let fleet = &told.chapters[1].fleet;
    assert!(fleet.cpu_requested > 0.85, "{fleet:?}");
}

#[test]
fn pods_spread_over_hosts_stay_spread_when_there_are_fewer() {
    assert_smaller(&told("spreading"));
}

#[test]
fn instances_with_protected_pods_stay() {
    let told = told("do-not-disrupt");
    assert_smaller(&told);
}

#[test]
fn fewer_pods_of_thirty_sizes_need_fewer_instances() {
    assert_smaller(&told("wide"));
}

#[test]
fn instances_that_drift_are_replaced_and_their_pods_run_on() {
    let told = told("drift");
    let [out, after] = &told.chapters[..] else { unreachable!() };
    assert!(after.fleet.price <= out.fleet.price * 1.01, "{told:?}");
    assert!(after.moved.evictions >= out.fleet.pods, "{told:?}");
}

#[test]
fn a_seed_always_tells_the_same_story() {
    let scenario = ALL.iter().find(|scenario| scenario.name == "basic").unwrap();
    let play = || {
        let mut told = tell(scenario, Then::Drain, 0.02, 7).unwrap();
        told.seconds = 0.0;
        serde_json::to_string(&told).unwrap()
    };
    assert_eq!(play(), play());
}
