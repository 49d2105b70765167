//! What a Deployment says about itself.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{
    super::{
        facts::{Condition, find_condition, later, moment, set_condition, stamp},
        replicasets::put_count,
    },
    read::{Set, Wanted},
};

/// Until when a rollout may go without progress, if it is one that is watched.
pub(super) struct Outcome {
    /// The status as it should be.
    pub(super) status: Value,
    /// When the lack of progress is to be noticed.
    pub(super) deadline: Option<Timestamp>,
}

/// The status of a Deployment whose ReplicaSets are these.
pub(super) fn status(
    wanted: &Wanted,
    before: &Value,
    new: Option<&Set>,
    old: &[&Set],
    now: Timestamp,
) -> Outcome {
    let all = || new.into_iter().chain(old.iter().copied());
    let sum = |count: &dyn Fn(&Set) -> i64| all().map(count).sum::<i64>();
    let total = sum(&|set| set.size.wanted);
    let available = sum(&|set| set.size.available);
    let mut status = before.as_object().cloned().unwrap_or_default();
    let mut put = |field: &str, count: i64| {
        put_count(&mut status, field, usize::try_from(count).unwrap_or(0));
    };
    put("replicas", sum(&|set| set.pods));
    put("updatedReplicas", new.map_or(0, |set| set.pods));
    put("readyReplicas", sum(&|set| set.ready));
    put("availableReplicas", available);
    put("unavailableReplicas", total - available);
    status.insert("observedGeneration".into(), wanted.generation.into());
    let mut conditions = status.remove("conditions").unwrap_or_default();
    let enough = available >= wanted.limits.replicas - wanted.limits.max_unavailable;
    let condition = if enough {
        Condition {
            kind: "Available",
            status: "True",
            reason: "MinimumReplicasAvailable",
            message: "Deployment has minimum availability.",
        }
    } else {
        Condition {
            kind: "Available",
            status: "False",
            reason: "MinimumReplicasUnavailable",
            message: "Deployment does not have minimum availability.",
        }
    };
    put_condition(&mut conditions, condition, false, now);
    let deadline = progress(wanted, before, &status, new, &mut conditions, now);
    status.insert("conditions".into(), conditions);
    Outcome { status: Value::Object(status), deadline }
}

/// Notes in the conditions how the rollout comes along.
fn progress(
    wanted: &Wanted,
    before: &Value,
    status: &Map<String, Value>,
    new: Option<&Set>,
    conditions: &mut Value,
    now: Timestamp,
) -> Option<Timestamp> {
    let deadline = wanted.progress_deadline?;
    if wanted.paused {
        let message = "Deployment is paused";
        note(conditions, "Unknown", "DeploymentPaused", message, now);
        return None;
    }
    let present = find_condition(conditions, "Progressing").cloned().unwrap_or_default();
    if present["reason"] == "DeploymentPaused" {
        note(conditions, "Unknown", "DeploymentResumed", "Deployment is resumed", now);
    }
    let count = |status: &Map<String, Value>, field: &str| {
        status.get(field).and_then(Value::as_i64).unwrap_or(0)
    };
    let replicas = wanted.limits.replicas;
    let fields = ["replicas", "updatedReplicas", "availableReplicas"];
    let complete = fields.iter().all(|field| count(status, field) == replicas);
    let name = new.map_or("", |set| &*set.key.name);
    if complete {
        let message = format!("ReplicaSet \"{name}\" has successfully progressed.");
        note(conditions, "True", "NewReplicaSetAvailable", &message, now);
        return None;
    }
    // A Deployment that was complete and lost a pod is not rolling out.
    let steady = present["reason"] == "NewReplicaSetAvailable"
        && count(status, "replicas") == count(status, "updatedReplicas");
    if steady {
        return None;
    }
    let empty = Map::new();
    let before = before.as_object().unwrap_or(&empty);
    let old_pods = |status| count(status, "replicas") - count(status, "updatedReplicas");
    let progressing = count(status, "updatedReplicas") > count(before, "updatedReplicas")
        || old_pods(status) < old_pods(before)
        || count(status, "readyReplicas") > count(before, "readyReplicas")
        || count(status, "availableReplicas") > count(before, "availableReplicas");
    if progressing || present.is_null() {
        let message = format!("ReplicaSet \"{name}\" is progressing.");
        let condition = Condition {
            kind: "Progressing",
            status: "True",
            reason: "ReplicaSetUpdated",
            message: &message,
        };
        put_condition(conditions, condition, true, now);
        return Some(later(now, deadline + 1));
    }
    if present["reason"] == "ProgressDeadlineExceeded" {
        return None;
    }
    let since = moment(present["lastUpdateTime"].as_str()).unwrap_or(now);
    let due = later(since, deadline + 1);
    if due > now {
        return Some(due);
    }
    let message = format!("ReplicaSet \"{name}\" has timed out progressing.");
    note(conditions, "False", "ProgressDeadlineExceeded", &message, now);
    None
}

/// Notes how the rollout comes along.
pub(super) fn note(
    conditions: &mut Value,
    status: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) {
    put_condition(
        conditions,
        Condition { kind: "Progressing", status, reason, message },
        false,
        now,
    );
}

/// Puts a condition, with the time of the last update that only Deployments have.
fn put_condition(conditions: &mut Value, condition: Condition<'_>, renew: bool, now: Timestamp) {
    let changed = set_condition(conditions, condition, now);
    if !(changed || renew) {
        return;
    }
    let list = conditions.as_array_mut().into_iter().flatten();
    for present in list.filter(|present| present["type"] == condition.kind) {
        present["lastUpdateTime"] = stamp(now).into();
    }
}
