//! Metrics, with the names, labels and buckets that Karpenter's dashboards and alerts expect.
//!
//! A process serves one [`Registry`]; each engine registers its own [`Metrics`] in it. With one
//! engine the series are exactly Karpenter's; with several, each has an additional `cluster` label.
//! `families` lists all metrics. This module adds three parts that the library lacks: [`gauge_set`]
//! (series that are replaced together), [`summary`] (quantiles), and the metrics of the process.
//!
//! Like Karpenter, it serves Prometheus' text format and not `OpenMetrics`. There, counters have
//! other names in their headers, and `le="1"` is `le="1.0"`, which is another series.

mod buckets;
mod conditions;
mod families;
pub mod gauge_set;
mod pod_times;
mod process;
mod queues;
pub mod summary;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use jiff::Timestamp;
use joiner_clock::Clock;
use prometheus::{Encoder, Gauge, Opts, TextEncoder};

pub use self::{
    conditions::ConditionMetrics,
    families::{FAMILIES, Metrics, NodeGauges},
    pod_times::PodTimes,
    queues::{QueueMetrics, Working},
};

/// The content type of [`Registry::text`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The build of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Build {
    /// The program's version.
    pub version: &'static str,
    /// The compiler's version, in the place of Karpenter's Go version.
    pub compiler: &'static str,
    /// The commit.
    pub commit: &'static str,
    /// The architecture, by Rust's name for it.
    pub architecture: &'static str,
}

impl Build {
    /// Go's name for the architecture.
    fn go_architecture(&self) -> &'static str {
        match self.architecture {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        }
    }
}

/// The metrics of a process; clones share the same registry.
#[derive(Clone)]
pub struct Registry {
    families: prometheus::Registry,
    figures: Arc<Mutex<Vec<Box<dyn Figures>>>>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").finish_non_exhaustive()
    }
}

/// Metrics that are computed for each scrape, so that no series per pod is kept between scrapes.
pub trait Figures: Send {
    /// Sets the series to the current state.
    fn work_out(&self);

    /// Removes the series after the scrape.
    fn forget(&self);
}

/// Why metrics cannot be registered.
#[derive(Debug, thiserror::Error)]
#[error("the metrics of this engine cannot be added to the page: {0}")]
pub struct RegistrationError(#[from] prometheus::Error);

impl Registry {
    /// A registry with the metrics of the process.
    pub fn new(build: &Build) -> Result<Self, RegistrationError> {
        let families = prometheus::Registry::new();
        families.register(Box::new(process::Process::new()?))?;
        let help = "A metric with a constant '1' value labeled by version from which it was built.";
        let info = Opts::new("karpenter_build_info", help)
            .const_label("version", build.version)
            .const_label("goversion", build.compiler)
            .const_label("goarch", build.go_architecture())
            .const_label("commit", build.commit);
        let info = Gauge::with_opts(info)?;
        info.set(1.0);
        families.register(Box::new(info))?;
        Ok(Self { families, figures: Arc::default() })
    }

    /// Adds a cloud's metrics. Where there are several clusters, its series already have the
    /// `cluster` label.
    pub fn add(
        &self,
        counted: impl prometheus::core::Collector + 'static,
    ) -> Result<(), RegistrationError> {
        Ok(self.families.register(Box::new(counted))?)
    }

    /// Adds metrics that are computed for each scrape.
    pub fn show(&self, figures: impl Figures + 'static) {
        let mut all = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Box::new(figures));
    }

    /// The current metrics as text.
    pub fn text(&self) -> String {
        // A concurrent scrape waits, so that it does not read series that this one has removed.
        let figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        figures.iter().for_each(|figures| figures.work_out());
        let mut text = Vec::new();
        // Writing metrics to memory cannot fail: they were checked at their registration.
        let written = TextEncoder::new().encode(&self.families.gather(), &mut text);
        debug_assert!(written.is_ok(), "{written:?}");
        figures.iter().for_each(|figures| figures.forget());
        String::from_utf8(text).unwrap_or_default()
    }
}

/// The inputs of an engine's metrics.
#[derive(Debug, Clone, Default)]
pub struct Engine {
    /// The name of its cluster, where the process serves several.
    pub cluster: Option<String>,
    /// The names of the enabled providers.
    pub providers: Vec<&'static str>,
    /// Node labels that providers know, such as `topology.kubernetes.io/zone`, and Karpenter's own.
    /// Each becomes a label of the node gauges.
    pub node_labels: Vec<String>,
    /// Kinds whose conditions are shown, in any spelling, with the object labels that are shown
    /// with them.
    pub conditions: BTreeMap<&'static str, Vec<String>>,
}

/// The seconds between two moments, as metrics show them.
pub fn seconds(since: Timestamp, now: Timestamp) -> f64 {
    now.duration_since(since).as_secs_f64().max(0.0)
}

/// The metric label of a node label in node gauges: the part after the slash.
pub fn node_label(key: &str) -> String {
    let name = key.rsplit_once('/').map_or(key, |(_, name)| name);
    name.to_lowercase().replace('-', "_")
}

/// The metric label of an object label in condition metrics: the whole key.
pub fn object_label(key: &str) -> String {
    key.replace(['/', '.', '-'], "_")
}

/// Registers metrics, each with the engine's `cluster` label.
struct Registrar<'r> {
    registry: &'r prometheus::Registry,
    cluster: Option<&'r str>,
    clock: &'r Clock,
}

impl Registrar<'_> {
    fn opts(&self, name: &str, help: &str) -> Opts {
        let opts = Opts::new(name, help);
        match self.cluster {
            Some(cluster) => opts.const_label("cluster", cluster),
            None => opts,
        }
    }

    fn add<C: prometheus::core::Collector + Clone + 'static>(
        &self,
        collector: C,
    ) -> Result<C, RegistrationError> {
        self.registry.register(Box::new(collector.clone()))?;
        Ok(collector)
    }
}
