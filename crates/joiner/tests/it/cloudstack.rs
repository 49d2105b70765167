//! Pools of `CloudStackNodeClass`es, whose instances are the service offerings that the class's
//! status lists.

use expect_test::{Expect, expect};

use crate::check;

const PLAN: [&str; 3] = ["plan", "-f", "-"];

/// Two service offerings in two zones, as a status lists them.
const STATUS: &str = "
  zoneID: aaaaaaaa-0000-4000-8000-000000000001
  networks: [{id: n1, name: workers, zone: zone-a}, {id: n2, name: workers, zone: zone-b}]
  templates:
    - {id: t1, name: debian-13, zone: zone-a, arch: amd64, sizeGiB: 10}
    - {id: t1, name: debian-13, zone: zone-b, arch: amd64, sizeGiB: 10}
  serviceOfferings:
    - {id: o1, name: Medium Instance, cpuNumber: 4, memory: 16384, zones: [zone-a, zone-b]}
    - {id: o2, name: Large Instance, cpuNumber: 8, memory: 32768, zones: [zone-b]}
";
const ZONES: &str = "{zones: [zone-a, zone-b]}";

fn pool(name: &str, class: &str) -> String {
    format!(
        "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {name}}}
spec:
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.cloudstack, kind: CloudStackNodeClass, name: {class}}}
      requirements: []
---
"
    )
}

fn class(spec: &str, status: &str) -> String {
    let status = if status.is_empty() { String::new() } else { format!("status: {status}") };
    format!(
        "
apiVersion: karpenter.k8s.cloudstack/v1
kind: CloudStackNodeClass
metadata: {{name: general}}
spec: {spec}
{status}
---
"
    )
}

fn pod(requests: &str, fields: &str) -> String {
    format!(
        "
apiVersion: v1
kind: Pod
metadata: {{name: web}}
spec:
  containers: [{{name: main, image: web, resources: {{requests: {requests}}}}}]
  {fields}
"
    )
}

/// A pool of a class of two zones, and a pod.
fn cluster(requests: &str, fields: &str) -> String {
    pool("general", "general") + &class(ZONES, STATUS) + &pod(requests, fields)
}

#[track_caller]
fn planned(objects: &str, expected: &Expect) {
    check(&PLAN, objects, expected);
}

#[test]
fn the_example_reads_well() {
    check(
        &["plan", "-f", "examples/cloudstack"],
        "",
        &expect![[r"
        INSTANCE  POOL     SHAPE                       ZONE    PRICE/H  PODS  CPU              MEMORY           ALSO
        new       gpu      gpu-a10                     any      2.5000     1  █████░░░░░  50%  █████░░░░░  54%  nvidia.com/gpu 1
        new       sized    Custom-4c-64g or 1 other    any      0.1687     1  █████░░░░░  51%  ████████░░  82%
        new       general  Large-Instance              zone-a   0.2344     4  ████░░░░░░  44%  ██████░░░░  68%
        new       general  Medium-Instance or 1 other  zone-b   0.1172     3  ███████░░░  77%  ████░░░░░░  42%

        4 new instances for 9 pods, 3.0203 per hour (at least 2.5000; the best possible lies between).

        1 pod cannot be placed:

          shop/archive
            general  no instance type met all requirements: none has topology.kubernetes.io/zone In [zone-c]; on offer: zone-a, zone-b
            sized    did not tolerate taint example.com/sized:NoSchedule
            gpu      did not tolerate taint nvidia.com/gpu:NoSchedule

        More: joiner explain pod shop/archive -f …
        stderr: joiner: 6 pods are planned for that are not in the files yet, of Deployment shop/web (6)
    "]],
    );
}

#[test]
fn a_pod_of_the_example_is_explained() {
    let args = ["explain", "pod", "shop/archive", "-f", "examples/cloudstack"];
    check(
        &args,
        "",
        &expect![[r"
        shop/archive cannot be placed.

        What a new instance of each pool would say to it:
          general  no instance type met all requirements: none has topology.kubernetes.io/zone In [zone-c]; on offer: zone-a, zone-b
                   → allow topology.kubernetes.io/zone In [zone-c] in the NodePool or its types, or change what the pod requires
          sized    did not tolerate taint example.com/sized:NoSchedule
                   → add a toleration for example.com/sized:NoSchedule to the pod, or use a pool without it
          gpu      did not tolerate taint nvidia.com/gpu:NoSchedule
                   → add a toleration for nvidia.com/gpu:NoSchedule to the pod, or use a pool without it
        stderr: joiner: 6 pods are planned for that are not in the files yet, of Deployment shop/web (6)
    "]],
    );
}

#[test]
fn service_offerings_of_the_status_are_the_types() {
    planned(
        &cluster("{cpu: 2, memory: 4Gi, ephemeral-storage: 5Gi}", ""),
        &expect![[r"
        INSTANCE  POOL     SHAPE                       ZONE  PRICE/H  PODS  CPU              MEMORY
        new       general  Medium-Instance or 1 other  any    0.1172     1  █████░░░░░  51%  ██░░░░░░░░  28%

        1 new instance for 1 pod, 0.1172 per hour (no plan could cost less).
    "]],
    );
}

#[test]
fn the_providers_labels_can_be_asked_for() {
    let label = "karpenter.k8s.cloudstack/service-offering-name";
    let wish = format!("nodeSelector: {{{label}: Large-Instance}}");
    planned(
        &cluster("{cpu: 2}", &wish),
        &expect![[r"
        INSTANCE  POOL     SHAPE           ZONE  PRICE/H  PODS  CPU              MEMORY
        new       general  Large-Instance  any    0.2344     1  ██░░░░░░░░  25%  ░░░░░░░░░░   0%

        1 new instance for 1 pod, 0.2344 per hour (no plan could cost less).
    "]],
    );
    let wish = "nodeSelector: {topology.kubernetes.io/zone: zone-a, \
                karpenter.k8s.cloudstack/instance-cpu: '8'}";
    planned(
        &cluster("{cpu: 2}", wish),
        &expect![[r"
        No instance would be made.

        1 pod cannot be placed:

          default/web
            general  no instance type met all requirements: karpenter.k8s.cloudstack/instance-cpu In [8], topology.kubernetes.io/zone In [zone-a]

        More: joiner explain pod default/web -f …
    "]],
    );
}

#[test]
fn prices_and_hidden_memory_are_settings() {
    let objects = cluster("{cpu: 2, memory: 15Gi}", "");
    planned(
        &objects,
        &expect![[r"
        INSTANCE  POOL     SHAPE           ZONE  PRICE/H  PODS  CPU              MEMORY
        new       general  Large-Instance  any    0.2344     1  ██░░░░░░░░  25%  █████░░░░░  51%

        1 new instance for 1 pod, 0.2344 per hour (no plan could cost less).
    "]],
    );
    let flags = [&PLAN[..], &["--cloudstack-vm-memory-overhead-percent=0"]].concat();
    check(
        &flags,
        &objects,
        &expect![[r"
        INSTANCE  POOL     SHAPE                       ZONE  PRICE/H  PODS  CPU              MEMORY
        new       general  Medium-Instance or 1 other  any    0.1172     1  █████░░░░░  51%  █████████░  96%

        1 new instance for 1 pod, 0.1172 per hour (no plan could cost less).
    "]],
    );
    let own = ["--cloudstack-price-per-cpu=1", "--cloudstack-price-per-gib=0"];
    check(
        &[&flags[..], &own].concat(),
        &objects,
        &expect![[r"
        INSTANCE  POOL     SHAPE                       ZONE  PRICE/H  PODS  CPU              MEMORY
        new       general  Medium-Instance or 1 other  any    4.0000     1  █████░░░░░  51%  █████████░  96%

        1 new instance for 1 pod, 4.0000 per hour (no plan could cost less).
    "]],
    );
}

#[test]
fn what_a_status_lacks_is_said_once_for_all_pools() {
    let offering = "{serviceOfferings: [{id: o1, name: m1, cpuNumber: 4, memory: 16384}]}";
    let objects = pool("blue", "general")
        + &pool("green", "general")
        + &class(ZONES, offering)
        + &pod("{cpu: 1}", "");
    planned(
        &objects,
        &expect![[r#"
        INSTANCE  POOL   SHAPE  ZONE  PRICE/H  PODS  CPU              MEMORY
        new       green  m1     any    0.1172     1  ██░░░░░░░░  26%  ░░░░░░░░░░   0%

        1 new instance for 1 pod, 0.1172 per hour (no plan could cost less).
        stderr: joiner: CloudStackNodeClass "general": its status does not say the zones of service offerings, which are taken for all, and not the architectures of templates, which are taken for amd64
        stderr: joiner: CloudStackNodeClass "general": the size of the root disk is not known, so pods that request ephemeral-storage have no place there; set spec.rootDiskSize
    "#]],
    );
}

#[test]
fn a_class_without_a_status_has_no_types_and_says_so() {
    let objects = pool("general", "general") + &class(ZONES, "") + &pod("{cpu: 1}", "");
    planned(
        &objects,
        &expect![[r#"
        No instance would be made.

        1 pod cannot be placed:

          default/web
            general  has no instance types

        More: joiner explain pod default/web -f …
        stderr: joiner: CloudStackNodeClass "general": its status does not say service offerings, so there are no instance types; list them in status.serviceOfferings
        stderr: joiner: NodePool "general": has no instance types
    "#]],
    );
}

#[test]
fn a_class_that_is_not_there() {
    planned(
        &(pool("general", "general") + &pod("{cpu: 1}", "")),
        &expect![[r#"
        stderr: joiner: NodePool "general": spec.template.spec.nodeClassRef is CloudStackNodeClass "general", which is not in the files: add what `kubectl get cloudstacknodeclasses -o yaml` prints, or list the instances in a file and give it with --instance-types
        exit code: 2
    "#]],
    );
}

#[test]
fn a_class_that_the_api_server_would_refuse() {
    let wrong = class("{zone: zone-a, rootDiskSize: 50G}", STATUS);
    planned(
        &(pool("general", "general") + &wrong + &pod("{cpu: 1}", "")),
        &expect![[r#"
        stderr: joiner: standard input: document 2: CloudStackNodeClass "general": spec.rootDiskSize: invalid type: string "50G"; write a whole number
        exit code: 2
    "#]],
    );
}

#[test]
fn a_class_whose_sizes_cannot_be_meant_is_not_ready() {
    let wrong = "{zone: zone-a, customOfferingShapes: [{cpu: 0, memoryMiB: 4096}]}";
    let objects = pool("general", "general") + &class(wrong, STATUS) + &pod("{cpu: 1}", "");
    planned(
        &objects,
        &expect![[r#"
        No instance would be made.

        1 pod cannot be placed:

          default/web
            no dynamic nodepools found
            general  is not ready: CloudStackNodeClass "general" is not ready: InvalidInstanceType: spec.customOfferingShapes[0].cpu: 0 is no number of CPUs; write 1 or more

        More: joiner explain pod default/web -f …
        stderr: joiner: NodePool "general": is not ready: CloudStackNodeClass "general" is not ready: InvalidInstanceType: spec.customOfferingShapes[0].cpu: 0 is no number of CPUs; write 1 or more
    "#]],
    );
}

#[test]
fn a_tag_that_cloudstack_does_not_take_matters_to_no_plan() {
    let wrong = "{zones: [zone-a, zone-b], tags: {team: ''}}";
    let objects = pool("general", "general") + &class(wrong, STATUS) + &pod("{cpu: 1}", "");
    planned(
        &objects,
        &expect![[r"
        INSTANCE  POOL     SHAPE                       ZONE  PRICE/H  PODS  CPU              MEMORY
        new       general  Medium-Instance or 1 other  any    0.1172     1  ██░░░░░░░░  26%  ░░░░░░░░░░   0%

        1 new instance for 1 pod, 0.1172 per hour (no plan could cost less).
    "]],
    );
}
