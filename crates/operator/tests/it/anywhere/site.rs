//! Where one story happens: a namespace and a pool of its own in a cluster that others use too.

use std::time::Duration;

use http::Request;
use joiner_api::crd::crds;
use joiner_clock::Clock;
use kube::Client;
use serde_json::{Value, json};

const POOLS: &str = "/apis/karpenter.sh/v1/nodepools";
const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";
const CLASSES: &str = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses";
const NODES: &str = "/api/v1/nodes";
/// What keeps the pods of a story on the nodes of its pool.
const STORY: &str = "example.com/story";
/// How often something is looked at before it is said that it does not come.
const LOOKS: usize = 3000;

#[derive(Clone)]
pub(super) struct Site {
    client: Client,
    clock: Clock,
    ask_every: Duration,
    /// The name of its namespace and of its pool.
    pub(super) name: String,
}

/// Gives a cluster our definitions and a class.
pub(super) async fn furnish(site: &Site) {
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for definition in crds() {
        site.create(definitions, serde_json::to_value(definition).unwrap()).await;
    }
    for path in [POOLS, CLAIMS, CLASSES] {
        site.until("definitions are served", async || site.get(path).await).await;
    }
    site.create_class("default").await;
}

impl Site {
    pub(super) fn new(client: Client, clock: Clock, ask_every: Duration, story: &str) -> Self {
        let mut name = story.replace('_', "-");
        // The longest that a namespace, and with a suffix a pod, may be called.
        name.truncate(40);
        let name = name.trim_end_matches('-').to_owned();
        Self { client, clock, ask_every, name }
    }

    async fn send(&self, method: &str, path: &str, body: Option<Value>) -> Option<Value> {
        let kind =
            if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let request = Request::builder().method(method).uri(path).header("content-type", kind);
        let answer = self.client.request::<Value>(request.body(body).unwrap()).await;
        if let Err(kube::Error::Api(status)) = &answer
            && status.code == 404
        {
            return None;
        }
        Some(answer.unwrap())
    }

    pub(super) async fn create(&self, path: &str, object: Value) -> Value {
        self.send("POST", path, Some(object)).await.expect("it is served")
    }

    pub(super) async fn get(&self, path: &str) -> Option<Value> {
        self.send("GET", path, None).await
    }

    pub(super) async fn patch(&self, path: &str, patch: Value) {
        self.send("PATCH", path, Some(patch)).await;
    }

    pub(super) async fn delete(&self, path: &str) {
        self.send("DELETE", path, None).await;
    }

    async fn list(&self, path: &str) -> Vec<Value> {
        let list = self.get(path).await.unwrap_or_default();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Waits until there is what is looked for.
    pub(super) async fn until<T>(&self, what: &str, look: impl AsyncFn() -> Option<T>) -> T {
        for _ in 0..LOOKS {
            if let Some(found) = look().await {
                return found;
            }
            self.clock.sleep(self.ask_every).await;
        }
        let (claims, pods, said) = (self.claims().await, self.pods().await, self.said().await);
        unreachable!("{}: {what}: not so; {claims:#?} {pods:#?} {said:#?}", self.name)
    }

    /// The same for a plain yes.
    pub(super) async fn until_true(&self, what: &str, look: impl AsyncFn() -> bool) {
        self.until(what, async || look().await.then_some(())).await;
    }

    /// Lets time pass in which nothing should happen.
    pub(super) async fn pass(&self, duration: Duration) {
        self.clock.sleep(duration).await;
    }

    /// Creates a class; KWOK's are ready at once.
    pub(super) async fn create_class(&self, name: &str) {
        let class = json!({
            "apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass",
            "metadata": {"name": name}, "spec": {},
        });
        self.create(CLASSES, class).await;
    }

    /// Creates the story's namespace and its pool.
    pub(super) async fn open(&self, class: &str) {
        let name = &self.name;
        self.create("/api/v1/namespaces", json!({"metadata": {"name": name}})).await;
        let reference =
            json!({"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": class});
        let template = json!({
            "metadata": {"labels": {STORY: name}},
            "spec": {"nodeClassRef": reference, "requirements": []},
        });
        let pool = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name},
            "spec": {"template": template},
        });
        self.create(POOLS, pool).await;
    }

    /// Somebody wants pods to run.
    pub(super) async fn deploy(&self, replicas: u64, cpu: &str) {
        let labels = json!({"app": self.name});
        let container = json!({
            "name": "app", "image": "example.com/app", "resources": {"requests": {"cpu": cpu}},
        });
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"nodeSelector": {STORY: self.name}, "containers": [container]},
                },
            },
        });
        let path = format!("/apis/apps/v1/namespaces/{}/deployments", self.name);
        self.create(&path, deployment).await;
    }

    /// Waits until so many pods run, and no others are there.
    pub(super) async fn until_running(&self, replicas: usize) {
        let run = async || {
            let pods = self.pods().await;
            let runs = |pod: &Value| {
                pod["status"]["phase"] == "Running"
                    && pod["metadata"]["deletionTimestamp"].is_null()
            };
            pods.len() == replicas && pods.iter().all(runs)
        };
        self.until_true("all pods run", run).await;
    }

    /// The story's pods.
    pub(super) async fn pods(&self) -> Vec<Value> {
        self.list(&format!("/api/v1/namespaces/{}/pods", self.name)).await
    }

    /// Claims of the story's pool.
    pub(super) async fn claims(&self) -> Vec<Value> {
        self.list(&format!("{CLAIMS}?labelSelector=karpenter.sh/nodepool={}", self.name)).await
    }

    /// Nodes of the story's pool.
    pub(super) async fn nodes(&self) -> Vec<Value> {
        self.list(&format!("{NODES}?labelSelector=karpenter.sh/nodepool={}", self.name)).await
    }

    /// The pool.
    pub(super) fn pool_path(&self) -> String {
        format!("{POOLS}/{}", self.name)
    }

    /// Reasons and messages of what was said about pods.
    pub(super) async fn said(&self) -> Vec<String> {
        let events = self.list(&format!("/api/v1/namespaces/{}/events", self.name)).await;
        events.iter().map(text).collect()
    }

    /// Reasons and messages of what was said about a node.
    pub(super) async fn said_of_node(&self, node: &Value) -> Vec<String> {
        let events = self.list("/api/v1/namespaces/default/events").await;
        let about = |event: &&Value| event["involvedObject"]["name"] == name(node);
        events.iter().filter(about).map(text).collect()
    }

    /// Ends the story: nobody needs its instances any more.
    pub(super) async fn close(&self) {
        self.delete(&self.pool_path()).await;
        self.delete(&format!("/apis/apps/v1/namespaces/{}/deployments/web", self.name)).await;
    }
}

/// The reason and the message of an event.
fn text(event: &Value) -> String {
    let field = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
    format!("{}: {}", field("reason"), field("message"))
}

/// What an object is called.
pub(super) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().expect("every object has a name")
}

/// Where a claim is.
pub(super) fn claim_path(claim: &Value) -> String {
    format!("{CLAIMS}/{}", name(claim))
}

/// Where a node is.
pub(super) fn node_path(node: &Value) -> String {
    format!("{NODES}/{}", name(node))
}

/// The condition of an object; null if it is not there.
pub(super) fn condition<'o>(object: &'o Value, type_: &str) -> &'o Value {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == type_);
    found.unwrap_or(&Value::Null)
}
