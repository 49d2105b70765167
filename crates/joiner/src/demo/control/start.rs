//! From a claim to a node that takes pods.

use jiff::{SignedDuration, Timestamp};
use joiner_core::{
    instance_type::{InstanceType, Offering},
    label::{CAPACITY_TYPE, INITIALIZED, INSTANCE_TYPE, Labels, NODE_POOL, REGISTERED, ZONE},
    requirement::{RequirementSpec, Requirements},
    taint::Taint,
};
use joiner_lab::cluster::machines::MachineSpec;
use serde_json::{Value, json};

use super::cluster::{Cluster, NODE_CLAIMS, NODES, is, name};

impl Cluster {
    /// Takes a claim a step further.
    pub(super) fn bring_up(&mut self, claim: &Value, now: Timestamp) {
        if !is(claim, "Launched") {
            self.launch(claim, now);
            return;
        }
        let Some(node) = self.node_of(claim) else { return };
        if !is(claim, "Registered") {
            let labels = json!({"metadata": {"labels": {REGISTERED: "true"}}});
            if self.patch(NODES, name(claim), None, labels).is_ok() {
                let status = json!({"nodeName": name(claim)});
                self.set_conditions(claim, now, &[("Registered", "Registered", "")], status);
            }
        } else if !is(claim, "Initialized") && is(&node, "Ready") {
            let labels = json!({"metadata": {"labels": {INITIALIZED: "true"}}});
            if self.patch(NODES, name(claim), None, labels).is_ok() {
                let done = [("Initialized", "Initialized", ""), ("Ready", "Ready", "")];
                self.set_conditions(claim, now, &done, json!({}));
            }
        }
    }

    /// Has the cloud make the cheapest machine that the claim allows.
    fn launch(&mut self, claim: &Value, now: Timestamp) {
        let Some((instance_type, offering)) = self.cheapest(claim) else { return };
        let only = |key| {
            let own = offering.requirements.get(key).and_then(|own| own.single());
            own.unwrap_or_default().to_owned()
        };
        let mut labels: Labels = instance_type.requirements.single_values();
        labels.insert(ZONE.to_owned(), only(ZONE));
        labels.insert(CAPACITY_TYPE.to_owned(), only(CAPACITY_TYPE));
        let mut machine = MachineSpec::new(name(claim));
        machine.capacity = instance_type.offered_capacity(&offering);
        machine.allocatable = instance_type.allocatable(&offering);
        machine.taints = taints(claim);
        machine.labels.clone_from(&labels);
        let pool = claim["metadata"]["labels"][NODE_POOL].as_str().unwrap_or_default();
        machine.labels.insert(NODE_POOL.to_owned(), pool.to_owned());
        machine.boot_delay = SignedDuration::from_millis(16_000 + self.chance.below(12_000) as i64);
        let provider_id = machine.provider_id.clone();
        // One that is there already was made by an earlier turn whose words were lost.
        let _ = self.machines.boot(machine);
        let patch = json!({"metadata": {"labels": labels}});
        if self.patch(NODE_CLAIMS, name(claim), None, patch).is_err() {
            return;
        }
        let status = json!({
            "providerID": provider_id,
            "capacity": instance_type.offered_capacity(&offering),
            "allocatable": instance_type.allocatable(&offering),
        });
        self.set_conditions(claim, now, &[("Launched", "Launched", "")], status);
    }

    fn cheapest(&self, claim: &Value) -> Option<(InstanceType, Offering)> {
        let specs = claim["spec"]["requirements"].clone();
        let specs: Vec<RequirementSpec> = serde_json::from_value(specs).ok()?;
        let wanted = Requirements::from_specs(&specs);
        let types = wanted.get(INSTANCE_TYPE)?;
        let pool = claim["metadata"]["labels"][NODE_POOL].as_str()?;
        let mut cheapest: Option<(&InstanceType, &Offering)> = None;
        for instance_type in self.catalog.types(pool).iter().filter(|own| types.has(&own.name)) {
            let offered = instance_type.offerings.iter();
            let fitting = offered.filter(|own| own.serves(&wanted, &self.catalog.well_known));
            for offering in fitting {
                if cheapest.is_none_or(|(_, other)| offering.price < other.price) {
                    cheapest = Some((instance_type, offering));
                }
            }
        }
        cheapest.map(|(instance_type, offering)| (instance_type.clone(), offering.clone()))
    }
}

fn taints(claim: &Value) -> Vec<Taint> {
    serde_json::from_value(claim["spec"]["taints"].clone()).unwrap_or_default()
}
