//! What clouds are told of the cluster.

use joiner_cloud::cluster::ClusterChange;
use joiner_operator::cloud_clusters;
use serde_json::json;

use crate::{play::node, stage::Stage};

/// What a change is about.
fn told(change: &ClusterChange) -> String {
    match change {
        ClusterChange::Class(class) => format!("class {}", class.name),
        ClusterChange::ClassGone(class) => format!("class {} gone", class.name),
        ClusterChange::Claim(facts) => {
            format!("claim {} at {}", facts.claim.name, facts.provider_id.as_deref().unwrap_or("-"))
        }
        ClusterChange::ClaimGone(claim) => format!("claim {} gone", claim.name),
        ClusterChange::Node(facts) => {
            let addresses: Vec<String> = facts.addresses.iter().map(ToString::to_string).collect();
            format!("node {} at {}", facts.name, addresses.join(" "))
        }
        ClusterChange::NodeGone(name) => format!("node {name} gone"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_cloud_is_told_what_there_is_at_first_and_then_every_change() {
    let mut stage = Stage::bare();
    stage.create_claim("web-1");
    stage.begin().await;
    cloud_clusters::begin(&stage.context, "uid-of-cluster");
    let cluster = stage.cloud.state().cluster.clone().unwrap();
    assert_eq!(cluster.uid, "uid-of-cluster");
    assert_eq!((cluster.classes.len(), cluster.claims.len(), cluster.nodes.len()), (1, 1, 0));
    assert_eq!(cluster.claims[0].class.name, "default");

    let status = json!({"status": {"providerID": "test://web-1"}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), status);
    stage.create("", "nodes", node("node-1", "web-1"));
    let addresses = json!({"status": {"addresses": [
        {"type": "Hostname", "address": "node-1"},
        {"type": "InternalIP", "address": "10.0.0.7"},
    ]}});
    stage.merge("", "nodes", "node-1", Some("status"), addresses);
    stage.pass(1).await;
    // That its kubelet reports again is no news.
    let heartbeat = json!({"metadata": {"annotations": {"example.com/seen": "now"}}});
    stage.merge("", "nodes", "node-1", None, heartbeat);
    stage.delete("", "nodes", "node-1");
    stage.delete("karpenter.sh", "nodeclaims", "web-1");
    stage.pass(1).await;
    let changes: Vec<String> = stage.cloud.state().changes.iter().map(told).collect();
    assert_eq!(
        changes,
        [
            "claim web-1 at test://web-1",
            "node node-1 at ",
            "node node-1 at 10.0.0.7",
            "node node-1 gone",
            "claim web-1 gone",
        ]
    );
}
