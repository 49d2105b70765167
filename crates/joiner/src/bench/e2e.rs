//! `joiner bench e2e`: a controller's process on a real control plane.
//!
//! etcd, the API server, the controller manager, the scheduler and KWOK are started anew for every
//! measurement ([`joiner_realparts`]), and a controller beside them ([`controller`]): this program,
//! Karpenter's KWOK build, or one after the other. Pods come and go ([`phases`], [`scenarios`]), and
//! what the controller makes of it, what it takes ([`usage`]) and whether it still answers
//! ([`probe`]) is put side by side ([`report`]).

mod cluster;
mod controller;
mod phases;
mod probe;
mod report;
mod usage;

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use joiner_realparts::control_plane::{
    self, ControlPlane, Options, Parts, StartError, User, free_ports,
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Builder;

use self::{
    cluster::Cluster,
    controller::{Controller, Launch, Program},
    phases::{Measured, Run},
    probe::Prober,
};
use super::{
    lab,
    scenarios::{self, ALL, Load, Scenario, Then, objects},
};
use crate::{
    errors::{Exit, Failure},
    output::{self, Format},
};

/// `joiner bench e2e`.
#[derive(Debug, Args)]
#[command(after_help = scenarios::help())]
pub(crate) struct E2eArgs {
    /// Which scenarios to run; all without
    #[arg(value_name = "SCENARIO", value_parser = scenarios::names())]
    scenarios: Vec<String>,
    /// Run Karpenter's KWOK build as well, and print it beside
    #[arg(long)]
    against_karpenter: bool,
    /// Run Karpenter's KWOK build only
    #[arg(long, conflicts_with = "against_karpenter")]
    only_karpenter: bool,
    /// A file with the paths of installed programs, one per line
    #[arg(long, value_name = "FILE", env = "JOINER_CONTROL_PLANE", hide_env_values = true)]
    parts: Option<PathBuf>,
    /// The joiner program to measure, instead of this one
    #[arg(long, value_name = "PATH")]
    joiner: Option<PathBuf>,
    /// What happens once all pods run, instead of the scenario's own: none, fewer (pods, as the
    /// scenario says), the percentage of pods that stay, drift (of all instances), or drain (the pool
    /// is deleted)
    #[arg(long, value_name = "WHAT", value_parser = Then::parse)]
    then: Option<Then>,
    /// Let the pods of all Deployments come evenly, 20 a second, so that two programs meet the same load; otherwise chance
    /// decides which Deployment is ahead of the others. Pods of backlog all come at once anyway
    #[arg(long)]
    evenly: bool,
    /// Let each program find the same cluster: one that Joiner has made, and some of whose pods have gone while nobody
    /// looked. Only what becomes of it is measured. With a folder, the cluster is kept there, and taken from there if it
    /// is there already, so that runs at other times begin with it too
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "how clap says that a value may be left out")]
    same_start: Option<Option<PathBuf>>,
    /// Let the controller have as much memory as it likes where a scenario limits it
    #[arg(long)]
    no_memory_limit: bool,
    /// Start controllers without leader election, for computers so busy that leases are lost
    #[arg(long)]
    no_leader_election: bool,
    /// For how many seconds to look at the controller before it has anything to do
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    idle: u32,
    /// How many minutes a phase may take
    #[arg(long, value_name = "MINUTES", default_value_t = 30)]
    patience: u32,
    /// Run with this share of all pods, to see quickly whether it works
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = lab::share)]
    share: f64,
    /// Copy the logs of all programs below this folder
    #[arg(long, value_name = "DIR")]
    keep_logs: Option<PathBuf>,
    /// How to print the results
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

/// Runs `joiner bench e2e`.
pub(super) fn run(args: &E2eArgs) -> Result<Exit, Failure> {
    let wanted = ALL.iter().filter(|scenario| scenario.is_wanted(&args.scenarios));
    let plans = wanted.map(|scenario| Plan::of(args, scenario)).collect::<Result<Vec<_>, _>>()?;
    let parts = parts(args)?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::bad_input(format!("cannot start: {error}")))?;
    let results = runtime.block_on(async {
        tokio::select! {
            biased;
            // Everything that was started ends with what is dropped here.
            _ = crate::lab::stopped() => Err(Failure::bad_input("stopped; nothing is left running")),
            results = measure_all(args, &plans, &parts) => results,
        }
    })?;
    match args.output {
        Format::Table | Format::Wide => output::text(&report::render(&results)),
        Format::Json => output::json(&results),
        Format::Yaml => output::yaml(&results),
    }?;
    let ours = Program::Joiner.to_string();
    let failed = |result: &Measured| result.program == ours && !result.is_well();
    Ok(if results.iter().any(failed) { Exit::Violated } else { Exit::Success })
}

/// The programs that a control plane consists of.
fn parts(args: &E2eArgs) -> Result<Parts, Failure> {
    const REMEDY: &str = "build the programs from the repository with Go and list them in a file \
                          (scripts/install-real-parts > FILE), and name the file with --parts or \
                          JOINER_CONTROL_PLANE";
    let path = args.parts.as_deref().ok_or_else(|| {
        Failure::bad_input(format!("a real control plane is needed and none is given: {REMEDY}"))
    })?;
    let listing = fs::read_to_string(path).map_err(|error| {
        Failure::bad_input(format!("{} cannot be read: {error}; {REMEDY}", path.display()))
    })?;
    Parts::from_listing(&listing).map_err(|error| of_part(&error))
}

fn of_part(error: &StartError) -> Failure {
    Failure::bad_input(error.to_string())
}

async fn measure_all(
    args: &E2eArgs,
    plans: &[Plan<'_>],
    parts: &Parts,
) -> Result<Vec<Measured>, Failure> {
    let programs: &[Program] = match (args.only_karpenter, args.against_karpenter) {
        (true, _) => &[Program::Karpenter],
        (_, true) => &[Program::Joiner, Program::Karpenter],
        _ => &[Program::Joiner],
    };
    let launches: Vec<(Program, PathBuf)> = programs
        .iter()
        .map(|program| Ok((*program, path_of(*program, args, parts)?)))
        .collect::<Result<_, Failure>>()?;
    if args.joiner.is_none() && cfg!(debug_assertions) && programs.contains(&Program::Joiner) {
        output::talk("joiner: this is a debug build; its figures say little about a release");
    }
    let mut results = Vec::new();
    for plan in plans {
        let start = match &args.same_start {
            Some(kept) => Some(Start::of(kept.as_deref(), plan.scenario)?),
            None => None,
        };
        if let Some(start) = start.as_ref().filter(|start| !start.store.exists()) {
            plan.make(parts, &path_of(Program::Joiner, args, parts)?, &start.store).await?;
        }
        for (program, path) in &launches {
            let store = start.as_ref().map(|start| start.store.as_path());
            results.push(plan.measure(parts, *program, path, store).await?);
        }
    }
    Ok(results)
}

fn path_of(program: Program, args: &E2eArgs, parts: &Parts) -> Result<PathBuf, Failure> {
    match (program, &args.joiner) {
        (Program::Joiner, Some(path)) => fs::canonicalize(path)
            .map_err(|error| Failure::bad_input(format!("--joiner {}: {error}", path.display()))),
        (Program::Joiner, None) => std::env::current_exe()
            .map_err(|error| Failure::bad_input(format!("cannot find this program: {error}"))),
        (Program::Karpenter, _) => {
            control_plane::needed(parts.karpenter_kwok.clone(), "karpenter-kwok")
                .map_err(|error| of_part(&error))
        }
    }
}

/// What the API server has stored of a cluster that its controller has been taken from, and some of whose pods have gone
/// since.
#[derive(Debug)]
struct Start {
    store: PathBuf,
    /// The temporary folder of a cluster that is not kept.
    _forgotten: Option<TempDir>,
}

impl Start {
    /// The start of a scenario in a folder, or in one that is forgotten.
    fn of(kept: Option<&Path>, scenario: &Scenario) -> Result<Self, Failure> {
        let (folder, forgotten) = match kept {
            Some(folder) => {
                fs::create_dir_all(folder).map_err(|error| not_kept(&error))?;
                (folder.to_owned(), None)
            }
            None => {
                let folder = TempDir::with_prefix("joiner-bench-start-")
                    .map_err(|error| not_kept(&error))?;
                (folder.path().to_owned(), Some(folder))
            }
        };
        Ok(Self { store: folder.join(scenario.name), _forgotten: forgotten })
    }
}

fn not_kept(error: &io::Error) -> Failure {
    Failure::bad_input(format!("--same-start: the cluster cannot be kept: {error}"))
}

/// What is measured, with each program.
#[derive(Debug, Clone, Copy)]
struct Plan<'a> {
    args: &'a E2eArgs,
    scenario: &'static Scenario,
    then: Then,
}

impl<'a> Plan<'a> {
    fn of(args: &'a E2eArgs, scenario: &'static Scenario) -> Result<Self, Failure> {
        let then = args.then.unwrap_or(scenario.then);
        if args.same_start.is_some() && !then.settles() {
            return Err(Failure::bad_input(format!(
                "--same-start is for scenarios of whose pods some go and some stay, and {} is none ({}); name \
                 others, or say with --then which percentage stays",
                scenario.name,
                then.about(),
            )));
        }
        Ok(Self { args, scenario, then })
    }

    /// Makes a cluster for all pods of the scenario, takes its controller away, lets pods go, and stores what is left.
    async fn make(&self, parts: &Parts, joiner: &Path, store: &Path) -> Result<(), Failure> {
        let scale_out = Self { then: Then::Nothing, ..*self };
        let mut plane = self.plane(parts, Program::Joiner, None).await?;
        let measured = scale_out.on_plane(Program::Joiner, joiner, &plane, false).await?;
        if let Some((phase, why)) = measured.unfinished() {
            return Err(Failure::bad_input(format!("{phase} did not end: {why}")));
        }
        phases::shrink(&cluster(&plane), &self.loads(), self.then).await?;
        // Put together aside and moved, so that what was interrupted is not taken for a start.
        let aside = TempDir::with_prefix_in("unfinished-", store.parent().unwrap_or(store));
        let aside = aside.map_err(|error| not_kept(&error))?;
        let whole = aside.path().join("store");
        plane.leave(&whole).map_err(|error| of_part(&error))?;
        fs::rename(whole, store).map_err(|error| not_kept(&error))
    }

    /// Runs the scenario with one controller on a control plane of its own.
    async fn measure(
        &self,
        parts: &Parts,
        program: Program,
        path: &Path,
        store: Option<&Path>,
    ) -> Result<Measured, Failure> {
        let mut plane = self.plane(parts, program, store).await?;
        let measured = self.on_plane(program, path, &plane, store.is_some()).await;
        // Where a part of the control plane died, what was measured means nothing.
        let measured = plane.still_runs().map_err(|error| of_part(&error)).and(measured);
        let failed = !measured.as_ref().is_ok_and(Measured::is_well);
        keep_logs(self.args, &format!("{}-{program}", self.scenario.name), &plane, failed);
        measured
    }

    async fn plane(
        &self,
        parts: &Parts,
        program: Program,
        store: Option<&Path>,
    ) -> Result<ControlPlane, Failure> {
        let options = Options {
            controllers: true,
            scheduler: true,
            kwok: true,
            users: vec![User::in_charge(&program.to_string())],
            client_qps: self.scenario.client_qps,
            store: store.map(Path::to_owned),
            ..Options::default()
        };
        ControlPlane::start(parts, &options).await.map_err(|error| of_part(&error))
    }

    fn loads(&self) -> Vec<Load> {
        self.scenario.loads(self.args.share)
    }

    async fn on_plane(
        &self,
        program: Program,
        path: &Path,
        plane: &ControlPlane,
        is_given: bool,
    ) -> Result<Measured, Failure> {
        let Self { args, scenario, then } = *self;
        let cluster = cluster(plane);
        let given = if is_given {
            Some(phases::fleet(&cluster, None).await?)
        } else {
            self.furnish(&cluster).await?;
            None
        };
        let [metrics_port, probe_port] = free_ports().map_err(|error| of_part(&error))?;
        let user = program.to_string();
        let memory_limit = scenario.memory_limit.filter(|_| !args.no_memory_limit);
        // Dropped in the opposite order: questions end before the controller that answers them.
        let controller = Controller::start(&Launch {
            program,
            path: path.to_owned(),
            folder: plane.folder(),
            kubeconfig: plane.kubeconfig_of(&user).expect("it is one of the users"),
            metrics_port,
            probe_port,
            memory_limit,
            leader_election: !args.no_leader_election,
        })?;
        let prober = Prober::start(probe_port)?;
        let run = Run {
            scenario,
            program,
            memory_limit,
            then,
            loads: self.loads(),
            evenly: args.evenly && !scenario.backlog,
            metrics_port,
            idle: Duration::from_secs(args.idle.into()),
            patience: Duration::from_mins(args.patience.into()),
            cluster: &cluster,
            controller: &controller,
            prober: &prober,
        };
        match given {
            None => run.measure().await,
            Some(fleet) => run.measure_from(fleet).await,
        }
    }

    /// Puts into a cluster what has to be there before the controller.
    async fn furnish(&self, cluster: &Cluster) -> Result<(), Failure> {
        let crds: Vec<Value> = joiner_api::crd::crds()
            .iter()
            .map(|crd| serde_json::to_value(crd).expect("a CRD is made of maps, lists and scalars"))
            .collect();
        cluster.define(&crds).await?;
        cluster.create(objects::NODE_CLASSES, &objects::node_class()).await?;
        if !self.scenario.backlog {
            cluster.create(objects::NODE_POOLS, &objects::node_pool()).await?;
        }
        Ok(())
    }
}

fn cluster(plane: &ControlPlane) -> Cluster {
    Cluster::new(plane.url(), plane.token())
}

/// Keeps logs where they are asked for, and those of a failure anyway.
fn keep_logs(args: &E2eArgs, name: &str, plane: &ControlPlane, failed: bool) {
    let parent = match &args.keep_logs {
        Some(folder) => Ok(folder.clone()),
        None if failed => TempDir::with_prefix("joiner-bench-logs-").map(TempDir::keep),
        None => return,
    };
    let kept = parent.and_then(|parent| {
        let folder = parent.join(name);
        plane.save_logs(&folder).map(|()| folder)
    });
    match kept {
        Ok(folder) => output::talk(&format!("joiner: the logs are in {}", folder.display())),
        Err(error) => output::talk(&format!("joiner: the logs could not be kept: {error}")),
    }
}
