//! The control loop of the demonstration.
//!
//! Stands in for the operator's engine: the planner decides which machines are made, and the rest
//! is done in the simplest way that leaves the same objects behind. What the picture shows comes
//! from those objects, so nothing else depends on this.

mod cluster;
mod provision;
mod remove;
mod start;

use std::{convert::Infallible, time::Duration};

use joiner_apiserver::Server;
use joiner_lab::{chance::Chance, cluster::machines::Machines};

use self::cluster::Cluster;

/// How often the loop looks. Pods that come within one turn are planned together.
const TURN: Duration = Duration::from_secs(1);

/// Gives a cluster the machines it needs, for ever.
pub(super) async fn control_loop(server: Server, machines: Machines, chance: Chance) -> Infallible {
    let clock = server.clock().clone();
    let mut cluster = Cluster::new(&server, machines, chance);
    loop {
        cluster.turn(clock.now());
        clock.sleep(TURN).await;
    }
}
