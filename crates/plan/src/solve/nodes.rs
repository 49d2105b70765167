//! Instances that exist or were launched, as candidates for pods.

use joiner_core::{
    label,
    pod::{Pod, Role},
    requirement::{Requirement, Requirements},
    resources::{CPU, MEMORY, Resources},
    snapshot::{Node, Snapshot},
    taint::Taint,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    amounts::{self, Columns},
    bits::Bits,
    journal::{Extent, Journal},
    labels::{LabelSpace, ReqId},
    ports::Ports,
    template::{UNNAMED_HOST, daemon_tolerates},
};

/// The nodes of a snapshot. Those that take pods are candidates, in the order they are tried.
#[derive(Debug, Clone)]
pub(crate) struct Nodes<'s> {
    pub(super) candidates: Vec<Candidate<'s>>,
    /// For every node of the snapshot, in its order.
    seen: Vec<Seen>,
    /// For each candidate, its total CPU and memory, with their columns.
    weighed: Vec<[Option<(usize, i64)>; 2]>,
    /// Free amounts, candidate after candidate.
    pub(super) free: Vec<i64>,
    pub(super) width: usize,
    /// The sorts of candidates. Candidates of one sort have equal labels and taints.
    pub(crate) sorts: Vec<(ReqId, usize)>,
    taint_sets: Vec<&'s [Taint]>,
    pub(super) sites: Vec<Site<'s>>,
    /// Numbers for pairs of pool and zone.
    homes: FxHashMap<(&'s str, &'s str), usize>,
    /// The number of instances for each pair of pool and zone.
    instances: Vec<usize>,
    /// Candidates that were removed.
    pub(super) gone: Bits,
    /// Candidates that pods of other instances do not move to for now.
    pub(crate) quiet: Bits,
    /// Candidates that have received pods in the current trial.
    pub(super) touched: Bits,
    journal: Journal<Change<'s>>,
    /// The free amounts before each change that added a pod, row after row.
    free_before: Vec<i64>,
}

/// Nodes whose Node objects have equal labels and taints. They are in the same domains.
#[derive(Debug, Clone)]
pub(crate) struct Site<'s> {
    pub(crate) requirements: ReqId,
    pub(crate) object_taints: &'s [Taint],
    /// The number of these nodes.
    nodes: usize,
}

/// The scheduler's score of a node: the more free capacity, and the more balanced the use of CPU and memory, the
/// better. Nodes that are not ready come last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Appeal {
    is_ready: bool,
    score: i64,
}

/// A change of a candidate.
#[derive(Debug, Clone)]
enum Change<'s> {
    /// A pod was added.
    Added {
        position: usize,
        /// How many ports were taken before.
        ports: usize,
        /// Volumes, as driver and claim, that were not attached before.
        attached: Vec<(&'s str, &'s str)>,
    },
    /// The candidate was removed.
    Gone { position: usize },
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
    pub(crate) sort: usize,
    pub(crate) taint_set: usize,
    pub(super) ports: Ports<'s>,
    /// Attached volume claims, by driver.
    pub(super) volumes: FxHashMap<&'s str, FxHashSet<&'s str>>,
    /// The pods that were placed on it.
    pub(crate) pods: Vec<u32>,
    /// How many of them were there before the current trial.
    pub(super) settled: usize,
    /// The site of its Node object, if it has one.
    site: Option<usize>,
    /// The number of its pool and zone, if both are known.
    home: Option<usize>,
}

impl<'s> Nodes<'s> {
    pub(crate) fn new(
        snapshot: &'s Snapshot,
        ignore_dra: bool,
        columns: &Columns,
        labels: &mut LabelSpace,
        rank: impl Fn(usize) -> u32,
    ) -> Self {
        let mut order: Vec<usize> = (0..snapshot.nodes.len())
            .filter(|position| !snapshot.nodes[*position].leaving)
            .collect();
        order.sort_by_key(|position| {
            let node = &snapshot.nodes[*position];
            (!node.initialized, rank(*position), node.name())
        });
        let mut all = Self {
            candidates: Vec::with_capacity(order.len()),
            seen: snapshot
                .nodes
                .iter()
                .map(|node| Seen { requirements: encode_labels(node, labels), position: None })
                .collect(),
            weighed: Vec::with_capacity(order.len()),
            free: Vec::with_capacity(order.len() * columns.len()),
            width: columns.len(),
            sorts: Vec::new(),
            taint_sets: Vec::new(),
            sites: Vec::new(),
            homes: FxHashMap::default(),
            instances: Vec::new(),
            gone: Bits::new(),
            quiet: Bits::new(),
            touched: Bits::new(),
            journal: Journal::default(),
            free_before: Vec::new(),
        };
        let mut taint_lookup: FxHashMap<&[Taint], usize> = FxHashMap::default();
        let mut sort_lookup: FxHashMap<(ReqId, usize), usize> = FxHashMap::default();
        let mut site_lookup: FxHashMap<(ReqId, &[Taint]), usize> = FxHashMap::default();
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
            let site = node.node.is_some().then(|| {
                *site_lookup.entry((requirements, &node.object_taints)).or_insert_with(|| {
                    let object_taints = &node.object_taints;
                    all.sites.push(Site { requirements, object_taints, nodes: 0 });
                    all.sites.len() - 1
                })
            });
            if let Some(site) = site {
                all.sites[site].nodes += 1;
            }
            let home = all.home(node);
            let mut candidate = Candidate {
                node,
                requirements,
                sort,
                taint_set,
                ports: Ports::default(),
                volumes: FxHashMap::default(),
                pods: Vec::new(),
                settled: 0,
                site,
                home,
            };
            for pod in &node.pods {
                candidate.take(pod);
            }
            all.candidates.push(candidate);
            all.weighed.push([CPU, MEMORY].map(|name| {
                let column = columns.column(name)?;
                let has = columns.amount(column, node.allocatable.get(name));
                (has > 0).then_some((column, has))
            }));
            all.free.extend(free(snapshot, node, ignore_dra, columns));
        }
        all
    }

    /// Counts one more instance of the node's pool in its zone.
    fn home(&mut self, node: &'s Node) -> Option<usize> {
        let (pool, zone) = (node.pool.as_deref()?, node.labels.get(label::ZONE)?);
        let home = *self.homes.entry((pool, zone)).or_insert_with(|| {
            self.instances.push(0);
            self.instances.len() - 1
        });
        self.instances[home] += 1;
        Some(home)
    }

    /// The number of instances of a pool in a zone.
    pub(super) fn instances(&self, pool: &str, zone: &str) -> usize {
        self.homes.get(&(pool, zone)).map_or(0, |home| self.instances[*home])
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

    /// Candidates that have received pods in the current trial, in the order they are tried.
    pub(crate) fn touched(&self) -> impl Iterator<Item = &Candidate<'s>> {
        self.touched.iter().map(|position| &self.candidates[position])
    }

    #[inline]
    pub(crate) fn is_touched(&self, position: usize) -> bool {
        self.touched.contains(position)
    }

    pub(crate) fn is_gone(&self, position: usize) -> bool {
        self.gone.contains(position)
    }

    pub(crate) fn sites(&self) -> impl Iterator<Item = &Site<'s>> {
        self.sites.iter()
    }

    pub(crate) fn seen(&self) -> impl Iterator<Item = Seen> + '_ {
        self.seen.iter().copied()
    }

    /// The node at a position in the snapshot.
    pub(crate) fn seen_at(&self, node: usize) -> Seen {
        self.seen[node]
    }

    /// Which of 64 candidates take no pods at all. With `respect_quiet`, busy candidates count among them.
    #[inline]
    pub(crate) fn closed(&self, word: usize, respect_quiet: bool) -> u64 {
        let quiet = if respect_quiet { self.quiet.word(word) } else { 0 };
        self.gone.word(word) | quiet
    }

    /// Whether a node has free capacity for these requests. An overcommitted node takes no pods.
    #[inline]
    pub(crate) fn fits(&self, position: usize, requests: &[i64]) -> bool {
        let free = &self.free[position * self.width..(position + 1) * self.width];
        free.iter().zip(requests).all(|(free, amount)| amount <= free)
    }

    /// The scheduler's score of a node that has free capacity for these requests.
    pub(crate) fn appeal(&self, position: usize, requests: &[i64]) -> Appeal {
        let free = &self.free[position * self.width..(position + 1) * self.width];
        let left = self.weighed[position].map(|weighed| {
            let (column, has) = weighed?;
            Some((free[column] - requests[column]).max(0) as f64 / has as f64)
        });
        let [cpu, memory] = left.map(Option::unwrap_or_default);
        let balance = match left {
            [Some(cpu), Some(memory)] => 1.0 - (cpu - memory).abs() / 2.0,
            _ => 1.0,
        };
        // The scheduler gives both scores equal weight by default, in whole percent.
        let percent = |share: f64| (share * 100.0) as i64;
        let score = percent(f64::midpoint(cpu, memory)) + percent(balance);
        Appeal { is_ready: self.candidates[position].node.initialized, score }
    }

    pub(crate) fn add(&mut self, position: usize, pod: &'s Pod, pod_index: u32, requests: &[i64]) {
        let candidate = &mut self.candidates[position];
        let free = &mut self.free[position * self.width..(position + 1) * self.width];
        if self.journal.is_on() {
            self.touched.insert(position);
            self.free_before.extend_from_slice(free);
            self.journal.note(|| Change::Added {
                position,
                ports: candidate.ports.taken().len(),
                attached: candidate.unattached(pod).collect(),
            });
        }
        candidate.take(pod);
        candidate.pods.push(pod_index);
        amounts::subtract(free, requests);
    }

    /// Removes a candidate. The result is its site if it was the last one there.
    pub(crate) fn remove(&mut self, position: usize) -> Option<Site<'s>> {
        self.gone.insert(position);
        self.journal.note(|| Change::Gone { position });
        if let Some(home) = self.candidates[position].home {
            self.instances[home] -= 1;
        }
        let site = &mut self.sites[self.candidates[position].site?];
        site.nodes -= 1;
        (site.nodes == 0).then(|| site.clone())
    }

    /// Starts recording changes, so that they can be undone.
    pub(crate) fn begin(&mut self) {
        self.journal.begin();
    }

    /// Makes the recorded changes permanent.
    pub(crate) fn keep(&mut self) {
        for position in self.touched.iter() {
            let candidate = &mut self.candidates[position];
            candidate.settled = candidate.pods.len();
        }
        self.touched.clear();
        self.free_before.clear();
        self.journal.keep();
    }

    /// Starts a step that can be undone alone.
    pub(crate) fn step(&mut self) {
        self.journal.step();
    }

    /// Undoes all recorded changes, or those of the last step.
    pub(crate) fn take_back(&mut self, extent: Extent) {
        while let Some(change) = self.journal.take_back(extent) {
            match change {
                Change::Added { position, ports, attached } => {
                    let candidate = &mut self.candidates[position];
                    candidate.give_back(ports, &attached);
                    if candidate.newcomers().is_empty() {
                        self.touched.remove(position);
                    }
                    let before = self.free_before.len() - self.width;
                    self.free[position * self.width..(position + 1) * self.width]
                        .copy_from_slice(&self.free_before[before..]);
                    self.free_before.truncate(before);
                }
                Change::Gone { position } => {
                    self.gone.remove(position);
                    if let Some(home) = self.candidates[position].home {
                        self.instances[home] += 1;
                    }
                    if let Some(site) = self.candidates[position].site {
                        self.sites[site].nodes += 1;
                    }
                }
            }
        }
    }
}

impl<'s> Candidate<'s> {
    fn take(&mut self, pod: &'s Pod) {
        self.ports.take(&pod.spec.host_ports);
        for volume in &pod.volumes.attached {
            self.volumes.entry(&volume.driver).or_default().insert(&volume.claim);
        }
    }

    /// Volumes of a pod, as driver and claim, that are not attached.
    fn unattached(&self, pod: &'s Pod) -> impl Iterator<Item = (&'s str, &'s str)> {
        let all = pod
            .volumes
            .attached
            .iter()
            .map(|volume| (volume.driver.as_str(), volume.claim.as_str()));
        all.filter(|(driver, claim)| {
            self.volumes.get(driver).is_none_or(|claims| !claims.contains(claim))
        })
    }

    /// Removes the last pod again.
    fn give_back(&mut self, ports: usize, attached: &[(&'s str, &'s str)]) {
        self.pods.pop();
        self.ports.truncate(ports);
        for (driver, claim) in attached {
            if let Some(claims) = self.volumes.get_mut(driver) {
                claims.remove(claim);
                if claims.is_empty() {
                    self.volumes.remove(driver);
                }
            }
        }
    }

    /// The pods that were placed in the current trial.
    pub(crate) fn newcomers(&self) -> &[u32] {
        &self.pods[self.settled..]
    }

    pub(crate) fn ports_free(&self, pod: &Pod) -> bool {
        self.ports.are_free(pod.spec.host_ports.iter())
    }

    /// Whether the pod's volumes can be attached in addition. A shared claim counts once.
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

/// The node's labels, restricted to keys that any requirement names.
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

/// The capacity for new pods: allocatable, less the requests of its pods, less those of expected daemons that are
/// missing.
///
/// COMPAT: upstream compares the sums of expected and present daemons, so an unexpected daemon hides an expected
/// one (D8). It also tests only the first alternative of a daemon's node affinity (D7).
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
                .any(|wanted| labels.is_compatible(wanted, None));
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
