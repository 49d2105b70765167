//! Nodes for tests.

use super::{labels, pod::PodBuilder, quantity, resources, taint};
use crate::{
    label,
    pod::Role,
    resources::{CPU, MEMORY, PODS},
    snapshot::Node,
    taint::Effect,
};

/// An initialized node with 4 CPUs, 4Gi and room for 110 pods in zone `a`, that belongs to no pool.
pub fn node(name: &str) -> NodeBuilder {
    let room = resources([(CPU, "4"), (MEMORY, "4Gi"), (PODS, "110")]);
    NodeBuilder(Node {
        node: Some(name.to_owned()),
        labels: labels([
            (label::HOSTNAME, name),
            (label::ZONE, "a"),
            (label::ARCH, "amd64"),
            (label::OS, "linux"),
        ]),
        hostname: name.to_owned(),
        allocatable: room.clone(),
        capacity: room,
        initialized: true,
        ..Node::default()
    })
}

/// Builds a [`Node`].
#[derive(Debug, Clone)]
pub struct NodeBuilder(pub(super) Node);

impl NodeBuilder {
    /// Makes it an instance of a pool, with a claim named like the node.
    pub fn pool(mut self, pool: &str) -> Self {
        self.0.pool = Some(pool.to_owned());
        self.0.claim.clone_from(&self.0.node);
        self.label(label::NODE_POOL, pool)
    }

    /// Makes it an instance of a type, on demand.
    pub fn of_type(self, name: &str) -> Self {
        self.label(label::INSTANCE_TYPE, name)
            .label(label::CAPACITY_TYPE, label::CAPACITY_TYPE_ON_DEMAND)
    }

    /// Sets the zone.
    pub fn zone(self, zone: &str) -> Self {
        self.label(label::ZONE, zone)
    }

    /// Adds a label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.0.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Removes a label.
    pub fn without_label(mut self, key: &str) -> Self {
        self.0.labels.remove(key);
        self
    }

    /// Adds a taint.
    pub fn taint(mut self, key: &str, value: &str, effect: Effect) -> Self {
        let taint = taint(key, value, effect);
        self.0.object_taints.push(taint.clone());
        self.0.taints.push(taint);
        self
    }

    /// Sets the amount of a resource, in total and for pods.
    pub fn has(mut self, resource: &str, amount: &str) -> Self {
        self.0.allocatable.set(resource, quantity(amount));
        self.0.capacity.set(resource, quantity(amount));
        self
    }

    /// CPUs it has.
    pub fn cpu(self, amount: &str) -> Self {
        self.has(CPU, amount)
    }

    /// Memory it has.
    pub fn mem(self, amount: &str) -> Self {
        self.has(MEMORY, amount)
    }

    /// Adds a pod that stays on it. Without another role, the pod is running.
    pub fn pod(mut self, pod: PodBuilder) -> Self {
        let pod = if pod.role == Role::Pending { pod.bound() } else { pod };
        self.0.pods.push(pod.build());
        self
    }

    /// How many volumes of a driver it can attach.
    pub fn volume_limit(mut self, driver: &str, count: u32) -> Self {
        self.0.volume_limits.insert(driver.to_owned(), count);
        self
    }

    /// Makes it not ready for pods yet.
    pub fn uninitialized(mut self) -> Self {
        self.0.initialized = false;
        self
    }

    /// Marks it as being removed.
    pub fn leaving(mut self) -> Self {
        self.0.leaving = true;
        self
    }

    /// Makes it a claim without a node.
    pub fn in_flight(mut self) -> Self {
        self.0.claim = self.0.node.take();
        self.uninitialized()
    }

    /// The node.
    pub fn build(self) -> Node {
        self.0
    }
}
