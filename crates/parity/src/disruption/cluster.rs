//! A cluster in which things are done: instances go, instances come, pods run elsewhere.

use std::{cmp::Ordering, collections::BTreeSet, sync::Arc};

use anyhow::{Context, Result};
use joiner_core::{
    disruption::Candidate,
    instance_type::{Catalog, InstanceType, Offering},
    label,
    plan::{ExistingPlacement, PlannedClaim},
    requirement::Requirements,
};
use serde_json::{Value, json};

use super::facts::{self, is_reschedulable, key, name};
use crate::{ours, scenario::Scenario};

/// When everything that exists came to be.
const LONG_AGO: &str = "2026-01-01T00:00:00Z";

/// A cluster in which things are done.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// The objects as they are by now.
    pub scenario: Scenario,
    catalog: Catalog,
    /// What the names of instances that come begin with, and how many have come.
    prefix: &'static str,
    launched: usize,
}

/// How many instances there are, and what they cost together.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Deserialize)]
pub struct Bill {
    /// How many.
    pub instances: usize,
    /// For how much.
    pub price: f64,
}

impl Cluster {
    /// The cluster of a scenario. Instances that come are called `new-1`, `new-2` and so on, as the
    /// oracle calls them.
    pub fn new(scenario: Scenario) -> Result<Self> {
        Self::with_prefix(scenario, "new")
    }

    /// The same, with another name for instances that come.
    pub fn with_prefix(scenario: Scenario, prefix: &'static str) -> Result<Self> {
        // Instances whose pool is gone have a price all the same.
        let of_instances =
            scenario.of_kind("NodeClaim").map(|claim| facts::label(claim, label::NODE_POOL));
        let pools: BTreeSet<&str> =
            scenario.of_kind("NodePool").map(name).chain(of_instances).collect();
        let catalog = ours::types(&scenario)?.catalog(pools);
        Ok(Self { scenario, catalog, prefix, launched: 0 })
    }

    /// An object by its kind and name.
    pub fn find(&self, kind: &str, wanted: &str) -> Option<&Value> {
        self.scenario.objects.iter().find(|it| it["kind"] == kind && name(it) == wanted)
    }

    /// The pods on a node.
    pub fn pods_on<'c>(&'c self, node: &'c str) -> impl Iterator<Item = &'c Value> {
        self.scenario.of_kind("Pod").filter(move |pod| pod["spec"]["nodeName"] == *node)
    }

    /// What the instances cost that have a claim.
    pub fn bill(&self) -> Bill {
        self.scenario.of_kind("NodeClaim").fold(Bill::default(), |bill, claim| Bill {
            instances: bill.instances + 1,
            price: bill.price + self.price(claim),
        })
    }

    /// What an instance costs; nothing if its type is not known or not offered where it is.
    pub fn price(&self, claim: &Value) -> f64 {
        let label = |key| facts::label(claim, key);
        let types = self.catalog.types(label(label::NODE_POOL));
        let its_own = types.iter().find(|it| it.name == label(label::INSTANCE_TYPE));
        let offerings = its_own.into_iter().flat_map(|it| &it.offerings);
        let wanted = (label(label::ZONE), label(label::CAPACITY_TYPE));
        let offered = offerings.into_iter().find(|offering| terms(offering) == wanted);
        offered.map_or(0.0, |offering| offering.price)
    }

    /// The cheapest that a claim can be launched as.
    pub fn launch_price(&self, claim: &PlannedClaim) -> Option<f64> {
        let cheapest = self.choose(claim, self.cheapest_type(claim)?)?;
        Some(cheapest.1.price)
    }

    /// Lets instances go. Pods that need another place wait for one; the others end with the
    /// instance. Says how many wait.
    pub fn remove(&mut self, candidates: &[Candidate]) -> usize {
        let mut evicted = 0;
        self.scenario.objects.retain_mut(|object| match object["kind"].as_str() {
            Some("Node") => candidates.iter().all(|it| it.node != name(object)),
            Some("NodeClaim") => candidates.iter().all(|it| it.node_claim != name(object)),
            Some("Pod") if candidates.iter().any(|it| object["spec"]["nodeName"] == it.node) => {
                let moves = is_reschedulable(object);
                if moves {
                    wait(object);
                    evicted += 1;
                }
                moves
            }
            _ => true,
        });
        evicted
    }

    /// Lets pods run where somebody has decided: on instances that are there, and on new ones, each
    /// the cheapest that it may be.
    pub fn place(&mut self, claims: &[PlannedClaim], existing: &[ExistingPlacement]) -> Result<()> {
        self.place_on(claims, existing, &mut |cluster, claim| cluster.cheapest_type(claim).cloned())
    }

    /// The same, where `choose` says as which type each claim is launched.
    pub fn place_on(
        &mut self,
        claims: &[PlannedClaim],
        existing: &[ExistingPlacement],
        choose: &mut dyn FnMut(&Self, &PlannedClaim) -> Option<String>,
    ) -> Result<()> {
        for node in existing {
            self.bind(&node.pods, &node.node);
        }
        for claim in claims {
            let node = choose(self, claim)
                .and_then(|instance_type| self.launch(claim, &instance_type))
                .with_context(|| {
                    format!("an instance of NodePool {} cannot be had", claim.node_pool)
                })?;
            self.bind(&claim.pods, &node);
        }
        Ok(())
    }

    fn bind(&mut self, pods: &[String], node: &str) {
        for object in &mut self.scenario.objects {
            let waits = object["kind"] == "Pod" && object["spec"]["nodeName"].is_null();
            if waits && pods.contains(&key(object)) {
                object["spec"]["nodeName"] = json!(node);
                object["status"] = json!({
                    "phase": "Running", "startTime": LONG_AGO,
                    "conditions": [{"type": "Ready", "status": "True"}],
                });
            }
        }
    }

    /// The cheapest type of a claim, the first by name among equals.
    fn cheapest_type<'p>(&self, claim: &'p PlannedClaim) -> Option<&'p String> {
        let price = |instance_type: &String| Some(self.choose(claim, instance_type)?.1.price);
        let priced = claim.instance_types.iter().filter_map(|it| Some((price(it)?, it)));
        priced.min_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(b.1))).map(|(_, it)| it)
    }

    /// The offering with which a claim is launched as some type: the cheapest, and among equals the
    /// first by zone and capacity type.
    fn choose(
        &self,
        claim: &PlannedClaim,
        instance_type: &str,
    ) -> Option<(&Arc<InstanceType>, &Offering)> {
        let requirements = Requirements::from_specs(claim.requirements.iter());
        let types = self.catalog.types(&claim.node_pool);
        let chosen = types.iter().find(|it| it.name == instance_type)?;
        let serving = chosen.offerings.iter().filter(|offering| {
            offering.available && offering.serves(&requirements, &self.catalog.well_known)
        });
        serving.min_by(|a, b| by_price_and_terms(a, b)).map(|offering| (chosen, offering))
    }

    /// Makes an instance that is ready and has been quiet for long, and says what its node is called.
    fn launch(&mut self, claim: &PlannedClaim, instance_type: &str) -> Option<String> {
        let (shape, offering) = self.choose(claim, instance_type)?;
        let (capacity, allocatable) =
            (shape.offered_capacity(offering), shape.allocatable(offering));
        let mut labels = (*claim.labels).clone();
        labels.extend(shape.requirements.single_values());
        labels.extend(offering.requirements.single_values());
        labels.insert(label::INSTANCE_TYPE.to_owned(), shape.name.clone());
        let pool = self.find("NodePool", &claim.node_pool)?;
        let template = pool["spec"]["template"]["spec"].clone();
        self.launched += 1;
        let name = format!("{}-{}", self.prefix, self.launched);
        let provider_id = format!("example://{name}");
        let conditions = ["Launched", "Registered", "Initialized", "Consolidatable"];
        let mut object = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "metadata": {"name": name, "labels": labels, "creationTimestamp": LONG_AGO},
            "spec": {
                "nodeClassRef": template["nodeClassRef"], "requirements": [],
                "resources": {"requests": claim.requests}, "taints": claim.taints,
                "startupTaints": claim.startup_taints,
            },
            "status": {
                "nodeName": name, "providerID": provider_id,
                "capacity": capacity, "allocatable": allocatable,
                "conditions": conditions.map(condition),
            },
        });
        for field in ["terminationGracePeriod", "expireAfter"] {
            if !template[field].is_null() {
                object["spec"][field] = template[field].clone();
            }
        }
        self.scenario.objects.push(object);
        labels.insert(label::HOSTNAME.to_owned(), name.clone());
        labels.insert(label::REGISTERED.to_owned(), "true".to_owned());
        labels.insert(label::INITIALIZED.to_owned(), "true".to_owned());
        self.scenario.objects.push(json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": labels, "creationTimestamp": LONG_AGO},
            "spec": {"providerID": provider_id, "taints": claim.taints},
            "status": {
                "capacity": capacity, "allocatable": allocatable, "conditions": [condition("Ready")],
            },
        }));
        Some(name)
    }
}

/// A condition that has been true for long.
pub(super) fn condition(what: &str) -> Value {
    json!({
        "type": what, "status": "True", "reason": what, "message": "",
        "lastTransitionTime": LONG_AGO,
    })
}

/// Makes a pod one for which there is no place.
pub(super) fn wait(pod: &mut Value) {
    if let Some(spec) = pod["spec"].as_object_mut() {
        spec.remove("nodeName");
    }
    let unschedulable =
        json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable"});
    pod["status"] = json!({"phase": "Pending", "conditions": [unschedulable]});
}

/// Zone and capacity type.
fn terms(offering: &Offering) -> (&str, &str) {
    let single =
        |key| offering.requirements.get(key).and_then(|it| it.single()).unwrap_or_default();
    (single(label::ZONE), single(label::CAPACITY_TYPE))
}

fn by_price_and_terms(a: &Offering, b: &Offering) -> Ordering {
    a.price.total_cmp(&b.price).then_with(|| terms(a).cmp(&terms(b)))
}
