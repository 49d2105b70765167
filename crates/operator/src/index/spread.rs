//! Default topology spread, for pods without constraints.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use joiner_core::{
    label::{self, Labels},
    pod::{InclusionPolicy, PodSpec, SpreadConstraint, WhenUnsatisfiable},
    selector::{LabelSelector, SelectorTerm},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde::Deserialize;

use super::convert;
use crate::objects::Objects;

/// How pods without constraints of their own are spread (`SCHEDULER_CONFIG`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SchedulerConfig {
    /// Constraints without selectors; each pod gets its own.
    defaults: Vec<SpreadConstraint>,
}

/// Why a scheduler configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchedulerConfigError {
    /// Its format is invalid.
    #[error("the scheduler configuration cannot be read: {0}")]
    Form(String),
    /// One of its constraints breaks a rule.
    #[error("podTopologySpread.defaultConstraints[{index}].{field}: {problem}")]
    Constraint {
        /// The index, from 0.
        index: usize,
        /// The field.
        field: &'static str,
        /// The problem and the remedy.
        problem: String,
    },
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct ConfigForm {
    pod_topology_spread: SpreadForm,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct SpreadForm {
    default_constraints: Vec<ConstraintForm>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ConstraintForm {
    max_skew: i32,
    topology_key: String,
    when_unsatisfiable: String,
    min_domains: Option<i32>,
    node_affinity_policy: Option<String>,
    node_taints_policy: Option<String>,
    label_selector: Option<serde_json::Value>,
    match_label_keys: Option<Vec<String>>,
}

impl SchedulerConfig {
    /// Whether it has no constraints.
    pub fn is_empty(&self) -> bool {
        self.defaults.is_empty()
    }

    /// Reads a configuration in YAML or JSON. An empty text means no defaults.
    pub fn parse(text: &str) -> Result<Self, SchedulerConfigError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let options = serde_saphyr::options! { with_snippet: false };
        let form: ConfigForm =
            serde_saphyr::from_str_with_options(text, options).map_err(|error| {
                let text = error.render_with_formatter(&serde_saphyr::UserMessageFormatter);
                SchedulerConfigError::Form(text)
            })?;
        let mut seen = BTreeSet::new();
        let mut defaults = Vec::new();
        for (index, form) in form.pod_topology_spread.default_constraints.into_iter().enumerate() {
            let constraint = constraint(&form).map_err(|(field, problem)| {
                SchedulerConfigError::Constraint { index, field, problem }
            })?;
            let identity = (constraint.topology_key.clone(), constraint.when_unsatisfiable);
            if !seen.insert(identity) {
                let problem = format!(
                    "{} with {} is there twice; remove one",
                    form.topology_key, form.when_unsatisfiable
                );
                let field = "topologyKey";
                return Err(SchedulerConfigError::Constraint { index, field, problem });
            }
            defaults.push(constraint);
        }
        Ok(Self { defaults })
    }
}

fn constraint(form: &ConstraintForm) -> Result<SpreadConstraint, (&'static str, String)> {
    let at = |field, problem: String| Err((field, problem));
    if form.max_skew < 1 {
        return at("maxSkew", format!("is {}; write 1 or more", form.max_skew));
    }
    if !label::is_valid_key(&form.topology_key) {
        return at("topologyKey", format!("{:?} is no label; name one", form.topology_key));
    }
    if let Some(domains) = form.min_domains.filter(|domains| *domains < 1) {
        return at("minDomains", format!("is {domains}; write 1 or more"));
    }
    if form.label_selector.is_some() {
        return at("labelSelector", "must be absent; each pod's own is used".to_owned());
    }
    if form.match_label_keys.is_some() {
        return at("matchLabelKeys", "must be absent; each pod's own labels are used".to_owned());
    }
    let when_unsatisfiable = match form.when_unsatisfiable.as_str() {
        "DoNotSchedule" => WhenUnsatisfiable::DoNotSchedule,
        "ScheduleAnyway" => WhenUnsatisfiable::ScheduleAnyway,
        other => {
            let problem = format!("is {other:?}; use DoNotSchedule or ScheduleAnyway");
            return at("whenUnsatisfiable", problem);
        }
    };
    let policy = |field, text: Option<&str>, default| match text {
        None => Ok(default),
        Some("Honor") => Ok(InclusionPolicy::Honor),
        Some("Ignore") => Ok(InclusionPolicy::Ignore),
        Some(other) => Err((field, format!("is {other:?}; use Honor or Ignore"))),
    };
    let affinity = form.node_affinity_policy.as_deref();
    let taints = form.node_taints_policy.as_deref();
    Ok(SpreadConstraint {
        topology_key: form.topology_key.clone(),
        max_skew: form.max_skew,
        min_domains: form.min_domains,
        when_unsatisfiable,
        selector: None,
        match_label_keys: Vec::new(),
        node_affinity_policy: policy("nodeAffinityPolicy", affinity, InclusionPolicy::Honor)?,
        node_taints_policy: policy("nodeTaintsPolicy", taints, InclusionPolicy::Ignore)?,
    })
}

/// Adds the default constraints to pods, with the selector of their service and workload.
#[derive(Debug)]
pub(super) struct DefaultSpread<'o> {
    defaults: &'o [SpreadConstraint],
    /// Selectors of services, by namespace and in order of name.
    services: BTreeMap<&'o str, Vec<&'o Labels>>,
    /// Selectors of workloads, by namespace, kind and name.
    workloads: HashMap<(&'o str, &'static str, &'o str), Workload<'o>>,
    /// Cached selectors: the pods of one workload share theirs.
    found: RefCell<HashMap<Origin, Option<LabelSelector>>>,
}

/// The inputs of a pod's selector: its namespace, owner and labels.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Origin {
    namespace: String,
    owner: Option<(String, String)>,
    labels: Labels,
}

#[derive(Debug)]
enum Workload<'o> {
    /// Exact labels, which replace those of services.
    Labels(&'o Labels),
    /// A selector, which is added to them.
    Selector(LabelSelector),
}

impl<'o> DefaultSpread<'o> {
    pub(super) fn new(objects: &'o Objects, config: &'o SchedulerConfig) -> Self {
        let mut services: BTreeMap<&str, Vec<(&str, &Labels)>> = BTreeMap::new();
        let mut workloads = HashMap::new();
        if !config.defaults.is_empty() {
            for service in &objects.services {
                let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
                let (namespace, name) = key(&service.metadata);
                if let Some(selector) = selector {
                    services.entry(namespace).or_default().push((name, selector));
                }
            }
            for controller in &objects.replication_controllers {
                let selector = controller.spec.as_ref().and_then(|spec| spec.selector.as_ref());
                let (namespace, name) = key(&controller.metadata);
                if let Some(selector) = selector {
                    let key = (namespace, "ReplicationController", name);
                    workloads.insert(key, Workload::Labels(selector));
                }
            }
            let sets = objects.replica_sets.iter();
            let sets = sets.map(|set| ("ReplicaSet", &set.metadata, &set.spec.selector));
            let stateful = objects.stateful_sets.iter();
            let stateful = stateful.map(|set| ("StatefulSet", &set.metadata, &set.spec.selector));
            for (kind, metadata, selector) in sets.chain(stateful) {
                let (namespace, name) = key(metadata);
                let selector = Workload::Selector(convert::selector(selector));
                workloads.insert((namespace, kind, name), selector);
            }
        }
        let sorted = services.into_iter().map(|(namespace, mut all)| {
            all.sort_unstable_by_key(|(name, _)| *name);
            (namespace, all.into_iter().map(|(_, selector)| selector).collect())
        });
        let found = RefCell::default();
        Self { defaults: &config.defaults, services: sorted.collect(), workloads, found }
    }

    /// Adds the default constraints to a pod without constraints, if a service or a workload
    /// selects it.
    pub(super) fn apply(&self, metadata: &ObjectMeta, spec: &mut PodSpec) {
        if self.defaults.is_empty() || !spec.spread.is_empty() {
            return;
        }
        let owner = controller(metadata);
        let origin = Origin {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            owner: owner.map(|owner| (owner.kind.clone(), owner.name.clone())),
            labels: metadata.labels.clone().unwrap_or_default(),
        };
        let mut found = self.found.borrow_mut();
        let selector = found.entry(origin).or_insert_with_key(|origin| self.selector(origin));
        if let Some(selector) = selector {
            let constraint = |default: &SpreadConstraint| SpreadConstraint {
                selector: Some(selector.clone()),
                ..default.clone()
            };
            spec.spread = self.defaults.iter().map(constraint).collect();
        }
    }

    fn selector(&self, origin: &Origin) -> Option<LabelSelector> {
        let namespace = origin.namespace.as_str();
        let services = self.services.get(namespace).into_iter().flatten();
        let matching = services.filter(|selector| {
            selector.iter().all(|(key, value)| origin.labels.get(key) == Some(value))
        });
        let mut labels: BTreeMap<&String, &String> = BTreeMap::new();
        for selector in matching {
            labels.extend(*selector);
        }
        let owner = origin.owner.as_ref();
        let workload = owner.and_then(|(kind, name)| {
            let kinds = ["ReplicationController", "ReplicaSet", "StatefulSet"];
            let kind = kinds.into_iter().find(|known| known == kind)?;
            self.workloads.get(&(namespace, kind, name.as_str()))
        });
        let mut selector = None;
        match workload {
            Some(Workload::Labels(exact)) => labels.extend(*exact),
            Some(Workload::Selector(own)) => selector = Some(own.clone()),
            None => {}
        }
        let is_empty =
            labels.is_empty() && selector.as_ref().is_none_or(|s| s.keys().next().is_none());
        if is_empty {
            return None;
        }
        let terms = labels
            .into_iter()
            .map(|(key, value)| SelectorTerm::In(key.clone(), BTreeSet::from([value.clone()])));
        Some(terms.fold(selector.unwrap_or_default(), LabelSelector::and))
    }
}

fn key(metadata: &ObjectMeta) -> (&str, &str) {
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    (namespace, metadata.name.as_deref().unwrap_or_default())
}

fn controller(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    let mut owners = metadata.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true))
}

#[cfg(test)]
mod tests;
