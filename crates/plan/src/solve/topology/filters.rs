//! Which instances count for a spread constraint.

use joiner_core::{
    pod::PodSpec,
    snapshot::Node,
    taint::{Effect, Taint, Toleration, first_untolerated},
};

use super::Topology;
use crate::solve::labels::{LabelSpace, ReqId};

/// A filter, by number. Equal filters have equal numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FilterId(pub(super) u32);

impl FilterId {
    /// The filter that excludes no instance.
    pub(super) const OPEN: Self = Self(0);
}

/// Which instances count.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Filter {
    /// Instances that satisfy any of these count. If empty, all do.
    terms: Vec<ReqId>,
    /// Instances whose taints these tolerate count. If `None`, all do.
    pub(super) tolerations: Option<Vec<Toleration>>,
}

/// The filters of the spread constraints of one specification, each created once.
#[derive(Debug)]
pub(crate) struct Filters<'s> {
    spec: &'s PodSpec,
    /// By whether node affinity and taints are honored.
    made: [[Option<FilterId>; 2]; 2],
}

impl<'s> Filters<'s> {
    pub(crate) fn new(spec: &'s PodSpec) -> Self {
        Self { spec, made: [[None; 2]; 2] }
    }

    pub(super) fn filter(
        &mut self,
        [affinity, taints]: [bool; 2],
        topology: &mut Topology,
        labels: &mut LabelSpace,
    ) -> FilterId {
        let Self { spec, made } = self;
        *made[usize::from(affinity)][usize::from(taints)].get_or_insert_with(|| {
            let mut filter = Filter::default();
            if affinity {
                let alternatives = spec.requirement_alternatives();
                filter.terms = alternatives.iter().map(|term| labels.encode(term)).collect();
                filter.terms.sort_unstable();
                filter.terms.dedup();
                if filter.terms.contains(&ReqId::ANY) {
                    filter.terms.clear();
                }
            }
            filter.tolerations = taints.then(|| spec.tolerations.clone());
            topology.intern_filter(filter)
        })
    }
}

impl Filter {
    pub(super) fn accepts(
        &self,
        requirements: ReqId,
        taints: &[Taint],
        labels: &LabelSpace,
    ) -> bool {
        // COMPAT: every label must be known here, even if a provider would set it (D24).
        self.may_meet(requirements, false, labels)
            && self
                .tolerations
                .as_ref()
                .is_none_or(|tolerations| first_untolerated(taints, tolerations).is_none())
    }

    /// Whether the filter excludes no instance.
    pub(super) fn is_open(&self) -> bool {
        self.terms.is_empty() && self.tolerations.is_none()
    }

    /// Whether an instance with these requirements may satisfy the terms. With `well_known_open`, labels that a
    /// provider sets may still be added.
    fn may_meet(&self, requirements: ReqId, well_known_open: bool, labels: &LabelSpace) -> bool {
        let meets = |term: &ReqId| labels.compatible(requirements, *term, well_known_open);
        self.terms.is_empty() || self.terms.iter().any(meets)
    }

    /// Whether the scheduler would count an instance with these taints. It ignores soft taints.
    fn may_tolerate(&self, taints: &[Taint]) -> bool {
        let tolerated = |taint: &Taint, tolerations: &[Toleration]| {
            taint.effect == Effect::PreferNoSchedule
                || tolerations.iter().any(|toleration| toleration.tolerates(taint))
        };
        self.tolerations
            .as_ref()
            .is_none_or(|tolerations| taints.iter().all(|taint| tolerated(taint, tolerations)))
    }

    /// Whether a new instance may count.
    pub(super) fn may_count(
        &self,
        requirements: ReqId,
        taints: &[Taint],
        labels: &LabelSpace,
    ) -> bool {
        self.may_meet(requirements, true, labels) && self.may_tolerate(taints)
    }

    /// Whether a node may count, now or once it is ready.
    pub(super) fn may_count_node(
        &self,
        node: &Node,
        requirements: ReqId,
        labels: &LabelSpace,
    ) -> bool {
        let counts_now = node.node.is_some()
            && self.may_meet(requirements, false, labels)
            && self.may_tolerate(&node.object_taints);
        let is_ready = node.node.is_some() && node.initialized;
        counts_now || (!is_ready && self.may_count(requirements, &node.taints, labels))
    }

    /// Whether a node is certain to count.
    pub(super) fn counts_node(
        &self,
        node: &Node,
        requirements: ReqId,
        labels: &LabelSpace,
    ) -> bool {
        self.is_open()
            || (node.node.is_some() && self.accepts(requirements, &node.object_taints, labels))
    }
}
