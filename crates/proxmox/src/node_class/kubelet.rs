//! What the kubelet is told, as a user writes it.

use joiner_api::duration::Duration;
use schemars::JsonSchema;
use serde::Deserialize;

/// What the kubelet is told, in the words of its own configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeletConfiguration {
    /// How containers get CPUs.
    #[schemars(extend("enum" = ["none", "static"]))]
    pub cpu_manager_policy: Option<String>,
    /// Whether limits of CPU are enforced.
    #[serde(rename = "cpuCFSQuota")]
    pub cpu_cfs_quota: Option<bool>,
    /// In which steps they are enforced: from 1ms to 1s.
    #[serde(rename = "cpuCFSQuotaPeriod")]
    #[schemars(extend("pattern" = null))]
    pub cpu_cfs_quota_period: Option<Duration>,
    /// How containers are kept within one NUMA node.
    #[schemars(extend("enum" = ["restricted", "best-effort", "none", "single-numa-node"]))]
    pub topology_manager_policy: Option<String>,
    /// Whether that is decided for each container or for whole pods.
    #[schemars(extend("enum" = ["container", "pod"]))]
    pub topology_manager_scope: Option<String>,
    /// The share of the disk in percent above which images are removed.
    #[serde(rename = "imageGCHighThresholdPercent")]
    #[schemars(extend("minimum" = 0, "maximum" = 100))]
    pub image_gc_high_threshold_percent: Option<i32>,
    /// The share of the disk in percent to which images are removed.
    #[serde(rename = "imageGCLowThresholdPercent")]
    #[schemars(extend("minimum" = 0, "maximum" = 100))]
    pub image_gc_low_threshold_percent: Option<i32>,
    /// How long pods may take to end when the node shuts down.
    #[schemars(extend("pattern" = null))]
    pub shutdown_grace_period: Option<Duration>,
    /// Kernel settings that pods may change although they can harm others.
    pub allowed_unsafe_sysctls: Option<Vec<String>>,
    /// Addresses of the cluster's name servers.
    #[serde(rename = "clusterDNS")]
    #[schemars(extend("maxItems" = 3))]
    pub cluster_dns: Option<Vec<String>>,
    /// Pods that a node takes at most.
    #[schemars(extend("minimum" = 10, "maximum" = 250))]
    pub max_pods: Option<i32>,
    /// Whether the kubelet refuses to start on a node that swaps.
    pub fail_swap_on: Option<bool>,
}
