//! StatefulSets.

use serde_json::{Value, json};

use super::stage::{Stage, template};

fn set(replicas: u32, more: Value) -> Value {
    let mut set = json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {
            "replicas": replicas,
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "template": template("db", json!({})),
            "volumeClaimTemplates": [{
                "metadata": {"name": "data"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }],
        },
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        set["spec"][field] = value.clone();
    }
    set
}

fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}})
}

/// `name:image` of each pod.
fn images(stage: &Stage) -> String {
    let pods = stage.list("pods");
    let one = |pod: &Value| {
        let image = pod["spec"]["containers"][0]["image"].as_str().unwrap().to_owned();
        format!("{}:{image}", pod["metadata"]["name"].as_str().unwrap())
    };
    pods.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[tokio::test(start_paused = true)]
async fn pods_have_names_claims_and_an_order() {
    let mut stage = Stage::with_nodes(2).await;
    stage.create("statefulsets.apps", set(3, json!({})));
    stage.pass(1).await;
    assert_eq!(stage.names("pods"), "db-0 db-1 db-2");
    assert_eq!(stage.names("persistentvolumeclaims"), "data-db-0 data-db-1 data-db-2");
    let pod = stage.get("pods", "db-1");
    let labels = &pod["metadata"]["labels"];
    assert_eq!(labels["statefulset.kubernetes.io/pod-name"], "db-1");
    assert_eq!(labels["apps.kubernetes.io/pod-index"], "1");
    assert_eq!(pod["spec"]["hostname"], "db-1");
    assert_eq!(pod["spec"]["subdomain"], "db");
    assert_eq!(pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"], "data-db-1");
    let status = &stage.get("statefulsets.apps", "db")["status"];
    assert_eq!(labels["controller-revision-hash"], status["updateRevision"]);
    for field in ["replicas", "readyReplicas", "availableReplicas", "currentReplicas"] {
        assert_eq!(status[field], 3, "{field}");
    }
    assert_eq!(status["currentRevision"], status["updateRevision"]);

    stage.patch("statefulsets.apps", "db", json!({"spec": {"replicas": 1}}));
    stage.pass(1).await;
    assert_eq!(stage.names("pods"), "db-0");
    assert_eq!(stage.names("persistentvolumeclaims"), "data-db-0 data-db-1 data-db-2");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_does_not_get_ready_holds_up_the_rest_unless_they_start_in_parallel() {
    let mut stage = Stage::with_nodes(1).await;
    let mut broken = set(3, json!({}));
    broken["spec"]["template"]["metadata"]["labels"]["broken"] = "yes".into();
    stage.create("statefulsets.apps", broken.clone());
    stage.pass(60).await;
    assert_eq!(stage.names("pods"), "db-0");

    let mut stage = Stage::with_nodes(1).await;
    broken["spec"]["podManagementPolicy"] = "Parallel".into();
    stage.create("statefulsets.apps", broken);
    stage.pass(60).await;
    assert_eq!(stage.names("pods"), "db-0 db-1 db-2");
}

#[tokio::test(start_paused = true)]
async fn an_update_goes_down_to_its_partition() {
    let mut stage = Stage::with_nodes(2).await;
    let partition = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}});
    stage.create("statefulsets.apps", set(3, json!({"updateStrategy": partition})));
    stage.pass(1).await;
    stage.patch("statefulsets.apps", "db", image("j"));
    stage.pass(1).await;
    assert_eq!(images(&stage), "db-0:i db-1:j db-2:j");
    let status = &stage.get("statefulsets.apps", "db")["status"];
    assert_eq!((&status["currentReplicas"], &status["updatedReplicas"]), (&json!(1), &json!(2)));
    assert_ne!(status["currentRevision"], status["updateRevision"]);
    // A pod below the partition comes back as it was.
    stage.delete("pods", "db-0", None);
    stage.pass(1).await;
    assert_eq!(images(&stage), "db-0:i db-1:j db-2:j");

    let whole = json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}});
    stage.patch("statefulsets.apps", "db", whole);
    stage.pass(1).await;
    assert_eq!(images(&stage), "db-0:j db-1:j db-2:j");
    let status = &stage.get("statefulsets.apps", "db")["status"];
    assert_eq!(status["currentRevision"], status["updateRevision"]);
    assert_eq!(stage.list("controllerrevisions.apps").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn on_delete_leaves_the_update_to_others() {
    let mut stage = Stage::with_nodes(1).await;
    stage.create("statefulsets.apps", set(2, json!({"updateStrategy": {"type": "OnDelete"}})));
    stage.pass(1).await;
    stage.patch("statefulsets.apps", "db", image("j"));
    stage.pass(1).await;
    assert_eq!(images(&stage), "db-0:i db-1:i");
    stage.delete("pods", "db-0", None);
    stage.pass(1).await;
    assert_eq!(images(&stage), "db-0:j db-1:i");
}
