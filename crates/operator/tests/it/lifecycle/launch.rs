//! From a claim to an instance.

use joiner_cloud::CloudError;
use serde_json::{Value, json};

use super::{given_up, stage};
use crate::{play::foreign_claim, stage::claim};

#[tokio::test(start_paused = true)]
async fn l01_a_claim_has_one_instance_made_and_a_foreign_one_none() {
    let mut stage = stage();
    stage.create_claim("web-1");
    stage.create_claim_as(foreign_claim("other-1"));
    stage.pass(60).await;
    assert_eq!(stage.cloud.state().calls, ["create web-1"]);
}

#[tokio::test(start_paused = true)]
async fn l01_an_instance_whose_name_could_not_be_written_down_is_not_asked_for_again() {
    let mut stage = stage();
    stage.create_claim("web-1");
    stage
        .lab
        .faults()
        .add_script("at 0s joiner: 500 on patch nodeclaims after 1 calls 3 times")
        .unwrap();
    stage.pass(60).await;
    assert_eq!(stage.cloud.calls("create"), 1);
    assert_eq!(stage.status_of("web-1", "Launched").as_deref(), Some("True"));
}

#[tokio::test(start_paused = true)]
async fn l02_a_launched_claim_says_what_it_got() {
    let mut stage = stage();
    let mut own = claim("web-1");
    own["metadata"]["labels"] = json!({"topology.kubernetes.io/zone": "mine"});
    own["spec"]["requirements"] = json!([
        {"key": "example.com/team", "operator": "In", "values": ["a"]},
    ]);
    stage.create_claim_as(own);
    stage.pass(1).await;
    assert_eq!(stage.status_of("web-1", "Launched").as_deref(), Some("True"));
    let claim = stage.claim("web-1");
    let status = claim.status.unwrap();
    assert_eq!(status.provider_id.as_deref(), Some("test://web-1"));
    assert_eq!(status.image_id.as_deref(), Some("test-image"));
    assert!(status.capacity.contains_key("cpu") && status.allocatable.contains_key("cpu"));
    let labels = claim.metadata.labels.unwrap();
    assert_eq!(labels["topology.kubernetes.io/zone"], "mine", "what the claim says is not changed");
    assert_eq!(labels["example.com/team"], "a");
    assert!(labels.contains_key("node.kubernetes.io/instance-type"));
}

#[tokio::test(start_paused = true)]
async fn l03_a_claim_that_there_is_no_room_for_is_given_up() {
    let mut stage = stage();
    stage.create_claim("web-1");
    let error = CloudError::InsufficientCapacity("no host has 4 CPUs free".to_owned());
    stage.cloud.state().next_create.push_back(Some(error));
    stage.pass(10).await;
    assert!(stage.find_claim("web-1").is_none());
    assert!(stage.cloud.state().instances.is_empty());
    let told = "InsufficientCapacityError: NodeClaim web-1 event: no host has 4 CPUs free";
    assert_eq!(stage.events("NodeClaim", "web-1"), [told]);
    assert_eq!(given_up(&stage), ["insufficient_capacity"]);
}

#[tokio::test(start_paused = true)]
async fn l04_a_claim_whose_class_is_not_ready_is_given_up() {
    let mut stage = stage();
    stage.create_claim("web-1");
    let not_ready = json!({"status": {"conditions": [{
        "type": "Ready", "status": "False", "reason": "TemplateMissing", "message": "no template",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}});
    let class = ("karpenter.test.sh", "testnodeclasses", "default");
    stage.merge(class.0, class.1, class.2, Some("status"), not_ready);
    stage.create_claim("web-2");
    let error = CloudError::NodeClassNotReady("not now".to_owned());
    stage.cloud.state().next_create.push_back(Some(error));
    stage.pass(10).await;
    assert!(stage.find_claim("web-1").is_none());
    assert!(stage.find_claim("web-2").is_none());
    assert_eq!(stage.cloud.calls("create"), 0, "a class that is not ready is not tried");
}

#[tokio::test(start_paused = true)]
async fn l04_a_claim_that_the_cloud_refuses_for_its_class_is_given_up() {
    let mut stage = stage();
    stage.create_claim("web-1");
    let error = CloudError::NodeClassNotReady("the template is gone".to_owned());
    stage.cloud.state().next_create.push_back(Some(error));
    stage.pass(10).await;
    assert!(stage.find_claim("web-1").is_none());
    let told = "NodeClassNotReady: NodeClaim web-1 event: the template is gone";
    assert_eq!(stage.events("NodeClaim", "web-1"), [told]);
    assert_eq!(given_up(&stage), ["nodeclass_not_ready"]);
}

#[tokio::test(start_paused = true)]
async fn l05_what_the_cloud_says_of_a_failure_is_in_the_condition_until_it_works() {
    let mut stage = stage();
    stage.create_claim("web-1");
    let message = "IP pool \"a\" has no address left; extend it".to_owned();
    let error = CloudError::Create { reason: "AddressPoolExhausted", message: message.clone() };
    stage.cloud.state().next_create.push_back(Some(error));
    stage.pass(0).await;
    let expected = ("Unknown".to_owned(), "AddressPoolExhausted".to_owned(), message);
    assert_eq!(stage.condition("web-1", "Launched"), Some(expected));
    stage.pass(2).await;
    assert_eq!(stage.status_of("web-1", "Launched").as_deref(), Some("True"));
}

#[tokio::test(start_paused = true)]
async fn l05_any_other_failure_is_shown_in_short_and_tried_again() {
    let mut stage = stage();
    stage.create_claim("web-1");
    let error = CloudError::Unknown("ä".repeat(400));
    stage.cloud.state().next_create.extend([Some(error.clone()), Some(error)]);
    stage.pass(0).await;
    let (status, reason, message) = stage.condition("web-1", "Launched").unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("Unknown", "LaunchFailed"));
    assert_eq!(message, format!("{}...", "ä".repeat(300)));
    stage.pass(10).await;
    assert_eq!(stage.cloud.calls("create"), 3, "after one second and two more");
    let labels = r#"{controller="nodeclaim.lifecycle",error="",method="Create",provider="test"}"#;
    assert_eq!(stage.series("karpenter_cloudprovider_errors_total"), [format!("{labels} 2")]);
    assert_eq!(stage.status_of("web-1", "Launched").as_deref(), Some("True"));
}

#[tokio::test(start_paused = true)]
async fn a_claim_waits_for_a_class_that_is_not_there_yet() {
    let mut stage = stage();
    stage.create("karpenter.sh", "nodeclaims", claim("web-1"));
    stage.pass(10).await;
    let (status, reason, message) = stage.condition("web-1", "Launched").unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("Unknown", "NodeClassNotFound"));
    assert_eq!(
        message,
        "TestNodeClass \"default\" is not there; create it, or delete this NodeClaim"
    );
    stage.create_class("default");
    stage.pass(1).await;
    assert_eq!(stage.status_of("web-1", "Launched").as_deref(), Some("True"));
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_a_killed_process_made_is_found_again() {
    let mut stage = stage();
    stage.create_claim("web-1");
    stage
        .lab
        .faults()
        .add_script("at 0s joiner: cut after on patch nodeclaims after 1 calls once")
        .unwrap();
    stage.pass(5).await;
    assert_eq!(stage.cloud.state().instances.len(), 1);
    let claim: Value = stage.find("karpenter.sh", "nodeclaims", "web-1").unwrap();
    assert_eq!(claim["status"]["providerID"], "test://web-1");
}

#[tokio::test(start_paused = true)]
async fn what_a_cloud_keeps_first_is_on_the_claim_and_in_the_next_order() {
    let mut stage = stage();
    let id = joiner_core::label::Labels::from([("karpenter.test.sh/id".into(), "101".into())]);
    stage.cloud.state().kept_first.clone_from(&id);
    let error = joiner_cloud::CloudError::Unknown("no answer".to_owned());
    stage.cloud.state().next_create.push_back(Some(error));
    stage.create_claim("web-1");
    stage.pass(10).await;
    let annotations = stage.claim("web-1").metadata.annotations.unwrap();
    assert_eq!(annotations["karpenter.test.sh/id"], "101");
    let found = stage.cloud.state().found_kept.values().next().cloned().unwrap();
    assert_eq!(found["karpenter.test.sh/id"], "101", "the second order has it");
    assert_eq!(stage.status_of("web-1", "Launched").as_deref(), Some("True"));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_made_while_what_is_to_be_kept_first_cannot_be_written() {
    let mut stage = stage();
    stage.cloud.state().kept_first = [("karpenter.test.sh/id".into(), "101".into())].into();
    stage.create_claim("web-1");
    stage.faults("at 0s joiner: 500 on patch nodeclaims after 1 calls 3 times");
    stage.pass(1).await;
    assert_eq!(stage.cloud.calls("create"), 0);
    stage.pass(60).await;
    assert_eq!(stage.cloud.calls("create"), 1);
}
