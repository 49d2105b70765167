//! What orders become, and where.

use jiff::SignedDuration;
use joiner_apiserver::{Key, Resource};
use joiner_cloud::{
    CloudError, CloudProvider, Deletion,
    listing::Listing,
    order::{ClaimId, Order},
};
use joiner_core::{label, requirement::Requirement};
use joiner_lab::{
    Lab, Setup,
    cloud::{Host, LabCloud, lab_node_class_crd},
};
use serde_json::json;

use super::{class, order};
use crate::common::condition;

fn lab() -> (Lab, LabCloud) {
    let lab = Lab::new(Setup::new(1));
    let cloud = LabCloud::new(&lab.client("joiner").connect(), lab.data_centre(), "test");
    (lab, cloud)
}

/// What is on each host, in one line.
fn hosts(lab: &Lab) -> String {
    let now = lab.server().clock().now();
    let hosts = lab.data_centre().hosts(now);
    let one = |host: &joiner_lab::cloud::HostView| {
        let cpus = (host.used.get("cpu"), host.host.capacity.get("cpu"));
        format!("{} {}/{} {}", host.host.name, cpus.0, cpus.1, host.instances.join(","))
    };
    hosts.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[tokio::test(start_paused = true)]
async fn an_order_becomes_a_node_with_everything_it_asks_for() {
    let (mut lab, cloud) = lab();
    let mut wanted = order("web-1", 3);
    wanted.class = class(json!({"bootDelay": "40s"}));
    wanted.requirements.add(label::ZONE, Requirement::one_of(["lab-zone-b"]));
    let instance = cloud.create(&wanted).await.unwrap();
    assert_eq!(instance.labels[label::INSTANCE_TYPE], "lab-4x");
    assert_eq!(instance.labels[label::ZONE], "lab-zone-b");
    let find = |lab: &Lab| {
        let nodes = Resource::new("", "nodes");
        lab.caller("test").get(&nodes, &Key::new("", "web-1")).ok().map(|node| node.value())
    };
    lab.pass(SignedDuration::from_secs(49)).await;
    assert_eq!(find(&lab), None);
    lab.pass(SignedDuration::from_secs(10)).await;
    let node = find(&lab).unwrap();
    assert_eq!(condition(&node, "Ready")["status"], "True");
    assert_eq!(node["spec"]["providerID"], json!(instance.provider_id));
    assert_eq!(
        node["spec"]["taints"],
        json!([{"key": "karpenter.sh/unregistered", "effect": "NoExecute"}])
    );
    assert_eq!(node["status"]["allocatable"]["cpu"], "3900m");
    let labels = &node["metadata"]["labels"];
    assert_eq!(
        (&labels["example.com/team"], &labels[label::ZONE]),
        (&json!("web"), &json!("lab-zone-b"))
    );

    let removed = cloud.delete(&wanted.claim, Some(&instance.provider_id)).await.unwrap();
    assert_eq!(removed, Deletion::Requested);
    assert!(cloud.get(&ClaimId::default(), &instance.provider_id).await.unwrap().unwrap().deleting);
    lab.pass(SignedDuration::from_secs(5)).await;
    assert_eq!(cloud.get(&ClaimId::default(), &instance.provider_id).await, Ok(None));
    assert!(lab.instances().list().is_empty());
    assert!(find(&lab).is_some(), "its Node is the controller's to remove");
}

#[tokio::test(start_paused = true)]
async fn hosts_fill_up_and_full_ones_are_not_offered_for_a_while() {
    let (mut lab, cloud) = lab();
    lab.data_centre().furnish(vec![
        Host::new("a1", "zone-a", 8, 64),
        Host::new("a2", "zone-a", 8, 64),
        Host::new("b1", "zone-b", 2, 64),
    ]);
    let in_a = |name: &str| {
        let mut wanted = order(name, 3);
        wanted.requirements.add(label::ZONE, Requirement::one_of(["zone-a"]));
        wanted
    };
    for name in ["one", "two", "three", "four"] {
        cloud.create(&in_a(name)).await.unwrap();
    }
    assert_eq!(hosts(&lab), "a1 8/8 one,three; a2 8/8 four,two; b1 0/2 ");
    let refused = cloud.create(&in_a("five")).await;
    let Err(CloudError::InsufficientCapacity(message)) = refused else { panic!("{refused:?}") };
    assert_eq!(
        message,
        "no host has room for an instance that serves NodeClaim five: \
         topology.kubernetes.io/zone In [zone-a] and cpu 3"
    );
    let offered = |cloud: &LabCloud| {
        let types = cloud.instance_types("default", &class(json!({}))).unwrap();
        let four = types.iter().find(|own| own.name == "lab-4x").unwrap();
        four.offerings.iter().map(|offering| offering.available).collect::<Vec<_>>()
    };
    assert_eq!(offered(&cloud), [false, true], "zone-a is full, nobody has asked zone-b");

    cloud.delete(&in_a("one").claim, None).await.unwrap();
    lab.pass(SignedDuration::from_mins(3)).await;
    assert_eq!(offered(&cloud), [true, true]);
    cloud.create(&in_a("five")).await.unwrap();
    assert_eq!(hosts(&lab), "a1 8/8 five,three; a2 8/8 four,two; b1 0/2 ");
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_somebody_destroys_is_gone() {
    let (lab, cloud) = lab();
    let instance = cloud.create(&order("web-1", 1)).await.unwrap();
    lab.instances().destroy("web-1").unwrap();
    assert_eq!(cloud.get(&ClaimId::default(), &instance.provider_id).await, Ok(None));
    assert_eq!(cloud.list().await, Ok(Listing::default()));
    assert_eq!(hosts(&lab), "host-a1 0/64 ; host-a2 0/64 ; host-b1 0/64 ; host-b2 0/64 ");
}

#[tokio::test(start_paused = true)]
async fn a_class_that_makes_no_sense_is_told_and_used_by_nobody() {
    let (lab, cloud) = lab();
    let crds = Resource::new("apiextensions.k8s.io", "customresourcedefinitions");
    lab.caller("test").create(&crds, lab_node_class_crd()).unwrap();
    let wrong = class(json!({"joinDelay": "soon"}));
    let object = wrong.object();
    let classes = Resource::new("lab.joiner.sh", "labnodeclasses");
    let refused = lab.caller("test").create(&classes, object).unwrap_err();
    assert!(refused.to_string().contains("spec.joinDelay"), "{refused}");

    let status = cloud.resolve_class(&wrong, None).await.unwrap();
    assert_eq!(status.conditions[0].holds, Some(false));
    let refused = cloud.create(&Order { class: wrong, ..order("web-1", 1) }).await;
    assert_eq!(refused, Err(CloudError::NodeClassNotReady(status.conditions[0].message.clone())));
}

#[tokio::test(start_paused = true)]
async fn another_image_is_drift() {
    let (_lab, cloud) = lab();
    let instance = cloud.create(&order("web-1", 1)).await.unwrap();
    assert_eq!(cloud.drift(&instance, &class(json!({}))).await, Ok(None));
    let newer = class(json!({"image": "newer"}));
    assert_eq!(cloud.drift(&instance, &newer).await, Ok(Some("ImageDrift".to_owned())));
}
