//! `CapacityBuffer`: room that is kept free for pods to come.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ResourceList,
    condition::Condition,
    null,
    schema::{self, Rule},
};

/// How much room is kept free, in chunks of the size of a pod.
#[derive(CustomResource, Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "autoscaling.x-k8s.io",
    version = "v1beta1",
    kind = "CapacityBuffer",
    namespaced,
    status = "CapacityBufferStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "autoscaling",
    shortname = "cb",
    printcolumn(
        name = "Strategy",
        type_ = "string",
        description = "How room is kept free.",
        json_path = ".spec.provisioningStrategy"
    ),
    printcolumn(
        name = "PodTemplate",
        type_ = "string",
        description = "The template that one chunk has room for.",
        json_path = ".status.podTemplateRef.name"
    ),
    printcolumn(
        name = "Replicas",
        type_ = "integer",
        description = "How many chunks there are to be.",
        json_path = ".status.replicas"
    ),
    printcolumn(
        name = "ConditionsType",
        type_ = "string",
        description = "The types of all conditions.",
        json_path = ".status.conditions[*].type"
    ),
    printcolumn(
        name = "ConditionsStatus",
        type_ = "string",
        description = "The statuses of all conditions.",
        json_path = ".status.conditions[*].status"
    ),
    printcolumn(
        name = "ConditionsReason",
        type_ = "string",
        description = "The reasons of all conditions.",
        json_path = ".status.conditions[*].reason"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        description = "How long ago the buffer was made.",
        json_path = ".metadata.creationTimestamp"
    ),
    doc = "Room that is kept free, so that pods which come suddenly need not wait for nodes."
)]
#[expect(clippy::duplicated_attributes, reason = "columns of the same type look like duplicates")]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = schema::validations(&[&TEMPLATE_SIZE, &ONE_REF])))]
pub struct CapacityBufferSpec {
    /// How room is kept free. Joiner knows `buffer.x-k8s.io/active-capacity`, which makes nodes
    /// for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "buffer.x-k8s.io/active-capacity"))]
    pub provisioning_strategy: Option<String>,
    /// The `PodTemplate`, in the same namespace, that one chunk has room for. Cannot be combined
    /// with `scalableRef`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_template_ref: Option<LocalObjectRef>,
    /// The workload, in the same namespace, of whose pods one chunk has room for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scalable_ref: Option<ScalableRef>,
    /// How many chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0))]
    pub replicas: Option<i32>,
    /// How many chunks, in percent of the workload's replicas; of this and `replicas`, the larger
    /// number counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0))]
    pub percentage: Option<i32>,
    /// How much all chunks may request together. Alone, it also says how many chunks there are.
    #[serde(deserialize_with = "null::as_default", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::resource_list")]
    pub limits: ResourceList,
}

/// An object in the same namespace whose kind is known.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name"]))]
pub struct LocalObjectRef {
    /// Name of the object.
    #[serde(deserialize_with = "null::as_default")]
    #[schemars(extend("minLength" = 1))]
    pub name: String,
}

/// A workload in the same namespace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["kind", "name"]))]
pub struct ScalableRef {
    /// API group of the workload, without a version; empty for the core group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_group: Option<String>,
    /// Kind of the workload.
    #[serde(deserialize_with = "null::as_default")]
    #[schemars(extend("minLength" = 1))]
    pub kind: String,
    /// Name of the workload.
    #[serde(deserialize_with = "null::as_default")]
    #[schemars(extend("minLength" = 1))]
    pub name: String,
}

/// What has become of the buffer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CapacityBufferStatus {
    /// The template that the status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_template_ref: Option<LocalObjectRef>,
    /// The generation of the template that the status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_template_generation: Option<i64>,
    /// How many chunks there are to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The strategy that the status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioning_strategy: Option<String>,
    /// Whether the buffer is understood and whether there is room for it.
    #[serde(deserialize_with = "null::as_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

const TEMPLATE_SIZE: Rule = Rule {
    message: "If podTemplateRef is set, replicas or limits must also be set",
    rule: "!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)",
};
const ONE_REF: Rule = Rule {
    message: "You must define either PodTemplateRef or ScalableRef, but not both",
    rule: "!(has(self.podTemplateRef) && has(self.scalableRef))",
};
