//! Bounds on the work for one pod, known before any of it is done.
//!
//! The lists in a pod are compared with instances, other pods and namespaces, and some with each other. Such
//! products can make one object as expensive as a whole cluster. So an upper bound is computed first, from the
//! lengths of the lists alone. Its unit is one comparison of one entry. It depends on the snapshot alone, so equal
//! snapshots defer equal pods.

use std::cell::Cell;

use joiner_core::{
    pod::{AffinityTerm, NodeTerm, Pod, PodSpec, Unread},
    reason::{Reason, ReasonId},
    selector::LabelSelector,
    snapshot::Snapshot,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// A pod with up to this many constraints about other pods counts as ordinary in every cluster. Real workloads have
/// one to ten.
const ORDINARY_WISHES: u64 = 64;

/// The budget of a pass for all pods that are not ordinary together. On one core of 2.6 GHz, the most expensive
/// list within it takes about 150 ms. With `JOINER_WORK=1` the test `work` prints the time of each list.
const BUDGET: u64 = 10_000_000;

/// The fixed cost of a constraint about other pods: its group is created and kept. Measured: about 3 us and 1.5 kB.
const WISH: u64 = 300;

/// The cost of an entry of the node selector in each alternative of the node affinity. Measured: about 600 ns.
const SELECTED: u64 = 50;

/// The cost of a value of a node affinity. Measured: about 200 ns.
const VALUE: u64 = 20;

/// Counts the work done, in comparisons of one entry.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter(Cell<u64>);

impl Meter {
    #[inline]
    pub(crate) fn count(&self, entries: usize) {
        self.0.set(self.0.get() + entries as u64);
    }

    pub(crate) fn units(&self) -> u64 {
        self.0.get()
    }
}

/// The budget that is left for pods that are not ordinary.
#[derive(Debug, Clone, Default)]
pub(crate) struct Budget {
    total: u64,
    spent: u64,
}

impl Budget {
    /// Subtracts the work for a pod with this many constraints, unless the pod is ordinary.
    pub(crate) fn spend(&mut self, wishes: usize, units: u64) {
        if is_long(wishes) {
            self.spent = self.spent.saturating_add(units);
        }
    }

    /// Whether the budget is used up for a pod with this many constraints. For an ordinary pod it never is.
    pub(crate) fn is_used_up(&self, wishes: usize) -> bool {
        is_long(wishes) && self.spent > self.total
    }
}

fn is_long(wishes: usize) -> bool {
    wishes as u64 > ORDINARY_WISHES
}

/// The sizes of the lists that pods are compared with.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    /// The number of nodes, pools and other pods.
    things: u64,
    namespaces: u64,
}

impl Scale {
    pub(crate) fn new(snapshot: &Snapshot, pods: usize) -> Self {
        let bound: usize = snapshot.nodes.iter().map(|node| node.pods.len()).sum();
        let things = snapshot.nodes.len() + snapshot.pools.len() + bound + pods;
        Self { things: things as u64, namespaces: snapshot.namespaces.len() as u64 }
    }

    /// The most that an ordinary pod can cost. Such a pod is never deferred.
    fn ordinary(&self) -> u64 {
        ORDINARY_WISHES * (self.things + WISH)
    }

    /// The budget for all pods that are not ordinary together.
    pub(crate) fn budget(&self) -> Budget {
        Budget { total: BUDGET.max(4 * self.ordinary()), spent: 0 }
    }

    fn pod(&self, pod: &Pod, of_spec: u64) -> u64 {
        let volumes = &pod.volumes;
        let alternatives: usize =
            volumes.alternatives.iter().map(|all| 1 + all.iter().count()).sum();
        of_spec
            .saturating_add(pod.labels.len() as u64)
            .saturating_add(volumes.attached.len() as u64 * (1 + self.things))
            .saturating_add(alternatives as u64)
    }

    fn spec(&self, spec: &PodSpec) -> u64 {
        let PodSpec { requests, node_selector, tolerations, host_ports, .. } = spec;
        let terms = spec.node_affinity.iter();
        let preferred = spec.preferred_node_affinity.iter().map(|weighted| &weighted.term);
        let forms = terms.len().max(1) + preferred.len();
        let tried = if forms > 1 { self.things } else { 1 };
        let each_form = node_selector.len() as u64 * SELECTED + tried;
        let listed = requests.iter().count() + tolerations.len() + host_ports.len();
        let mut sum = (forms as u64).saturating_mul(each_form);
        let mut add = |units: u64| sum = sum.saturating_add(units);
        terms.chain(preferred).for_each(|term| add(of_node_term(term)));
        add(listed as u64);
        // A toleration is compared with few taints, and only once for all equal pods.
        add((tolerations.len() as u64).saturating_mul(self.things) / 16);
        add((host_ports.len() as u64).saturating_mul(self.things));
        let preferred = spec
            .preferred_affinity
            .iter()
            .chain(&spec.preferred_anti_affinity)
            .map(|weighted| &weighted.term);
        // Anti-affinity counts twice, because it also applies to the other pods.
        let both_ways = spec.anti_affinity.iter().chain(&spec.anti_affinity);
        let terms = spec.affinity.iter().chain(both_ways).chain(preferred);
        terms.for_each(|term| add(self.term(term)));
        for constraint in &spec.spread {
            let selector = constraint.selector.iter().flat_map(LabelSelector::keys);
            let entries = selector.count() + constraint.match_label_keys.len();
            add(self.wish() + entries as u64);
        }
        sum
    }

    /// A constraint about other pods is compared with every instance and every other pod.
    fn wish(&self) -> u64 {
        self.things + WISH
    }

    fn term(&self, term: &AffinityTerm) -> u64 {
        let entries = |selector: Option<&joiner_core::selector::LabelSelector>| {
            selector.map_or(0, |selector| 1 + selector.keys().count() as u64)
        };
        let namespaces = entries(term.namespace_selector.as_ref()).saturating_mul(self.namespaces);
        self.wish()
            .saturating_add(entries(term.selector.as_ref()))
            .saturating_add(namespaces)
            .saturating_add(term.namespaces.len() as u64)
    }
}

/// Expressions about one label are intersected one after the other, each with all values so far.
fn of_node_term(term: &NodeTerm) -> u64 {
    let values: usize = term.expressions.iter().map(|expression| 1 + expression.values.len()).sum();
    let keys: FxHashSet<&str> = term.expressions.iter().map(|each| each.key.as_str()).collect();
    let repeated = term.expressions.len() - keys.len();
    (values as u64).saturating_mul(VALUE + 4 * repeated as u64)
}

/// Which of the pods a pass can afford.
#[derive(Debug, Default)]
pub(crate) struct Affordable {
    /// The deferred pods by number, with their reasons.
    pub(crate) deferred: FxHashMap<usize, Reason>,
    /// Whether the pass plans pods that are not ordinary.
    pub(crate) has_costly: bool,
}

impl Affordable {
    /// Of pods that are not ordinary, the cheapest are planned while the budget lasts. Of equally cheap pods the
    /// oldest comes first, then the lowest UID. Ordinary pods are always planned.
    pub(crate) fn new(pods: &[&Pod], snapshot: &Snapshot) -> Self {
        let scale = Scale::new(snapshot, pods.len());
        let mut by_spec: FxHashMap<*const PodSpec, u64> = FxHashMap::default();
        let mut costly = Vec::new();
        for (number, pod) in pods.iter().enumerate() {
            let of_spec =
                *by_spec.entry(&raw const *pod.spec).or_insert_with(|| scale.spec(&pod.spec));
            let work = scale.pod(pod, of_spec);
            if work > scale.ordinary() {
                costly.push((work, pod.created, &*pod.uid, number));
            }
        }
        costly.sort_unstable();
        let mut affordable = Self::default();
        let Budget { total, mut spent } = scale.budget();
        for (work, _, _, number) in costly {
            spent = spent.saturating_add(work);
            if spent > total {
                affordable.deferred.insert(number, too_costly(work, total));
            } else {
                affordable.has_costly = true;
            }
        }
        affordable
    }
}

/// The reason why a pod is not even read in this pass.
pub(crate) fn left_unread(Unread { entries, max }: Unread) -> Reason {
    let message = format!(
        "the pod is left out of this pass: its lists have {entries} entries, and of all pods with such long lists {max} \
         entries are read; {}",
        when(entries > max)
    );
    waiting(message).with("work", entries).with("budget", max)
}

fn when(is_too_much_alone: bool) -> &'static str {
    if is_too_much_alone {
        "it is never looked at as it is"
    } else {
        "it is tried again in the next pass"
    }
}

/// The reason why a pod is deferred before it is planned.
fn too_costly(work: u64, budget: u64) -> Reason {
    let message = format!(
        "the pod is left out of this pass: its lists make {work} units of work here, and all pods with such long lists \
         may take {budget} together; {}",
        when(work > budget)
    );
    waiting(message).with("work", work).with("budget", budget)
}

/// The reason why a pod is not tried again in this pass.
pub(crate) fn used_up() -> Reason {
    waiting(
        "the pod is not tried again in this pass: pods with such long lists have used up the work that they may take \
         together; it is tried again in the next pass"
            .to_owned(),
    )
}

fn waiting(message: String) -> Reason {
    Reason::new(ReasonId::WaitingWork, message)
}
