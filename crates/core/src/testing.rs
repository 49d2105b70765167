//! Builders for snapshots in tests.
//!
//! Every builder starts from a valid object, so a test mentions only what it is about:
//!
//! ```
//! # use joiner_core::testing::*;
//! let snapshot = snapshot()
//!     .pool(pool("general"), [instance_type("small").cpu("2").mem("4Gi").price(0.1)])
//!     .pod(pod("web").cpu("1").label("app", "web"))
//!     .build();
//! ```

mod fake;
mod fleet;
mod instance_type;
mod node;
mod pod;
mod pool;
pub mod rng;

use std::{collections::BTreeSet, sync::Arc};

pub use self::{
    fake::{
        fake_default_instance_types, fake_instance_type, fake_instance_types,
        fake_instance_types_assorted,
    },
    fleet::{FleetBuilder, budget, budget_at, budget_for, fleet, minutes, now},
    instance_type::{TypeBuilder, instance_type, offering},
    node::{NodeBuilder, node},
    pod::{PodBuilder, pod},
    pool::{PoolBuilder, pool},
};
use crate::{
    instance_type::InstanceType,
    label::{Labels, WellKnown},
    pod::{AffinityTerm, InclusionPolicy, Pod, SpreadConstraint, WhenUnsatisfiable},
    quantity::Quantity,
    requirement::{Operator, RequirementSpec},
    resources::Resources,
    selector::{LabelSelector, SelectorTerm},
    snapshot::Snapshot,
    taint::{Effect, Taint},
};

/// The label that identifies reservations in test catalogs.
pub const RESERVATION_ID: &str = "karpenter.test.sh/reservation-id";
/// Labels of the fake types besides Karpenter's own.
pub const FAKE_LABELS: [&str; 3] = ["size", "special", "integer"];
/// A device of the fake types.
pub const GPU_VENDOR_A: &str = "fake.com/vendor-a";
/// Another device of the fake types.
pub const GPU_VENDOR_B: &str = "fake.com/vendor-b";

/// A quantity from its text.
pub fn quantity(text: &str) -> Quantity {
    text.parse().expect("a quantity in a test is valid")
}

/// Resources from names and quantities.
pub fn resources<const N: usize>(amounts: [(&str, &str); N]) -> Resources {
    amounts.into_iter().map(|(name, amount)| (name, quantity(amount))).collect()
}

/// Labels from pairs.
pub fn labels<const N: usize>(pairs: [(&str, &str); N]) -> Labels {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// A selector on exact label values.
pub fn selector<const N: usize>(pairs: [(&str, &str); N]) -> LabelSelector {
    LabelSelector::new(
        pairs
            .into_iter()
            .map(|(key, value)| SelectorTerm::In(key.into(), [value.to_owned()].into())),
    )
}

/// A requirement as the API writes it.
pub fn requirement<const N: usize>(
    key: &str,
    operator: Operator,
    values: [&str; N],
) -> RequirementSpec {
    RequirementSpec::new(key, operator, values)
}

/// A taint.
pub fn taint(key: &str, value: &str, effect: Effect) -> Taint {
    Taint { key: key.to_owned(), value: value.to_owned(), effect }
}

/// A term of affinity or anti-affinity to pods of the same namespace.
pub fn affinity_term(topology_key: &str, selector: LabelSelector) -> AffinityTerm {
    AffinityTerm {
        topology_key: topology_key.to_owned(),
        selector: Some(selector),
        namespaces: BTreeSet::new(),
        namespace_selector: None,
    }
}

/// A hard spread constraint with Kubernetes' defaults.
pub fn spread_constraint(
    topology_key: &str,
    max_skew: i32,
    selector: LabelSelector,
) -> SpreadConstraint {
    SpreadConstraint {
        topology_key: topology_key.to_owned(),
        max_skew,
        min_domains: None,
        when_unsatisfiable: WhenUnsatisfiable::DoNotSchedule,
        selector: Some(selector),
        match_label_keys: Vec::new(),
        node_affinity_policy: InclusionPolicy::Honor,
        node_taints_policy: InclusionPolicy::Ignore,
    }
}

/// An empty cluster. Its well-known labels include those of the fake types.
pub fn snapshot() -> SnapshotBuilder {
    let mut snapshot = Snapshot::default();
    snapshot.namespaces.insert("default".to_owned(), Labels::new());
    snapshot.catalog.well_known =
        WellKnown::with(FAKE_LABELS.into_iter().chain([RESERVATION_ID]).map(str::to_owned));
    snapshot.catalog.reservation_id_label = Some(RESERVATION_ID.to_owned());
    SnapshotBuilder(snapshot)
}

/// Builds a [`Snapshot`].
#[derive(Debug, Clone)]
pub struct SnapshotBuilder(Snapshot);

impl SnapshotBuilder {
    /// Adds a pool and its types.
    pub fn pool<T: Into<InstanceType>>(
        mut self,
        pool: PoolBuilder,
        types: impl IntoIterator<Item = T>,
    ) -> Self {
        let types = types.into_iter().map(|each| Arc::new(each.into())).collect();
        self.0.catalog.by_pool.insert(pool.0.name.clone(), types);
        self.0.pools.push(pool.0);
        self
    }

    /// Adds an instance that exists or was launched.
    pub fn node(mut self, node: NodeBuilder) -> Self {
        self.0.nodes.push(node.0);
        self
    }

    /// Adds a pod to place.
    pub fn pod(mut self, pod: impl Into<Pod>) -> Self {
        self.0.pods.push(pod.into());
        self
    }

    /// Adds pods to place.
    pub fn pods<P: Into<Pod>>(mut self, pods: impl IntoIterator<Item = P>) -> Self {
        self.0.pods.extend(pods.into_iter().map(Into::into));
        self
    }

    /// Adds a DaemonSet, given by its pod.
    pub fn daemon(mut self, pod: PodBuilder) -> Self {
        self.0.daemons.push(pod.daemon());
        self
    }

    /// Adds a namespace.
    pub fn namespace<const N: usize>(mut self, name: &str, pairs: [(&str, &str); N]) -> Self {
        self.0.namespaces.insert(name.to_owned(), labels(pairs));
        self
    }

    /// The snapshot.
    pub fn build(self) -> Snapshot {
        self.0
    }
}
