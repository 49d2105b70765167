//! Pods, with the fields that scheduling needs.

use std::{
    collections::BTreeSet,
    fmt::{self, Display, Formatter},
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use crate::{
    label::Labels,
    requirement::{RequirementSpec, Requirements},
    resources::{CPU, MEMORY, Resources},
    selector::{LabelSelector, SelectorTerm},
    taint::Toleration,
};

/// A pod. Fields that pods of one workload share are behind an `Arc`, so that a hundred thousand pods need little
/// memory.
#[derive(Debug, Clone)]
pub struct Pod {
    /// Namespace.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Box<str>,
    /// Orders pods of equal size and age.
    pub uid: Box<str>,
    /// Seconds since 1970; pods without a creation time come first.
    pub created: i64,
    /// Labels.
    pub labels: Arc<Labels>,
    /// Requests and constraints.
    pub spec: Arc<PodSpec>,
    /// The claims it mounts.
    pub volumes: Arc<PodVolumes>,
    /// Why the pod is in the snapshot.
    pub role: Role,
}

/// Why a pod is in a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// It is pending.
    Pending,
    /// It runs on a node that is being removed, and needs another place.
    Moving,
    /// It stands for spare capacity of a `CapacityBuffer`, so real pods go first.
    Buffer,
    /// It stays on its node.
    Bound {
        /// `namespace/name` of the `DaemonSet` it belongs to.
        daemon_set: Option<Arc<str>>,
        /// Terminating pods use resources, but no longer count for spread and affinity.
        terminating: bool,
    },
}

/// The requests and constraints of a pod. They are equal for pods of one workload.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct PodSpec {
    /// Effective requests, `pods: 1` included.
    pub requests: Resources,
    /// Labels the node must have.
    pub node_selector: Labels,
    /// Required node affinity: any one of the terms.
    pub node_affinity: Vec<NodeTerm>,
    /// Preferred node affinity.
    pub preferred_node_affinity: Vec<Weighted<NodeTerm>>,
    /// Required pod affinity: all of the terms.
    pub affinity: Vec<AffinityTerm>,
    /// Preferred pod affinity.
    pub preferred_affinity: Vec<Weighted<AffinityTerm>>,
    /// Required pod anti-affinity: all of the terms.
    pub anti_affinity: Vec<AffinityTerm>,
    /// Preferred pod anti-affinity.
    pub preferred_anti_affinity: Vec<Weighted<AffinityTerm>>,
    /// Topology spread, `matchLabelKeys` not yet applied.
    pub spread: Vec<SpreadConstraint>,
    /// The tolerated taints.
    pub tolerations: Vec<Toleration>,
    /// The ports it uses on its node.
    pub host_ports: BTreeSet<HostPort>,
    /// Whether it requests devices through Dynamic Resource Allocation.
    pub uses_dra: bool,
    /// Set if its lists were not read, so its constraints are unknown and it is not placed. For a pod that stays on
    /// its node, constraints that affect other pods are still present.
    pub unread: Option<Unread>,
}

/// Why the lists of a pod were not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Unread {
    /// The number of entries in its lists.
    pub entries: usize,
    /// The most entries that are read of all pods with such long lists.
    pub max: usize,
}

/// One alternative of a required node affinity.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct NodeTerm {
    /// All must be satisfied.
    pub expressions: Vec<RequirementSpec>,
    /// Whether the term also selects nodes by field, which a new node cannot promise.
    pub has_fields: bool,
}

/// A preference.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Weighted<T> {
    /// 1 to 100.
    pub weight: i32,
    /// The preferred term.
    pub term: T,
}

/// One term of pod affinity or anti-affinity.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AffinityTerm {
    /// The node label whose value is the domain.
    pub topology_key: String,
    /// The selected pods; `None` selects none.
    pub selector: Option<LabelSelector>,
    /// Namespaces by name.
    pub namespaces: BTreeSet<String>,
    /// Namespaces by label, in addition to the named ones. With neither, only the pod's own namespace.
    pub namespace_selector: Option<LabelSelector>,
}

/// The reaction if pods cannot be spread evenly enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WhenUnsatisfiable {
    /// Leave the pod pending.
    DoNotSchedule,
    /// Place it anyway.
    ScheduleAnyway,
}

/// Whether nodes that the pod cannot use count for spreading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InclusionPolicy {
    /// They do not count.
    Honor,
    /// They count like any other.
    Ignore,
}

/// One topology spread constraint.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpreadConstraint {
    /// The node label whose value is the domain.
    pub topology_key: String,
    /// The largest difference of counts between domains.
    pub max_skew: i32,
    /// With fewer domains than this, the lowest count is taken as 0.
    pub min_domains: Option<i32>,
    /// Hard or soft.
    pub when_unsatisfiable: WhenUnsatisfiable,
    /// The counted pods; `None` counts none.
    pub selector: Option<LabelSelector>,
    /// Labels whose values on the pod itself narrow the selector.
    pub match_label_keys: Vec<String>,
    /// Nodes that the pod's node affinity refuses.
    pub node_affinity_policy: InclusionPolicy,
    /// Nodes whose taints the pod does not tolerate.
    pub node_taints_policy: InclusionPolicy,
}

/// A port of the node itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPort {
    /// `0.0.0.0`, `::` or the empty text is every address.
    pub ip: String,
    /// Port number.
    pub port: i32,
    /// TCP, UDP or SCTP.
    pub protocol: String,
}

impl HostPort {
    /// Whether two pods with these ports cannot run on one node.
    pub fn conflicts(&self, other: &Self) -> bool {
        if self.port != other.port || self.protocol != other.protocol {
            return false;
        }
        let (ours, theirs) = (self.address(), other.address());
        let everywhere = |ip: &Result<IpAddr, &str>| ip.is_ok_and(|ip| ip.is_unspecified());
        ours == theirs || everywhere(&ours) || everywhere(&theirs)
    }

    /// The parsed address, or the text if it cannot be parsed.
    pub fn address(&self) -> Result<IpAddr, &str> {
        if self.ip.is_empty() {
            return Ok(Ipv4Addr::UNSPECIFIED.into());
        }
        self.ip.parse().map(|ip: IpAddr| ip.to_canonical()).map_err(|_| self.ip.as_str())
    }
}

impl Display for HostPort {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", self.ip, self.port, self.protocol)
    }
}

/// The persistent volumes of a pod, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PodVolumes {
    /// Volume claims that count against a driver's attach limit.
    pub attached: BTreeSet<AttachedVolume>,
    /// The node labels that the volumes allow: any one of these. If empty, any node.
    pub alternatives: Vec<Requirements>,
    /// Why the pod must wait for its volumes, as a sentence that names the object and the remedy.
    pub waiting: Option<String>,
}

/// A volume that uses one of a node's attachment slots.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttachedVolume {
    /// CSI driver.
    pub driver: String,
    /// `namespace/name` of the volume claim. Pods that share it use one slot.
    pub claim: String,
}

impl Pod {
    /// `namespace/name`.
    pub fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// How many bytes of memory count as much as a thousandth of a CPU. Most instances have 4Gi for each CPU.
const BYTES_PER_MILLICPU: f64 = (4_u64 << 30) as f64 / 1000.0;

/// The approximate size of a pod: each size is twice the previous one. Pods are evicted in the order of their
/// sizes, the largest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Size(u32);

impl Size {
    /// The size of a pod with these requests.
    pub fn of(requests: &Resources) -> Self {
        let (cpu, memory) = (requests.get(CPU).as_f64(), requests.get(MEMORY).as_f64());
        let weight = cpu * 1000.0 + memory / BYTES_PER_MILLICPU;
        Self((weight as u64).checked_ilog2().map_or(0, |log| log + 1))
    }
}

impl PodSpec {
    /// The pod's requirements on node labels with the `term`-th alternative of its node affinity, and without
    /// preferences.
    pub fn strict_requirements(&self, term: usize) -> Requirements {
        let mut all = Requirements::from_labels(&self.node_selector);
        if let Some(term) = self.node_affinity.get(term) {
            all.add_all(&Requirements::from_specs(&term.expressions));
        }
        all
    }

    /// One set of requirements for each alternative of the node affinity; exactly one if there are none.
    pub fn requirement_alternatives(&self) -> Vec<Requirements> {
        (0..self.node_affinity.len().max(1)).map(|term| self.strict_requirements(term)).collect()
    }
}

impl AffinityTerm {
    /// Whether a term of a pod in namespace `own` covers pods of `namespace`. `labels` are those of the namespace;
    /// an unknown one has none and is not selected.
    pub fn covers_namespace(&self, own: &str, namespace: &str, labels: Option<&Labels>) -> bool {
        match &self.namespace_selector {
            None if self.namespaces.is_empty() => namespace == own,
            None => self.namespaces.contains(namespace),
            Some(selector) => {
                self.namespaces.contains(namespace)
                    || labels.is_some_and(|labels| selector.matches(labels))
            }
        }
    }
}

impl SpreadConstraint {
    /// The selector with the pod's values of `matchLabelKeys` added. Keys that the pod does not have are left out.
    pub fn effective_selector(&self, labels: &Labels) -> Option<LabelSelector> {
        let terms = self.match_label_keys.iter().filter_map(|key| Some((key, labels.get(key)?)));
        let terms = terms.map(|(key, value)| SelectorTerm::In(key.clone(), [value.clone()].into()));
        Some(self.selector.clone()?.and_all(terms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::Operator;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    fn port(text: &str) -> HostPort {
        let (ip, rest) = text.rsplit_once(' ').unwrap();
        let (port, protocol) = rest.split_once('/').unwrap();
        HostPort { ip: ip.to_owned(), port: port.parse().unwrap(), protocol: protocol.to_owned() }
    }

    #[test]
    fn cpu_and_memory_make_a_pod_large() {
        let size = |cpu: &str, memory: &str| {
            let asked = [(CPU, cpu), (MEMORY, memory)];
            let asked = asked.map(|(name, amount)| (name, amount.parse().unwrap()));
            Size::of(&asked.into_iter().collect())
        };
        assert!(size("4", "1Gi") > size("1", "1Gi"));
        assert!(size("1", "32Gi") > size("1", "1Gi"));
        assert_eq!(size("1", "2Gi"), size("1100m", "2Gi"));
        assert!(size("1m", "0") > Size::of(&Resources::new()));
    }

    #[test]
    fn host_ports_conflict_on_the_same_address_or_on_all() {
        for (a, b, conflict) in [
            ("10.0.0.1 80/TCP", "10.0.0.1 80/TCP", true),
            ("10.0.0.1 80/TCP", "10.0.0.1 81/TCP", false),
            ("10.0.0.1 80/TCP", "10.0.0.1 80/UDP", false),
            ("10.0.0.1 80/TCP", "10.0.0.2 80/TCP", false),
            ("0.0.0.0 80/TCP", "10.0.0.2 80/TCP", true),
            (":: 80/TCP", "10.0.0.2 80/TCP", true),
            ("0:0::0 80/TCP", "fd00::1 80/TCP", true),
            (" 80/TCP", "fd00::1 80/TCP", true),
            (" 80/TCP", ":: 80/TCP", true),
            ("0.0.0.0 80/TCP", "0.0.0.0 80/UDP", false),
            // Other spellings of one address.
            ("fd00::1 80/TCP", "fd00:0::0001 80/TCP", true),
            ("::ffff:10.0.0.1 80/TCP", "10.0.0.1 80/TCP", true),
            ("nonsense 80/TCP", "nonsense 80/TCP", true),
            ("nonsense 80/TCP", "10.0.0.1 80/TCP", false),
            ("nonsense 80/TCP", "0.0.0.0 80/TCP", true),
        ] {
            assert_eq!(port(a).conflicts(&port(b)), conflict, "{a} and {b}");
            assert_eq!(port(b).conflicts(&port(a)), conflict, "{b} and {a}");
        }
    }

    #[test]
    fn node_affinity_terms_are_alternatives() {
        let term = |zone: &str| NodeTerm {
            expressions: vec![RequirementSpec::new("zone", Operator::In, [zone])],
            has_fields: false,
        };
        let mut spec = PodSpec { node_selector: labels(&[("disk", "ssd")]), ..PodSpec::default() };
        let alternatives = |spec: &PodSpec| {
            let all = spec.requirement_alternatives();
            all.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(alternatives(&spec), ["disk In [ssd]"]);
        spec.node_affinity = vec![term("a"), term("b")];
        assert_eq!(
            alternatives(&spec),
            ["disk In [ssd], zone In [a]", "disk In [ssd], zone In [b]"]
        );
        assert_eq!(spec.strict_requirements(0).to_string(), "disk In [ssd], zone In [a]");
        // The selector and the term on one key must both hold.
        spec.node_selector = labels(&[("zone", "b")]);
        assert_eq!(alternatives(&spec), ["zone DoesNotExist", "zone In [b]"]);
    }

    #[test]
    fn preferences_are_not_strict() {
        let expressions = vec![RequirementSpec::new("zone", Operator::In, ["a"])];
        let preferred = Weighted { weight: 1, term: NodeTerm { expressions, has_fields: false } };
        let spec = PodSpec { preferred_node_affinity: vec![preferred], ..PodSpec::default() };
        assert!(spec.strict_requirements(0).is_empty());
    }

    #[test]
    fn a_term_covers_the_own_namespace_unless_it_names_others() {
        let blue = labels(&[("team", "blue")]);
        let team = |team: &str| Some(LabelSelector::labels(&labels(&[("team", team)])));
        for (namespaces, selector, covers_own, covers_other) in [
            (&[][..], None, true, false),
            (&["other"], None, false, true),
            (&["other", "own"], None, true, true),
            (&[], Some(LabelSelector::default()), true, true),
            (&[], team("blue"), false, true),
            (&["own"], team("blue"), true, true),
            (&[], team("red"), false, false),
            (&[], Some(LabelSelector::nothing()), false, false),
        ] {
            let term = AffinityTerm {
                topology_key: "zone".to_owned(),
                selector: None,
                namespaces: namespaces.iter().map(|&name| name.to_owned()).collect(),
                namespace_selector: selector,
            };
            assert_eq!(
                term.covers_namespace("own", "own", Some(&labels(&[]))),
                covers_own,
                "{term:?}"
            );
            assert_eq!(
                term.covers_namespace("own", "other", Some(&blue)),
                covers_other,
                "{term:?}"
            );
        }
    }

    #[test]
    fn match_label_keys_narrow_the_selector_to_the_pods_own_values() {
        let constraint = SpreadConstraint {
            topology_key: "zone".to_owned(),
            max_skew: 1,
            min_domains: None,
            when_unsatisfiable: WhenUnsatisfiable::DoNotSchedule,
            selector: Some(LabelSelector::labels(&labels(&[("app", "web")]))),
            match_label_keys: vec!["revision".to_owned(), "absent".to_owned()],
            node_affinity_policy: InclusionPolicy::Honor,
            node_taints_policy: InclusionPolicy::Ignore,
        };
        let selector = constraint.effective_selector(&labels(&[("revision", "2")])).unwrap();
        assert_eq!(selector.to_string(), "app=web,revision=2");
        let none = SpreadConstraint { selector: None, ..constraint };
        assert_eq!(none.effective_selector(&labels(&[("revision", "2")])), None);
    }
}
