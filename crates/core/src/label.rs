//! Label keys that mean something to a node planner.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

/// Labels, or any other small map of strings.
pub type Labels = BTreeMap<String, String>;

/// The pool a node belongs to.
pub const NODE_POOL: &str = "karpenter.sh/nodepool";
/// Set to `true` on a node whose claim has registered it.
pub const REGISTERED: &str = "karpenter.sh/registered";
/// Set to `true` on a node that may take pods.
pub const INITIALIZED: &str = "karpenter.sh/initialized";
/// On-demand, spot or reserved.
pub const CAPACITY_TYPE: &str = "karpenter.sh/capacity-type";
/// Failure domain of a node.
pub const ZONE: &str = "topology.kubernetes.io/zone";
/// Region of a node.
pub const REGION: &str = "topology.kubernetes.io/region";
/// Instance type of a node.
pub const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
/// CPU architecture of a node.
pub const ARCH: &str = "kubernetes.io/arch";
/// Operating system of a node.
pub const OS: &str = "kubernetes.io/os";
/// Windows build of a node.
pub const WINDOWS_BUILD: &str = "node.kubernetes.io/windows-build";
/// The node's own name as the kubelet knows it.
pub const HOSTNAME: &str = "kubernetes.io/hostname";

/// Capacity type of machines that somebody has already paid for.
pub const CAPACITY_TYPE_RESERVED: &str = "reserved";
/// Capacity type that may be taken back.
pub const CAPACITY_TYPE_SPOT: &str = "spot";
/// Capacity type for everything else.
pub const CAPACITY_TYPE_ON_DEMAND: &str = "on-demand";

/// Annotation: hash of the pool's template a claim was made from.
pub const NODE_POOL_HASH: &str = "karpenter.sh/nodepool-hash";
/// Annotation: version of the hash above.
pub const NODE_POOL_HASH_VERSION: &str = "karpenter.sh/nodepool-hash-version";
/// Annotation: whether `BestEffort` lowered a claim's `minValues`.
pub const MIN_VALUES_RELAXED: &str = "karpenter.sh/nodeclaim-min-values-relaxed";
/// Annotation: a `NodeOverlay` changed the price of one of the claim's types.
pub const PRICE_OVERLAY_APPLIED: &str = "karpenter.sh/price-overlay-applied";
/// Annotation: a `NodeOverlay` changed the capacity of one of the claim's types.
pub const CAPACITY_OVERLAY_APPLIED: &str = "karpenter.sh/capacity-overlay-applied";

/// Labels that every provider supplies, so that a claim may leave them open.
pub const WELL_KNOWN: [&str; 8] =
    [NODE_POOL, ZONE, REGION, INSTANCE_TYPE, ARCH, OS, CAPACITY_TYPE, WINDOWS_BUILD];

/// The domain whose labels are Karpenter's own.
const RESTRICTED_DOMAIN: &str = "karpenter.sh";

/// Maps the beta spelling of a label to the one in use.
pub fn normalize(key: &str) -> &str {
    match key {
        "failure-domain.beta.kubernetes.io/zone" => ZONE,
        "failure-domain.beta.kubernetes.io/region" => REGION,
        "beta.kubernetes.io/arch" => ARCH,
        "beta.kubernetes.io/os" => OS,
        "beta.kubernetes.io/instance-type" => INSTANCE_TYPE,
        other => other,
    }
}

/// The label that names a claim's `NodeClass`: `<group>/<kind in lower case>`.
pub fn node_class(group: &str, kind: &str) -> String {
    format!("{group}/{}", kind.to_lowercase())
}

/// Which keys a claim may leave open because the provider will fill them in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WellKnown(BTreeSet<Cow<'static, str>>);

impl Default for WellKnown {
    fn default() -> Self {
        Self(WELL_KNOWN.into_iter().map(Cow::Borrowed).collect())
    }
}

impl WellKnown {
    /// Karpenter's own keys and the provider's.
    pub fn with(extra: impl IntoIterator<Item = String>) -> Self {
        let mut keys = Self::default();
        keys.0.extend(extra.into_iter().map(Cow::Owned));
        keys
    }

    /// Whether `key` is one of them.
    pub fn contains(&self, key: &str) -> bool {
        self.0.contains(key)
    }

    /// All keys in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// Whether a user may not select on or set `key`: it is Karpenter's own, or the node's name.
    pub fn is_restricted(&self, key: &str) -> bool {
        if self.contains(key) {
            return false;
        }
        let domain = key.split_once('/').map_or("", |(domain, _)| domain);
        key == HOSTNAME
            || domain == RESTRICTED_DOMAIN
            || domain.strip_suffix(RESTRICTED_DOMAIN).is_some_and(|rest| rest.ends_with('.'))
    }
}
