//! One aspect of an object's state, as its status reports it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::null;

/// The pattern of a type: a name with an optional DNS domain in front.
const TYPE: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
/// The pattern of a reason: a word for programs.
const REASON: &str = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";

/// One aspect of the object's state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend(
    "required" = ["lastTransitionTime", "message", "reason", "status", "type"]
))]
pub struct Condition {
    /// What the condition is about.
    #[serde(rename = "type", deserialize_with = "null::as_default")]
    #[schemars(extend("maxLength" = 316, "pattern" = TYPE))]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "null::as_default")]
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: String,
    /// When `status` last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// Why it has this status, in one word for programs.
    #[serde(deserialize_with = "null::as_default")]
    #[schemars(extend("minLength" = 1, "maxLength" = 1024, "pattern" = REASON))]
    pub reason: String,
    /// Why it has this status, for people.
    #[serde(deserialize_with = "null::as_default")]
    #[schemars(extend("maxLength" = 32768))]
    pub message: String,
    /// The generation of the object that this is about; older than the object's, it is out of date.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0))]
    pub observed_generation: Option<i64>,
}

impl Condition {
    /// Whether the status is `True`.
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }
}

/// The condition of this type, if it is present.
pub fn find<'c>(conditions: &'c [Condition], type_: &str) -> Option<&'c Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}
