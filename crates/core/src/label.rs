//! Label keys that matter for planning.

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
/// The hostname that the kubelet reports for the node.
pub const HOSTNAME: &str = "kubernetes.io/hostname";

/// Capacity type of reserved capacity, which is already paid for.
pub const CAPACITY_TYPE_RESERVED: &str = "reserved";
/// Capacity type of instances that the cloud may reclaim.
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
/// Annotation that protects a node (`true`), or a pod: always (`true`), or for a duration after its start.
pub const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";
/// Annotation of a pool, or of the namespace of the controller's lease. While it is present, Joiner removes or
/// replaces none of the pool's instances, or none at all. Its text says who wants that, and why.
pub const PAUSE_DISRUPTION: &str = "joiner.sh/pause-disruption";
/// Annotation of a pool: the score that moves of its instances must have, as the policy Balanced computes it. It
/// overrides the pool's policy.
pub const CONSOLIDATION_MIN_SCORE: &str = "joiner.sh/consolidation-min-score";

/// Labels that every provider sets, so a claim may leave them open.
pub const WELL_KNOWN: [&str; 8] =
    [NODE_POOL, ZONE, REGION, INSTANCE_TYPE, ARCH, OS, CAPACITY_TYPE, WINDOWS_BUILD];

/// The domain of Karpenter's labels.
const RESTRICTED_DOMAIN: &str = "karpenter.sh";

/// Converts the beta key of a label to the current one.
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

/// Whether Kubernetes accepts `key` as a label key: a name, with an optional domain and a slash in front.
pub fn is_valid_key(key: &str) -> bool {
    let (domain, name) = match key.split_once('/') {
        Some((domain, name)) => (Some(domain), name),
        None => (None, key),
    };
    domain.is_none_or(is_subdomain) && !name.is_empty() && is_valid_value(name)
}

/// Whether Kubernetes accepts `value` as the value of a label.
pub fn is_valid_value(value: &str) -> bool {
    const MAX: usize = 63;
    value.len() <= MAX
        && (value.is_empty() || is_word(value, |byte| byte.is_ascii_alphanumeric(), b"-_."))
}

fn is_subdomain(domain: &str) -> bool {
    const MAX: usize = 253;
    let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    domain.len() <= MAX && domain.split('.').all(|part| is_word(part, lower, b"-"))
}

/// Whether `text` consists of letters and, between them, characters of `inner`.
fn is_word(text: &str, is_letter: impl Fn(u8) -> bool, inner: &[u8]) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().all(|&byte| is_letter(byte) || inner.contains(&byte))
        && bytes.first().is_some_and(|&byte| is_letter(byte))
        && bytes.last().is_some_and(|&byte| is_letter(byte))
}

/// The keys that a claim may leave open because providers set them, and the domains that only Karpenter and its
/// providers may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WellKnown {
    keys: BTreeSet<Cow<'static, str>>,
    restricted_domains: BTreeSet<Cow<'static, str>>,
}

impl Default for WellKnown {
    fn default() -> Self {
        Self {
            keys: WELL_KNOWN.into_iter().map(Cow::Borrowed).collect(),
            restricted_domains: BTreeSet::from([Cow::Borrowed(RESTRICTED_DOMAIN)]),
        }
    }
}

impl WellKnown {
    /// Karpenter's own keys and the provider's.
    pub fn with(extra: impl IntoIterator<Item = String>) -> Self {
        let mut all = Self::default();
        all.keys.extend(extra.into_iter().map(Cow::Owned));
        all
    }

    /// The same keys. Other keys of the provider's `domains` are restricted.
    pub fn restricting(mut self, domains: impl IntoIterator<Item = String>) -> Self {
        self.restricted_domains.extend(domains.into_iter().map(Cow::Owned));
        self
    }

    /// The keys and domains of both.
    pub fn and(mut self, other: &Self) -> Self {
        self.keys.extend(other.keys.iter().cloned());
        self.restricted_domains.extend(other.restricted_domains.iter().cloned());
        self
    }

    /// Whether `key` is a well-known key.
    pub fn contains(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// All keys in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(AsRef::as_ref)
    }

    /// Whether users may not select on or set `key`: it belongs to Karpenter or the provider, or is the node's
    /// name.
    pub fn is_restricted(&self, key: &str) -> bool {
        if self.contains(key) {
            return false;
        }
        let domain = key.split_once('/').map_or("", |(domain, _)| domain);
        key == HOSTNAME
            || self.restricted_domains.iter().any(|restricted| is_within(domain, restricted))
    }
}

/// Whether `domain` is `parent` or one of its sub-domains.
fn is_within(domain: &str, parent: &str) -> bool {
    domain.strip_suffix(parent).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beta_keys_are_those_in_use() {
        for (beta, stable) in [
            ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
            ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
            ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
            ("beta.kubernetes.io/os", "kubernetes.io/os"),
            ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
            ("example.com/zone", "example.com/zone"),
        ] {
            assert_eq!(normalize(beta), stable);
        }
    }

    #[test]
    fn a_node_class_label_is_group_and_kind_in_lower_case() {
        assert_eq!(
            node_class("karpenter.vsphere.com", "VsphereNodeClass"),
            "karpenter.vsphere.com/vspherenodeclass"
        );
    }

    #[test]
    fn restricted_are_the_own_domains_and_the_node_name() {
        let well_known = WellKnown::with(["karpenter.kwok.sh/instance-cpu".to_owned()])
            .restricting(["karpenter.kwok.sh".to_owned()]);
        for key in [
            "karpenter.sh/initialized",
            "karpenter.sh/registered",
            "karpenter.sh/anything",
            "x.karpenter.sh/anything",
            "a.b.karpenter.sh/anything",
            "karpenter.kwok.sh/instance-disk",
            "x.karpenter.kwok.sh/anything",
            "kubernetes.io/hostname",
        ] {
            assert!(well_known.is_restricted(key), "{key}");
        }
        for key in [
            "karpenter.sh/nodepool",
            "karpenter.sh/capacity-type",
            "karpenter.kwok.sh/instance-cpu",
            "notkarpenter.sh/anything",
            "karpenter.sh.example.com/anything",
            "example.com/karpenter.sh",
            "karpenter.sh",
            "hostname",
            "kubernetes.io/custom",
            "node.kubernetes.io/custom",
            "custom.k8s.io/custom",
            "topology.kubernetes.io/zone",
            "",
        ] {
            assert!(!well_known.is_restricted(key), "{key}");
        }
        assert!(!WellKnown::default().is_restricted("karpenter.kwok.sh/instance-disk"));
    }

    #[test]
    fn keys_and_values_have_kubernetes_syntax() {
        let long = |n: usize| "a".repeat(n);
        for key in
            ["a", "A-b_c.9", "example.com/A", "1.2/3", &long(63), &format!("{}/a", long(253))]
        {
            assert!(is_valid_key(key), "{key}");
        }
        for key in [
            "",
            "/",
            "a/",
            "/a",
            "a/b/c",
            "-a",
            "a-",
            "a b",
            "a=b",
            "ä",
            "Example.com/a",
            "a_b/c",
            "a..b/c",
            ".a/b",
            "a./b",
            "-a/b",
            "a/-b",
            "a\n",
            &long(64),
            &format!("{}/a", long(254)),
        ] {
            assert!(!is_valid_key(key), "{key}");
        }
        for value in ["", "a", "A-b_c.9", "1", &long(63)] {
            assert!(is_valid_value(value), "{value}");
        }
        for value in ["-1", "1-", "a b", "a/b", "ä", ".", " ", "a\n", &long(64)] {
            assert!(!is_valid_value(value), "{value}");
        }
    }
}
