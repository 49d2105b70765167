//! Differences that are known: defects of Karpenter's that Joiner does not share.
//!
//! The numbers are those of docs/compat.md. Whether a defect can be at work is decided by looking
//! at the scenario, never by looking at how the plans differ; what it can explain is listed with
//! it.

use std::collections::BTreeMap;

use joiner_check::Rule;
use serde_json::Value;

use crate::{compare::Difference, scenario::Scenario};

/// A known defect.
#[derive(Debug)]
pub struct Defect {
    /// Its number in docs/compat.md.
    pub id: &'static str,
    /// Whether a scenario can show it.
    applies: fn(&Scenario) -> bool,
    /// The sorts of differences it can make.
    makes: &'static [&'static str],
}

impl Defect {
    /// Whether it can explain a difference.
    pub fn explains(&self, difference: &Difference) -> bool {
        self.makes.contains(&difference.sort())
    }
}

/// Rules that Karpenter's plans break, and the defect behind each. Everything else it breaks must
/// be looked at.
pub fn of_rule(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::SpreadMiscounted => "D1",
        Rule::AffinityBootstrap => "D3",
        Rule::LimitNodes | Rule::LimitInFlight => "D6",
        Rule::PodVolumeWaiting => "D9",
        Rule::VolumeLimitOfType => "D10",
        Rule::MinValuesUnmarked => "D27",
        Rule::RequirementAssumed => "D29",
        _ => return None,
    })
}

const DEFECTS: &[Defect] = &[
    Defect {
        id: "D1",
        applies: spreads_that_look_alike,
        makes: &["places fewer pods", "places more pods", "machines", "price"],
    },
    Defect {
        id: "D2",
        applies: spread_without_selector,
        makes: &["places more pods", "machines", "price"],
    },
    Defect {
        id: "D3",
        applies: zone_affinity_to_self,
        makes: &["places more pods", "machines", "price"],
    },
    Defect {
        id: "D4",
        applies: domains_without_machines,
        makes: &["places more pods", "machines", "price"],
    },
    Defect {
        id: "D5",
        applies: anti_affinity_beside_static_nodes,
        makes: &["places more pods", "machines", "price"],
    },
];

/// The defects that a scenario can show.
pub fn applying(scenario: &Scenario) -> Vec<&'static Defect> {
    DEFECTS.iter().filter(|defect| (defect.applies)(scenario)).collect()
}

const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// A list below an object; empty where there is none.
fn items<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn spreads(pod: &Value) -> &[Value] {
    items(pod, "/spec/topologySpreadConstraints")
}

/// Two pods are spread by constraints that Karpenter cannot tell apart: they differ only in
/// `minDomains`, or in the values of the pods' node selectors and node affinities.
fn spreads_that_look_alike(scenario: &Scenario) -> bool {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    scenario.of_kind("Pod").any(|pod| {
        spreads(pod).iter().any(|spread| {
            let mut visible = spread.clone();
            visible["minDomains"] = Value::Null;
            visible["whenUnsatisfiable"] = Value::Null;
            let visible = format!("{} {visible}", pod["metadata"]["namespace"]);
            let whole = format!(
                "{spread} {} {}",
                pod["spec"]["nodeSelector"], pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]
            );
            seen.entry(visible).or_insert_with(|| whole.clone()) != &whole
        })
    })
}

fn spread_without_selector(scenario: &Scenario) -> bool {
    scenario.of_kind("Pod").flat_map(spreads).any(|spread| spread.get("labelSelector").is_none())
}

fn zone_affinity_to_self(scenario: &Scenario) -> bool {
    scenario.of_kind("Pod").any(|pod| {
        let required = items(pod, &format!("/spec/affinity/podAffinity/{REQUIRED}")).iter();
        let preferred = items(
            pod,
            "/spec/affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution",
        )
        .iter()
        .map(|term| &term["podAffinityTerm"]);
        required.chain(preferred).any(|term| term["topologyKey"] != HOSTNAME)
    })
}

/// A pool names a value of a spread's key that it excludes, or that no type is offered with.
fn domains_without_machines(scenario: &Scenario) -> bool {
    let keys: Vec<&Value> =
        scenario.of_kind("Pod").flat_map(spreads).map(|spread| &spread["topologyKey"]).collect();
    let offered = |key: &Value, value: &Value| {
        items(&scenario.instance_types, "/instanceTypes").iter().any(|entry| {
            items(entry, "/requirements").iter().any(|requirement| {
                requirement["key"] == *key && items(requirement, "/values").contains(value)
            })
        })
    };
    scenario
        .of_kind("NodePool")
        .flat_map(|pool| items(pool, "/spec/template/spec/requirements"))
        .any(|requirement| {
            let key = &requirement["key"];
            keys.contains(&key)
                && (requirement["operator"] == "NotIn"
                    || *key == ZONE
                        && items(requirement, "/values").iter().any(|value| !offered(key, value)))
        })
}

/// Pods keep away from others by something other than the node, and there are nodes that no pool
/// made.
fn anti_affinity_beside_static_nodes(scenario: &Scenario) -> bool {
    let by_zone = scenario.of_kind("Pod").any(|pod| {
        items(pod, &format!("/spec/affinity/podAntiAffinity/{REQUIRED}"))
            .iter()
            .any(|term| term["topologyKey"] != HOSTNAME)
    });
    by_zone
        && scenario
            .of_kind("Node")
            .any(|node| node["metadata"]["labels"].get("karpenter.sh/nodepool").is_none())
}
