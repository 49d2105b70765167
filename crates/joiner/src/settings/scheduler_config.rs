//! `--scheduler-config`: the topology spread that pods without any of their own get.

use std::collections::BTreeSet;

use joiner_core::pod::{InclusionPolicy, SpreadConstraint, WhenUnsatisfiable};
use serde::Deserialize;

/// The part of kube-scheduler's configuration that Karpenter reads.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct SchedulerConfig {
    pod_topology_spread: PodTopologySpread,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct PodTopologySpread {
    default_constraints: Vec<DefaultConstraint>,
}

/// A spread constraint without a selector: which pods are counted follows from each pod's owner.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DefaultConstraint {
    max_skew: i32,
    topology_key: String,
    when_unsatisfiable: String,
    min_domains: Option<i32>,
    node_affinity_policy: Option<String>,
    node_taints_policy: Option<String>,
    label_selector: Option<serde_json::Value>,
    match_label_keys: Option<Vec<String>>,
}

/// Reads the configuration. No text is no constraints.
pub(super) fn parse(text: &str) -> Result<Vec<SpreadConstraint>, Vec<String>> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let options = serde_saphyr::options! { with_snippet: false };
    let config: SchedulerConfig = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| vec![error.to_string()])?;
    let mut problems = Vec::new();
    let mut constraints = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, raw) in config.pod_topology_spread.default_constraints.iter().enumerate() {
        let mut problem = |field: &str, text: &str| {
            problems.push(format!("podTopologySpread.defaultConstraints[{index}].{field}: {text}"));
        };
        if raw.max_skew <= 0 {
            problem("maxSkew", "must be 1 or more");
        }
        if !is_qualified_name(&raw.topology_key) {
            problem("topologyKey", "must be a label such as topology.kubernetes.io/zone");
        }
        if raw.label_selector.is_some() {
            problem("labelSelector", "must not be given: it follows from each pod's owner");
        }
        if raw.match_label_keys.is_some() {
            problem("matchLabelKeys", "must not be given: there is no selector to add them to");
        }
        if !seen.insert((&raw.topology_key, &raw.when_unsatisfiable)) {
            problem("topologyKey", "is there twice with the same whenUnsatisfiable");
        }
        let when_unsatisfiable = match raw.when_unsatisfiable.as_str() {
            "DoNotSchedule" => WhenUnsatisfiable::DoNotSchedule,
            "ScheduleAnyway" => WhenUnsatisfiable::ScheduleAnyway,
            _ => {
                problem("whenUnsatisfiable", "must be DoNotSchedule or ScheduleAnyway");
                continue;
            }
        };
        let mut policy = |field: &str, given: Option<&str>, default| match given {
            None => default,
            Some("Honor") => InclusionPolicy::Honor,
            Some("Ignore") => InclusionPolicy::Ignore,
            Some(_) => {
                problem(field, "must be Honor or Ignore");
                default
            }
        };
        constraints.push(SpreadConstraint {
            topology_key: raw.topology_key.clone(),
            max_skew: raw.max_skew,
            min_domains: raw.min_domains,
            when_unsatisfiable,
            selector: None,
            match_label_keys: Vec::new(),
            node_affinity_policy: policy(
                "nodeAffinityPolicy",
                raw.node_affinity_policy.as_deref(),
                InclusionPolicy::Honor,
            ),
            node_taints_policy: policy(
                "nodeTaintsPolicy",
                raw.node_taints_policy.as_deref(),
                InclusionPolicy::Ignore,
            ),
        });
    }
    if problems.is_empty() { Ok(constraints) } else { Err(problems) }
}

/// Whether a text can be a label's key: an optional domain, a slash, and a name.
fn is_qualified_name(key: &str) -> bool {
    let (domain, name) = key.split_once('/').map_or((None, key), |(d, n)| (Some(d), n));
    let well_formed = |text: &str, length: usize, inside: &[u8]| {
        let ends = [text.bytes().next(), text.bytes().last()];
        !text.is_empty()
            && text.len() <= length
            && ends.into_iter().flatten().all(|byte| byte.is_ascii_alphanumeric())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || inside.contains(&byte))
    };
    well_formed(name, 63, b"-_.") && domain.is_none_or(|domain| well_formed(domain, 253, b"-."))
}
