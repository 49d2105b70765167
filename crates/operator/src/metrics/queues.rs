//! The queues of controllers, by the names of the library that Karpenter's are built with.

use std::sync::{Arc, Mutex, PoisonError};

use prometheus::{Histogram, IntCounter};

use super::Metrics;

/// A controller's queue, as it is at a moment.
pub trait Working: Send + Sync {
    /// The number of keys that are due.
    fn waiting(&self) -> usize;

    /// For each running key, the seconds since its start.
    fn under_way(&self) -> Vec<f64>;
}

/// The counters of a queue.
#[derive(Debug)]
pub struct QueueMetrics {
    /// Objects that began to wait.
    pub adds: IntCounter,
    /// Objects that failed.
    pub retries: IntCounter,
    /// How long objects wait beyond the time they were due.
    pub waits: Histogram,
    /// How long objects take.
    pub work: Histogram,
}

/// Every controller's queue.
#[derive(Default)]
pub(super) struct Queues(Mutex<Vec<(&'static str, Arc<dyn Working>)>>);

impl std::fmt::Debug for Queues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queues").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Registers a controller with its number of workers and its queue.
    pub fn add_controller(
        &self,
        controller: &'static str,
        at_once: usize,
        queue: Arc<dyn Working>,
    ) -> QueueMetrics {
        self.max_concurrent_reconciles(controller).set(at_once as f64);
        // Dashboards want to see that there were none yet.
        for result in ["success", "error", "requeue", "requeue_after"] {
            self.reconciles(controller, result).inc_by(0);
        }
        self.reconcile_errors(controller).inc_by(0);
        self.reconcile_panics(controller).inc_by(0);
        let mut queues = self.queues().0.lock().unwrap_or_else(PoisonError::into_inner);
        queues.push((controller, queue));
        QueueMetrics {
            adds: self.workqueue_adds(controller, controller),
            retries: self.workqueue_retries(controller, controller),
            waits: self.workqueue_queue_duration(controller, controller),
            work: self.workqueue_work_duration(controller, controller),
        }
    }

    /// Says how the queues are now.
    pub fn work_out_queues(&self) {
        let queues = self.queues().0.lock().unwrap_or_else(PoisonError::into_inner);
        for (controller, queue) in &*queues {
            let under_way = queue.under_way();
            self.active_workers(controller).set(under_way.len() as f64);
            self.workqueue_depth(controller, controller, "").set(queue.waiting() as f64);
            let (all, longest) = under_way
                .iter()
                .fold((0.0, 0.0_f64), |(all, longest), one| (all + one, longest.max(*one)));
            self.workqueue_unfinished_work(controller, controller).set(all);
            self.workqueue_longest_running_processor(controller, controller).set(longest);
        }
    }
}
