//! The definitions of the three kinds, made of the types that read them.

use joiner_api::schema;
use serde_json::{Value, json};

use crate::{node_class, object::Spec, template, unmanaged_template};

/// The definitions for an API server. They refuse what the predecessor's refuse and nothing else:
/// every stricter rule is a condition of the object, so that a manifest that was accepted yesterday
/// is accepted today.
pub fn crds() -> [Value; 3] {
    [
        definition::<node_class::Spec>(),
        definition::<template::Spec>(),
        definition::<unmanaged_template::Spec>(),
    ]
}

/// The columns that all kinds have after their own.
const LAST_COLUMNS: [(&str, &str); 2] = [
    ("Ready", r#".status.conditions[?(@.type=="Ready")].status"#),
    ("Age", ".metadata.creationTimestamp"),
];

fn definition<S: Spec>() -> Value {
    let mut crd = S::KIND.definition(&schema::of::<S>());
    crd["spec"]["names"]["categories"] = json!(["karpenter"]);
    let version = &mut crd["spec"]["versions"][0];
    let columns = S::COLUMNS.iter().chain(&LAST_COLUMNS).map(|(name, path)| {
        let type_ = if *name == "Age" { "date" } else { "string" };
        json!({"name": name, "type": type_, "jsonPath": path})
    });
    version["additionalPrinterColumns"] = columns.collect();
    let properties = &mut version["schema"]["openAPIV3Schema"]["properties"];
    properties["apiVersion"] = json!({"type": "string"});
    properties["kind"] = json!({"type": "string"});
    properties["metadata"] = json!({"type": "object"});
    properties["status"] = schema::of::<S::Status>();
    crd
}
