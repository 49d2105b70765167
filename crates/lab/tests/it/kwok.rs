//! Nodes without instances: the laboratory plays KWOK for Node objects that ask for it.

use jiff::SignedDuration;
use joiner_apiserver::{Caller, DeleteOptions, Key, Resource};
use joiner_lab::{Lab, Setup, cluster::instances::SimulatedBoot};
use serde_json::{Value, json};

use crate::common::condition;

/// A whole cluster, and somebody who uses it.
struct Stage {
    lab: Lab,
    user: Caller,
}

impl Stage {
    fn new() -> Self {
        let lab = Lab::new(Setup::new(1));
        let user = lab.caller("user");
        Self { lab, user }
    }

    async fn pass(&mut self, seconds: i64) {
        self.lab.pass(SignedDuration::from_secs(seconds)).await;
    }

    /// A node as a provider of KWOK's nodes makes it; what it was asked for is less than it has.
    fn create_node(&self, name: &str) {
        let node = json!({
            "metadata": {
                "name": name,
                "labels": {
                    "kubernetes.io/arch": "arm64",
                    "kubernetes.io/hostname": name,
                    "kubernetes.io/os": "linux",
                    "kwok.x-k8s.io/node": "fake",
                },
                "annotations": {"kwok.x-k8s.io/node": "fake"},
            },
            "spec": {
                "providerID": format!("kwok://{name}"),
                "taints": [{"key": "karpenter.sh/unregistered", "effect": "NoExecute"}],
            },
            "status": {
                "phase": "Pending",
                "capacity": {"cpu": "2", "pods": "3"},
                "allocatable": {"cpu": "3900m", "memory": "8182Mi", "pods": "64"},
            },
        });
        self.user.create(&nodes(), node).unwrap();
    }

    /// As Karpenter does once it knows the node.
    fn register(&self, name: &str) {
        let taints = self.node(name)["spec"]["taints"].as_array().cloned().unwrap_or_default();
        let kept: Vec<_> = taints
            .into_iter()
            .filter(|taint| taint["key"] != "karpenter.sh/unregistered")
            .collect();
        let patch = json!({"spec": {"taints": kept}});
        self.user.merge(&nodes(), &Key::new("", name), None, patch).unwrap();
    }

    fn node(&self, name: &str) -> Value {
        self.user.get(&nodes(), &Key::new("", name)).unwrap().value()
    }

    fn taints(&self, name: &str) -> Vec<String> {
        let node = self.node(name);
        let taints = node["spec"]["taints"].as_array().into_iter().flatten();
        taints.map(|taint| taint["key"].as_str().unwrap().to_owned()).collect()
    }

    fn lease(&self, node: &str) -> Option<Value> {
        let leases = Resource::new("coordination.k8s.io", "leases");
        Some(self.user.get(&leases, &Key::new("kube-node-lease", node)).ok()?.value())
    }

    fn create_pod(&self, name: &str, annotations: Value, grace_seconds: i64) {
        let pod = json!({
            "metadata": {"namespace": "default", "name": name, "annotations": annotations},
            "spec": {
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": grace_seconds,
                "containers": [{"name": "app", "image": "app"}],
            },
        });
        self.user.create(&pods(), pod).unwrap();
    }

    fn create_replica_set(&self, name: &str, replicas: u32) {
        let labels = json!({"app": name});
        let set = json!({
            "metadata": {"namespace": "default", "name": name},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "app", "image": "app"}]},
                },
            },
        });
        self.user.create(&Resource::new("apps", "replicasets"), set).unwrap();
    }

    /// The phase of each pod and where it is, by name.
    fn pods(&self) -> Vec<String> {
        let all = self.user.list(&pods(), Some("default"));
        let one = |pod: Value| {
            let place = pod["spec"]["nodeName"].as_str().unwrap_or("nowhere").to_owned();
            format!("{} {place}", pod["status"]["phase"].as_str().unwrap())
        };
        all.iter().map(|pod| one(pod.value())).collect()
    }

    fn delete(&self, resource: &Resource, namespace: &str, name: &str) {
        let key = Key::new(namespace, name);
        self.user.delete(resource, &key, DeleteOptions::default()).unwrap();
    }
}

fn nodes() -> Resource {
    Resource::new("", "nodes")
}

fn pods() -> Resource {
    Resource::new("", "pods")
}

#[tokio::test(start_paused = true)]
async fn a_node_is_ready_within_a_second_and_keeps_what_was_written() {
    let mut stage = Stage::new();
    stage.create_node("web-1");
    stage.pass(1).await;
    let node = stage.node("web-1");
    assert_eq!(condition(&node, "Ready")["status"], "True");
    assert_eq!(condition(&node, "MemoryPressure")["status"], "False");
    let status = &node["status"];
    assert_eq!(status["phase"], "Running");
    assert_eq!(status["capacity"], json!({"cpu": "2", "pods": "3"}));
    assert_eq!(status["allocatable"], json!({"cpu": "3900m", "memory": "8182Mi", "pods": "64"}));
    assert_eq!(status["nodeInfo"]["architecture"], "arm64");
    assert_eq!(status["nodeInfo"]["operatingSystem"], "linux");
    assert_ne!(status["nodeInfo"]["kubeletVersion"], "");
    assert_eq!(stage.taints("web-1"), ["karpenter.sh/unregistered"]);
    let owner = &stage.lease("web-1").unwrap()["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], node["metadata"]["uid"]);
}

#[expect(clippy::panic, reason = "a test that cannot go on has failed")]
/// The first second at which the node is in a state, from now on.
async fn second_when(stage: &mut Stage, name: &str, state: impl Fn(&Value) -> bool) -> i64 {
    for second in 0..120 {
        if state(&stage.node(name)) {
            return second;
        }
        stage.pass(1).await;
    }
    panic!("never: {}", stage.node(name));
}

#[tokio::test(start_paused = true)]
async fn a_node_can_take_as_long_as_an_instance_does_and_each_takes_its_own_time() {
    let mut stage = Stage::new();
    let boot = SimulatedBoot { boot_seconds: 20..=30, ready_seconds: 8..=12 };
    stage.lab.instances().simulated_nodes_take(boot);
    let mut times = Vec::new();
    for name in ["web-1", "web-2", "web-3"] {
        stage.create_node(name);
        stage.pass(1).await;
        assert!(stage.node(name)["status"]["conditions"].is_null(), "no kubelet has said anything");
        let taints = ["karpenter.sh/unregistered", "node.kubernetes.io/not-ready"];
        assert_eq!(stage.taints(name), taints, "nor does anybody send pods there");
        stage.register(name);
        let says = |status: &'static str| {
            move |node: &Value| {
                let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
                conditions.into_iter().any(|own| own["type"] == "Ready" && own["status"] == status)
            }
        };
        let boots = 1 + second_when(&mut stage, name, says("False")).await;
        let joins = second_when(&mut stage, name, says("True")).await;
        stage.pass(1).await;
        assert_eq!(stage.taints(name), [""; 0]);
        assert!((20..=31).contains(&boots) && (8..=13).contains(&joins), "{boots} {joins}");
        times.push((boots, joins));
    }
    assert!(times.windows(2).any(|pair| pair[0] != pair[1]), "{times:?}");
    let status = &stage.node("web-1")["status"];
    assert_eq!(status["allocatable"]["cpu"], "3900m", "what was written stays");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_deleted_while_it_boots_never_comes() {
    let mut stage = Stage::new();
    let boot = SimulatedBoot { boot_seconds: 20..=20, ready_seconds: 8..=8 };
    stage.lab.instances().simulated_nodes_take(boot);
    stage.create_node("web-1");
    stage.pass(10).await;
    stage.delete(&nodes(), "", "web-1");
    stage.pass(60).await;
    assert!(stage.user.list(&nodes(), None).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_says_nothing_of_its_size_gets_some() {
    let mut stage = Stage::new();
    let annotations = json!({"kwok.x-k8s.io/node": "fake"});
    let node = json!({
        "metadata": {"name": "web-1", "annotations": annotations},
        "status": {"capacity": {}, "allocatable": {}},
    });
    stage.user.create(&nodes(), node).unwrap();
    stage.pass(1).await;
    let status = &stage.node("web-1")["status"];
    assert_eq!(
        (&status["capacity"]["cpu"], &status["allocatable"]["cpu"]),
        (&json!("4"), &json!("4"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_quiet_node_renews_its_lease_and_stays_ready() {
    let mut stage = Stage::new();
    stage.create_node("web-1");
    stage.pass(10).await;
    let renewed = |stage: &Stage| stage.lease("web-1").unwrap()["spec"]["renewTime"].clone();
    let before = renewed(&stage);
    stage.pass(3600).await;
    assert_ne!(renewed(&stage), before);
    assert_eq!(condition(&stage.node("web-1"), "Ready")["status"], "True");
    assert_eq!(stage.taints("web-1"), ["karpenter.sh/unregistered"]);
}

#[tokio::test(start_paused = true)]
async fn pods_run_end_and_are_deleted_with_their_grace_periods() {
    let mut stage = Stage::new();
    stage.create_node("web-1");
    stage.create_pod("a-job", json!({"lab.joiner.dev/run-time": "30s"}), 30);
    stage.create_pod("b-stubborn", json!({"lab.joiner.dev/stop-time": "1h"}), 10);
    stage.pass(10).await;
    assert_eq!(
        stage.pods(),
        ["Pending nowhere", "Pending nowhere"],
        "nothing runs before it is registered"
    );
    stage.register("web-1");
    stage.pass(10).await;
    assert_eq!(stage.pods(), ["Running web-1", "Running web-1"]);
    stage.pass(40).await;
    assert_eq!(stage.pods(), ["Succeeded web-1", "Running web-1"]);
    stage.delete(&pods(), "default", "b-stubborn");
    stage.pass(9).await;
    assert_eq!(stage.pods(), ["Succeeded web-1", "Running web-1"]);
    stage.pass(2).await;
    assert_eq!(stage.pods(), ["Succeeded web-1"]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_deleted_takes_its_kubelet_lease_and_pods_with_it() {
    let mut stage = Stage::new();
    stage.create_node("web-1");
    stage.create_replica_set("web", 2);
    stage.pass(1).await;
    stage.register("web-1");
    stage.pass(10).await;
    assert_eq!(stage.pods(), ["Running web-1", "Running web-1"]);

    stage.delete(&nodes(), "", "web-1");
    stage.pass(5).await;
    assert_eq!(stage.lease("web-1"), None);
    assert_eq!(stage.pods(), ["Running web-1", "Running web-1"], "nobody noticed yet");
    stage.pass(120).await;
    assert_eq!(stage.pods(), ["Pending nowhere", "Pending nowhere"]);
    let left = stage.user.list(&nodes(), None);
    assert!(left.is_empty(), "a kubelet that ended makes no node");

    stage.create_node("web-1");
    stage.pass(1).await;
    stage.register("web-1");
    stage.pass(10).await;
    assert_eq!(
        stage.pods(),
        ["Running web-1", "Running web-1"],
        "the next of this name is another"
    );
}

#[tokio::test(start_paused = true)]
async fn a_node_that_stays_for_its_finalizer_stays_ready() {
    let mut stage = Stage::new();
    stage.create_node("web-1");
    let finalizers = json!({"metadata": {"finalizers": ["karpenter.sh/termination"]}});
    stage.user.merge(&nodes(), &Key::new("", "web-1"), None, finalizers).unwrap();
    stage.pass(1).await;
    stage.delete(&nodes(), "", "web-1");
    stage.pass(600).await;
    assert_eq!(condition(&stage.node("web-1"), "Ready")["status"], "True");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_loses_the_annotation_falls_silent() {
    let mut stage = Stage::new();
    stage.create_node("web-1");
    stage.pass(10).await;
    let patch = json!({"metadata": {"annotations": {"kwok.x-k8s.io/node": null}}});
    stage.user.merge(&nodes(), &Key::new("", "web-1"), None, patch).unwrap();
    stage.pass(120).await;
    assert_eq!(condition(&stage.node("web-1"), "Ready")["status"], "Unknown");
}
