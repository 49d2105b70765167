//! §11.1 H-01 to H-04: the label of a class on claims and nodes.

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
