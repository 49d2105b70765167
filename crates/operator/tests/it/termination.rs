//! §11.2 T-01 to T-32: what has to happen before a node is gone.

mod deadlines;
mod pods;
mod volumes;
mod whole;

use joiner_cloud::CloudError;
use serde_json::{Value, json};

use crate::leaving::{FINALIZER, Leaving};

#[tokio::test(start_paused = true)]
async fn t01_a_node_is_gone_when_its_instance_is() {
    let mut leaving = Leaving::new();
    leaving.node("node-1");
    leaving.stage.cloud.state().asks_until_gone = 2;
    leaving.delete_node("node-1");
    leaving.pass(7).await;
    assert_eq!(leaving.condition("node-1", "Drained").unwrap(), "True Drained");
    assert_eq!(leaving.condition("node-1", "VolumesDetached").unwrap(), "True VolumesDetached");
    let terminating = leaving.condition("node-1", "InstanceTerminating").unwrap();
    assert_eq!(terminating, "True InstanceTerminating");
    assert!(leaving.find_node("node-1").is_some(), "the instance is still there");
    // It is asked for every five seconds: three times until it goes, and once more to be sure.
    leaving.pass(16).await;
    assert_eq!(leaving.stage.cloud.calls("delete test://node-1"), 4);
    assert!(leaving.find_node("node-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn t02_a_node_without_a_claim_is_drained_and_gone() {
    let mut leaving = Leaving::new();
    leaving.node_object("node-1", "True");
    leaving.pod("web", json!({}));
    leaving.delete_node("node-1");
    leaving.pass(2).await;
    assert!(leaving.is_leaving("web"));
    assert!(leaving.find_node("node-1").is_some());
    leaving.end_pod("web");
    leaving.pass(1).await;
    assert!(leaving.find_node("node-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn t03_claims_that_contradict_each_other_count_as_none() {
    let mut leaving = Leaving::new();
    leaving.node("node-1");
    leaving.claim("twin", "node-1");
    leaving.delete_node("node-1");
    leaving.pass(2).await;
    assert!(leaving.find_node("node-1").is_none());
    for claim in ["node-1", "twin"] {
        assert_eq!(leaving.stage.claim(claim).metadata.deletion_timestamp, None, "{claim}");
    }
    assert_eq!(leaving.stage.cloud.calls("delete"), 0);
}

/// Who is told that two nodes say they are one instance deletes the wrong one.
#[tokio::test(start_paused = true)]
async fn one_of_two_nodes_of_an_instance_goes_alone() {
    let mut leaving = Leaving::new();
    leaving.node("node-1");
    leaving.node_of_instance("wrong", "node-1", "False");
    leaving.pod("web", json!({"spec": {"nodeName": "wrong"}}));
    leaving.delete_node("wrong");
    leaving.pass(2).await;
    assert!(leaving.is_leaving("web"), "it is drained all the same");
    leaving.end_pod("web");
    leaving.pass(10).await;
    assert!(leaving.find_node("wrong").is_none());
    assert!(leaving.find_node("node-1").unwrap().metadata.deletion_timestamp.is_none());
    assert_eq!(leaving.stage.claim("node-1").metadata.deletion_timestamp, None);
    assert_eq!(leaving.stage.cloud.calls("delete"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_instance_of_two_nodes_goes_when_both_are_drained() {
    let mut leaving = Leaving::new();
    leaving.node("node-1");
    leaving.node_of_instance("renamed", "node-1", "True");
    leaving.pod("web", json!({"spec": {"nodeName": "renamed"}}));
    leaving.stage.delete_claim("node-1");
    leaving.delete_node("node-1");
    leaving.delete_node("renamed");
    leaving.pass(30).await;
    assert!(leaving.find_node("node-1").is_none(), "nothing runs there");
    assert!(leaving.find_node("renamed").is_some());
    assert_eq!(leaving.stage.cloud.calls("delete"), 0);
    leaving.end_pod("web");
    leaving.pass(10).await;
    assert!(leaving.find_node("renamed").is_none());
    assert_eq!(leaving.stage.cloud.state().instances.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn t04_nodes_of_others_are_left_alone() {
    let mut leaving = Leaving::new();
    let metadata = json!({"name": "theirs", "finalizers": [FINALIZER]});
    leaving.stage.create("", "nodes", json!({"metadata": metadata}));
    leaving.delete_node("theirs");
    leaving.node("stays");
    leaving.pass(30).await;
    for name in ["theirs", "stays"] {
        let taints = leaving.find_node(name).unwrap().spec.unwrap().taints.unwrap_or_default();
        assert!(taints.iter().all(|taint| taint.key != "karpenter.sh/disrupted"), "{name}");
    }
    assert_eq!(leaving.stage.cloud.state().calls, [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn t05_the_claim_goes_with_its_node() {
    let mut leaving = Leaving::new();
    leaving.node("node-1");
    leaving.pass(1).await;
    leaving.delete_node("node-1");
    leaving.pass(1).await;
    assert!(leaving.stage.claim("node-1").metadata.deletion_timestamp.is_some());
}

#[tokio::test(start_paused = true)]
async fn t06_many_nodes_go_at_the_same_time() {
    let mut leaving = Leaving::new();
    let names: Vec<String> = (11..=30).map(|number| format!("node-{number}")).collect();
    for name in &names {
        leaving.node(name);
        leaving.pod(&format!("on-{name}"), json!({"spec": {"nodeName": name}}));
    }
    leaving.pass(1).await;
    for name in &names {
        leaving.delete_node(name);
    }
    // Pods of nodes that go together wait a moment for each other.
    leaving.pass(3).await;
    for name in &names {
        assert!(leaving.is_leaving(&format!("on-{name}")), "{name}");
        leaving.end_pod(&format!("on-{name}"));
    }
    leaving.pass(15).await;
    for name in &names {
        assert!(leaving.find_node(name).is_none(), "{name}");
        assert_eq!(leaving.stage.cloud.calls(&format!("delete test://{name}")), 2, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn t07_new_pods_and_load_balancers_are_kept_away() {
    let mut leaving = Leaving::new();
    leaving.node("node-1");
    let taints = json!([
        {"key": "mine", "effect": "NoSchedule"},
        {"key": "karpenter.sh/disrupted", "effect": "NoExecute", "value": "old"},
    ]);
    leaving.stage.merge("", "nodes", "node-1", None, json!({"spec": {"taints": taints}}));
    leaving.delete_node("node-1");
    leaving.pass(1).await;
    let node = leaving.find_node("node-1").unwrap();
    let label = "node.kubernetes.io/exclude-from-external-load-balancers";
    assert_eq!(node.metadata.labels.unwrap()[label], "karpenter");
    let expected = json!([
        {"key": "mine", "effect": "NoSchedule"},
        {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"},
    ]);
    assert_eq!(serde_json::to_value(node.spec.unwrap().taints).unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn t18_a_node_without_an_instance_is_not_drained() {
    let mut leaving = Leaving::new();
    leaving.claim("node-1", "node-1");
    leaving.node_object("node-1", "Unknown");
    leaving.pod("web", json!({}));
    leaving.delete_node("node-1");
    leaving.pass(1).await;
    assert!(leaving.find_node("node-1").is_none());
    assert!(!leaving.is_leaving("web"));
}

#[tokio::test(start_paused = true)]
async fn t18_a_cloud_that_cannot_say_whether_there_is_an_instance_is_asked_again() {
    let mut leaving = Leaving::new();
    leaving.claim("node-1", "node-1");
    leaving.node_object("node-1", "Unknown");
    let broken = || Some(CloudError::Unknown("no route to host".to_owned()));
    leaving.stage.cloud.state().next_get.extend([broken(), broken(), broken()]);
    leaving.delete_node("node-1");
    leaving.pass(0).await;
    assert!(leaving.find_node("node-1").is_some(), "unknown is not absent");
    leaving.pass(1).await;
    assert!(leaving.find_node("node-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn t19_a_node_whose_kubelet_is_alive_is_drained_whatever_the_cloud_says() {
    let mut leaving = Leaving::new();
    leaving.claim("node-1", "node-1");
    leaving.node_object("node-1", "True");
    leaving.pod("web", json!({}));
    leaving.delete_node("node-1");
    leaving.pass(10).await;
    assert!(leaving.is_leaving("web"));
    assert!(leaving.find_node("node-1").is_some());
    leaving.end_pod("web");
    leaving.pass(1).await;
    assert!(leaving.find_node("node-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn t26_an_empty_node_is_drained_for_five_seconds_at_least() {
    let mut leaving = Leaving::new();
    leaving.node("node-1");
    leaving.delete_node("node-1");
    leaving.pass(4).await;
    assert_eq!(leaving.condition("node-1", "Drained").unwrap(), "Unknown Draining");
    // A scheduler that had not seen the taint.
    leaving.pod("late", json!({}));
    leaving.pass(10).await;
    assert!(leaving.is_leaving("late"));
    assert_eq!(leaving.condition("node-1", "Drained").unwrap(), "Unknown Draining");
    leaving.end_pod("late");
    leaving.pass(1).await;
    assert_eq!(leaving.condition("node-1", "Drained").unwrap(), "True Drained");
}

#[tokio::test(start_paused = true)]
async fn t30_t31_t32_what_dashboards_read() {
    let mut leaving = Leaving::new();
    leaving.node("node-1");
    let labels = json!({"metadata": {"labels": {
        "karpenter.sh/nodepool": "general", "topology.kubernetes.io/zone": "a",
    }}});
    leaving.stage.merge("", "nodes", "node-1", None, labels);
    leaving.pass(3600).await;
    leaving.delete_node("node-1");
    leaving.pass(7).await;
    let drained = [r#"{nodepool="general"} 1"#];
    let terminated = "karpenter_nodes_terminated_total";
    assert_eq!(leaving.stage.series("karpenter_nodes_drained_total"), drained);
    assert_eq!(leaving.stage.series(terminated), [] as [&str; 0]);
    leaving.pass(10).await;
    assert_eq!(leaving.stage.series("karpenter_nodes_drained_total"), drained);
    assert_eq!(leaving.stage.series(terminated), [r#"{nodepool="general",zone="a"} 1"#]);
    let metric = |text: &str| leaving.stage.metric(&format!("karpenter_nodes_{text}"));
    let took = metric(r#"termination_duration_seconds_sum{nodepool="general"}"#);
    assert!((10.0..13.0).contains(&took), "5 s of drain and 5 s for the instance, not {took}");
    let lived = metric(r#"lifetime_duration_seconds_sum{nodepool="general"}"#);
    assert!((3610.0..3613.0).contains(&lived), "an hour and the same, not {lived}");
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_refuses_is_asked_until_the_instance_is_gone() {
    let mut leaving = Leaving::new();
    leaving.node("node-1");
    let broken = || Some(CloudError::Unknown("no route to host".to_owned()));
    leaving.stage.cloud.state().next_delete.extend([broken(), broken()]);
    leaving.delete_node("node-1");
    leaving.pass(5).await;
    assert_eq!(leaving.condition("node-1", "Drained").unwrap(), "True Drained");
    assert_eq!(leaving.condition("node-1", "InstanceTerminating"), None);
    leaving.pass(10).await;
    assert_eq!(leaving.stage.cloud.calls("delete"), 4);
    assert!(leaving.find_node("node-1").is_none());
    let labels = r#"controller="node.termination",error="",method="Delete",provider="test""#;
    let counted = leaving.stage.series("karpenter_cloudprovider_errors_total");
    assert_eq!(counted, [format!("{{{labels}}} 2")]);
}

/// A kubelet that comes and goes, and annotations that others write, are changes that are looked at.
#[tokio::test(start_paused = true)]
async fn a_cloud_is_not_asked_more_often_because_something_changes() {
    let mut leaving = Leaving::new();
    leaving.node("node-1");
    leaving.stage.cloud.state().asks_until_gone = 2;
    leaving.delete_node("node-1");
    leaving.pass(6).await;
    assert_eq!(leaving.stage.cloud.calls("delete"), 1);
    for change in 0..5 {
        leaving.annotate_claim("node-1", "example.com/change", &change.to_string());
        leaving.pass(0).await;
    }
    leaving.pass(1).await;
    assert_eq!(leaving.stage.cloud.calls("delete"), 1);
    leaving.pass(15).await;
    assert_eq!(leaving.stage.cloud.calls("delete"), 4);
    assert!(leaving.find_node("node-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn finalizers_of_others_stay() {
    let mut leaving = Leaving::new();
    leaving.node("node-1");
    let finalizers =
        json!({"metadata": {"finalizers": ["example.com/a", FINALIZER, "example.com/b"]}});
    leaving.stage.merge("", "nodes", "node-1", None, finalizers);
    leaving.delete_node("node-1");
    leaving.pass(15).await;
    let left: Value = leaving.stage.find("", "nodes", "node-1").unwrap();
    assert_eq!(left["metadata"]["finalizers"], json!(["example.com/a", "example.com/b"]));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_is_no_time_stops_everything_until_it_is_mended() {
    let mut leaving = Leaving::new();
    leaving.node("node-1");
    leaving.pod("web", json!({}));
    let annotation = "karpenter.sh/nodeclaim-termination-timestamp";
    leaving.annotate_claim("node-1", annotation, "tomorrow");
    leaving.delete_node("node-1");
    leaving.pass(30).await;
    assert!(!leaving.is_leaving("web"));
    leaving.annotate_claim("node-1", annotation, "2026-02-01T00:00:00Z");
    leaving.pass(1).await;
    assert!(leaving.is_leaving("web"));
}

#[tokio::test(start_paused = true)]
async fn what_has_been_reached_is_written_once() {
    let mut leaving = Leaving::new();
    leaving.node("node-1");
    leaving.pod("web", json!({}));
    leaving.budget("web", "web", 0);
    leaving.delete_node("node-1");
    leaving.pass(5).await;
    let (claim, node) = (leaving.stage.claim("node-1"), leaving.find_node("node-1"));
    leaving.pass(300).await;
    assert_eq!(leaving.stage.claim("node-1"), claim);
    assert_eq!(leaving.find_node("node-1"), node);
}
