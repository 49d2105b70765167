//! Pools for tests.

use super::{quantity, requirement, taint};
use crate::{
    pool::{NodeClassRef, NodePool, Readiness},
    requirement::{Operator, RequirementSpec},
    taint::Effect,
};

/// A ready pool without requirements, taints or limits.
pub fn pool(name: &str) -> PoolBuilder {
    PoolBuilder(NodePool {
        name: name.to_owned(),
        uid: format!("{name}-uid"),
        node_class: NodeClassRef {
            group: "karpenter.test.sh".to_owned(),
            kind: "TestNodeClass".to_owned(),
            name: "default".to_owned(),
        },
        hash: format!("{name}-hash"),
        ..NodePool::default()
    })
}

/// Builds a [`NodePool`].
#[derive(Debug, Clone)]
pub struct PoolBuilder(pub(super) NodePool);

impl PoolBuilder {
    /// Sets the weight.
    pub fn weight(mut self, weight: u32) -> Self {
        self.0.weight = weight;
        self
    }

    /// Adds a label to its instances.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.0.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Adds an annotation to its claims.
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.0.annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Adds a taint to its instances.
    pub fn taint(mut self, key: &str, value: &str, effect: Effect) -> Self {
        self.0.taints.push(taint(key, value, effect));
        self
    }

    /// Adds a startup taint.
    pub fn startup_taint(mut self, key: &str, value: &str, effect: Effect) -> Self {
        self.0.startup_taints.push(taint(key, value, effect));
        self
    }

    /// Adds a requirement.
    pub fn require<const N: usize>(self, key: &str, operator: Operator, values: [&str; N]) -> Self {
        self.requirement(requirement(key, operator, values))
    }

    /// Adds a requirement with `minValues`.
    pub fn min_values<const N: usize>(
        self,
        key: &str,
        operator: Operator,
        values: [&str; N],
        min: u32,
    ) -> Self {
        self.requirement(RequirementSpec {
            min_values: Some(min),
            ..requirement(key, operator, values)
        })
    }

    fn requirement(mut self, requirement: RequirementSpec) -> Self {
        self.0.requirements.push(requirement);
        self
    }

    /// Limits a resource.
    pub fn limit(mut self, resource: &str, amount: &str) -> Self {
        self.0.limits.set(resource, quantity(amount));
        self
    }

    /// Makes it a static pool.
    pub fn fixed(mut self) -> Self {
        self.0.is_static = true;
        self
    }

    /// Sets whether the pool can be used.
    pub fn readiness(mut self, readiness: Readiness) -> Self {
        self.0.readiness = readiness;
        self
    }

    /// The pool.
    pub fn build(self) -> NodePool {
        self.0
    }
}
