//! Volumes.

use serde_json::{Value, json};

use crate::common::Lab;

fn class(lab: &Lab, name: &str, mode: &str, provisioner: &str) {
    lab.create(
        "storageclasses",
        json!({
            "metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode,
            "reclaimPolicy": "Delete",
        }),
    );
}

fn claim(lab: &Lab, name: &str, class: &str, mode: &str) {
    lab.create(
        "persistentvolumeclaims",
        json!({
            "metadata": {"namespace": "default", "name": name},
            "spec": {
                "storageClassName": class, "accessModes": [mode],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }),
    );
}

fn volume(lab: &Lab, name: &str, class: &str, size: &str, zone: Option<&str>) {
    let mut spec = json!({
        "storageClassName": class, "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Retain",
        "csi": {"driver": "csi.example.com", "volumeHandle": name},
    });
    if let Some(zone) = zone {
        let zone = json!({
            "key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone],
        });
        let terms = json!([{"matchExpressions": [zone]}]);
        spec["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": terms}});
    }
    lab.create("persistentvolumes", json!({"metadata": {"name": name}, "spec": spec}));
}

fn with_claims(names: &[&str]) -> Value {
    let volumes: Vec<_> = names
        .iter()
        .map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}))
        .collect();
    json!({"volumes": volumes})
}

/// The phase of a claim and its volume.
fn state(lab: &Lab, claim: &str) -> (String, String) {
    let claim = lab.get("persistentvolumeclaims", claim).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    (text(&claim["status"]["phase"]), text(&claim["spec"]["volumeName"]))
}

fn phase(lab: &Lab, volume: &str) -> String {
    lab.get("persistentvolumes", volume)
        .map_or("gone".to_owned(), |volume| volume["status"]["phase"].as_str().unwrap().to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_claim_gets_the_smallest_volume_that_suits() {
    let mut lab = Lab::new();
    volume(&lab, "tiny", "", "100Mi", None);
    volume(&lab, "large", "", "10Gi", None);
    volume(&lab, "right", "", "2Gi", None);
    volume(&lab, "other", "fast", "1Gi", None);
    claim(&lab, "data", "", "ReadWriteOnce");
    lab.pass(1).await;
    assert_eq!(state(&lab, "data"), ("Bound".to_owned(), "right".to_owned()));
    assert_eq!((phase(&lab, "right"), phase(&lab, "tiny")), ("Bound".into(), "Available".into()));
    lab.delete("persistentvolumeclaims", "data");
    lab.pass(1).await;
    assert!(lab.get("persistentvolumeclaims", "data").is_none());
    assert_eq!(phase(&lab, "right"), "Released", "a volume that is retained is not used again");
    claim(&lab, "again", "", "ReadWriteOnce");
    lab.pass(1).await;
    assert_eq!(state(&lab, "again").1, "large");
}

#[tokio::test(start_paused = true)]
async fn a_volume_is_made_where_the_first_pod_goes_and_deleted_with_its_claim() {
    let mut lab = Lab::new();
    class(&lab, "fast", "WaitForFirstConsumer", "csi.example.com");
    lab.node("a", "4", json!({"topology.kubernetes.io/zone": "za"}));
    lab.node("b", "8", json!({"topology.kubernetes.io/zone": "zb"}));
    claim(&lab, "data", "fast", "ReadWriteOnce");
    lab.pass(60).await;
    assert_eq!(state(&lab, "data").0, "Pending");
    lab.pod("app", with_claims(&["data"]));
    lab.pass(1).await;
    assert_eq!(lab.places(), "app -\n", "it waits for its volume");
    lab.pass(2).await;
    assert_eq!(lab.places(), "app b\n");
    let (phase_of_claim, made) = state(&lab, "data");
    assert_eq!(phase_of_claim, "Bound");
    let value = lab.get("persistentvolumes", &made).unwrap();
    let term = &value["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0];
    assert_eq!(term["matchExpressions"][0]["values"], json!(["zb"]));

    lab.delete("persistentvolumeclaims", "data");
    lab.pass(5).await;
    assert!(lab.get("persistentvolumeclaims", "data").is_some(), "a pod uses it");
    lab.pod("next", with_claims(&["data"]));
    lab.pass(5).await;
    assert_eq!(
        lab.why("next"),
        "0/2 nodes are available: persistentvolumeclaim \"data\" is being deleted. \
         preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    );
    lab.delete("pods", "app");
    lab.pass(5).await;
    assert!(lab.get("persistentvolumeclaims", "data").is_none());
    assert_eq!(phase(&lab, &made), "gone");
}

#[tokio::test(start_paused = true)]
async fn a_bound_volume_keeps_its_pod_in_its_zone() {
    let mut lab = Lab::new();
    lab.node("a", "4", json!({"topology.kubernetes.io/zone": "za"}));
    volume(&lab, "there", "", "1Gi", Some("zb"));
    claim(&lab, "data", "", "ReadWriteOnce");
    lab.pod("app", with_claims(&["data"]));
    lab.pass(10).await;
    assert_eq!(
        lab.why("app"),
        "0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity. \
         preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    );
    lab.node("b", "4", json!({"topology.kubernetes.io/zone": "zb"}));
    lab.pass(10).await;
    assert_eq!(lab.places(), "app b\n");
}

#[tokio::test(start_paused = true)]
async fn volumes_made_by_hand_wait_for_their_pods_too() {
    let mut lab = Lab::new();
    class(&lab, "local", "WaitForFirstConsumer", "kubernetes.io/no-provisioner");
    lab.node("a", "8", json!({"topology.kubernetes.io/zone": "za"}));
    lab.node("b", "4", json!({"topology.kubernetes.io/zone": "zb"}));
    volume(&lab, "disk", "local", "1Gi", Some("zb"));
    claim(&lab, "data", "local", "ReadWriteOnce");
    claim(&lab, "more", "local", "ReadWriteOnce");
    lab.pod("app", with_claims(&["data"]));
    lab.pass(5).await;
    assert_eq!(lab.places(), "app b\n");
    assert_eq!(state(&lab, "data"), ("Bound".to_owned(), "disk".to_owned()));
    lab.pod("next", with_claims(&["more"]));
    lab.pass(5).await;
    assert_eq!(
        lab.why("next"),
        "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind. \
         preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    );
}

#[tokio::test(start_paused = true)]
async fn limits_of_drivers_and_claims_for_one_pod_are_kept() {
    let mut lab = Lab::new();
    class(&lab, "fast", "Immediate", "csi.example.com");
    lab.node("a", "16", json!({}));
    lab.node("b", "16", json!({"disk": "none"}));
    lab.create(
        "csinodes",
        json!({"metadata": {"name": "a"}, "spec": {"drivers": [
            {"name": "csi.example.com", "nodeID": "a", "allocatable": {"count": 2}},
        ]}}),
    );
    claim(&lab, "one", "fast", "ReadWriteOncePod");
    claim(&lab, "two", "fast", "ReadWriteOnce");
    claim(&lab, "three", "fast", "ReadWriteOnce");
    let on_a = |claim: &str| {
        let mut spec = with_claims(&[claim]);
        spec["nodeSelector"] = json!({"kubernetes.io/hostname": "a"});
        spec
    };
    lab.pod("impatient", on_a("one"));
    lab.pass(1).await;
    assert!(lab.why("impatient").contains("pod has unbound immediate PersistentVolumeClaims"));
    lab.pass(10).await;
    lab.pod("second", on_a("two"));
    lab.pass(1).await;
    lab.pod("third", on_a("three"));
    lab.pod("shared", with_claims(&["one"]));
    lab.pass(5).await;
    assert_eq!(lab.places(), "impatient a\nsecond a\nshared -\nthird -\n");
    assert!(lab.why("third").contains("1 node(s) exceed max volume count"), "{}", lab.why("third"));
    assert_eq!(
        lab.why("shared"),
        "0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim with \
         ReadWriteOncePod access mode already in-use by another pod. preemption: 0/2 nodes are \
         available: 2 No preemption victims found for incoming pod."
    );
}

#[tokio::test(start_paused = true)]
async fn a_claim_without_a_class_gets_the_default_one() {
    let mut lab = Lab::new();
    lab.create(
        "persistentvolumeclaims",
        json!({
            "metadata": {"namespace": "default", "name": "data"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }),
    );
    lab.pass(1).await;
    assert_eq!(state(&lab, "data").0, "Pending");
    lab.create(
        "storageclasses",
        json!({
            "metadata": {
                "name": "usual",
                "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
            },
            "provisioner": "csi.example.com",
        }),
    );
    lab.pass(5).await;
    assert_eq!(state(&lab, "data").0, "Bound");
}
