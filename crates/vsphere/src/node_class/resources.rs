//! What instances are promised of their hosts, as a user writes it.

use joiner_core::quantity::Quantity;
use schemars::JsonSchema;
use serde::Deserialize;

use super::schema;

/// What instances are promised of their hosts, and how much of it they may take.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(crate) struct HostResources {
    /// What each instance has for certain.
    pub(crate) requests: Option<Amounts>,
    /// What each instance never gets more than.
    pub(crate) limits: Option<Amounts>,
    /// How much of a scarce resource each instance gets, compared with others.
    pub(crate) shares: Option<Shares>,
}

/// Processors and memory of a host.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(crate) struct Amounts {
    /// In hertz, such as 2G.
    #[schemars(schema_with = "schema::int_or_string")]
    pub(crate) cpu: Option<Quantity>,
    /// In bytes, such as 8Gi.
    #[schemars(schema_with = "schema::int_or_string")]
    pub(crate) memory: Option<Quantity>,
}

/// Shares of a host.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(crate) struct Shares {
    /// Of its processors.
    #[schemars(extend("format" = "int32"))]
    pub(crate) cpu: Option<i32>,
    /// Of its memory.
    #[schemars(extend("format" = "int32"))]
    pub(crate) memory: Option<i32>,
}
