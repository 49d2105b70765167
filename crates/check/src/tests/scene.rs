//! A snapshot and a plan for it, as a careful planner would write it down.

use std::{collections::BTreeSet, sync::Arc};

use joiner_core::{
    instance_type::InstanceType,
    label,
    plan::{ExistingPlacement, Plan, PlannedClaim, Unplaced},
    pod::Pod,
    pool::NodePool,
    requirement::{Operator, Requirement, RequirementSpec, Requirements},
    resources::Resources,
    settings::PlanSettings,
    snapshot::Snapshot,
    testing::{SnapshotBuilder, requirement},
};

use crate::{Rule, check};

/// What a checker looks at.
#[derive(Clone)]
pub(super) struct Scene {
    pub(super) snapshot: Snapshot,
    pub(super) settings: PlanSettings,
    pub(super) plan: Plan,
}

impl Scene {
    pub(super) fn new(snapshot: SnapshotBuilder) -> Self {
        let (settings, plan) = (PlanSettings::default(), Plan::default());
        Self { snapshot: snapshot.build(), settings, plan }
    }

    /// The rules that the plan breaks.
    pub(super) fn broken(&self) -> BTreeSet<Rule> {
        check(&self.snapshot, &self.settings, &self.plan).iter().map(|each| each.rule).collect()
    }

    pub(super) fn assert_clean(&self) {
        crate::assert_clean(&self.snapshot, &self.settings, &self.plan);
    }

    pub(super) fn edit(mut self, edit: impl FnOnce(&mut Self)) -> Self {
        edit(&mut self);
        self
    }

    /// Puts pods of namespace `default` on a new claim that is no narrower than they need.
    pub(super) fn claim<const N: usize>(self, pool: &str, pods: [&str; N]) -> Self {
        self.claim_with(pool, pods, &[])
    }

    /// The same, in one zone.
    pub(super) fn claim_in<const N: usize>(self, zone: &str, pool: &str, pods: [&str; N]) -> Self {
        self.claim_with(pool, pods, &[requirement(label::ZONE, Operator::In, [zone])])
    }

    /// The same, with more requirements.
    pub(super) fn claim_with<const N: usize>(
        mut self,
        pool: &str,
        pods: [&str; N],
        more: &[RequirementSpec],
    ) -> Self {
        let pods: Vec<String> = pods.iter().map(|name| format!("default/{name}")).collect();
        let claim = draft(&self.snapshot, pool, &pods, &Requirements::from_specs(more));
        self.plan.claims.push(claim);
        self
    }

    /// Puts pods on a node that exists.
    pub(super) fn node<const N: usize>(mut self, node: &str, pods: [&str; N]) -> Self {
        let pods = pods.iter().map(|name| format!("default/{name}")).collect();
        let existing = ExistingPlacement { node: node.to_owned(), node_claim: String::new(), pods };
        self.plan.existing.push(existing);
        self
    }

    pub(super) fn unschedulable(mut self, pod: &str) -> Self {
        let pod = format!("default/{pod}");
        let message = "no instance is large enough".to_owned();
        self.plan.unschedulable.push(Unplaced { pod, message, reasons: Vec::new() });
        self
    }

    pub(super) fn claim_mut(&mut self, number: usize) -> &mut PlannedClaim {
        &mut self.plan.claims[number]
    }
}

/// The claim for `pods` in `pool`.
pub(super) fn draft(
    snapshot: &Snapshot,
    pool: &str,
    pods: &[String],
    more: &Requirements,
) -> PlannedClaim {
    let of_pool = snapshot.pools.iter().find(|each| each.name == pool).expect("the pool is there");
    let pods_there: Vec<&Pod> = pods
        .iter()
        .map(|key| snapshot.pods.iter().find(|pod| pod.key() == *key).expect("the pod is there"))
        .collect();
    let class = &of_pool.node_class;
    let class_label = label::node_class(&class.group, &class.kind);
    let mut labels = of_pool.labels.clone();
    labels.insert(label::NODE_POOL.to_owned(), pool.to_owned());
    labels.insert(class_label, class.name.clone());
    let mut requirements = Requirements::from_specs(&of_pool.requirements);
    requirements.add_all(&Requirements::from_labels(&labels));
    let template = requirements.clone();
    for pod in &pods_there {
        requirements.add_all(&pod.spec.strict_requirements(0));
        if let Some(at) = pod.volumes.alternatives.first() {
            requirements.add_all(at);
        }
    }
    requirements.add_all(more);

    let mut asked = Resources::new();
    for pod in &pods_there {
        asked.add(&pod.spec.requests);
    }
    let well_known = &snapshot.catalog.well_known;
    let mut daemons = Resources::new();
    for daemon in &snapshot.daemons {
        if template.is_compatible(&daemon.spec.strict_requirements(0), Some(well_known)) {
            daemons.add(&daemon.spec.requests);
        }
    }
    let needed = asked.plus(&daemons);
    let fits = |each: &InstanceType| {
        each.requirements.intersects(&requirements).is_ok()
            && each
                .compatible_offerings(&requirements, well_known)
                .any(|offering| needed.fits(&each.allocatable(offering)))
    };
    let mut types: Vec<&Arc<InstanceType>> =
        snapshot.catalog.types(pool).iter().filter(|each| fits(each)).collect();
    let price = |each: &InstanceType| each.cheapest(&requirements, well_known).unwrap_or(f64::MAX);
    types.sort_by(|a, b| price(a).total_cmp(&price(b)).then_with(|| a.name.cmp(&b.name)));
    let cheapest = types.first().map_or(0.0, |each| price(each));

    let names: Vec<String> = types.iter().map(|each| each.name.clone()).collect();
    let paid: BTreeSet<String> = types
        .iter()
        .flat_map(|each| each.compatible_offerings(&requirements, well_known))
        .filter_map(|offering| offering.requirements.get(label::CAPACITY_TYPE)?.any())
        .collect();
    requirements.add(label::INSTANCE_TYPE, Requirement::one_of(names.clone()));
    requirements.add(label::CAPACITY_TYPE, Requirement::one_of(paid));
    for (key, requirement) in requirements.iter() {
        if let Some(value) = requirement.any().filter(|_| !well_known.contains(key)) {
            labels.insert(key.to_owned(), value);
        }
    }
    PlannedClaim {
        node_pool: pool.to_owned(),
        pods: pods.to_vec(),
        instance_types: names.into(),
        requirements: requirements.to_specs().into(),
        requests: needed,
        labels: Arc::new(labels),
        annotations: Arc::new(annotations(of_pool)),
        taints: of_pool.taints.clone().into(),
        startup_taints: of_pool.startup_taints.clone().into(),
        price: cheapest,
    }
}

fn annotations(pool: &NodePool) -> label::Labels {
    let mut annotations = pool.annotations.clone();
    annotations.insert(label::NODE_POOL_HASH.to_owned(), pool.hash.clone());
    annotations.insert(label::NODE_POOL_HASH_VERSION.to_owned(), "v3".to_owned());
    annotations.insert(label::MIN_VALUES_RELAXED.to_owned(), "false".to_owned());
    annotations
}
