//! DaemonSets.

use serde_json::{Value, json};

use super::stage::{Stage, template};

fn set(strategy: Value, spec: Value) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent"},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "updateStrategy": strategy,
            "template": template("agent", spec),
        },
    })
}

/// `node:image` of each pod.
fn places(stage: &Stage) -> String {
    let one = |pod: &Value| {
        let image = pod["spec"]["containers"][0]["image"].as_str().unwrap().to_owned();
        format!("{}:{image}", pod["spec"]["nodeName"].as_str().unwrap_or("-"))
    };
    let mut places: Vec<_> = stage.list("pods").iter().map(one).collect();
    places.sort();
    places.join(" ")
}

fn status(stage: &Stage) -> String {
    let status = stage.get("daemonsets.apps", "agent")["status"].take();
    let count = |field: &str| status[field].as_i64().unwrap_or(0);
    format!(
        "{} desired, {} current, {} ready, {} updated, {} available, {} misscheduled",
        count("desiredNumberScheduled"),
        count("currentNumberScheduled"),
        count("numberReady"),
        count("updatedNumberScheduled"),
        count("numberAvailable"),
        count("numberMisscheduled"),
    )
}

#[tokio::test(start_paused = true)]
async fn every_node_that_suits_has_a_pod() {
    let mut stage = Stage::with_nodes(3).await;
    let taint = json!({"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}});
    stage.patch("nodes", "n2", taint);
    stage.patch("nodes", "n3", json!({"spec": {"unschedulable": true}}));
    stage.create("daemonsets.apps", set(json!({}), json!({})));
    stage.pass(1).await;
    assert_eq!(places(&stage), "n1:i n3:i");
    stage.add_node("n4");
    stage.patch("nodes", "n2", json!({"spec": {"taints": null}}));
    stage.pass(1).await;
    assert_eq!(places(&stage), "n1:i n2:i n3:i n4:i");
    assert_eq!(
        status(&stage),
        "4 desired, 4 current, 4 ready, 4 updated, 4 available, 0 misscheduled"
    );
    let pod = &stage.list("pods")[0];
    let tolerations = pod["spec"]["tolerations"].as_array().unwrap();
    let tolerates = |key: &str, effect: &str| {
        tolerations.iter().any(|one| {
            one["key"] == key && one["effect"] == effect && one["tolerationSeconds"].is_null()
        })
    };
    assert!(tolerates("node.kubernetes.io/unreachable", "NoExecute"), "{tolerations:?}");
    assert!(tolerates("node.kubernetes.io/unschedulable", "NoSchedule"), "{tolerations:?}");
}

#[tokio::test(start_paused = true)]
async fn pods_leave_nodes_that_no_longer_suit() {
    let mut stage = Stage::with_nodes(2).await;
    let zone = json!({"nodeSelector": {"topology.kubernetes.io/zone": "n1"}});
    stage.create("daemonsets.apps", set(json!({}), zone));
    stage.pass(1).await;
    assert_eq!(places(&stage), "n1:i");
    let moved = |zone: &str| json!({"metadata": {"labels": {"topology.kubernetes.io/zone": zone}}});
    stage.patch("nodes", "n1", moved("n3"));
    stage.patch("nodes", "n2", moved("n1"));
    stage.pass(1).await;
    assert_eq!(places(&stage), "n2:i");
    assert_eq!(
        status(&stage),
        "1 desired, 1 current, 1 ready, 1 updated, 1 available, 0 misscheduled"
    );
    stage.delete("nodes", "n2", None);
    stage.pass(100).await;
    assert_eq!(places(&stage), "");
}

#[tokio::test(start_paused = true)]
async fn an_update_replaces_as_many_pods_as_may_be_unavailable() {
    let mut stage = Stage::with_nodes(4).await;
    let image =
        json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "j"}]}}}});
    let broken = json!({"spec": {"template": {"metadata": {"labels": {"broken": "yes"}}}}});
    stage.create("daemonsets.apps", set(json!({}), json!({})));
    stage.pass(1).await;
    stage.patch("daemonsets.apps", "agent", image.clone());
    stage.pass(1).await;
    assert_eq!(places(&stage), "n1:j n2:j n3:j n4:j");
    stage.patch("daemonsets.apps", "agent", broken);
    stage.pass(60).await;
    assert_eq!(
        status(&stage),
        "4 desired, 4 current, 3 ready, 1 updated, 3 available, 0 misscheduled"
    );

    let mut stage = Stage::with_nodes(2).await;
    stage.create("daemonsets.apps", set(json!({"type": "OnDelete"}), json!({})));
    stage.pass(1).await;
    stage.patch("daemonsets.apps", "agent", image);
    stage.pass(1).await;
    assert_eq!(places(&stage), "n1:i n2:i");
}

#[tokio::test(start_paused = true)]
async fn with_a_surge_the_new_pod_comes_before_the_old_one_goes() {
    let mut stage = Stage::with_nodes(2).await;
    let surge = json!({
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
    });
    stage.create("daemonsets.apps", set(surge, json!({})));
    stage.pass(1).await;
    let broken = json!({"spec": {"template": {"metadata": {"labels": {"broken": "yes"}}}}});
    stage.patch("daemonsets.apps", "agent", broken);
    stage.pass(60).await;
    assert_eq!(stage.list("pods").len(), 3);
    let mended = json!({"spec": {"template": {
        "metadata": {"labels": {"broken": null}},
        "spec": {"containers": [{"name": "c", "image": "j"}]},
    }}});
    stage.patch("daemonsets.apps", "agent", mended);
    stage.pass(60).await;
    assert_eq!(places(&stage), "n1:j n2:j");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_ended_is_replaced_after_a_pause() {
    let mut stage = Stage::with_nodes(1).await;
    let mut ends = set(json!({}), json!({}));
    ends["spec"]["template"]["metadata"]["labels"]["ends"] = "badly".into();
    stage.create("daemonsets.apps", ends);
    stage.pass(60).await;
    // After 0, 1, 3, 7, 15, 31 seconds.
    assert_eq!(stage.events(&["FailedDaemonPod"]).len(), 6);
}
