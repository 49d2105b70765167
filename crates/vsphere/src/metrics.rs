//! The metrics of a vCenter.
//!
//! [`Metrics`] listens to the client ([`Observer`]) and to the provider, and is one collector for the
//! page that a process serves.

use std::time::Duration;

use joiner_cloud::metrics::{self as shared, Names, Queue, Waiting};
use joiner_vim::Observer;
use prometheus::{
    GaugeVec,
    core::{Collector, Desc},
    proto::MetricFamily,
};

/// The requests, tasks and instances of a vCenter. Clones share the values.
#[derive(Debug, Clone)]
pub struct Metrics {
    pub(crate) shared: shared::Metrics,
    clone_queue_length: Queue,
    datastore_free_bytes: GaugeVec,
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
        let names = Names { prefix: "joiner_vsphere", server: "vCenter", cluster };
        Ok(Self {
            shared: shared::Metrics::new(names)?,
            clone_queue_length: Queue::new(
                names.opts("clone_queue_length", "Clones that wait for their turn, by template."),
                "template",
            )?,
            datastore_free_bytes: GaugeVec::new(
                names
                    .opts("datastore_free_bytes", "Free space of datastores that classes lead to."),
                &["datastore"],
            )?,
        })
    }

    /// How much room a datastore had when it was last looked at.
    pub(crate) fn free(&self, datastore: &str, bytes: u64) {
        self.datastore_free_bytes.with_label_values(&[datastore]).set(bytes as f64);
    }

    /// A clone of a template waits for its turn until what this answers is dropped.
    pub(crate) fn clone_waits(&self, template: &str) -> Waiting {
        self.clone_queue_length.wait(template)
    }

    fn all(&self) -> [&dyn Collector; 3] {
        [&self.shared, &self.clone_queue_length, &self.datastore_free_bytes]
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
