use std::collections::BTreeSet;

use super::*;
use crate::disruption::{facts::holds, history::Story};

fn situations() -> impl Iterator<Item = Situation> {
    (0..60).map(|seed| generate(seed).expect("a cluster can be made of every seed"))
}

#[test]
fn equal_seeds_give_equal_clusters() {
    for seed in [0, 7, 77] {
        let objects = || generate(seed).expect("a cluster can be made").scenario.objects;
        assert_eq!(objects(), objects(), "seed {seed}");
    }
}

#[test]
fn every_kind_comes_up() {
    let mut seen = BTreeSet::new();
    for seed in 0..1000 {
        seen.extend(choose_kinds(seed).1);
    }
    assert_eq!(seen, Kind::ALL.iter().copied().collect());
}

#[test]
fn clusters_have_instances_with_pods_on_them_and_none_that_waits_for_a_place() {
    let (mut instances, mut pods) = (0, 0);
    for situation in situations() {
        let scenario = &situation.scenario;
        instances += scenario.of_kind("NodeClaim").count();
        pods += scenario.of_kind("Pod").count();
        let waiting = scenario.of_kind("Pod").filter(|pod| pod["spec"]["nodeName"].is_null());
        assert_eq!(waiting.count() > 0, situation.is(Kind::Waiting), "seed {}", scenario.seed);
    }
    assert!(instances > 200 && pods > 600, "{instances} instances, {pods} pods");
}

#[test]
fn what_a_cluster_is_about_is_in_its_objects() {
    for situation in situations() {
        let scenario = &situation.scenario;
        let drifted = scenario.of_kind("NodeClaim").any(|claim| holds(claim, "Drifted"));
        let has_instances = scenario.of_kind("NodeClaim").next().is_some();
        assert_eq!(drifted, has_instances && situation.is(Kind::Drifted), "seed {}", scenario.seed);
    }
}

#[test]
fn instances_have_prices() {
    for situation in situations().filter(|it| !it.is(Kind::PoolGone)) {
        let bill = Story::begin(&situation.scenario).expect("the catalogue can be read").history;
        assert_eq!(bill.before.price > 0.0, bill.before.instances > 0);
    }
}
