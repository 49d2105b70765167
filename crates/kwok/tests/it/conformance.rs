//! KWOK does what every provider has to.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use joiner_cloud::{
    CloudProvider,
    class::NodeClass,
    conformance::{self, Bench, Mishap, Notebooks, Process},
    order::Order,
};
use joiner_core::{quantity::Quantity, resources::CPU};
use serde_json::json;

use crate::stage::{CLIENT, Stage, usual_class};

#[async_trait(?Send)]
impl Bench for Stage {
    fn start(&self) -> Process {
        let (kwok, connection) = Self::start(self);
        let provider = Arc::new(kwok);
        Process { provider, killed: Box::pin(async move { connection.killed().await }) }
    }

    fn notebooks(&self) -> &Notebooks {
        &self.notebooks
    }

    fn class(&self) -> Arc<NodeClass> {
        usual_class()
    }

    fn arm(&self, mishap: Mishap, after: u32) {
        self.lab.faults().arm(CLIENT, mishap, after);
    }

    fn disarm(&self) -> bool {
        self.lab.faults().disarm()
    }

    async fn instances(&self) -> BTreeMap<String, String> {
        let text = |node: serde_json::Value| {
            (node["spec"]["providerID"].as_str().unwrap().to_owned(), node.to_string())
        };
        self.nodes().into_iter().map(text).collect()
    }

    async fn add_foreign(&self, order: &Order) -> Vec<String> {
        // The name that the instance of this order would get is known by making it.
        let (kwok, _) = Self::start(self);
        let instance = kwok.create(order).await.unwrap();
        let taken = instance.provider_id.strip_prefix("kwok://").unwrap();
        self.delete_node(taken);
        let others = [
            (taken, "elsewhere://taken", json!({})),
            (
                "of-elsewhere",
                "elsewhere://of-elsewhere",
                json!({"karpenter.kwok.sh/kwoknodeclass": "default"}),
            ),
            ("of-nobody", "kwok://of-nobody", json!({"kwok.x-k8s.io/node": "fake"})),
        ];
        for (name, provider_id, labels) in &others {
            self.create_node(json!({
                "metadata": {"name": name, "labels": labels},
                "spec": {"providerID": provider_id},
            }));
        }
        others.map(|(_, provider_id, _)| provider_id.to_owned()).to_vec()
    }

    async fn add_copy(&self, provider_id: &str) -> String {
        let mut nodes = self.nodes().into_iter();
        let mut copy = nodes.find(|node| node["spec"]["providerID"] == provider_id).unwrap();
        let (labels, annotations) =
            (copy["metadata"]["labels"].take(), copy["metadata"]["annotations"].take());
        self.create_node(json!({
            "metadata": {"name": "copy", "labels": labels, "annotations": annotations},
            "spec": {"providerID": "kwok://copy"},
        }));
        "kwok://copy".to_owned()
    }

    async fn without_room(&self, mut order: Order) -> Order {
        // The cloud of nodes without instances is never full, but its largest type has 256 CPUs.
        order.requests.set(CPU, Quantity::whole(1000));
        order
    }

    fn more_than_a_page(&self) -> u32 {
        501
    }
}

#[tokio::test(start_paused = true)]
async fn kwok_does_what_every_provider_has_to() {
    let report = conformance::check(async || Stage::new()).await;
    assert!(report.is_clean(), "{report}");
}
