//! Classes that can be used.

use std::sync::Arc;

use expect_test::expect;
use joiner_cloud::{class, types::TypeSource};
use joiner_core::price::UnitPrices;
use joiner_vsphere::{ClassSizes, Settings, labels_of};
use serde_json::json;

use crate::{describe, instances, read, summary};

#[test]
fn a_size_in_the_words_of_the_crd() {
    let made = instances(
        "spec:
  computeSelector: {tags: {karpenter: 'true'}}
  imageSelector: {pattern: ubuntu-*}
  diskSize: 60
  instanceTypes:
  - {os: linux, arch: amd64, cpu: '4', memory: 16Gi, region: dc1, zone: az1, maxPods: '110'}
  userData: {type: cloud-config}
",
    );
    expect![[r#"
        vsphere-vm.cpu-4.mem-16gb.os-linux
          karpenter.sh/capacity-type: on-demand
          karpenter.vsphere.com/instance-cpu: 4
          karpenter.vsphere.com/instance-memory: 16384
          karpenter.vsphere.com/instance-size: vsphere-vm.cpu-4.mem-16gb.os-linux
          kubernetes.io/arch: amd64
          kubernetes.io/os: linux
          node.kubernetes.io/instance-type: vsphere-vm.cpu-4.mem-16gb.os-linux
          node.kubernetes.io/windows-build: none
          topology.kubernetes.io/region: dc1
          topology.kubernetes.io/zone: az1
          capacity: cpu 4, ephemeral-storage 60Gi, memory 15155Mi, pods 110
          offering: 0.117179869184 at karpenter.sh/capacity-type In [on-demand], topology.kubernetes.io/region In [dc1], topology.kubernetes.io/zone In [az1]
          for pods: cpu 3920m, ephemeral-storage 53Gi, memory 13590Mi, pods 110
    "#]].assert_eq(&describe(&made.unwrap()));
}

#[test]
fn the_words_of_the_readme_say_the_same() {
    let crd = "spec:
  imageSelector: {pattern: ubuntu}
  diskSize: 60
  instanceTypes:
  - {os: linux, arch: amd64, cpu: '4', memory: 16Gi, region: dc1, zone: az1, maxPods: '110'}
  userData: {type: cloud-config}
";
    let readme = "spec:
  datastoreSelector: {tag: {karpenter: 'true'}}
  imageSelector: {name: ubuntu}
  diskSize: 60
  instanceTypes:
  - {os: Linux, cpu: 4, memory: 16, region: dc1, zone: az1, maxPods: 110}
  userdata: {type: cloud-config}
";
    let quoted = readme.replace("memory: 16", "memory: '16'");
    let expected = describe(&instances(crd).unwrap());
    assert_eq!(describe(&instances(readme).unwrap()), expected);
    assert_eq!(describe(&instances(&quoted).unwrap()), expected);
}

#[test]
fn sizes_that_differ_in_their_zone_only_are_one_type() {
    let made = instances(
        "spec:
  diskSize: 40
  instanceTypes:
  - {os: linux, cpu: 4, memory: 16Gi, zone: az1, region: dc1}
  - {os: linux, cpu: 8, memory: 32Gi, zone: az1, region: dc1}
  - {os: linux, cpu: '4', memory: 16384Mi, zone: az2, region: dc2, price: 0.2}
  - {os: linux, cpu: '4', memory: 16, zone: az3, maxPods: 110, arch: amd64}
",
    )
    .unwrap();
    expect![[r#"
        vsphere-vm.cpu-4.mem-16gb.os-linux: memory 15155Mi, az1 0.1172, az2 0.2000, az3 0.1172
        vsphere-vm.cpu-8.mem-32gb.os-linux: memory 30310Mi, az1 0.2344"#]]
    .assert_eq(&summary(&made, "memory"));
    let places: Vec<String> =
        made.types[0].offerings.iter().map(|at| at.requirements.to_string()).collect();
    expect![[r#"
        karpenter.sh/capacity-type In [on-demand], topology.kubernetes.io/region In [dc1], topology.kubernetes.io/zone In [az1]
        karpenter.sh/capacity-type In [on-demand], topology.kubernetes.io/region In [dc2], topology.kubernetes.io/zone In [az2]
        karpenter.sh/capacity-type In [on-demand], topology.kubernetes.io/region DoesNotExist, topology.kubernetes.io/zone In [az3]"#]].assert_eq(&places.join("\n"));
}

#[test]
fn sizes_without_a_zone_can_be_had_in_every_zone_of_the_class() {
    let made = instances(
        "spec:
  diskSize: 40
  instanceTypes: [{os: linux, cpu: 2, memory: 8}]
  zones: [{name: az1, region: dc1}, {name: az2}, {name: az2}]
",
    );
    expect!["vsphere-vm.cpu-2.mem-8gb.os-linux: cpu 2, az1 0.0586, az2 0.0586"]
        .assert_eq(&summary(&made.unwrap(), "cpu"));
}

#[test]
fn names_are_the_cloud_controllers_unless_a_size_has_its_own() {
    let made = instances(
        "spec:
  diskSize: 40
  instanceTypes:
  - {os: linux, cpu: 2, memory: 1536Mi, zone: a}
  - {os: linux, cpu: 2, memory: 1.25Gi, zone: a}
  - {os: WINDOWS, cpu: 2, memory: 8Gi, zone: a}
  - {os: linux, cpu: 2, memory: 8Gi, zone: a, arch: arm64}
  - {os: linux, cpu: 2, memory: 8Gi, zone: a, maxPods: 20, name: few-pods}
  - {os: linux, cpu: 2, memory: 8Gi, zone: a}
",
    );
    expect![[r#"
        vsphere-vm.cpu-2.mem-1536Migb.os-linux: memory 1420Mi, a 0.0516
        vsphere-vm.cpu-2.mem-1.25gb.os-linux: memory 1184Mi, a 0.0513
        vsphere-vm.cpu-2.mem-8gb.os-windows: memory 7577Mi, a 0.0586
        vsphere-vm.cpu-2.mem-8gb.os-linux.arch-arm64: memory 7577Mi, a 0.0586
        few-pods: memory 7577Mi, a 0.0586
        vsphere-vm.cpu-2.mem-8gb.os-linux: memory 7577Mi, a 0.0586"#]]
    .assert_eq(&summary(&made.unwrap(), "memory"));
}

#[test]
fn memory_is_given_in_steps_of_four_mebibytes() {
    let made = instances(
        "spec:
  diskSize: 40
  instanceTypes: [{os: linux, cpu: 1, memory: 2G, zone: a}]
",
    );
    let label = joiner_vsphere::INSTANCE_MEMORY;
    let made = made.unwrap();
    let mib = made.types[0].requirements.get(label).and_then(|mib| mib.single());
    assert_eq!(mib, Some("1904"));
}

#[test]
fn a_price_of_its_own_is_a_number_or_a_text_and_may_be_zero() {
    let made = instances(
        "spec:
  diskSize: 40
  instanceTypes:
  - {os: linux, cpu: 1, memory: 1, zone: a, price: '0.5'}
  - {os: linux, cpu: 2, memory: 2, zone: a, price: 0.25}
  - {os: linux, cpu: 3, memory: 3, zone: a, price: 0}
  - {os: linux, cpu: 4, memory: 4, zone: a, price: null}
  - {os: linux, cpu: 5, memory: 5, zone: a, price: ''}
",
    );
    expect![[r#"
        vsphere-vm.cpu-1.mem-1gb.os-linux: cpu 1, a 0.5000
        vsphere-vm.cpu-2.mem-2gb.os-linux: cpu 2, a 0.2500
        vsphere-vm.cpu-3.mem-3gb.os-linux: cpu 3, a 0.0000
        vsphere-vm.cpu-4.mem-4gb.os-linux: cpu 4, a 0.1043
        vsphere-vm.cpu-5.mem-5gb.os-linux: cpu 5, a 0.1304"#]]
    .assert_eq(&summary(&made.unwrap(), "cpu"));
}

#[test]
fn prices_and_hidden_memory_are_settings() {
    let class = read(
        "spec:
  diskSize: 40
  instanceTypes:
  - {os: linux, cpu: 4, memory: 16, zone: a, extendedResources: {nvidia.com/gpu: 2}}
",
    )
    .unwrap();
    let settings = Settings {
        prices: UnitPrices { per_vcpu: 0.1, per_gb: 0.0, per_gpu: 3.0, per_vm: 0.5 },
        memory_overhead: 0.0,
    };
    let made = class.instances(&settings).unwrap();
    expect!["vsphere-vm.cpu-4.mem-16gb.os-linux: memory 16Gi, a 6.9000"]
        .assert_eq(&summary(&made, "memory"));
    assert_eq!(made.types[0].capacity.get("nvidia.com/gpu").to_string(), "2");
}

#[test]
fn the_number_of_pods_is_the_sizes_then_the_classs_then_kubernetes_own() {
    let pods = |size: &str, kubelet: &str| {
        let made = instances(&format!(
            "spec:
  diskSize: 40
  kubelet: {kubelet}
  instanceTypes: [{{os: linux, cpu: 4, memory: 16, zone: a, {size}}}]
"
        ));
        made.unwrap().types[0].capacity.get("pods").to_string()
    };
    assert_eq!(pods("maxPods: 30", "{maxPods: 50}"), "30");
    assert_eq!(pods("maxPods: ''", "{maxPods: 50}"), "50");
    assert_eq!(pods("maxPods: null", "null"), "110");
    assert_eq!(pods("maxPods: 30", "{podsPerCore: 5}"), "20");
    assert_eq!(pods("maxPods: 30", "{podsPerCore: 100}"), "30");
    assert_eq!(pods("maxPods: 30", "{podsPerCore: 0}"), "30");
}

#[test]
fn what_the_kubelet_is_told_to_keep_is_kept() {
    let made = instances(
        "spec:
  diskSize: 40
  kubelet:
    kubeReserved: {memory: 1Gi}
    systemReserved: {cpu: 100m, memory: 512Mi}
    evictionHard: {memory.available: 5%, nodefs.available: 15%, imagefs.available: 20%}
    evictionSoft: {memory.available: 2Gi}
  instanceTypes: [{os: linux, cpu: 4, memory: 16, zone: a}]
",
    )
    .unwrap();
    let overhead = &made.types[0].overhead;
    expect![[r#"
        kubelet:  cpu 80m, ephemeral-storage 1Gi, memory 1Gi
        system:   cpu 100m, memory 512Mi
        eviction: ephemeral-storage 6Gi, memory 2Gi
    "#]]
    .assert_eq(&format!(
        "kubelet:  {}\nsystem:   {}\neviction: {}\n",
        overhead.kube_reserved, overhead.system_reserved, overhead.eviction_threshold
    ));
}

#[test]
fn the_disk_is_the_larger_of_what_is_asked_for_and_the_templates() {
    let disk = |fields: &str| {
        let made = instances(&format!(
            "spec:
  instanceTypes: [{{os: linux, cpu: 4, memory: 16, zone: a}}]
{fields}"
        ));
        made.unwrap().types[0].capacity.get("ephemeral-storage").to_string()
    };
    assert_eq!(disk("  diskSize: 60\n"), "60Gi");
    assert_eq!(disk("  diskSize: 60\nstatus: {image: {diskGiB: 80}}\n"), "80Gi");
    assert_eq!(disk("status: {image: {diskGiB: 20}}\n"), "20Gi");
    let own = instances(
        "spec:
  diskSize: 60
  instanceTypes:
  - {os: linux, cpu: 4, memory: 16, zone: a}
  - {os: linux, cpu: 4, memory: 16, zone: a, diskSize: 200, name: large-disk}
",
    );
    expect![[r#"
        vsphere-vm.cpu-4.mem-16gb.os-linux: ephemeral-storage 60Gi, a 0.1172
        large-disk: ephemeral-storage 200Gi, a 0.1172"#]]
    .assert_eq(&summary(&own.unwrap(), "ephemeral-storage"));
}

#[test]
fn labels_of_a_size_are_known_and_other_sizes_do_not_have_them() {
    let made = instances(
        "spec:
  diskSize: 60
  instanceTypes:
  - {os: linux, cpu: 4, memory: 16, zone: a, labels: {example.com/disk: fast}, name: fast}
  - {os: linux, cpu: 4, memory: 16, zone: a}
",
    )
    .unwrap();
    let of = |i: usize| made.types[i].requirements.get("example.com/disk").unwrap().to_specs("k");
    assert_eq!(of(0)[0].values, ["fast"]);
    assert_eq!(of(1)[0].operator.to_string(), "DoesNotExist");

    let types: Vec<_> = made.types.into_iter().map(Arc::new).collect();
    assert_eq!(labels_of(&types), ["example.com/disk"]);
    let well_known = ClassSizes::new(Settings::default()).well_known();
    assert!(well_known.contains("karpenter.vsphere.com/instance-size"));
    assert!(well_known.is_restricted("karpenter.vsphere.com/something-else"));
}

#[test]
fn pools_of_one_class_share_its_types() {
    let spec = json!({"diskSize": 60, "instanceTypes": [{"os": "linux", "cpu": 4, "memory": 16}]});
    let class = class::NodeClass { name: "general".to_owned(), spec, ..Default::default() };
    let sizes = ClassSizes::new(Settings::default());
    let [p, q] = ["p", "q"].map(|pool| sizes.class_types(pool, &class).unwrap().types);
    assert!(Arc::ptr_eq(&p, &q) && !p.is_empty());
}

#[test]
fn what_its_author_may_not_expect_is_told() {
    let made = instances(
        "spec:
  instanceTypes: [{os: linux, cpu: 4, memory: 16, maxpods: 20, gpus: {profile: a}}]
",
    );
    expect![[r#"
        vsphere-vm.cpu-4.mem-16gb.os-linux
          karpenter.sh/capacity-type: on-demand
          karpenter.vsphere.com/instance-cpu: 4
          karpenter.vsphere.com/instance-memory: 16384
          karpenter.vsphere.com/instance-size: vsphere-vm.cpu-4.mem-16gb.os-linux
          kubernetes.io/arch: amd64
          kubernetes.io/os: linux
          node.kubernetes.io/instance-type: vsphere-vm.cpu-4.mem-16gb.os-linux
          node.kubernetes.io/windows-build: none
          topology.kubernetes.io/region: none
          topology.kubernetes.io/zone: none
          capacity: cpu 4, memory 15155Mi, pods 110
          offering: 0.117179869184 at karpenter.sh/capacity-type In [on-demand], topology.kubernetes.io/region DoesNotExist, topology.kubernetes.io/zone DoesNotExist
          for pods: cpu 3920m, memory 13590Mi, pods 110
        note: VsphereNodeClass "general": spec.instanceTypes[0].gpus is no field, and is not used
        note: VsphereNodeClass "general": spec.instanceTypes[0].maxpods is no field, and is not used
        note: VsphereNodeClass "general": the size of the disk is not known, so pods that request ephemeral-storage have no place there; set spec.diskSize
        note: VsphereNodeClass "general": no zone is known, so pods that ask for one or are spread over zones have no place there; set spec.instanceTypes[].zone
    "#]].assert_eq(&describe(&made.unwrap()));
}

#[test]
fn an_instance_too_small_for_what_it_keeps_has_no_room_for_pods() {
    let made = instances(
        "spec:
  diskSize: 10
  instanceTypes: [{os: linux, cpu: 1, memory: 1, zone: a, maxPods: 110}]
",
    )
    .unwrap();
    let free = made.types[0].allocatable(&made.types[0].offerings[0]);
    assert!(free.get("memory") < joiner_core::quantity::Quantity::ZERO, "{free}");
}
