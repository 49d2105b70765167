//! An administrator at work, over a connection on which everything can go wrong.
//!
//! Written as a program must be that meets such a server: every step looks first, can be repeated,
//! and is repeated until it worked.

use std::time::Duration;

use futures_util::StreamExt;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use tower_service::Service as _;

use crate::{Connection, chance::Chance};

/// Something that the administrator does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Gives a deployment another number of replicas.
    Scale { deployment: String, replicas: u64 },
    /// Has a deployment run another image.
    Roll { deployment: String, image: String },
    /// Empties a node through the eviction API and lets it work again.
    Drain { node: String },
}

/// How long a step is tried before the administrator gives up.
const TRIES_MAX: u32 = 60;

impl Task {
    pub(super) fn choose(chance: &mut Chance, deployments: &[String], instances: usize) -> Self {
        let deployment = deployments[chance.below(deployments.len() as u64) as usize].clone();
        match chance.below(3) {
            0 => Self::Scale { deployment, replicas: 1 + chance.below(6) },
            1 => Self::Roll {
                deployment,
                image: format!("registry.example/app:{}", chance.below(100)),
            },
            _ => {
                Self::Drain { node: super::instance_name(chance.below(instances as u64) as usize) }
            }
        }
    }

    pub(super) async fn run(&self, connection: Connection) {
        let mut client = Client { connection };
        match self {
            Self::Scale { deployment, replicas } => {
                client.change(deployment, json!({"spec": {"replicas": replicas}})).await;
            }
            Self::Roll { deployment, image } => {
                let container = json!({"name": "app", "image": image});
                let spec = json!({"containers": [container]});
                client.change(deployment, json!({"spec": {"template": {"spec": spec}}})).await;
            }
            Self::Drain { node } => client.drain(node).await,
        }
    }
}

struct Client {
    connection: Connection,
}

impl Client {
    async fn change(&mut self, deployment: &str, patch: Value) {
        let path = format!("/apis/apps/v1/namespaces/default/deployments/{deployment}");
        self.insist("PATCH", &path, &patch).await;
    }

    /// Cordons a node, evicts its pods one after the other, and uncordons it.
    async fn drain(&mut self, node: &str) {
        let path = format!("/api/v1/nodes/{node}");
        self.insist("PATCH", &path, &json!({"spec": {"unschedulable": true}})).await;
        let pods = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{node}");
        let Some(list) = self.insist("GET", &pods, &Value::Null).await else { return };
        for pod in list["items"].as_array().into_iter().flatten() {
            let owner = pod["metadata"]["ownerReferences"][0]["kind"].as_str();
            if owner == Some("DaemonSet") {
                continue;
            }
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            let eviction = json!({
                "apiVersion": "policy/v1", "kind": "Eviction",
                "metadata": {"name": name, "namespace": "default"},
            });
            let path = format!("/api/v1/namespaces/default/pods/{name}/eviction");
            self.insist("POST", &path, &eviction).await;
        }
        let path = format!("/api/v1/nodes/{node}");
        self.insist("PATCH", &path, &json!({"spec": {"unschedulable": null}})).await;
    }

    /// Repeats a call until it works, cannot work, or has been tried long enough.
    async fn insist(&mut self, method: &str, path: &str, body: &Value) -> Option<Value> {
        for attempt in 0..TRIES_MAX {
            match self.call(method, path, body).await {
                Ok((200..=299, answer)) => return Some(answer),
                // The object is gone or was never there: nothing is left to do.
                Ok((404 | 422, _)) => return None,
                Ok(_) | Err(_) => {
                    let wait = Duration::from_millis(500 << attempt.min(4));
                    tokio::time::sleep(wait).await;
                }
            }
        }
        None
    }

    async fn call(
        &mut self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> std::io::Result<(u16, Value)> {
        let kind = match method {
            "PATCH" => "application/strategic-merge-patch+json",
            _ => "application/json",
        };
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", kind)
            .body(Full::<bytes::Bytes>::from(text))
            .expect("paths of a story are valid");
        let response = self.connection.call(request).await?;
        let code = response.status().as_u16();
        let mut answer = Vec::new();
        let mut pieces = response.into_body().into_stream();
        while let Some(piece) = pieces.next().await {
            answer.extend(piece?);
        }
        Ok((code, serde_json::from_slice(&answer).unwrap_or_default()))
    }
}
