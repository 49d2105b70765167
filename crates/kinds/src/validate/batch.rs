//! Jobs and `CronJobs`.

use serde_json::Value;

use super::{
    cron,
    errors::{Errors, IMMUTABLE, Path},
    formats, internal, pod, selectors,
};
use crate::fields::{Fields, same};

pub(super) fn create_job(errors: &mut Errors, job: &Value) {
    let (metadata, spec) = (job.part("metadata"), job.part("spec"));
    generated_selector(errors, metadata, spec);
    job_spec_with_selector(errors, spec);
    let completions = spec.count("completions");
    if spec.text("completionMode") == "Indexed" && completions > 0 {
        let name = metadata.text("name");
        let longest = format!("{name}-{}", completions - 1);
        if !formats::dns_label(&longest).is_empty() {
            let detail = format!("will not able to create pod with invalid DNS label: {longest}");
            errors.invalid(&Path::new("metadata.name"), name, detail);
        }
    }
}

/// Unless it is made by hand, the selector of a Job is made of its uid.
fn generated_selector(errors: &mut Errors, metadata: &Value, spec: &Value) {
    let Some(selector) = spec.field("selector").filter(|_| !spec.flag("manualSelector")) else {
        return;
    };
    let (uid, name) = (metadata.text("uid"), metadata.text("name"));
    if uid.is_empty() {
        errors.required(&Path::new("metadata.uid"), "");
    }
    let labels = [
        ("controller-uid", uid),
        ("job-name", name),
        ("batch.kubernetes.io/controller-uid", uid),
        ("batch.kubernetes.io/job-name", name),
    ];
    let path = Path::new("spec.template.metadata.labels");
    let given = spec.part("template").part("metadata").part("labels");
    for (key, expected) in labels {
        let detail = format!("must be '{expected}'");
        match given.given_text(key) {
            None => errors.required(&path.key(key), detail),
            Some(value) if value != expected => {
                errors.invalid(&path.key(key), given.clone(), detail);
            }
            Some(_) => {}
        }
    }
    let expected: serde_json::Map<String, Value> =
        labels.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect();
    if selectors::is_usable(Some(selector))
        && !selectors::matches(Some(selector), &Value::from(expected))
    {
        let shown = selectors::shown(Some(selector));
        errors.invalid_shown(&Path::new("spec.selector"), &shown, "`selector` not auto-generated");
    }
}

pub(super) fn job_spec_with_selector(errors: &mut Errors, spec: &Value) {
    let path = Path::new("spec");
    job_spec(errors, &path, spec);
    let selector = spec.field("selector");
    if selector.is_none() {
        errors.required(&path.child("selector"), "");
    }
    selectors::label_selector(errors, &path.child("selector"), selector);
    let labels = spec.part("template").part("metadata").part("labels");
    if selectors::is_usable(selector) && !selectors::matches(selector, labels) {
        let detail = "`selector` does not match template `labels`";
        errors.invalid(&path.child("template.metadata.labels"), labels.clone(), detail);
    }
}

fn job_spec(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let counts = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    for field in counts {
        errors.nonnegative(&path.child(field), spec.count(field));
    }
    if spec.has("maxFailedIndexes") && !spec.has("backoffLimitPerIndex") {
        let detail = "when maxFailedIndexes is specified";
        errors.required(&path.child("backoffLimitPerIndex"), detail);
    }
    if let Some(manager) = spec.given_text("managedBy") {
        let at = path.child("managedBy");
        if manager.is_empty() {
            errors.required(&at, "");
        } else {
            for (value, message) in formats::domain_prefixed_path(manager) {
                errors.invalid(&at, value, message);
            }
        }
        if manager.len() > 63 {
            errors.too_long(&at, 63);
        }
    }
    completion_mode(errors, path, spec);
    if let Some(policy) = spec.field("podFailurePolicy") {
        failure_policy(errors, &path.child("podFailurePolicy.rules"), spec, policy);
    }
    if let Some(policy) = spec.given_text("podReplacementPolicy") {
        let at = path.child("podReplacementPolicy");
        let known: &[&str] = if spec.has("podFailurePolicy") {
            &["Failed"]
        } else {
            &["Failed", "TerminatingOrFailed"]
        };
        errors.supported(&at, policy, known);
    }
    pod::template(errors, &path.child("template"), spec.part("template"));
    let at = path.child("template.spec.restartPolicy");
    match spec.part("template").part("spec").text("restartPolicy") {
        "Always" | "" => errors.required(&at, "valid values: \"OnFailure\", \"Never\""),
        "Never" => {}
        "OnFailure" => {
            if spec.has("podFailurePolicy") {
                let detail = "only \"Never\" is supported when podFailurePolicy is specified";
                errors.invalid(&at, "OnFailure", detail);
            }
        }
        other => errors.not_supported(&at, other, &["OnFailure", "Never"]),
    }
}

/// Limits of Jobs whose completions are told apart by an index.
fn completion_mode(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    const MANY: i64 = 100_000;
    const FEW: i64 = 10_000;
    let mode = spec.given_text("completionMode");
    if let Some(mode) = mode {
        errors.supported(&path.child("completionMode"), mode, &["NonIndexed", "Indexed"]);
    }
    let failed = spec.number("maxFailedIndexes");
    let (at_failed, at_parallelism) = (path.child("maxFailedIndexes"), path.child("parallelism"));
    if mode == Some("Indexed") {
        let (completions, parallelism) = (spec.number("completions"), spec.count("parallelism"));
        if completions.is_none() {
            errors.required(&path.child("completions"), "when completion mode is Indexed");
        }
        if parallelism > MANY {
            let detail =
                format!("must be less than or equal to {MANY} when completion mode is Indexed");
            errors.invalid(&at_parallelism, parallelism, detail);
        }
        if let (Some(failed), Some(completions)) = (failed, completions)
            && failed > completions
        {
            errors.invalid(&at_failed, failed, "must be less than or equal to completions");
        }
        if let Some(failed) = failed.filter(|failed| *failed > MANY) {
            errors.invalid(&at_failed, failed, format!("must be less than or equal to {MANY}"));
        }
        if completions.is_some_and(|completions| completions > MANY)
            && spec.has("backoffLimitPerIndex")
        {
            let detail = format!(
                "must be less than or equal to {FEW} when completions are above {MANY} and used \
                 with backoff limit per index"
            );
            if failed.is_none() {
                let detail = format!("must be specified when completions is above {MANY}");
                errors.required(&at_failed, detail);
            }
            if parallelism > FEW {
                errors.invalid(&at_parallelism, parallelism, detail.clone());
            }
            if let Some(failed) = failed.filter(|failed| *failed > FEW) {
                errors.invalid(&at_failed, failed, detail);
            }
        }
    }
    if mode.is_none() || mode == Some("NonIndexed") {
        for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if let Some(value) = spec.number(field) {
                errors.invalid(&path.child(field), value, "requires indexed completion mode");
            }
        }
    }
}

fn failure_policy(errors: &mut Errors, path: &Path<'_>, spec: &Value, policy: &Value) {
    let rules = policy.list("rules");
    if rules.len() > 20 {
        errors.too_many(path, rules.len(), 20);
    }
    let actions = ["Count", "FailIndex", "FailJob", "Ignore"];
    for (index, rule) in rules.iter().enumerate() {
        let path = path.index(index);
        let at = path.child("action");
        match rule.text("action") {
            "" => errors.required(&at, format!("valid values: {}", go_list(&actions))),
            "FailIndex" => {
                if !spec.has("backoffLimitPerIndex") {
                    let detail = "requires the backoffLimitPerIndex to be set";
                    errors.invalid(&at, "FailIndex", detail);
                }
            }
            other => errors.supported(&at, other, &actions),
        }
        let codes = rule.field("onExitCodes");
        let conditions = rule.list("onPodConditions");
        if let Some(codes) = codes {
            exit_codes(errors, &path.child("onExitCodes"), spec, codes);
        }
        pod_conditions(errors, &path.child("onPodConditions"), conditions);
        match (codes.is_some(), conditions.is_empty()) {
            (true, false) => {
                let detail = "specifying both OnExitCodes and OnPodConditions is not supported";
                errors.invalid_unnamed(&path, detail);
            }
            (false, true) => {
                let detail = "specifying one of OnExitCodes and OnPodConditions is required";
                errors.invalid_unnamed(&path, detail);
            }
            _ => {}
        }
    }
}

/// A list of texts as Go prints it.
fn go_list(values: &[&str]) -> String {
    let quoted: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    format!("[{}]", quoted.join(" "))
}

fn pod_conditions(errors: &mut Errors, path: &Path<'_>, conditions: &[Value]) {
    if conditions.len() > 20 {
        errors.too_many(path, conditions.len(), 20);
    }
    let statuses = ["False", "True", "Unknown"];
    for (index, condition) in conditions.iter().enumerate() {
        let path = path.index(index);
        let kind = condition.text("type");
        errors.invalid_each(&path.child("type"), kind, formats::qualified_name(kind));
        let at = path.child("status");
        match condition.text("status") {
            "" => errors.required(&at, format!("valid values: {}", go_list(&statuses))),
            other => errors.supported(&at, other, &statuses),
        }
    }
}

fn exit_codes(errors: &mut Errors, path: &Path<'_>, spec: &Value, codes: &Value) {
    let operator = codes.text("operator");
    let at = path.child("operator");
    if operator.is_empty() {
        errors.required(&at, format!("valid values: {}", go_list(&["In", "NotIn"])));
    } else {
        errors.supported(&at, operator, &["In", "NotIn"]);
    }
    if let Some(name) = codes.given_text("containerName") {
        let pod = spec.part("template").part("spec");
        let mut all = pod.list("containers").iter().chain(pod.list("initContainers"));
        if !all.any(|container| container.text("name") == name) {
            let detail = "must be one of the container or initContainer names in the pod template";
            errors.invalid(&path.child("containerName"), name, detail);
        }
    }
    let at = path.child("values");
    let values: Vec<i64> = codes.list("values").iter().filter_map(Value::as_i64).collect();
    if values.is_empty() {
        errors.invalid(&at, Value::Array(Vec::new()), "at least one value is required");
    } else if values.len() > 255 {
        errors.too_many(&at, values.len(), 255);
    }
    for (index, &value) in values.iter().enumerate() {
        let at = at.index(index);
        if operator == "In" && value == 0 {
            errors.invalid(&at, value, "must not be 0 for the In operator");
        }
        if values[..index].contains(&value) {
            errors.duplicate(&at, value);
        }
    }
    if !values.is_sorted() {
        errors.invalid(&at, values, "must be ordered");
    }
}

/// What must be true of a job whether it is new or not.
pub(super) fn whole_job(errors: &mut Errors, job: &Value) {
    generated_selector(errors, job.part("metadata"), job.part("spec"));
    job_spec_with_selector(errors, job.part("spec"));
}

pub(super) fn update_job(errors: &mut Errors, new: &Value, old: &Value) {
    let (spec, before) = (new.part("spec"), old.part("spec"));
    let path = Path::new("spec");
    let completions = path.child("completions");
    if spec.field("completions") != before.field("completions") {
        if spec.text("completionMode") != "Indexed" {
            errors.invalid(&completions, spec.part("completions").clone(), IMMUTABLE);
        } else if let Some(count) = spec.number("completions")
            && count != spec.count("parallelism")
        {
            let detail = "can only be modified in tandem with spec.parallelism";
            errors.invalid(&completions, count, detail);
        }
    }
    if !same(spec.part("selector"), before.part("selector")) {
        let shown = selectors::shown(spec.field("selector"));
        errors.invalid_shown(&path.child("selector"), &shown, IMMUTABLE);
    }
    template_kept(errors, &path.child("template"), new, old);
    for field in
        ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"]
    {
        if !same(spec.part(field), before.part(field)) {
            let shown = match (field, spec.field(field)) {
                ("podFailurePolicy", Some(policy)) => internal::compact("PodFailurePolicy", policy),
                ("successPolicy", Some(policy)) => internal::compact("SuccessPolicy", policy),
                (_, value) => value.unwrap_or(&Value::Null).to_string(),
            };
            errors.invalid_shown(&path.child(field), &shown, IMMUTABLE);
        }
    }
}

/// The template of a Job stays as it is. While the Job is suspended and none of its pods run, where
/// they may run and what they request may change.
fn template_kept(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) {
    let (spec, before) = (new.part("spec"), old.part("spec"));
    let suspended = before.flag("suspend");
    let rests = !old.part("status").has("startTime") || condition(old, "Suspended");
    let mutable = suspended && rests && old.part("status").count("active") == 0;
    let (mut now, mut then) = (spec.part("template").clone(), before.part("template").clone());
    if mutable {
        for template in [&mut now, &mut then] {
            if let Some(pod) = template.get_mut("spec").and_then(Value::as_object_mut) {
                for field in ["nodeSelector", "tolerations", "schedulingGates"] {
                    pod.remove(field);
                }
                if let Some(affinity) = pod.get_mut("affinity").and_then(Value::as_object_mut) {
                    affinity.remove("nodeAffinity");
                    if affinity.is_empty() {
                        pod.remove("affinity");
                    }
                }
                for field in ["containers", "initContainers"] {
                    let containers = pod.get_mut(field).and_then(Value::as_array_mut);
                    for container in containers.into_iter().flatten() {
                        container.as_object_mut().map(|container| container.remove("resources"));
                    }
                }
            }
            if let Some(template) = template.as_object_mut() {
                template.remove("metadata");
            }
        }
    }
    if same(&now, &then) {
        return;
    }
    let template = spec.part("template");
    if mutable {
        let shown = internal::compact("PodSpec", template.part("spec"));
        errors.invalid_shown(&path.child("spec"), &shown, IMMUTABLE);
    } else {
        let shown = internal::compact("PodTemplateSpec", template);
        errors.invalid_shown(path, &shown, IMMUTABLE);
    }
}

fn condition(job: &Value, kind: &str) -> bool {
    let mut conditions = job.part("status").list("conditions").iter();
    conditions.any(|other| other.text("type") == kind && other.text("status") == "True")
}

/// An update of a Job's status: it moves forward only.
pub(super) fn update_job_status(errors: &mut Errors, new: &Value, old: &Value) {
    let path = Path::new("status");
    let (status, before) = (new.part("status"), old.part("status"));
    for field in ["active", "succeeded", "failed", "ready", "terminating"] {
        errors.nonnegative(&path.child(field), status.count(field));
    }
    finished_job(errors, &path, new);
    let conditions = path.child("conditions");
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if condition(old, kind) && !condition(new, kind) {
            let detail = format!("cannot disable the terminal {kind}=True condition");
            errors.invalid_unnamed(&conditions, &detail);
        }
    }
    for field in ["failed", "succeeded"] {
        if status.count(field) < before.count(field) {
            let detail = format!("cannot decrease the {field} counter");
            errors.invalid(&path.child(field), status.count(field), detail);
        }
    }
    let (now, then) = (status.field("completionTime"), before.field("completionTime"));
    if let (Some(now), Some(then)) = (now, then)
        && now != then
    {
        errors.invalid(&path.child("completionTime"), now.clone(), IMMUTABLE);
    }
    let (now, then) = (status.field("startTime"), before.field("startTime"));
    if then.is_some() && now != then && !new.part("spec").flag("suspend") {
        let detail = "field is immutable for unsuspended job once set";
        errors.invalid(&path.child("startTime"), status.part("startTime").clone(), detail);
    }
    if condition(old, "SuccessCriteriaMet") && !condition(new, "SuccessCriteriaMet") {
        let detail = "cannot disable the SuccessCriteriaMet=True condition";
        errors.invalid_unnamed(&conditions, detail);
    }
}

/// What a status says about the end of a Job has to fit together.
fn finished_job(errors: &mut Errors, path: &Path<'_>, job: &Value) {
    let status = job.part("status");
    let (complete, failed) = (condition(job, "Complete"), condition(job, "Failed"));
    let (target, met) = (condition(job, "FailureTarget"), condition(job, "SuccessCriteriaMet"));
    let finished = complete || failed;
    let conditions = path.child("conditions");
    let at = path.child("completionTime");
    if complete && failed {
        let detail = "cannot set Complete=True and Failed=true conditions";
        errors.invalid_unnamed(&conditions, detail);
    }
    if complete && target {
        let detail = "cannot set Complete=True and FailureTarget=true conditions";
        errors.invalid_unnamed(&conditions, detail);
    }
    match (status.field("completionTime"), complete) {
        (Some(time), false) => {
            let detail = "cannot set completionTime when there is no Complete=True condition";
            errors.invalid(&at, time.clone(), detail);
        }
        (None, true) => errors.required(&at, "completionTime is required for Complete jobs"),
        _ => {}
    }
    if status.has("startTime")
        && status.has("completionTime")
        && status.text("completionTime") < status.text("startTime")
    {
        errors.invalid(&at, status.text("completionTime"), "must be equal to or after `startTime`");
    }
    if failed && !target {
        let detail = "cannot set Failed=True condition without the FailureTarget=true condition";
        errors.invalid_unnamed(&conditions, detail);
    }
    if complete && !met {
        let detail =
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        errors.invalid_unnamed(&conditions, detail);
    }
    if finished && status.count("active") > 0 {
        let detail = "active>0 is invalid for finished job";
        errors.invalid(&path.child("active"), status.count("active"), detail);
    }
    if finished && !status.has("startTime") {
        errors.required(&path.child("startTime"), "startTime is required for finished job");
    }
    if finished && status.count("terminating") > 0 {
        let detail = "terminating>0 is invalid for finished job";
        errors.invalid(&path.child("terminating"), status.count("terminating"), detail);
    }
    if let Some(ready) = status.number("ready").filter(|ready| *ready > status.count("active")) {
        errors.invalid(&path.child("ready"), ready, "cannot set more ready pods than active");
    }
    for (other, name) in [(failed, "Failed"), (target, "FailureTarget")] {
        if met && other {
            let detail = format!("cannot set SuccessCriteriaMet=True and {name}=true conditions");
            errors.invalid_unnamed(&conditions, &detail);
        }
    }
}

pub(super) fn create_cron_job(errors: &mut Errors, job: &Value) {
    cron_job_spec(errors, job.part("spec"), None);
    let name = job.part("metadata").text("name");
    if name.len() > 52 {
        errors.invalid(&Path::new("metadata.name"), name, "must be no more than 52 characters");
    }
}

/// The first parts of the names of time zones.
const AREAS: [&str; 18] = [
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Brazil",
    "Canada",
    "Chile",
    "Etc",
    "Europe",
    "Indian",
    "Mexico",
    "Pacific",
    "US",
    "posix",
    "right",
];

pub(super) fn update_cron_job(errors: &mut Errors, new: &Value, old: &Value) {
    cron_job_spec(errors, new.part("spec"), Some(old.part("spec")));
}

fn cron_job_spec(errors: &mut Errors, spec: &Value, old: Option<&Value>) {
    let path = Path::new("spec");
    let at = path.child("schedule");
    let schedule = spec.text("schedule");
    if schedule.is_empty() {
        errors.required(&at, "");
    } else {
        if let Some(problem) = cron::problem(schedule) {
            errors.invalid(&at, schedule, problem);
        }
        let had_zone = old.is_some_and(|old| old.text("schedule").contains("TZ"));
        if schedule.contains("TZ") {
            if !had_zone {
                let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
                errors.invalid(&at, schedule, detail);
            } else if spec.has("timeZone") {
                let detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
                errors.invalid(&at, schedule, detail);
            }
        }
    }
    let deadline = "startingDeadlineSeconds";
    errors.nonnegative(&path.child(deadline), spec.count(deadline));
    let zone = spec.given_text("timeZone");
    if let Some(zone) = zone.filter(|zone| old.is_none_or(|old| old.text("timeZone") != *zone)) {
        time_zone(errors, &path.child("timeZone"), zone);
    }
    let policies = ["Allow", "Forbid", "Replace"];
    errors.one_of(&path.child("concurrencyPolicy"), spec.text("concurrencyPolicy"), &policies);
    let template = path.child("jobTemplate.spec");
    let job = spec.part("jobTemplate").part("spec");
    job_spec(errors, &template, job);
    if let Some(selector) = job.field("selector") {
        let shown = selectors::shown(Some(selector));
        errors.invalid_shown(
            &template.child("selector"),
            &shown,
            "`selector` will be auto-generated",
        );
    }
    if job.flag("manualSelector") {
        errors.not_supported_shown(&template.child("manualSelector"), "true", &["nil", "false"]);
    }
    for field in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        errors.nonnegative(&path.child(field), spec.count(field));
    }
}

/// COMPAT: whether a well-written zone exists is not checked; the API server asks its own database.
fn time_zone(errors: &mut Errors, path: &Path<'_>, zone: &str) {
    if zone.is_empty() {
        errors.invalid(path, zone, "timeZone must be nil or non-empty string");
        return;
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte);
    let strange = |part: &str| {
        part == "."
            || part == ".."
            || part.starts_with('-')
            || part.is_empty()
            || part.len() > 14
            || !part.bytes().all(allowed)
    };
    // COMPAT: only the areas of the world are known, not each place in them.
    let area = zone.split_once('/').map_or(zone, |(area, _)| area);
    if zone.split('/').any(strange) || (zone.contains('/') && !AREAS.contains(&area)) {
        errors.invalid(path, zone, format!("unknown time zone {zone}"));
    } else if zone.eq_ignore_ascii_case("local") {
        let detail = "timeZone must be an explicit time zone as defined in \
             https://www.iana.org/time-zones";
        errors.invalid(path, zone, detail);
    }
}
