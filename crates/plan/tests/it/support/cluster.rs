//! Clusters that act on plans: instances start, pods run.

use std::{collections::BTreeMap, sync::Arc};

use joiner_core::{
    instance_type::{Catalog, InstanceType, Offering},
    label,
    plan::PlannedClaim,
    pod::{Pod, Role},
    requirement::Requirements,
    settings::PlanSettings,
    snapshot::{Node, Snapshot},
    testing::SnapshotBuilder,
};

use super::{plan, text::tell};

/// A cluster that lives through several passes.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) snapshot: Snapshot,
    settings: PlanSettings,
    started: usize,
}

impl Cluster {
    pub(crate) fn new(snapshot: SnapshotBuilder) -> Self {
        Self { snapshot: snapshot.build(), settings: PlanSettings::default(), started: 0 }
    }

    /// Plans for `pods` and those that still wait, then starts the instances and the pods of the
    /// plan. Instances are named `m1`, `m2` and so on.
    pub(crate) fn pass<P: Into<Pod>>(&mut self, pods: impl IntoIterator<Item = P>) -> String {
        self.snapshot.pods.extend(pods.into_iter().map(Into::into));
        let planned = plan(&self.snapshot, &self.settings);
        let told = tell(&self.snapshot, &planned);
        let mut pending: BTreeMap<String, Pod> =
            self.snapshot.pods.drain(..).map(|pod| (pod.key(), pod)).collect();
        let mut start = |keys: &[String]| -> Vec<Pod> {
            let pods = keys.iter().map(|key| pending.remove(key).expect("planned once"));
            pods.map(running).collect()
        };
        for existing in &planned.plan.existing {
            let mut nodes = self.snapshot.nodes.iter_mut();
            let node =
                nodes.find(|node| node.name() == existing.name()).expect("a node of the snapshot");
            node.pods.extend(start(&existing.pods));
        }
        for claim in &planned.plan.claims {
            self.started += 1;
            let name = format!("m{}", self.started);
            let (mut node, reservation) = instance(&self.snapshot.catalog, claim, &name);
            node.node = Some(name);
            node.initialized = true;
            node.pods = start(&claim.pods);
            self.snapshot.nodes.push(node);
            if let Some(id) = reservation {
                use_up(&mut self.snapshot.catalog, &id);
            }
        }
        self.snapshot.pods = pending.into_values().collect();
        told
    }

    /// Plans for the pods that still wait, as in [`Cluster::pass`].
    pub(crate) fn pass_again(&mut self) -> String {
        self.pass([] as [Pod; 0])
    }

    /// How many pods, daemons aside, run in each domain, and how many wait.
    pub(crate) fn skew(&self, key: &str) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for node in &self.snapshot.nodes {
            let count = node.pods.iter().filter(|pod| !is_daemon(pod)).count();
            if count > 0 {
                *counts.entry(node.labels.get(key).map_or("?", String::as_str)).or_default() +=
                    count;
            }
        }
        let mut told: Vec<String> =
            counts.into_iter().map(|(domain, count)| format!("{domain}={count}")).collect();
        if !self.snapshot.pods.is_empty() {
            told.push(format!("waiting={}", self.snapshot.pods.len()));
        }
        told.join(" ")
    }

    /// Ends the pods for which `ends` holds.
    pub(crate) fn end(&mut self, ends: impl Fn(&Node, &Pod) -> bool) {
        for node in &mut self.snapshot.nodes {
            let mut pods = std::mem::take(&mut node.pods);
            pods.retain(|pod| !ends(node, pod));
            node.pods = pods;
        }
    }
}

fn is_daemon(pod: &Pod) -> bool {
    matches!(&pod.role, Role::Bound { daemon_set: Some(_), .. })
}

fn running(pod: Pod) -> Pod {
    Pod { role: Role::Bound { daemon_set: None, terminating: false }, ..pod }
}

/// Plans again with every claim of the plan on its way, as its cheapest type and without its pods
/// yet: they must all go where they were meant to go, and nothing new may be asked for.
pub(crate) fn check_fixed_point(snapshot: SnapshotBuilder) {
    let mut snapshot = snapshot.build();
    let settings = PlanSettings::default();
    let first = plan(&snapshot, &settings).plan;
    for (at, claim) in first.claims.iter().enumerate() {
        let (mut node, _) = instance(&snapshot.catalog, claim, &format!("claim-{at:03}"));
        node.claim = Some(node.hostname.clone());
        snapshot.nodes.push(node);
    }
    let second = plan(&snapshot, &settings).plan;
    assert!(second.claims.is_empty(), "asked for more instances: {:#?}", second.claims);
    assert_eq!(second.placed(), first.placed(), "another number of pods has a place");
    assert_eq!(second.deferred, first.deferred);
}

/// The instance that a provider makes for a claim: of its cheapest type, in the first offering that
/// suits, reserved ones before others. Also the reservation it takes, if it does.
fn instance(catalog: &Catalog, claim: &PlannedClaim, name: &str) -> (Node, Option<String>) {
    let cheapest = claim.instance_types.first().expect("a claim has types");
    let mut types = catalog.types(&claim.node_pool).iter();
    let made = types.find(|made| made.name == *cheapest).expect("a type of the pool");
    let requirements = Requirements::from_specs(claim.requirements.iter());
    let offering = suitable(made, &requirements, catalog);
    let mut known = requirements.clone();
    known.add_all(&made.requirements);
    known.add_all(&offering.requirements);
    let mut labels = known.single_values();
    labels.extend((*claim.labels).clone());
    labels.insert(label::HOSTNAME.to_owned(), name.to_owned());
    let id = catalog.reservation_id_label.as_ref().and_then(|key| labels.get(key)).cloned();
    let node = Node {
        claim: Some(name.to_owned()),
        pool: Some(claim.node_pool.clone()),
        labels,
        hostname: name.to_owned(),
        taints: claim.taints.to_vec(),
        object_taints: claim.taints.to_vec(),
        allocatable: made.allocatable(offering),
        capacity: made.offered_capacity(offering),
        volume_limits: made.volume_limits.clone(),
        ..Node::default()
    };
    (node, id.filter(|_| offering.is_reserved()))
}

fn suitable<'t>(
    made: &'t InstanceType,
    requirements: &'t Requirements,
    catalog: &'t Catalog,
) -> &'t Offering {
    let mut offerings: Vec<&Offering> =
        made.compatible_offerings(requirements, &catalog.well_known).collect();
    offerings
        .sort_by(|a, b| b.is_reserved().cmp(&a.is_reserved()).then(a.price.total_cmp(&b.price)));
    offerings.first().expect("the cheapest type of a claim is offered")
}

/// Takes one instance from a reservation, which cannot be had any more once it is empty.
fn use_up(catalog: &mut Catalog, id: &str) {
    let key = catalog.reservation_id_label.clone().expect("reservations have a label");
    for types in catalog.by_pool.values_mut() {
        let less = types.iter().map(|each| {
            let mut each = InstanceType::clone(each);
            for offering in each.offerings.iter_mut().filter(|offering| offering.is_reserved()) {
                if offering.requirements.get(&key).and_then(|own| own.single()) == Some(id) {
                    offering.reservation_capacity -= 1;
                    offering.available = offering.reservation_capacity > 0;
                }
            }
            Arc::new(each)
        });
        *types = less.collect();
    }
}
