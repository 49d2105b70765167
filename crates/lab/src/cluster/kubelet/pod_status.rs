//! The status of a pod, as a kubelet writes it.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::run::{Container, End, Run, Stage};
use crate::cluster::{conditions, times::seconds};

/// The status to write for a pod whose current conditions are given. Conditions of others stay.
pub(super) fn status(run: &Run, host: &str, current: &Value, now: Timestamp) -> Value {
    let phase = match &run.stage {
        Stage::Seen | Stage::Starting { .. } => "Pending",
        Stage::Running { .. } | Stage::BackOff { .. } => "Running",
        Stage::Ended(End { failed: true, .. }) => "Failed",
        Stage::Ended(_) => "Succeeded",
    };
    let mut status = json!({
        "phase": phase,
        "conditions": pod_conditions(run, current, now),
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "containerStatuses": container_statuses(run, false),
    });
    if run.containers.iter().any(|container| container.init) {
        status["initContainerStatuses"] = container_statuses(run, true);
    }
    if let Some(started) = run.started {
        status["startTime"] = json!(seconds(started));
    }
    if !run.address.is_empty() {
        status["podIP"] = json!(run.address);
        status["podIPs"] = json!([{"ip": run.address}]);
    }
    if let Stage::Ended(end) = &run.stage
        && !end.reason.is_empty()
    {
        status["reason"] = json!(reason(end));
        status["message"] = json!(end.message);
    }
    status
}

/// The reason of an end that was not the containers' own doing.
fn reason(end: &End) -> String {
    format!("{}{}", end.reason, end.resource)
}

fn pod_conditions(run: &Run, current: &Value, now: Timestamp) -> Value {
    let (ready, why, started) = match &run.stage {
        Stage::Running { ready: true, .. } => (true, "", true),
        Stage::Running { ready: false, .. } | Stage::BackOff { .. } => {
            (false, "ContainersNotReady", true)
        }
        Stage::Seen | Stage::Starting { .. } => (false, "ContainersNotReady", false),
        Stage::Ended(End { failed: true, .. }) => (false, "PodFailed", false),
        Stage::Ended(_) => (false, "PodCompleted", false),
    };
    let starting = matches!(run.stage, Stage::Seen | Stage::Starting { .. });
    let has_init = run.containers.iter().any(|container| container.init && !container.sidecar);
    let names: Vec<_> =
        run.containers.iter().filter(|own| !own.init).map(|own| own.name.as_str()).collect();
    let unready = |kind: &str| {
        let mut condition = json!({"type": kind, "status": truth(ready)});
        if !ready {
            condition["reason"] = json!(why);
        }
        if why == "ContainersNotReady" {
            let message = format!("containers with unready status: [{}]", names.join(" "));
            condition["message"] = json!(message);
        }
        condition
    };
    let mut initialized = json!({"type": "Initialized", "status": truth(!(starting && has_init))});
    if starting && has_init {
        initialized["reason"] = json!("ContainersNotInitialized");
    }
    let own = [
        json!({"type": "PodReadyToStartContainers", "status": truth(started)}),
        initialized,
        unready("Ready"),
        unready("ContainersReady"),
    ];
    let mut all = current.clone();
    for condition in own.into_iter().chain(eviction(run)) {
        if let Some(changed) = conditions::with(&all, condition, now) {
            all = changed;
        }
    }
    all
}

/// A pod that the kubelet evicted says so to its controllers.
fn eviction(run: &Run) -> Option<Value> {
    match &run.stage {
        Stage::Ended(end) if end.reason == "Evicted" => Some(json!({
            "type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet",
            "message": end.message,
        })),
        _ => None,
    }
}

fn truth(is: bool) -> &'static str {
    if is { "True" } else { "False" }
}

fn container_statuses(run: &Run, init: bool) -> Value {
    run.containers
        .iter()
        .filter(|container| container.init == init)
        .map(|container| container_status(run, container))
        .collect()
}

fn container_status(run: &Run, container: &Container) -> Value {
    let id = format!("lab://{}/{}/{}", run.uid, container.name, run.restarts);
    let runs = !container.init || container.sidecar;
    let terminated = |id: &str| {
        run.last_exit.as_ref().map(|exit| {
            let reason = if exit.code == 0 { "Completed" } else { "Error" };
            json!({"terminated": {
                "exitCode": exit.code, "reason": reason, "containerID": id,
                "startedAt": seconds(exit.started), "finishedAt": seconds(exit.finished),
            }})
        })
    };
    let waiting = |reason: &str| json!({"waiting": {"reason": reason}});
    let (state, ready) = match &run.stage {
        Stage::Seen | Stage::Starting { .. } if container.init => {
            (waiting("PodInitializing"), false)
        }
        Stage::Seen | Stage::Starting { .. } => (waiting("ContainerCreating"), false),
        Stage::Running { since, ready } if runs => {
            (json!({"running": {"startedAt": seconds(*since)}}), *ready)
        }
        Stage::BackOff { delay, .. } if runs => {
            let message = format!(
                "back-off {} restarting failed container={} pod={}_{}({})",
                go_duration(delay.as_secs()),
                container.name,
                run.key.name,
                run.key.namespace,
                run.uid
            );
            let state = json!({"reason": "CrashLoopBackOff", "message": message});
            (json!({"waiting": state}), false)
        }
        Stage::Ended(_) if runs => {
            (terminated(&id).unwrap_or_else(|| waiting("ContainerCreating")), false)
        }
        // An init container that has done its work.
        _ => (json!({"terminated": {"exitCode": 0, "reason": "Completed"}}), true),
    };
    let restarts = if runs { run.restarts } else { 0 };
    let started = runs && matches!(run.stage, Stage::Running { .. });
    let mut status = json!({
        "name": container.name, "image": container.image, "imageID": "", "ready": ready,
        "restartCount": restarts, "started": started, "state": state,
    });
    if !matches!(run.stage, Stage::Seen | Stage::Starting { .. }) {
        status["containerID"] = json!(id);
    }
    if restarts > 0 && !matches!(run.stage, Stage::Ended(_)) {
        let before = format!("lab://{}/{}/{}", run.uid, container.name, restarts - 1);
        status["lastState"] = terminated(&before).unwrap_or_else(|| json!({}));
    }
    status
}

/// `10s`, `1m20s`, `5m0s`: the way Go prints durations.
fn go_duration(seconds: i64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}
