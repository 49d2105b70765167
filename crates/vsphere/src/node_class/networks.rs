//! Adapters of instances, as a user writes them.

use joiner_cloud::bootstrap::network::{self, PoolReference, Route};
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

impl Adapter {
    /// What it says about the guest's network.
    pub(crate) fn settings(&self) -> network::Adapter<'_> {
        network::Adapter {
            dhcp4: self.dhcp4,
            dhcp6: self.dhcp6,
            pools: self.addresses_from_pools.as_deref().unwrap_or_default(),
            nameservers: self.nameservers.as_deref().unwrap_or_default(),
            search_domains: self.search_domains.as_deref().unwrap_or_default(),
            routes: self.routes.as_deref().unwrap_or_default(),
            mtu: self.mtu,
            mac: self.mac_addr.as_deref(),
        }
    }
}
