//! Holds our planner to Karpenter's on kept and on generated scenarios.
//!
//! Without an oracle, our side is held to what Karpenter achieved when a fixture was made. With one
//! (`JOINER_ORACLE=$(scripts/install-real-parts oracle)`), Karpenter is asked again.

mod hostile;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use joiner_parity::{
    disruption,
    fixture::{self, verdict_text},
    generate::generate,
    oracle::Oracle,
    ours, trial,
};

/// Enough for every kind to come up a few times, and little enough to take seconds.
const SEEDS: std::ops::Range<u64> = 0..150;

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut folders: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder of fixtures is there")
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    folders
}

#[test]
fn fixtures_are_planned_at_least_as_well_as_karpenter_did() {
    for folder in fixtures() {
        let (scenario, expectation) = fixture::read(&folder).unwrap();
        let ours = ours::prepare(&scenario).and_then(|question| question.plan()).unwrap();
        let missed = expectation.missed_by(&ours);
        assert!(missed.is_empty(), "{}: {}", folder.display(), missed.join("; "));
    }
}

#[test]
fn fixtures_compare_with_karpenter_as_expected() {
    let Some(path) = env::var_os("JOINER_ORACLE") else {
        eprintln!("Karpenter was not asked: JOINER_ORACLE does not name an oracle");
        return;
    };
    let mut oracle = Oracle::start(path.as_ref()).unwrap();
    for folder in fixtures() {
        let (scenario, expectation) = fixture::read(&folder).unwrap();
        let comparison = trial::run(&scenario, &mut oracle).unwrap().comparison;
        let told = verdict_text(comparison.verdict());
        assert_eq!(told, expectation.verdict, "{}: {comparison:#?}", folder.display());
    }
}

#[test]
fn plans_of_generated_scenarios_keep_every_rule() {
    for seed in SEEDS {
        let question = ours::prepare(&generate(seed)).unwrap();
        let planned = question.plan().unwrap();
        assert!(planned.findings.is_empty(), "seed {seed}: {:#?}", planned.findings);
    }
}

#[test]
fn a_scenario_is_planned_the_same_way_every_time() {
    for seed in SEEDS.step_by(10) {
        let scenario = generate(seed);
        let plan = || ours::prepare(&scenario).unwrap().plan().unwrap().plan;
        assert_eq!(plan(), plan(), "seed {seed}");
    }
}

#[test]
fn clusters_that_are_left_to_us_come_to_rest_cheaper_and_nothing_protected_moves() {
    for seed in SEEDS.step_by(2) {
        let situation = disruption::generate::generate(seed).unwrap();
        let history = disruption::ours::converge(&situation.scenario).unwrap();
        assert!(history.findings.is_empty(), "seed {seed}: {:#?}", history.findings);
        assert!(history.converged, "seed {seed}: there is no end to it");
        // A drifted instance is replaced whatever its replacement costs.
        let may_cost = situation.is(disruption::kind::Kind::Drifted);
        let (before, after) = (history.before.price, history.after.price);
        assert!(may_cost || after <= before, "seed {seed}: {after} instead of {before}");
    }
}
