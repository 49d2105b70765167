//! `joiner bench vsphere`: what vSphere's provider asks of a vCenter, and how long it takes.
//!
//! The same is measured on the vCenter in the process and, where there is one, on govmomi's
//! simulator, each measurement in a process of its own so that its memory can be seen.

mod counter;
mod order;
mod server;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use clap::{Args, ValueEnum};
use futures_util::future::join_all;
use joiner_clock::Clock;
use joiner_cloud::CloudProvider;
use joiner_vsphere::{Limits, ProviderSettings, Vsphere};
use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;

use self::{
    counter::Counter,
    order::order,
    server::{CLUSTER, Server},
};
use super::{measure, report};
use crate::{
    errors::{Exit, Failure, chain},
    output::{self, Format},
    text::{self, Align, Cell, Table},
};

/// Claims that come at once, and how long a clone takes then.
const CLAIMS: u32 = 200;
const CLONE_TAKES: Duration = Duration::from_secs(1);
/// Instances among which one more is made, and the most of them are listed.
const FEW: usize = 100;
const MANY: usize = 5_000;
/// Instances over which calls are counted, after the first: what is looked at once is no part of it.
const COUNTED: u32 = 10;

/// `joiner bench vsphere`.
#[derive(Debug, Args)]
pub(crate) struct VsphereArgs {
    /// The vCenter simulator to measure on as well
    #[arg(long, value_name = "PATH", env = "JOINER_VCSIM", hide_env_values = true)]
    vcsim: Option<PathBuf>,
    /// Measure with this share of all sizes, to see quickly whether it works
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = super::lab::share)]
    share: f64,
    /// How to print the results
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
    /// Measure one part in this very process
    #[arg(long, value_enum, hide = true, requires = "on")]
    measure: Option<Part>,
    /// On which server
    #[arg(long, value_enum, hide = true)]
    on: Option<Kind>,
}

impl VsphereArgs {
    fn of(&self, size: usize) -> usize {
        ((size as f64 * self.share).round() as usize).max(1)
    }
}

/// What is measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Many claims at once.
    Burst,
    /// Calls for one more instance among few.
    Few,
    /// Calls for one more instance among many, and a list of all.
    Many,
}

/// Which server is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// The vCenter in the process.
    InProcess,
    /// govmomi's simulator.
    Vcsim,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::InProcess => "in process",
            Self::Vcsim => "vcsim",
        }
    }
}

/// What was measured on a server; what a part does not measure is not said.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Measured {
    #[serde(skip_serializing_if = "Option::is_none")]
    burst: Option<Burst>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<Calls>,
    #[serde(skip_serializing_if = "Option::is_none")]
    list: Option<List>,
}

/// Many claims at once.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Burst {
    claims: u32,
    launched: usize,
    seconds: f64,
    /// The most clones that were under way, and how many may be.
    clones_max: usize,
    clones_limit: usize,
    calls_per_instance: f64,
}

/// Calls for one more instance.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Calls {
    among: usize,
    per_instance: f64,
}

/// A list of all instances.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct List {
    instances: usize,
    seconds: f64,
    calls: u64,
    /// The most memory that it took on top of what the process had before; on the vCenter in the
    /// process, that is what both sides of the conversation took.
    grown_bytes: u64,
}

/// Everything about one server.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Results {
    server: Kind,
    parts: Vec<Measured>,
}

/// Runs `joiner bench vsphere`.
pub(super) fn run(args: &VsphereArgs) -> Result<Exit, Failure> {
    if let (Some(part), Some(kind)) = (args.measure, args.on) {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| failed(&error))?;
        let measured = runtime.block_on(measure_part(args, part, kind))?;
        return output::json(&measured).map(|()| Exit::Success);
    }
    let mut kinds = vec![Kind::InProcess];
    if args.vcsim.is_some() {
        kinds.push(Kind::Vcsim);
    } else {
        output::talk(
            "joiner: no simulator is given, so only the vCenter in the process is measured: build \
             one from the repository with Go and name it with --vcsim or JOINER_VCSIM, for \
             instance --vcsim \"$(scripts/install-real-parts vcsim)\"",
        );
    }
    let mut results = Vec::new();
    for server in kinds {
        let mut parts = Vec::new();
        for part in ["burst", "few", "many"] {
            output::progress(&format!("vSphere's provider, {}, {part}", server.word()));
            parts.push(measure::run_child::<Measured>(|command| {
                let on = server.to_possible_value().expect("it is no hidden value");
                command
                    .args(["vsphere", "--measure", part, "--on", on.get_name()])
                    .args(["--share", &args.share.to_string()]);
                if let Some(vcsim) = &args.vcsim {
                    command.arg("--vcsim").arg(vcsim);
                }
                command
            })?);
        }
        results.push(Results { server, parts });
    }
    match args.output {
        Format::Table | Format::Wide => output::text(&render(&results)),
        Format::Json => output::json(&results),
        Format::Yaml => output::yaml(&results),
    }?;
    let parts = results.iter().flat_map(|result| &result.parts);
    let mut bursts = parts.filter_map(|own| own.burst.as_ref());
    let is_met =
        |own: &Burst| own.launched == own.claims as usize && own.clones_max <= own.clones_limit;
    Ok(if bursts.all(is_met) { Exit::Success } else { Exit::Violated })
}

fn failed(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::bad_input(format!("the vCenter does not do what is to be measured: {}", chain(error)))
}

async fn measure_part(args: &VsphereArgs, part: Part, kind: Kind) -> Result<Measured, Failure> {
    let vcsim = args.vcsim.as_deref().filter(|_| kind == Kind::Vcsim);
    match part {
        Part::Burst => burst(vcsim, args.of(CLAIMS as usize) as u32).await,
        Part::Few => among(vcsim, args.of(FEW), false).await,
        Part::Many => among(vcsim, args.of(MANY), true).await,
    }
}

fn provider(server: &Server, counter: &Arc<Counter>, limits: Limits) -> Vsphere {
    let settings = ProviderSettings { limits, ..ProviderSettings::new(CLUSTER, "/") };
    let provider = Vsphere::new(server.client(counter.clone()), Clock::wall(), settings);
    provider.begin(&joiner_cloud::cluster::Cluster::new("bench"));
    provider
}

async fn burst(vcsim: Option<&Path>, claims: u32) -> Result<Measured, Failure> {
    let server = Server::start(vcsim, 0, CLONE_TAKES).await?;
    let (counter, limits) = (Arc::new(Counter::default()), Limits::default());
    let provider = provider(&server, &counter, limits);
    let class = server.class();
    let started = Instant::now();
    let orders: Vec<_> = (0..claims).map(|number| order(&class, number)).collect();
    let made = join_all(orders.iter().map(|order| provider.create(order))).await;
    for refused in made.iter().filter_map(|made| made.as_ref().err()) {
        output::talk(&format!("joiner: {}", chain(refused)));
    }
    let burst = Burst {
        claims,
        launched: made.iter().filter(|made| made.is_ok()).count(),
        seconds: started.elapsed().as_secs_f64(),
        clones_max: counter.clones_max(),
        clones_limit: limits.full_clones,
        calls_per_instance: counter.calls() as f64 / f64::from(claims),
    };
    Ok(Measured { burst: Some(burst), ..Measured::default() })
}

async fn among(vcsim: Option<&Path>, instances: usize, lists: bool) -> Result<Measured, Failure> {
    let server = Server::start(vcsim, instances, Duration::ZERO).await?;
    let counter = Arc::new(Counter::default());
    let provider = provider(&server, &counter, Limits::default());
    let class = server.class();
    provider.create(&order(&class, 0)).await.map_err(|error| failed(&error))?;
    let before = counter.calls();
    for number in 1..=COUNTED {
        provider.create(&order(&class, number)).await.map_err(|error| failed(&error))?;
    }
    let per_instance = (counter.calls() - before) as f64 / f64::from(COUNTED);
    let calls = Calls { among: instances, per_instance };
    if !lists {
        return Ok(Measured { calls: Some(calls), ..Measured::default() });
    }
    let growth = measure::Growth::watch();
    let (before, started) = (counter.calls(), Instant::now());
    let listed = provider.list().await.map_err(|error| failed(&error))?;
    let list = List {
        instances: listed.instances.len(),
        seconds: started.elapsed().as_secs_f64(),
        calls: counter.calls() - before,
        grown_bytes: growth.most(),
    };
    Ok(Measured { calls: Some(calls), list: Some(list), ..Measured::default() })
}

fn render(results: &[Results]) -> String {
    let mut table = Table::new([
        ("WHAT", Align::Left),
        ("SERVER", Align::Left),
        ("TIME", Align::Right),
        ("CALLS", Align::Right),
        ("MEMORY", Align::Right),
        ("CLONES AT ONCE", Align::Right),
    ]);
    let none = String::new;
    for Results { server, parts } in results {
        for Measured { burst, calls, list } in parts {
            let mut row = |what: String, time: String, calls: String, memory, clones| {
                table.row([
                    Cell::from(what),
                    server.word().to_owned().into(),
                    time.into(),
                    calls.into(),
                    Cell::from(memory),
                    Cell::from(clones),
                ]);
            };
            if let Some(own) = burst {
                row(
                    format!("{} of {} claims at once, clones of 1 s", own.launched, own.claims),
                    report::duration(own.seconds),
                    format!("{:.1} per instance", own.calls_per_instance),
                    none(),
                    format!("{} of at most {}", own.clones_max, own.clones_limit),
                );
            }
            if let Some(own) = calls {
                let among = text::thousands(own.among);
                let calls = format!("{:.1} per instance", own.per_instance);
                row(format!("one more instance among {among}"), none(), calls, none(), none());
            }
            if let Some(own) = list {
                row(
                    format!("list {} instances", text::thousands(own.instances)),
                    report::duration(own.seconds),
                    own.calls.to_string(),
                    format!("+{} MiB", own.grown_bytes >> 20),
                    none(),
                );
            }
        }
    }
    table.render()
        + "Questions for news, of which one serves everybody who waits, are not counted as calls. \
           Memory is what the list took at most on top of what the process had; in process, the \
           vCenter's side is a part of it.\n"
}
