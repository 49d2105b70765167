//! Jobs.

use serde_json::{Value, json};

use super::stage::{Stage, conditions, template};

fn job(ends: Option<&str>, more: Value) -> Value {
    let mut template = template("batch", json!({"restartPolicy": "Never"}));
    if let Some(ends) = ends {
        template["metadata"]["labels"]["ends"] = ends.into();
    }
    let mut job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "work"},
        "spec": {"template": template},
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        job["spec"][field] = value.clone();
    }
    job
}

fn state(stage: &Stage) -> String {
    let job = stage.get("jobs.batch", "work");
    let count = |field: &str| job["status"][field].as_i64().unwrap_or(0);
    format!(
        "{} active, {} succeeded, {} failed; {}",
        count("active"),
        count("succeeded"),
        count("failed"),
        conditions(&job)
    )
}

#[tokio::test(start_paused = true)]
async fn pods_end_well_as_often_as_asked() {
    let mut stage = Stage::with_nodes(1).await;
    let spec = json!({"completions": 5, "parallelism": 2});
    stage.create("jobs.batch", job(Some("well"), spec));
    stage.pass(1).await;
    assert_eq!(
        state(&stage),
        "0 active, 5 succeeded, 0 failed; SuccessCriteriaMet=True CompletionsReached, \
         Complete=True CompletionsReached"
    );
    let pods = stage.list("pods");
    assert_eq!(pods.len(), 5);
    for pod in &pods {
        assert!(pod["metadata"]["finalizers"].is_null(), "{pod}");
        assert_eq!(pod["metadata"]["labels"]["batch.kubernetes.io/job-name"], "work");
    }
    let done = stage.get("jobs.batch", "work");
    assert_eq!(done["status"]["completionTime"], "2026-01-01T00:00:01Z");
    assert_eq!(stage.events(&["Completed"]), ["Completed: Job completed"]);
}

#[tokio::test(start_paused = true)]
async fn failures_are_paused_after_and_limited() {
    let mut stage = Stage::with_nodes(1).await;
    stage.create("jobs.batch", job(Some("badly"), json!({"backoffLimit": 2})));
    stage.pass(1).await;
    assert_eq!(stage.list("pods").len(), 1);
    stage.pass(10).await;
    assert_eq!(stage.list("pods").len(), 2);
    stage.pass(18).await;
    assert_eq!(stage.list("pods").len(), 2);
    stage.pass(3).await;
    assert_eq!(
        state(&stage),
        "0 active, 0 succeeded, 3 failed; FailureTarget=True BackoffLimitExceeded, \
         Failed=True BackoffLimitExceeded"
    );
}

#[tokio::test(start_paused = true)]
async fn an_indexed_job_has_a_pod_for_each_index() {
    let mut stage = Stage::with_nodes(1).await;
    let spec = json!({"completions": 3, "parallelism": 3, "completionMode": "Indexed"});
    stage.create("jobs.batch", job(Some("well"), spec));
    stage.pass(1).await;
    assert_eq!(stage.get("jobs.batch", "work")["status"]["completedIndexes"], "0-2");
    let mut hosts: Vec<_> = stage
        .list("pods")
        .iter()
        .map(|pod| pod["spec"]["hostname"].as_str().unwrap().to_owned())
        .collect();
    hosts.sort();
    assert_eq!(hosts, ["work-0", "work-1", "work-2"]);
}

#[tokio::test(start_paused = true)]
async fn a_suspended_job_has_no_pods_until_it_resumes() {
    let mut stage = Stage::with_nodes(1).await;
    stage.create("jobs.batch", job(None, json!({"parallelism": 2})));
    stage.pass(1).await;
    assert_eq!(stage.list("pods").len(), 2);
    stage.patch("jobs.batch", "work", json!({"spec": {"suspend": true}}));
    stage.pass(1).await;
    assert_eq!(stage.list("pods").len(), 0);
    assert!(state(&stage).ends_with("Suspended=True JobSuspended"), "{}", state(&stage));
    stage.patch("jobs.batch", "work", json!({"spec": {"suspend": false}}));
    stage.pass(100).await;
    assert!(state(&stage).starts_with("2 active"), "{}", state(&stage));
    assert!(state(&stage).ends_with("Suspended=False JobResumed"), "{}", state(&stage));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_takes_too_long_fails_and_goes_when_its_time_has_come() {
    let mut stage = Stage::with_nodes(1).await;
    let spec = json!({"activeDeadlineSeconds": 100, "ttlSecondsAfterFinished": 50});
    stage.create("jobs.batch", job(None, spec));
    stage.pass(99).await;
    assert_eq!(state(&stage), "1 active, 0 succeeded, 0 failed; ");
    stage.pass(2).await;
    assert!(state(&stage).ends_with("Failed=True DeadlineExceeded"), "{}", state(&stage));
    stage.pass(60).await;
    assert_eq!(stage.names("jobs.batch"), "");
    assert_eq!(stage.names("pods"), "");
}

#[tokio::test(start_paused = true)]
async fn a_failure_policy_ignores_disruptions_and_fails_at_once() {
    let policy = json!({"backoffLimit": 0, "podFailurePolicy": {"rules": [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}},
    ]}});
    let mut stage = Stage::with_nodes(1).await;
    stage.create("jobs.batch", job(None, policy.clone()));
    stage.pass(1).await;
    let name = stage.names("pods");
    let condition = json!([{"type": "DisruptionTarget", "status": "True"}]);
    stage.patch_status("pods", &name, json!({"phase": "Failed", "conditions": condition}));
    stage.pass(1).await;
    assert_eq!(state(&stage), "1 active, 0 succeeded, 0 failed; ");

    let mut stage = Stage::with_nodes(1).await;
    stage.create("jobs.batch", job(Some("badly"), policy));
    stage.pass(1).await;
    assert!(state(&stage).ends_with("Failed=True PodFailurePolicy"), "{}", state(&stage));
}
