//! The row of a pod.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    age,
    cells::{NONE, condition, or},
};
use crate::fields::Fields;

/// What the statuses of a pod's containers add up to.
#[derive(Default)]
struct Summary {
    ready: usize,
    reason: String,
    restarts: i64,
    last_restart: Option<Timestamp>,
}

impl Summary {
    fn add_restarts(&mut self, status: &Value) {
        self.restarts += status.count("restartCount");
        let end = age::time(status.part("lastState").part("terminated"), "finishedAt");
        self.last_restart = self.last_restart.max(end);
    }
}

pub(super) fn row(pod: &Value, now: Timestamp) -> Vec<Value> {
    let (metadata, spec, status) = (pod.part("metadata"), pod.part("spec"), pod.part("status"));
    let is_sidecar = |container: &&Value| container.text("restartPolicy") == "Always";
    let sidecars = spec.list("initContainers").iter().filter(is_sidecar).count();
    let total = spec.list("containers").len() + sidecars;
    let summary = summary(pod);
    let mut restarts = summary.restarts.to_string();
    if let Some(last) = summary.last_restart.filter(|_| summary.restarts != 0) {
        restarts = format!("{restarts} ({} ago)", age::between(last, now));
    }
    let address = status.list("podIPs").first().map_or("", |address| address.text("ip"));
    vec![
        metadata.text("name").into(),
        format!("{}/{total}", summary.ready).into(),
        reason(pod, summary.reason).into(),
        restarts.into(),
        age::since(metadata, "creationTimestamp", now).into(),
        or(address, NONE).into(),
        or(spec.text("nodeName"), NONE).into(),
        or(status.text("nominatedNodeName"), NONE).into(),
        readiness_gates(pod).into(),
    ]
}

/// A pod that is being deleted says so, unless it has ended already.
fn reason(pod: &Value, reason: String) -> String {
    let status = pod.part("status");
    if !pod.part("metadata").has("deletionTimestamp") {
        return reason;
    }
    if status.text("reason") == "NodeLost" {
        return "Unknown".to_owned();
    }
    if ["Failed", "Succeeded"].contains(&status.text("phase")) {
        return reason;
    }
    "Terminating".to_owned()
}

fn readiness_gates(pod: &Value) -> String {
    let gates = pod.part("spec").list("readinessGates");
    if gates.is_empty() {
        return NONE.to_owned();
    }
    let open = gates.iter().filter(|gate| condition(pod, gate.text("conditionType"))).count();
    format!("{open}/{}", gates.len())
}

fn summary(pod: &Value) -> Summary {
    let status = pod.part("status");
    let mut reason = or(status.text("reason"), status.text("phase")).to_owned();
    let gated = |condition: &Value| {
        condition.text("type") == "PodScheduled" && condition.text("reason") == "SchedulingGated"
    };
    if status.list("conditions").iter().any(gated) {
        "SchedulingGated".clone_into(&mut reason);
    }
    let (starting, sidecars) = init_containers(pod);
    if let Some(starting) = starting
        && !condition(pod, "Initialized")
    {
        return starting;
    }
    regular_containers(pod, Summary { reason, ..sidecars })
}

/// Why something ended, from its reason, signal or exit code.
fn end_reason(end: &Value) -> String {
    if !end.text("reason").is_empty() {
        end.text("reason").to_owned()
    } else if end.count("signal") != 0 {
        format!("Signal:{}", end.count("signal"))
    } else {
        format!("ExitCode:{}", end.count("exitCode"))
    }
}

/// What init containers add up to: if one has not finished, all of them up to that one; and in any
/// case the sidecars, which go on running.
fn init_containers(pod: &Value) -> (Option<Summary>, Summary) {
    let containers = pod.part("spec").list("initContainers");
    let mut all = Summary::default();
    let mut sidecars = Summary::default();
    for (index, status) in pod.part("status").list("initContainerStatuses").iter().enumerate() {
        let container = containers.iter().find(|other| other.text("name") == status.text("name"));
        let sidecar =
            container.is_some_and(|container| container.text("restartPolicy") == "Always");
        all.add_restarts(status);
        if sidecar {
            sidecars.add_restarts(status);
        }
        let state = status.part("state");
        let waiting = state.part("waiting").text("reason");
        match state.field("terminated") {
            Some(end) if end.count("exitCode") == 0 => continue,
            _ if sidecar && status.flag("started") => {
                sidecars.ready += usize::from(status.flag("ready"));
                continue;
            }
            Some(end) => all.reason = format!("Init:{}", end_reason(end)),
            None if !waiting.is_empty() && waiting != "PodInitializing" => {
                all.reason = format!("Init:{waiting}");
            }
            None => all.reason = format!("Init:{index}/{}", containers.len()),
        }
        all.ready = sidecars.ready;
        return (Some(all), sidecars);
    }
    (None, sidecars)
}

fn regular_containers(pod: &Value, mut summary: Summary) -> Summary {
    let mut running = false;
    let mut failure = None;
    for status in pod.part("status").list("containerStatuses").iter().rev() {
        summary.add_restarts(status);
        let state = status.part("state");
        let waiting = state.part("waiting").text("reason");
        if !waiting.is_empty() {
            waiting.clone_into(&mut summary.reason);
        } else if let Some(end) = state.field("terminated") {
            summary.reason = end_reason(end);
            if end.count("exitCode") != 0 {
                failure = Some(summary.reason.clone());
            }
        } else if status.flag("ready") && state.has("running") {
            running = true;
            summary.ready += 1;
        }
    }
    if summary.reason == "Completed" {
        if running && condition(pod, "Ready") {
            "Running".clone_into(&mut summary.reason);
        } else if let Some(failure) = failure {
            summary.reason = failure;
        } else if running {
            "NotReady".clone_into(&mut summary.reason);
        }
    }
    summary
}
