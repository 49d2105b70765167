//! Deployments and ReplicaSets.

use expect_test::expect;
use serde_json::{Value, json};

use super::stage::{Stage, conditions, template};

fn deployment(replicas: u32, strategy: Value) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": strategy,
            "template": template("web", json!({})),
        },
    })
}

fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}})
}

fn sizes(stage: &Stage) -> String {
    let mut sets: Vec<_> = stage
        .list("replicasets.apps")
        .iter()
        .map(|set| {
            let revision = &set["metadata"]["annotations"]["deployment.kubernetes.io/revision"];
            format!("{}:{}", revision.as_str().unwrap(), set["spec"]["replicas"])
        })
        .collect();
    sets.sort();
    sets.join(" ")
}

fn counts(stage: &Stage) -> String {
    let deployment = stage.get("deployments.apps", "web");
    let count = |field: &str| deployment["status"][field].as_i64().unwrap_or(0);
    format!(
        "{} replicas, {} updated, {} ready, {} available, {} unavailable; {}",
        count("replicas"),
        count("updatedReplicas"),
        count("readyReplicas"),
        count("availableReplicas"),
        count("unavailableReplicas"),
        conditions(&deployment)
    )
}

#[tokio::test(start_paused = true)]
async fn a_deployment_makes_a_replica_set_that_makes_pods() {
    let mut stage = Stage::with_nodes(2).await;
    stage.create("deployments.apps", deployment(3, json!({})));
    stage.pass(1).await;
    expect!["3 replicas, 3 updated, 3 ready, 3 available, 0 unavailable; Progressing=True NewReplicaSetAvailable, Available=True MinimumReplicasAvailable"]
    .assert_eq(&counts(&stage));
    assert_eq!(sizes(&stage), "1:3");
    let set = &stage.list("replicasets.apps")[0];
    let hash = set["metadata"]["labels"]["pod-template-hash"].as_str().unwrap();
    assert_eq!(set["metadata"]["name"], format!("web-{hash}"));
    assert_eq!(set["status"]["availableReplicas"], 3);
    for pod in stage.list("pods") {
        assert_eq!(pod["metadata"]["labels"]["pod-template-hash"], hash);
        assert_eq!(pod["metadata"]["ownerReferences"][0]["kind"], "ReplicaSet");
    }
    assert_eq!(
        stage.events(&["ScalingReplicaSet"]),
        [format!("ScalingReplicaSet: Scaled up replica set web-{hash} from 0 to 3")]
    );
    assert_eq!(stage.events(&["SuccessfulCreate"]).len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_new_version_rolls_out_and_an_old_one_is_used_again() {
    let mut stage = Stage::with_nodes(2).await;
    stage.create("deployments.apps", deployment(4, json!({})));
    stage.pass(1).await;
    stage.patch("deployments.apps", "web", image("j"));
    stage.pass(1).await;
    assert_eq!(sizes(&stage), "1:0 2:4");
    stage.patch("deployments.apps", "web", image("i"));
    stage.pass(1).await;
    assert_eq!(sizes(&stage), "2:0 3:4");
    assert_eq!(stage.list("pods").len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_does_not_work_stops_within_its_limits_and_times_out() {
    let mut stage = Stage::with_nodes(2).await;
    let rolling = json!({
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
    });
    stage.create("deployments.apps", deployment(3, rolling));
    stage.pass(1).await;
    let broken = json!({"spec": {"template": {"metadata": {"labels": {"broken": "yes"}}}}});
    stage.patch("deployments.apps", "web", broken);
    stage.pass(60).await;
    assert_eq!(sizes(&stage), "1:3 2:1");
    expect!["4 replicas, 1 updated, 3 ready, 3 available, 1 unavailable; Progressing=True ReplicaSetUpdated, Available=True MinimumReplicasAvailable"]
    .assert_eq(&counts(&stage));
    stage.pass(600).await;
    expect!["4 replicas, 1 updated, 3 ready, 3 available, 1 unavailable; Progressing=False ProgressDeadlineExceeded, Available=True MinimumReplicasAvailable"]
    .assert_eq(&counts(&stage));
}

#[tokio::test(start_paused = true)]
async fn recreate_waits_until_the_old_pods_are_gone() {
    let mut stage = Stage::with_nodes(1).await;
    stage.create("deployments.apps", deployment(2, json!({"type": "Recreate"})));
    stage.pass(1).await;
    stage.silence("n1");
    stage.patch("deployments.apps", "web", image("j"));
    stage.pass(1).await;
    assert_eq!(sizes(&stage), "1:0");
    for pod in stage.list("pods") {
        let name = pod["metadata"]["name"].as_str().unwrap();
        stage.patch_status("pods", name, json!({"phase": "Succeeded"}));
    }
    stage.pass(1).await;
    assert_eq!(sizes(&stage), "1:0 2:2");
}

#[tokio::test(start_paused = true)]
async fn a_paused_deployment_scales_but_does_not_roll() {
    let mut stage = Stage::with_nodes(1).await;
    stage.create("deployments.apps", deployment(2, json!({})));
    stage.pass(1).await;
    stage.patch("deployments.apps", "web", json!({"spec": {"paused": true, "replicas": 4}}));
    stage.patch("deployments.apps", "web", image("j"));
    stage.pass(1).await;
    assert_eq!(sizes(&stage), "1:4");
    stage.patch("deployments.apps", "web", json!({"spec": {"paused": false}}));
    stage.pass(1).await;
    assert_eq!(sizes(&stage), "1:0 2:4");
}

#[tokio::test(start_paused = true)]
async fn only_so_many_old_versions_are_kept() {
    let mut stage = Stage::with_nodes(1).await;
    let mut object = deployment(1, json!({}));
    object["spec"]["revisionHistoryLimit"] = 2.into();
    stage.create("deployments.apps", object);
    for version in ["a", "b", "c", "d"] {
        stage.pass(1).await;
        stage.patch("deployments.apps", "web", image(version));
    }
    stage.pass(1).await;
    assert_eq!(sizes(&stage), "3:0 4:0 5:1");
}

#[tokio::test(start_paused = true)]
async fn a_replica_set_replaces_takes_in_and_lets_go_of_pods() {
    let mut stage = Stage::with_nodes(2).await;
    let set = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template("web", json!({})),
        },
    });
    let mut orphan = template("web", json!({}));
    orphan["metadata"]["name"] = "orphan".into();
    stage.create("pods", orphan);
    stage.create("replicasets.apps", set);
    stage.pass(1).await;
    assert_eq!(stage.list("pods").len(), 2);
    let owner = &stage.get("pods", "orphan")["metadata"]["ownerReferences"][0];
    assert_eq!(owner["name"], "web");

    stage.patch("pods", "orphan", json!({"metadata": {"labels": {"app": "free"}}}));
    stage.pass(1).await;
    assert_eq!(stage.list("pods").len(), 3);
    assert!(stage.get("pods", "orphan")["metadata"]["ownerReferences"].is_null());

    stage.patch_status("pods", "orphan", json!({"phase": "Failed"}));
    let names = stage.names("pods");
    let first = names.split(' ').find(|name| *name != "orphan").unwrap();
    stage.patch_status("pods", first, json!({"phase": "Failed"}));
    stage.pass(1).await;
    assert_eq!(stage.list("pods").len(), 4);
    assert_eq!(stage.get("replicasets.apps", "web")["status"]["replicas"], 2);
}

#[tokio::test(start_paused = true)]
async fn a_settled_cluster_writes_nothing_but_heartbeats() {
    let mut stage = Stage::with_nodes(2).await;
    stage.create("deployments.apps", deployment(3, json!({})));
    stage.pass(100).await;
    let before = stage.version();
    stage.pass(100).await;
    assert_eq!(stage.version() - before, 2 * 10);
}
