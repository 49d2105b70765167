//! One scenario with one controller, from an empty cluster to what is left in the end.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use joiner_realparts::http::{Request, Server};
use serde::Serialize;

use super::{
    cluster::{ASK_EVERY, Cluster},
    controller::{Controller, Program},
    probe::{Answers, Prober},
    usage::Usage,
};
use crate::{
    bench::scenarios::{
        Limit, Load, Scenario, Then,
        fleet::{Fleet, Pod},
        moved::Moved,
        objects,
    },
    errors::Failure,
    output,
};

/// How long no instance may have come or gone until a cluster that keeps some of its pods counts as
/// small enough. Consolidation looks 30 seconds after the last change, and takes its time then.
const SETTLED_AFTER: Duration = Duration::from_mins(2);

/// Where controllers write down who of them acts.
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

/// How many pods come in a second where they come evenly: as many as the controller manager makes.
const COME_PER_SECOND: usize = 20;

// The phases, in their order.
/// Until the controller says that it is ready.
pub(super) const START: &str = "start";
/// There is nothing to do.
pub(super) const IDLE: &str = "idle";
/// Pods arrive that do not fit on any node yet.
pub(super) const PILE_UP: &str = "pile-up";
/// Pods get their instances.
pub(super) const SCALE_OUT: &str = "scale-out";
/// Instances go.
pub(super) const SCALE_IN: &str = "scale-in";
/// Instances are replaced.
pub(super) const DRIFT: &str = "drift";

/// What is measured together.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Phase {
    pub(super) name: &'static str,
    pub(super) seconds: f64,
    /// Why it ended before it was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unfinished: Option<String>,
    pub(super) usage: Usage,
    /// What there was at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fleet: Option<Fleet>,
    /// What the controller moved until its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) moved: Option<Moved>,
    /// What Karpenter's suite allows Karpenter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limit: Option<Limit>,
}

/// One scenario with one controller.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Measured {
    pub(super) scenario: &'static str,
    pub(super) program: String,
    /// What happened once all pods ran.
    pub(super) then: String,
    pub(super) phases: Vec<Phase>,
    /// Everything after the idle phase together.
    pub(super) under_load: Usage,
    /// The most memory that it had at any moment.
    pub(super) peak_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory_limit_bytes: Option<u64>,
    pub(super) probes: Answers,
    /// Why it had to be started again, each time.
    pub(super) restarts: Vec<String>,
}

impl Measured {
    /// Whether it came to its end without being started again, and surely within its memory.
    pub(super) fn is_well(&self) -> bool {
        self.unfinished().is_none() && self.restarts.is_empty() && !self.exceeds_its_memory()
    }

    /// Whether it had more memory than is allowed at any moment, pages of files included.
    pub(super) fn exceeds_its_memory(&self) -> bool {
        self.memory_limit_bytes.is_some_and(|limit| self.peak_bytes > limit)
    }

    /// A phase, if it came to it.
    pub(super) fn phase(&self, name: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    /// The phase that did not come to its end, and why.
    pub(super) fn unfinished(&self) -> Option<(&'static str, &str)> {
        self.phases.iter().find_map(|phase| Some((phase.name, phase.unfinished.as_deref()?)))
    }
}

/// What a measurement works with.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) scenario: &'static Scenario,
    pub(super) program: Program,
    pub(super) memory_limit: Option<u64>,
    pub(super) then: Then,
    pub(super) loads: Vec<Load>,
    /// Whether the pods of all loads come evenly, rather than as chance has it.
    pub(super) evenly: bool,
    /// Where the controller tells its metrics.
    pub(super) metrics_port: u16,
    pub(super) idle: Duration,
    /// How long a phase may take at most.
    pub(super) patience: Duration,
    pub(super) cluster: &'a Cluster,
    pub(super) controller: &'a Controller,
    pub(super) prober: &'a Prober,
}

impl Run<'_> {
    /// Goes through all phases.
    pub(super) async fn measure(&self) -> Result<Measured, Failure> {
        let mut phases = vec![self.start().await?];
        let mut loaded = Instant::now();
        if phases[0].unfinished.is_none() {
            let until = loaded + self.idle;
            phases.push(self.phase(IDLE, async || Ok(Instant::now() >= until)).await?);
            loaded = Instant::now();
            self.load(&mut phases).await?;
        }
        Ok(self.measured(phases, loaded, self.then.about()))
    }

    /// Begins with instances of which some are not needed any more.
    pub(super) async fn measure_from(&self, given: Fleet) -> Result<Measured, Failure> {
        let mut start = self.start().await?;
        let started = start.unfinished.is_none();
        start.fleet = Some(given);
        let mut phases = vec![start];
        let loaded = Instant::now();
        if started {
            phases.push(self.seen_afterwards(self.settle().await?).await?);
        }
        let then = format!("while no controller ran: {}", self.then.about());
        Ok(self.measured(phases, loaded, then))
    }

    async fn start(&self) -> Result<Phase, Failure> {
        self.phase(START, async || Ok(self.prober.answers().ready)).await
    }

    fn measured(&self, phases: Vec<Phase>, loaded: Instant, then: String) -> Measured {
        let seen = self.controller.seen();
        Measured {
            scenario: self.scenario.name,
            program: self.program.to_string(),
            then,
            phases,
            under_load: Usage::between(&seen.samples, loaded, Instant::now()),
            peak_bytes: seen.samples.iter().map(|sample| sample.peak).max().unwrap_or(0),
            memory_limit_bytes: self.memory_limit,
            probes: self.prober.answers(),
            restarts: seen.restarts.clone(),
        }
    }

    /// Pods come, get their instances, and go again. Stops where a phase does not come to its end.
    async fn load(&self, phases: &mut Vec<Phase>) -> Result<(), Failure> {
        let mut started = Timestamp::now();
        if self.scenario.backlog {
            self.pods_come().await?;
            phases.push(self.phase(PILE_UP, async || self.all_wait().await).await?);
            if phases.iter().any(|phase| phase.unfinished.is_some()) {
                return Ok(());
            }
            started = Timestamp::now();
            self.cluster.create(objects::NODE_POOLS, &objects::node_pool()).await?;
        }
        let out = self.phase(SCALE_OUT, async || self.all_run().await);
        let mut out = if self.scenario.backlog {
            out.await?
        } else {
            tokio::try_join!(out, self.pods_come())?.0
        };
        out.fleet = Some(self.fleet(Some(started)).await?);
        let finished = out.unfinished.is_none();
        phases.push(out);
        if finished && self.then != Then::Nothing {
            phases.push(self.seen_afterwards(self.afterwards().await?).await?);
        }
        let limits = self.scenario.limits.filter(|_| self.then == self.scenario.then);
        let measured = phases.iter_mut().skip_while(|phase| phase.name != SCALE_OUT);
        for (phase, limit) in measured.zip(limits.into_iter().flatten()) {
            phase.limit = Some(limit);
        }
        Ok(())
    }

    /// Makes the deployments. Of those that are made whole one gets ahead of the others, whichever, and what has to be
    /// planned then is another thing each time; where pods come evenly each has the same share of its own, second by
    /// second.
    async fn pods_come(&self) -> Result<(), Failure> {
        let all: usize = self.loads.iter().map(|load| load.replicas).sum();
        let mut come = if self.evenly { 0 } else { all };
        let part = |load: &Load, come: usize| load.replicas * come / all;
        for load in &self.loads {
            let first = Load { replicas: part(load, come), ..load.clone() };
            self.cluster.create(objects::DEPLOYMENTS, &objects::deployment(&first)).await?;
        }
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        while come < all {
            seconds.tick().await;
            come = (come + COME_PER_SECOND).min(all);
            for load in &self.loads {
                self.cluster.scale(&load.name, part(load, come)).await?;
            }
        }
        Ok(())
    }

    /// Does what is to happen once all pods run, and waits until the controller has done its part.
    async fn afterwards(&self) -> Result<Phase, Failure> {
        let pool = format!("{}/{}", objects::NODE_POOLS, objects::NAME);
        match self.then {
            Then::Nothing => {}
            Then::Fewer | Then::Keep(_) => fewer(self.cluster, &self.loads, self.then).await?,
            Then::Drift => self.cluster.merge(&pool, &objects::drifting_template()).await?,
            Then::Drain => self.cluster.delete(&pool).await?,
        }
        match self.then {
            Then::Fewer | Then::Keep(1..) | Then::Nothing => self.settle().await,
            Then::Drift => {
                let old = self.cluster.names(objects::NODE_CLAIMS).await?;
                let replaced = async || {
                    let now = self.cluster.names(objects::NODE_CLAIMS).await?;
                    Ok(now.is_disjoint(&old) && self.all_run().await?)
                };
                self.phase(DRIFT, replaced).await
            }
            Then::Keep(0) | Then::Drain => {
                let none_left = async || {
                    Ok(!self.cluster.any(&objects::nodes_path()).await?
                        && !self.cluster.any(objects::NODE_CLAIMS).await?)
                };
                self.phase(SCALE_IN, none_left).await
            }
        }
    }

    /// Waits until no instance comes or goes any more.
    async fn settle(&self) -> Result<Phase, Failure> {
        let begin = Instant::now();
        let (mut instances, mut changed) = (BTreeSet::new(), begin);
        let settled = async || {
            let now = self.cluster.names(objects::NODE_CLAIMS).await?;
            if now != instances {
                (instances, changed) = (now, Instant::now());
            }
            Ok(changed.elapsed() >= SETTLED_AFTER)
        };
        let mut phase = self.phase(SCALE_IN, settled).await?;
        if phase.unfinished.is_none() {
            // That nothing comes after the last change is seen later only.
            phase.seconds = (changed - begin).as_secs_f64();
        }
        Ok(phase)
    }

    /// A phase with what there is at its end.
    async fn seen_afterwards(&self, phase: Phase) -> Result<Phase, Failure> {
        let (fleet, moved) = tokio::try_join!(self.fleet(None), self.moved())?;
        Ok(Phase { fleet: Some(fleet), moved: Some(moved), ..phase })
    }

    /// Whether every pod is there, and the scheduler has said of each that it fits nowhere.
    async fn all_wait(&self) -> Result<bool, Failure> {
        if !self.all_made().await? {
            return Ok(false);
        }
        let pods: Vec<Pod> = self.cluster.list(objects::PODS).await?;
        Ok(pods.iter().all(Pod::is_unschedulable))
    }

    /// Whether every pod is there and runs.
    async fn all_run(&self) -> Result<bool, Failure> {
        Ok(self.all_made().await? && !self.cluster.any(&not_running()).await?)
    }

    async fn all_made(&self) -> Result<bool, Failure> {
        Ok(self.cluster.pods_made().await?
            == self.loads.iter().map(|load| load.replicas).sum::<usize>())
    }

    /// What the controller has moved, as it counts itself.
    async fn moved(&self) -> Result<Moved, Failure> {
        let server = Server::new(&format!("http://127.0.0.1:{}", self.metrics_port), "none");
        let question =
            Request { method: "GET".into(), path: "/metrics".into(), ..Request::default() };
        let answer = server.send(&question).await.map_err(|error| {
            Failure::bad_input(format!("the controller does not tell its metrics: {error}"))
        })?;
        Ok(Moved::read(&answer.body))
    }

    /// What there is, of a load that came at some time.
    async fn fleet(&self, started: Option<Timestamp>) -> Result<Fleet, Failure> {
        fleet(self.cluster, started).await
    }

    /// Waits until a phase is over, or the controller has ended, or it takes too long.
    async fn phase(
        &self,
        name: &'static str,
        mut over: impl AsyncFnMut() -> Result<bool, Failure>,
    ) -> Result<Phase, Failure> {
        output::progress(&format!("{} with {}: {name}", self.scenario.name, self.program));
        let start = Instant::now();
        let unfinished = loop {
            if let Some(ended) = &self.controller.seen().ended {
                break Some(ended.clone());
            }
            if over().await? {
                break None;
            }
            if start.elapsed() > self.patience {
                let minutes = self.patience.as_secs() / 60;
                break Some(format!("not over after {minutes} minutes, see --patience"));
            }
            tokio::time::sleep(ASK_EVERY).await;
        };
        let usage = Usage::between(&self.controller.seen().samples, start, Instant::now());
        let seconds = start.elapsed().as_secs_f64();
        Ok(Phase { name, seconds, unfinished, usage, fleet: None, moved: None, limit: None })
    }
}

/// Lets pods go while no controller looks, and waits until they have. The lease that the controller has left goes with
/// them, so that the next one need not wait for it.
pub(super) async fn shrink(cluster: &Cluster, loads: &[Load], then: Then) -> Result<(), Failure> {
    output::progress("pods go while no controller runs");
    fewer(cluster, loads, then).await?;
    let left: usize = loads.iter().map(|load| then.left(load)).sum();
    while cluster.names(objects::PODS).await?.len() != left || cluster.any(&not_running()).await? {
        tokio::time::sleep(ASK_EVERY).await;
    }
    for lease in cluster.names(LEASES).await? {
        cluster.delete(&format!("{LEASES}/{lease}")).await?;
    }
    Ok(())
}

/// Lets deployments have fewer pods.
async fn fewer(cluster: &Cluster, loads: &[Load], then: Then) -> Result<(), Failure> {
    for load in loads {
        cluster.scale(&load.name, then.left(load)).await?;
    }
    Ok(())
}

/// What there is in a cluster, of a load that came at some time.
pub(super) async fn fleet(cluster: &Cluster, started: Option<Timestamp>) -> Result<Fleet, Failure> {
    let nodes = cluster.list(&objects::nodes_path()).await?;
    let pods = cluster.list(objects::PODS).await?;
    Fleet::new(&nodes, &pods, &joiner_kwok::instance_types(), started).map_err(Failure::bad_input)
}

/// Where pods are that do not run.
fn not_running() -> String {
    format!("{}?fieldSelector=status.phase!=Running", objects::PODS)
}
