//! A world with two priority classes, one free address, and a clock that stands still.

use jiff::Timestamp;
use joiner_kinds::{User, World, system_priority_classes};
use serde_json::Value;

pub(crate) struct Fixed;

impl World for Fixed {
    fn now(&self) -> Timestamp {
        "2030-01-01T00:00:00Z".parse().expect("a time")
    }

    fn user(&self) -> User {
        User { name: "ada".into(), uid: "7".into(), groups: vec!["system:masters".into()] }
    }

    fn priority_class(&self, name: &str) -> Option<Value> {
        system_priority_classes().into_iter().find(|class| class["metadata"]["name"] == name)
    }

    fn default_priority_class(&self) -> Option<Value> {
        None
    }

    fn runtime_class(&self, _: &str) -> Option<Value> {
        None
    }

    fn default_storage_class(&self) -> Option<String> {
        Some("standard".into())
    }

    fn allocate_cluster_ip(&self) -> String {
        "10.96.0.7".into()
    }

    fn allocate_node_port(&self) -> u16 {
        30007
    }
}
