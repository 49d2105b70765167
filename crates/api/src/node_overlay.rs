//! `NodeOverlay`: corrections to the prices and the capacity that a provider reports.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use crate::{
    ResourceList,
    condition::Condition,
    null,
    requirement::{self, Requirement},
    schema::{self, Rule},
};

/// What is corrected, and where.
#[derive(CustomResource, Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "karpenter.sh",
    version = "v1alpha1",
    kind = "NodeOverlay",
    status = "NodeOverlayStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "karpenter",
    shortname = "overlays",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Weight", type_ = "integer", json_path = ".spec.weight", priority = 1),
    doc = "A correction to the prices or the capacity of instance types, for planning."
)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend(
    "required" = ["requirements"],
    "x-kubernetes-validations" = schema::validations(&[&ONE_PRICE]),
))]
pub struct NodeOverlaySpec {
    /// Which instance types and offerings are meant: their labels, the pool's name and the labels
    /// of the pool's template.
    #[serde(deserialize_with = "null::as_default")]
    #[schemars(extend(
        "maxItems" = 100,
        "x-kubernetes-list-type" = "atomic",
        "x-kubernetes-validations" =
            schema::validations(&[&NOT_IN_VALUES, &requirement::IN_VALUES, &BOUND_VALUE]),
    ))]
    #[schemars(transform = without_min_values)]
    pub requirements: Vec<Requirement>,
    /// What to add to the price, as `-0.5` or `+10%`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = PRICE_ADJUSTMENT))]
    pub price_adjustment: Option<String>,
    /// The price, whatever the provider says. Cannot be combined with `priceAdjustment`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = r"^\d+(\.\d+)?$"))]
    pub price: Option<String>,
    /// Resources that the provider does not know of. CPU, memory, storage and the number of pods
    /// cannot be corrected.
    #[serde(deserialize_with = "null::as_default", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::resource_list")]
    #[schemars(extend("x-kubernetes-validations" = schema::validations(&[&EXTENDED_ONLY])))]
    pub capacity: ResourceList,
    /// Overlays with a higher weight win; without one, the weight is 0. Of two with the same weight
    /// that would correct the same thing, only one is used and the other says so in its status.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1, "maximum" = 10000))]
    pub weight: Option<i32>,
}

/// What has become of the overlay.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeOverlayStatus {
    /// Whether the overlay is used, and why not.
    #[serde(deserialize_with = "null::as_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// A number to add, or a percentage that subtracts at most 100 %.
const PRICE_ADJUSTMENT: &str =
    r"^(([+-]{1}(\d*\.?\d+))|(\+{1}\d*\.?\d+%)|(^(-\d{1,2}(\.\d+)?%)$)|(-100%))$";

const ONE_PRICE: Rule = Rule {
    message: "cannot set both 'price' and 'priceAdjustment'",
    rule: "!has(self.price) || !has(self.priceAdjustment)",
};
const EXTENDED_ONLY: Rule = Rule {
    message: "invalid resource restricted",
    rule: "self.all(x, !(x in ['cpu', 'memory', 'ephemeral-storage', 'pods']))",
};
const NOT_IN_VALUES: Rule = Rule {
    message: "requirements with operator 'NotIn' must have a value defined",
    rule: "self.all(x, x.operator == 'NotIn' ? x.values.size() != 0 : true)",
};
/// The rule of pools and claims, with a message that differs by a comma.
const BOUND_VALUE: Rule = Rule {
    message: "requirements operator 'Gt', 'Lt', 'Gte' or 'Lte' must have a single positive integer value",
    ..requirement::BOUND_VALUE
};

/// Overlays select from existing types, so they need no `minValues`.
fn without_min_values(requirements: &mut Schema) {
    let requirement = &mut requirements.ensure_object()["items"];
    requirement["properties"].as_object_mut().map(|properties| properties.remove("minValues"));
}
