//! What a class may say, and what is said of one that cannot be used.

use expect_test::{Expect, expect};
use joiner_api::facts::Facts;
use joiner_vsphere::{NodeClass, Settings, crd};
use serde_json::Value;

use crate::read;

/// A class in the spelling of the published CRD, and the same in that of the README.
const CRD_SPELLING: &str = r#"spec:
  computeSelector: {name: Cluster01}
  datastoreSelector: {tags: {karpenter-datastore: "true"}}
  networkSelector: {name: workers}
  imageSelector: {pattern: "ubuntu-2404-rke2-*"}
  diskSize: 60
  instanceTypes:
  - {os: linux, arch: amd64, cpu: "4", memory: 16Gi, region: dc1, zone: az1, maxPods: "110"}
  tags: {topology.kubernetes.io/zone: az1, k8s-zone: az1}
  userData: {type: cloud-config, additionalUserdata: "runcmd: [echo joined]"}
"#;
const README_SPELLING: &str = r#"spec:
  computeSelector: {name: Cluster01}
  datastoreSelector: {tag: {karpenter-datastore: "true"}}
  networkSelector: {name: workers}
  imageSelector: {name: ubuntu-2404-rke2-v1.33.4}
  diskSize: 60
  instanceTypes:
  - {os: linux, cpu: 4, memory: 16, region: dc1, zone: az1, maxPods: 110}
  tags: {topology.kubernetes.io/zone: az1, k8s-zone: az1}
  userdata: {type: cloud-config, additionalUserdata: "runcmd: [echo joined]"}
"#;

fn class(spec: &str) -> NodeClass {
    read(spec).expect("the schema accepts it")
}

#[track_caller]
fn problems(spec: &str, expected: &Expect) {
    let problems = class(spec).problems(&Settings::default());
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn both_documented_spellings_are_one_class() {
    problems(CRD_SPELLING, &expect![""]);
    problems(README_SPELLING, &expect![""]);
    assert_eq!(class(CRD_SPELLING).hash(), class(README_SPELLING).hash());
}

#[test]
fn a_class_that_says_nothing_is_told_what_it_needs() {
    problems(
        "spec: {}\n",
        &expect![[r#"
        SelectorMissing: spec.computeSelector: says nothing; write {name: …} or {tags: {category: tag}}
        SelectorMissing: spec.datastoreSelector: says nothing; write {name: …} or {tags: {category: tag}}
        SelectorMissing: spec.networkSelector: says nothing; write {name: …} or {tags: {category: tag}}
        SelectorMissing: spec.imageSelector: says nothing; write {name: …}, {pattern: …} or {tags: {category: tag}}
        InvalidInstanceType: spec.instanceTypes: lists no size; add one such as {os: linux, cpu: 4, memory: 16Gi}"#]],
    );
}

#[test]
fn what_cannot_be_meant_is_told_with_its_remedy() {
    problems(
        r#"spec:
  computeSelector: {tag: yes, name: C0}
  datastoreSelector: {tags: {a: b}, tag: {a: c}}
  networkSelector: {name: net}
  imageSelector: {name: i}
  instanceTypes: [{os: linux, cpu: 4, memory: 16}]
  tags: {topology.kubernetes.io/zone: az1, k8s-zone: az2}
  cloneMode: instant
  powerOffMode: gently
  folder: ../others
  zones: [{name: a, folder: ../../x}]
  dataDisks: [{sizeGiB: 0}, {sizeGiB: 5, provisioningMode: thin}]
  customVMXKeys: {joiner.cluster: mine, guestinfo.userdata: x, "": "y"}
  userData: {type: bash}
"#,
        &expect![[r#"
            InvalidSelector: spec.computeSelector.tag: is no map of texts; write tags as {category: tag}
            AmbiguousSpelling: spec.datastoreSelector.tag: means the same as spec.datastoreSelector.tags and says something else; remove one of them
            InvalidUserData: spec.userData.type: "bash" is not known; write cloud-config, ignition or talos
            ConflictingZoneTags: spec.tags["topology.kubernetes.io/zone"]: is "az1", and spec.tags["k8s-zone"], which means the same, is "az2"; an instance has one: make them equal or remove one
            InvalidInstance: spec.cloneMode: "instant" is not known; write auto, linkedClone or fullClone
            InvalidInstance: spec.powerOffMode: "gently" is not known; write hard or trySoft
            InvalidInstance: spec.zones[0].folder: "../../x" leads upwards; write a path below the controller's folder
            InvalidInstance: spec.folder: "../others" leads upwards; write a path below the controller's folder
            InvalidInstance: spec.dataDisks[0].sizeGiB: 0 is no disk's size; write GiB, 1 or more
            InvalidInstance: spec.dataDisks[1].provisioningMode: "thin" is not known; write Thin, Thick or EagerlyZeroed
            InvalidInstance: spec.customVMXKeys[""]: is not yours to set; use a key that does not begin with joiner. or guestinfo.
            InvalidInstance: spec.customVMXKeys["guestinfo.userdata"]: is not yours to set; use a key that does not begin with joiner. or guestinfo.
            InvalidInstance: spec.customVMXKeys["joiner.cluster"]: is not yours to set; use a key that does not begin with joiner. or guestinfo."#]],
    );
}

#[test]
fn a_zone_map_may_say_what_the_class_leaves_out() {
    problems(
        r#"spec:
  imageSelector: {name: i}
  instanceTypes: [{os: linux, cpu: 4, memory: 16}]
  zones:
  - {name: a, computeSelector: {name: C0}, datastoreSelector: {name: d}, networkSelector: {tag: {net: a}}}
  - {name: b, computeSelector: {name: C1}, datastoreSelector: {name: d}, networkSelector: {tag: {net: b}}}
"#,
        &expect![""],
    );
}

#[test]
fn a_field_that_another_overrules_is_named() {
    let class = class(
        "spec:
  computeSelector: {tags: {a: b}, name: C0}
  imageSelector: {name: i, pattern: i-*}
  dcSelector: {tags: {a: b}, name: DC0}
",
    );
    assert_eq!(
        class.ignored(),
        [
            "VsphereNodeClass \"general\": spec.computeSelector.name is not used, because tags is \
             set too",
            "VsphereNodeClass \"general\": spec.imageSelector.pattern is not used, because name is \
             set too",
            "VsphereNodeClass \"general\": spec.dcSelector.id is not used, because tags is set too",
        ]
    );
}

#[test]
fn an_added_size_or_a_corrected_selector_replaces_no_instance() {
    let with_more = CRD_SPELLING
        .replace("  tags:", "  - {os: linux, cpu: 8, memory: 32, zone: az1}\n  tags:")
        .replace("Cluster01", "Cluster02");
    assert_eq!(class(CRD_SPELLING).hash(), class(&with_more).hash());
    let other_disk = CRD_SPELLING.replace("diskSize: 60", "diskSize: 80");
    assert_ne!(class(CRD_SPELLING).hash(), class(&other_disk).hash());
}

/// The definition accepts whatever upstream's accepts: nothing is ruled that upstream does not rule,
/// but for amounts that may be numbers here.
#[test]
fn the_definition_refuses_only_what_upstreams_refuses() {
    let upstream = include_str!("../facts/vspherenodeclasses.karpenter.vsphere.com.txt");
    let upstream: Facts = upstream.parse().expect("any text has facts");
    let ours = Facts::of(&crd());
    let differences = ours.differences(&upstream).filter(|line| !line.contains(": only ours is "));
    let mut lines: Vec<String> = differences.collect();
    lines.sort();
    expect![[r#"
        v1alpha1 .spec.instanceTypes[].cpu type: only upstream's is "string"
        v1alpha1 .spec.instanceTypes[].maxPods type: only upstream's is "string"
        v1alpha1 .spec.instanceTypes[].memory type: only upstream's is "string""#]]
    .assert_eq(&lines.join("\n"));
}

/// Rules, not types, among what is only ours would refuse what was accepted.
#[test]
fn what_is_only_ours_are_fields_and_not_rules() {
    let upstream = include_str!("../facts/vspherenodeclasses.karpenter.vsphere.com.txt");
    let upstream: Facts = upstream.parse().expect("any text has facts");
    let ours = Facts::of(&crd());
    for line in ours.differences(&upstream).filter(|line| line.contains(" .spec")) {
        let rules = ["required", "enum", "minimum", "maximum", "Length", "Items", "pattern"];
        let of_new_field =
            ["guestSoftPowerOffTimeout pattern", "networks maxItems", "zones maxItems"];
        let may_be = of_new_field.iter().any(|rule| line.contains(rule));
        assert!(!rules.iter().any(|rule| line.contains(rule)) || may_be, "{line}");
    }
}

#[test]
fn every_field_that_is_read_is_in_the_definition() {
    let crd = crd();
    let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let fields = |of: &Value| -> Vec<String> {
        of["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    assert!(fields(spec).contains(&"userdata".to_owned()));
    let selector = &spec["properties"]["dcSelector"];
    assert_eq!(fields(selector), ["id", "name", "tag", "tags"]);
    assert_eq!(
        fields(&spec["properties"]["zones"]["items"]["properties"]["computeSelector"]),
        ["name", "tag", "tags"]
    );
}

#[test]
fn fields_of_early_versions_are_accepted_and_told() {
    let spec = CRD_SPELLING.replace(
        "userData: {type: cloud-config, additionalUserdata: \"runcmd: [echo joined]\"}",
        "userData: {templateBase64: I2Nsb3VkLWNvbmZpZwo=, values: {name: values, namespace: kube-system}}",
    );
    problems(
        &spec,
        &expect![[r#"
        InvalidUserData: spec.userData.templateBase64: is of an early version and means nothing any more; write your text, decoded and with its values filled in, into spec.userData.additionalUserdata or into a Secret that spec.userData.secretRef names
        InvalidUserData: spec.userData.values: is of an early version and means nothing any more; write your text, decoded and with its values filled in, into spec.userData.additionalUserdata or into a Secret that spec.userData.secretRef names"#]],
    );
    let crd = crd();
    let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    for field in ["templateBase64", "values"] {
        assert_ne!(spec["properties"]["userData"]["properties"][field], Value::Null, "{field}");
    }
}

#[test]
fn sockets_have_to_be_full() {
    let spec = CRD_SPELLING.replace("cpu: \"4\"", "cpu: \"4\", coresPerSocket: 3");
    problems(
        &spec,
        &expect![[
            r#"InvalidInstanceType: spec.instanceTypes[0].coresPerSocket: 3 does not divide its 4 CPUs; write a number that does, or leave it out"#
        ]],
    );
    let of_class = CRD_SPELLING.replace("diskSize: 60", "numCoresPerSocket: 8");
    problems(
        &of_class,
        &expect![[
            r#"InvalidInstanceType: spec.instanceTypes[0].coresPerSocket: 8 (spec.numCoresPerSocket) does not divide its 4 CPUs; write a number that does, or leave it out"#
        ]],
    );
}
