//! The metrics of a cloud.
//!
//! A cloud makes [`Metrics`] with a prefix of its own, tells them about its requests, tasks and
//! instances, and adds the families that only it has ([`Names::opts`], [`Queue`]). They are
//! collectors for the page of a process. Labels are words of the cloud's interface, and names that
//! classes and inventories bound; never messages or names of instances.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use prometheus::{
    GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    core::{Collector, Desc},
    proto::MetricFamily,
};

use crate::unavailable::UnavailableOffering;

/// Buckets for requests, in seconds: from an answer out of a cache to the longest deadline.
const REQUESTS: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0];
/// Buckets for tasks, in seconds: a linked clone takes seconds, a copy to another array most of an
/// hour.
const TASKS: &[f64] =
    &[1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0];

/// The names of a cloud's metrics.
#[derive(Debug, Clone, Copy)]
pub struct Names<'n> {
    /// The prefix of every name, such as `joiner_kwok`.
    pub prefix: &'n str,
    /// The cloud's server, as help texts call it.
    pub server: &'n str,
    /// The value of the label `cluster`, where a process has several clusters.
    pub cluster: Option<&'n str>,
}

impl Names<'_> {
    /// The name, help and constant label of a family.
    pub fn opts(&self, name: &str, help: impl Into<String>) -> Opts {
        let opts = Opts::new(format!("{}_{name}", self.prefix), help);
        match self.cluster {
            Some(cluster) => opts.const_label("cluster", cluster),
            None => opts,
        }
    }

    fn histogram(
        &self,
        (name, help): (&str, String),
        buckets: &[f64],
        labels: &[&str],
    ) -> Result<HistogramVec, prometheus::Error> {
        let common_opts = self.opts(name, help);
        HistogramVec::new(HistogramOpts { common_opts, buckets: buckets.to_vec() }, labels)
    }
}

/// The requests, tasks and instances of a cloud. Clones share the values.
#[derive(Clone)]
pub struct Metrics(Arc<Families>);

struct Families {
    api_requests: IntCounterVec,
    api_request_duration: HistogramVec,
    sessions_logins: IntCounterVec,
    tasks_inflight: IntGaugeVec,
    task_duration: HistogramVec,
    faults: IntCounterVec,
    instances: GaugeVec,
    offering_unavailable: GaugeVec,
    /// Lists the offerings that are not available now.
    unavailable: Mutex<Option<UnavailableSource>>,
}

type UnavailableSource = Box<dyn Fn() -> Vec<UnavailableOffering> + Send + Sync>;

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Metrics without any values.
    pub fn new(names: Names<'_>) -> Result<Self, prometheus::Error> {
        let Names { server, .. } = names;
        Ok(Self(Arc::new(Families {
            api_requests: IntCounterVec::new(
                names.opts(
                    "api_requests_total",
                    format!("Requests to the {server}, by method and answer."),
                ),
                &["method", "code"],
            )?,
            api_request_duration: names.histogram(
                (
                    "api_request_duration_seconds",
                    format!("Time that requests to the {server} take, by method."),
                ),
                REQUESTS,
                &["method"],
            )?,
            sessions_logins: IntCounterVec::new(
                names.opts("sessions_logins_total", "Logins, by interface and result."),
                &["kind", "result"],
            )?,
            tasks_inflight: IntGaugeVec::new(
                names.opts("tasks_inflight", "Tasks that are waited for, by type."),
                &["type"],
            )?,
            task_duration: names.histogram(
                ("task_duration_seconds", "Time that tasks take, by type and result.".to_owned()),
                TASKS,
                &["type", "result"],
            )?,
            faults: IntCounterVec::new(
                names
                    .opts("faults_total", "Faults, by type and whether a call or a task had them."),
                &["fault", "phase"],
            )?,
            instances: GaugeVec::new(
                names.opts(
                    "instances",
                    "Instances of the cluster when they were last listed, by state.",
                ),
                &["state"],
            )?,
            offering_unavailable: GaugeVec::new(
                names.opts(
                    "offering_unavailable",
                    "1 for each type that cannot be had in a zone at the moment, and why.",
                ),
                &["type", "zone", "reason"],
            )?,
            unavailable: Mutex::default(),
        })))
    }

    /// Sets the source of the offerings that are not available. It is asked for each page.
    pub fn ask_for_unavailable(
        &self,
        source: impl Fn() -> Vec<UnavailableOffering> + Send + Sync + 'static,
    ) {
        let mut unavailable = self.0.unavailable.lock().unwrap_or_else(PoisonError::into_inner);
        *unavailable = Some(Box::new(source));
    }

    /// Counts the instances of a list, by state.
    pub fn listed<'s>(&self, states: impl IntoIterator<Item = &'s str>) {
        self.0.instances.reset();
        for state in states {
            self.0.instances.with_label_values(&[state]).inc();
        }
    }

    /// A request was answered.
    pub fn request(&self, method: &str, code: &str, took: Duration) {
        self.0.api_requests.with_label_values(&[method, code]).inc();
        let duration = self.0.api_request_duration.with_label_values(&[method]);
        duration.observe(took.as_secs_f64());
    }

    /// A login was tried.
    pub fn login(&self, kind: &str, result: &str) {
        self.0.sessions_logins.with_label_values(&[kind, result]).inc();
    }

    /// A call or a task had a fault.
    pub fn fault(&self, fault: &str, phase: &str) {
        self.0.faults.with_label_values(&[fault, phase]).inc();
    }

    /// A task is waited for.
    pub fn task_begins(&self, kind: &str) {
        self.0.tasks_inflight.with_label_values(&[kind]).inc();
    }

    /// A task has ended.
    pub fn task_ends(&self, kind: &str, result: &str, took: Duration) {
        self.0.tasks_inflight.with_label_values(&[kind]).dec();
        let duration = self.0.task_duration.with_label_values(&[kind, result]);
        duration.observe(took.as_secs_f64());
    }
}

impl Families {
    fn all(&self) -> [&dyn Collector; 8] {
        [
            &self.api_requests,
            &self.api_request_duration,
            &self.sessions_logins,
            &self.tasks_inflight,
            &self.task_duration,
            &self.faults,
            &self.instances,
            &self.offering_unavailable,
        ]
    }
}

impl Collector for Metrics {
    fn desc(&self) -> Vec<&Desc> {
        self.0.all().into_iter().flat_map(Collector::desc).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let unavailable = self.0.unavailable.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.offering_unavailable.reset();
        for (instance_type, zone, reason) in unavailable.iter().flat_map(|source| source()) {
            let labels = [instance_type.as_str(), zone.as_str(), reason];
            self.0.offering_unavailable.with_label_values(&labels).set(1.0);
        }
        drop(unavailable);
        self.0.all().into_iter().flat_map(Collector::collect).collect()
    }
}

/// Work that waits for its turn, by what it waits for.
#[derive(Debug, Clone)]
pub struct Queue(IntGaugeVec);

impl Queue {
    /// An empty queue with one label.
    pub fn new(opts: Opts, label: &str) -> Result<Self, prometheus::Error> {
        Ok(Self(IntGaugeVec::new(opts, &[label])?))
    }

    /// Counts a piece of work until the result is dropped.
    pub fn wait(&self, value: &str) -> Waiting {
        let waiting = self.0.with_label_values(&[value]);
        waiting.inc();
        Waiting(waiting)
    }
}

impl Collector for Queue {
    fn desc(&self) -> Vec<&Desc> {
        self.0.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.0.collect()
    }
}

/// A piece of work that waits.
#[derive(Debug)]
pub struct Waiting(IntGauge);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(prefix: &str) -> Names<'_> {
        Names { prefix, server: "server", cluster: Some("prod") }
    }

    #[test]
    fn every_family_has_the_prefix_and_the_cluster() {
        let metrics = Metrics::new(names("joiner_test")).unwrap();
        metrics.request("List", "200", Duration::from_millis(20));
        metrics.ask_for_unavailable(|| vec![("small".to_owned(), "az1".to_owned(), "room")]);
        for family in metrics.collect() {
            assert!(family.name().starts_with("joiner_test_"), "{}", family.name());
            for metric in family.get_metric() {
                let labels = metric.get_label();
                assert!(labels.iter().any(|own| own.name() == "cluster" && own.value() == "prod"));
            }
        }
    }

    #[test]
    fn a_queue_is_as_long_as_work_waits() {
        let queue = Queue::new(names("joiner_test").opts("queue", "Work."), "template").unwrap();
        let length = || queue.collect()[0].get_metric()[0].get_gauge().get_value();
        let (one, _other) = (queue.wait("ubuntu"), queue.wait("ubuntu"));
        assert!((length() - 2.0).abs() < f64::EPSILON);
        drop(one);
        assert!((length() - 1.0).abs() < f64::EPSILON);
    }
}
