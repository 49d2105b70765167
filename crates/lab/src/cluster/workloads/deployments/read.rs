//! What Deployments and their ReplicaSets say, as far as a rollout needs it.

use std::sync::Arc;

use jiff::Timestamp;
use joiner_apiserver::{Key, Object};
use joiner_core::label::Labels;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    super::{
        facts::{Meta, read, selector, share},
        owned::{Owner, Owning},
        revisions::fingerprint,
    },
    HASH,
    rollout::{Limits, Size},
};

/// Which ReplicaSets a Deployment has.
pub(super) struct Deployment {
    pub(super) owning: Owning,
    pub(super) recreates: bool,
}

/// What a Deployment asks for.
pub(super) struct Wanted {
    pub(super) limits: Limits,
    pub(super) paused: bool,
    pub(super) recreates: bool,
    pub(super) progress_deadline: Option<i64>,
    pub(super) history: usize,
    pub(super) generation: i64,
    pub(super) collisions: i64,
}

/// One of a Deployment's ReplicaSets.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) key: Key,
    pub(super) uid: Arc<str>,
    pub(super) owner: Option<Arc<str>>,
    pub(super) labels: Labels,
    pub(super) annotations: Labels,
    pub(super) created: Timestamp,
    pub(super) deleting: bool,
    /// What its template is, apart from the hash.
    pub(super) template: u64,
    pub(super) size: Size,
    pub(super) pods: i64,
    pub(super) ready: i64,
}

#[derive(Deserialize)]
struct DeploymentJson {
    metadata: Meta,
    spec: DeploymentSpecJson,
}

#[derive(Deserialize)]
struct DeploymentSpecJson {
    selector: Option<Value>,
    strategy: Option<StrategyJson>,
}

#[derive(Deserialize)]
struct StrategyJson {
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct SetJson {
    metadata: Meta,
    spec: SetSpecJson,
    status: Option<SetStatusJson>,
}

#[derive(Deserialize)]
struct SetSpecJson {
    replicas: Option<i64>,
    template: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetStatusJson {
    replicas: Option<i64>,
    ready_replicas: Option<i64>,
    available_replicas: Option<i64>,
}

impl Owner for Deployment {
    fn owning(&self) -> &Owning {
        &self.owning
    }
}

impl Deployment {
    pub(super) fn of(object: &Object) -> Self {
        let DeploymentJson { metadata, spec } = read(object);
        let strategy = spec.strategy.and_then(|strategy| strategy.kind);
        Self {
            owning: Owning::new(
                object,
                ("apps/v1", "Deployment"),
                &metadata,
                selector(&spec.selector.unwrap_or_default()),
            ),
            recreates: strategy.as_deref() == Some("Recreate"),
        }
    }
}

impl Wanted {
    pub(super) fn of(object: &Value) -> Self {
        let spec = &object["spec"];
        let replicas = spec["replicas"].as_i64().unwrap_or(1);
        let recreates = spec["strategy"]["type"] == "Recreate";
        let rolling = &spec["strategy"]["rollingUpdate"];
        let quarter = json!("25%");
        let part = |field: &str, round_up: bool| {
            let part = share(rolling.get(field), replicas, round_up);
            part.or_else(|| share(Some(&quarter), replicas, round_up)).unwrap_or(0).max(0)
        };
        let (max_surge, mut max_unavailable) = if recreates {
            (0, replicas)
        } else {
            (part("maxSurge", true), part("maxUnavailable", false))
        };
        // Both may round down to nothing, and then a rollout could never move.
        if max_surge == 0 && max_unavailable == 0 {
            max_unavailable = 1;
        }
        let limits = Limits { replicas, max_surge, max_unavailable: max_unavailable.min(replicas) };
        Self {
            limits,
            paused: spec["paused"] == true,
            recreates,
            progress_deadline: spec["progressDeadlineSeconds"]
                .as_i64()
                .or(Some(600))
                .filter(|seconds| *seconds != i64::from(i32::MAX)),
            history: spec["revisionHistoryLimit"].as_u64().unwrap_or(10) as usize,
            generation: object["metadata"]["generation"].as_i64().unwrap_or(0),
            collisions: object["status"]["collisionCount"].as_i64().unwrap_or(0),
        }
    }
}

impl Set {
    pub(super) fn of(object: &Object) -> Self {
        let SetJson { metadata, spec, status } = read(object);
        let status = status.unwrap_or_default();
        Self {
            key: object.key.clone(),
            uid: Arc::clone(&object.uid),
            owner: metadata.controller().map(|owner| owner.uid.as_str().into()),
            created: metadata.created(),
            deleting: metadata.deleted().is_some(),
            labels: metadata.labels.unwrap_or_default(),
            annotations: metadata.annotations.unwrap_or_default(),
            template: fingerprint(&without_hash(spec.template.unwrap_or_default())),
            size: Size {
                wanted: spec.replicas.unwrap_or(1),
                available: status.available_replicas.unwrap_or(0),
            },
            pods: status.replicas.unwrap_or(0),
            ready: status.ready_replicas.unwrap_or(0),
        }
    }

    /// The number in an annotation.
    pub(super) fn number(&self, annotation: &str) -> Option<i64> {
        self.annotations.get(annotation)?.parse().ok()
    }
}

/// A template without the label that tells its version.
pub(super) fn without_hash(mut template: Value) -> Value {
    if let Some(labels) = template["metadata"]["labels"].as_object_mut() {
        labels.remove(HASH);
    }
    template
}
