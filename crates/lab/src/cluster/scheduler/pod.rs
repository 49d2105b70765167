//! A pod as the scheduler sees it.

use std::{collections::BTreeSet, sync::Arc};

use jiff::Timestamp;
use joiner_apiserver::{Key, Object};
use joiner_core::{
    label::Labels,
    selector::{LabelSelector, SelectorTerm},
    taint::{Toleration, TolerationOperator},
};
use serde_json::Value;

use super::amounts::{CPU_ID, MEMORY_ID, Names, ResourceId};
use crate::cluster::{
    requests,
    selection::{NodeSelection, integer, labels, list, selector, text, texts},
    times::moment,
};

/// Everything about a pod that decides where it may go and what it keeps others from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pod {
    pub(super) key: Key,
    pub(super) uid: Arc<str>,
    pub(super) labels: Labels,
    pub(super) deleting: bool,
    pub(super) created: Timestamp,
    pub(super) priority: i64,
    /// Whether it may push out others.
    pub(super) preempts: bool,
    /// What it asks for, without zeros.
    pub(super) requests: Vec<(ResourceId, i64)>,
    /// Its CPU and memory as scores count them.
    pub(super) weight: [i64; 2],
    pub(super) nodes: NodeSelection,
    pub(super) tolerations: Vec<Toleration>,
    pub(super) ports: Vec<HostPort>,
    pub(super) affinity: Vec<PodTerm>,
    pub(super) anti_affinity: Vec<PodTerm>,
    /// Preferred terms; a weight below zero keeps away.
    pub(super) preferred: Vec<(i64, PodTerm)>,
    pub(super) spread: Vec<Spread>,
    /// The names of its claims for volumes.
    pub(super) claims: Vec<String>,
    pub(super) gated: bool,
    /// The node it waits for, where it has pushed out others.
    pub(super) nominated: Option<String>,
}

/// A port of the node that a pod takes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HostPort {
    pub(super) port: i64,
    pub(super) protocol: String,
    pub(super) address: String,
}

impl HostPort {
    /// Whether both cannot be taken on the same node.
    pub(super) fn conflicts(&self, other: &Self) -> bool {
        let everywhere = |port: &Self| port.address == "0.0.0.0";
        self.port == other.port
            && self.protocol == other.protocol
            && (everywhere(self) || everywhere(other) || self.address == other.address)
    }
}

/// Some pods: those of some namespaces that a selector means.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Scope {
    pub(super) namespaces: BTreeSet<String>,
    /// Further namespaces, by their labels.
    pub(super) namespace_selector: Option<LabelSelector>,
    pub(super) selector: LabelSelector,
}

/// A term of affinity or anti-affinity between pods.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PodTerm {
    pub(super) scope: Scope,
    pub(super) topology_key: String,
}

/// A topology spread constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spread {
    pub(super) scope: Scope,
    pub(super) topology_key: String,
    pub(super) max_skew: i64,
    pub(super) min_domains: usize,
    /// Whether pods stay pending rather than break it.
    pub(super) hard: bool,
    /// Whether nodes that the pod may not be on by label count as domains.
    pub(super) ignores_affinity: bool,
    /// Whether nodes with taints that the pod does not tolerate are left out.
    pub(super) honors_taints: bool,
}

impl Pod {
    /// Reads a pod.
    pub(super) fn read(object: &Object, names: &mut Names) -> Self {
        let value = object.shared();
        let spec = &value["spec"];
        let pod_labels = labels(&value["metadata"]["labels"]);
        let namespace = &*object.key.namespace;
        let of_pods = |field: &str, strength: &str| {
            let terms = list(&spec["affinity"][field][strength]).iter();
            terms.cloned().collect::<Vec<_>>()
        };
        let required = |field: &str| {
            of_pods(field, "requiredDuringSchedulingIgnoredDuringExecution")
                .iter()
                .map(|term| PodTerm::read(term, namespace, &pod_labels))
                .collect()
        };
        let preferred = |field: &str, sign: i64| {
            of_pods(field, "preferredDuringSchedulingIgnoredDuringExecution")
                .iter()
                .map(|term| {
                    let read = PodTerm::read(&term["podAffinityTerm"], namespace, &pod_labels);
                    (sign * integer(&term["weight"]), read)
                })
                .collect::<Vec<_>>()
        };
        let for_scores = names.dense(&requests::of_pod_for_scores(spec));
        let nominated = value["status"]["nominatedNodeName"].as_str();
        Self {
            key: object.key.clone(),
            uid: Arc::clone(&object.uid),
            deleting: object.deleting,
            created: moment(&value["metadata"]["creationTimestamp"]).unwrap_or_default(),
            priority: integer(&spec["priority"]),
            preempts: spec["preemptionPolicy"] != "Never",
            requests: names.sparse(&requests::of_pod(spec)),
            weight: [CPU_ID, MEMORY_ID].map(|id| for_scores.get(id).copied().unwrap_or_default()),
            nodes: NodeSelection::read(spec),
            tolerations: list(&spec["tolerations"]).iter().map(toleration).collect(),
            ports: host_ports(spec),
            affinity: required("podAffinity"),
            anti_affinity: required("podAntiAffinity"),
            preferred: [preferred("podAffinity", 1), preferred("podAntiAffinity", -1)].concat(),
            spread: list(&spec["topologySpreadConstraints"])
                .iter()
                .map(|constraint| Spread::read(constraint, namespace, &pod_labels))
                .collect(),
            claims: claims(&object.key.name, spec),
            gated: !list(&spec["schedulingGates"]).is_empty(),
            nominated: nominated.filter(|name| !name.is_empty()).map(ToOwned::to_owned),
            labels: pod_labels,
        }
    }
}

impl Pod {
    /// Whether this pod and another get the same answer from the same cluster.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.requests == other.requests
            && self.key.namespace == other.key.namespace
            && self.priority == other.priority
            && self.claims == other.claims
            && self.labels == other.labels
            && self.nodes == other.nodes
            && self.tolerations == other.tolerations
            && self.ports == other.ports
            && self.affinity == other.affinity
            && self.anti_affinity == other.anti_affinity
            && self.spread == other.spread
            && self.preempts == other.preempts
            && self.nominated == other.nominated
    }
}

impl PodTerm {
    fn read(value: &Value, namespace: &str, own: &Labels) -> Self {
        let mut selector = selector(&value["labelSelector"]);
        for (key, same) in [("matchLabelKeys", true), ("mismatchLabelKeys", false)] {
            selector = narrowed(selector, &texts(&value[key]), own, same);
        }
        let mut namespaces: BTreeSet<_> = texts(&value["namespaces"]).into_iter().collect();
        let by_label = &value["namespaceSelector"];
        let namespace_selector =
            by_label.is_object().then(|| crate::cluster::selection::selector(by_label));
        if namespaces.is_empty() && namespace_selector.is_none() {
            namespaces.insert(namespace.to_owned());
        }
        let scope = Scope { namespaces, namespace_selector, selector };
        Self { scope, topology_key: text(&value["topologyKey"]) }
    }
}

impl Spread {
    fn read(value: &Value, namespace: &str, own: &Labels) -> Self {
        let selector = selector(&value["labelSelector"]);
        let selector = narrowed(selector, &texts(&value["matchLabelKeys"]), own, true);
        let namespaces = BTreeSet::from([namespace.to_owned()]);
        Self {
            scope: Scope { namespaces, namespace_selector: None, selector },
            topology_key: text(&value["topologyKey"]),
            max_skew: integer(&value["maxSkew"]),
            min_domains: value["minDomains"].as_u64().unwrap_or(1) as usize,
            hard: value["whenUnsatisfiable"] != "ScheduleAnyway",
            ignores_affinity: value["nodeAffinityPolicy"] == "Ignore",
            honors_taints: value["nodeTaintsPolicy"] == "Honor",
        }
    }
}

/// A selector with conditions on the labels of the pod itself: to have the same values, or not to.
/// Keys that the pod does not have are left out.
fn narrowed(selector: LabelSelector, keys: &[String], own: &Labels, same: bool) -> LabelSelector {
    keys.iter().filter_map(|key| Some((key, own.get(key)?))).fold(selector, |sum, (key, value)| {
        let values = BTreeSet::from([value.clone()]);
        sum.and(if same {
            SelectorTerm::In(key.clone(), values)
        } else {
            SelectorTerm::NotIn(key.clone(), values)
        })
    })
}

/// A toleration of a pod.
pub(super) fn toleration(value: &Value) -> Toleration {
    Toleration {
        key: text(&value["key"]),
        operator: match value["operator"].as_str() {
            Some("Exists") => TolerationOperator::Exists,
            Some("Lt") => TolerationOperator::Lt,
            Some("Gt") => TolerationOperator::Gt,
            _ => TolerationOperator::Equal,
        },
        value: text(&value["value"]),
        effect: value["effect"]
            .as_str()
            .filter(|effect| !effect.is_empty())
            .map(|effect| effect.to_owned().into()),
    }
}

/// Ports of the host that containers take. Init containers count only while they run on as
/// sidecars.
fn host_ports(spec: &Value) -> Vec<HostPort> {
    let sidecars =
        list(&spec["initContainers"]).iter().filter(|init| init["restartPolicy"] == "Always");
    let ports = sidecars.chain(list(&spec["containers"])).flat_map(|own| list(&own["ports"]));
    let host_network = spec["hostNetwork"] == true;
    ports
        .filter_map(|port| {
            let number = match integer(&port["hostPort"]) {
                0 if host_network => integer(&port["containerPort"]),
                number => number,
            };
            let or = |field: &str, default: &str| match port[field].as_str() {
                None | Some("") => default.to_owned(),
                Some(value) => value.to_owned(),
            };
            (number > 0).then(|| HostPort {
                port: number,
                protocol: or("protocol", "TCP"),
                address: or("hostIP", "0.0.0.0"),
            })
        })
        .collect()
}

/// The claims of a pod; a claim that is made for the pod alone has the names of both.
pub(crate) fn claims(pod: &str, spec: &Value) -> Vec<String> {
    list(&spec["volumes"])
        .iter()
        .filter_map(|volume| match volume["persistentVolumeClaim"]["claimName"].as_str() {
            Some(claim) => Some(claim.to_owned()),
            None if volume["ephemeral"].is_object() => {
                Some(format!("{pod}-{}", volume["name"].as_str().unwrap_or_default()))
            }
            None => None,
        })
        .collect()
}
