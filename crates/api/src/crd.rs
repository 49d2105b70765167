//! The CRDs of Joiner's kinds.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceValidation,
};
use kube::CustomResourceExt;
use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::{
    capacity_buffer::CapacityBuffer, facts::plain, kwok_node_class::KWOKNodeClass,
    node_claim::NodeClaim, node_overlay::NodeOverlay, node_pool::NodePool, schema,
};

/// The CRDs of all kinds of this crate, in the order in which they are printed.
///
/// Use these instead of the `crd()` of a kind: that one is derived by kube, and differs from Karpenter's.
pub fn crds() -> Vec<CustomResourceDefinition> {
    karpenter_crds().into_iter().chain([kwok_node_class()]).collect()
}

/// The CRDs of the kinds that are independent of a cloud, in the order in which they are printed.
pub fn karpenter_crds() -> Vec<CustomResourceDefinition> {
    vec![
        crd::<NodePool>(schema_of::<NodePool>()),
        crd::<NodeClaim>(schema_of::<NodeClaim>()),
        crd::<NodeOverlay>(schema_of::<NodeOverlay>()),
        crd::<CapacityBuffer>(schema_of::<CapacityBuffer>()),
    ]
}

/// The CRD of KWOK's `NodeClass`.
pub fn kwok_node_class() -> CustomResourceDefinition {
    crd::<KWOKNodeClass>(without_required_spec(schema_of::<KWOKNodeClass>()))
}

/// A CRD as a YAML document, without a separator.
pub fn to_yaml(crd: &CustomResourceDefinition) -> String {
    let document = serde_json::to_value(crd).expect("a CRD is made of maps, lists and scalars");
    // Long patterns and rules stay on one line, so that they can be read and searched.
    let options = serde_saphyr::ser_options! { folded_wrap_chars: usize::MAX };
    serde_saphyr::to_string_with_options(&plain(&document), options)
        .expect("what is JSON can be written as YAML")
}

/// A CRD with kube's names, columns and subresources, and our schema. Kube would make optional fields nullable, and
/// Karpenter's are not.
fn crd<K: CustomResourceExt>(schema: Value) -> CustomResourceDefinition {
    let mut crd = K::crd();
    crd.spec.names.list_kind = Some(format!("{}List", crd.spec.names.kind));
    let schema = serde_json::from_value(schema).expect("schemars writes a JSON schema");
    for version in &mut crd.spec.versions {
        let open_api_v3_schema = Some(Clone::clone(&schema));
        version.schema = Some(CustomResourceValidation { open_api_v3_schema });
    }
    crd
}

/// The schema of a whole object. The derived schema lacks the fields that all objects have.
fn schema_of<K: JsonSchema>() -> Value {
    let mut schema = schema::of::<K>();
    let properties = &mut schema["properties"];
    properties["apiVersion"] = json!({
        "type": "string",
        "description": "Group and version of the API, as in every Kubernetes object.",
    });
    properties["kind"] = json!({
        "type": "string",
        "description": "Kind of the object, as in every Kubernetes object.",
    });
    properties["metadata"] = json!({ "type": "object" });
    schema
}

/// A class without a `spec` is valid.
fn without_required_spec(mut schema: Value) -> Value {
    schema.as_object_mut().map(|keywords| keywords.remove("required"));
    schema
}
