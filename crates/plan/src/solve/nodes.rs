//! Machines that exist or are on their way, as candidates for pods.

use joiner_core::{
    label,
    pod::{HostPort, Pod, Role},
    requirement::{Requirement, Requirements},
    resources::Resources,
    snapshot::{Node, Snapshot},
    taint::Taint,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    amounts::{self, Columns},
    labels::{LabelSpace, ReqId},
    template::{UNNAMED_HOST, daemon_tolerates},
};

/// Nodes of a snapshot, and those of them that take pods, in the order they are asked.
#[derive(Debug, Clone)]
pub(crate) struct Nodes<'s> {
    candidates: Vec<Candidate<'s>>,
    /// For every node of the snapshot, in its order.
    seen: Vec<Seen>,
    /// Free amounts, candidate after candidate.
    free: Vec<i64>,
    width: usize,
    /// Candidates with equal labels and taints are of one sort.
    pub(crate) sorts: Vec<(ReqId, usize)>,
    taint_sets: Vec<&'s [Taint]>,
}

/// A node of the snapshot: its labels, and its position among the candidates if it takes pods.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) requirements: ReqId,
    pub(crate) position: Option<usize>,
}

#[derive(Debug, Clone)]
pub(crate) struct Candidate<'s> {
    pub(crate) node: &'s Node,
    pub(crate) requirements: ReqId,
    pub(crate) object_taints: &'s [Taint],
    pub(crate) has_object: bool,
    pub(crate) sort: usize,
    pub(crate) taint_set: usize,
    ports: Vec<&'s HostPort>,
    /// Claims attached, by driver.
    volumes: FxHashMap<&'s str, FxHashSet<&'s str>>,
    pub(crate) pods: Vec<u32>,
}

impl<'s> Nodes<'s> {
    pub(crate) fn new(
        snapshot: &'s Snapshot,
        ignore_dra: bool,
        columns: &Columns,
        labels: &mut LabelSpace,
    ) -> Self {
        let mut order: Vec<usize> =
            (0..snapshot.nodes.len()).filter(|i| !snapshot.nodes[*i].leaving).collect();
        order.sort_by_key(|i| (!snapshot.nodes[*i].initialized, snapshot.nodes[*i].name()));
        let mut all = Self {
            candidates: Vec::with_capacity(order.len()),
            seen: snapshot
                .nodes
                .iter()
                .map(|node| Seen { requirements: encode_labels(node, labels), position: None })
                .collect(),
            free: Vec::with_capacity(order.len() * columns.len()),
            width: columns.len(),
            sorts: Vec::new(),
            taint_sets: Vec::new(),
        };
        let mut taint_lookup: FxHashMap<&[Taint], usize> = FxHashMap::default();
        let mut sort_lookup: FxHashMap<(ReqId, usize), usize> = FxHashMap::default();
        for index in order {
            let node = &snapshot.nodes[index];
            all.seen[index].position = Some(all.candidates.len());
            let requirements = all.seen[index].requirements;
            let taint_set = *taint_lookup.entry(&node.taints).or_insert_with(|| {
                all.taint_sets.push(&node.taints);
                all.taint_sets.len() - 1
            });
            let sort = *sort_lookup.entry((requirements, taint_set)).or_insert_with(|| {
                all.sorts.push((requirements, taint_set));
                all.sorts.len() - 1
            });
            let mut candidate = Candidate {
                node,
                requirements,
                object_taints: &node.object_taints,
                has_object: node.node.is_some(),
                sort,
                taint_set,
                ports: Vec::new(),
                volumes: FxHashMap::default(),
                pods: Vec::new(),
            };
            for pod in &node.pods {
                candidate.take(pod);
            }
            all.candidates.push(candidate);
            all.free.extend(free(snapshot, node, ignore_dra, columns));
        }
        all
    }

    pub(crate) fn len(&self) -> usize {
        self.candidates.len()
    }

    pub(crate) fn candidate(&self, position: usize) -> &Candidate<'s> {
        &self.candidates[position]
    }

    pub(crate) fn taint_set(&self, index: usize) -> &'s [Taint] {
        self.taint_sets[index]
    }

    pub(crate) fn active(&self) -> impl Iterator<Item = &Candidate<'s>> {
        self.candidates.iter()
    }

    pub(crate) fn seen(&self) -> impl Iterator<Item = Seen> + '_ {
        self.seen.iter().copied()
    }

    /// Whether a node has room for these requests. One that has promised more than it has takes nothing.
    #[inline]
    pub(crate) fn fits(&self, position: usize, requests: &[i64]) -> bool {
        let free = &self.free[position * self.width..(position + 1) * self.width];
        free.iter().zip(requests).all(|(free, amount)| amount <= free)
    }

    pub(crate) fn add(&mut self, position: usize, pod: &'s Pod, pod_index: u32, requests: &[i64]) {
        let candidate = &mut self.candidates[position];
        candidate.take(pod);
        candidate.pods.push(pod_index);
        amounts::subtract(
            &mut self.free[position * self.width..(position + 1) * self.width],
            requests,
        );
    }
}

impl<'s> Candidate<'s> {
    fn take(&mut self, pod: &'s Pod) {
        self.ports.extend(&pod.spec.host_ports);
        for volume in &pod.volumes.attached {
            self.volumes.entry(&volume.driver).or_default().insert(&volume.claim);
        }
    }

    pub(crate) fn ports_free(&self, pod: &Pod) -> bool {
        !pod.spec.host_ports.iter().any(|port| self.ports.iter().any(|taken| taken.conflicts(port)))
    }

    /// Whether the pod's volumes can be attached besides those that are; a claim that is shared counts once.
    pub(crate) fn can_attach(&self, pod: &Pod) -> bool {
        if self.node.volume_limits.is_empty() || pod.volumes.attached.is_empty() {
            return true;
        }
        self.node.volume_limits.iter().all(|(driver, limit)| {
            let attached = self.volumes.get(driver.as_str());
            let mut of_driver =
                pod.volumes.attached.iter().filter(|volume| volume.driver == *driver).peekable();
            if of_driver.peek().is_none() {
                return true;
            }
            let new = of_driver
                .filter(|volume| {
                    attached.is_none_or(|claims| !claims.contains(volume.claim.as_str()))
                })
                .count();
            attached.map_or(0, FxHashSet::len) + new <= *limit as usize
        })
    }
}

/// A node's labels, as far as anything asks for them.
fn encode_labels(node: &Node, labels: &mut LabelSpace) -> ReqId {
    let mut known = Requirements::new();
    for (key, value) in &node.labels {
        if key != label::HOSTNAME && labels.known_key(key).is_some() {
            known.add(key, Requirement::one_of([value.as_str()]));
        }
    }
    let hostname = labels.key(label::HOSTNAME);
    let named = labels.known_value(hostname, &node.hostname).is_some();
    known.set(
        label::HOSTNAME,
        Requirement::one_of([if named { node.hostname.as_str() } else { UNNAMED_HOST }]),
    );
    labels.encode(&known)
}

/// What new pods can use: allocatable, less what its pods use, less what daemons that are expected and not there yet
/// will use.
///
/// COMPAT: upstream compares the sums of expected and present daemons, so that an unexpected daemon hides an expected
/// one (D8), and tests only the first alternative of a daemon's node affinity (D7).
fn free(snapshot: &Snapshot, node: &Node, ignore_dra: bool, columns: &Columns) -> Vec<i64> {
    let mut used = Resources::new();
    let mut present: FxHashMap<&str, Resources> = FxHashMap::default();
    for pod in &node.pods {
        used.add(&pod.spec.requests);
        if let Role::Bound { daemon_set: Some(daemon_set), .. } = &pod.role {
            present.entry(daemon_set).or_default().add(&pod.spec.requests);
        }
    }
    let labels = node.requirements();
    for daemon in &snapshot.daemons {
        let expected = !(ignore_dra && daemon.spec.uses_dra)
            && daemon_tolerates(&daemon.spec, &node.taints)
            && daemon
                .spec
                .requirement_alternatives()
                .iter()
                .any(|wanted| labels.compatible(wanted, None).is_ok());
        if expected {
            let there = present.get(&*daemon.key);
            used.add(&there.map_or_else(
                || daemon.spec.requests.clone(),
                |there| daemon.spec.requests.minus(there).floored(),
            ));
        }
    }
    columns.row(&node.allocatable.minus(&used))
}
