//! Metrics, by the names, labels and buckets that Karpenter's dashboards and alerts ask for.
//!
//! A [`Registry`] is what a process serves; each engine registers its own [`Metrics`] in it. With
//! one engine the series are Karpenter's exactly; with several, each has a `cluster` label more.
//! `families` lists what there is. Three things the library does not have are here:
//! [`gauge_set`] (series that are replaced together), [`summary`] (quantiles), and what the
//! operating system knows of the process.
//!
//! The text is Prometheus' own format and not `OpenMetrics`, as Karpenter's is: there, counters are
//! called differently in their headers and `le="1"` is `le="1.0"`, which is another series.

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

/// What the program was built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Build {
    /// The program's version.
    pub version: &'static str,
    /// The compiler's version; it stands where Karpenter says which Go it was built with.
    pub compiler: &'static str,
    /// The commit.
    pub commit: &'static str,
    /// The architecture, by Rust's name.
    pub architecture: &'static str,
}

impl Build {
    /// Go's word for the architecture.
    fn go_architecture(&self) -> &'static str {
        match self.architecture {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        }
    }
}

/// What a metrics page shows; clones are the same page.
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

/// Figures that are worked out when somebody looks at them. In between there is no need to keep one
/// for each pod of a large cluster.
pub trait Figures: Send {
    /// Says everything there is to say now.
    fn work_out(&self);

    /// Nobody looks any more.
    fn forget(&self);
}

/// Why metrics cannot be registered.
#[derive(Debug, thiserror::Error)]
#[error("the metrics of this engine cannot be added to the page: {0}")]
pub struct RegistrationError(#[from] prometheus::Error);

impl Registry {
    /// A page with what there is to say about the process itself.
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

    /// From now on the page shows what a cloud counts too. Its series have the label of their cluster
    /// already, where there are several.
    pub fn add(
        &self,
        counted: impl prometheus::core::Collector + 'static,
    ) -> Result<(), RegistrationError> {
        Ok(self.families.register(Box::new(counted))?)
    }

    /// From now on the page shows these figures too.
    pub fn show(&self, figures: impl Figures + 'static) {
        let mut all = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Box::new(figures));
    }

    /// The page, as of now.
    pub fn text(&self) -> String {
        // Whoever looks at the same time waits, so that nobody sees what the other has forgotten.
        let figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        figures.iter().for_each(|figures| figures.work_out());
        let mut text = Vec::new();
        // What is written to memory and was checked at registration cannot fail.
        let written = TextEncoder::new().encode(&self.families.gather(), &mut text);
        debug_assert!(written.is_ok(), "{written:?}");
        figures.iter().for_each(|figures| figures.forget());
        String::from_utf8(text).unwrap_or_default()
    }
}

/// What the metrics of one engine depend on.
#[derive(Debug, Clone, Default)]
pub struct Engine {
    /// The name of its cluster, where the process has several.
    pub cluster: Option<String>,
    /// Names of the providers that are on.
    pub providers: Vec<&'static str>,
    /// Labels of nodes that providers know, such as `topology.kubernetes.io/zone`; Karpenter's own
    /// among them. Each becomes a label of the gauges of nodes.
    pub node_labels: Vec<String>,
    /// Kinds whose conditions are shown, by any spelling, and the labels of their objects that are
    /// shown with them.
    pub conditions: BTreeMap<&'static str, Vec<String>>,
}

/// Seconds from then until now, as metrics show them.
pub fn seconds(since: Timestamp, now: Timestamp) -> f64 {
    now.duration_since(since).as_secs_f64().max(0.0)
}

/// The label of a gauge of nodes that shows a label of theirs: the part after the slash.
pub fn node_label(key: &str) -> String {
    let name = key.rsplit_once('/').map_or(key, |(_, name)| name);
    name.to_lowercase().replace('-', "_")
}

/// The label of a condition's metric that shows a label of its object: the whole key.
pub fn object_label(key: &str) -> String {
    key.replace(['/', '.', '-'], "_")
}

/// Registers what it makes, with the engine's own label on everything.
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
