//! Converts Kubernetes types to the planner's types.
//!
//! Objects are validated when they are read, so conversion cannot fail. An invalid value that
//! passed is read as its most restrictive meaning.

use std::collections::{BTreeMap, BTreeSet};

use joiner_api::requirement::Requirement;
use joiner_core::{
    label::Labels,
    pod::{
        AffinityTerm, HostPort, InclusionPolicy, NodeTerm, PodSpec, SpreadConstraint, Unread,
        Weighted, WhenUnsatisfiable,
    },
    requirement::{Operator, RequirementSpec},
    resources::Resources,
    selector::{LabelSelector, SelectorTerm},
    taint::{Effect, Taint, Toleration, TolerationOperator},
};
use k8s_openapi::{
    api::core::v1::{self as core, PodAffinityTerm, TopologySpreadConstraint},
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1 as meta},
};

/// Amounts of resources.
pub fn resources(amounts: Option<&BTreeMap<String, Quantity>>) -> Resources {
    amounts
        .into_iter()
        .flatten()
        .map(|(name, amount)| (name.as_str(), amount.0.parse().unwrap_or_default()))
        .collect()
}

/// An operator; one that is not known matches nothing.
fn operator(text: &str) -> Operator {
    text.parse().unwrap_or(Operator::DoesNotExist)
}

/// Requirements of pools, claims and overlays.
pub(crate) fn requirements(requirements: &[Requirement]) -> Vec<RequirementSpec> {
    let spec = |requirement: &Requirement| RequirementSpec {
        key: requirement.key.clone(),
        operator: operator(&requirement.operator),
        values: requirement.values.clone(),
        min_values: requirement.min_values.and_then(|min| u32::try_from(min).ok()),
    };
    requirements.iter().map(spec).collect()
}

/// One term of a node selector.
pub(super) fn node_term(term: &core::NodeSelectorTerm) -> NodeTerm {
    let expression = |requirement: &core::NodeSelectorRequirement| RequirementSpec {
        key: requirement.key.clone(),
        operator: operator(&requirement.operator),
        values: requirement.values.clone().unwrap_or_default(),
        min_values: None,
    };
    NodeTerm {
        expressions: term.match_expressions.iter().flatten().map(expression).collect(),
        has_fields: term.match_fields.as_ref().is_some_and(|fields| !fields.is_empty()),
    }
}

/// A label selector.
pub(crate) fn selector(selector: &meta::LabelSelector) -> LabelSelector {
    let equal = selector
        .match_labels
        .iter()
        .flatten()
        .map(|(key, value)| SelectorTerm::In(key.clone(), BTreeSet::from([value.clone()])));
    let mut terms: Vec<SelectorTerm> = equal.collect();
    for expression in selector.match_expressions.iter().flatten() {
        let key = expression.key.clone();
        let values = || expression.values.iter().flatten().cloned().collect();
        terms.push(match expression.operator.as_str() {
            "In" => SelectorTerm::In(key, values()),
            "NotIn" => SelectorTerm::NotIn(key, values()),
            "Exists" => SelectorTerm::Exists(key),
            "DoesNotExist" => SelectorTerm::DoesNotExist(key),
            _ => return LabelSelector::nothing(),
        });
    }
    LabelSelector::new(terms)
}

/// Taints of a node, a pool or a claim.
pub(crate) fn taints<'t>(taints: impl IntoIterator<Item = &'t core::Taint>) -> Vec<Taint> {
    let taint = |taint: &core::Taint| Taint {
        key: taint.key.clone(),
        value: taint.value.clone().unwrap_or_default(),
        effect: Effect::from(taint.effect.clone()),
    };
    taints.into_iter().map(taint).collect()
}

/// A pod's tolerations.
pub(crate) fn tolerations(spec: &core::PodSpec) -> Vec<Toleration> {
    let toleration = |toleration: &core::Toleration| Toleration {
        key: toleration.key.clone().unwrap_or_default(),
        operator: match toleration.operator.as_deref() {
            Some("Exists") => TolerationOperator::Exists,
            Some("Lt") => TolerationOperator::Lt,
            Some("Gt") => TolerationOperator::Gt,
            _ => TolerationOperator::Equal,
        },
        value: toleration.value.clone().unwrap_or_default(),
        effect: toleration.effect.clone().filter(|effect| !effect.is_empty()).map(Effect::from),
    };
    spec.tolerations.iter().flatten().map(toleration).collect()
}

/// The planner's pod for these requests.
pub(super) fn pod_spec(spec: &core::PodSpec, requests: Resources) -> PodSpec {
    let affinity = spec.affinity.as_ref();
    let node = affinity.and_then(|affinity| affinity.node_affinity.as_ref());
    let near = affinity.and_then(|affinity| affinity.pod_affinity.as_ref());
    let away = affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let required =
        node.and_then(|n| n.required_during_scheduling_ignored_during_execution.as_ref());
    let preferred = node
        .and_then(|n| n.preferred_during_scheduling_ignored_during_execution.as_ref())
        .into_iter()
        .flatten();
    PodSpec {
        requests,
        node_selector: spec.node_selector.clone().unwrap_or_default(),
        node_affinity: node_affinity(required),
        preferred_node_affinity: preferred
            .map(|term| Weighted { weight: term.weight, term: node_term(&term.preference) })
            .collect(),
        affinity: affinity_terms(
            near.and_then(|near| near.required_during_scheduling_ignored_during_execution.as_ref()),
        ),
        preferred_affinity: weighted_affinity_terms(
            near.and_then(|near| {
                near.preferred_during_scheduling_ignored_during_execution.as_ref()
            }),
        ),
        anti_affinity: affinity_terms(
            away.and_then(|away| away.required_during_scheduling_ignored_during_execution.as_ref()),
        ),
        preferred_anti_affinity: weighted_affinity_terms(
            away.and_then(|away| {
                away.preferred_during_scheduling_ignored_during_execution.as_ref()
            }),
        ),
        spread: spec.topology_spread_constraints.iter().flatten().map(spread).collect(),
        tolerations: tolerations(spec),
        host_ports: host_ports(spec),
        uses_dra: uses_dra(spec),
        unread: None,
    }
}

/// The parts of an unread pod that matter: the resources that it uses, and the pods that it repels.
pub(super) fn unread_pod_spec(
    spec: &core::PodSpec,
    requests: Resources,
    unread: Unread,
) -> PodSpec {
    let away = spec.affinity.as_ref().and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    PodSpec {
        requests,
        anti_affinity: affinity_terms(
            away.and_then(|away| away.required_during_scheduling_ignored_during_execution.as_ref()),
        ),
        host_ports: host_ports(spec),
        unread: Some(unread),
        ..PodSpec::default()
    }
}

/// The alternatives of a required node affinity.
pub(super) fn node_affinity(required: Option<&core::NodeSelector>) -> Vec<NodeTerm> {
    required.iter().flat_map(|selector| &selector.node_selector_terms).map(node_term).collect()
}

fn affinity_terms(terms: Option<&Vec<PodAffinityTerm>>) -> Vec<AffinityTerm> {
    terms.into_iter().flatten().map(affinity_term).collect()
}

fn weighted_affinity_terms(
    terms: Option<&Vec<core::WeightedPodAffinityTerm>>,
) -> Vec<Weighted<AffinityTerm>> {
    let weighted = |term: &core::WeightedPodAffinityTerm| Weighted {
        weight: term.weight,
        term: affinity_term(&term.pod_affinity_term),
    };
    terms.into_iter().flatten().map(weighted).collect()
}

fn affinity_term(term: &PodAffinityTerm) -> AffinityTerm {
    AffinityTerm {
        topology_key: term.topology_key.clone(),
        selector: term.label_selector.as_ref().map(selector),
        namespaces: term.namespaces.iter().flatten().cloned().collect(),
        namespace_selector: term.namespace_selector.as_ref().map(selector),
    }
}

/// A spread constraint, with Kubernetes' defaults for unset fields.
pub(super) fn spread(constraint: &TopologySpreadConstraint) -> SpreadConstraint {
    let policy = |text: Option<&str>, default| match text {
        Some("Honor") => InclusionPolicy::Honor,
        Some("Ignore") => InclusionPolicy::Ignore,
        _ => default,
    };
    SpreadConstraint {
        topology_key: constraint.topology_key.clone(),
        max_skew: constraint.max_skew,
        min_domains: constraint.min_domains,
        when_unsatisfiable: match constraint.when_unsatisfiable.as_str() {
            "ScheduleAnyway" => WhenUnsatisfiable::ScheduleAnyway,
            _ => WhenUnsatisfiable::DoNotSchedule,
        },
        selector: constraint.label_selector.as_ref().map(selector),
        match_label_keys: constraint.match_label_keys.clone().unwrap_or_default(),
        node_affinity_policy: policy(
            constraint.node_affinity_policy.as_deref(),
            InclusionPolicy::Honor,
        ),
        node_taints_policy: policy(
            constraint.node_taints_policy.as_deref(),
            InclusionPolicy::Ignore,
        ),
    }
}

/// Host ports.
///
/// COMPAT: upstream reads only `hostPort`, to which the API server copies the ports of pods in the
/// host network. It does not copy them in templates, and files usually lack them.
fn host_ports(spec: &core::PodSpec) -> BTreeSet<HostPort> {
    const EVERY_ADDRESS: &str = "0.0.0.0";
    const DEFAULT_PROTOCOL: &str = "TCP";

    let in_node_network = spec.host_network.unwrap_or_default();
    let host_port = |port: &core::ContainerPort| {
        let implied = in_node_network.then_some(port.container_port);
        let number = port.host_port.or(implied).filter(|number| *number != 0)?;
        let or = |text: &Option<String>, default: &str| match text.as_deref() {
            None | Some("") => default.to_owned(),
            Some(text) => text.to_owned(),
        };
        Some(HostPort {
            ip: or(&port.host_ip, EVERY_ADDRESS),
            port: number,
            protocol: or(&port.protocol, DEFAULT_PROTOCOL),
        })
    };
    let ports = spec.containers.iter().flat_map(|container| container.ports.iter().flatten());
    ports.filter_map(host_port).collect()
}

fn uses_dra(spec: &core::PodSpec) -> bool {
    let is_given = |claims: Option<usize>| claims.is_some_and(|count| count > 0);
    let containers = spec.containers.iter().chain(spec.init_containers.iter().flatten());
    is_given(spec.resource_claims.as_ref().map(Vec::len))
        || containers
            .filter_map(|container| container.resources.as_ref())
            .any(|resources| is_given(resources.claims.as_ref().map(Vec::len)))
}

/// Labels, none if there are none.
pub(super) fn labels(metadata: &meta::ObjectMeta) -> Labels {
    metadata.labels.clone().unwrap_or_default()
}
