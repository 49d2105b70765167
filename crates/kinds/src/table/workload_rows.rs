//! The rows of workloads and what belongs to them.

use serde_json::{Value, json};

use super::{
    age,
    cells::{NONE, condition, containers, labels, or, selector},
    rows::{Row, UNSET},
};
use crate::fields::Fields;

impl Row<'_> {
    pub(super) fn budget(&self) -> Vec<Value> {
        let limit = |field: &str| match self.spec().field(field) {
            None => "N/A".to_owned(),
            Some(Value::String(percent)) => percent.clone(),
            Some(number) => number.to_string(),
        };
        vec![
            limit("minAvailable").into(),
            limit("maxUnavailable").into(),
            self.status().count("disruptionsAllowed").into(),
            self.age(),
        ]
    }

    pub(super) fn replicas(&self) -> Vec<Value> {
        let [names, images] = self.template();
        let own = self.spec().part("selector");
        // A ReplicationController's selector is a plain map of labels.
        let is_map = own.entries("matchLabels").next().is_none() && !own.has("matchExpressions");
        let selector =
            if is_map { labels(self.spec(), "selector").into() } else { self.selector() };
        vec![
            self.spec().count("replicas").into(),
            self.status().count("replicas").into(),
            self.status().count("readyReplicas").into(),
            self.age(),
            names,
            images,
            selector,
        ]
    }

    pub(super) fn daemon_set(&self) -> Vec<Value> {
        let counts = [
            "desiredNumberScheduled",
            "currentNumberScheduled",
            "numberReady",
            "updatedNumberScheduled",
            "numberAvailable",
        ];
        let [names, images] = self.template();
        let pod = self.spec().part("template").part("spec");
        let counts = counts.map(|field| Value::from(self.status().count(field)));
        let nodes = labels(pod, "nodeSelector").into();
        counts.into_iter().chain([nodes, self.age(), names, images, self.selector()]).collect()
    }

    pub(super) fn ready_of_desired(&self) -> Value {
        let (ready, desired) =
            (self.status().count("readyReplicas"), self.spec().count("replicas"));
        format!("{ready}/{desired}").into()
    }

    pub(super) fn deployment(&self) -> Vec<Value> {
        let [names, images] = self.template();
        vec![
            self.ready_of_desired(),
            self.status().count("updatedReplicas").into(),
            self.status().count("availableReplicas").into(),
            self.age(),
            names,
            images,
            selector(self.spec().part("selector")).into(),
        ]
    }

    pub(super) fn stateful_set(&self) -> Vec<Value> {
        let [names, images] = self.template();
        vec![self.ready_of_desired(), self.age(), names, images]
    }

    pub(super) fn controller_revision(&self) -> Vec<Value> {
        let mut owners = self.metadata().list("ownerReferences").iter();
        let controller = owners.find(|owner| owner.flag("controller")).map(|owner| {
            let kind = owner.text("kind").to_lowercase();
            let version = owner.text("apiVersion");
            let group = version
                .split_once('/')
                .map_or(String::new(), |(group, _)| format!(".{}", group.to_lowercase()));
            format!("{kind}{group}/{}", owner.text("name"))
        });
        let controller = controller.unwrap_or_else(|| NONE.to_owned());
        vec![controller.into(), self.object.count("revision").into(), self.age()]
    }

    pub(super) fn job(&self) -> Vec<Value> {
        let (spec, status) = (self.spec(), self.status());
        let succeeded = status.count("succeeded");
        let completions = match (spec.number("completions"), spec.count("parallelism")) {
            (Some(completions), _) => format!("{succeeded}/{completions}"),
            (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
            (None, _) => format!("{succeeded}/1"),
        };
        let duration = age::time(status, "startTime").map_or_else(String::new, |start| {
            age::between(start, age::time(status, "completionTime").unwrap_or(self.now))
        });
        let states = ["Complete", "Failed"].into_iter().find(|state| condition(self.object, state));
        let state = states.unwrap_or_else(|| {
            let later = ["Suspended", "FailureTarget", "SuccessCriteriaMet"];
            if self.metadata().has("deletionTimestamp") {
                "Terminating"
            } else {
                let found = later.into_iter().find(|state| condition(self.object, state));
                found.unwrap_or("Running")
            }
        });
        let [names, images] = self.template();
        vec![
            state.into(),
            completions.into(),
            duration.into(),
            self.age(),
            names,
            images,
            self.selector(),
        ]
    }

    pub(super) fn cron_job(&self) -> Vec<Value> {
        let (spec, status) = (self.spec(), self.status());
        let last = if status.has("lastScheduleTime") {
            age::since(status, "lastScheduleTime", self.now)
        } else {
            NONE.to_owned()
        };
        let suspended = match spec.given_flag("suspend") {
            None => UNSET,
            Some(true) => "True",
            Some(false) => "False",
        };
        let job = spec.part("jobTemplate").part("spec");
        let [names, images] = containers(job.part("template").part("spec"));
        vec![
            spec.text("schedule").into(),
            spec.given_text("timeZone").unwrap_or(NONE).into(),
            suspended.into(),
            status.list("active").len().into(),
            last.into(),
            self.age(),
            names,
            images,
            or(&selector(job.part("selector")), NONE).into(),
        ]
    }

    pub(super) fn autoscaler(&self) -> Vec<Value> {
        let (spec, status) = (self.spec(), self.status());
        let target = spec.part("scaleTargetRef");
        let least = spec.number("minReplicas").map_or_else(|| UNSET.to_owned(), |n| n.to_string());
        vec![
            format!("{}/{}", target.text("kind"), target.text("name")).into(),
            self.metrics().into(),
            least.into(),
            spec.count("maxReplicas").into(),
            status.count("currentReplicas").into(),
            self.age(),
        ]
    }

    /// What is measured, and what it should be: the first two metrics.
    pub(super) fn metrics(&self) -> String {
        let statuses = self.status().list("currentMetrics");
        let shown: Vec<String> = self
            .spec()
            .list("metrics")
            .iter()
            .enumerate()
            .map(|(index, metric)| metric_shown(metric, statuses.get(index)))
            .collect();
        match shown.len() {
            0 => NONE.to_owned(),
            1 | 2 => shown.join(", "),
            count => format!("{} + {} more...", shown[..2].join(", "), count - 2),
        }
    }
}

/// One metric of an autoscaler: what it is now, and what it should be.
fn metric_shown(metric: &Value, status: Option<&Value>) -> String {
    let null = json!(null);
    let (field, named) = match metric.text("type") {
        "External" => ("external", false),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let source = metric.part(field);
    let target = source.part("target");
    let current = status.unwrap_or(&null).part(field).part("current");
    let now = |value: &str| current.given_text(value).unwrap_or("<unknown>").to_owned();
    let percent = |owner: &Value, otherwise: &str| {
        let share = owner.number("averageUtilization");
        share.map_or_else(|| otherwise.to_owned(), |share| format!("{share}%"))
    };
    let values = if let Some(average) = target.given_text("averageValue") {
        let mark = if ["external", "object"].contains(&field) { " (avg)" } else { "" };
        format!("{}/{average}{mark}", now("averageValue"))
    } else if named {
        format!("{}/{}", percent(current, "<unknown>"), percent(target, "<auto>"))
    } else {
        format!("{}/{}", now("value"), target.text("value"))
    };
    if named { format!("{}: {values}", source.text("name")) } else { values }
}
