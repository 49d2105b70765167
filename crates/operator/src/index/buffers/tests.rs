use super::*;
use crate::index::{
    IndexSettings, Indexed,
    tests::{index, show_pods},
};

fn buffers(yaml: &str) -> Indexed {
    index(yaml, &IndexSettings { capacity_buffer: true, ..IndexSettings::default() })
}

/// A deployment whose pods ask for one CPU, and a buffer with this spec.
fn for_workload(replicas: &str, spec: &str) -> String {
    format!(
        "
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec: {{selector: {{}}, {replicas} template: {{metadata: {{labels: {{app: web}}}}, spec: {{containers:
  [{{name: main, resources: {{requests: {{cpu: 1, memory: 1Gi}}}}}}]}}}}}}
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {{name: spare, namespace: shop, uid: u}}
spec: {{scalableRef: {{kind: Deployment, name: web}}, {spec}}}
"
    )
}

#[track_caller]
fn check(workload_replicas: &str, spec: &str, expected: usize) {
    let indexed = buffers(&for_workload(workload_replicas, spec));
    assert_eq!(indexed.notes, [] as [&str; 0]);
    assert_eq!(indexed.snapshot.pods.len(), expected, "{spec}");
}

#[test]
fn a_buffer_has_the_larger_of_its_numbers_within_its_limits() {
    check("replicas: 10,", "replicas: 7", 7);
    check("replicas: 10,", "replicas: 10, limits: {cpu: 3}", 3);
    check("replicas: 10,", "limits: {cpu: 5}", 5);
    check("replicas: 10,", "percentage: 20", 2);
    check("replicas: 10,", "replicas: 5, percentage: 80", 8);
    check("replicas: 10,", "replicas: 5, percentage: 80, limits: {cpu: 4}", 4);
    check("replicas: 1,", "percentage: 10", 1);
}

#[test]
fn a_share_is_rounded_up_and_an_idle_workload_has_none() {
    check("", "percentage: 10", 1);
    check("replicas: 11,", "percentage: 10", 2);
    check("replicas: 10,", "percentage: 0", 0);
    check("replicas: 0,", "percentage: 50", 0);
    check("replicas: 0,", "percentage: 50, limits: {cpu: 4}", 0);
    check("replicas: 0,", "replicas: 2, percentage: 50, limits: {cpu: 4}", 2);
    check("replicas: 10,", "percentage: 250", 25);
}

#[test]
fn limits_on_what_a_chunk_does_not_use_do_not_count() {
    check("replicas: 10,", "replicas: 2, limits: {example.com/gpu: 0}", 2);
    check("replicas: 10,", "limits: {example.com/gpu: 5}", 0);
    check("replicas: 10,", "replicas: 9, limits: {cpu: 5, memory: 2500Mi}", 2);
    check("replicas: 10,", "replicas: 9, limits: {cpu: 999m}", 0);
    check("replicas: 10,", "", 0);
}

#[test]
fn chunks_are_pods_of_the_template_that_come_now() {
    let pods = buffers(&for_workload("", "replicas: 2")).snapshot.pods;
    assert_eq!(
        show_pods(&pods),
        "shop/capacity-buffer-spare-1 stands for room\nshop/capacity-buffer-spare-2 stands for room"
    );
    assert_eq!((&*pods[0].uid, &*pods[1].uid), ("u-1", "u-2"));
    assert_eq!(pods[0].labels["app"], "web");
    assert_eq!(pods[0].spec.requests.to_string(), "cpu 1, memory 1Gi, pods 1");
    assert_eq!(pods[0].created, "2026-06-01T12:00:00Z".parse::<Timestamp>().unwrap().as_second());
}

#[test]
fn a_pod_template_serves_without_its_volumes() {
    let yaml = "
apiVersion: v1
kind: PodTemplate
metadata: {name: t}
template:
  spec:
    nodeName: somewhere
    containers: [{name: main, resources: {requests: {cpu: 250m}}}]
    volumes: [{name: v, persistentVolumeClaim: {claimName: gone}}, {name: e, ephemeral: {}}]
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: spare}
spec: {podTemplateRef: {name: t}, limits: {cpu: 1}, percentage: 1000}
";
    let indexed = buffers(yaml);
    assert_eq!(indexed.snapshot.pods.len(), 4);
    assert_eq!(indexed.snapshot.pods[3].volumes.waiting, None);
    assert_eq!(&*indexed.snapshot.pods[3].uid, "default/capacity-buffer-spare-4");
}

#[test]
fn stateful_sets_and_replica_sets_serve_too() {
    for kind in ["StatefulSet", "ReplicaSet"] {
        let yaml = for_workload("replicas: 4,", "percentage: 50")
            .replace("kind: Deployment", &format!("kind: {kind}"));
        assert_eq!(buffers(&yaml).snapshot.pods.len(), 2, "{kind}");
    }
}

#[test]
fn what_a_buffer_refers_to_must_be_there() {
    let cases = [
        ("scalableRef: {kind: Deployment, name: gone}", "Deployment default/gone does not exist"),
        ("podTemplateRef: {name: gone}, replicas: 1", "PodTemplate default/gone does not exist"),
        (
            "scalableRef: {kind: CronJob, name: c}",
            "scalableRef.kind is \"CronJob\"; use Deployment, StatefulSet or ReplicaSet",
        ),
        (
            "scalableRef: {apiGroup: batch, kind: Job, name: j}",
            "scalableRef.apiGroup is \"batch\"; use apps",
        ),
        (
            "provisioningStrategy: example.com/standby, podTemplateRef: {name: t}, replicas: 1",
            "provisioningStrategy is \"example.com/standby\"; use buffer.x-k8s.io/active-capacity",
        ),
        ("replicas: 1", "it has neither podTemplateRef nor scalableRef; add one"),
    ];
    for (spec, why) in cases {
        let yaml = format!(
            "{{apiVersion: autoscaling.x-k8s.io/v1beta1, kind: CapacityBuffer, metadata: {{name: b}}, \
             spec: {{{spec}}}}}"
        );
        let indexed = buffers(&yaml);
        assert!(indexed.snapshot.pods.is_empty());
        assert_eq!(indexed.notes, [format!("CapacityBuffer default/b is left out: {why}")]);
    }
}

#[test]
fn a_slip_of_the_pen_does_not_use_up_all_memory() {
    let indexed = buffers(&for_workload("", "replicas: 2147483647"));
    assert_eq!(indexed.snapshot.pods.len(), 100_000);
    assert_eq!(
        indexed.notes,
        ["CapacityBuffer shop/spare wants 2147483647 replicas: only 100000 are planned for; \
          lower replicas or limits"]
    );
}

#[test]
fn a_virtual_pod_tells_whose_it_is() {
    let of = |pod: &str| buffer_of(pod).map(|key| key.to_string());
    assert_eq!(of("shop/capacity-buffer-spare-12").as_deref(), Some("shop/spare"));
    assert_eq!(of("shop/capacity-buffer-a-b-1").as_deref(), Some("shop/a-b"));
    assert_eq!(of("shop/web-1"), None);
}

#[test]
fn buffers_count_only_with_their_gate() {
    let yaml = for_workload("", "replicas: 2");
    assert!(index(&yaml, &IndexSettings::default()).snapshot.pods.is_empty());
}
