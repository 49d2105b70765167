//! Validation rules of the API server that the types do not enforce.
//!
//! Objects from a live cluster have passed these rules; objects from files may not have. Only the
//! rules that planning depends on are included. Rules that Karpenter checks at run time are not:
//! the index reports them as notes and reasons.

mod karpenter;
mod pod;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use joiner_core::quantity::Quantity;
use k8s_openapi::{
    api::{
        apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet},
        batch::v1::Job,
        core::v1::{
            Namespace, Node, NodeSelector, NodeSelectorRequirement, PersistentVolume,
            PersistentVolumeClaim, Pod, PodTemplate, ReplicationController, Service, Taint,
        },
        policy::v1::PodDisruptionBudget,
        scheduling::v1::PriorityClass,
        storage::v1::{CSINode, StorageClass, VolumeAttachment},
    },
    apimachinery::pkg::{
        api::resource::Quantity as WrittenQuantity, apis::meta::v1::LabelSelector,
    },
};

/// A field that is not as it must be, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invalid {
    /// Path of the field; empty for the whole object.
    pub(crate) field: String,
    /// What is wrong and what to write.
    pub(crate) problem: String,
}

impl Invalid {
    pub(crate) fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }

    /// The same problem, seen from the object around it.
    fn within(mut self, parent: &str) -> Self {
        self.field = if self.field.is_empty() {
            parent.to_owned()
        } else if self.field.starts_with('[') {
            format!("{parent}{}", self.field)
        } else {
            format!("{parent}.{}", self.field)
        };
        self
    }
}

/// Whether an object is fit for planning.
pub(crate) trait Validate {
    /// The first thing that is wrong.
    fn validate(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// Adds the field that a problem was found in.
trait Within {
    fn within(self, parent: &str) -> Self;
}

impl Within for Result<(), Invalid> {
    fn within(self, parent: &str) -> Self {
        self.map_err(|invalid| invalid.within(parent))
    }
}

/// Checks each element of a list.
fn each<'i, T: 'i>(
    list: &str,
    items: impl IntoIterator<Item = &'i T>,
    check: impl Fn(&'i T) -> Result<(), Invalid>,
) -> Result<(), Invalid> {
    for (i, item) in items.into_iter().enumerate() {
        check(item).map_err(|invalid| invalid.within(&format!("[{i}]")).within(list))?;
    }
    Ok(())
}

/// Checks that a word is one of those known.
fn one_of(field: &str, word: &str, known: &[&str]) -> Result<(), Invalid> {
    if known.contains(&word) {
        return Ok(());
    }
    let shown: String = word.chars().take(64).collect();
    Err(Invalid::new(field, format!("is {shown:?}; use {}", known.join(", "))))
}

/// Whether negative amounts make sense.
#[derive(Clone, Copy, PartialEq)]
enum Sign {
    NotNegative,
    Any,
}

fn quantities(
    field: &str,
    amounts: Option<&BTreeMap<String, WrittenQuantity>>,
    sign: Sign,
) -> Result<(), Invalid> {
    for (name, text) in amounts.into_iter().flatten() {
        let amount: Quantity =
            text.0.parse().map_err(|error| Invalid::new(name, format!("{error}")).within(field))?;
        if sign == Sign::NotNegative && amount < Quantity::ZERO {
            let problem = format!("{amount} is below zero; write 0 or more");
            return Err(Invalid::new(name, problem).within(field));
        }
    }
    Ok(())
}

fn taint(taint: &Taint) -> Result<(), Invalid> {
    if taint.key.is_empty() {
        return Err(Invalid::new("key", "is empty; name the taint"));
    }
    one_of("effect", &taint.effect, &["NoSchedule", "PreferNoSchedule", "NoExecute"])
}

fn node_selector(selector: &NodeSelector) -> Result<(), Invalid> {
    each("nodeSelectorTerms", &selector.node_selector_terms, |term| {
        each("matchExpressions", term.match_expressions.iter().flatten(), node_requirement)
    })
}

fn node_requirement(requirement: &NodeSelectorRequirement) -> Result<(), Invalid> {
    if requirement.key.is_empty() {
        return Err(Invalid::new("key", "is empty; name a label"));
    }
    one_of(
        "operator",
        &requirement.operator,
        &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"],
    )
}

fn label_selector(selector: Option<&LabelSelector>) -> Result<(), Invalid> {
    let expressions = selector.iter().flat_map(|s| s.match_expressions.iter().flatten());
    each("matchExpressions", expressions, |expression| {
        one_of("operator", &expression.operator, &["In", "NotIn", "Exists", "DoesNotExist"])?;
        let needs_values = matches!(expression.operator.as_str(), "In" | "NotIn");
        if needs_values && expression.values.as_ref().is_none_or(Vec::is_empty) {
            let problem = format!("is empty; {} needs values", expression.operator);
            return Err(Invalid::new("values", problem));
        }
        Ok(())
    })
}

impl Validate for Pod {
    fn validate(&self) -> Result<(), Invalid> {
        self.spec.as_ref().map_or(Ok(()), pod::spec).within("spec")?;
        self.status.as_ref().map_or(Ok(()), pod::status).within("status")
    }
}

impl Validate for Node {
    fn validate(&self) -> Result<(), Invalid> {
        let taints = self.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
        each("taints", taints, taint).within("spec")?;
        let Some(status) = &self.status else { return Ok(()) };
        quantities("capacity", status.capacity.as_ref(), Sign::Any).within("status")?;
        quantities("allocatable", status.allocatable.as_ref(), Sign::Any).within("status")
    }
}

impl Validate for DaemonSet {
    fn validate(&self) -> Result<(), Invalid> {
        pod::template(Some(&self.spec.template)).within("spec.template")
    }
}

impl Validate for Deployment {
    fn validate(&self) -> Result<(), Invalid> {
        pod::template(Some(&self.spec.template)).within("spec.template")
    }
}

impl Validate for ReplicaSet {
    fn validate(&self) -> Result<(), Invalid> {
        label_selector(Some(&self.spec.selector)).within("spec.selector")?;
        pod::template(self.spec.template.as_ref()).within("spec.template")
    }
}

impl Validate for StatefulSet {
    fn validate(&self) -> Result<(), Invalid> {
        label_selector(Some(&self.spec.selector)).within("spec.selector")?;
        pod::template(Some(&self.spec.template)).within("spec.template")
    }
}

impl Validate for PodTemplate {
    fn validate(&self) -> Result<(), Invalid> {
        pod::template(self.template.as_ref()).within("template")
    }
}

impl Validate for PodDisruptionBudget {
    fn validate(&self) -> Result<(), Invalid> {
        let selector = self.spec.as_ref().and_then(|spec| spec.selector.as_ref());
        label_selector(selector).within("spec.selector")
    }
}

impl Validate for PersistentVolume {
    fn validate(&self) -> Result<(), Invalid> {
        let affinity = self.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref());
        let required = affinity.and_then(|affinity| affinity.required.as_ref());
        required.map_or(Ok(()), node_selector).within("spec.nodeAffinity.required")
    }
}

impl Validate for StorageClass {
    fn validate(&self) -> Result<(), Invalid> {
        let mode = self.volume_binding_mode.as_deref().unwrap_or("Immediate");
        one_of("volumeBindingMode", mode, &["Immediate", "WaitForFirstConsumer"])
    }
}

impl Validate for CSINode {
    fn validate(&self) -> Result<(), Invalid> {
        each("spec.drivers", &self.spec.drivers, |driver| {
            let count = driver.allocatable.as_ref().and_then(|allocatable| allocatable.count);
            if count.is_some_and(|count| count < 0) {
                return Err(Invalid::new("allocatable.count", "is below zero; write 0 or more"));
            }
            Ok(())
        })
    }
}

impl Validate for Namespace {}
impl Validate for Job {}
impl Validate for Service {}
impl Validate for ReplicationController {}
impl Validate for PersistentVolumeClaim {}
impl Validate for VolumeAttachment {}
impl Validate for PriorityClass {}
