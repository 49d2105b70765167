//! The real control plane, as a user and its kubelets see it.

use std::time::Duration;

use joiner_realparts::{
    control_plane::ControlPlane,
    http::{Request, Server},
};
use serde_json::{Value, json};

pub(super) const CLASSES: &str = "/apis/karpenter.vsphere.com/v1alpha1/vspherenodeclasses";
pub(super) const POOLS: &str = "/apis/karpenter.sh/v1/nodepools";
pub(super) const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";
pub(super) const NODES: &str = "/api/v1/nodes";
const SECRETS: &str = "/api/v1/namespaces/kube-system/secrets";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

/// How often something is looked at, and how often before it is said that it does not come.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(200);
const LOOKS: usize = 3000;

#[derive(Debug, Clone)]
pub(super) struct Cluster(Server);

impl Cluster {
    pub(super) fn of(plane: &ControlPlane) -> Self {
        Self(Server::new(plane.url(), plane.token()))
    }

    async fn send(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let kind =
            if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = Request {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: vec![("content-type".to_owned(), kind.to_owned())],
            body: body.map(|body| body.to_string()),
        };
        let answer = self.0.send(&request).await.unwrap();
        (answer.status, serde_json::from_str(&answer.body).unwrap_or_default())
    }

    pub(super) async fn create(&self, path: &str, object: Value) {
        let (status, answer) = self.send("POST", path, Some(object)).await;
        assert_eq!(status, 201, "{answer}");
    }

    pub(super) async fn get(&self, path: &str) -> Option<Value> {
        let (status, answer) = self.send("GET", path, None).await;
        (status == 200).then_some(answer)
    }

    pub(super) async fn list(&self, path: &str) -> Vec<Value> {
        let (status, answer) = self.send("GET", path, None).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer["items"].as_array().cloned().unwrap_or_default()
    }

    /// Secrets that let instances in.
    pub(super) async fn tokens(&self) -> Vec<Value> {
        let mut secrets = self.list(SECRETS).await;
        secrets.retain(|secret| name(secret).starts_with("bootstrap-token-"));
        secrets
    }

    /// Somebody wants pods to run, each on a node of its own.
    pub(super) async fn deploy(&self, replicas: usize) {
        let labels = json!({"app": "web"});
        let apart = json!([{
            "labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname",
        }]);
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "affinity": {"podAntiAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": apart,
                        }},
                        "containers": [{
                            "name": "web", "image": "example.com/web",
                            "resources": {"requests": {"cpu": "1"}},
                        }],
                    },
                },
            },
        });
        self.create(DEPLOYMENTS, deployment).await;
    }

    /// Somebody wants another number of pods.
    pub(super) async fn scale(&self, replicas: usize) {
        let patch = json!({"spec": {"replicas": replicas}});
        let (status, answer) = self.send("PATCH", &format!("{DEPLOYMENTS}/web"), Some(patch)).await;
        assert_eq!(status, 200, "{answer}");
    }

    /// Waits until there is what is looked for; says what the cluster looks like if it never is.
    pub(super) async fn until<T>(&self, what: &str, look: impl AsyncFn() -> Option<T>) -> T {
        for _ in 0..LOOKS {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let mut state = Vec::new();
        for path in [CLASSES, CLAIMS, NODES, "/api/v1/pods", "/api/v1/events"] {
            state.push(self.get(path).await);
        }
        unreachable!("{what}: not so; {state:#?}")
    }
}

/// What an object is called.
pub(super) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

/// The condition of an object; null if it is not there.
pub(super) fn condition<'o>(object: &'o Value, type_: &str) -> &'o Value {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == type_);
    found.unwrap_or(&Value::Null)
}
