//! Deployments, `ReplicaSets`, `StatefulSets`, `DaemonSets`, `ReplicationControllers` and what
//! belongs to them.

use serde_json::{Value, json};

use super::{
    claims,
    errors::{Errors, IMMUTABLE, Path},
    formats, int_or_percent, pod, selectors,
};
use crate::fields::{Fields, same};

const SPEC: Path<'static> = Path::new("spec");
const STATUS: Path<'static> = Path::new("status");
const NO_MATCH: &str = "`selector` does not match template `labels`";

/// A selector that has to be given and to select something. Returns whether it can be used.
fn selector(errors: &mut Errors, spec: &Value, empty_detail: &str) -> bool {
    let path = SPEC.child("selector");
    let selector = spec.field("selector");
    match selector {
        None => errors.required(&path, ""),
        Some(selector) => {
            selectors::label_selector(errors, &path, Some(selector));
            if selectors::is_empty(selector) {
                errors.invalid_shown(&path, &selectors::shown(Some(selector)), empty_detail);
            }
        }
    }
    selectors::is_usable(selector)
}

/// The template's labels as they are shown in errors: an empty map prints as null.
fn template_labels(template: &Value) -> Value {
    template.part("metadata").part("labels").clone()
}

/// A selector selects the pods that are made of the template; a missing one selects nothing. Empty
/// ones have been complained about.
fn selector_matches_template(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let template = spec.part("template");
    let selector = spec.field("selector");
    if !selector.is_some_and(selectors::is_empty)
        && !selectors::matches(selector, template.part("metadata").part("labels"))
    {
        errors.invalid(&path.child("metadata.labels"), template_labels(template), NO_MATCH);
    }
}

/// Pods of workloads that run forever are restarted forever.
fn runs_forever(errors: &mut Errors, template: &Path<'_>, spec: &Value, kind: &str) {
    let pod = spec.part("template").part("spec");
    let policy = pod.text("restartPolicy");
    errors.supported(&template.child("spec.restartPolicy"), policy, &["Always"]);
    if pod.has("activeDeadlineSeconds") {
        let detail = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.forbidden(&template.child("spec.activeDeadlineSeconds"), detail);
    }
}

fn replica_template(errors: &mut Errors, spec: &Value, usable: bool) {
    let path = SPEC.child("template");
    if usable {
        selector_matches_template(errors, &path, spec);
        pod::template(errors, &path, spec.part("template"));
        runs_forever(errors, &path, spec, "ReplicaSet");
    } else {
        let shown = selectors::shown(spec.field("selector"));
        errors.invalid_shown(&SPEC.child("selector"), &shown, "invalid label selector");
    }
}

fn nonnegative_fields(errors: &mut Errors, path: &Path<'_>, owner: &Value, fields: &[&str]) {
    for field in fields {
        errors.nonnegative(&path.child(field), owner.count(field));
    }
}

fn selector_kept(errors: &mut Errors, new: &Value, old: &Value) {
    let (now, then) = (new.part("spec"), old.part("spec"));
    if !same(now.part("selector"), then.part("selector")) {
        let shown = selectors::shown(now.field("selector"));
        errors.invalid_shown(&SPEC.child("selector"), &shown, IMMUTABLE);
    }
}

pub(super) fn create_deployment(errors: &mut Errors, deployment: &Value) {
    let spec = deployment.part("spec");
    nonnegative_fields(errors, &SPEC, spec, &["replicas"]);
    let usable = selector(errors, spec, "empty selector is invalid for deployment");
    replica_template(errors, spec, usable);
    deployment_strategy(errors, &SPEC.child("strategy"), spec.part("strategy"));
    nonnegative_fields(errors, &SPEC, spec, &["minReadySeconds", "revisionHistoryLimit"]);
    if let Some(deadline) = spec.number("progressDeadlineSeconds") {
        let path = SPEC.child("progressDeadlineSeconds");
        errors.nonnegative(&path, deadline);
        if deadline <= spec.count("minReadySeconds") {
            errors.invalid(&path, deadline, "must be greater than minReadySeconds");
        }
    }
}

fn deployment_strategy(errors: &mut Errors, path: &Path<'_>, strategy: &Value) {
    let rolling = strategy.field("rollingUpdate");
    let at = path.child("rollingUpdate");
    match (strategy.text("type"), rolling) {
        ("Recreate", Some(_)) => {
            let detail = "may not be specified when strategy `type` is 'Recreate'";
            errors.forbidden(&at, detail);
        }
        ("Recreate", None) => {}
        ("RollingUpdate", None) => {
            errors.required(&at, "this should be defaulted and never be nil");
        }
        ("RollingUpdate", Some(rolling)) => {
            let (unavailable, surge) = (rolling.part("maxUnavailable"), rolling.part("maxSurge"));
            let at_unavailable = at.child("maxUnavailable");
            int_or_percent::nonnegative(errors, &at_unavailable, unavailable);
            int_or_percent::nonnegative(errors, &at.child("maxSurge"), surge);
            if int_or_percent::amount(rolling.field("maxUnavailable")) == 0
                && int_or_percent::amount(rolling.field("maxSurge")) == 0
            {
                let detail = "may not be 0 when `maxSurge` is 0";
                errors.invalid(&at_unavailable, unavailable.clone(), detail);
            }
            int_or_percent::at_most_all(errors, &at_unavailable, unavailable);
        }
        (kind, _) => {
            let shown = strategy_shown(kind, strategy);
            errors.not_supported_shown(path, &shown, &["Recreate", "RollingUpdate"]);
        }
    }
}

fn strategy_shown(kind: &str, strategy: &Value) -> String {
    let rolling = strategy.field("rollingUpdate").map_or_else(
        || "null".to_owned(),
        |rolling| {
            let part = |field: &str| rolling.field(field).cloned().unwrap_or_else(|| json!(0));
            format!(
                "{{\"MaxUnavailable\":{},\"MaxSurge\":{}}}",
                part("maxUnavailable"),
                part("maxSurge")
            )
        },
    );
    format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", Value::from(kind))
}

pub(super) fn update_deployment(errors: &mut Errors, new: &Value, old: &Value) {
    create_deployment(errors, new);
    selector_kept(errors, new, old);
}

/// Counts in a status: none is negative, and the named ones are not more than all replicas.
fn replica_counts(
    errors: &mut Errors,
    status: &Value,
    counts: &[&str],
    within: &[&str],
    ready_name: &str,
) {
    nonnegative_fields(errors, &STATUS, status, counts);
    for field in within {
        let count = status.count(field);
        if count > status.count("replicas") {
            errors.invalid(&STATUS.child(field), count, "cannot be greater than status.replicas");
        }
    }
    let available = status.count("availableReplicas");
    if available > status.count("readyReplicas") {
        let detail = format!("cannot be greater than {ready_name}");
        errors.invalid(&STATUS.child("availableReplicas"), available, detail);
    }
}

fn collisions_kept(errors: &mut Errors, status: &Value, old: &Value) {
    let (now, then) =
        (status.number("collisionCount"), old.part("status").number("collisionCount"));
    if then.is_some_and(|then| now.is_none_or(|now| now < then)) {
        let path = STATUS.child("collisionCount");
        errors.invalid(&path, now.unwrap_or_default(), "cannot be decremented");
    }
}

pub(super) fn update_deployment_status(errors: &mut Errors, new: &Value, old: &Value) {
    let status = new.part("status");
    let counts = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    let within = ["updatedReplicas", "readyReplicas", "availableReplicas"];
    replica_counts(errors, status, &counts, &within, "readyReplicas");
    collisions_kept(errors, status, old);
}

pub(super) fn create_replica_set(errors: &mut Errors, set: &Value) {
    let spec = set.part("spec");
    nonnegative_fields(errors, &SPEC, spec, &["replicas", "minReadySeconds"]);
    let usable = selector(errors, spec, "empty selector is invalid for deployment");
    replica_template(errors, spec, usable);
}

pub(super) fn update_replica_set(errors: &mut Errors, new: &Value, old: &Value) {
    create_replica_set(errors, new);
    selector_kept(errors, new, old);
}

pub(super) fn update_replica_set_status(errors: &mut Errors, new: &Value) {
    let counts = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ];
    let within = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    replica_counts(errors, new.part("status"), &counts, &within, "readyReplicas");
}

/// Also on updates: a `ReplicationController` may change its selector.
pub(super) fn create_replication_controller(errors: &mut Errors, controller: &Value) {
    let spec = controller.part("spec");
    nonnegative_fields(errors, &SPEC, spec, &["minReadySeconds"]);
    let labels = spec.map("selector").filter(|selector| !selector.is_empty());
    if labels.is_none() {
        errors.required(&SPEC.child("selector"), "");
    }
    nonnegative_fields(errors, &SPEC, spec, &["replicas"]);
    let path = SPEC.child("template");
    let Some(template) = spec.field("template") else {
        errors.required(&path, "");
        return;
    };
    let has = |(key, value): (&String, &Value)| {
        template.part("metadata").part("labels").field(key) == Some(value)
    };
    if labels.is_some_and(|labels| !labels.iter().all(has)) {
        errors.invalid(&path.child("metadata.labels"), template_labels(template), NO_MATCH);
    }
    pod::template(errors, &path, template);
    runs_forever(errors, &path, spec, "ReplicationController");
}

pub(super) fn create_daemon_set(errors: &mut Errors, set: &Value) {
    let spec = set.part("spec");
    let path = SPEC.child("template");
    let template = spec.part("template");
    let (given, at) = (spec.field("selector"), SPEC.child("selector"));
    selectors::label_selector(errors, &at, given);
    if selectors::is_usable(given)
        && !selectors::matches(given, template.part("metadata").part("labels"))
    {
        errors.invalid(&path.child("metadata.labels"), template_labels(template), NO_MATCH);
    }
    if given.is_some_and(selectors::is_empty) {
        let shown = selectors::shown(given);
        errors.invalid_shown(&at, &shown, "empty selector is invalid for daemonset");
    }
    pod::template(errors, &path, template);
    runs_forever(errors, &path, spec, "DaemonSet");
    nonnegative_fields(errors, &SPEC, spec, &["minReadySeconds"]);
    daemon_strategy(errors, &SPEC.child("updateStrategy"), spec.part("updateStrategy"));
    nonnegative_fields(errors, &SPEC, spec, &["revisionHistoryLimit"]);
}

fn daemon_strategy(errors: &mut Errors, path: &Path<'_>, strategy: &Value) {
    let at = path.child("rollingUpdate");
    match (strategy.text("type"), strategy.field("rollingUpdate")) {
        ("OnDelete", _) => {}
        ("RollingUpdate", None) => errors.required(&at, ""),
        ("RollingUpdate", Some(rolling)) => {
            let fields = ["maxUnavailable", "maxSurge"];
            for field in fields {
                int_or_percent::nonnegative(errors, &at.child(field), rolling.part(field));
            }
            for field in fields {
                int_or_percent::at_most_all(errors, &at.child(field), rolling.part(field));
            }
            let [unavailable, surge] =
                fields.map(|field| int_or_percent::amount(rolling.field(field)) != 0);
            if unavailable && surge {
                let detail = "may not be set when maxUnavailable is non-zero";
                errors.invalid(&at.child("maxSurge"), rolling.part("maxSurge").clone(), detail);
            } else if !unavailable && !surge {
                let detail = "cannot be 0 when maxSurge is 0";
                errors.required(&at.child("maxUnavailable"), detail);
            }
        }
        (kind, _) => {
            let shown = strategy_shown(kind, strategy);
            errors.not_supported_shown(path, &shown, &["RollingUpdate", "OnDelete"]);
        }
    }
}

pub(super) fn update_daemon_set(errors: &mut Errors, new: &Value, old: &Value) {
    selector_kept(errors, new, old);
    create_daemon_set(errors, new);
}

pub(super) fn update_daemon_set_status(errors: &mut Errors, new: &Value, old: &Value) {
    let status = new.part("status");
    let counts = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ];
    nonnegative_fields(errors, &STATUS, status, &counts);
    collisions_kept(errors, status, old);
}

pub(super) fn create_stateful_set(errors: &mut Errors, set: &Value) {
    let spec = set.part("spec");
    stateful_set_policies(errors, spec);
    let templates = SPEC.child("volumeClaimTemplates");
    for (index, claim) in spec.list("volumeClaimTemplates").iter().enumerate() {
        claims::claim_spec(errors, &templates.index(index).child("spec"), claim.part("spec"));
    }
    stateful_set_rest(errors, spec, true);
}

fn stateful_set_policies(errors: &mut Errors, spec: &Value) {
    let path = SPEC.child("podManagementPolicy");
    match spec.text("podManagementPolicy") {
        "" => errors.required(&path, ""),
        "OrderedReady" | "Parallel" => {}
        other => errors.invalid(&path, other, "must be 'OrderedReady' or 'Parallel'"),
    }
    let path = SPEC.child("updateStrategy");
    let strategy = spec.part("updateStrategy");
    let rolling = strategy.field("rollingUpdate");
    let at = path.child("rollingUpdate");
    match strategy.text("type") {
        "" => errors.required(&path, ""),
        "OnDelete" => {
            if let Some(rolling) = rolling {
                let shown = rolling_shown(rolling);
                let detail = "only allowed for updateStrategy 'RollingUpdate'";
                errors.invalid_shown(&at, &shown, detail);
            }
        }
        "RollingUpdate" => {
            if let Some(rolling) = rolling {
                errors.nonnegative(&at.child("partition"), rolling.count("partition"));
            }
        }
        other => {
            let rolling = rolling.map_or_else(|| "null".to_owned(), rolling_shown);
            let shown = format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", Value::from(other));
            errors.invalid_shown(&path, &shown, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
    if let Some(policy) = spec.field("persistentVolumeClaimRetentionPolicy") {
        let path = SPEC.child("persistentVolumeClaimRetentionPolicy");
        for field in ["whenDeleted", "whenScaled"] {
            errors.supported(&path.child(field), policy.text(field), &["Retain", "Delete"]);
        }
    }
}

fn rolling_shown(rolling: &Value) -> String {
    let (partition, unavailable) = (rolling.count("partition"), rolling.part("maxUnavailable"));
    format!("{{\"Partition\":{partition},\"MaxUnavailable\":{unavailable}}}")
}

fn stateful_set_rest(errors: &mut Errors, spec: &Value, check_service: bool) {
    nonnegative_fields(errors, &SPEC, spec, &["replicas", "minReadySeconds"]);
    errors.nonnegative(&SPEC.child("ordinals.start"), spec.part("ordinals").count("start"));
    let service = spec.text("serviceName");
    if check_service && !service.is_empty() {
        errors.invalid_each(&SPEC.child("serviceName"), service, formats::dns_label(service));
    }
    let usable = selector(errors, spec, "empty selector is invalid for statefulset");
    let path = SPEC.child("template");
    if usable {
        selector_matches_template(errors, &path, spec);
        let template = with_claim_volumes(spec);
        pod::template(errors, &path, &template);
        pod::template_metadata(errors, &path, &template);
    } else {
        let shown = selectors::shown(spec.field("selector"));
        errors.invalid_shown(&SPEC.child("selector"), &shown, "");
    }
    runs_forever(errors, &path, spec, "StatefulSet");
}

/// The template as its pods will be: with a volume for each claim, and with names of their own.
fn with_claim_volumes(spec: &Value) -> Value {
    let mut template = spec.part("template").clone();
    let name = |claim: &Value| claim.part("metadata").text("name").to_owned();
    let names: Vec<String> = spec.list("volumeClaimTemplates").iter().map(name).collect();
    if let Some(pod) = template.get_mut("spec").and_then(Value::as_object_mut) {
        pod.remove("hostname");
        pod.remove("subdomain");
        let made = names
            .iter()
            .map(|name| json!({ "name": name, "persistentVolumeClaim": { "claimName": name } }));
        let volumes = pod.get("volumes").and_then(Value::as_array).cloned().unwrap_or_default();
        let own = volumes
            .into_iter()
            .filter(|volume| !names.iter().any(|name| name == volume.text("name")));
        let volumes: Vec<Value> = made.chain(own).collect();
        pod.insert("volumes".to_owned(), Value::from(volumes));
    }
    template
}

pub(super) fn update_stateful_set(errors: &mut Errors, new: &Value, old: &Value) {
    let (spec, before) = (new.part("spec"), old.part("spec"));
    stateful_set_policies(errors, spec);
    stateful_set_rest(errors, spec, false);
    let mutable = [
        "replicas",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
    ];
    let rest = |spec: &Value| {
        let mut rest = spec.as_object().cloned().unwrap_or_default();
        rest.retain(|field, _| !mutable.contains(&field.as_str()));
        Value::from(rest)
    };
    if !same(&rest(spec), &rest(before)) {
        let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', \
             'template', 'updateStrategy', 'revisionHistoryLimit', \
             'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
        errors.forbidden(&SPEC, detail);
    }
}

pub(super) fn update_stateful_set_status(errors: &mut Errors, new: &Value, old: &Value) {
    let status = new.part("status");
    let counts = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    let within = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
    replica_counts(errors, status, &counts, &within, "status.readyReplicas");
    collisions_kept(errors, status, old);
}

pub(super) fn create_controller_revision(errors: &mut Errors, revision: &Value) {
    errors.nonnegative(&Path::new("revision"), revision.count("revision"));
    let path = Path::new("data");
    match revision.field("data") {
        None => errors.required(&path, "data is mandatory"),
        Some(data) if !data.is_object() => {
            errors.required(&path, "data must be a valid JSON object");
        }
        Some(_) => {}
    }
}

pub(super) fn update_controller_revision(errors: &mut Errors, new: &Value, old: &Value) {
    errors.nonnegative(&Path::new("revision"), new.count("revision"));
    if new.field("data") != old.field("data") {
        errors.invalid(&Path::new("data"), new.part("data").clone(), IMMUTABLE);
    }
}
