//! What dashboards see of a vCenter.
//!
//! [`Metrics`] listens to the client ([`Observer`]) and to the provider, and is one collector for the
//! page that a process serves. Labels are words of vSphere's interface, and names that classes and
//! inventories bound; never messages or names of instances.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use joiner_cloud::unavailable::UnavailableOffering;
use joiner_vim::Observer;
use prometheus::{
    GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts,
    core::{Collector, Desc},
    proto::MetricFamily,
};

/// How long requests take, in seconds.
const REQUESTS: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0];
/// How long tasks take: a linked clone seconds, a copy to another array most of an hour.
const TASKS: &[f64] =
    &[1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0];

/// What a vCenter is asked and answers, and what the provider makes of it. Clones are the same.
#[derive(Clone)]
pub struct Metrics(Arc<Families>);

struct Families {
    api_requests: IntCounterVec,
    api_request_duration: HistogramVec,
    sessions_logins: IntCounterVec,
    tasks_inflight: IntGaugeVec,
    task_duration: HistogramVec,
    clone_queue_length: IntGaugeVec,
    faults: IntCounterVec,
    instances: GaugeVec,
    datastore_free_bytes: GaugeVec,
    offering_unavailable: GaugeVec,
    /// Says which offerings cannot be had at the moment.
    unavailable: Mutex<Option<UnavailableSource>>,
}

type UnavailableSource = Box<dyn Fn() -> Vec<UnavailableOffering> + Send + Sync>;

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new(None).expect("names and labels are those of Prometheus")
    }
}

impl Metrics {
    /// Metrics in which nothing has happened yet, labelled by the cluster where a process has
    /// several.
    pub fn new(cluster: Option<&str>) -> Result<Self, prometheus::Error> {
        let opts = |name: &str, help: &str| {
            let opts = Opts::new(format!("joiner_vsphere_{name}"), help);
            match cluster {
                Some(cluster) => opts.const_label("cluster", cluster),
                None => opts,
            }
        };
        let histogram = |name: &str, help: &str, buckets: &[f64], labels: &[&str]| {
            let opts = HistogramOpts { common_opts: opts(name, help), buckets: buckets.to_vec() };
            HistogramVec::new(opts, labels)
        };
        Ok(Self(Arc::new(Families {
            api_requests: IntCounterVec::new(
                opts("api_requests_total", "Requests to the vCenter, by method and answer."),
                &["method", "code"],
            )?,
            api_request_duration: histogram(
                "api_request_duration_seconds",
                "Time that requests to the vCenter take, by method.",
                REQUESTS,
                &["method"],
            )?,
            sessions_logins: IntCounterVec::new(
                opts("sessions_logins_total", "Logins, by interface and result."),
                &["kind", "result"],
            )?,
            tasks_inflight: IntGaugeVec::new(
                opts("tasks_inflight", "Tasks that are waited for, by type."),
                &["type"],
            )?,
            task_duration: histogram(
                "task_duration_seconds",
                "Time that tasks take, by type and result.",
                TASKS,
                &["type", "result"],
            )?,
            clone_queue_length: IntGaugeVec::new(
                opts("clone_queue_length", "Clones that wait for their turn, by template."),
                &["template"],
            )?,
            faults: IntCounterVec::new(
                opts("faults_total", "Faults, by type and whether a call or a task had them."),
                &["fault", "phase"],
            )?,
            instances: GaugeVec::new(
                opts("instances", "Instances of the cluster when they were last listed, by state."),
                &["state"],
            )?,
            datastore_free_bytes: GaugeVec::new(
                opts("datastore_free_bytes", "Free space of datastores that classes lead to."),
                &["datastore"],
            )?,
            offering_unavailable: GaugeVec::new(
                opts(
                    "offering_unavailable",
                    "1 for each type that cannot be had in a zone at the moment, and why.",
                ),
                &["type", "zone", "reason"],
            )?,
            unavailable: Mutex::default(),
        })))
    }

    /// Has somebody say, whenever the page is asked for, which offerings cannot be had.
    pub(crate) fn ask_for_unavailable(
        &self,
        source: impl Fn() -> Vec<UnavailableOffering> + Send + Sync + 'static,
    ) {
        let mut unavailable = self.0.unavailable.lock().unwrap_or_else(PoisonError::into_inner);
        *unavailable = Some(Box::new(source));
    }

    /// Counts instances as a list showed them, by state.
    pub(crate) fn listed<'s>(&self, states: impl IntoIterator<Item = &'s str>) {
        self.0.instances.reset();
        for state in states {
            self.0.instances.with_label_values(&[state]).inc();
        }
    }

    /// How much room a datastore had when it was last looked at.
    pub(crate) fn free(&self, datastore: &str, bytes: u64) {
        self.0.datastore_free_bytes.with_label_values(&[datastore]).set(bytes as f64);
    }

    /// A clone of a template waits for its turn until what this answers is dropped.
    pub(crate) fn clone_waits(&self, template: &str) -> CloneWaits {
        let waiting = self.0.clone_queue_length.with_label_values(&[template]);
        waiting.inc();
        CloneWaits(waiting)
    }
}

/// A clone that waits for its turn.
pub(crate) struct CloneWaits(prometheus::IntGauge);

impl Drop for CloneWaits {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Observer for Metrics {
    fn request(&self, method: &str, code: &str, took: Duration) {
        self.0.api_requests.with_label_values(&[method, code]).inc();
        let duration = self.0.api_request_duration.with_label_values(&[method]);
        duration.observe(took.as_secs_f64());
    }

    fn login(&self, kind: &str, result: &str) {
        self.0.sessions_logins.with_label_values(&[kind, result]).inc();
    }

    fn fault(&self, fault: &str, phase: &str) {
        self.0.faults.with_label_values(&[fault, phase]).inc();
    }

    fn task_begins(&self, kind: &str) {
        self.0.tasks_inflight.with_label_values(&[kind]).inc();
    }

    fn task_ends(&self, kind: &str, result: &str, took: Duration) {
        self.0.tasks_inflight.with_label_values(&[kind]).dec();
        let duration = self.0.task_duration.with_label_values(&[kind, result]);
        duration.observe(took.as_secs_f64());
    }
}

impl Families {
    fn all(&self) -> [&dyn Collector; 10] {
        [
            &self.api_requests,
            &self.api_request_duration,
            &self.sessions_logins,
            &self.tasks_inflight,
            &self.task_duration,
            &self.clone_queue_length,
            &self.faults,
            &self.instances,
            &self.datastore_free_bytes,
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
