//! Conditions on the labels of a node.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    null,
    schema::{self, Rule},
};

/// One condition on a label.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["key", "operator"]))]
pub struct Requirement {
    /// The label in question.
    #[serde(deserialize_with = "null::as_default")]
    #[schemars(extend(
        "maxLength" = 316,
        "pattern" = schema::QUALIFIED_NAME,
        "x-kubernetes-validations" = schema::validations(&[&OWN_DOMAIN, &HOSTNAME]),
    ))]
    pub key: String,
    /// How the label's value relates to `values`.
    #[serde(deserialize_with = "null::as_default")]
    #[schemars(extend("enum" = OPERATORS))]
    pub operator: String,
    /// What the label is compared with: any number of values for `In` and `NotIn`, none for
    /// `Exists` and `DoesNotExist`, and one whole number for `Gt`, `Gte`, `Lt` and `Lte`.
    // COMPAT: upstream puts the rules for a label value on the list, where the API server ignores them. They stay
    // there, or objects would be rejected that upstream accepts.
    #[serde(deserialize_with = "null::as_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend(
        "x-kubernetes-list-type" = "atomic",
        "maxLength" = 63,
        "pattern" = schema::LABEL_VALUE,
    ))]
    pub values: Vec<String>,
    /// How many different values must remain possible, so that there is something to choose from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1, "maximum" = 50, "format" = null))]
    pub min_values: Option<i64>,
}

const OPERATORS: [&str; 8] = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"];

/// For a key: Karpenter's own labels are not allowed, with two exceptions.
pub(crate) const OWN_DOMAIN: Rule = Rule {
    message: r#"label domain "karpenter.sh" is restricted"#,
    rule: r#"self in ["karpenter.sh/capacity-type", "karpenter.sh/nodepool"] || !self.find("^([^/]+)").endsWith("karpenter.sh")"#,
};
/// For a key: the label of the pool is not allowed.
pub(crate) const NODE_POOL: Rule = Rule {
    message: r#"label "karpenter.sh/nodepool" is restricted"#,
    rule: r#"self != "karpenter.sh/nodepool""#,
};
/// For a key: the node's name is not allowed.
pub(crate) const HOSTNAME: Rule = Rule {
    message: r#"label "kubernetes.io/hostname" is restricted"#,
    rule: r#"self != "kubernetes.io/hostname""#,
};
/// For a list: `In` needs values.
pub(crate) const IN_VALUES: Rule = Rule {
    message: "requirements with operator 'In' must have a value defined",
    rule: "self.all(x, x.operator == 'In' ? x.values.size() != 0 : true)",
};
/// For a list: a bound is one whole number.
pub(crate) const BOUND_VALUE: Rule = Rule {
    message: "requirements operator 'Gt', 'Lt', 'Gte', or 'Lte' must have a single positive integer value",
    rule: "self.all(x, (x.operator == 'Gt' || x.operator == 'Lt' || x.operator == 'Gte' || x.operator == 'Lte') ? (x.values.size() == 1 && int(x.values[0]) >= 0) : true)",
};
/// For a list: `minValues` must not exceed the number of values.
const MIN_VALUES: Rule = Rule {
    message: "requirements with 'minValues' must have at least that many values specified in the 'values' field",
    rule: "self.all(x, (x.operator == 'In' && has(x.minValues)) ? x.values.size() >= x.minValues : true)",
};

/// The rules for a list of requirements of a pool or a claim.
pub(crate) fn list_validations() -> Value {
    schema::validations(&[&IN_VALUES, &BOUND_VALUE, &MIN_VALUES])
}
