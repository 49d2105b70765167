//! Adapters of instances, as a user writes them.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Selector;

/// An adapter of each instance.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Adapter {
    /// The network it is in. That of the first adapter is the zone's or the class's where nobody
    /// says.
    pub(crate) selector: Option<Selector>,
    /// Whether DHCP gives it an address; true where it gets none in another way.
    pub(crate) dhcp4: Option<bool>,
    /// Whether DHCP gives it an IPv6 address.
    pub(crate) dhcp6: Option<bool>,
    /// Pools that each instance gets an address of, for as long as it lives.
    pub(crate) addresses_from_pools: Option<Vec<PoolReference>>,
    /// Addresses of name servers.
    pub(crate) nameservers: Option<Vec<String>>,
    /// Domains that short names are looked for in.
    pub(crate) search_domains: Option<Vec<String>>,
    /// Ways to other networks.
    pub(crate) routes: Option<Vec<Route>>,
    /// The largest packet in bytes.
    #[schemars(extend("format" = "int64"))]
    pub(crate) mtu: Option<i64>,
    /// Its hardware address. Only one instance of the class can be there at a time then.
    pub(crate) mac_addr: Option<String>,
}

/// A pool of addresses: an object that an IPAM provider of Cluster API serves.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PoolReference {
    /// API group, such as `ipam.cluster.x-k8s.io`.
    pub(crate) api_group: Option<String>,
    /// Kind, such as `InClusterIPPool`.
    pub(crate) kind: Option<String>,
    /// Name.
    pub(crate) name: Option<String>,
}

/// A way to another network.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(crate) struct Route {
    /// The network, such as 10.1.0.0/16, or default.
    pub(crate) to: Option<String>,
    /// The address of the next hop.
    pub(crate) via: Option<String>,
    /// The lower, the more it is preferred.
    #[schemars(extend("format" = "int64"))]
    pub(crate) metric: Option<i64>,
}
