//! `NodeClaim`: one node that was asked for, from its launch to its end.

use std::collections::BTreeMap;

use k8s_openapi::{api::core::v1::Taint, apimachinery::pkg::apis::meta::v1::Time};
use kube::CustomResource;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    ResourceList,
    condition::Condition,
    duration::{Duration, NillableDuration},
    node_class_reference::NodeClassReference,
    null,
    requirement::{self, Requirement},
    schema::{self, Rule},
};

/// The node that is asked for.
#[derive(CustomResource, Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "karpenter.sh",
    version = "v1",
    kind = "NodeClaim",
    status = "NodeClaimStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "karpenter",
    printcolumn(
        name = "Type",
        type_ = "string",
        json_path = r".metadata.labels.node\.kubernetes\.io/instance-type"
    ),
    printcolumn(
        name = "Capacity",
        type_ = "string",
        json_path = r".metadata.labels.karpenter\.sh/capacity-type"
    ),
    printcolumn(
        name = "Zone",
        type_ = "string",
        json_path = r".metadata.labels.topology\.kubernetes\.io/zone"
    ),
    printcolumn(name = "Node", type_ = "string", json_path = ".status.nodeName"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "ImageID", type_ = "string", json_path = ".status.imageID", priority = 1),
    printcolumn(name = "ID", type_ = "string", json_path = ".status.providerID", priority = 1),
    printcolumn(
        name = "NodePool",
        type_ = "string",
        json_path = r".metadata.labels.karpenter\.sh/nodepool",
        priority = 1
    ),
    printcolumn(
        name = "NodeClass",
        type_ = "string",
        json_path = ".spec.nodeClassRef.name",
        priority = 1
    ),
    printcolumn(
        name = "Drifted",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Drifted")].status"#,
        priority = 1
    ),
    doc = "One node that was asked for, from its launch to its end."
)]
#[expect(clippy::duplicated_attributes, reason = "columns of the same type look like duplicates")]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend(
    "required" = ["nodeClassRef", "requirements"],
    "x-kubernetes-validations" = schema::validations(&[&IMMUTABLE]),
))]
pub struct NodeClaimSpec {
    /// Taints of the node.
    #[serde(deserialize_with = "null::as_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::taints")]
    pub taints: Vec<Taint>,
    /// Taints that the node starts with and that something else, a daemon set for instance, takes
    /// off again. Pods need not tolerate them.
    #[serde(deserialize_with = "null::as_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::taints")]
    pub startup_taints: Vec<Taint>,
    /// What the labels of the node must be.
    #[serde(deserialize_with = "null::as_default")]
    #[schemars(extend(
        "maxItems" = 100,
        "x-kubernetes-list-type" = "atomic",
        "x-kubernetes-validations" = requirement::list_validations(),
    ))]
    pub requirements: Vec<Requirement>,
    /// What the node must offer to pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,
    /// The object that tells the provider how to make the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_class_ref: Option<NodeClassReference>,
    /// How long the node may take to be drained when it goes away; after that, its pods are deleted
    /// whatever protects them. Without it, there is no end to waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_grace_period: Option<Duration>,
    /// How old the node may become before it is replaced, or `Never`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "720h"))]
    pub expire_after: Option<NillableDuration>,
}

/// What a node must offer to pods.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceRequirements {
    /// The least of each resource.
    #[serde(deserialize_with = "null::as_default", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::resource_list")]
    pub requests: ResourceList,
}

/// What has become of the claim.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeClaimStatus {
    /// The Node object, once it has joined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    /// How the provider and the Node object name the instance.
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// The image that the node runs.
    #[serde(rename = "imageID", skip_serializing_if = "Option::is_none")]
    pub image_id: Option<String>,
    /// What the node has; an estimate until it has joined.
    #[serde(deserialize_with = "null::as_default", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::resource_list")]
    pub capacity: ResourceList,
    /// What pods can use of it; an estimate until it has joined.
    #[serde(deserialize_with = "null::as_default", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::resource_list")]
    pub allocatable: ResourceList,
    /// How far the claim has come.
    #[serde(deserialize_with = "null::as_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    #[schemars(transform = without_required_reason)]
    pub conditions: Vec<Condition>,
    /// When a pod last came to the node or left it; a pod that ends or starts to terminate leaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_pod_event_time: Option<Time>,
}

const IMMUTABLE: Rule = Rule { message: "spec is immutable", rule: "self == oldSelf" };

/// The reason and the message of a claim's condition may be empty or missing.
fn without_required_reason(conditions: &mut Schema) {
    let condition = &mut conditions.ensure_object()["items"];
    condition["required"] = json!(["lastTransitionTime", "status", "type"]);
    let reason = &mut condition["properties"]["reason"];
    reason["minLength"] = json!(null);
    reason["pattern"] = json!("^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?|)$");
}
