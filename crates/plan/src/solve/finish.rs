//! From a solved pass to a plan.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use joiner_core::{
    label::{self, Labels},
    plan::{ExistingPlacement, Plan, PlannedClaim, Unplaced},
    pod::Pod,
    reason::{Reason, ReasonId},
    requirement::{Requirement, RequirementSpec},
    resources::Resources,
    settings::MinValuesPolicy,
};
use rustc_hash::FxHashMap;

use super::{
    Refusal, Refused, Solver, bits::Bits, labels::ReqId, nodes::Candidate, template::Template,
};
use crate::static_claim::{self, claim_labels};

/// The parts that claims of one template share if their requirements and types are equal.
#[derive(Debug, Clone)]
struct Shape {
    instance_types: Arc<[String]>,
    requirements: Arc<[RequirementSpec]>,
    labels: Arc<Labels>,
    /// With `minValues` kept, and with `minValues` lowered.
    annotations: [Arc<Labels>; 2],
    daemon_overhead: Resources,
    price: f64,
    /// Keys whose `minValues` the truncated list of types no longer reaches, with the number of values left.
    short_of_min_values: Vec<(String, u32)>,
}

/// Types and their price, cheapest first.
type ByPrice = Arc<[(f64, usize)]>;

/// Converts claims, and shares their common parts.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    finished: FxHashMap<(usize, ReqId, Bits), Shape>,
    /// Types by price, per template and requirements.
    by_price: FxHashMap<(usize, ReqId), ByPrice>,
    taints: FxHashMap<usize, [Arc<[joiner_core::taint::Taint]>; 2]>,
}

impl Shapes {
    /// How many shapes are cached. A shape lists every type by name. Thousands of them would take more memory than
    /// rebuilding some takes time. The value was chosen and not measured separately.
    const KEPT_MAX: usize = 200;

    /// Clears the cache if it is too large.
    pub(crate) fn tidy(&mut self) {
        if self.finished.len() > Self::KEPT_MAX {
            *self = Self::default();
        }
    }
}

impl<'s> Solver<'s> {
    /// Converts the placements to a plan, with the reasons of the pods without a place.
    pub(crate) fn finish(mut self, refused: &Refused) -> Plan {
        let mut plan = Plan::default();
        (plan.claims, plan.unschedulable) =
            self.finish_claims(0..self.claims.len(), &mut Shapes::default());
        for candidate in self.nodes.active().filter(|candidate| !candidate.pods.is_empty()) {
            plan.existing.push(self.placement(candidate, &candidate.pods));
        }
        let mut known: FxHashMap<(u32, Refusal), Vec<Reason>> = FxHashMap::default();
        for (pod, refusal) in refused {
            let class = self.classes.of_pod[*pod as usize];
            let waits = *refusal != Refusal::NoPlace;
            // The reasons are equal for all pods of a class, except for pods that attach volumes.
            let reasons = if self.pod(*pod).volumes.attached.is_empty() {
                known
                    .entry((class, *refusal))
                    .or_insert_with(|| self.reasons(*pod, *refusal))
                    .clone()
            } else {
                self.reasons(*pod, *refusal)
            };
            let unplaced = unplaced(self.pod(*pod).key(), reasons);
            if waits { plan.deferred.push(unplaced) } else { plan.unschedulable.push(unplaced) }
        }
        plan
    }

    /// The finished claims, and the pods of claims that cannot be created after all.
    pub(super) fn finish_claims(
        &mut self,
        claims: Range<usize>,
        shapes: &mut Shapes,
    ) -> (Vec<PlannedClaim>, Vec<Unplaced>) {
        let (mut finished, mut left_out) = (Vec::with_capacity(claims.len()), Vec::new());
        for index in claims {
            let (claim, short) = self.finish_claim(index, shapes);
            if short.is_empty() || self.settings.min_values == MinValuesPolicy::BestEffort {
                finished.push(claim);
                continue;
            }
            let reason = self.cut_short(&claim.node_pool, &short[0]);
            let pods = claim.pods.into_iter();
            left_out.extend(pods.map(|pod| unplaced(pod, vec![reason.clone()])));
        }
        (finished, left_out)
    }

    /// Pods on an existing instance.
    pub(super) fn placement(&self, candidate: &Candidate<'_>, pods: &[u32]) -> ExistingPlacement {
        ExistingPlacement {
            node: candidate.node.node.clone().unwrap_or_default(),
            node_claim: candidate.node.claim.clone().unwrap_or_default(),
            pods: pods.iter().map(|pod| self.pod(*pod).key()).collect(),
        }
    }

    fn cut_short(&self, pool: &str, (key, achieved): &(String, u32)) -> Reason {
        let template = self.templates.iter().find(|template| template.pool.name == pool);
        let min = template
            .and_then(|template| {
                self.labels.get(template.requirements, self.labels.known_key(key)?)
            })
            .and_then(super::labels::Req::min_values)
            .unwrap_or_default();
        let message = format!(
            "pod didn't schedule because pool {pool:?} couldn't meet minValues requirements: the {} cheapest types have \
             {achieved} values of {key}, {min} are wanted",
            self.settings.instance_types_max
        );
        Reason::new(ReasonId::MinValuesUnmet, message)
            .in_pool(pool)
            .with("key", key)
            .with("minValues", min)
            .with("achieved", achieved)
    }

    pub(crate) fn pod(&self, index: u32) -> &'s Pod {
        self.pods.get(index)
    }

    fn finish_claim(
        &mut self,
        index: usize,
        shapes: &mut Shapes,
    ) -> (PlannedClaim, Vec<(String, u32)>) {
        let claim = self.claims.get(index);
        let (template_index, requirements) = (claim.template, claim.requirements);
        let template = &mut self.templates[template_index];
        let mut rows =
            template.remaining(requirements, claim.rows, self.claims.requests(index), &self.labels);
        if template.has_volume_limits {
            let attached = claim.volumes.iter().map(|(driver, claims)| (*driver, claims.len()));
            rows = template.with_volumes(&rows, &attached.collect());
        }
        let mut requirements = requirements;
        if let Some(key) = self.reservations.key().filter(|_| !claim.reserved.is_empty()) {
            // A claim that holds reserved capacity must be launched into it, whatever else its requirements allow.
            let mut all = self.labels.decode(requirements);
            all.set(label::CAPACITY_TYPE, Requirement::one_of([label::CAPACITY_TYPE_RESERVED]));
            let ids = claim.reserved.iter().map(|id| self.labels.value_name(key, *id));
            let ids = Requirement::one_of(ids);
            let name = self.labels.key_name(key).to_owned();
            all.add(&name, ids);
            requirements = self.labels.encode(&all);
        }
        let slot = (template_index, requirements, rows);
        if !shapes.finished.contains_key(&slot) {
            let shape = self.shape(template_index, requirements, &slot.2, shapes);
            shapes.finished.insert(slot.clone(), shape);
        }
        let shape = &shapes.finished[&slot];
        let claim = self.claims.get(index);
        let pool = self.templates[template_index].pool;
        let [taints, startup_taints] = shapes
            .taints
            .entry(template_index)
            .or_insert_with(|| {
                [pool.taints.as_slice().into(), pool.startup_taints.as_slice().into()]
            })
            .clone();
        let mut requests = Resources::new();
        for pod in &claim.pods {
            requests.add(&self.pods.get(*pod).spec.requests);
        }
        requests.add(&shape.daemon_overhead);
        let planned = PlannedClaim {
            node_pool: pool.name.clone(),
            pods: claim.pods.iter().map(|pod| self.pod(*pod).key()).collect(),
            instance_types: Arc::clone(&shape.instance_types),
            requirements: Arc::clone(&shape.requirements),
            requests,
            labels: Arc::clone(&shape.labels),
            annotations: Arc::clone(&shape.annotations[usize::from(claim.min_values_relaxed)]),
            taints,
            startup_taints,
            price: shape.price,
        };
        (planned, shape.short_of_min_values.clone())
    }

    fn shape(
        &self,
        template_index: usize,
        requirements: ReqId,
        rows: &Bits,
        shapes: &mut Shapes,
    ) -> Shape {
        let template = &self.templates[template_index];
        let order = shapes
            .by_price
            .entry((template_index, requirements))
            .or_insert_with(|| self.types_by_price(template, requirements));
        let left: Bits = template.types_of(rows).into_iter().collect();
        let kept: Vec<(f64, usize)> = order
            .iter()
            .copied()
            .filter(|(_, position)| left.contains(*position))
            .take(self.settings.instance_types_max)
            .collect();
        let types: Vec<usize> = kept.iter().map(|(_, position)| *position).collect();
        let name = |position: &usize| template.types[*position].instance_type.name.clone();
        let instance_types: Arc<[String]> = types.iter().map(name).collect();

        let mut all = self.labels.decode(requirements);
        for assumed in [label::HOSTNAME, label::REGISTERED, label::INITIALIZED] {
            all.remove(assumed);
        }
        all.add(label::INSTANCE_TYPE, Requirement::one_of(instance_types.iter().cloned()));
        let capacity_types = self.capacity_types(template, requirements, &types);
        if !capacity_types.is_empty() {
            all.add(label::CAPACITY_TYPE, Requirement::one_of(capacity_types));
        }
        Shape {
            labels: Arc::new(claim_labels(template.pool, &all, &self.snapshot.catalog.well_known)),
            annotations: [false, true]
                .map(|relaxed| Arc::new(claim_annotations(template, &types, relaxed))),
            daemon_overhead: daemon_overhead(template, &types),
            price: kept
                .first()
                .map_or(0.0, |(price, _)| if price.is_finite() { *price } else { 0.0 }),
            short_of_min_values: template
                .short_of_min_values(requirements, &types, &self.labels)
                .into_iter()
                .map(|(key, achieved)| (self.labels.key_name(key).to_owned(), achieved))
                .collect(),
            requirements: all.to_specs().into(),
            instance_types,
        }
    }

    /// Types by the price of their cheapest offering that satisfies the requirements; equal ones by name.
    fn types_by_price(&self, template: &Template<'_>, requirements: ReqId) -> ByPrice {
        let mut order: Vec<(f64, usize)> = template
            .types
            .iter()
            .enumerate()
            .map(|(position, info)| {
                let offerings = info.instance_type.offerings.iter().zip(&info.offerings);
                let price = offerings
                    .filter(|(offering, needs)| {
                        offering.available && self.labels.compatible(requirements, **needs, true)
                    })
                    .map(|(offering, _)| offering.price)
                    .fold(f64::INFINITY, f64::min);
                (price, position)
            })
            .collect();
        let name = |position: usize| &template.types[position].instance_type.name;
        order.sort_by(|left, right| {
            left.0.total_cmp(&right.0).then_with(|| name(left.1).cmp(name(right.1)))
        });
        order.into()
    }

    fn capacity_types(
        &self,
        template: &Template<'_>,
        requirements: ReqId,
        types: &[usize],
    ) -> Vec<String> {
        let mut found = BTreeSet::new();
        for info in types.iter().map(|position| &template.types[*position]) {
            for (offering, needs) in info.instance_type.offerings.iter().zip(&info.offerings) {
                let capacity_type = offering
                    .requirements
                    .get(label::CAPACITY_TYPE)
                    .and_then(|required| required.single());
                if let Some(capacity_type) = capacity_type
                    && !found.contains(capacity_type)
                    && offering.available
                    && self.labels.compatible(requirements, *needs, true)
                {
                    found.insert(capacity_type);
                }
            }
        }
        found.into_iter().map(str::to_owned).collect()
    }
}

fn claim_annotations(template: &Template<'_>, types: &[usize], min_values_relaxed: bool) -> Labels {
    let mut annotations = static_claim::claim_annotations(template.pool);
    let mut set = |key: &str, value: &str| annotations.insert(key.to_owned(), value.to_owned());
    set(label::MIN_VALUES_RELAXED, if min_values_relaxed { "true" } else { "false" });
    let types = || types.iter().map(|position| template.types[*position].instance_type);
    if types().any(|instance_type| instance_type.price_overlaid) {
        set(label::PRICE_OVERLAY_APPLIED, "true");
    }
    if types().any(|instance_type| instance_type.capacity_overlaid) {
        set(label::CAPACITY_OVERLAY_APPLIED, "true");
    }
    annotations
}

/// The least that daemons will use on any of the types.
///
/// COMPAT: a type without daemons counts as zero. Upstream's answer then depends on the order of a map (D28).
fn daemon_overhead(template: &Template<'_>, types: &[usize]) -> Resources {
    let mut overheads = types.iter().map(|position| &template.types[*position].daemon_overhead);
    let first = overheads.next().cloned().unwrap_or_default();
    overheads.fold(first, |least, overhead| least.lower(overhead))
}

/// A pod without a place.
pub(crate) fn unplaced(pod: String, reasons: Vec<Reason>) -> Unplaced {
    let message = reasons
        .first()
        .map_or_else(|| "no pool can serve it".to_owned(), |reason| reason.message.clone());
    Unplaced { pod, message, reasons }
}
