//! Devices of hosts, as a user writes them.

use joiner_cloud::scalar::IntOrString;
use schemars::JsonSchema;
use serde::Deserialize;

use super::schema;

/// Shares of graphics cards.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(crate) struct Vgpu {
    /// What a share is, such as `grid_a100-10c`.
    pub(crate) profile: Option<String>,
    /// How many there are; 1 where nobody says.
    #[schemars(extend("format" = "int32"))]
    pub(crate) count: Option<i32>,
}

/// A device of a host.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PciDevice {
    /// Who made it, such as 0x10de.
    #[schemars(schema_with = "schema::int_or_string")]
    pub(crate) vendor_id: Option<IntOrString>,
    /// What it is, such as 0x20b5.
    #[schemars(schema_with = "schema::int_or_string")]
    pub(crate) device_id: Option<IntOrString>,
    /// The label that administrators gave to such devices.
    pub(crate) custom_label: Option<String>,
}
