//! Pods of one kind, and what is left of their wishes as they are relaxed.
//!
//! Pods that agree in everything the planner looks at are one class; whatever depends on that alone is worked out once.
//! A class has variants: the first insists on everything its pods prefer, each further one gives up one more thing.

use std::rc::Rc;

use joiner_core::{
    pod::{AffinityTerm, NodeTerm, Pod, PodSpec, SpreadConstraint, Weighted, WhenUnsatisfiable},
    requirement::{Operator, Requirement, RequirementSpec, Requirements},
    selector::LabelSelector,
    settings::PreferencePolicy,
    snapshot::Snapshot,
    taint::{Toleration, first_untolerated},
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Pods,
    amounts::Columns,
    bits::Bits,
    labels::{Key, LabelSpace, ReqId},
    template::Template,
    topology::{GroupId, Kind, Topology, Use},
};

/// Pods of one kind.
#[derive(Debug, Clone)]
pub(crate) struct Class<'s> {
    /// One of them; the others agree with it in all that matters.
    pub(crate) example: &'s Pod,
    pub(crate) requests: Vec<i64>,
    pub(crate) variants: Vec<Variant>,
    /// Where the volumes allow the pod to be; one open entry where they do not care.
    pub(crate) volume_alternatives: Vec<ReqId>,
    /// Groups that count these pods.
    pub(crate) selecting: Vec<GroupId>,
    /// Groups in which these pods keep others away.
    pub(crate) declared: Vec<GroupId>,
    /// The state of things when a pod of this class was last refused everywhere.
    pub(crate) refused_at: Option<super::Moment>,
}

/// A class after some of its preferences have been given up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variant {
    /// What is asked of node labels.
    pub(crate) wanted: ReqIds,
    pub(crate) tolerations: Vec<Toleration>,
    /// Whether the taints of each template are tolerated.
    pub(crate) tolerates: Vec<bool>,
    /// Spread and affinity over labels.
    pub(crate) domain_uses: Vec<Use>,
    /// Spread and affinity over hosts.
    pub(crate) host_uses: Vec<Use>,
    /// Nodes that refused this variant for good.
    pub(crate) dead_nodes: Bits,
    /// All nodes in words before this one are dead.
    pub(crate) first_node_word: usize,
    /// Claims that refused this variant for good.
    pub(crate) dead_claims: Bits,
    /// Per sort of node: whether labels, taints and volumes suit.
    pub(crate) node_sorts: Vec<Option<bool>>,
    /// Claim requirements → what they become, per volume alternative that suits.
    pub(crate) joins: FxHashMap<ReqId, Rc<[ReqId]>>,
}

/// What a pod asks of node labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReqIds {
    /// With the preference that is active.
    pub(crate) all: ReqId,
    /// Without any preference.
    pub(crate) strict: ReqId,
    /// Whether any node could have what is asked.
    pub(crate) possible: bool,
}

impl Default for ReqIds {
    fn default() -> Self {
        Self { all: ReqId::ANY, strict: ReqId::ANY, possible: true }
    }
}

/// What is left of a pod's wishes.
#[derive(Debug, Clone, PartialEq)]
struct Wishes<'s> {
    node_terms: &'s [NodeTerm],
    preferred_node: Vec<&'s Weighted<NodeTerm>>,
    preferred_affinity: Vec<&'s Weighted<AffinityTerm>>,
    preferred_anti_affinity: Vec<&'s Weighted<AffinityTerm>>,
    spread: Vec<&'s SpreadConstraint>,
    tolerates_prefer_no_schedule: bool,
}

impl<'s> Wishes<'s> {
    fn of(spec: &'s PodSpec, policy: PreferencePolicy) -> Self {
        let respect = policy == PreferencePolicy::Respect;
        Self {
            node_terms: &spec.node_affinity,
            preferred_node: heaviest_first(&spec.preferred_node_affinity, respect),
            preferred_affinity: heaviest_first(&spec.preferred_affinity, respect),
            preferred_anti_affinity: heaviest_first(&spec.preferred_anti_affinity, respect),
            spread: spec
                .spread
                .iter()
                .filter(|c| respect || c.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule)
                .collect(),
            tolerates_prefer_no_schedule: false,
        }
    }

    /// One wish less, in the order in which they are given up. `None` when only requirements are left.
    fn relaxed(mut self, prefer_no_schedule: bool) -> Option<Self> {
        let soft =
            |c: &&SpreadConstraint| c.when_unsatisfiable == WhenUnsatisfiable::ScheduleAnyway;
        if self.node_terms.len() > 1 {
            self.node_terms = &self.node_terms[1..];
        } else if !self.preferred_affinity.is_empty() {
            self.preferred_affinity.remove(0);
        } else if !self.preferred_anti_affinity.is_empty() {
            self.preferred_anti_affinity.remove(0);
        } else if !self.preferred_node.is_empty() {
            self.preferred_node.remove(0);
        } else if let Some(at) = self.spread.iter().position(soft) {
            self.spread.swap_remove(at);
        } else if prefer_no_schedule && !self.tolerates_prefer_no_schedule {
            self.tolerates_prefer_no_schedule = true;
        } else {
            return None;
        }
        Some(self)
    }

    fn requirements(&self, spec: &PodSpec, labels: &mut LabelSpace) -> ReqIds {
        let required: &[RequirementSpec] =
            self.node_terms.first().map_or(&[], |term| &term.expressions);
        let preferred: &[RequirementSpec] =
            self.preferred_node.first().map_or(&[], |weighted| &weighted.term.expressions);
        let mut strict = Requirements::from_labels(&spec.node_selector);
        let mut all = strict.clone();
        let possible = narrow(&mut all, preferred)
            & narrow(&mut all, required)
            & narrow(&mut strict, required);
        ReqIds { all: labels.encode(&all), strict: labels.encode(&strict), possible }
    }
}

/// Narrows `all` by `specs`; says whether a node that has the labels can meet them together.
///
/// COMPAT: upstream reads two demands that leave no value as the demand that the label be absent,
/// and then places the pod where the label is unknown.
pub(crate) fn narrow(all: &mut Requirements, specs: &[RequirementSpec]) -> bool {
    let mut possible = true;
    for spec in specs {
        let one = Requirements::from_specs([spec]);
        let absent = matches!(spec.operator, Operator::DoesNotExist | Operator::NotIn);
        let nothing = |own: &Requirement| own.operator() == Operator::DoesNotExist;
        possible &=
            all.intersects(&one).is_ok() && (absent || !one.get(&spec.key).is_some_and(nothing));
        all.add_all(&one);
    }
    possible
}

fn heaviest_first<T>(terms: &[Weighted<T>], respect: bool) -> Vec<&Weighted<T>> {
    let mut sorted: Vec<_> = if respect { terms.iter().collect() } else { Vec::new() };
    sorted.sort_by_key(|weighted| std::cmp::Reverse(weighted.weight));
    sorted
}

/// All classes of a pass, and which class each pod is of.
#[derive(Debug, Clone)]
pub(crate) struct Classes<'s> {
    pub(crate) all: Vec<Class<'s>>,
    /// By number.
    pub(crate) of_pod: Vec<u32>,
}

/// What classes are made from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClassContext<'c, 's> {
    pub(crate) snapshot: &'s Snapshot,
    /// All pods of the pass.
    pub(crate) pods: &'c Pods<'s>,
    pub(crate) policy: PreferencePolicy,
    pub(crate) templates: &'c [Template<'s>],
    pub(crate) columns: &'c Columns,
}

impl<'s> Classes<'s> {
    /// Sorts the pods that `considered` names into classes and makes their groups.
    pub(crate) fn new(
        ctx: ClassContext<'_, 's>,
        considered: &[u32],
        labels: &mut LabelSpace,
        topology: &mut Topology,
    ) -> Self {
        let selected_keys = selected_keys(ctx.snapshot);
        let mut of_pod = vec![u32::MAX; ctx.pods.len()];
        let mut by_pointer = FxHashMap::default();
        let mut by_content = FxHashMap::default();
        let mut all: Vec<Class<'s>> = Vec::new();
        for index in considered {
            let pod = ctx.pods.get(*index);
            let pointers = (
                &raw const *pod.namespace,
                &raw const *pod.labels,
                &raw const *pod.spec,
                pod.volumes.alternatives.as_slice(),
            );
            let class = *by_pointer.entry(pointers).or_insert_with(|| {
                let relevant: Vec<(&str, &str)> = pod
                    .labels
                    .iter()
                    .filter(|(key, _)| selected_keys.contains(key.as_str()))
                    .map(|(key, value)| (key.as_str(), value.as_str()))
                    .collect();
                let content =
                    (&*pod.namespace, relevant, &*pod.spec, pod.volumes.alternatives.as_slice());
                *by_content.entry(content).or_insert_with(|| {
                    all.push(Class::new(ctx, pod, labels, topology));
                    all.len() as u32 - 1
                })
            });
            of_pod[*index as usize] = class;
        }
        Self { all, of_pod }
    }

    /// Finds out which groups concern which class, once every group is known.
    pub(crate) fn meet_groups(&mut self, topology: &Topology) {
        for class in &mut self.all {
            class.selecting = topology.selecting(&class.example.namespace, &class.example.labels);
            for variant in &mut class.variants {
                for used in variant.domain_uses.iter_mut().chain(&mut variant.host_uses) {
                    used.selects_self = class.selecting.binary_search(&used.group).is_ok();
                }
                for group in &class.selecting {
                    if topology.group(*group).kind() == Kind::KeptAway {
                        variant.push(*group, topology);
                    }
                }
            }
        }
    }
}

impl<'s> Class<'s> {
    fn new(
        ctx: ClassContext<'_, 's>,
        pod: &'s Pod,
        labels: &mut LabelSpace,
        topology: &mut Topology,
    ) -> Self {
        let spec = &*pod.spec;
        let prefer_no_schedule = ctx.templates.iter().any(|template| {
            let taints = &template.pool.taints;
            taints.iter().any(|taint| taint.effect == joiner_core::taint::Effect::PreferNoSchedule)
        });
        let mut variants = Vec::new();
        let mut wishes = Some(Wishes::of(spec, ctx.policy));
        while let Some(current) = wishes {
            variants.push(Variant::new(ctx, pod, &current, labels, topology));
            wishes = current.relaxed(prefer_no_schedule);
        }
        let alternatives = &pod.volumes.alternatives;
        Self {
            example: pod,
            requests: ctx.columns.row(&spec.requests),
            variants,
            volume_alternatives: if alternatives.is_empty() {
                vec![ReqId::ANY]
            } else {
                alternatives.iter().map(|alternative| labels.encode(alternative)).collect()
            },
            selecting: Vec::new(),
            declared: topology.declared(pod, ctx.snapshot, labels),
            refused_at: None,
        }
    }

    /// Whether spread, affinity or somebody's anti-affinity has a say in where these pods go.
    pub(crate) fn minds_others(&self) -> bool {
        self.variants.iter().any(|v| !v.domain_uses.is_empty() || !v.host_uses.is_empty())
    }
}

impl Variant {
    fn new<'s>(
        ctx: ClassContext<'_, 's>,
        pod: &'s Pod,
        wishes: &Wishes<'s>,
        labels: &mut LabelSpace,
        topology: &mut Topology,
    ) -> Self {
        let spec = &*pod.spec;
        let mut tolerations = spec.tolerations.clone();
        if wishes.tolerates_prefer_no_schedule {
            tolerations.push(Toleration::prefer_no_schedule());
        }
        let mut variant = Self {
            wanted: wishes.requirements(spec, labels),
            tolerates: ctx
                .templates
                .iter()
                .map(|template| first_untolerated(&template.pool.taints, &tolerations).is_none())
                .collect(),
            tolerations,
            ..Self::default()
        };
        for constraint in &wishes.spread {
            let group = topology.spread(constraint, &pod.namespace, &pod.labels, spec, labels);
            variant.push(group, topology);
        }
        let preferred = |terms: &[&'s Weighted<AffinityTerm>]| {
            terms.iter().map(|w| &w.term).collect::<Vec<_>>()
        };
        let near = spec.affinity.iter().chain(preferred(&wishes.preferred_affinity));
        let away = spec.anti_affinity.iter().chain(preferred(&wishes.preferred_anti_affinity));
        let terms = near
            .map(|term| (Kind::Affinity, term))
            .chain(away.map(|term| (Kind::AntiAffinity, term)));
        for (kind, term) in terms {
            let group = topology.affinity(kind, term, &pod.namespace, ctx.snapshot, labels);
            variant.push(group, topology);
        }
        variant
    }

    fn push(&mut self, group: GroupId, topology: &Topology) {
        let uses = if topology.group(group).key() == Key::HOSTNAME {
            &mut self.host_uses
        } else {
            &mut self.domain_uses
        };
        if !uses.iter().any(|known| known.group == group) {
            uses.push(Use { group, selects_self: false });
        }
    }
}

/// Label keys that some selector looks at. Pods that differ only in other labels are of one class.
fn selected_keys(snapshot: &Snapshot) -> FxHashSet<&str> {
    let mut keys = FxHashSet::default();
    let mut visited: FxHashSet<*const PodSpec> = FxHashSet::default();
    for pod in snapshot.pods.iter().chain(snapshot.nodes.iter().flat_map(|node| &node.pods)) {
        let spec = &*pod.spec;
        if !visited.insert(&raw const *spec) {
            continue;
        }
        let preferred =
            spec.preferred_affinity.iter().chain(&spec.preferred_anti_affinity).map(|w| &w.term);
        let terms = spec.affinity.iter().chain(&spec.anti_affinity).chain(preferred);
        let affinity = terms.filter_map(|term| term.selector.as_ref());
        let spread = spec.spread.iter().filter_map(|constraint| constraint.selector.as_ref());
        keys.extend(affinity.chain(spread).flat_map(LabelSelector::keys));
        keys.extend(spec.spread.iter().flat_map(|c| &c.match_label_keys).map(String::as_str));
    }
    keys
}
