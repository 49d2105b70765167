use expect_test::{Expect, expect};
use joiner_cloud::testing::describe;

use super::*;

/// What a file gives each of two pools, or the error.
fn check(text: &str, expected: Expect) {
    let shown = match parse(text, "types.yaml") {
        Ok(file) => describe(&file.catalog(["a", "b"])),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&shown);
}

#[test]
fn kwoks_form_gets_kwoks_labels_overhead_and_pods_and_is_always_available() {
    check(
        r#"[{"name": "m5.large", "architecture": "arm64", "operatingSystems": ["linux"],
             "resources": {"cpu": "2000m", "memory": "4096Mi"},
             "offerings": [
               {"Price": 0.02, "Available": false, "Requirements": [
                 {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["z1"]},
                 {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
                 {"key": "example.com/host", "operator": "In", "values": ["h1"]}]}]}]"#,
        expect![[r#"
            pool a
              type m5.large
                requires karpenter.kwok.sh/instance-cpu In [2], karpenter.kwok.sh/instance-family In [m5], karpenter.kwok.sh/instance-memory In [4Gi], karpenter.kwok.sh/instance-size In [large], karpenter.sh/capacity-type In [spot], kubernetes.io/arch In [arm64], kubernetes.io/os In [linux], node.kubernetes.io/instance-type In [m5.large], topology.kubernetes.io/zone In [z1]
                capacity cpu 2, memory 4Gi, pods 110
                overhead cpu 100m, memory 10Mi
                offers example.com/host In [h1], karpenter.sh/capacity-type In [spot], topology.kubernetes.io/zone In [z1] for 0.02 left 0 capacity [] overhead []
            pool b
              type m5.large
                requires karpenter.kwok.sh/instance-cpu In [2], karpenter.kwok.sh/instance-family In [m5], karpenter.kwok.sh/instance-memory In [4Gi], karpenter.kwok.sh/instance-size In [large], karpenter.sh/capacity-type In [spot], kubernetes.io/arch In [arm64], kubernetes.io/os In [linux], node.kubernetes.io/instance-type In [m5.large], topology.kubernetes.io/zone In [z1]
                capacity cpu 2, memory 4Gi, pods 110
                overhead cpu 100m, memory 10Mi
                offers example.com/host In [h1], karpenter.sh/capacity-type In [spot], topology.kubernetes.io/zone In [z1] for 0.02 left 0 capacity [] overhead []
            well known: example.com/host karpenter.kwok.sh/instance-cpu karpenter.kwok.sh/instance-family karpenter.kwok.sh/instance-memory karpenter.kwok.sh/instance-size
            reservations: -"#]],
    );
}

#[test]
fn both_forms_mix_in_yaml_and_declared_labels_replace_those_of_the_full_form() {
    check(
        "
wellKnownLabels: [example.com/rack]
instanceTypes:
- {name: k, architecture: amd64}
- name: every
  capacity: {cpu: 1}
  requirements: [{key: example.com/size, operator: In, values: [small]}]
- {name: own, capacity: {cpu: 2}, nodePools: [a]}
",
        expect![[r#"
            pool a
              type own
                requires 
                capacity cpu 2
                overhead 
              type every
                requires example.com/size In [small]
                capacity cpu 1
                overhead 
              type k
                requires karpenter.kwok.sh/instance-cpu In [], karpenter.kwok.sh/instance-family In [k], karpenter.kwok.sh/instance-memory In [], karpenter.kwok.sh/instance-size In [], karpenter.sh/capacity-type DoesNotExist, kubernetes.io/arch In [amd64], kubernetes.io/os DoesNotExist, node.kubernetes.io/instance-type In [k], topology.kubernetes.io/zone DoesNotExist
                capacity pods 110
                overhead cpu 100m, memory 10Mi
            pool b
              type every
                requires example.com/size In [small]
                capacity cpu 1
                overhead 
              type k
                requires karpenter.kwok.sh/instance-cpu In [], karpenter.kwok.sh/instance-family In [k], karpenter.kwok.sh/instance-memory In [], karpenter.kwok.sh/instance-size In [], karpenter.sh/capacity-type DoesNotExist, kubernetes.io/arch In [amd64], kubernetes.io/os DoesNotExist, node.kubernetes.io/instance-type In [k], topology.kubernetes.io/zone DoesNotExist
                capacity pods 110
                overhead cpu 100m, memory 10Mi
            well known: example.com/rack karpenter.kwok.sh/instance-cpu karpenter.kwok.sh/instance-family karpenter.kwok.sh/instance-memory karpenter.kwok.sh/instance-size
            reservations: -"#]],
    );
}

#[test]
fn invalid_entries_of_kwoks_form_are_refused_with_place_and_remedy() {
    let cases = [
        "[{name: t, architecture: amd64, capacity: {cpu: 1}}]",
        "[{name: t, architecture: amd64, resources: {cpu: -1}}]",
        "[{name: t, architecture: amd64, offerings: [{Price: -1}]}]",
    ];
    let errors: Vec<String> =
        cases.iter().map(|case| parse(case, "f").expect_err(case).to_string()).collect();
    expect![[r#"
        f: entry 1 "t": capacity: belongs to the full form, but the entry has KWOK's architecture or resources; write one form
        f: entry 1 "t": resources.cpu: -1 is below zero; write an amount of 0 or more
        f: entry 1 "t": offerings[0].Price: -1 is no price; write a number of 0 or more"#]].assert_eq(&errors.join("\n"));
}
