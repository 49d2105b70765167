//! Pods whose lists are too long to be read all in one pass.
//!
//! To turn a pod into the planner's words costs as much as its lists are long, in every pass. One object of 1.5 MB has
//! some 50,000 entries, which take up to 50 ms and 60 MB. A hundred of them would take a hundred times that.

use std::collections::{BTreeMap, HashMap};

use joiner_core::pod::Unread;
use k8s_openapi::{
    api::core::v1::{
        Container, NodeSelectorTerm, Pod, PodAffinityTerm, PodSpec, TopologySpreadConstraint,
    },
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};

use crate::objects::Objects;

/// A pod with so many entries is ordinary. Real ones have ten to a hundred.
const ORDINARY: usize = 1_000;

/// So many entries are read of all pods that are not ordinary: as many as one object can have.
const READ_MAX: usize = 50_000;

/// The pods that are left unread, by namespace and name.
#[derive(Debug, Default)]
pub(super) struct LongPods<'o>(HashMap<(&'o str, &'o str), Unread>);

impl<'o> LongPods<'o> {
    /// The shortest are read as long as there is room for them; of equals the first by name.
    pub(super) fn new(objects: &'o Objects) -> Self {
        let entries = objects.pods.iter().map(|pod| (entries(pod), name(pod)));
        let mut long: Vec<_> = entries.filter(|(entries, _)| *entries > ORDINARY).collect();
        long.sort_unstable();
        let mut read = 0;
        let unread = long.into_iter().filter(|(entries, _)| {
            read += entries;
            read > READ_MAX
        });
        let unread = unread.map(|(entries, name)| (name, Unread { entries, max: READ_MAX }));
        Self(unread.collect())
    }

    /// What is said of a pod that is left unread.
    pub(super) fn unread(&self, pod: &Pod) -> Option<Unread> {
        if self.0.is_empty() { None } else { self.0.get(&name(pod)).copied() }
    }
}

fn name(pod: &Pod) -> (&str, &str) {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    (namespace, pod.metadata.name.as_deref().unwrap_or_default())
}

/// How long the lists of a pod are together, as far as a planner reads them.
fn entries(pod: &Pod) -> usize {
    let labels = pod.metadata.labels.as_ref().map_or(0, BTreeMap::len);
    labels + pod.spec.as_ref().map_or(0, of_spec)
}

fn of_spec(spec: &PodSpec) -> usize {
    let affinity = spec.affinity.as_ref();
    let node = affinity.and_then(|affinity| affinity.node_affinity.as_ref());
    let near = affinity.and_then(|affinity| affinity.pod_affinity.as_ref());
    let away = affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let required =
        node.and_then(|n| n.required_during_scheduling_ignored_during_execution.as_ref());
    let required = required.iter().flat_map(|selector| &selector.node_selector_terms);
    let preferred =
        node.and_then(|n| n.preferred_during_scheduling_ignored_during_execution.as_ref());
    let preferred = preferred.into_iter().flatten().map(|term| &term.preference);
    let terms = [
        near.and_then(|near| near.required_during_scheduling_ignored_during_execution.as_ref()),
        away.and_then(|away| away.required_during_scheduling_ignored_during_execution.as_ref()),
    ];
    let weighted = [
        near.and_then(|near| near.preferred_during_scheduling_ignored_during_execution.as_ref()),
        away.and_then(|away| away.preferred_during_scheduling_ignored_during_execution.as_ref()),
    ];
    let weighted = weighted.into_iter().flatten().flatten().map(|term| &term.pod_affinity_term);
    let terms = terms.into_iter().flatten().flatten().chain(weighted);
    let spread = spec.topology_spread_constraints.iter().flatten();
    let containers = spec.containers.iter().chain(spec.init_containers.iter().flatten());
    required.chain(preferred).map(of_node_term).sum::<usize>()
        + terms.map(of_term).sum::<usize>()
        + spread.map(of_spread).sum::<usize>()
        + containers.map(of_container).sum::<usize>()
        + spec.node_selector.as_ref().map_or(0, BTreeMap::len)
        + spec.tolerations.as_ref().map_or(0, Vec::len)
        + spec.volumes.as_ref().map_or(0, Vec::len)
}

fn of_node_term(term: &NodeSelectorTerm) -> usize {
    let expressions = term.match_expressions.iter().flatten();
    let values = expressions.map(|each| 1 + each.values.as_ref().map_or(0, Vec::len));
    1 + values.sum::<usize>()
}

fn of_term(term: &PodAffinityTerm) -> usize {
    let namespaces = term.namespaces.as_ref().map_or(0, Vec::len);
    let selectors = term.label_selector.iter().chain(&term.namespace_selector);
    1 + namespaces + selectors.map(of_selector).sum::<usize>()
}

fn of_spread(constraint: &TopologySpreadConstraint) -> usize {
    let keys = constraint.match_label_keys.as_ref().map_or(0, Vec::len);
    1 + keys + constraint.label_selector.as_ref().map_or(0, of_selector)
}

fn of_selector(selector: &LabelSelector) -> usize {
    let expressions = selector.match_expressions.iter().flatten();
    let values = expressions.map(|each| 1 + each.values.as_ref().map_or(0, Vec::len));
    selector.match_labels.as_ref().map_or(0, BTreeMap::len) + values.sum::<usize>()
}

fn of_container(container: &Container) -> usize {
    let requests = container.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let ports = container.ports.as_ref().map_or(0, Vec::len);
    1 + ports + requests.map_or(0, BTreeMap::len)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use joiner_core::{
        instance_type::Catalog,
        pod::{Pod as Planned, Role},
        resources::CPU,
        snapshot::Snapshot,
    };
    use k8s_openapi::{
        api::core::v1::{
            Affinity, Node, PodAffinity, PodAntiAffinity, ResourceRequirements,
            WeightedPodAffinityTerm,
        },
        apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::ObjectMeta},
    };

    use super::*;
    use crate::index::{IndexSettings, snapshot};

    /// A pod with one term that keeps others away, and so many preferences.
    fn pod(name: &str, preferences: usize) -> Pod {
        let near = |n| WeightedPodAffinityTerm {
            weight: 1,
            pod_affinity_term: PodAffinityTerm {
                topology_key: format!("key-{n}"),
                ..PodAffinityTerm::default()
            },
        };
        let near = PodAffinity {
            preferred_during_scheduling_ignored_during_execution: Some(
                (0..preferences).map(near).collect(),
            ),
            ..PodAffinity::default()
        };
        let away = PodAntiAffinity {
            required_during_scheduling_ignored_during_execution: Some(vec![
                PodAffinityTerm::default(),
            ]),
            ..PodAntiAffinity::default()
        };
        let affinity = Affinity {
            pod_affinity: Some(near),
            pod_anti_affinity: Some(away),
            ..Affinity::default()
        };
        let requests = [(CPU.to_owned(), Quantity("1".to_owned()))].into();
        let container = Container {
            resources: Some(ResourceRequirements {
                requests: Some(requests),
                ..ResourceRequirements::default()
            }),
            ..Container::default()
        };
        Pod {
            metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
            spec: Some(PodSpec {
                affinity: Some(affinity),
                containers: vec![container],
                ..PodSpec::default()
            }),
            status: None,
        }
    }

    fn on(node: &str, mut pod: Pod) -> Pod {
        pod.spec.get_or_insert_default().node_name = Some(node.to_owned());
        pod
    }

    fn read(pods: impl IntoIterator<Item = Pod>) -> Snapshot {
        let node = ObjectMeta { name: Some("n".to_owned()), ..ObjectMeta::default() };
        let mut objects = Objects::default();
        objects.pods = pods.into_iter().map(Arc::new).collect();
        objects.nodes = vec![Arc::new(Node { metadata: node, ..Node::default() })];
        let now = "2026-06-01T12:00:00Z".parse().unwrap();
        snapshot(&objects, Catalog::default(), &IndexSettings::default(), now).snapshot
    }

    fn named<'p>(pods: &'p [Planned], name: &str) -> &'p Planned {
        pods.iter().find(|pod| &*pod.name == name).unwrap()
    }

    #[test]
    fn the_shortest_are_read_and_the_others_said_to_be_unread() {
        let read = read([
            pod("longest", 60_000),
            pod("long", 30_000),
            pod("also-long", 19_000),
            pod("ordinary", 900),
        ]);
        let unread = |name: &str| named(&read.pods, name).spec.unread.map(|it| it.entries);
        assert_eq!(unread("ordinary"), None);
        assert_eq!(unread("also-long"), None);
        assert_eq!(unread("long"), None);
        // Its preferences, its term and its container with a request.
        assert_eq!(unread("longest"), Some(60_003));
        assert!(named(&read.pods, "longest").spec.preferred_affinity.is_empty());
        assert_eq!(named(&read.pods, "long").spec.preferred_affinity.len(), 30_000);
    }

    #[test]
    fn of_one_that_stays_others_mind_what_it_uses_and_whom_it_keeps_away() {
        let read = read([on("n", pod("longest", 60_000))]);
        let longest = named(&read.nodes[0].pods, "longest");
        assert!(matches!(longest.role, Role::Bound { .. }));
        assert!(longest.spec.unread.is_some());
        assert_eq!(longest.spec.anti_affinity.len(), 1);
        assert_eq!(longest.spec.requests.get(CPU).to_string(), "1");
    }
}
