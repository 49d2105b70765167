//! How the containers of a pod behave: by the pod's own fields, and by annotations where a test or
//! a demonstration wants something else.

use jiff::SignedDuration;
use serde_json::Value;

use crate::cluster::selection::{integer, list};

/// How long it takes from admission to running containers.
const START_DELAY: SignedDuration = SignedDuration::from_secs(2);
/// How long each init container runs.
const INIT_TIME: SignedDuration = SignedDuration::from_secs(1);
/// How long containers take to end once they are told to.
const STOP_TIME: SignedDuration = SignedDuration::from_secs(1);

/// The prefix of the annotations that choose how a pod behaves.
pub(super) const PREFIX: &str = "lab.joiner.dev/";

/// How the containers of a pod behave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Behaviour {
    /// From admission to running: `start-delay`.
    pub(super) start_delay: SignedDuration,
    /// From running to being ready: `ready-delay`.
    pub(super) ready_delay: SignedDuration,
    /// Whether it never gets ready: `never-ready`.
    pub(super) never_ready: bool,
    /// How long containers run before they end by themselves: `run-time`.
    pub(super) run_time: Option<SignedDuration>,
    /// What they end with then: `exit-code`.
    pub(super) exit_code: i64,
    /// How long they take to end when they are told to: `stop-time`, after `pre-stop-time`.
    pub(super) stop_time: SignedDuration,
    /// Whether they never end when they are told to: `hang`.
    pub(super) hangs: bool,
    pub(super) restart_policy: RestartPolicy,
    /// How long the pod may be active.
    pub(super) deadline: Option<SignedDuration>,
}

/// Which containers are started again after they ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RestartPolicy {
    Always,
    OnFailure,
    Never,
}

impl Behaviour {
    /// Reads a pod. Also returns what is wrong with its annotations; those are then ignored.
    pub(super) fn read(pod: &Value) -> (Self, Vec<String>) {
        let spec = &pod["spec"];
        let mut wrong = Vec::new();
        let mut asked = Asked { annotations: &pod["metadata"]["annotations"], wrong: &mut wrong };
        let inits = list(&spec["initContainers"]).iter();
        let inits = inits.filter(|init| init["restartPolicy"] != "Always").count();
        let start = START_DELAY.saturating_add(INIT_TIME.saturating_mul(inits as i32));
        let pre_stop = asked.duration("pre-stop-time").unwrap_or_else(|| pre_stop(spec));
        let stop = asked.duration("stop-time").unwrap_or(STOP_TIME);
        let behaviour = Self {
            start_delay: asked.duration("start-delay").unwrap_or(start),
            ready_delay: asked.duration("ready-delay").unwrap_or_else(|| readiness(spec)),
            never_ready: asked.flag("never-ready"),
            run_time: asked.duration("run-time"),
            exit_code: asked.number("exit-code").unwrap_or_default(),
            stop_time: pre_stop.saturating_add(stop),
            hangs: asked.flag("hang"),
            restart_policy: match spec["restartPolicy"].as_str() {
                Some("Never") => RestartPolicy::Never,
                Some("OnFailure") => RestartPolicy::OnFailure,
                _ => RestartPolicy::Always,
            },
            deadline: spec["activeDeadlineSeconds"].as_i64().map(SignedDuration::from_secs),
        };
        (behaviour, wrong)
    }

    /// Whether containers are started again after they ended with this code.
    pub(super) fn restarts_after(&self, exit_code: i64) -> bool {
        match self.restart_policy {
            RestartPolicy::Always => true,
            RestartPolicy::OnFailure => exit_code != 0,
            RestartPolicy::Never => false,
        }
    }
}

/// The longest wait of a preStop hook that only sleeps.
fn pre_stop(spec: &Value) -> SignedDuration {
    let sleeps = list(&spec["containers"])
        .iter()
        .map(|container| integer(&container["lifecycle"]["preStop"]["sleep"]["seconds"]));
    SignedDuration::from_secs(sleeps.max().unwrap_or_default())
}

/// When the last readiness probe succeeds: with its first try, which is no earlier than a second
/// after the start.
fn readiness(spec: &Value) -> SignedDuration {
    let probes = list(&spec["containers"])
        .iter()
        .map(|container| &container["readinessProbe"])
        .filter(|probe| probe.is_object())
        .map(|probe| integer(&probe["initialDelaySeconds"]).max(1));
    SignedDuration::from_secs(probes.max().unwrap_or_default())
}

struct Asked<'a> {
    annotations: &'a Value,
    wrong: &'a mut Vec<String>,
}

impl Asked<'_> {
    fn value<T>(
        &mut self,
        name: &str,
        remedy: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let key = format!("{PREFIX}{name}");
        let text = self.annotations[&key].as_str()?;
        let value = parse(text);
        if value.is_none() {
            self.wrong.push(format!("annotation {key} has value {text:?}: write {remedy}"));
        }
        value
    }

    fn duration(&mut self, name: &str) -> Option<SignedDuration> {
        self.value(name, "a duration such as 500ms, 90s, 5m or 1h", duration)
    }

    fn number(&mut self, name: &str) -> Option<i64> {
        self.value(name, "a whole number such as 1", |text| text.parse().ok())
    }

    fn flag(&mut self, name: &str) -> bool {
        self.value(name, "true or false", |text| text.parse().ok()).unwrap_or_default()
    }
}

/// `500ms`, `90s`, `5m`, `1h`; a number alone is seconds.
fn duration(text: &str) -> Option<SignedDuration> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let millis = match unit {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    Some(SignedDuration::from_millis(number.parse::<i64>().ok()?.checked_mul(millis)?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn durations_are_read_with_their_unit() {
        for (text, millis) in [
            ("500ms", Some(500)),
            ("90", Some(90_000)),
            ("90s", Some(90_000)),
            ("5m", Some(300_000)),
            ("1h", Some(3_600_000)),
            ("", None),
            ("-1s", None),
            ("1.5s", None),
            ("5 minutes", None),
        ] {
            assert_eq!(duration(text), millis.map(SignedDuration::from_millis), "{text:?}");
        }
    }

    #[test]
    fn fields_decide_unless_annotations_do() {
        let spec = json!({
            "restartPolicy": "OnFailure",
            "activeDeadlineSeconds": 60,
            "initContainers": [{}, {"restartPolicy": "Always"}],
            "containers": [
                {"readinessProbe": {"initialDelaySeconds": 7}},
                {"lifecycle": {"preStop": {"sleep": {"seconds": 4}}}},
            ],
        });
        let (own, wrong) = Behaviour::read(&json!({"spec": spec}));
        assert_eq!(wrong, Vec::<String>::new());
        let seconds = SignedDuration::from_secs;
        assert_eq!((own.start_delay, own.ready_delay), (seconds(3), seconds(7)));
        assert_eq!((own.stop_time, own.deadline), (seconds(5), Some(seconds(60))));
        assert!(own.restarts_after(1) && !own.restarts_after(0));

        let annotations = json!({
            "lab.joiner.dev/start-delay": "1m",
            "lab.joiner.dev/run-time": "10s",
            "lab.joiner.dev/exit-code": "3",
            "lab.joiner.dev/never-ready": "true",
            "lab.joiner.dev/stop-time": "soon",
        });
        let pod = json!({"metadata": {"annotations": annotations}, "spec": {}});
        let (own, wrong) = Behaviour::read(&pod);
        assert_eq!((own.start_delay, own.run_time), (seconds(60), Some(seconds(10))));
        assert_eq!((own.exit_code, own.never_ready), (3, true));
        assert_eq!(
            wrong,
            ["annotation lab.joiner.dev/stop-time has value \"soon\": \
              write a duration such as 500ms, 90s, 5m or 1h"]
        );
    }
}
