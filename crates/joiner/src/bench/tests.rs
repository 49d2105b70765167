//! What must never be shown as a result.

use clap::Parser as _;
use expect_test::expect;

use super::*;
use crate::cli::{Cli, Command};

fn problems(name: &str, measured: &Measurement) -> String {
    let Command::Bench(args) = Cli::parse_from(["joiner", "bench"]).command else {
        panic!("this is a benchmark")
    };
    let workload = ALL.iter().find(|workload| workload.name == name).unwrap();
    Job { workload, pods: 100, args: &args }.problems(measured).join("\n")
}

fn measured(unplaced: usize) -> Measurement {
    Measurement {
        pods: 100,
        unplaced,
        claims: 20,
        price: 1.0,
        lower_bound: 1.0,
        seconds: vec![0.1],
        peak_bytes: 0,
        pass_seconds: 0.25,
        pass_bytes: 32 << 20,
        findings: Vec::new(),
        examples: vec!["default/pod-000001: no pool has room".to_owned(); unplaced.min(1)],
    }
}

#[test]
fn a_plan_that_places_what_it_should_is_shown() {
    assert_eq!(problems("diverse", &measured(0)), "");
    assert_eq!(problems(NEVER_FIT, &measured(20)), "");
}

#[test]
fn pods_left_without_a_place_are_not_fast_they_are_wrong() {
    expect![[r"
        7 pods have no place, 0 were expected to have none
        default/pod-000001: no pool has room"]]
    .assert_eq(&problems("diverse", &measured(7)));
}

#[test]
fn a_pod_that_never_fits_must_not_be_placed() {
    expect![[r"
        19 pods have no place, 20 were expected to have none
        default/pod-000001: no pool has room"]]
    .assert_eq(&problems(NEVER_FIT, &measured(19)));
}

#[test]
fn what_the_checker_refuses_is_not_shown() {
    let findings = vec!["taint: default/pod-000002: does not tolerate x:NoSchedule".to_owned()];
    let refused = Measurement { findings, ..measured(0) };
    expect!["taint: default/pod-000002: does not tolerate x:NoSchedule"]
        .assert_eq(&problems("diverse", &refused));
}

#[test]
fn every_pod_of_a_workload_is_counted() {
    for workload in ALL {
        for pods in [1, 50, 333] {
            let mut to_place = 0;
            (workload.objects)(pods, &mut random::Random::new(7), &mut |object| {
                to_place +=
                    usize::from(object["kind"] == "Pod" && object["spec"]["nodeName"].is_null());
            });
            assert_eq!(to_place, pods, "{}", workload.name);
        }
    }
}

#[test]
fn the_report_compares_and_says_where_karpenter_is_better() {
    let ours = Measurement { seconds: vec![0.010, 0.012, 0.3], ..measured(0) };
    let theirs = karpenter::Answer {
        pods: 100,
        placed: 99,
        seconds: 1.5,
        nodes_range: [18.0, 21.0],
        price_range: [0.9, 0.95],
    };
    let mut result = report::Result::new("diverse", &[ours], &[theirs]);
    result.expect_claims(&[21]);
    result.never_fit_overhead = Some(0.25);
    result.tell_pass(&[measured(0)], 1);
    let text = report::render(&[result]);
    expect![[r"
        WORKLOAD  PODS  PODS/S      P50       P95  MEMORY  INSTANCES  PRICE/H  AT LEAST  ABOVE BEST  KARPENTER P50  FASTER  ITS INSTANCES    ITS PRICE/H
        diverse    100   8,333  12.0 ms  300.0 ms   0 MiB         20   1.0000    1.0000      ≤ 0.0%         1.50 s  125.0×          18–21  0.9000–0.9500

        Times are of planning alone, reading excluded; memory is the whole process's, reading included.
        Instances and prices are means over the seeds; every plan passed the checker.
        The best possible price lies between AT LEAST and PRICE/H; a plan is ABOVE BEST dearer than it at most.
        diverse: pods that never fit cost the others +25.0 % (at most 10 % is wanted).
        diverse: with 1 × 1.5 MB of lists a whole pass took 250.0 ms (at most 200.0 ms is wanted) and 32 MiB besides the objects (at most 64 MiB).
        diverse: 20 instances instead of 21.
        diverse: 5.3 % dearer than Karpenter's dearest plans.
        diverse: Karpenter left 1 pod without a place, over all seeds.
    "]].assert_eq(&anstream::adapter::strip_str(&text).to_string());
}
