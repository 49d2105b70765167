//! What a class may say, and what is said of one that cannot be used.

use std::{env, fs, path::Path};

use expect_test::{Expect, expect};
use joiner_api::facts::Facts;
use joiner_cloudstack::{NodeClass, crd};
use serde_json::{Value, json};

use crate::cloud::class;

fn sample(text: &str) -> NodeClass {
    let object: Value = serde_saphyr::from_str(text).expect("a sample is YAML");
    NodeClass::read(&object).expect("a sample is a class")
}

#[track_caller]
fn problems(class: &NodeClass, expected: &Expect) {
    let lines: Vec<String> = class.problems().iter().map(ToString::to_string).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn classes_that_users_have_are_read_whole() {
    let by_tags = sample(include_str!("../samples/class-of-tags.yaml"));
    assert_eq!(by_tags.zones(), ["zone-a"]);
    assert_eq!(by_tags.spec.user_data.as_deref(), Some("#!/bin/sh\necho ready\n"));
    let every = sample(include_str!("../samples/class-with-all-fields-of-upstream.yaml"));
    let spec = &every.spec;
    assert_eq!(spec.network_selector_terms.as_ref().map(Vec::len), Some(2));
    assert_eq!(spec.template_selector_terms.as_ref().map(Vec::len), Some(2));
    assert_eq!(spec.root_disk_size, Some(50));
    assert_eq!(spec.disk_offering.as_deref(), Some("Small"));
    assert_eq!(spec.ssh_key_pair.as_deref(), Some("operators"));
    assert_eq!(spec.tags.as_ref().map(std::collections::BTreeMap::len), Some(2));
    let zones = sample(include_str!("../samples/class-of-two-zones.yaml"));
    assert_eq!(zones.zones(), ["zone-a", "zone-b"]);
    for class in [by_tags, every, zones] {
        problems(&class, &expect![""]);
        assert_eq!(class.ignored(), Vec::<String>::new());
    }
}

#[test]
fn zones_are_asked_for_once_each_the_single_one_first() {
    let zones = |more| class(more).zones().join(" ");
    assert_eq!(zones(json!({"zones": ["b", "zone-a", " ", "b"]})), "zone-a b");
    assert_eq!(zones(json!({"zone": null, "zones": ["b"]})), "b");
    assert_eq!(zones(json!({"zone": ""})), "");
}

#[test]
fn a_field_of_the_wrong_type_is_named_with_the_remedy() {
    let object = json!({"metadata": {"name": "general"}, "spec": {"rootDiskSize": "50G"}});
    let error = NodeClass::read(&object).unwrap_err().to_string();
    assert!(error.starts_with("CloudStackNodeClass \"general\": spec.rootDiskSize: "), "{error}");
}

/// Defect 8 of upstream, and what else a class cannot mean.
#[test]
fn what_cannot_be_meant_is_told_with_its_remedy() {
    problems(
        &class(json!({
            "tags": {"team": "", "long": "x".repeat(300), "team2": "a\tb"},
            "details": {"cpuNumber": "4", "extraconfig-1": "x", "karpenter.sh/nodeclaim": "x", "a[0]": "b", "ok": "1"},
            "antiAffinity": "rack",
            "bootType": "UEFI",
            "userDataFormat": "zip",
            "bootstrap": {"distro": "kops", "mode": "add", "tokenSecretRef": {"name": ""}},
            "customOfferingShapes": [{"cpu": 0, "memoryMiB": 1, "cpuSpeedMHz": 0}],
            "diskSizeGiB": 0,
            "affinityGroups": [{}],
            "kubelet": {"evictionHard": {"memory.available": "lots"}},
        })),
        &expect![[r#"
            InvalidTags: spec.tags["long"]: is too long; write 255 characters at most
            InvalidTags: spec.tags["team"]: is empty, which CloudStack refuses; write a value
            InvalidTags: spec.tags["team2"]: has control characters; leave them out
            InvalidInstance: spec.details["a[0]"]: has a key that CloudStack cannot read; write one without brackets
            InvalidInstance: spec.details["cpuNumber"]: is the service offering's to say; use customOfferingShapes
            InvalidInstance: spec.details["extraconfig-1"]: changes the hypervisor's own definition; leave it out
            InvalidInstance: spec.details["karpenter.sh/nodeclaim"]: says whose an instance is; leave it out
            InvalidInstance: spec.antiAffinity: "rack" is not known; write host or soft-host
            InvalidInstance: spec.bootstrap.mode: "add" is not known; write merge or replace
            InvalidInstance: spec.bootstrap.distro: "kops" is not known; write kubeadm, rke2, rke2airgapped, k3s, talos or none
            InvalidUserData: spec.userDataFormat: "zip" is not known; write raw, gzip or auto
            InvalidInstance: spec.bootMode: is needed with bootType UEFI; write LEGACY or SECURE
            InvalidInstanceType: spec.customOfferingShapes[0].cpu: 0 is no number of CPUs; write 1 or more
            InvalidInstanceType: spec.customOfferingShapes[0].memoryMiB: 1 is too little; write MiB, 32 or more
            InvalidInstanceType: spec.customOfferingShapes[0].cpuSpeedMHz: 0 is no speed; write MHz, 1 or more
            InvalidDiskSize: spec.diskSizeGiB: 0 is no disk's size; write GiB, 1 or more
            SelectorMissing: spec.affinityGroups[0]: says nothing; write {id: …} or {name: …}
            InvalidUserData: spec.bootstrap.tokenSecretRef.name: is empty; write the name of a Secret
            InvalidKubelet: spec.kubelet.evictionHard["memory.available"]: "lots" is not a threshold; write an amount such as 200Mi, or a percentage such as 5%"#]],
    );
    problems(
        &class(json!({"bootMode": "SECURE"})),
        &expect![
            "InvalidInstance: spec.bootMode: means nothing without bootType UEFI; write it too"
        ],
    );
}

/// Defect 7 of upstream.
#[test]
fn tags_that_say_whose_an_instance_is_are_not_the_users() {
    let class = class(json!({"tags": {
        "karpenter.sh/managed-by": "me",
        "kubernetes.io/cluster/other": "owned",
        "team": "shop",
    }}));
    problems(&class, &expect![""]);
    let ignored = class.ignored().join("\n");
    assert!(ignored.contains("spec.tags[\"karpenter.sh/managed-by\"] is not used"), "{ignored}");
    assert!(
        ignored.contains("spec.tags[\"kubernetes.io/cluster/other\"] is not used"),
        "{ignored}"
    );
    assert!(!ignored.contains("team"), "{ignored}");
}

fn upstream() -> Facts {
    let facts = include_str!("../facts/cloudstacknodeclasses.karpenter.k8s.cloudstack.txt");
    facts.parse().expect("any text has facts")
}

/// Only where definitions of upstream are at hand: `JOINER_CRDS` names their folder, as seen from
/// the root of the checkout.
#[test]
fn the_facts_are_those_of_upstreams_definition() {
    let Some(folder) = env::var_os("JOINER_CRDS") else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = "cloudstack/karpenter.k8s.cloudstack_cloudstacknodeclasses.yaml";
    let text = fs::read_to_string(root.join(folder).join(file)).unwrap();
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    let differences: Vec<String> = upstream().differences(&Facts::of(&documents[0])).collect();
    assert_eq!(differences, Vec::<String>::new());
}

/// Defect 1 of upstream is a difference: a term that says only an osType is accepted.
#[test]
fn the_definition_accepts_all_that_upstreams_accepts() {
    let ours = Facts::of(&crd());
    let upstream = upstream();
    let differences = ours.differences(&upstream).filter(|line| !line.contains(": only ours is "));
    let mut lines: Vec<String> = differences.collect();
    lines.sort();
    expect![[r#"
        v1 .spec required: ours is ["networkSelectorTerms","serviceOfferingSelectorTerms","templateSelectorTerms"], upstream's is ["networkSelectorTerms","serviceOfferingSelectorTerms","templateSelectorTerms","zone"]
        v1 .spec.templateSelectorTerms x-kubernetes-validations: ours is [{"message":"templateSelectorTerms cannot be empty","rule":"self.size() != 0"},{"message":"expected at least one, got none, ['tags', 'id', 'name', 'osType']","rule":"self.all(x, has(x.tags) || has(x.id) || has(x.name) || has(x.osType))"}], upstream's is [{"message":"templateSelectorTerms cannot be empty","rule":"self.size() != 0"},{"message":"expected at least one, got none, ['tags', 'id', 'name']","rule":"self.all(x, has(x.tags) || has(x.id) || has(x.name))"}]"#]].assert_eq(&lines.join("\n"));
}

/// Rules, not types, among what is only ours would refuse what was accepted.
#[test]
fn what_is_only_ours_are_fields_and_not_rules() {
    let ours = Facts::of(&crd());
    let upstream = upstream();
    let rules = ["required", "enum", "minimum", "maximum", "pattern", "maxItems", "Length"];
    let is_rule = |line: &String| rules.iter().any(|rule| line.contains(&format!(" {rule}: ")));
    let lines: Vec<String> = ours
        .differences(&upstream)
        .filter(|line| line.contains(" .spec.") && line.contains(": only ours is "))
        .filter(is_rule)
        .collect();
    // All of them are of fields that upstream does not have.
    expect![[r#"
        v1 .spec.additionalNetworks maxItems: only ours is 30
        v1 .spec.affinityGroups maxItems: only ours is 30
        v1 .spec.customOfferingShapes maxItems: only ours is 100
        v1 .spec.securityGroups maxItems: only ours is 30
        v1 .spec.zones maxItems: only ours is 30"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn every_field_that_is_read_is_in_the_definition() {
    let crd = crd();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    let fields = |of: &Value| -> Vec<String> {
        of["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    expect!["additionalNetworks affinityGroups antiAffinity bootMode bootType bootstrap customOfferingShapes details diskOffering diskSizeGiB instanceGroup kubelet networkSelectorTerms overrideDiskOffering projectID rootDiskSize securityGroups serviceOfferingSelectorTerms sshKeyPair tags templateSelectorTerms userData userDataFormat zone zones"].assert_eq(&fields(&schema["spec"]).join(" "));
    expect!["conditions diskOfferingID kubernetesVersion networks scope serviceOfferings templates zoneID"].assert_eq(&fields(&schema["status"]).join(" "));
    expect![
        "cpuNumber cpuSpeed customized gpus id memory name networkRate price rootDiskGiB zones"
    ]
    .assert_eq(&fields(&schema["status"]["properties"]["serviceOfferings"]["items"]).join(" "));
}
