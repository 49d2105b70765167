//! §11.1 H-01 to H-04: the label of a class on claims and nodes.

use joiner_cloud::testing::LabelCorrection;
use joiner_operator::hydration::{ClaimHydration, NodeHydration};
use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use crate::stage::{Stage, claim};

const LABEL: &str = "karpenter.test.sh/testnodeclass";

fn stage() -> Stage {
    Stage::bare().with(ClaimHydration).with(NodeHydration)
}

#[tokio::test(start_paused = true)]
async fn h01_a_claim_gets_the_label_of_its_class() {
    let mut stage = stage();
    stage.create_claim("web-1");
    stage.pass(1).await;
    assert_eq!(stage.claim("web-1").metadata.labels.unwrap()[LABEL], "default");
}

#[tokio::test(start_paused = true)]
async fn h02_a_node_gets_the_label_of_its_claims_class() {
    let mut stage = stage();
    stage.create_claim("web-1");
    let status = json!({"status": {"providerID": "test://web-1"}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), status);
    stage.create(
        "",
        "nodes",
        json!({
            "metadata": {"name": "node-1"}, "spec": {"providerID": "test://web-1"},
        }),
    );
    stage.pass(1).await;
    let node: Node = stage.find("", "nodes", "node-1").unwrap();
    assert_eq!(node.metadata.labels.unwrap()[LABEL], "default");
}

#[tokio::test(start_paused = true)]
async fn h03_h04_what_belongs_to_another_provider_is_left_alone() {
    let mut stage = stage();
    let mut foreign = claim("web-1");
    foreign["spec"]["nodeClassRef"]["kind"] = "OtherNodeClass".into();
    stage.create("karpenter.sh", "nodeclaims", foreign);
    let status = json!({"status": {"providerID": "other://web-1"}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), status);
    stage.create(
        "",
        "nodes",
        json!({
            "metadata": {"name": "node-1"}, "spec": {"providerID": "other://web-1"},
        }),
    );
    stage.pass(1).await;
    assert_eq!(stage.claim("web-1").metadata.labels, None);
    let node: Node = stage.find("", "nodes", "node-1").unwrap();
    assert_eq!(node.metadata.labels, None);
}

#[tokio::test(start_paused = true)]
async fn what_a_predecessor_wrote_into_labels_is_corrected_on_claims_and_nodes() {
    let mut stage = stage();
    stage.cloud.state().label_corrections = &[LabelCorrection {
        key: "karpenter.sh/capacity-type",
        wrong: "OnDemand",
        right: "on-demand",
    }];
    let wrong = json!({"karpenter.sh/capacity-type": "OnDemand", "team": "OnDemand"});
    let mut old = claim("web-1");
    old["metadata"]["labels"] = wrong.clone();
    stage.create_class("default");
    stage.create("karpenter.sh", "nodeclaims", old);
    let status = json!({"status": {"providerID": "test://web-1"}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), status);
    let node = json!({
        "metadata": {"name": "node-1", "labels": wrong}, "spec": {"providerID": "test://web-1"},
    });
    stage.create("", "nodes", node);
    stage.pass(1).await;
    let node: Node = stage.find("", "nodes", "node-1").unwrap();
    let claim = stage.claim("web-1").metadata.labels.unwrap();
    for labels in [claim, node.metadata.labels.unwrap()] {
        assert_eq!(labels["karpenter.sh/capacity-type"], "on-demand");
        assert_eq!(labels["team"], "OnDemand", "what it means elsewhere is not ours to say");
    }
}
