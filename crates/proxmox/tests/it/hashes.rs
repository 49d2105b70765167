//! Hashes that the predecessor has written for years. The numbers come from its own hash library, run
//! on its types; objects are as the API server returns them, with defaults filled in.

use joiner_core::label::Labels;
use joiner_proxmox::{
    NODE_CLASS_HASH, NODE_CLASS_HASH_V2, NODE_CLASS_HASH_VERSION, hash, node_class, template,
    unmanaged_template,
};

use crate::{ALL_FIELDS, accepted};

/// A class that says nothing but its template, with what the API server fills in.
const PLAIN: &str = "
placementStrategy: {zoneBalance: Balanced}
instanceTemplateRef: {kind: ProxmoxUnmanagedTemplate, name: default}
bootDevice: {size: 30G}
metadataOptions: {type: none}
";

fn class(yaml: &str) -> node_class::Spec {
    accepted::<node_class::Spec>(yaml).spec
}

/// The plain class with another disk and with more fields.
fn with(boot_device: &str, more: &str) -> node_class::Spec {
    class(&(PLAIN.replace("{size: 30G}", boot_device) + more))
}

fn built(yaml: &str) -> template::Spec {
    accepted::<template::Spec>(yaml).spec
}

#[test]
fn the_hash_of_a_class_is_the_predecessors() {
    let all_fields = class(ALL_FIELDS);
    let every_kubelet_field = "
kubeletConfiguration:
  cpuManagerPolicy: static
  cpuCFSQuota: false
  cpuCFSQuotaPeriod: 100ms
  topologyManagerPolicy: restricted
  topologyManagerScope: pod
  imageGCHighThresholdPercent: 85
  imageGCLowThresholdPercent: 0
  shutdownGracePeriod: 0s
  allowedUnsafeSysctls: [a, b]
  clusterDNS: [10.96.0.10, 10.96.0.11]
  maxPods: 250
  failSwapOn: false
";
    let some_kubelet_fields = "
region: region-1
kubeletConfiguration:
  maxPods: 110
  allowedUnsafeSysctls: [net.core.somaxconn]
  shutdownGracePeriod: 30s
  failSwapOn: true
";
    let local = "{size: 30G, storage: local-lvm}";
    for (name, spec, expected) in [
        ("a size in Gi", with("{size: 30Gi, storage: local-lvm}", ""), 10_973_438_101_838_332_853),
        (
            "another size in Gi",
            with("{size: 50Gi, storage: local-lvm}", ""),
            10_973_438_101_838_332_853,
        ),
        ("a size in G", with(local, ""), 11_205_874_039_373_853_196),
        ("some kubelet fields", with(local, some_kubelet_fields), 4_565_689_150_616_366_911),
        (
            "the chart's default",
            with("{size: 30Gi}", "tags: [karpenter]"),
            10_300_345_655_448_831_625,
        ),
        ("nothing but a template", class(PLAIN), 3_692_284_242_780_041_042),
        ("a disk without a size", with("{}", ""), 7_308_968_692_438_518_325),
        ("all fields", all_fields, 8_342_286_890_227_181_860),
        (
            "every kubelet field",
            with("{size: 30G}", every_kubelet_field),
            2_663_363_805_639_870_011,
        ),
        (
            "an empty kubelet",
            with("{size: 30G}", "kubeletConfiguration: {}"),
            15_592_588_900_284_335_790,
        ),
        (
            "empty lists",
            with("{size: 30G}", "kubeletConfiguration: {allowedUnsafeSysctls: [], clusterDNS: []}"),
            12_118_879_284_376_845_173,
        ),
    ] {
        assert_eq!(hash::class_hash(&spec), expected, "{name}");
    }
}

#[test]
fn the_hash_of_what_is_changed_in_place_is_the_predecessors() {
    let groups = "securityGroups: [{name: kubernetes, interface: net0}]\ntags: [karpenter]\n";
    for (more, expected) in [
        ("", 3_728_091_669_883_753_481),
        ("securityGroups: []\ntags: []\n", 4_490_619_353_072_946_130),
        ("tags: []\n", 10_533_616_525_125_827_687),
        ("tags: [a, a]\n", 10_533_616_525_125_827_687),
        (groups, 2_080_990_894_435_163_133),
        (&format!("{groups}resourcePool: k8s-pool\n"), 6_701_194_370_083_730_206),
    ] {
        assert_eq!(hash::class_in_place_hash(&with("{size: 30G}", more)), expected, "{more}");
    }
}

#[test]
fn a_list_that_is_left_out_is_not_an_empty_one() {
    let hashes = ["", "tags: []\n", "securityGroups: []\n", "securityGroups: []\ntags: []\n"]
        .map(|more| hash::class_in_place_hash(&with("{size: 30G}", more)));
    let different: std::collections::BTreeSet<u64> = hashes.into_iter().collect();
    assert_eq!(different.len(), hashes.len());
    assert_eq!(
        hash::class_in_place_hash(&with("{size: 30G}", "tags: null\n")),
        hash::class_in_place_hash(&class(PLAIN)),
    );
    let v2 = |kubelet: &str| hash::class_hash_v2(&with("{size: 30G}", kubelet));
    assert_ne!(v2("kubeletConfiguration: {}"), v2("kubeletConfiguration: {clusterDNS: []}"));
}

const NOBLE: &str = "
sourceImage:
  url: https://cloud-images.ubuntu.com/noble/current/noble-server-cloudimg-amd64.img
  imageName: ubuntu-amd64.qcow2
storageIDs: [local, system]
bios: seabios
";

#[test]
fn the_hash_of_a_template_is_the_predecessors() {
    let ovmf = NOBLE.replace("seabios", "ovmf");
    let with_checksum = NOBLE
        .replace(
            "qcow2",
            "qcow2\n  checksum: 0123456789abcdef0123456789abcdef\n  checksumType: md5",
        )
        .replace("[local, system]", "[local]");
    for (yaml, expected) in [
        (NOBLE.to_owned(), 15_056_069_769_932_308_309),
        (format!("{ovmf}tpm: {{version: v2.0}}"), 4_777_961_696_313_233_259),
        (ovmf, 15_416_419_670_075_801_403),
        (with_checksum, 3_652_382_976_394_965_012),
    ] {
        assert_eq!(hash::template_hash(&built(&yaml)), expected, "{yaml}");
    }
}

#[test]
fn the_in_place_hash_of_a_template_is_the_predecessors() {
    let sample = "
machine: q35
agent: {enabled: true, type: virtio}
cpu: {type: x86-64-v2-AES}
vga: {type: serial0}
network:
- {name: net0, bridge: vmbr0, firewall: true, model: virtio, mtu: 1500, dnsServers: ['2001:4860:4860::8888']}
- {name: net1, bridge: vmbr1, model: virtio, mtu: 1400, address4: 172.16.0.0/24, address6: 'fd60:172:16::/64', dnsServers: [1.1.1.1]}
tags: [karpenter]
resourcePool: k8s-pool
";
    let plain = "
machine: q35
cpu: {type: x86-64-v2-AES}
network: [{bridge: vmbr0, model: virtio, mtu: 1500}]
";
    let everything = "
region: r
description: d
machine: pc
agent: {enabled: false, type: isa, fsFreezeOnBackup: true, fsTrimClonedDisks: false}
cpu: {type: host, flags: [+aes, -pcid]}
vga: {type: std, memory: 64}
network:
- {name: net3, bridge: vmbr0, model: e1000, mtu: 1, vlan: 100, firewall: false, address4: 10.0.0.0/24, address6: auto, gateway4: 10.0.0.1, gateway6: 'fe80::1'}
pciDevices: [{mapping: gpu, mdev: nvidia-35, pcie: true, xvga: false}, {mapping: nic}]
tags: []
onBoot: true
";
    for (yaml, expected) in [
        (sample, 12_155_891_166_932_368_899),
        (plain, 13_165_882_920_411_807_815),
        (everything, 13_868_522_786_134_833_600),
    ] {
        let spec = built(&format!("{NOBLE}{yaml}"));
        assert_eq!(hash::template_in_place_hash(&spec), expected, "{yaml}");
    }
}

#[test]
fn the_hash_of_an_unmanaged_template_is_the_predecessors() {
    for (yaml, expected) in [
        ("templateName: talos", 14_587_684_416_086_957_547),
        ("{templateName: talos, tags: [a, b]}", 10_266_934_317_071_862_457),
        ("{tags: [talos-k8s-proxmox, talos]}", 649_580_120_659_006_835),
    ] {
        let spec = accepted::<unmanaged_template::Spec>(yaml).spec;
        assert_eq!(hash::unmanaged_template_hash(&spec), expected, "{yaml}");
    }
}

#[test]
fn instances_of_a_template_are_known_by_its_hash() {
    let meta = "creation-qemu=9.2.0,ctime=1754811620";
    let id = |description| template::image_id(101, meta, description);
    assert_eq!(id(""), "101-151445218505738649");
    assert_eq!(id("Made by hand"), "101-151445218505738649");
    assert_eq!(id("Template of Karpenter Hash: 15056069769932308309"), "15056069769932308309");
    assert_eq!(id("Hash: none, Hash:\n 17 of something"), "17");
    let template = accepted::<template::Spec>(NOBLE);
    assert_eq!(template.image_file().as_deref(), Some("ubuntu-amd64-9606822589293882907.qcow2"));
}

/// Upstream: the size counts by its unit alone, so that a larger disk replaces no node.
#[test]
fn a_larger_disk_is_a_change_of_the_class() {
    let v2 = |size: &str| hash::class_hash_v2(&with(&format!("{{size: {size}}}"), ""));
    assert_ne!(v2("30Gi"), v2("50Gi"));
    assert_eq!(v2("1Ti"), v2("1024Gi"));
    assert_ne!(v2("30G"), v2("30Gi"));
}

#[test]
fn what_is_changed_in_place_replaces_no_node() {
    let more = "tags: [a]\nsecurityGroups: [{name: g1}]\nresourcePool: p\n";
    let (plain, changed) = (class(PLAIN), with("{size: 30G}", more));
    assert_eq!(hash::class_hash(&plain), hash::class_hash(&changed));
    assert_eq!(hash::class_hash_v2(&plain), hash::class_hash_v2(&changed));
}

#[test]
fn the_second_hash_is_the_same_for_ever() {
    // Another number would replace every node.
    assert_eq!(hash::class_hash_v2(&class(PLAIN)), 332_227_448_858_012_183);
}

#[test]
fn the_second_hash_decides_where_both_have_it() {
    let annotations = |pairs: &[(&str, &str)]| -> Labels {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let of_class = annotations(&[
        (NODE_CLASS_HASH, "1"),
        (NODE_CLASS_HASH_VERSION, "v1"),
        (NODE_CLASS_HASH_V2, "10"),
    ]);
    let of_claim = |first, version, second: Option<&str>| {
        let mut pairs = vec![(NODE_CLASS_HASH, first), (NODE_CLASS_HASH_VERSION, version)];
        pairs.extend(second.map(|second| (NODE_CLASS_HASH_V2, second)));
        annotations(&pairs)
    };
    for (claim, expected) in [
        (of_claim("1", "v1", Some("10")), false),
        (of_claim("1", "v1", Some("11")), true),
        (of_claim("2", "v1", Some("10")), false),
        (of_claim("1", "v1", None), false),
        (of_claim("2", "v1", None), true),
        (of_claim("2", "v0", None), false),
        (annotations(&[]), false),
    ] {
        assert_eq!(hash::class_has_changed(&claim, &of_class), expected, "{claim:?}");
    }
}
