//! A scenario: a cluster, the instances on offer, and the settings to plan with.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// An enum of what scenarios can be about, each with the word by which a report knows it.
macro_rules! kinds {
    ($(#[doc = $about:literal])+ $kind:ident { $($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+ }) => {
        $(#[doc = $about])+
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord,
            serde::Serialize, serde::Deserialize,
        )]
        pub enum $kind {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant,)+
        }

        impl $kind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word by which a report knows it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

pub(crate) use kinds;

kinds! {
    /// What a scenario is about. A scenario has one of these, or mixes several.
    ///
    /// The order is the order in which they are applied while a scenario is generated: what is on
    /// offer, then pools, then pods, then instances that exist, then what hangs on both.
    Kind {
    /// Pods of many sizes and nothing else: pure packing.
    Sizes = "sizes",
    /// Instance types that keep some of their capacity for themselves.
    Overhead = "overhead",
    /// Spot that is cheap in some zones and dear in others.
    SpotPrices = "spot-prices",
    /// Offerings that cannot be had.
    UnavailableOfferings = "unavailable-offerings",
    /// Offerings that change the type's capacity or overhead.
    OfferingOverrides = "offering-overrides",
    /// Devices that only some types have.
    ExtendedResources = "extended-resources",
    /// Reserved capacity; pods wait when it is used up.
    Reserved = "reserved",
    /// Reserved capacity; pods take something else when it is used up.
    ReservedFallback = "reserved-fallback",
    /// Several pools with different requirements.
    SeveralPools = "several-pools",
    /// A pool that no instance can be made from: not ready, going away, of fixed size, or asking for
    /// the impossible.
    UnusablePools = "unusable-pools",
    /// Pools of different weight.
    Weights = "weights",
    /// Pools that may not grow beyond an amount of a resource.
    Limits = "limits",
    /// Pools that may not grow beyond a number of nodes.
    NodeLimits = "node-limits",
    /// `minValues` that are refused when they cannot be met.
    MinValuesStrict = "min-values-strict",
    /// `minValues` that are lowered when they cannot be met.
    MinValuesBestEffort = "min-values-best-effort",
    /// Pools with taints, and pods that tolerate some of them.
    Taints = "taints",
    /// Pools with a soft taint.
    PreferNoSchedule = "prefer-no-schedule",
    /// Pools with startup taints.
    StartupTaints = "startup-taints",
    /// Overlays that change prices and capacity.
    Overlays = "overlays",
    /// Node selectors.
    NodeSelector = "node-selector",
    /// One term of required node affinity with every operator.
    NodeAffinity = "node-affinity",
    /// Several terms of required node affinity, the first of which are often impossible.
    NodeAffinityTerms = "node-affinity-terms",
    /// Selectors on labels that nobody may select on.
    RefusedSelectors = "refused-selectors",
    /// Preferred node affinity.
    PreferredNodeAffinity = "preferred-node-affinity",
    /// Preferred pod affinity.
    PreferredAffinity = "preferred-affinity",
    /// Preferred pod anti-affinity.
    PreferredAntiAffinity = "preferred-anti-affinity",
    /// Topology spread that may be violated.
    ScheduleAnyway = "schedule-anyway",
    /// Preferences that are to be looked past.
    IgnorePreferences = "ignore-preferences",
    /// Spread over zones.
    ZoneSpread = "zone-spread",
    /// Spread over nodes.
    HostSpread = "host-spread",
    /// Spread over something else: capacity types, families, racks.
    CustomSpread = "custom-spread",
    /// Spread with `minDomains`.
    SpreadMinDomains = "spread-min-domains",
    /// Spread with `nodeAffinityPolicy` and `nodeTaintsPolicy`.
    SpreadPolicies = "spread-policies",
    /// Spread with `matchLabelKeys`.
    SpreadMatchLabelKeys = "spread-match-label-keys",
    /// Constraints without a label selector.
    NoSelector = "no-selector",
    /// Pods that want to be in one zone with their like.
    ZoneAffinity = "zone-affinity",
    /// Pods that want to be on one node with their like.
    HostAffinity = "host-affinity",
    /// Workloads that each want to be near the next.
    AffinityChain = "affinity-chain",
    /// Pods that want a zone without their like.
    ZoneAntiAffinity = "zone-anti-affinity",
    /// Pods that want a node without their like.
    HostAntiAffinity = "host-anti-affinity",
    /// Affinity across namespaces, by name and by selector.
    AffinityNamespaces = "affinity-namespaces",
    /// Pods that are not to be placed: gated, finished, going away, or asking for devices in a way
    /// that is ignored.
    NotToPlace = "not-to-place",
    /// Init containers and sidecars.
    InitContainers = "init-containers",
    /// Requests on the pod itself.
    PodLevelResources = "pod-level-resources",
    /// Overhead of a runtime class.
    PodOverhead = "pod-overhead",
    /// Initialized nodes of a pool, with pods on them.
    ExistingNodes = "existing-nodes",
    /// Registered nodes that are not initialized yet.
    UninitializedNodes = "uninitialized-nodes",
    /// Claims that are launched and have no node yet.
    InFlightClaims = "in-flight-claims",
    /// Nodes of no pool.
    UnmanagedNodes = "unmanaged-nodes",
    /// Nodes that are going away, whose pods move.
    LeavingNodes = "leaving-nodes",
    /// Daemon sets.
    DaemonSets = "daemon-sets",
    /// Ports on the node itself.
    HostPorts = "host-ports",
    /// Volumes that exist in one zone or two.
    BoundVolumes = "bound-volumes",
    /// Volumes that come into being where their pod goes.
    WaitingVolumes = "waiting-volumes",
    /// Nodes that cannot attach many volumes.
    VolumeLimits = "volume-limits",
    }
}

/// A cluster, the instances on offer, and the settings to plan with.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The seed it was generated from.
    pub seed: u64,
    /// What it is about.
    pub kinds: BTreeSet<Kind>,
    /// Kubernetes objects.
    pub objects: Vec<Value>,
    /// An instance type file.
    pub instance_types: Value,
    /// Settings by the name of their flag, without dashes.
    pub flags: BTreeMap<String, Value>,
}

impl Scenario {
    /// The kinds it mixes, as one word.
    pub fn name(&self) -> String {
        self.kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join("+")
    }

    /// The objects of one kind (of Kubernetes').
    pub fn of_kind<'s>(&'s self, kind: &'s str) -> impl Iterator<Item = &'s Value> {
        self.objects.iter().filter(move |object| object["kind"] == kind)
    }

    /// Whether a flag is set to `value`, given as text.
    pub fn flag_is(&self, flag: &str, value: &str) -> bool {
        self.flags
            .get(flag)
            .is_some_and(|set| set.as_str().map_or_else(|| set.to_string(), str::to_owned) == value)
    }
}
