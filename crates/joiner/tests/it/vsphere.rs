//! Pools of `VsphereNodeClass`es, whose instances are the sizes that the class lists.

use expect_test::{Expect, expect};

use crate::check;

const PLAN: [&str; 3] = ["plan", "-f", "-"];

/// A pool of a class with these sizes, and a pod with these requests and other fields.
fn cluster(sizes: &str, requests: &str, pod: &str) -> String {
    format!("{}---\n{}---\n{}", pool("general"), class("general", sizes), self::pod(requests, pod))
}

fn pool(name: &str) -> String {
    format!(
        "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {name}}}
spec:
  template:
    spec:
      nodeClassRef: {{group: karpenter.vsphere.com, kind: VsphereNodeClass, name: {name}}}
      requirements: []
"
    )
}

fn class(name: &str, sizes: &str) -> String {
    format!(
        "
apiVersion: karpenter.vsphere.com/v1alpha1
kind: VsphereNodeClass
metadata: {{name: {name}}}
spec:
  imageSelector: {{name: ubuntu}}
  diskSize: 60
  instanceTypes: {sizes}
  userdata: {{type: cloud-config}}
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

/// A pool of KWOK's instances.
fn kwok_pool() -> String {
    pool("kwok")
        .replace("karpenter.vsphere.com", "karpenter.kwok.sh")
        .replace("VsphereNodeClass", "KWOKNodeClass")
}

const TWO_SIZES: &str = "[{os: linux, cpu: 4, memory: 16, zone: az1, maxPods: 110}, \
                          {os: linux, cpu: '8', memory: 32Gi, zone: az2}]";

#[track_caller]
fn planned(objects: &str, expected: &Expect) {
    check(&PLAN, objects, expected);
}

#[test]
fn the_example_reads_well() {
    check(
        &["plan", "-f", "examples/vsphere"],
        "",
        &expect![[r"
        INSTANCE  POOL     SHAPE                                          ZONE  PRICE/H  PODS  CPU              MEMORY           ALSO
        new      gpu      gpu-16                                         any    2.5000     1  █████░░░░░  50%  █████░░░░░  55%  nvidia.com/gpu 1
        new      general  vsphere-vm.cpu-8.mem-32gb.os-linux             az1    0.2344     4  ████░░░░░░  44%  ███████░░░  71%
        new      general  vsphere-vm.cpu-4.mem-16gb.os-linux or 1 other  az2    0.1172     3  ███████░░░  77%  ████░░░░░░  45%

        3 new instances for 8 pods, 2.8515 per hour (at least 2.5000; the best possible lies between).

        1 pod cannot be placed:

          shop/archive
            general  no instance type met all requirements: none has topology.kubernetes.io/zone In [az3]; on offer: az1, az2
            gpu      did not tolerate taint nvidia.com/gpu:NoSchedule

        More: joiner explain pod shop/archive -f …
    "]],
    );
}

#[test]
fn a_class_lists_its_own_sizes() {
    planned(
        &cluster(TWO_SIZES, "{cpu: 2, memory: 4Gi}", ""),
        &expect![[r"
        INSTANCE  POOL     SHAPE                                          ZONE  PRICE/H  PODS  CPU              MEMORY
        new      general  vsphere-vm.cpu-4.mem-16gb.os-linux or 1 other  any    0.1172     1  █████░░░░░  51%  ███░░░░░░░  30%

        1 new instance for 1 pod, 0.1172 per hour (no plan could cost less).
    "]],
    );
}

#[test]
fn the_providers_labels_can_be_asked_for() {
    let wish = "nodeSelector: {karpenter.vsphere.com/instance-cpu: '8'}";
    planned(
        &cluster(TWO_SIZES, "{cpu: 2}", wish),
        &expect![[r"
        INSTANCE  POOL     SHAPE                               ZONE  PRICE/H  PODS  CPU              MEMORY
        new      general  vsphere-vm.cpu-8.mem-32gb.os-linux  any    0.2344     1  ██░░░░░░░░  25%  ░░░░░░░░░░   0%

        1 new instance for 1 pod, 0.2344 per hour (no plan could cost less).
    "]],
    );
    let wish = "nodeSelector: {topology.kubernetes.io/zone: az9}";
    planned(
        &cluster(TWO_SIZES, "{cpu: 2}", wish),
        &expect![[r"
        No instance would be made.

        1 pod cannot be placed:

          default/web
            general  no instance type met all requirements: none has topology.kubernetes.io/zone In [az9]; on offer: az1, az2

        More: joiner explain pod default/web -f …
    "]],
    );
}

#[test]
fn prices_and_hidden_memory_are_settings() {
    let objects = cluster(TWO_SIZES, "{cpu: 2, memory: 14Gi}", "");
    planned(
        &objects,
        &expect![[r"
        INSTANCE  POOL     SHAPE                               ZONE  PRICE/H  PODS  CPU              MEMORY
        new      general  vsphere-vm.cpu-8.mem-32gb.os-linux  any    0.2344     1  ██░░░░░░░░  25%  █████░░░░░  50%

        1 new instance for 1 pod, 0.2344 per hour (no plan could cost less).
    "]],
    );
    let flags = [&PLAN[..], &["--vsphere-vm-memory-overhead-percent=0"]].concat();
    check(
        &flags,
        &objects,
        &expect![[r"
        INSTANCE  POOL     SHAPE                                          ZONE  PRICE/H  PODS  CPU              MEMORY
        new      general  vsphere-vm.cpu-4.mem-16gb.os-linux or 1 other  any    0.1172     1  █████░░░░░  51%  █████████░  97%

        1 new instance for 1 pod, 0.1172 per hour (no plan could cost less).
    "]],
    );
    let flags = [&flags[..], &["--price-per-vcpu=1", "--price-per-vm=0.5"]].concat();
    check(
        &flags,
        &objects,
        &expect![[r"
        INSTANCE  POOL     SHAPE                                          ZONE  PRICE/H  PODS  CPU              MEMORY
        new      general  vsphere-vm.cpu-4.mem-16gb.os-linux or 1 other  any    4.5172     1  █████░░░░░  51%  █████████░  97%

        1 new instance for 1 pod, 4.5172 per hour (no plan could cost less).
    "]],
    );
}

#[test]
fn a_class_that_is_not_there() {
    let objects = format!("{}---\n{}", pool("general"), pod("{cpu: 1}", ""));
    planned(
        &objects,
        &expect![[r#"
        stderr: joiner: NodePool "general": spec.template.spec.nodeClassRef is VsphereNodeClass "general", which is not in the files: add what `kubectl get vspherenodeclasses -o yaml` prints, or list the instances in a file and give it with --instance-types
        exit code: 2
    "#]],
    );
    let types = "crates/joiner/tests/fixtures/instance-types.yaml";
    check(
        &[&PLAN[..], &["--instance-types", types]].concat(),
        &objects,
        &expect![[r"
        INSTANCE  POOL     SHAPE              ZONE  PRICE/H  PODS  CPU              MEMORY
        new      general  medium or 1 other  any    0.1000     1  █████░░░░░  56%  ░░░░░░░░░░   0%

        1 new instance for 1 pod, 0.1000 per hour (no plan could cost less).
    "]],
    );
}

#[test]
fn a_class_that_its_controller_found_unfit() {
    let status = "status: {conditions: [{type: Ready, status: 'False', reason: ImageAmbiguous}]}\n";
    let class = class("general", TWO_SIZES) + status;
    planned(
        &format!("{}---\n{class}---\n{}", pool("general"), pod("{cpu: 1}", "")),
        &expect![[r#"
            No instance would be made.

            1 pod cannot be placed:

              default/web
                no dynamic nodepools found
                general  is not ready: VsphereNodeClass "general" is not ready: ImageAmbiguous

            More: joiner explain pod default/web -f …
            stderr: joiner: NodePool "general": is not ready: VsphereNodeClass "general" is not ready: ImageAmbiguous
        "#]],
    );
}

#[test]
fn a_class_of_which_nothing_can_be_made_leaves_other_pools_alone() {
    let broken = "[{os: linux, cpu: many, memory: 16, zone: az1}]";
    let (cluster, broken) =
        (cluster(TWO_SIZES, "{cpu: 1}", ""), format!("{}---\n{}", pool("b"), class("b", broken)));
    planned(
        &format!("{cluster}---\n{broken}"),
        &expect![[r#"
        INSTANCE  POOL     SHAPE                                          ZONE  PRICE/H  PODS  CPU              MEMORY
        new      general  vsphere-vm.cpu-4.mem-16gb.os-linux or 1 other  any    0.1172     1  ██░░░░░░░░  26%  ░░░░░░░░░░   0%

        1 new instance for 1 pod, 0.1172 per hour (no plan could cost less).
        stderr: joiner: NodePool "b": is not ready: VsphereNodeClass "b" is not ready: InvalidInstanceType: spec.instanceTypes[0].cpu: "many" is not a number of CPUs; write a whole number from 1 to 9999
    "#]],
    );
    let pod = pod("{cpu: 1}", "");
    planned(
        &format!("{broken}---\n{pod}"),
        &expect![[r#"
        No instance would be made.

        1 pod cannot be placed:

          default/web
            no dynamic nodepools found
            b  is not ready: VsphereNodeClass "b" is not ready: InvalidInstanceType: spec.instanceTypes[0].cpu: "many" is not a number of CPUs; write a whole number from 1 to 9999

        More: joiner explain pod default/web -f …
        stderr: joiner: NodePool "b": is not ready: VsphereNodeClass "b" is not ready: InvalidInstanceType: spec.instanceTypes[0].cpu: "many" is not a number of CPUs; write a whole number from 1 to 9999
    "#]],
    );
}

#[test]
fn a_class_that_the_api_server_would_refuse() {
    planned(
        &cluster("[{os: linux, cpu: 4, memory: 16, zone: 1}]", "{}", ""),
        &expect![[r#"
        stderr: joiner: standard input: document 2: VsphereNodeClass "general": spec.instanceTypes[0].zone: invalid type: integer `1`; put it in quotes
        exit code: 2
    "#]],
    );
}

#[test]
fn kwoks_instances_and_vspheres_in_one_plan() {
    let objects = |wish: &str| {
        format!("{}---\n{}", cluster(TWO_SIZES, "{cpu: 2, memory: 4Gi}", wish), kwok_pool())
    };
    planned(
        &objects("nodeSelector: {karpenter.sh/nodepool: general}"),
        &expect![[r"
        INSTANCE  POOL     SHAPE                                          ZONE  PRICE/H  PODS  CPU              MEMORY
        new      general  vsphere-vm.cpu-4.mem-16gb.os-linux or 1 other  any    0.1172     1  █████░░░░░  51%  ███░░░░░░░  30%

        1 new instance for 1 pod, 0.1172 per hour (no plan could cost less).
    "]],
    );
    planned(
        &objects("nodeSelector: {karpenter.kwok.sh/instance-cpu: '4'}"),
        &expect![[r"
        INSTANCE  POOL  SHAPE                          ZONE  PRICE/H  PODS  CPU              MEMORY
        new      kwok  c-4x-amd64-linux or 11 others  any    0.0760     1  █████░░░░░  51%  █████░░░░░  50%

        1 new instance for 1 pod, 0.0760 per hour (no plan could cost less).
    "]],
    );
    planned(
        &objects("nodeSelector: {karpenter.vsphere.com/instance-cpu: '4'}"),
        &expect![[r"
        INSTANCE  POOL     SHAPE                               ZONE  PRICE/H  PODS  CPU              MEMORY
        new      general  vsphere-vm.cpu-4.mem-16gb.os-linux  any    0.1172     1  █████░░░░░  51%  ███░░░░░░░  30%

        1 new instance for 1 pod, 0.1172 per hour (no plan could cost less).
    "]],
    );
}
