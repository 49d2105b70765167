//! Machines for pods that have no place.

use std::{collections::BTreeSet, path::PathBuf};

use jiff::{SignedDuration, Timestamp};
use joiner_core::{
    label::NODE_POOL,
    plan::{PlannedClaim, Unplaced},
    settings::PlanSettings,
};
use joiner_operator::{
    files,
    index::{self, IndexSettings, Pending},
    objects::Objects,
};
use serde_json::{Value, json};

use super::cluster::{
    Cluster, DAEMON_SETS, Kind, NAMESPACES, NODE_CLAIMS, NODE_POOLS, NODES, PODS, condition_of,
    name,
};
use crate::{errors::chain, output};

/// What the planner looks at.
const LOOKED_AT: [Kind; 6] = [PODS, NODES, NAMESPACES, DAEMON_SETS, NODE_POOLS, NODE_CLAIMS];

/// How long pods that were planned for may wait before they are planned for again.
const PLANNED_AGAIN_AFTER: SignedDuration = SignedDuration::from_secs(10);

/// Letters of generated names, as Kubernetes has them.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

impl Cluster {
    /// Plans machines for pods that the scheduler has found no node for, and asks for them.
    pub(super) fn provision(&mut self, now: Timestamp) {
        let scheduled =
            |pod: &Value| condition_of(pod, "PodScheduled").map(|own| own["status"] != "False");
        let waiting = self.pods.iter().filter(|pod| scheduled(pod) == Some(false));
        let waiting: BTreeSet<String> =
            waiting.map(|pod| pod["metadata"]["uid"].to_string()).collect();
        let (planned, at) = &self.planned;
        let is_old = now.duration_since(*at) > PLANNED_AGAIN_AFTER;
        if waiting.is_empty() || (waiting.is_subset(planned) && !is_old) {
            return;
        }
        self.planned = (waiting, now);
        let objects: Vec<Value> = LOOKED_AT.iter().flat_map(|kind| self.all(*kind)).collect();
        let Some(read) = read(&objects) else { return };
        let settings =
            IndexSettings { pending: Pending::Unschedulable, ..IndexSettings::default() };
        let indexed = index::snapshot(&read, self.catalog.clone(), &settings, now);
        if indexed.snapshot.pods.is_empty() {
            return;
        }
        let plan = joiner_plan::provision(&indexed.snapshot, &PlanSettings::default()).plan;
        for claim in &plan.claims {
            let claim_name = self.open(claim);
            self.nominate(&objects, &claim.pods, &claim_name, now);
        }
        for placement in &plan.existing {
            let target =
                [&placement.node_claim, &placement.node].into_iter().find(|n| !n.is_empty());
            self.nominate(&objects, &placement.pods, target.map_or("", String::as_str), now);
        }
        for unplaced in &plan.unschedulable {
            self.refuse(&objects, unplaced, now);
        }
    }

    fn open(&mut self, planned: &PlannedClaim) -> String {
        let suffix = (0..5).map(|_| LETTERS[self.chance.below(LETTERS.len() as u64) as usize]);
        let suffix: String = suffix.map(char::from).collect();
        let claim_name = format!("{}-{suffix}", planned.node_pool);
        let mut labels = (*planned.labels).clone();
        labels.insert(NODE_POOL.to_owned(), planned.node_pool.clone());
        let claim = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "metadata": {
                "name": claim_name,
                "labels": labels,
                "annotations": *planned.annotations,
                "finalizers": ["karpenter.sh/termination"],
            },
            "spec": {
                "nodeClassRef": {
                    "group": joiner_kwok::NODE_CLASS_GROUP,
                    "kind": joiner_kwok::NODE_CLASS_KIND,
                    "name": "default",
                },
                "requirements": *planned.requirements,
                "resources": {"requests": planned.requests},
                "taints": *planned.taints,
            },
        });
        if let Err(refused) = self.caller.create(&NODE_CLAIMS.resource(), claim) {
            // It is planned again at the next turn.
            output::talk(&format!("joiner: NodeClaim {claim_name}: {}", refused.message));
        }
        claim_name
    }

    fn nominate(&mut self, objects: &[Value], pods: &[String], target: &str, now: Timestamp) {
        let message = format!("Pod should schedule on: nodeclaim/{target}");
        for pod in pods {
            self.say(objects, pod, "Nominated", message.clone(), now);
        }
    }

    fn refuse(&mut self, objects: &[Value], unplaced: &Unplaced, now: Timestamp) {
        let message = format!("Failed to schedule pod, {}", unplaced.message);
        self.say(objects, &unplaced.pod, "FailedScheduling", message, now);
    }

    fn say(&mut self, objects: &[Value], pod: &str, reason: &str, message: String, now: Timestamp) {
        if self.said.get(pod) == Some(&message) {
            return;
        }
        if let Some(object) = objects.iter().find(|object| is_pod(object, pod)) {
            self.tell(object, now, reason, &message);
        }
        self.said.insert(pod.to_owned(), message);
    }
}

fn is_pod(object: &Value, pod: &str) -> bool {
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
    object["kind"] == "Pod" && pod.split_once('/') == Some((namespace, name(object)))
}

/// The objects in the operator's types.
fn read(objects: &[Value]) -> Option<Objects> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let read = files::read(&[PathBuf::from("-")], list.to_string().as_bytes());
    read.inspect_err(|error| output::talk(&format!("joiner: {}", chain(error)))).ok()
}
