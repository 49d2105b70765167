//! An API server with nothing but nodes, and KWOK as a client of it.

use std::sync::Arc;

use joiner_apiserver::{DeleteOptions, Key, Resource};
use joiner_cloud::{class::NodeClass, conformance::Notebooks};
use joiner_kwok::{Kwok, KwokTypes, NODE_CLASS_GROUP, NODE_CLASS_KIND, catalog_file};
use joiner_lab::{Client, Connection, Lab, Setup};
use serde_json::{Value, json};

/// Who the provider is to the laboratory.
pub(crate) const CLIENT: &str = "joiner";

pub(crate) struct Stage {
    pub(crate) lab: Lab,
    pub(crate) client: Client,
    pub(crate) notebooks: Notebooks,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let lab = Lab::new(Setup { bare: true, ..Setup::new(1) });
        let client = lab.client(CLIENT);
        Self { lab, client, notebooks: Notebooks::default() }
    }

    /// The provider in a process of its own, and that process's connection.
    pub(crate) fn start(&self) -> (Kwok, Connection) {
        let connection = self.client.connect();
        let client = kube::Client::new(connection.clone(), "default");
        (Kwok::new(client, self.client.clock().clone()), connection)
    }

    /// The provider with the types of a file.
    pub(crate) fn start_with(&self, types: &str) -> Kwok {
        let client = kube::Client::new(self.client.connect(), "default");
        let file = catalog_file::parse(types, "types.json").unwrap();
        Kwok::with_types(client, self.client.clock().clone(), KwokTypes::of_file(file))
    }

    /// Every node, as the server has it.
    pub(crate) fn nodes(&self) -> Vec<Value> {
        let nodes = self.lab.caller("test").list(&nodes(), None);
        nodes.iter().map(|node| node.value()).collect()
    }

    pub(crate) fn create_node(&self, node: Value) {
        self.lab.caller("test").create(&nodes(), node).unwrap();
    }

    pub(crate) fn delete_node(&self, name: &str) {
        let key = Key::new("", name);
        self.lab.caller("test").delete(&nodes(), &key, DeleteOptions::default()).unwrap();
    }
}

fn nodes() -> Resource {
    Resource::new("", "nodes")
}

/// A class with some fields of its spec, of which nobody has said yet whether it is ready.
pub(crate) fn class(spec: Value) -> NodeClass {
    NodeClass {
        group: NODE_CLASS_GROUP.to_owned(),
        api_version: "v1alpha1".to_owned(),
        kind: NODE_CLASS_KIND.to_owned(),
        name: "default".to_owned(),
        spec,
        ..NodeClass::default()
    }
}

/// A class that says nothing.
pub(crate) fn usual_class() -> Arc<NodeClass> {
    Arc::new(class(json!({})))
}
