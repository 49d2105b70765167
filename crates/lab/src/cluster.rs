//! The rest of a cluster: controllers, a scheduler and kubelets, all in one deterministic loop.
//!
//! Every part is a [`Controller`]: it takes note of changes, does what is due, and says when it wants
//! to be asked again. The parts run one after the other, in a fixed order, until none of them changes
//! anything. Then the clock moves on.

mod conditions;
mod events;
pub mod instances;
pub mod kubelet;
mod requests;
pub mod scheduler;
pub(crate) mod selection;
mod storage;
pub(crate) mod times;
pub mod volumes;
pub mod workloads;

use std::{convert::Infallible, fmt, sync::Arc};

use jiff::Timestamp;
use joiner_apiserver::{Change, Feed, Server};
use tokio::sync::Notify;

/// One part of the simulated cluster.
pub trait Controller: Send {
    /// What it is called in logs and as the manager of the fields it writes.
    fn name(&self) -> &'static str;

    /// Takes note of a change. Never calls the server.
    fn observe(&mut self, change: &Change, now: Timestamp);

    /// Is given the means to have the loop ask it again at once, for parts that are also told to do
    /// things by others than the server. Most are not and need none.
    fn attach(&mut self, _wake: &Wake) {}

    /// Does everything that is due now, and says when something will be due next.
    fn act(&mut self, now: Timestamp) -> Option<Timestamp>;
}

/// Wakes the loop of a cluster.
#[derive(Clone, Debug, Default)]
pub struct Wake(Arc<Notify>);

impl Wake {
    /// Lets every part act as soon as possible.
    pub fn wake(&self) {
        // A permit is kept when the loop is not waiting just now.
        self.0.notify_one();
    }
}

/// The controllers of one cluster and the loop that runs them.
pub struct Cluster {
    server: Server,
    feed: Feed,
    controllers: Vec<Box<dyn Controller>>,
    wake: Wake,
}

impl Cluster {
    /// A cluster of these parts. They see every object that is there as added.
    pub fn new(server: Server, mut controllers: Vec<Box<dyn Controller>>) -> Self {
        let feed = server.feed_with_past();
        let wake = Wake::default();
        for controller in &mut controllers {
            controller.attach(&wake);
        }
        Self { server, feed, controllers, wake }
    }

    /// Lets every part act until nothing changes, and says when something will be due next.
    pub fn settle(&mut self) -> Option<Timestamp> {
        loop {
            let now = self.server.clock().now();
            for change in self.feed.drain() {
                for controller in &mut self.controllers {
                    controller.observe(&change, now);
                }
            }
            let due = self.controllers.iter_mut().filter_map(|part| part.act(now)).min();
            if self.feed.is_empty() {
                return due;
            }
        }
    }

    /// Runs the cluster until the task is dropped.
    pub async fn run(&mut self) -> Infallible {
        loop {
            let due = self.settle();
            let clock = self.server.clock().clone();
            let sleep = async {
                match due {
                    Some(moment) => clock.sleep_until(moment).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.feed.changed() => {}
                () = self.wake.0.notified() => {}
                () = sleep => {}
            }
        }
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.controllers.iter().map(|part| part.name())).finish()
    }
}
