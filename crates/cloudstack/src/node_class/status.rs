//! What was found out about a class, as its status says it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Objects of each kind that a status lists at most. The whole lists stay in memory.
pub(crate) const STATUS_MAX: usize = 100;

/// The fields of the status besides the conditions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResolvedStatus {
    /// The networks that its selector finds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<StatusNetwork>,
    /// The service offerings that its selector finds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub service_offerings: Vec<StatusOffering>,
    /// The templates that its selector finds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub templates: Vec<StatusTemplate>,
    /// Id of its first zone.
    #[serde(rename = "zoneID", skip_serializing_if = "Option::is_none")]
    pub zone_id: Option<String>,
    /// Id of its disk offering.
    #[serde(rename = "diskOfferingID", skip_serializing_if = "Option::is_none")]
    pub disk_offering_id: Option<String>,
    /// Whose objects were seen: a fingerprint of address, account and project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The version of Kubernetes that instances join.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
}

/// A network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["id", "name", "zone"]))]
pub struct StatusNetwork {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Name of its zone.
    pub zone: String,
    /// Isolated, Shared or L2.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether an instance can be in it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_use_for_deploy: Option<bool>,
}

/// A service offering.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["cpuNumber", "id", "memory", "name"]))]
pub struct StatusOffering {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// CPUs; 0 where each instance says it.
    #[serde(rename = "cpuNumber")]
    #[schemars(extend("format" = null))]
    pub cpus: i64,
    /// MHz of each CPU.
    #[serde(rename = "cpuSpeed", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = null))]
    pub cpu_mhz: Option<i64>,
    /// Memory in MiB; 0 where each instance says it.
    #[serde(rename = "memory")]
    #[schemars(extend("format" = null))]
    pub memory_mib: i64,
    /// The network's rate in Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = null))]
    pub network_rate: Option<i64>,
    /// Size of the root disk in GiB, where it is known.
    #[serde(rename = "rootDiskGiB", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = null))]
    pub root_disk_gib: Option<i64>,
    /// Names of the zones that have it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// What its operators say an hour of it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = null))]
    pub price: Option<f64>,
    /// Its graphics cards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<StatusGpu>,
    /// Whether each instance says its own size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customized: Option<bool>,
}

/// Graphics cards of a service offering.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["count", "name"]))]
pub struct StatusGpu {
    /// What CloudStack calls the card.
    pub name: String,
    /// How many.
    #[schemars(extend("format" = null))]
    pub count: i64,
}

/// A template in one zone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["id", "name", "zone"]))]
pub struct StatusTemplate {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its operating system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_type: Option<String>,
    /// Name of its zone.
    pub zone: String,
    /// Its architecture, in Kubernetes' word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// Size of its disk in GiB.
    #[serde(rename = "sizeGiB", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = null))]
    pub size_gib: Option<i64>,
}
