//! What objects say, and what is said of those that cannot be used.

use expect_test::{Expect, expect};
use joiner_proxmox::{
    NodeClass,
    node_class::{self, TemplateZone},
    object::Problem,
    template, unmanaged_template,
};
use serde_json::json;

use crate::{ALL_FIELDS, accepted, read};

#[track_caller]
fn told(problems: &[Problem], expected: &Expect) {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    expected.assert_eq(&lines.join("\n"));
}

const CLASS: &str = "{instanceTemplateRef: {kind: ProxmoxTemplate, name: ubuntu}}";

#[test]
fn a_class_that_only_names_its_template_can_be_used() {
    told(&accepted::<node_class::Spec>(CLASS).problems(), &expect![""]);
}

#[test]
fn what_a_class_cannot_mean_is_told_with_its_remedy() {
    let class = accepted::<node_class::Spec>(
        "
tags: [karpenter, 'not a tag']
securityGroups: [{name: k}, {name: kubernetes, interface: xnet0}, {name: 0group, interface: net32}]
metadataOptions: {type: cdrom, valuesRef: {name: values}}
kubeletConfiguration: {cpuCFSQuotaPeriod: 2s, imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 80}
",
    );
    told(
        &class.problems(),
        &expect![[r#"
        spec.instanceTemplateRef: is missing; name a ProxmoxTemplate or a ProxmoxUnmanagedTemplate
        spec.tags[1]: "not a tag" is no tag; write letters, digits, _ and, after the first, - + .
        spec.securityGroups[0].name: "k" is no name of a security group; write 2 to 18 letters, digits, - and _ that begin with a letter
        spec.securityGroups[1].interface: "xnet0" is no interface; write net0 to net31
        spec.securityGroups[2].name: "0group" is no name of a security group; write 2 to 18 letters, digits, - and _ that begin with a letter
        spec.securityGroups[2].interface: "net32" is no interface; write net0 to net31
        spec.metadataOptions.templatesRef: is missing, and spec.metadataOptions.type is cdrom; name the Secret with the templates, or use type none
        spec.metadataOptions.valuesRef.namespace: is missing; name the Secret in full
        spec.kubeletConfiguration.cpuCFSQuotaPeriod: 2s is out of bounds; write 1ms to 1s
        spec.kubeletConfiguration.imageGCHighThresholdPercent: 80 is not above imageGCLowThresholdPercent, 80; raise it"#]],
    );
}

#[test]
fn a_value_of_the_wrong_type_is_told_with_its_field() {
    let wrong = read::<node_class::Spec>("{bootDevice: {storage: 5}}").unwrap_err();
    expect![[r#"ProxmoxNodeClass "general": spec.bootDevice.storage: invalid type: integer `5`; put it in quotes"#]].assert_eq(&wrong);
    let wrong = read::<node_class::Spec>("{kubeletConfiguration: {shutdownGracePeriod: soon}}");
    expect![[r#"ProxmoxNodeClass "general": spec.kubeletConfiguration.shutdownGracePeriod: "soon" is no duration (a number is missing); write it as 720h or 1h30m"#]].assert_eq(&wrong.unwrap_err());
    let wrong = read::<template::Spec>("{network: vmbr0}").unwrap_err();
    expect![[
        r#"ProxmoxTemplate "general": spec.network: invalid type: string "vmbr0"; write a list"#
    ]]
    .assert_eq(&wrong);
}

/// Upstream: an empty `bootDevice` ends the program, and one without a storage is never ready.
#[test]
fn the_template_decides_about_a_disk_that_the_class_says_nothing_of() {
    let disk = |boot_device: &str| {
        let class = accepted::<node_class::Spec>(&format!("{{bootDevice: {boot_device}}}"));
        (class.disk_bytes(), class.storage().map(str::to_owned))
    };
    assert_eq!(disk("null"), (None, None));
    assert_eq!(disk("{}"), (None, None));
    assert_eq!(disk("{storage: ''}"), (None, None));
    assert_eq!(disk("{storage: local-lvm}"), (None, Some("local-lvm".to_owned())));
    assert_eq!(disk("{size: 30Gi}"), (Some(30 << 30), None));
    assert_eq!(disk("{size: 30G}"), (Some(30_000_000_000), None));
}

#[test]
fn the_status_of_a_class_says_where_it_can_be_used() {
    let class = NodeClass::read(&json!({
        "metadata": {"name": "general", "annotations": {"a": "b"}},
        "spec": {},
        "status": {
            "selectedZones": ["cluster-1/pve-1/101", "cluster-1/pve-2", "x", "a/b/c", "/b/1"],
            "resources": {"zones": "1"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }))
    .unwrap();
    let zone =
        TemplateZone { region: "cluster-1".to_owned(), zone: "pve-1".to_owned(), template: 101 };
    assert_eq!(zone.to_string(), "cluster-1/pve-1/101");
    assert_eq!(class.selected_zones(), [zone]);
}

/// Upstream: takes any of them, so that instances drift back and forth.
#[test]
fn of_several_templates_in_a_zone_the_one_with_the_highest_number_counts() {
    let class = NodeClass::read(&json!({
        "metadata": {"name": "general"},
        "status": {"selectedZones": ["r/a/101", "r/a/900", "r/a/102", "r/b/7", "s/a/999"]},
    }))
    .unwrap();
    assert_eq!(class.template_in("r", "a"), Some(900));
    assert_eq!(class.template_in("r", "b"), Some(7));
    assert_eq!(class.template_in("r", "c"), None);
}

/// Upstream: a name without a dot ends the program.
#[test]
fn an_image_without_an_extension_is_told() {
    let template = accepted::<template::Spec>(
        "
sourceImage: {url: 'https://example.com/a.img', imageName: ubuntu, checksum: 0123456789abcdef0123456789abcdef}
tags: [-x]
network: [{bridge: vmbr0}, {bridge: vmbr1, name: net0}]
",
    );
    assert_eq!(template.image_file(), None);
    told(
        &template.problems(),
        &expect![[r#"
        spec.sourceImage.imageName: "ubuntu" cannot be imported; write letters, digits, - . + = _ and one of the extensions ova, qcow2, raw, vmdk, such as ubuntu.qcow2
        spec.sourceImage.checksumType: is missing, and checksum is there; write both or none
        spec.tags[0]: "-x" is no tag; write letters, digits, _ and, after the first, - + .
        spec.network[1].name: "net0" is that of network[0] too; rename one"#]],
    );
    let img = accepted::<template::Spec>("{sourceImage: {url: u, imageName: noble.img}}");
    told(
        &img.problems(),
        &expect![[
            r#"spec.sourceImage.imageName: "noble.img" cannot be imported; write letters, digits, - . + = _ and one of the extensions ova, qcow2, raw, vmdk, such as ubuntu.qcow2"#
        ]],
    );
}

#[test]
fn an_unmanaged_template_is_found_by_name_and_tags() {
    let matches = |spec: &str, name: &str, tags: &[&str]| {
        accepted::<unmanaged_template::Spec>(spec).matches(name, tags)
    };
    assert!(matches("{templateName: talos}", "talos", &[]));
    assert!(!matches("{templateName: talos}", "talos-2", &[]));
    assert!(matches("{tags: [a, b]}", "any", &["c", "b", "a"]));
    assert!(!matches("{tags: [a, b]}", "any", &["a"]));
    assert!(!matches("{templateName: talos, tags: [a]}", "talos", &[]));
    assert!(!matches("{}", "talos", &["a"]));
    told(
        &accepted::<unmanaged_template::Spec>("{tags: []}").problems(),
        &expect!["spec.templateName: is empty, and so is spec.tags; write one of them"],
    );
}

#[test]
fn documented_objects_can_be_used() {
    let class = accepted::<node_class::Spec>(ALL_FIELDS);
    told(&class.problems(), &expect![""]);
    let template = accepted::<template::Spec>(
        "
sourceImage:
  url: https://cloud-images.ubuntu.com/noble/current/noble-server-cloudimg-amd64.img
  imageName: ubuntu-amd64.qcow2
storageIDs: [local, system]
network: [{name: net0, bridge: vmbr0, firewall: true}, {bridge: vmbr1, address4: 172.16.0.0/24}]
tags: [karpenter]
",
    );
    told(&template.problems(), &expect![""]);
}
