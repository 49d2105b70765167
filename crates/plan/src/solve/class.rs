//! Equal pods, and the constraints that remain as their preferences are given up.
//!
//! Pods that are equal in everything the planner reads form one class, and shared results are computed once per
//! class. A class has variants: the first includes all preferences, and each further one gives up one more.
//! Variants are described rather than built. A form holds the constraints about labels and taints. A step says how
//! much of spread and affinity is given up. So the cost of a pod with many preferences is about proportional to its
//! size.

use std::{cmp::Ordering, rc::Rc};

use joiner_core::{
    pod::{AffinityTerm, NodeTerm, Pod, PodSpec, Weighted, WhenUnsatisfiable},
    requirement::{Operator, Requirement, RequirementSpec, Requirements},
    selector::LabelSelector,
    settings::PreferencePolicy,
    snapshot::Snapshot,
    taint::{Effect, Taint, Toleration, first_untolerated},
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Pods,
    amounts::Columns,
    bits::Bits,
    labels::{Key, LabelSpace, ReqId},
    template::Template,
    topology::{Filters, GroupId, Kind, Topology, Use},
};
use crate::work::Meter;

/// Equal pods.
#[derive(Debug, Clone)]
pub(crate) struct Class<'s> {
    /// One of the pods. The others are equal in everything the planner reads.
    pub(crate) example: &'s Pod,
    pub(crate) requests: Vec<i64>,
    wishes: Wishes<'s>,
    /// The constraints about labels and taints, in the order in which preferences are given up. Each is built on
    /// first use.
    forms: Vec<Option<Box<Form>>>,
    /// The tolerations of the pods, without and with toleration of soft taints.
    tolerance: [Tolerance; 2],
    /// The groups that apply, by the number of given-up constraints about other pods. Some are cached, others are
    /// rebuilt.
    uses: FxHashMap<GivenUp, Rc<Uses>>,
    /// The labels that the volumes allow; one entry without any requirement if they allow all.
    pub(crate) volume_alternatives: Vec<ReqId>,
    /// Groups that count these pods.
    pub(crate) selecting: Vec<GroupId>,
    /// Groups of these pods' required anti-affinity.
    pub(crate) declared: Vec<GroupId>,
    /// Whether all label constraints are about labels that providers set, or are exclusions; `None` until it is
    /// known.
    asks_well_known: Option<bool>,
    /// The state of the pass when a pod of this class was last refused everywhere.
    pub(crate) refused_at: Option<super::Moment>,
}

/// The constraints of a class about labels and taints, after some preferences were given up, with cached results.
/// Spread and affinity are kept apart.
#[derive(Debug, Clone, Default)]
pub(crate) struct Form {
    /// The constraints on node labels.
    pub(crate) wanted: ReqIds,
    /// Nodes that can never take the pod.
    pub(crate) dead_nodes: Bits,
    /// All nodes in words before this one are dead.
    pub(crate) first_node_word: usize,
    /// Claims that can never take the pod.
    pub(crate) dead_claims: Bits,
    /// For each sort of node, whether labels, taints and volumes fit.
    pub(crate) node_sorts: Vec<Option<bool>>,
    /// For a claim's requirements, the joined requirements of each volume alternative that fits.
    pub(crate) joins: FxHashMap<ReqId, Rc<[ReqId]>>,
}

/// A form, with the parts that all forms of the class share.
#[derive(Debug)]
pub(crate) struct Parts<'c> {
    pub(crate) requests: &'c [i64],
    pub(crate) volume_alternatives: &'c [ReqId],
    pub(crate) tolerations: Rc<[Toleration]>,
    pub(crate) form: &'c mut Form,
}

/// The tolerated taints.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tolerance {
    pub(crate) tolerations: Rc<[Toleration]>,
    /// Whether the taints of each template are tolerated.
    pub(crate) tolerates: Rc<[bool]>,
}

/// Spread and affinity of a variant.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    /// Over labels.
    pub(crate) domains: Vec<Use>,
    /// Over hosts.
    pub(crate) hosts: Vec<Use>,
}

/// A class with the preferences that are left.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    pub(crate) class: usize,
    pub(crate) form: usize,
    pub(crate) uses: Rc<Uses>,
}

/// The constraints of a pod on node labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReqIds {
    /// With the active preference.
    pub(crate) all: ReqId,
    /// Without any preference.
    pub(crate) strict: ReqId,
    /// Whether any node could satisfy them.
    pub(crate) possible: bool,
}

impl Default for ReqIds {
    fn default() -> Self {
        Self { all: ReqId::ANY, strict: ReqId::ANY, possible: true }
    }
}

/// The constraints of pods in the order in which they can be given up. First come alternatives of the node affinity
/// except the last. Then come preferred affinity, preferred anti-affinity and preferred node affinity, each
/// heaviest first. Soft spread follows, and soft taints come last.
///
/// A variant is the number of constraints given up, so the cost of a list is proportional to its length.
#[derive(Debug, Clone, Default)]
struct Wishes<'s> {
    /// At least one; without node affinity it is the term without any requirement.
    node_terms: usize,
    preferred_node: Vec<&'s Weighted<NodeTerm>>,
    prefer_no_schedule: bool,
    spread: Vec<Wish>,
    near: Vec<Wish>,
    preferred_near: Vec<Wish>,
    away: Vec<Wish>,
    preferred_away: Vec<Wish>,
    /// Anti-affinity of other pods against these.
    kept_away: Vec<Wish>,
}

/// A group that applies to the pods of a class.
#[derive(Debug, Clone, Copy)]
struct Wish {
    used: Use,
    by_host: bool,
    /// Whether it can be given up. Among affinity terms only preferred ones can.
    is_soft: bool,
}

/// The number of given-up constraints about other pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct GivenUp {
    near: usize,
    away: usize,
    spread: usize,
}

/// How many uses of all variants of a class are cached. Ordinary pods need only a few. The value was chosen to
/// bound memory and not measured separately.
const USES_KEPT_MAX: usize = 4_096;

/// Up to this many uses, duplicates are found by comparing all pairs. The value was chosen and not measured
/// separately.
const FEW_USES: usize = 8;

impl<'s> Wishes<'s> {
    fn of(
        ctx: ClassContext<'_, 's>,
        pod: &'s Pod,
        labels: &mut LabelSpace,
        topology: &mut Topology,
    ) -> Self {
        let spec = &*pod.spec;
        let respect = ctx.policy == PreferencePolicy::Respect;
        let soft_taint = |taint: &Taint| taint.effect == Effect::PreferNoSchedule;
        let mut wishes = Self {
            node_terms: spec.node_affinity.len().max(1),
            preferred_node: heaviest_first(&spec.preferred_node_affinity, respect),
            prefer_no_schedule: ctx
                .templates
                .iter()
                .any(|template| template.pool.taints.iter().any(soft_taint)),
            ..Self::default()
        };
        let wish = |group: GroupId, is_soft: bool, topology: &Topology| {
            let by_host = topology.group(group).key() == Key::HOSTNAME;
            Wish { used: Use { group, selects_self: false }, by_host, is_soft }
        };
        let mut filters = Filters::new(spec);
        for constraint in &spec.spread {
            let is_soft = constraint.when_unsatisfiable == WhenUnsatisfiable::ScheduleAnyway;
            if respect || !is_soft {
                let group = topology.spread(constraint, pod, &mut filters, labels);
                wishes.spread.push(wish(group, is_soft, topology));
            }
        }
        let mut each = |kind: Kind, terms: &[&AffinityTerm]| {
            let group = |term: &&AffinityTerm| {
                let group = topology.affinity(kind, term, &pod.namespace, ctx.snapshot, labels);
                wish(group, false, topology)
            };
            terms.iter().map(group).collect::<Vec<_>>()
        };
        let required = |terms: &'s [AffinityTerm]| terms.iter().collect::<Vec<_>>();
        let preferred = |terms: &'s [Weighted<AffinityTerm>]| {
            let sorted = heaviest_first(terms, respect).into_iter();
            sorted.map(|weighted| &weighted.term).collect::<Vec<_>>()
        };
        wishes.near = each(Kind::Affinity, &required(&spec.affinity));
        wishes.preferred_near = each(Kind::Affinity, &preferred(&spec.preferred_affinity));
        wishes.away = each(Kind::AntiAffinity, &required(&spec.anti_affinity));
        wishes.preferred_away = each(Kind::AntiAffinity, &preferred(&spec.preferred_anti_affinity));
        wishes
    }

    /// The number of forms. The last one has no preference left.
    fn forms(&self) -> usize {
        self.node_terms + self.preferred_node.len() + usize::from(self.prefer_no_schedule)
    }

    /// How many constraints about other pods can be given up before the first preference about nodes, and after the
    /// last.
    fn steps(&self, form: usize) -> usize {
        let last_term = self.node_terms - 1;
        let others = self.preferred_near.len() + self.preferred_away.len();
        let soft = self.soft_spreads();
        let (is_last_term, is_last) =
            (form == last_term, form == last_term + self.preferred_node.len());
        usize::from(is_last_term) * others + usize::from(is_last) * soft
    }

    fn soft_spreads(&self) -> usize {
        self.spread.iter().filter(|wish| wish.is_soft).count()
    }

    /// The given-up constraints about other pods in a form, at one of its steps.
    fn given_up(&self, form: usize, step: usize) -> GivenUp {
        let last_term = self.node_terms - 1;
        let (near, away) = (self.preferred_near.len(), self.preferred_away.len());
        match form.cmp(&last_term) {
            Ordering::Less => GivenUp::default(),
            Ordering::Equal => GivenUp {
                near: step.min(near),
                away: step.saturating_sub(near).min(away),
                spread: step.saturating_sub(near + away),
            },
            Ordering::Greater => {
                let is_over = form > last_term + self.preferred_node.len();
                GivenUp { near, away, spread: if is_over { self.soft_spreads() } else { step } }
            }
        }
    }

    /// All groups that apply when nothing is given up.
    fn all(&self) -> impl Iterator<Item = &Wish> {
        let near = self.near.iter().chain(&self.preferred_near);
        let away = self.away.iter().chain(&self.preferred_away);
        self.spread.iter().chain(near).chain(away).chain(&self.kept_away)
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Wish> {
        let near = self.near.iter_mut().chain(&mut self.preferred_near);
        let away = self.away.iter_mut().chain(&mut self.preferred_away);
        self.spread.iter_mut().chain(near).chain(away).chain(&mut self.kept_away)
    }

    fn uses(&self, given_up: GivenUp) -> Uses {
        let near = self.near.iter().chain(&self.preferred_near[given_up.near..]);
        let away = self.away.iter().chain(&self.preferred_away[given_up.away..]);
        let spread = self.spread_without(given_up.spread);
        let mut uses = Uses::default();
        let mut seen = FxHashSet::default();
        for wish in spread.iter().chain(near).chain(away).chain(&self.kept_away) {
            let list = if wish.by_host { &mut uses.hosts } else { &mut uses.domains };
            let is_known = if list.len() < FEW_USES {
                list.iter().any(|known| known.group == wish.used.group)
            } else {
                if list.len() == FEW_USES {
                    seen.extend(list.iter().map(|known| known.group));
                }
                !seen.insert(wish.used.group)
            };
            if !is_known {
                list.push(wish.used);
            }
        }
        uses
    }

    /// Spread constraints without the first `gone` soft ones. The last constraint takes the position of the removed
    /// one.
    fn spread_without(&self, gone: usize) -> Vec<Wish> {
        let mut left = self.spread.clone();
        let mut at = 0;
        for _ in 0..gone {
            while left.get(at).is_some_and(|wish| !wish.is_soft) {
                at += 1;
            }
            if at < left.len() {
                left.swap_remove(at);
            }
        }
        left
    }

    /// The label constraints of a form.
    fn requirements(&self, form: usize, spec: &PodSpec, labels: &mut LabelSpace) -> ReqIds {
        let last_term = self.node_terms - 1;
        let required: &[RequirementSpec] =
            spec.node_affinity.get(form.min(last_term)).map_or(&[], |term| &term.expressions);
        let preferred: &[RequirementSpec] = self
            .preferred_node
            .get(form.saturating_sub(last_term))
            .map_or(&[], |weighted| &weighted.term.expressions);
        let mut strict = Requirements::from_labels(&spec.node_selector);
        let mut all = strict.clone();
        let possible = narrow(&mut all, preferred)
            & narrow(&mut all, required)
            & narrow(&mut strict, required);
        ReqIds { all: labels.encode(&all), strict: labels.encode(&strict), possible }
    }
}

/// Narrows `all` by `specs`. The result is whether a node with the labels can satisfy them together.
///
/// COMPAT: upstream treats two requirements without a common value as the requirement that the label be absent. It
/// then places the pod where the label is unknown.
pub(crate) fn narrow(all: &mut Requirements, specs: &[RequirementSpec]) -> bool {
    let mut possible = true;
    for spec in specs {
        let one = Requirements::from_specs([spec]);
        let absent = matches!(spec.operator, Operator::DoesNotExist | Operator::NotIn);
        let nothing = |requirement: &Requirement| requirement.operator() == Operator::DoesNotExist;
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

/// All classes of a pass, and the class of each pod.
#[derive(Debug, Clone)]
pub(crate) struct Classes<'s> {
    pub(crate) all: Vec<Class<'s>>,
    /// By the pod's number.
    pub(crate) of_pod: Vec<u32>,
}

/// The input for classes.
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
    /// Assigns the pods in `considered` to classes and creates their groups.
    pub(crate) fn new(
        ctx: ClassContext<'_, 's>,
        considered: &[u32],
        labels: &mut LabelSpace,
        topology: &mut Topology,
    ) -> Self {
        let selected_keys = selected_keys(ctx, considered);
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

    /// Determines which groups apply to which class, once every group is known.
    pub(crate) fn meet_groups(&mut self, topology: &Topology) {
        for class in &mut self.all {
            class.meet_groups(topology);
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
        mention(spec, labels);
        let wishes = Wishes::of(ctx, pod, labels, topology);
        let alternatives = &pod.volumes.alternatives;
        let lenient = spec.tolerations.iter().cloned().chain([Toleration::prefer_no_schedule()]);
        Self {
            example: pod,
            requests: ctx.columns.row(&spec.requests),
            forms: vec![None; wishes.forms()],
            wishes,
            tolerance: [
                Tolerance::of(spec.tolerations.as_slice().into(), ctx.templates),
                Tolerance::of(lenient.collect(), ctx.templates),
            ],
            uses: FxHashMap::default(),
            volume_alternatives: if alternatives.is_empty() {
                vec![ReqId::ANY]
            } else {
                alternatives.iter().map(|alternative| labels.encode(alternative)).collect()
            },
            selecting: Vec::new(),
            declared: topology.declared(pod, ctx.snapshot, labels),
            asks_well_known: None,
            refused_at: None,
        }
    }

    fn meet_groups(&mut self, topology: &Topology) {
        self.selecting = topology.selecting(&self.example.namespace, &self.example.labels);
        let keeping_away =
            self.selecting.iter().filter(|id| topology.group(**id).kind() == Kind::KeptAway);
        self.wishes.kept_away = keeping_away
            .map(|group| Wish {
                used: Use { group: *group, selects_self: false },
                by_host: topology.group(*group).key() == Key::HOSTNAME,
                is_soft: false,
            })
            .collect();
        for wish in self
            .wishes
            .all_mut()
            .filter(|wish| topology.group(wish.used.group).kind() != Kind::KeptAway)
        {
            wish.used.selects_self = self.selecting.binary_search(&wish.used.group).is_ok();
        }
    }

    /// Whether spread, affinity or another pod's anti-affinity applies to these pods.
    pub(crate) fn minds_others(&self) -> bool {
        self.wishes.all().next().is_some()
    }

    /// The number of constraints of these pods, and of other pods about them.
    pub(crate) fn wishes(&self) -> usize {
        let Wishes { spread, near, preferred_near, away, preferred_away, kept_away, .. } =
            &self.wishes;
        let lists = [spread, near, preferred_near, away, preferred_away, kept_away];
        lists.into_iter().map(Vec::len).sum::<usize>() + self.forms.len()
    }

    /// The number of forms, in the order in which they are tried.
    pub(crate) fn forms(&self) -> usize {
        self.forms.len()
    }

    /// The number of variants of a form. Each further one gives up one more constraint about other pods and nothing
    /// else, so it has a place if the previous one has.
    pub(crate) fn variants(&self, form: usize) -> usize {
        self.wishes.steps(form) + 1
    }

    /// The groups that apply at a step of a form.
    pub(crate) fn uses(&mut self, form: usize, step: usize, work: &Meter) -> Rc<Uses> {
        let given_up = self.wishes.given_up(form, step);
        if let Some(known) = self.uses.get(&given_up) {
            return Rc::clone(known);
        }
        let uses = Rc::new(self.wishes.uses(given_up));
        let size = uses.domains.len() + uses.hosts.len();
        work.count(size);
        if self.uses.len() * size > USES_KEPT_MAX {
            self.uses.clear();
        }
        self.uses.insert(given_up, Rc::clone(&uses));
        uses
    }

    /// The groups that apply when all preferences are given up.
    pub(crate) fn strict_uses(&mut self, work: &Meter) -> Rc<Uses> {
        let last = self.forms.len() - 1;
        self.uses(last, self.wishes.steps(last), work)
    }

    /// The constraints about labels and taints, with the parts that all forms share.
    pub(crate) fn parts(&mut self, form: usize, labels: &mut LabelSpace) -> Parts<'_> {
        self.form(form, labels);
        let tolerations = Rc::clone(&self.tolerance(form).tolerations);
        let Self { requests, volume_alternatives, forms, .. } = self;
        let form = forms[form].get_or_insert_default();
        Parts { requests, volume_alternatives, tolerations, form }
    }

    /// The constraints about labels and taints.
    pub(crate) fn form(&mut self, form: usize, labels: &mut LabelSpace) -> &mut Form {
        let Self { forms, wishes, example, .. } = self;
        forms[form].get_or_insert_with(|| {
            let wanted = wishes.requirements(form, &example.spec, labels);
            Box::new(Form { wanted, ..Form::default() })
        })
    }

    /// The last form that any node could satisfy, if there is one.
    pub(crate) fn last_possible(&mut self, labels: &mut LabelSpace) -> Option<usize> {
        (0..self.forms.len()).rev().find(|form| self.form(*form, labels).wanted.possible)
    }

    /// The forms that were built.
    pub(crate) fn known_forms(&self) -> impl Iterator<Item = &Form> {
        self.forms.iter().flatten().map(Box::as_ref)
    }

    pub(crate) fn known_form_mut(&mut self, form: usize) -> Option<&mut Form> {
        self.forms.get_mut(form)?.as_deref_mut()
    }

    /// The tolerated taints of a form.
    pub(crate) fn tolerance(&self, form: usize) -> &Tolerance {
        let is_lenient = self.wishes.prefer_no_schedule && form + 1 == self.forms.len();
        &self.tolerance[usize::from(is_lenient)]
    }

    /// Determines whether all label constraints are about labels that providers set, once all forms have been
    /// tried.
    pub(crate) fn learn_what_is_asked(&mut self, labels: &LabelSpace) {
        if self.asks_well_known.is_none() && self.forms.iter().all(Option::is_some) {
            let all = self.known_forms().all(|form| labels.only_well_known(form.wanted.all));
            self.asks_well_known = Some(all);
        }
    }

    /// Whether all label constraints are about labels that providers set, or are exclusions.
    pub(crate) fn asks_well_known(&self) -> bool {
        self.asks_well_known == Some(true)
    }
}

impl Tolerance {
    fn of(tolerations: Rc<[Toleration]>, templates: &[Template<'_>]) -> Self {
        let tolerated = |template: &Template<'_>| {
            first_untolerated(&template.pool.taints, &tolerations).is_none()
        };
        Self { tolerates: templates.iter().map(tolerated).collect(), tolerations }
    }
}

/// Registers the labels that pods may name. Only these labels of nodes are read, and nodes are read before forms
/// are built.
fn mention(spec: &PodSpec, labels: &mut LabelSpace) {
    let preferred = spec.preferred_node_affinity.iter().map(|weighted| &weighted.term);
    let expressions = spec.node_affinity.iter().chain(preferred).flat_map(|term| &term.expressions);
    for expression in expressions {
        let key = labels.key(&expression.key);
        if key == Key::HOSTNAME {
            expression.values.iter().for_each(|value| {
                labels.value(key, value);
            });
        }
    }
    for (key, value) in &spec.node_selector {
        let key = labels.key(key);
        if key == Key::HOSTNAME {
            labels.value(key, value);
        }
    }
}

/// The label keys that any selector reads. Pods that differ only in other labels are in one class.
fn selected_keys<'s>(ctx: ClassContext<'_, 's>, considered: &[u32]) -> FxHashSet<&'s str> {
    let mut keys = FxHashSet::default();
    let mut visited: FxHashSet<*const PodSpec> = FxHashSet::default();
    let of_terms = |keys: &mut FxHashSet<&'s str>, terms: &'s [AffinityTerm]| {
        let selectors = terms.iter().filter_map(|term| term.selector.as_ref());
        keys.extend(selectors.flat_map(LabelSelector::keys));
    };
    for spec in considered.iter().map(|pod| &*ctx.pods.get(*pod).spec) {
        if !visited.insert(&raw const *spec) {
            continue;
        }
        of_terms(&mut keys, &spec.affinity);
        of_terms(&mut keys, &spec.anti_affinity);
        for weighted in spec.preferred_affinity.iter().chain(&spec.preferred_anti_affinity) {
            of_terms(&mut keys, std::slice::from_ref(&weighted.term));
        }
        let spread = spec.spread.iter().filter_map(|constraint| constraint.selector.as_ref());
        keys.extend(spread.flat_map(LabelSelector::keys));
        keys.extend(
            spec.spread
                .iter()
                .flat_map(|constraint| &constraint.match_label_keys)
                .map(String::as_str),
        );
    }
    // Of pods that stay, only those with anti-affinity matter.
    for pod in ctx.snapshot.nodes.iter().flat_map(|node| &node.pods) {
        if !pod.spec.anti_affinity.is_empty() && visited.insert(&raw const *pod.spec) {
            of_terms(&mut keys, &pod.spec.anti_affinity);
        }
    }
    keys
}
