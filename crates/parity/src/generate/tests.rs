use std::collections::BTreeSet;

use super::*;

#[test]
fn equal_seeds_give_equal_scenarios() {
    for seed in [0, 1, 77, u64::MAX] {
        assert_eq!(generate(seed), generate(seed));
    }
    assert_ne!(generate(1).objects, generate(2).objects);
}

#[test]
fn every_kind_comes_up_alone_and_mixed() {
    let (mut alone, mut mixed) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..2000 {
        let kinds = choose_kinds(seed);
        if kinds.len() == 1 { alone.extend(kinds) } else { mixed.extend(kinds) }
    }
    let bring_others = [Kind::IgnorePreferences, Kind::VolumeLimits, Kind::StartupTaints];
    for kind in Kind::ALL {
        assert!(mixed.contains(kind), "{} is never mixed", kind.name());
        assert!(
            alone.contains(kind) || bring_others.contains(kind),
            "{} never stands alone",
            kind.name()
        );
    }
}

#[test]
fn scenarios_are_small_and_their_objects_have_names() {
    for seed in 0..1000 {
        let scenario = generate(seed);
        let pods = scenario.of_kind("Pod").count();
        assert!((1..=130).contains(&pods), "seed {seed} has {pods} pods");
        let mut names = BTreeSet::new();
        for object in &scenario.objects {
            let name =
                (&object["kind"], &object["metadata"]["namespace"], &object["metadata"]["name"]);
            assert!(object["metadata"]["name"].is_string(), "seed {seed}: {object}");
            assert!(names.insert(format!("{name:?}")), "seed {seed}: {name:?} is there twice");
        }
    }
}

#[test]
fn pods_of_one_kind_do_what_the_kind_says() {
    let with = |kind: Kind| {
        (0..1000)
            .map(generate)
            .find(|scenario| scenario.kinds.contains(&kind))
            .expect("every kind comes up")
    };
    let any_pod = |scenario: &Scenario, pointer: &str| {
        scenario.of_kind("Pod").any(|pod| pod.pointer(pointer).is_some())
    };
    assert!(any_pod(&with(Kind::ZoneSpread), "/spec/topologySpreadConstraints/0/maxSkew"));
    assert!(any_pod(&with(Kind::HostPorts), "/spec/containers/0/ports/0/hostPort"));
    assert!(any_pod(&with(Kind::BoundVolumes), "/spec/volumes/0/persistentVolumeClaim"));
    assert!(with(Kind::IgnorePreferences).flag_is("preference-policy", "Ignore"));
    assert!(with(Kind::ReservedFallback).flag_is("reserved-fallback", "true"));
    assert!(with(Kind::Overlays).of_kind("NodeOverlay").next().is_some());
}
