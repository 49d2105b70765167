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
        Rule::TypeTooSmallAsOffered => "D30",
        Rule::TopologyNowhere => "D33",
        _ => return None,
    })
}

/// What a defect can make that only ever costs Karpenter something.
const COSTS: &[&str] = &["places more pods", "instances", "price"];
/// What a defect can make that lets Karpenter place pods elsewhere, after which anything may
/// follow.
const ANYTHING: &[&str] = &["places fewer pods", "places more pods", "instances", "price"];

/// The first that explains a difference names it, so what is more particular comes first.
const DEFECTS: &[Defect] = &[
    Defect { id: "D1", applies: spreads_that_look_alike, makes: ANYTHING },
    Defect { id: "D2", applies: no_selector, makes: ANYTHING },
    Defect { id: "D3", applies: zone_affinity, makes: &["places more pods"] },
    Defect { id: "D4", applies: domains_without_instances, makes: COSTS },
    Defect { id: "D32", applies: affinity_and_soft_taints, makes: ANYTHING },
    Defect { id: "D5", applies: anti_affinity_out_of_reach, makes: COSTS },
    Defect { id: "D7", applies: daemons_with_alternatives, makes: ANYTHING },
    Defect { id: "D16", applies: overlays_and_overrides, makes: ANYTHING },
    Defect { id: "D30", applies: overrides_of_what_is_there, makes: ANYTHING },
    Defect { id: "D31", applies: spreads_that_are_relaxed, makes: ANYTHING },
    Defect { id: "D33", applies: nodes_without_a_domain, makes: ANYTHING },
    Defect { id: "D34", applies: reserved_and_overrides, makes: ANYTHING },
    Defect { id: "D51", applies: host_spreads_that_run, makes: &["places more pods"] },
    Defect {
        id: "D35",
        applies: demands_on_one_label,
        makes: &[
            "Karpenter breaks a rule",
            "places fewer pods",
            "places more pods",
            "instances",
            "price",
        ],
    },
];

/// The defects that a scenario can show.
pub fn applying(scenario: &Scenario) -> Vec<&'static Defect> {
    DEFECTS.iter().filter(|defect| (defect.applies)(scenario)).collect()
}

const HOSTNAME: &str = "kubernetes.io/hostname";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// A list below an object; empty where there is none.
fn items<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn spreads(pod: &Value) -> &[Value] {
    items(pod, "/spec/topologySpreadConstraints")
}

/// Terms of pod affinity or anti-affinity, required and preferred.
fn terms<'v>(pod: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    let required = items(pod, &format!("/spec/affinity/{field}/{REQUIRED}")).iter();
    let preferred = items(pod, &format!("/spec/affinity/{field}/{PREFERRED}")).iter();
    required.chain(preferred.map(|term| &term["podAffinityTerm"]))
}

fn all_terms(pod: &Value) -> impl Iterator<Item = &Value> {
    terms(pod, "podAffinity").chain(terms(pod, "podAntiAffinity"))
}

fn node_alternatives(spec: &Value) -> usize {
    items(spec, &format!("/affinity/nodeAffinity/{REQUIRED}/nodeSelectorTerms")).len()
}

fn has_soft_taint(scenario: &Scenario) -> bool {
    scenario
        .of_kind("NodePool")
        .flat_map(|pool| items(pool, "/spec/template/spec/taints"))
        .any(|taint| taint["effect"] == "PreferNoSchedule")
}

/// A pod asks twice for the same node label, so that one demand may contradict the other.
fn demands_on_one_label(scenario: &Scenario) -> bool {
    let expressions = |term: &Value| {
        let keys = items(term, "/matchExpressions").iter();
        keys.filter_map(|one| one["key"].as_str()).map(str::to_owned).collect::<Vec<String>>()
    };
    let affinity = |pod: &Value, pointer: &str| -> Vec<Vec<String>> {
        items(pod, &format!("/spec/affinity/nodeAffinity/{pointer}"))
            .iter()
            .map(|term| expressions(term.get("preference").unwrap_or(term)))
            .collect()
    };
    scenario.of_kind("Pod").any(|pod| {
        let selected: Vec<String> = names(&pod["spec"]["nodeSelector"]).cloned().collect();
        let required = affinity(pod, &format!("{REQUIRED}/nodeSelectorTerms"));
        let preferred = affinity(pod, PREFERRED);
        let own: Vec<&String> = selected.iter().chain(required.iter().flatten()).collect();
        let alone = |term: &Vec<String>, others: &[&String]| {
            let mut seen = std::collections::BTreeSet::new();
            term.iter().all(|key| seen.insert(key) && !others.contains(&key))
        };
        let selected: Vec<&String> = selected.iter().collect();
        !(required.iter().all(|term| alone(term, &selected))
            && preferred.iter().all(|term| alone(term, &own)))
    })
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
            let affinity = &pod["spec"]["affinity"]["nodeAffinity"][REQUIRED];
            let whole = format!("{spread} {} {affinity}", pod["spec"]["nodeSelector"]);
            seen.entry(visible).or_insert_with(|| whole.clone()) != &whole
        })
    })
}

/// A constraint without a selector, for which Karpenter counts every pod that runs.
fn no_selector(scenario: &Scenario) -> bool {
    let mut pods = scenario.of_kind("Pod");
    pods.any(|pod| {
        let mut constraints = spreads(pod).iter().chain(all_terms(pod));
        constraints.any(|constraint| constraint.get("labelSelector").is_none())
    })
}

/// Spread over hosts where pods run, so that the host with fewest of them may have some.
fn host_spreads_that_run(scenario: &Scenario) -> bool {
    let runs = scenario.of_kind("Pod").any(|pod| pod["spec"]["nodeName"].is_string());
    let over_hosts = |pod: &Value| spreads(pod).iter().any(|own| own["topologyKey"] == HOSTNAME);
    runs && scenario.of_kind("Pod").any(over_hosts)
}

/// Affinity by anything but the node, for which Karpenter may draw two domains to begin with.
fn zone_affinity(scenario: &Scenario) -> bool {
    let mut pods = scenario.of_kind("Pod");
    pods.any(|pod| terms(pod, "podAffinity").any(|term| term["topologyKey"] != HOSTNAME))
}

/// Daemons with alternative node affinities, of which Karpenter forgets one after the other while
/// it looks at types.
fn daemons_with_alternatives(scenario: &Scenario) -> bool {
    let mut daemons = scenario.of_kind("DaemonSet");
    daemons.any(|daemon| node_alternatives(&daemon["spec"]["template"]["spec"]) > 1)
}

/// Pods whose spread is counted anew once they have given up something that decides which nodes
/// count: an alternative of their node affinity, or their dislike of a soft taint.
fn spreads_that_are_relaxed(scenario: &Scenario) -> bool {
    let soft = has_soft_taint(scenario);
    scenario
        .of_kind("Pod")
        .any(|pod| !spreads(pod).is_empty() && (soft || node_alternatives(&pod["spec"]) > 1))
}

/// Pods with affinities whose domains were decided before they came to tolerate a soft taint.
fn affinity_and_soft_taints(scenario: &Scenario) -> bool {
    let out_of_reach = |term: &Value| is_out_of_reach(scenario, &term["topologyKey"]);
    has_soft_taint(scenario) && scenario.of_kind("Pod").any(|pod| all_terms(pod).any(out_of_reach))
}

/// Whether a pod that tolerates nothing may not reach every domain of a key: there is no pool
/// without taints that leaves the key open.
fn is_out_of_reach(scenario: &Scenario, key: &Value) -> bool {
    let is_open = |pool: &Value| {
        let mut requirements = items(pool, "/spec/template/spec/requirements").iter();
        items(pool, "/spec/template/spec/taints").is_empty()
            && !requirements.any(|requirement| requirement["key"] == *key)
    };
    *key != HOSTNAME && !scenario.of_kind("NodePool").any(is_open)
}

/// A pool names a value of a spread's key that it excludes, or that none of the types has although
/// it is theirs to have.
fn domains_without_instances(scenario: &Scenario) -> bool {
    let keys: Vec<&Value> =
        scenario.of_kind("Pod").flat_map(spreads).map(|spread| &spread["topologyKey"]).collect();
    let offered = |key: &Value| -> Vec<&Value> {
        let requirements = types(scenario).iter().flat_map(|entry| items(entry, "/requirements"));
        let of_key = requirements.filter(|requirement| requirement["key"] == *key);
        of_key.flat_map(|requirement| items(requirement, "/values")).collect()
    };
    let mut requirements = scenario
        .of_kind("NodePool")
        .flat_map(|pool| items(pool, "/spec/template/spec/requirements"))
        .filter(|requirement| keys.contains(&&requirement["key"]));
    requirements.any(|requirement| {
        let offered = offered(&requirement["key"]);
        let ghost = |value: &Value| !offered.is_empty() && !offered.contains(&value);
        requirement["operator"] == "NotIn" || items(requirement, "/values").iter().any(ghost)
    })
}

/// Pods keep away from others by something other than the node, and there are places that Karpenter
/// may not know of when it keeps others away: nodes that no pool made, and pools with taints.
fn anti_affinity_out_of_reach(scenario: &Scenario) -> bool {
    let unmanaged =
        |node: &Value| node["metadata"]["labels"].get("karpenter.sh/nodepool").is_none();
    let static_nodes = scenario.of_kind("Node").any(unmanaged);
    let pointer = format!("/spec/affinity/podAntiAffinity/{REQUIRED}");
    let mut terms = scenario.of_kind("Pod").flat_map(|pod| items(pod, &pointer));
    terms.any(|term| {
        let key = &term["topologyKey"];
        *key != HOSTNAME && (static_nodes || is_out_of_reach(scenario, key))
    })
}

/// A node that is there does not have a label by which pods are spread or drawn together. Karpenter
/// takes two demands on the label that contradict each other for the demand that it be absent.
fn nodes_without_a_domain(scenario: &Scenario) -> bool {
    let keys: Vec<&str> = scenario
        .of_kind("Pod")
        .flat_map(|pod| spreads(pod).iter().chain(all_terms(pod)))
        .filter_map(|constraint| constraint["topologyKey"].as_str())
        .collect();
    scenario.of_kind("Node").chain(scenario.of_kind("NodeClaim")).any(|node| {
        let labels = &node["metadata"]["labels"];
        keys.iter().any(|key| *key != HOSTNAME && labels.get(key).is_none())
    })
}

/// The names of the fields of an object.
fn names(value: &Value) -> impl Iterator<Item = &String> {
    value.as_object().into_iter().flat_map(serde_json::Map::keys)
}

/// The resources of all parts of an overhead.
fn overhead_names(value: &Value) -> Vec<&String> {
    const PARTS: [&str; 3] = ["kubeReserved", "systemReserved", "evictionThreshold"];
    PARTS.iter().flat_map(|part| names(&value["overhead"][*part])).collect()
}

/// Whether an offering says anything about capacity or overhead.
fn overrides(offering: &Value) -> bool {
    names(&offering["capacity"]).next().is_some() || !overhead_names(offering).is_empty()
}

fn types(scenario: &Scenario) -> &[Value] {
    items(&scenario.instance_types, "/instanceTypes")
}

fn offerings(scenario: &Scenario) -> impl Iterator<Item = &Value> {
    types(scenario).iter().flat_map(|entry| items(entry, "/offerings"))
}

/// An offering replaces an amount that its type has, which Karpenter adds to it instead.
fn overrides_of_what_is_there(scenario: &Scenario) -> bool {
    types(scenario).iter().any(|entry| {
        let capacity: Vec<&String> = names(&entry["capacity"]).collect();
        let overhead = overhead_names(entry);
        items(entry, "/offerings").iter().any(|offering| {
            names(&offering["capacity"]).any(|name| capacity.contains(&name))
                || overhead_names(offering).iter().any(|name| overhead.contains(name))
        })
    })
}

/// Overlays, which make Karpenter forget what an offering says of capacity and overhead.
fn overlays_and_overrides(scenario: &Scenario) -> bool {
    scenario.of_kind("NodeOverlay").next().is_some() && offerings(scenario).any(overrides)
}

/// Reserved offerings, which Karpenter holds on to whether or not their own capacity is enough.
fn reserved_and_overrides(scenario: &Scenario) -> bool {
    offerings(scenario).any(overrides)
        && offerings(scenario).any(|offering| offering.get("reservationCapacity").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_checker_knows_karpenter_to_break_has_a_number() {
        for rule in Rule::ALL {
            assert_eq!(of_rule(*rule).is_some(), rule.broken_by_karpenter(), "{rule}");
        }
    }

    #[test]
    fn every_number_is_explained_in_the_documents() {
        let compat = include_str!("../../../docs/compat.md");
        let of_rules = Rule::ALL.iter().filter_map(|rule| of_rule(*rule));
        let outcomes = ["C1", crate::compare::CHANCE, "C3"];
        for id in DEFECTS.iter().map(|defect| defect.id).chain(of_rules).chain(outcomes) {
            assert!(compat.contains(&format!("| {id} |")), "{id} is not in docs/compat.md");
        }
    }
}
