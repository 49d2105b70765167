//! What is said of a buffer before any plan: what it comes to.

use std::sync::Arc;

use joiner_operator::{buffers::Buffers, provisioning::Triggers, settings::Batch};
use serde_json::{Value, json};

use super::{buffer, condition, template};
use crate::stage::Stage;

const GROUP: &str = "autoscaling.x-k8s.io";

/// A stage, and where plans are asked for.
fn stage() -> (Stage, Arc<Triggers>) {
    let plans = Arc::new(Triggers::default());
    let stage = Stage::bare().set(|settings| settings.planner.gates.capacity_buffer = true);
    let asked = Arc::clone(&plans);
    (stage.with(|context| Buffers::new(context, asked)), plans)
}

fn create_buffer(stage: &Stage, spec: &Value) {
    stage.create(GROUP, "capacitybuffers", buffer("spare", spec));
}

fn found(stage: &Stage) -> Value {
    stage.find(GROUP, "capacitybuffers", "default/spare").unwrap()
}

fn ready(stage: &Stage) -> String {
    condition(&found(stage), "ReadyForProvisioning")
}

fn workload(kind: &str, replicas: Option<i64>) -> Value {
    let mut workload = json!({
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": template("web", "1")["template"],
        },
    });
    if let Some(replicas) = replicas {
        workload["spec"]["replicas"] = replicas.into();
    }
    if kind == "StatefulSet" {
        workload["spec"]["serviceName"] = "web".into();
    }
    workload
}

/// Whether a plan was asked for since the last one.
async fn asks_for_plan(stage: &Stage, plans: &Triggers) -> bool {
    let clock = &stage.context.clock;
    let batch = Batch { max: std::time::Duration::ZERO, idle: std::time::Duration::ZERO };
    tokio::select! {
        biased;
        () = plans.window(clock, batch, None) => true,
        () = std::future::ready(()) => false,
    }
}

#[tokio::test(start_paused = true)]
async fn a_template_is_resolved_and_a_plan_asked_for() {
    let (mut stage, plans) = stage();
    stage.create("", "podtemplates", template("chunk", "1"));
    create_buffer(&stage, &json!({"podTemplateRef": {"name": "chunk"}, "replicas": 3}));
    stage.pass(1).await;
    let status = found(&stage)["status"].clone();
    assert_eq!(ready(&stage), "True Resolved: Pod template resolved successfully");
    assert_eq!(status["replicas"], 3);
    assert_eq!(status["podTemplateRef"], json!({"name": "chunk"}));
    assert_eq!(status["provisioningStrategy"], "buffer.x-k8s.io/active-capacity");
    assert!(asks_for_plan(&stage, &plans).await);
    assert!(!asks_for_plan(&stage, &plans).await, "once");
    stage.pass(31).await;
    assert!(asks_for_plan(&stage, &plans).await, "again after half a minute");
}

#[tokio::test(start_paused = true)]
async fn a_template_that_is_missing_is_named_and_no_plan_asked_for() {
    let (mut stage, plans) = stage();
    create_buffer(&stage, &json!({"podTemplateRef": {"name": "chunk"}, "replicas": 3}));
    stage.pass(1).await;
    assert_eq!(
        ready(&stage),
        "False PodTemplateNotFound: PodTemplate default/chunk does not exist"
    );
    assert!(!asks_for_plan(&stage, &plans).await);
    stage.create("", "podtemplates", template("chunk", "1"));
    stage.pass(1).await;
    assert_eq!(ready(&stage), "True Resolved: Pod template resolved successfully");
}

#[tokio::test(start_paused = true)]
async fn a_template_that_goes_makes_its_buffer_unready() {
    let (mut stage, _) = stage();
    stage.create("", "podtemplates", template("chunk", "1"));
    create_buffer(&stage, &json!({"podTemplateRef": {"name": "chunk"}, "replicas": 3}));
    stage.pass(1).await;
    stage.delete("", "podtemplates", "default/chunk");
    stage.pass(1).await;
    assert!(ready(&stage).starts_with("False PodTemplateNotFound"));
}

#[tokio::test(start_paused = true)]
async fn workloads_are_resolved_and_followed_when_they_scale() {
    for (kind, plural) in [("Deployment", "deployments"), ("StatefulSet", "statefulsets")] {
        let (mut stage, _) = stage();
        stage.create("apps", plural, workload(kind, Some(10)));
        let scalable = json!({"apiGroup": "apps", "kind": kind, "name": "web"});
        create_buffer(&stage, &json!({"scalableRef": scalable, "percentage": 20}));
        stage.pass(1).await;
        assert_eq!(found(&stage)["status"]["replicas"], 2, "{kind}");
        assert_eq!(found(&stage)["status"]["podTemplateRef"], Value::Null, "{kind}");
        stage.merge("apps", plural, "default/web", None, json!({"spec": {"replicas": 50}}));
        stage.pass(1).await;
        assert_eq!(found(&stage)["status"]["replicas"], 10, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_says_nothing_has_one_replica() {
    let (mut stage, _) = stage();
    stage.create("apps", "deployments", workload("Deployment", None));
    let scalable = json!({"kind": "Deployment", "name": "web"});
    create_buffer(&stage, &json!({"scalableRef": scalable, "percentage": 100}));
    stage.pass(1).await;
    assert_eq!(found(&stage)["status"]["replicas"], 1);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_resolved_is_told_with_a_remedy() {
    for (spec, expected) in [
        (
            json!({"scalableRef": {"kind": "Deployment", "name": "web"}, "replicas": 1}),
            "False ScalableRefNotFound: Deployment default/web does not exist",
        ),
        (
            json!({"scalableRef": {"kind": "Job", "name": "web"}, "replicas": 1}),
            "False ResolutionFailed: scalableRef.kind is \"Job\"; use Deployment, StatefulSet or \
             ReplicaSet",
        ),
        (
            json!({"scalableRef": {"apiGroup": "batch", "kind": "Job", "name": "web"}}),
            "False ResolutionFailed: scalableRef.apiGroup is \"batch\"; use apps",
        ),
        (
            json!({"replicas": 1}),
            "False ResolutionFailed: it has neither podTemplateRef nor scalableRef; add one",
        ),
    ] {
        let (mut stage, plans) = stage();
        create_buffer(&stage, &spec);
        stage.pass(1).await;
        assert_eq!(ready(&stage), expected);
        assert!(!asks_for_plan(&stage, &plans).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_template_that_changes_is_resolved_anew() {
    let (mut stage, plans) = stage();
    stage.create("", "podtemplates", template("chunk", "1"));
    let spec = json!({"podTemplateRef": {"name": "chunk"}, "limits": {"cpu": "4"}});
    create_buffer(&stage, &spec);
    stage.pass(1).await;
    assert_eq!(found(&stage)["status"]["replicas"], 4);
    assert!(asks_for_plan(&stage, &plans).await);
    let larger = json!({"template": template("chunk", "2")["template"]});
    stage.merge("", "podtemplates", "default/chunk", None, larger);
    stage.pass(1).await;
    assert_eq!(found(&stage)["status"]["replicas"], 2);
    assert!(asks_for_plan(&stage, &plans).await);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_while_nothing_changes() {
    let (mut stage, _) = stage();
    stage.create("", "podtemplates", template("chunk", "1"));
    create_buffer(&stage, &json!({"podTemplateRef": {"name": "chunk"}, "replicas": 3}));
    stage.pass(1).await;
    let version = found(&stage)["metadata"]["resourceVersion"].clone();
    stage.pass(600).await;
    assert_eq!(found(&stage)["metadata"]["resourceVersion"], version);
}
