//! A small cluster to tell stories with.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Caller, DeleteOptions, Key, Resource, Server};
use joiner_clock::Clock;
use joiner_lab::{
    chance::Chance,
    cluster::{
        Cluster,
        instances::{self, Instances},
        scheduler::Scheduler,
        volumes::Volumes,
    },
};
use serde_json::{Value, json};

/// A server with a scheduler, kubelets and a controller of volumes, driven by hand.
pub(crate) struct Lab {
    pub(crate) server: Server,
    pub(crate) instances: Instances,
    pub(crate) user: Caller,
    cluster: Cluster,
}

impl Lab {
    /// An empty cluster at midnight.
    pub(crate) fn new() -> Self {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let server = Server::new(Clock::following_runtime(start), 1);
        let (instances, mut controllers) = instances::controllers(&server, &Chance::new(1));
        controllers.insert(0, Box::new(Volumes::new(&server)));
        controllers.insert(0, Box::new(Scheduler::new(&server)));
        let cluster = Cluster::new(server.clone(), controllers);
        let user = server.caller("user");
        Self { server, instances, user, cluster }
    }

    /// Lets the cluster run by itself from now on.
    pub(crate) fn run(self) -> (Server, Instances) {
        let mut cluster = self.cluster;
        tokio::spawn(async move { cluster.run().await });
        (self.server, self.instances)
    }

    /// Lets seconds pass.
    pub(crate) async fn pass(&mut self, seconds: i64) {
        let clock = self.server.clock().clone();
        let end = clock.now() + SignedDuration::from_secs(seconds);
        loop {
            match self.cluster.settle() {
                Some(due) if due <= end => clock.sleep_until(due).await,
                _ => break,
            }
        }
        clock.sleep_until(end).await;
        self.cluster.settle();
    }

    pub(crate) fn create(&self, plural: &str, object: Value) {
        self.user.create(&resource(plural), object).unwrap();
    }

    pub(crate) fn get(&self, plural: &str, name: &str) -> Option<Value> {
        let key = Key::new(namespace_of(plural), name);
        self.user.get(&resource(plural), &key).ok().map(|object| object.value())
    }

    pub(crate) fn patch(&self, plural: &str, name: &str, patch: Value) {
        let key = Key::new(namespace_of(plural), name);
        self.user.merge(&resource(plural), &key, None, patch).unwrap();
    }

    pub(crate) fn delete(&self, plural: &str, name: &str) {
        let key = Key::new(namespace_of(plural), name);
        self.user.delete(&resource(plural), &key, DeleteOptions::default()).unwrap();
    }

    /// A node that KWOK simulates, without taints.
    pub(crate) fn node(&self, name: &str, cpu: &str, labels: Value) {
        let mut all = json!({"kubernetes.io/hostname": name});
        for (key, value) in labels.as_object().unwrap() {
            all[key] = value.clone();
        }
        self.create(
            "nodes",
            json!({
                "metadata": {
                    "name": name, "labels": all,
                    "annotations": {"kwok.x-k8s.io/node": "fake"},
                },
                "status": {
                    "capacity": {"cpu": cpu, "memory": "16Gi", "pods": "110"},
                    "allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "110"},
                },
            }),
        );
        self.patch("nodes", name, json!({"spec": {"taints": null}}));
    }

    /// A pod with some fields of its spec.
    pub(crate) fn pod(&self, name: &str, spec: Value) {
        self.pod_with(json!({"name": name}), spec);
    }

    /// A pod with some fields of its metadata and spec. It asks for one CPU unless it says.
    pub(crate) fn pod_with(&self, mut metadata: Value, spec: Value) {
        metadata["namespace"] = json!("default");
        let mut all = json!({"containers": [
            {"name": "app", "image": "app", "resources": {"requests": {"cpu": "1"}}},
        ]});
        for (key, value) in spec.as_object().unwrap() {
            all[key] = value.clone();
        }
        self.create("pods", json!({"metadata": metadata, "spec": all}));
    }

    /// Where each pod is: `name on node`, by name.
    pub(crate) fn places(&self) -> String {
        self.pods(|pod| pod["spec"]["nodeName"].as_str().unwrap_or("-").to_owned())
    }

    /// The phase, readiness and restarts of each pod.
    pub(crate) fn phases(&self) -> String {
        self.pods(|pod| {
            let status = &pod["status"];
            let ready = condition(pod, "Ready")["status"].as_str().unwrap_or("-").to_owned();
            let restarts = status["containerStatuses"][0]["restartCount"].as_i64();
            format!(
                "{} ready={ready} restarts={}",
                status["phase"].as_str().unwrap(),
                restarts.unwrap_or_default()
            )
        })
    }

    fn pods(&self, describe: impl Fn(&Value) -> String) -> String {
        let mut text = String::new();
        for object in self.user.list(&resource("pods"), Some("default")) {
            writeln!(text, "{} {}", object.key.name, describe(&object.value())).unwrap();
        }
        text
    }

    /// What the pod says about being scheduled.
    pub(crate) fn why(&self, pod: &str) -> String {
        let pod = self.get("pods", pod).unwrap();
        condition(&pod, "PodScheduled")["message"].as_str().unwrap_or_default().to_owned()
    }

    /// `reason: message xcount` of every event about an object, in the order of their names.
    pub(crate) fn events(&self, about: &str) -> Vec<String> {
        let events = self.user.list(&resource("events"), None);
        let values = events.iter().map(|event| event.value());
        values
            .filter(|event| event["involvedObject"]["name"] == about)
            .map(|event| {
                let text = |field: &str| event[field].as_str().unwrap().to_owned();
                format!("{}: {} x{}", text("reason"), text("message"), event["count"])
            })
            .collect()
    }
}

/// A condition of an object.
pub(crate) fn condition<'v>(object: &'v Value, kind: &str) -> &'v Value {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == kind);
    found.unwrap_or(&Value::Null)
}

fn namespace_of(plural: &str) -> &'static str {
    match plural {
        "nodes" | "persistentvolumes" | "storageclasses" | "csinodes" | "priorityclasses" => "",
        "leases" => "kube-node-lease",
        _ => "default",
    }
}

fn resource(plural: &str) -> Resource {
    let group = match plural {
        "storageclasses" | "csinodes" => "storage.k8s.io",
        "leases" => "coordination.k8s.io",
        "priorityclasses" => "scheduling.k8s.io",
        "poddisruptionbudgets" => "policy",
        _ => "",
    };
    Resource::new(group, plural)
}
