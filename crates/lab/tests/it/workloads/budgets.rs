//! PodDisruptionBudgets.

use serde_json::{Value, json};

use super::stage::{Stage, conditions, template};

async fn stage(replicas: u32, budget: Value) -> Stage {
    let mut stage = Stage::with_nodes(2).await;
    stage.create(
        "deployments.apps",
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": "web"}},
                "template": template("web", json!({})),
            },
        }),
    );
    let mut spec = budget;
    spec["selector"] = json!({"matchLabels": {"app": "web"}});
    stage.create(
        "poddisruptionbudgets.policy",
        json!({
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web"},
            "spec": spec,
        }),
    );
    stage.pass(1).await;
    stage
}

fn budget(stage: &Stage) -> String {
    let budget = stage.get("poddisruptionbudgets.policy", "web");
    let count = |field: &str| budget["status"][field].as_i64().unwrap_or(-1);
    format!(
        "{} of {} healthy, {} needed, {} allowed; {}",
        count("currentHealthy"),
        count("expectedPods"),
        count("desiredHealthy"),
        count("disruptionsAllowed"),
        conditions(&budget)
    )
}

#[tokio::test(start_paused = true)]
async fn a_budget_allows_what_is_left_over() {
    for (spec, expected) in [
        (json!({"maxUnavailable": 1}), "4 of 4 healthy, 3 needed, 1 allowed"),
        (json!({"maxUnavailable": "50%"}), "4 of 4 healthy, 2 needed, 2 allowed"),
        (json!({"minAvailable": "75%"}), "4 of 4 healthy, 3 needed, 1 allowed"),
        (json!({"minAvailable": 4}), "4 of 4 healthy, 4 needed, 0 allowed"),
    ] {
        let stage = stage(4, spec).await;
        let (counts, condition) =
            budget(&stage).split_once("; ").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert_eq!(counts, expected);
        let reason = if counts.ends_with("0 allowed") {
            "DisruptionAllowed=False InsufficientPods"
        } else {
            "DisruptionAllowed=True SufficientPods"
        };
        assert_eq!(condition, reason);
    }
}

#[tokio::test(start_paused = true)]
async fn an_eviction_uses_the_budget_until_the_pod_is_replaced() {
    let mut stage = stage(2, json!({"maxUnavailable": 1})).await;
    let names = stage.names("pods");
    let (first, second) = names.split_once(' ').unwrap();
    stage.evict(first).unwrap();
    assert_eq!(stage.evict(second).unwrap_err().code, 429);
    stage.pass(1).await;
    assert!(budget(&stage).starts_with("2 of 2 healthy, 1 needed, 1 allowed"));
    assert!(stage.get("poddisruptionbudgets.policy", "web")["status"]["disruptedPods"].is_null());
    stage.evict(second).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_budget_over_pods_of_unknown_size_allows_nothing() {
    let mut stage = stage(0, json!({"maxUnavailable": 1})).await;
    stage.create(
        "jobs.batch",
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "work"},
            "spec": {"template": template("web", json!({"restartPolicy": "Never"}))},
        }),
    );
    stage.pass(1).await;
    assert!(budget(&stage).ends_with("0 allowed; DisruptionAllowed=False SyncFailed"));
}
