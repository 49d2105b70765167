//! What dashboards see of a CloudStack.
//!
//! [`Metrics`] listens to the client ([`Observer`]) and to the provider, and is one collector for the
//! page that a process serves.

use std::time::Duration;

use joiner_cloud::metrics::{self as shared, Names};
use joiner_line::Observer;
use prometheus::{
    HistogramOpts, HistogramVec, IntCounterVec, IntGauge,
    core::{Collector, Desc},
    proto::MetricFamily,
};

/// Buckets for jobs, in seconds: a deployment takes seconds, and a job is cancelled after an hour.
const JOBS: &[f64] =
    &[0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 45.0, 90.0, 180.0, 300.0, 600.0, 1800.0, 3600.0];

/// What CloudStack is asked and answers, and what the provider makes of it. Clones share the values.
#[derive(Debug, Clone)]
pub struct Metrics {
    pub(crate) shared: shared::Metrics,
    async_job_duration: HistogramVec,
    launch_failures: IntCounterVec,
    gc_destroyed: IntCounterVec,
    cache_refresh: IntCounterVec,
    suspect_orphans: IntGauge,
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
        let names = Names { prefix: "joiner_cloudstack", server: "management server", cluster };
        let counter = |name: &str, help: &str, labels: &[&str]| {
            IntCounterVec::new(names.opts(name, help), labels)
        };
        let durations = HistogramOpts {
            common_opts: names.opts(
                "async_job_duration_seconds",
                "Time that jobs were waited for, by command and result.",
            ),
            buckets: JOBS.to_vec(),
        };
        Ok(Self {
            shared: shared::Metrics::new(names)?,
            async_job_duration: HistogramVec::new(durations, &["command", "result"])?,
            launch_failures: counter(
                "launch_failures_total",
                "Instances that could not be made, by the class of the error, offering and zone.",
                &["class", "offering", "zone"],
            )?,
            gc_destroyed: counter(
                "gc_destroyed_total",
                "Leftovers that were destroyed, by reason.",
                &["reason"],
            )?,
            cache_refresh: counter(
                "cache_refresh_total",
                "Lists that were read for classes, by kind and result.",
                &["kind", "result"],
            )?,
            suspect_orphans: IntGauge::with_opts(names.opts(
                "suspect_orphans",
                "Instances that are named as ours and carry no mark when they were last listed.",
            ))?,
        })
    }

    /// An instance could not be made.
    pub(crate) fn launch_failed(&self, class: &str, offering: &str, zone: &str) {
        self.launch_failures.with_label_values(&[class, offering, zone]).inc();
    }

    /// A leftover is destroyed.
    pub(crate) fn destroyed(&self, reason: &str) {
        self.gc_destroyed.with_label_values(&[reason]).inc();
    }

    /// A list was read for a class, or could not be.
    pub(crate) fn refreshed(&self, kind: &str, worked: bool) {
        let result = if worked { "ok" } else { "error" };
        self.cache_refresh.with_label_values(&[kind, result]).inc();
    }

    /// So many instances may be leftovers of upstream, or of others.
    pub(crate) fn suspects(&self, count: usize) {
        self.suspect_orphans.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    fn all(&self) -> [&dyn Collector; 6] {
        [
            &self.shared,
            &self.async_job_duration,
            &self.launch_failures,
            &self.gc_destroyed,
            &self.cache_refresh,
            &self.suspect_orphans,
        ]
    }
}

impl Observer for Metrics {
    fn request(&self, method: &str, code: &str, took: Duration) {
        self.shared.request(method, code, took);
    }

    fn login(&self, kind: &str, result: &str) {
        self.shared.login(kind, result);
    }

    fn fault(&self, fault: &str, phase: &str) {
        self.shared.fault(fault, phase);
    }

    fn task_begins(&self, kind: &str) {
        self.shared.task_begins(kind);
    }

    fn task_ends(&self, kind: &str, result: &str, took: Duration) {
        self.shared.task_ends(kind, result, took);
        self.async_job_duration.with_label_values(&[kind, result]).observe(took.as_secs_f64());
    }
}

impl Collector for Metrics {
    fn desc(&self) -> Vec<&Desc> {
        self.all().into_iter().flat_map(Collector::desc).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.all().into_iter().flat_map(Collector::collect).collect()
    }
}
