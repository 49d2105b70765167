//! The life of a pod on its node, as a function of time.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Key, Object};
use joiner_core::resources::Resources;
use serde_json::Value;

use super::behaviour::Behaviour;
use crate::{
    chance::Chance,
    cluster::{
        events::Tone,
        requests,
        selection::{NodeSelection, integer, list, text},
        times::{later, moment},
    },
};

/// The first wait before a crashed container is started again; twice as long each time,
const FIRST_BACK_OFF: SignedDuration = SignedDuration::from_secs(10);
/// but no longer than this.
const LAST_BACK_OFF: SignedDuration = SignedDuration::from_mins(5);
/// A container that ran this long is no longer held to have crashed before.
const FORGIVEN_AFTER: SignedDuration = SignedDuration::from_mins(10);
/// What a container ends with that is killed.
const KILLED: i64 = 137;

/// A container of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Container {
    pub(super) name: String,
    pub(super) image: String,
    /// Whether it is an init container, and one that runs on beside the others.
    pub(super) init: bool,
    pub(super) sidecar: bool,
}

/// Where a pod is in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The kubelet has not looked at it.
    Seen,
    /// Images are pulled, init containers run.
    Starting { until: Timestamp },
    /// Its containers run.
    Running { since: Timestamp, ready: bool },
    /// Its containers crashed and wait for another try.
    BackOff { until: Timestamp, delay: SignedDuration },
    /// Its containers will not run again.
    Ended(End),
}

/// How a pod ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct End {
    pub(super) failed: bool,
    /// Why, where it was not the containers' own doing.
    pub(super) reason: &'static str,
    pub(super) resource: String,
    pub(super) message: String,
}

/// How containers ended the last time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exit {
    pub(super) code: i64,
    pub(super) started: Timestamp,
    pub(super) finished: Timestamp,
}

/// What is to be done after time has passed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// The status changed.
    pub(super) changed: bool,
    /// The pod was deleted and has stopped: its object can go.
    pub(super) gone: bool,
    /// Events.
    pub(super) told: Vec<(Tone, &'static str, String)>,
}

/// A pod on its node.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) key: Key,
    pub(super) uid: Arc<str>,
    pub(super) node: Arc<str>,
    pub(super) behaviour: Behaviour,
    pub(super) containers: Vec<Container>,
    pub(super) requests: Resources,
    pub(super) selection: NodeSelection,
    pub(super) host_network: bool,
    pub(super) stage: Stage,
    /// When the kubelet took it on.
    pub(super) started: Option<Timestamp>,
    pub(super) restarts: u32,
    pub(super) last_exit: Option<Exit>,
    /// Its address, once it has one.
    pub(super) address: String,
    /// Crashes since it last ran for a while.
    crashes: u32,
    /// When its containers will have stopped after it was deleted, and with what.
    stopping: Option<(Timestamp, i64)>,
    /// Its object was asked to go; finalizers may keep it a while longer.
    pub(super) removed: bool,
    /// Its status is to be written even if nothing happened: others may have changed it.
    pub(super) stale: bool,
    /// When its containers end by chance.
    accident: Option<Timestamp>,
    chance: Chance,
    /// Tells timers that were meant for an earlier state apart.
    pub(super) ticket: u64,
}

impl Run {
    /// Takes on a pod. Also returns what is wrong with its annotations.
    ///
    /// A pod that has a status already, from before the laboratory was started, goes on from there.
    pub(super) fn new(
        object: &Object,
        value: &Value,
        chance: Chance,
        now: Timestamp,
    ) -> (Self, Vec<String>) {
        let (spec, status) = (&value["spec"], &value["status"]);
        let (behaviour, wrong) = Behaviour::read(value);
        let container = |init: bool| {
            move |own: &Value| Container {
                name: text(&own["name"]),
                image: text(&own["image"]),
                init,
                sidecar: init && own["restartPolicy"] == "Always",
            }
        };
        let inits = list(&spec["initContainers"]).iter().map(container(true));
        let stage = match status["phase"].as_str() {
            Some("Running") => Stage::Running { since: now, ready: true },
            Some("Succeeded") => Stage::Ended(End::default()),
            Some("Failed") => Stage::Ended(End { failed: true, ..End::default() }),
            _ => Stage::Seen,
        };
        let run = Self {
            key: object.key.clone(),
            uid: Arc::clone(&object.uid),
            node: object.field("spec.nodeName").into(),
            behaviour,
            containers: inits
                .chain(list(&spec["containers"]).iter().map(container(false)))
                .collect(),
            requests: requests::of_pod(spec),
            selection: NodeSelection::read(spec),
            host_network: spec["hostNetwork"] == true,
            stage,
            started: moment(&status["startTime"]),
            restarts: integer(&status["containerStatuses"][0]["restartCount"]) as u32,
            last_exit: None,
            address: text(&status["podIP"]),
            crashes: 0,
            stopping: None,
            removed: false,
            stale: false,
            accident: None,
            chance,
            ticket: 0,
        };
        (run, wrong)
    }

    /// Whether its containers run or may run again.
    pub(super) fn is_active(&self) -> bool {
        !matches!(self.stage, Stage::Ended(_))
    }

    /// Whether the kubelet has taken it on and it counts against the node.
    pub(super) fn is_admitted(&self) -> bool {
        self.is_active() && self.stage != Stage::Seen
    }

    /// The kubelet takes it on.
    pub(super) fn admit(&mut self, now: Timestamp) {
        self.started = Some(now);
        self.stage = Stage::Starting { until: later(now, self.behaviour.start_delay) };
    }

    /// It ends for a reason that is not its containers'.
    pub(super) fn fail(&mut self, end: End, now: Timestamp) {
        self.started = self.started.or(Some(now));
        if let Stage::Running { since, .. } = self.stage {
            self.last_exit = Some(Exit { code: KILLED, started: since, finished: now });
        }
        self.stage = Stage::Ended(End { failed: true, ..end });
    }

    /// Its deletion was seen: containers are told to end, and are killed when the grace is over. A
    /// second deletion may shorten the grace.
    pub(super) fn stop(&mut self, grace: SignedDuration, hangs: bool, now: Timestamp) -> News {
        let mut news = News::default();
        if self.behaviour.hangs || hangs {
            return news;
        }
        if let Some((at, _)) = self.stopping {
            let killed = later(now, grace);
            if killed < at {
                self.stopping = Some((killed, KILLED));
            }
            return news;
        }
        let running = matches!(self.stage, Stage::Running { .. });
        let (wait, code) = match running {
            false => (SignedDuration::ZERO, KILLED),
            true if self.behaviour.stop_time > grace => (grace, KILLED),
            true => (self.behaviour.stop_time, 0),
        };
        self.stopping = Some((later(now, wait), code));
        if running {
            for container in self.containers.iter().filter(|own| !own.init || own.sidecar) {
                let message = format!("Stopping container {}", container.name);
                news.told.push((Tone::Normal, "Killing", message));
            }
        }
        news
    }

    /// The instance was started anew, and with it all containers.
    pub(super) fn reboot(&mut self, now: Timestamp) {
        if self.is_admitted() {
            if let Stage::Running { since, .. } = self.stage {
                self.last_exit = Some(Exit { code: KILLED, started: since, finished: now });
                self.restarts += 1;
            }
            self.stage = Stage::Starting { until: later(now, self.behaviour.start_delay) };
        }
    }

    /// Draws when its containers will end by chance, at so many times per hour.
    pub(super) fn draw_accident(&mut self, per_hour: f64, now: Timestamp) {
        self.accident = matches!(self.stage, Stage::Running { .. })
            .then_some(per_hour)
            .filter(|rate| rate.is_finite() && *rate > 0.0)
            .map(|rate| {
                let hours = -(1.0 - self.chance.ratio()).ln() / rate;
                // Times are limited to a century.
                let millis = (hours.min(876_000.0) * 3_600_000.0) as i64;
                later(now, SignedDuration::from_millis(millis.max(1)))
            });
    }

    /// Lets time pass.
    pub(super) fn advance(&mut self, per_hour: f64, now: Timestamp) -> News {
        let mut news = News::default();
        if let Some((at, code)) = self.stopping {
            if at <= now || !self.is_active() {
                self.finish(code, now);
                news.changed = true;
                news.gone = true;
            }
            return news;
        }
        while self.due().is_some_and(|at| at <= now) {
            self.next(per_hour, now, &mut news);
            news.changed = true;
        }
        news
    }

    /// When something will happen by itself.
    pub(super) fn due(&self) -> Option<Timestamp> {
        if let Some((at, _)) = self.stopping {
            return Some(at);
        }
        let next = match &self.stage {
            Stage::Seen | Stage::Ended(_) => return None,
            Stage::Starting { until } | Stage::BackOff { until, .. } => Some(*until),
            Stage::Running { since, ready } => {
                let own = &self.behaviour;
                let ready = (!ready && !own.never_ready).then(|| later(*since, own.ready_delay));
                let ends = own.run_time.map(|time| later(*since, time));
                [ready, ends, self.accident].into_iter().flatten().min()
            }
        };
        next.into_iter().chain(self.deadline()).min()
    }

    fn deadline(&self) -> Option<Timestamp> {
        Some(later(self.started?, self.behaviour.deadline?))
    }

    /// The one thing that is due.
    fn next(&mut self, per_hour: f64, now: Timestamp, news: &mut News) {
        if self.deadline().is_some_and(|at| at <= now) {
            let message = "Pod was active on the node longer than the specified deadline";
            let reason = "DeadlineExceeded";
            self.fail(End { reason, message: message.into(), ..End::default() }, now);
            news.told.push((Tone::Normal, reason, message.to_owned()));
            return;
        }
        match self.stage {
            Stage::Starting { .. } => self.run(per_hour, now, news),
            Stage::BackOff { .. } => {
                self.restarts += 1;
                self.run(per_hour, now, news);
            }
            Stage::Running { since, ready } => {
                if self.behaviour.run_time.is_some_and(|time| later(since, time) <= now) {
                    self.exit(self.behaviour.exit_code, since, per_hour, now, news);
                } else if self.accident.is_some_and(|at| at <= now) {
                    self.last_exit = Some(Exit { code: KILLED, started: since, finished: now });
                    self.restarts += 1;
                    self.run(per_hour, now, news);
                } else if !ready {
                    self.stage = Stage::Running { since, ready: true };
                }
            }
            Stage::Seen | Stage::Ended(_) => {}
        }
    }

    fn run(&mut self, per_hour: f64, now: Timestamp, news: &mut News) {
        let ready = self.behaviour.ready_delay.is_zero() && !self.behaviour.never_ready;
        self.stage = Stage::Running { since: now, ready };
        self.draw_accident(per_hour, now);
        news.told.push((Tone::Normal, "Started", "Container started".to_owned()));
    }

    fn exit(&mut self, code: i64, since: Timestamp, rate: f64, now: Timestamp, news: &mut News) {
        self.last_exit = Some(Exit { code, started: since, finished: now });
        if !self.behaviour.restarts_after(code) {
            self.stage = Stage::Ended(End { failed: code != 0, ..End::default() });
            return;
        }
        if now.duration_since(since) >= FORGIVEN_AFTER {
            self.crashes = 0;
        }
        self.crashes += 1;
        if self.crashes == 1 {
            self.restarts += 1;
            self.run(rate, now, news);
            return;
        }
        let delay = FIRST_BACK_OFF.saturating_mul(1 << (self.crashes - 2).min(10));
        let delay = delay.min(LAST_BACK_OFF);
        self.stage = Stage::BackOff { until: later(now, delay), delay };
        for container in self.containers.iter().filter(|own| !own.init) {
            let message = format!(
                "Back-off restarting failed container {} in pod {}_{}({})",
                container.name, self.key.name, self.key.namespace, self.uid
            );
            news.told.push((Tone::Warning, "BackOff", message));
        }
    }

    /// Its containers have ended because it was deleted.
    fn finish(&mut self, code: i64, now: Timestamp) {
        if let Stage::Running { since, .. } = self.stage {
            self.last_exit = Some(Exit { code, started: since, finished: now });
        }
        if self.is_active() {
            self.stage = Stage::Ended(End { failed: code != 0, ..End::default() });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use joiner_apiserver::Server;
    use joiner_clock::Clock;
    use serde_json::json;

    use super::*;

    const START: &str = "2026-01-01T00:00:00Z";

    /// A pod with some annotations of the laboratory, taken on at midnight.
    fn run(restart_policy: &str, annotations: &[(&str, &str)]) -> Run {
        let now = START.parse().unwrap();
        let mut pairs = json!({});
        for (name, value) in annotations {
            pairs[format!("lab.joiner.dev/{name}")] = json!(value);
        }
        let pods = joiner_apiserver::Resource::new("", "pods");
        let pod = json!({
            "metadata": {"namespace": "default", "name": "p", "annotations": pairs},
            "spec": {
                "nodeName": "n", "restartPolicy": restart_policy,
                "containers": [{"name": "c", "image": "i"}],
            },
        });
        let server = Server::new(Clock::wall(), 1);
        let object = server.caller("test").create(&pods, pod).unwrap();
        let (mut run, wrong) = Run::new(&object, &object.value(), Chance::new(1), now);
        assert_eq!(wrong, Vec::<String>::new());
        run.admit(now);
        run
    }

    /// The life of a pod as seconds and stages, until nothing is due or an hour has passed.
    fn life(mut run: Run) -> String {
        let start: Timestamp = START.parse().unwrap();
        let mut text = String::new();
        while let Some(at) = run.due() {
            let second = at.duration_since(start).as_secs();
            if second > 3600 {
                break;
            }
            run.advance(0.0, at);
            let stage = match &run.stage {
                Stage::Seen | Stage::Starting { .. } => "starting",
                Stage::Running { ready: true, .. } => "ready",
                Stage::Running { .. } => "running",
                Stage::BackOff { .. } => "back-off",
                Stage::Ended(End { failed: true, .. }) => "failed",
                Stage::Ended(_) => "succeeded",
            };
            write!(text, "{second} {stage} {}, ", run.restarts).unwrap();
        }
        text
    }

    #[test]
    fn lives() {
        for (policy, annotations, expected) in [
            ("Always", &[][..], "2 ready 0, "),
            ("Always", &[("ready-delay", "3s")], "2 running 0, 5 ready 0, "),
            ("Always", &[("never-ready", "true")], "2 running 0, "),
            ("Never", &[("run-time", "9s")], "2 ready 0, 11 succeeded 0, "),
            ("Never", &[("run-time", "9s"), ("exit-code", "1")], "2 ready 0, 11 failed 0, "),
            ("OnFailure", &[("run-time", "9s")], "2 ready 0, 11 succeeded 0, "),
        ] {
            assert_eq!(life(run(policy, annotations)), expected, "{policy} {annotations:?}");
        }
    }

    #[test]
    fn crashes_are_answered_with_ever_longer_waits_up_to_five_minutes() {
        let life = life(run("Always", &[("run-time", "1s"), ("exit-code", "1")]));
        let starts: Vec<i64> = life
            .split(", ")
            .filter(|stage| stage.contains("ready"))
            .map(|stage| stage.split(' ').next().unwrap().parse().unwrap())
            .collect();
        let waits: Vec<_> = starts.windows(2).map(|pair| pair[1] - pair[0] - 1).collect();
        // The first restart happens within the same look at the pod as the crash.
        assert_eq!(&waits[..7], [0, 10, 20, 40, 80, 160, 300], "{life}");
        assert!(waits[7..].iter().all(|wait| *wait == 300), "{life}");
    }

    #[test]
    fn a_deleted_pod_ends_when_it_wants_to_or_when_its_grace_is_over() {
        let now: Timestamp = START.parse().unwrap();
        for (stop_time, graces, seconds) in
            [("5s", &[30][..], 5), ("5s", &[3], 3), ("60s", &[30, 2], 2), ("5s", &[30, 60], 5)]
        {
            let mut run = run("Always", &[("stop-time", stop_time), ("start-delay", "0s")]);
            run.advance(0.0, now);
            for grace in graces {
                run.stop(SignedDuration::from_secs(*grace), false, now);
            }
            let end = run.due().unwrap();
            assert_eq!(end.duration_since(now).as_secs(), seconds, "{stop_time} {graces:?}");
            assert!(run.advance(0.0, end).gone);
            let killed = matches!(&run.stage, Stage::Ended(end) if end.failed);
            assert_eq!(killed, seconds != 5, "{stop_time} {graces:?}");
        }
    }
}
