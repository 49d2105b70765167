//! The laboratory's cloud.

mod conformance;
mod instances;
mod sweep;

use std::sync::Arc;

use joiner_cloud::{
    class::NodeClass,
    inputs::OrderInputs,
    notebook::Notebook,
    order::{ClaimId, Order},
};
use joiner_core::{
    label::Labels,
    quantity::Quantity,
    requirement::Requirements,
    resources::{CPU, Resources},
};
use joiner_lab::cloud::LAB_NODE_CLASS;
use serde_json::{Value, json};

/// A class with some fields of its spec.
fn class(spec: Value) -> Arc<NodeClass> {
    Arc::new(NodeClass {
        group: LAB_NODE_CLASS.group.to_owned(),
        api_version: LAB_NODE_CLASS.version.to_owned(),
        kind: LAB_NODE_CLASS.kind.to_owned(),
        name: "default".to_owned(),
        spec,
        ..NodeClass::default()
    })
}

/// An order for an instance with so many CPUs.
fn order(name: &str, cpus: i64) -> Order {
    Order {
        claim: ClaimId { name: name.to_owned(), uid: format!("uid-of-{name}") },
        node_pool: Some("default".to_owned()),
        labels: [("example.com/team".to_owned(), "web".to_owned())].into(),
        annotations: Labels::new(),
        requirements: Requirements::new(),
        requests: Resources::from_iter([(CPU, Quantity::whole(cpus))]),
        taints: Vec::new(),
        startup_taints: Vec::new(),
        corrected: Vec::new(),
        class: class(json!({})),
        inputs: OrderInputs::default(),
        kept: Labels::new(),
        notebook: Notebook::default(),
    }
}
