//! A laboratory: server, cluster, clock, faults and history put together.

use std::{convert::Infallible, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Caller, Server};
use joiner_clock::Clock;

use crate::{
    chance::Chance,
    cloud::DataCentre,
    cluster::{
        Cluster,
        instances::{self, Instances},
        scheduler::Scheduler,
        volumes::Volumes,
        workloads,
    },
    connection::Client,
    faults::Faults,
    history::{History, Keep},
};

/// When laboratories begin unless they are told otherwise.
const START: &str = "2026-01-01T00:00:00Z";

/// What a laboratory is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Everything that looks like chance comes from it.
    pub seed: u64,
    /// The clock that everything goes by; none for virtual time from a fixed moment.
    pub clock: Option<Clock>,
    /// What is kept of what happens.
    pub keep: Keep,
    /// Only the API server: no controllers, no scheduler, no kubelets.
    pub bare: bool,
}

impl Setup {
    /// A whole cluster in virtual time, of which everything is kept.
    pub fn new(seed: u64) -> Self {
        Self { seed, clock: None, keep: Keep::Everything, bare: false }
    }
}

/// A cluster that lives in the process.
#[derive(Debug)]
pub struct Lab {
    server: Server,
    instances: Instances,
    data_centre: DataCentre,
    cluster: Option<Cluster>,
    history: History,
    faults: Faults,
    chance: Chance,
}

impl Lab {
    /// Builds a laboratory. Nothing happens in it until [`Lab::pass`] or [`Lab::beside`].
    pub fn new(setup: Setup) -> Self {
        let start: Timestamp = START.parse().expect("a moment");
        let clock = setup.clock.unwrap_or_else(|| Clock::following_runtime(start));
        let start = clock.now();
        let history = History::new(start, setup.keep);
        let recorder = (setup.keep != Keep::Nothing).then(|| Arc::new(history.clone()) as Arc<_>);
        let server = Server::recorded(clock, setup.seed, recorder);
        let chance = Chance::new(setup.seed);
        let (instances, kubelets) = instances::controllers(&server, &chance);
        let cluster = (!setup.bare).then(|| {
            let mut parts = workloads::controllers(&server);
            parts.push(Box::new(Volumes::new(&server)));
            parts.push(Box::new(Scheduler::new(&server)));
            parts.extend(kubelets);
            Cluster::new(server.clone(), parts)
        });
        let data_centre = DataCentre::new(instances.clone());
        let faults = Faults::none(start);
        Self { server, instances, data_centre, cluster, history, faults, chance }
    }

    /// The API server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The instances.
    pub fn instances(&self) -> &Instances {
        &self.instances
    }

    /// Where the cloud makes instances.
    pub fn data_centre(&self) -> &DataCentre {
        &self.data_centre
    }

    /// What happened so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// What goes wrong.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Chance for a purpose, from the laboratory's seed.
    pub fn chance(&self, purpose: &str) -> Chance {
        self.chance.fork(purpose)
    }

    /// A caller inside the laboratory that has no faults.
    pub fn caller(&self, name: &str) -> Caller {
        self.server.caller(name)
    }

    /// A client from outside, whose connection can have every fault.
    pub fn client(&self, name: &str) -> Client {
        Client::new(&self.server, name, self.faults.clone(), self.history.clone())
    }

    /// Runs an external program while the cluster goes on, until the program ends.
    pub async fn beside<T>(&mut self, program: impl Future<Output = T>) -> T {
        let jumps = jumps(self.server.clock().clone(), self.faults.clone(), self.history.clone());
        let cluster = async {
            match &mut self.cluster {
                Some(cluster) => cluster.run().await,
                None => std::future::pending().await,
            }
        };
        let ended = tokio::select! {
            biased;
            ended = program => ended,
            never = jumps => match never {},
            never = cluster => match never {},
        };
        self.history.reached(self.server.clock().now());
        ended
    }

    /// Lets time pass. The cluster acts whenever something is due.
    pub async fn pass(&mut self, duration: SignedDuration) {
        let clock = self.server.clock().clone();
        let mut end = clock.now().saturating_add(duration).unwrap_or(Timestamp::MAX);
        loop {
            let due = self.cluster.as_mut().and_then(Cluster::settle);
            let due = due.into_iter().chain(self.faults.next_jump()).min();
            let Some(due) = due.filter(|due| *due <= end) else { break };
            clock.sleep_until(due).await;
            if let Some(by) = jump_if_due(&clock, &self.faults, &self.history) {
                // The requested time passes, independently of faults of the clock.
                end = end.saturating_add(by).unwrap_or(Timestamp::MAX);
            }
        }
        clock.sleep_until(end).await;
        if let Some(cluster) = &mut self.cluster {
            cluster.settle();
        }
        self.history.reached(clock.now());
    }
}

/// Sets the clock whenever a fault says so.
async fn jumps(clock: Clock, faults: Faults, history: History) -> Infallible {
    while let Some(moment) = faults.next_jump() {
        clock.sleep_until(moment).await;
        jump_if_due(&clock, &faults, &history);
    }
    std::future::pending().await
}

/// Sets the clock if a fault says so now; answers by how much.
fn jump_if_due(clock: &Clock, faults: &Faults, history: &History) -> Option<SignedDuration> {
    let by = faults.take_jump(clock.now())?;
    history.note(clock.now(), "clock", format!("jumps by {by:#}"));
    clock.jump(by);
    Some(by)
}
