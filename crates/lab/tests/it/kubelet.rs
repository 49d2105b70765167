//! Instances and kubelets.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use expect_test::expect;
use jiff::SignedDuration;
use joiner_apiserver::Resource;
use joiner_lab::cluster::instances::{
    Fate, Fault, InstanceError, InstanceSpec, NodeCondition, VolumeDriver,
};
use serde_json::{Value, json};

use crate::common::{Lab, condition};

/// The statuses of a node's Ready condition and its taints, in one line.
fn state(lab: &Lab, node: &str) -> String {
    let Some(node) = lab.get("nodes", node) else { return "-".to_owned() };
    let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    let keys: Vec<_> = taints.iter().map(|taint| taint["key"].as_str().unwrap()).collect();
    format!("{} {}", condition(&node, "Ready")["status"].as_str().unwrap_or("-"), keys.join(","))
}

#[tokio::test(start_paused = true)]
async fn an_instance_boots_joins_and_gets_ready() {
    let mut lab = Lab::new();
    let spec = InstanceSpec {
        labels: [("topology.kubernetes.io/zone".to_owned(), "a".to_owned())].into(),
        volume_drivers: vec![VolumeDriver {
            name: "csi.example.com".to_owned(),
            limit: Some(8),
            topology_keys: vec!["topology.kubernetes.io/zone".to_owned()],
        }],
        ..InstanceSpec::new("m1")
    };
    lab.instances.boot(spec.clone()).unwrap();
    assert_eq!(lab.instances.boot(spec), Err(InstanceError::Exists("m1".to_owned())));
    lab.pass(29).await;
    assert_eq!(state(&lab, "m1"), "-");
    assert!(!lab.instances.get("m1").unwrap().joined);
    lab.pass(1).await;
    assert_eq!(state(&lab, "m1"), "False node.kubernetes.io/not-ready");
    assert!(lab.instances.get("m1").unwrap().joined);
    lab.pass(5).await;
    assert_eq!(state(&lab, "m1"), "True node.kubernetes.io/not-ready");

    let node = lab.get("nodes", "m1").unwrap();
    assert_eq!(node["spec"]["providerID"], "lab://m1");
    assert_eq!(node["metadata"]["labels"]["kubernetes.io/hostname"], "m1");
    assert_eq!(node["metadata"]["labels"]["topology.kubernetes.io/zone"], "a");
    assert_eq!(node["status"]["allocatable"]["memory"], "16Gi");
    assert_eq!(node["status"]["nodeInfo"]["kubeletVersion"], "v1.36.3");
    let csi = lab.get("csinodes", "m1").unwrap();
    assert_eq!(csi["spec"]["drivers"][0]["allocatable"]["count"], 8);
    let lease = lab.get("leases", "m1").unwrap();
    assert_eq!(lease["spec"]["leaseDurationSeconds"], 40);
    assert_eq!(lease["metadata"]["ownerReferences"][0]["uid"], node["metadata"]["uid"]);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_is_booted_wakes_the_loop_that_has_nothing_else_to_do() {
    let (server, instances) = Lab::new().run();
    let nodes = || server.caller("user").list(&Resource::new("", "nodes"), None).len();
    server.clock().sleep(Duration::from_hours(1)).await;
    instances.boot(InstanceSpec::new("m1")).unwrap();
    server.clock().sleep(Duration::from_secs(29)).await;
    assert_eq!(nodes(), 0);
    server.clock().sleep(Duration::from_secs(2)).await;
    assert_eq!(nodes(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_node_writes_nothing_but_heartbeats() {
    let mut lab = Lab::new();
    lab.instances.boot(InstanceSpec::new("m1")).unwrap();
    lab.pass(60).await;
    let versions = |lab: &Lab| {
        let of = |plural| lab.get(plural, "m1").unwrap()["metadata"]["resourceVersion"].clone();
        (of("nodes"), of("leases"), lab.server.clone())
    };
    let (_, lease, server) = versions(&lab);
    let feed = server.feed_with_past();
    feed.drain();
    lab.pass(600).await;
    let mut written: Vec<_> =
        feed.drain().iter().map(|change| change.resource.to_string()).collect();
    written.sort();
    let count = |name: &str| written.iter().filter(|written| *written == name).count();
    assert_eq!((count("leases.coordination.k8s.io"), count("nodes")), (15, 2), "{written:?}");
    assert_eq!(written.len(), 17);
    assert_ne!(versions(&lab).1, lease);
}

#[tokio::test(start_paused = true)]
async fn a_join_token_must_be_valid() {
    let mut lab = Lab::new();
    let boot = |lab: &Lab, name: &str, token: &str| {
        let join_token = Some(token.to_owned());
        lab.instances.boot(InstanceSpec { join_token, ..InstanceSpec::new(name) }).unwrap();
    };
    boot(&lab, "late", "abcdef.0123456789abcdef");
    boot(&lab, "wrong", "abcdef.fedcba9876543210");
    lab.pass(60).await;
    assert_eq!((state(&lab, "late"), state(&lab, "wrong")), ("-".to_owned(), "-".to_owned()));
    let data = [
        ("token-id", "abcdef"),
        ("token-secret", "0123456789abcdef"),
        ("usage-bootstrap-authentication", "true"),
        ("expiration", "2026-01-01T00:05:00Z"),
    ]
    .map(|(key, value)| (key.to_owned(), json!(STANDARD.encode(value))));
    lab.create(
        "secrets",
        json!({
            "metadata": {"namespace": "kube-system", "name": "bootstrap-token-abcdef"},
            "type": "bootstrap.kubernetes.io/token",
            "data": Value::Object(data.into_iter().collect()),
        }),
    );
    lab.pass(20).await;
    assert!(state(&lab, "late").starts_with("True"), "the kubelet keeps trying");
    assert_eq!(state(&lab, "wrong"), "-");
    lab.pass(300).await;
    boot(&lab, "expired", "abcdef.0123456789abcdef");
    lab.pass(300).await;
    assert_eq!(state(&lab, "expired"), "-");
    lab.instances.reboot("late").unwrap();
    lab.pass(120).await;
    assert!(state(&lab, "late").starts_with("True"), "who was let in once needs no token");
}

#[tokio::test(start_paused = true)]
async fn instances_fail_in_many_ways() {
    let mut lab = Lab::new();
    for (name, fate) in [
        ("never", Fate::NeverJoins),
        ("unready", Fate::NeverReady),
        ("wrong", Fate::WrongProviderId("lab://other".to_owned())),
        ("late", Fate::LateProviderId(SignedDuration::from_secs(60))),
    ] {
        lab.instances.boot(InstanceSpec { fate, ..InstanceSpec::new(name) }).unwrap();
    }
    lab.pass(45).await;
    assert_eq!(state(&lab, "never"), "-");
    assert_eq!(state(&lab, "unready"), "False node.kubernetes.io/not-ready");
    let provider_id = |lab: &Lab, name: &str| {
        lab.get("nodes", name).unwrap()["spec"]["providerID"].as_str().map(ToOwned::to_owned)
    };
    assert_eq!(provider_id(&lab, "wrong").as_deref(), Some("lab://other"));
    assert_eq!(provider_id(&lab, "late"), None);
    lab.pass(60).await;
    assert_eq!(provider_id(&lab, "late").as_deref(), Some("lab://late"));

    let renewed = |lab: &Lab| lab.get("leases", "late").unwrap()["spec"]["renewTime"].clone();
    for fault in [Fault::KubeletStopped, Fault::Partitioned] {
        lab.instances.break_node("late", fault);
        lab.pass(1).await;
        let before = renewed(&lab);
        lab.pass(120).await;
        assert_eq!(renewed(&lab), before, "{fault:?}");
        lab.instances.heal("late");
        lab.pass(1).await;
        assert_ne!(renewed(&lab), before, "{fault:?}");
    }

    let pressure = |kind: &str| NodeCondition {
        kind: kind.to_owned(),
        status: "True".to_owned(),
        reason: "Test".to_owned(),
        message: "as asked".to_owned(),
    };
    lab.instances.report("late", pressure("DiskPressure"));
    lab.instances.report("late", pressure("KernelDeadlock"));
    lab.pass(1).await;
    let status = |lab: &Lab, kind: &str| {
        condition(&lab.get("nodes", "late").unwrap(), kind)["status"].clone()
    };
    assert_eq!(
        (status(&lab, "DiskPressure"), status(&lab, "KernelDeadlock")),
        (json!("True"), json!("True"))
    );
    lab.instances.heal("late");
    lab.pass(1).await;
    assert_eq!(
        (status(&lab, "DiskPressure"), status(&lab, "KernelDeadlock")),
        (json!("False"), json!(null))
    );

    lab.instances.break_node("late", Fault::Flapping(SignedDuration::from_secs(30)));
    lab.pass(31).await;
    assert_eq!(status(&lab, "Ready"), "False");
    lab.pass(30).await;
    assert_eq!(status(&lab, "Ready"), "True");
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_is_off_runs_nothing_and_restarts_pods_when_it_is_back() {
    let mut lab = Lab::new();
    lab.instances.boot(InstanceSpec::new("m1")).unwrap();
    lab.pass(40).await;
    lab.patch("nodes", "m1", json!({"spec": {"taints": null}}));
    lab.pod("app", json!({}));
    lab.pass(10).await;
    assert_eq!(lab.phases(), "app Running ready=True restarts=0\n");
    lab.instances.power_off("m1").unwrap();
    lab.delete("pods", "app");
    lab.pass(300).await;
    assert_eq!(lab.phases(), "app Running ready=True restarts=0\n", "nobody is there to stop it");
    lab.instances.reboot("m1").unwrap();
    lab.pass(35).await;
    assert_eq!(lab.phases(), "");

    lab.pod("other", json!({}));
    lab.pass(10).await;
    lab.instances.reboot("m1").unwrap();
    lab.pass(40).await;
    assert_eq!(lab.phases(), "other Running ready=True restarts=1\n");
    lab.instances.destroy("m1").unwrap();
    assert_eq!(lab.instances.list(), []);
    assert_eq!(lab.instances.reboot("m1"), Err(InstanceError::Unknown("m1".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_pod_starts_gets_ready_and_stops() {
    let mut lab = Lab::new();
    lab.node("a", "8", json!({}));
    lab.pod("app", json!({"containers": [{
        "name": "app", "image": "app:1", "readinessProbe": {"initialDelaySeconds": 5, "tcpSocket": {"port": 80}},
        "lifecycle": {"preStop": {"sleep": {"seconds": 3}}},
    }]}));
    lab.pass(1).await;
    assert_eq!(lab.phases(), "app Pending ready=False restarts=0\n");
    let pod = lab.get("pods", "app").unwrap();
    let waiting = &pod["status"]["containerStatuses"][0]["state"]["waiting"];
    assert_eq!(waiting["reason"], "ContainerCreating");
    lab.pass(1).await;
    assert_eq!(lab.phases(), "app Running ready=False restarts=0\n");
    lab.pass(5).await;
    assert_eq!(lab.phases(), "app Running ready=True restarts=0\n");
    let pod = lab.get("pods", "app").unwrap();
    expect![[r#"
        {
          "containerID": "lab://UID/app/0",
          "image": "app:1",
          "imageID": "",
          "lastState": {},
          "name": "app",
          "ready": true,
          "restartCount": 0,
          "started": true,
          "state": {
            "running": {
              "startedAt": "2026-01-01T00:00:02Z"
            }
          }
        }"#]]
    .assert_eq(
        &format!("{:#}", pod["status"]["containerStatuses"][0])
            .replace(pod["metadata"]["uid"].as_str().unwrap(), "UID"),
    );
    assert_eq!(condition(&pod, "PodScheduled")["status"], "True");
    assert_eq!(pod["status"]["hostIP"], "10.0.0.1");
    assert_eq!(pod["status"]["podIP"], "10.128.0.1");

    lab.delete("pods", "app");
    lab.pass(3).await;
    assert_eq!(lab.phases(), "app Running ready=True restarts=0\n");
    lab.pass(1).await;
    assert_eq!(lab.phases(), "");
    expect![[r#"
        [
            "Scheduled: Successfully assigned default/app to a x1",
            "Started: Container started x1",
            "Killing: Stopping container app x1",
        ]
    "#]]
    .assert_debug_eq(&lab.events("app"));
}

#[tokio::test(start_paused = true)]
async fn containers_end_as_their_annotations_say() {
    let mut lab = Lab::new();
    lab.node("a", "16", json!({}));
    let annotated = |name: &str, pairs: &[(&str, &str)]| {
        let mut annotations = json!({});
        for (key, value) in pairs {
            annotations[format!("lab.joiner.dev/{key}")] = json!(value);
        }
        json!({"name": name, "annotations": annotations})
    };
    let never = json!({"restartPolicy": "Never"});
    lab.pod_with(annotated("job", &[("run-time", "30s")]), never.clone());
    lab.pod_with(annotated("failing", &[("run-time", "30s"), ("exit-code", "2")]), never.clone());
    lab.pod_with(annotated("loop", &[("run-time", "1s"), ("exit-code", "1")]), json!({}));
    lab.pod_with(annotated("shy", &[("never-ready", "true")]), json!({}));
    lab.pod_with(annotated("slow", &[("start-delay", "1h"), ("run-time", "soon")]), json!({}));
    lab.pod_with(annotated("limited", &[]), json!({"activeDeadlineSeconds": 20}));
    lab.pass(60).await;
    expect![[r#"
        failing Failed ready=False restarts=0
        job Succeeded ready=False restarts=0
        limited Failed ready=False restarts=0
        loop Running ready=False restarts=3
        shy Running ready=False restarts=0
        slow Pending ready=False restarts=0
    "#]]
    .assert_eq(&lab.phases());
    let pod = lab.get("pods", "loop").unwrap();
    let status = &pod["status"]["containerStatuses"][0];
    let message = status["state"]["waiting"]["message"].as_str().unwrap();
    assert!(message.starts_with("back-off 40s restarting failed container=app pod=loop_default("));
    assert_eq!(status["lastState"]["terminated"]["exitCode"], 1);
    assert_eq!(lab.get("pods", "limited").unwrap()["status"]["reason"], "DeadlineExceeded");
    let wrong = "InvalidAnnotation: annotation lab.joiner.dev/run-time has value \"soon\": \
                 write a duration such as 500ms, 90s, 5m or 1h x1";
    assert!(lab.events("slow").contains(&wrong.to_owned()), "{:?}", lab.events("slow"));
}

#[tokio::test(start_paused = true)]
async fn a_deleted_pod_that_hangs_stays_until_the_node_is_healed() {
    let mut lab = Lab::new();
    lab.node("a", "8", json!({}));
    lab.pod("app", json!({"terminationGracePeriodSeconds": 5}));
    lab.pass(5).await;
    lab.instances.break_node("a", Fault::PodsHang);
    lab.pass(1).await;
    lab.delete("pods", "app");
    lab.pass(600).await;
    assert_eq!(lab.phases(), "app Running ready=True restarts=0\n");
    lab.instances.heal("a");
    lab.pass(2).await;
    assert_eq!(lab.phases(), "");
}

#[tokio::test(start_paused = true)]
async fn a_kubelet_refuses_pods_that_should_never_have_come() {
    let mut lab = Lab::new();
    lab.node("a", "1", json!({}));
    lab.pod("first", json!({"nodeName": "a"}));
    lab.pass(5).await;
    lab.pod("second", json!({"nodeName": "a"}));
    lab.pod("astray", json!({"nodeName": "a", "nodeSelector": {"disk": "ssd"}}));
    lab.pass(1).await;
    let reason = |name: &str| {
        let pod = lab.get("pods", name).unwrap();
        let text = |field: &str| pod["status"][field].as_str().unwrap().to_owned();
        format!("{} {}: {}", text("phase"), text("reason"), text("message"))
    };
    expect!["Failed OutOfcpu: Node didn't have enough resource: cpu, requested: 1000, used: 1000, capacity: 1000"]
        .assert_eq(&reason("second"));
    expect!["Failed NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"]
        .assert_eq(&reason("astray"));

    lab.instances.evict_under_pressure("default", "first", "memory");
    lab.pass(0).await;
    let pod = lab.get("pods", "first").unwrap();
    assert_eq!(pod["status"]["reason"], "Evicted");
    assert_eq!(condition(&pod, "DisruptionTarget")["reason"], "TerminationByKubelet");
}

#[tokio::test(start_paused = true)]
async fn accidents_happen_at_the_rate_that_was_asked_for_and_repeat_with_the_seed() {
    let run = || async {
        let mut lab = Lab::new();
        lab.node("a", "200", json!({}));
        for n in 0..100 {
            lab.pod(&format!("p{n:02}"), json!({}));
        }
        lab.instances.restarts_per_hour(1.0);
        lab.pass(3600).await;
        lab.phases()
    };
    let first = run().await;
    let restarts: i64 =
        first.lines().map(|line| line.rsplit('=').next().unwrap().parse::<i64>().unwrap()).sum();
    assert!((70..130).contains(&restarts), "about a hundred are to be expected: {restarts}");
    assert_eq!(first, run().await);
}
