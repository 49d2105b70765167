//! `KWOKNodeClass`: how the simulated provider makes its nodes.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{condition::Condition, duration::Duration, null};

/// How simulated nodes are made.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[kube(
    group = "karpenter.kwok.sh",
    version = "v1alpha1",
    kind = "KWOKNodeClass",
    plural = "kwoknodeclasses",
    status = "KWOKNodeClassStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "karpenter",
    shortname = "kwoknc",
    shortname = "kwokncs",
    doc = "How nodes without instances are made, for tests and demonstrations."
)]
#[serde(rename_all = "camelCase")]
pub struct KWOKNodeClassSpec {
    /// How long a node takes to join after its launch, as an instance would to start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_registration_delay: Option<Duration>,
}

/// What has become of the class.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("default" = { "conditions": [{
    "type": "Ready",
    "status": "True",
    "reason": "Ready",
    "message": "",
    "lastTransitionTime": "2024-01-01T01:01:01Z",
}] }))]
pub struct KWOKNodeClassStatus {
    /// Whether the class can be used.
    #[serde(deserialize_with = "null::as_default", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// Written by hand, because a class without a `spec` is valid. Kube's root type accepts a missing field only from a
/// type that is deserialized as an option.
impl<'de> Deserialize<'de> for KWOKNodeClassSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Wire {
            node_registration_delay: Option<Duration>,
        }
        let wire: Wire = null::as_default(deserializer)?;
        Ok(Self { node_registration_delay: wire.node_registration_delay })
    }
}
