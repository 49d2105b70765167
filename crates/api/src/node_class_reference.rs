//! How pools and claims name their `NodeClass`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    null,
    schema::{self, Rule},
};

/// The object that tells the provider how to make nodes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["group", "kind", "name"]))]
pub struct NodeClassReference {
    /// API group of the object, without a version.
    #[serde(deserialize_with = "null::as_default")]
    #[schemars(extend(
        "pattern" = "^[^/]*$",
        "x-kubernetes-validations" = schema::validations(&[&GROUP]),
    ))]
    pub group: String,
    /// Kind of the object.
    #[serde(deserialize_with = "null::as_default")]
    #[schemars(extend("x-kubernetes-validations" = schema::validations(&[&KIND])))]
    pub kind: String,
    /// Name of the object.
    #[serde(deserialize_with = "null::as_default")]
    #[schemars(extend("x-kubernetes-validations" = schema::validations(&[&NAME])))]
    pub name: String,
}

const GROUP: Rule = Rule { message: "group may not be empty", rule: "self != ''" };
const KIND: Rule = Rule { message: "kind may not be empty", rule: "self != ''" };
const NAME: Rule = Rule { message: "name may not be empty", rule: "self != ''" };
