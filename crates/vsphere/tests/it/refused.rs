//! Classes that cannot be used: the message names class, entry, field and remedy.

use expect_test::{Expect, expect};

use crate::{instances, read};

/// What a controller would say of a class that the API server accepts.
#[track_caller]
fn not_ready(spec: &str, expected: &Expect) {
    let problem = instances(spec).expect_err("it cannot be used").to_string();
    expected
        .assert_eq(&problem.replace("; Invalid", "\nInvalid").replace(": Invalid", ":\nInvalid"));
}

/// What the API server would say.
#[track_caller]
fn not_a_class(spec: &str, expected: &Expect) {
    expected.assert_eq(&read(spec).expect_err("the schema refuses it"));
}

#[test]
fn every_bad_field_is_told_at_once() {
    not_ready(
        "spec:
  diskSize: -1
  kubelet:
    systemReserved: {memory: -1Gi}
    evictionHard: {memory.available: much}
  zones: [{name: ''}, {name: a b, region: '-'}]
  instanceTypes:
  - {}
  - {os: beos, arch: ppc64le, cpu: many, memory: '16.5', maxPods: 513, zone: a/b, region: -x}
  - {os: linux, cpu: 0, memory: 0, maxPods: 0, name: _, price: -1, diskSize: -5}
  - {os: linux, cpu: '2.5', memory: -4Gi, price: free}
  - os: linux
    cpu: 10000
    memory: '99999999999999999999'
    extendedResources: {gpu: 1, nvidia.com/gpu: 500m}
    labels: {a/b/c: x, kubernetes.io/arch: arm64, karpenter.vsphere.com/x: z, example.com/a: '-'}
",
        &expect![[r#"
            VsphereNodeClass "general" is not ready:
            InvalidDiskSize: spec.diskSize: -1 is not a disk size; write GiB, or 0 to keep the template's
            InvalidKubelet: spec.kubelet.systemReserved.memory: -1Gi is below zero; write an amount of 0 or more
            InvalidKubelet: spec.kubelet.evictionHard["memory.available"]: "much" is not a threshold; write an amount such as 200Mi, or a percentage such as 5%
            InvalidZone: spec.zones[0].name: is empty; name the zone
            InvalidZone: spec.zones[1].name: "a b" is not a valid value of a label; use at most 63 letters, digits and, between them, - _ .
            InvalidZone: spec.zones[1].region: "-" is not a valid value of a label; use at most 63 letters, digits and, between them, - _ .
            InvalidInstanceType: spec.instanceTypes[0].cpu: is missing; write a whole number from 1 to 9999
            InvalidInstanceType: spec.instanceTypes[0].memory: is missing; write GiB as a whole number such as 16, or an amount such as 16Gi
            InvalidInstanceType: spec.instanceTypes[0].os: is missing; write linux or windows
            InvalidInstanceType: spec.instanceTypes[1].cpu: "many" is not a number of CPUs; write a whole number from 1 to 9999
            InvalidInstanceType: spec.instanceTypes[1].memory: "16.5" is no instance's memory; write GiB as a whole number such as 16, or an amount such as 16Gi
            InvalidInstanceType: spec.instanceTypes[1].os: "beos" is not known; write linux or windows
            InvalidInstanceType: spec.instanceTypes[1].arch: "ppc64le" is not known; write amd64 or arm64
            InvalidInstanceType: spec.instanceTypes[1].zone: "a/b" is not a valid value of a label; use at most 63 letters, digits and, between them, - _ .
            InvalidInstanceType: spec.instanceTypes[1].region: "-x" is not a valid value of a label; use at most 63 letters, digits and, between them, - _ .
            InvalidInstanceType: spec.instanceTypes[1].maxPods: "513" is not a number of pods; write a whole number from 1 to 512, or leave it out
            InvalidInstanceType: spec.instanceTypes[2].cpu: "0" is not a number of CPUs; write a whole number from 1 to 9999
            InvalidInstanceType: spec.instanceTypes[2].memory: "0" is no instance's memory; write GiB as a whole number such as 16, or an amount such as 16Gi
            InvalidInstanceType: spec.instanceTypes[2].price: "-1" is not a price; write a number of 0 or more
            InvalidInstanceType: spec.instanceTypes[2].name: "_" is not a valid value of a label; use at most 63 letters, digits and, between them, - _ .
            InvalidInstanceType: spec.instanceTypes[2].diskSize: -5 is not a disk size; write GiB, or 0 to keep the template's
            InvalidInstanceType: spec.instanceTypes[2].maxPods: "0" is not a number of pods; write a whole number from 1 to 512, or leave it out
            InvalidInstanceType: spec.instanceTypes[3].cpu: "2.5" is not a number of CPUs; write a whole number from 1 to 9999
            InvalidInstanceType: spec.instanceTypes[3].memory: "-4Gi" is no instance's memory; write GiB as a whole number such as 16, or an amount such as 16Gi
            InvalidInstanceType: spec.instanceTypes[3].price: "free" is not a price; write a number of 0 or more
            InvalidInstanceType: spec.instanceTypes[4].cpu: "10000" is not a number of CPUs; write a whole number from 1 to 9999
            InvalidInstanceType: spec.instanceTypes[4].memory: "99999999999999999999" is no instance's memory; write GiB as a whole number such as 16, or an amount such as 16Gi
            InvalidInstanceType: spec.instanceTypes[4].extendedResources["gpu"]: is not an extended resource; write a name such as nvidia.com/gpu
            InvalidInstanceType: spec.instanceTypes[4].extendedResources["nvidia.com/gpu"]: 500m is not a whole number of 0 or more; write one
            InvalidInstanceType: spec.instanceTypes[4].labels["a/b/c"]: is not a label key; write one such as example.com/disk
            InvalidInstanceType: spec.instanceTypes[4].labels["example.com/a"]: "-" is not a valid value of a label; use at most 63 letters, digits and, between them, - _ .
            InvalidInstanceType: spec.instanceTypes[4].labels["karpenter.vsphere.com/x"]: is reserved; use a domain of your own
            InvalidInstanceType: spec.instanceTypes[4].labels["kubernetes.io/arch"]: is reserved; use a domain of your own"#]],
    );
}

#[test]
fn no_sizes_and_too_many() {
    not_ready(
        "spec: {diskSize: 10}\n",
        &expect![[r#"
        VsphereNodeClass "general" is not ready:
        InvalidInstanceType: spec.instanceTypes: lists no size; add one such as {os: linux, cpu: 4, memory: 16Gi}"#]],
    );
    let sizes: Vec<String> =
        (1..=101).map(|cpus| format!("{{os: linux, cpu: {cpus}, memory: 1}}")).collect();
    not_ready(
        &format!("spec: {{instanceTypes: [{}]}}\n", sizes.join(", ")),
        &expect![[r#"
        VsphereNodeClass "general" is not ready:
        InvalidInstanceType: spec.instanceTypes: lists 101 sizes; keep 100 at most"#]],
    );
}

#[test]
fn a_zone_on_some_entries_only() {
    not_ready(
        "spec:
  instanceTypes:
  - {os: linux, cpu: 4, memory: 16, zone: az1}
  - {os: linux, cpu: 8, memory: 32}
",
        &expect![[r#"
            VsphereNodeClass "general" is not ready:
            InvalidInstanceType: spec.instanceTypes[1].zone: is missing, but other entries have one; give every entry a zone, or none"#]],
    );
}

#[test]
fn entries_that_differ_in_spelling_only() {
    not_ready(
        "spec:
  instanceTypes:
  - {os: linux, cpu: 4, memory: 16, zone: az1}
  - {os: Linux, cpu: '4', memory: 16384Mi, zone: az1, arch: amd64, maxPods: 110}
",
        &expect![[r#"
            VsphereNodeClass "general" is not ready:
            InvalidInstanceType: spec.instanceTypes[1]: has the size of spec.instanceTypes[0] and a zone that this size was already given; remove one"#]],
    );
}

#[test]
fn two_types_of_one_name() {
    not_ready(
        "spec:
  instanceTypes:
  - {os: linux, cpu: 4, memory: 16, zone: az1}
  - {os: linux, cpu: 4, memory: 16, zone: az2, maxPods: 50}
",
        &expect![[r#"
            VsphereNodeClass "general" is not ready:
            InvalidInstanceType: spec.instanceTypes[1]: is named "vsphere-vm.cpu-4.mem-16gb.os-linux" like spec.instanceTypes[0], but is not the same; give one of them a name of its own"#]],
    );
}

#[test]
fn a_name_that_no_label_can_have() {
    not_ready(
        "spec: {instanceTypes: [{os: linux, cpu: 4, memory: +16Gi, zone: az1}]}\n",
        &expect![[r#"
            VsphereNodeClass "general" is not ready:
            InvalidInstanceType: spec.instanceTypes[0].memory: makes the name "vsphere-vm.cpu-4.mem-+16gb.os-linux", which no label can have; write memory such as 16Gi, or give the entry a name"#]],
    );
}

#[test]
fn values_of_the_wrong_type() {
    not_a_class(
        "spec: {instanceTypes: {cpu: 4}}\n",
        &expect![[
            r#"VsphereNodeClass "general": spec.instanceTypes: invalid type: map; write a list"#
        ]],
    );
    not_a_class(
        "spec: {instanceTypes: [{cpu: 4.5}]}\n",
        &expect![[
            r#"VsphereNodeClass "general": spec.instanceTypes[0].cpu: is neither a whole number nor a text; write one of them"#
        ]],
    );
    not_a_class(
        "spec: {instanceTypes: [{memory: [16]}]}\n",
        &expect![[
            r#"VsphereNodeClass "general": spec.instanceTypes[0].memory: is neither a whole number nor a text; write one of them"#
        ]],
    );
    not_a_class(
        "spec: {instanceTypes: [{zone: 1}]}\n",
        &expect![[
            r#"VsphereNodeClass "general": spec.instanceTypes[0].zone: invalid type: integer `1`; put it in quotes"#
        ]],
    );
    not_a_class(
        "spec: {instanceTypes: [{price: true}]}\n",
        &expect![[
            r#"VsphereNodeClass "general": spec.instanceTypes[0].price: is neither a number nor a text; write one of them"#
        ]],
    );
    not_a_class(
        "spec: {diskSize: large}\n",
        &expect![[
            r#"VsphereNodeClass "general": spec.diskSize: invalid type: string "large"; write a whole number"#
        ]],
    );
    not_a_class(
        "spec: {kubelet: {maxPods: -1}}\n",
        &expect![[
            r#"VsphereNodeClass "general": spec.kubelet.maxPods: invalid value: integer `-1`; write a whole number of 0 or more"#
        ]],
    );
    not_a_class(
        "spec: {kubelet: {kubeReserved: {cpu: some}}}\n",
        &expect![[
            r#"VsphereNodeClass "general": spec.kubelet.kubeReserved.cpu: "some" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3"#
        ]],
    );
    not_a_class(
        "spec: 7\n",
        &expect![[
            r#"VsphereNodeClass "general": spec: invalid type: integer `7`; write an object"#
        ]],
    );
}
