//! What the kubelet is told, as a user writes it.

use std::collections::BTreeMap;

use joiner_core::resources::Resources;
use schemars::JsonSchema;
use serde::Deserialize;

use super::schema;

/// What the kubelet is told, in the words of its own configuration.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Kubelet {
    /// The number of pods of a node, where its size does not say it.
    #[schemars(extend("format" = "int32", "minimum" = null))]
    pub max_pods: Option<u32>,
    /// Pods for each core at most.
    #[schemars(extend("format" = "int32", "minimum" = null))]
    pub pods_per_core: Option<u32>,
    /// Kept for the kubelet and the container runtime.
    #[schemars(schema_with = "schema::quantities")]
    pub kube_reserved: Option<Resources>,
    /// Kept for the operating system.
    #[schemars(schema_with = "schema::quantities")]
    pub system_reserved: Option<Resources>,
    /// Where evictions start, by signal: amounts or shares.
    pub eviction_hard: Option<BTreeMap<String, String>>,
    /// Where evictions start after a while, by signal.
    pub eviction_soft: Option<BTreeMap<String, String>>,
    /// How long that while is, by signal; 2m where nobody says.
    pub eviction_soft_grace_period: Option<BTreeMap<String, String>>,
    /// How many seconds pods have to end when a soft threshold is crossed.
    #[schemars(extend("format" = "int32"))]
    pub eviction_max_pod_grace_period: Option<i32>,
    /// The share of the disk in percent above which images are removed.
    #[serde(rename = "imageGCHighThresholdPercent")]
    #[schemars(extend("format" = "int32"))]
    pub image_gc_high_threshold_percent: Option<i32>,
    /// The share of the disk in percent to which images are removed.
    #[serde(rename = "imageGCLowThresholdPercent")]
    #[schemars(extend("format" = "int32"))]
    pub image_gc_low_threshold_percent: Option<i32>,
    /// Whether limits of CPU are enforced.
    #[serde(rename = "cpuCFSQuota")]
    pub cpu_cfs_quota: Option<bool>,
    /// Addresses of the cluster's name servers.
    #[serde(rename = "clusterDNS")]
    pub cluster_dns: Option<Vec<String>>,
}
