//! `joiner bench lab`: what the laboratory can take.
//!
//! Each part runs in a process of its own, so that its memory can be seen.

mod objects;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use clap::{Args, ValueEnum};
use futures_util::StreamExt;
use http::{Method, Request};
use http_body_util::Full;
use joiner_apiserver::{Body, Resource};
use joiner_lab::{Connection, Lab, Setup, history::Keep, story};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tower_service::Service as _;

use super::{measure, report};
use crate::{
    errors::{Exit, Failure},
    output::{self, Format},
    text::{self, Align, Cell, Table},
};

// The sizes that are measured, of which a share may be asked for.
const NODES: usize = 5_000;
const PODS: usize = 100_000;
const WRITES: usize = 20_000;
const DAY_NODES: usize = 100;
const DAY_PODS: usize = 2_000;

/// How many watch while others write.
const WATCHERS: usize = 10;
/// The share of pods that restart in an hour of the day.
const DAY_RESTARTS: f64 = 0.01;
const SEED: u64 = 1;
const PATH_OF_PODS: &str = "/api/v1/namespaces/default/pods";

/// `joiner bench lab`.
#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    /// Measure with this share of all sizes, to see quickly whether it works
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share)]
    share: f64,
    /// How to print the results
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
    /// Measure one part in this very process
    #[arg(long, value_enum, hide = true)]
    measure: Option<Part>,
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "is not a number".to_owned())?;
    if share > 0.0 && share <= 1.0 {
        Ok(share)
    } else {
        Err("must be more than 0 and at most 1".to_owned())
    }
}

impl LabArgs {
    /// The share of a size that is measured.
    fn of(&self, size: usize) -> usize {
        ((size as f64 * self.share).round() as usize).max(1)
    }
}

/// What is measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// A large cluster: how much memory its objects take, and how long a list of all pods.
    Full,
    /// Writes while others watch.
    Writes,
    /// A day in virtual time.
    Day,
}

/// One thing that was measured.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Measured {
    /// What was done.
    what: String,
    /// How many times: objects, writes or changes.
    count: usize,
    seconds: f64,
    per_second: f64,
    /// How much was read, where that matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    /// The most memory that the process had until then.
    peak_bytes: u64,
}

impl Measured {
    fn since(started: Instant, what: String, count: usize) -> Self {
        let seconds = started.elapsed().as_secs_f64();
        let per_second = count as f64 / seconds.max(f64::MIN_POSITIVE);
        let peak_bytes = measure::peak_memory();
        Self { what, count, seconds, per_second, bytes: None, peak_bytes }
    }
}

/// Runs `joiner bench lab`.
pub(super) fn run(args: &LabArgs) -> Result<Exit, Failure> {
    if let Some(part) = args.measure {
        let measured = match part {
            Part::Full => runtime(false)?.block_on(full(args))?,
            Part::Writes => runtime(false)?.block_on(writes(args))?,
            Part::Day => runtime(true)?.block_on(day(args)),
        };
        return output::json(&measured).map(|()| Exit::Success);
    }
    let mut results: Vec<Measured> = Vec::new();
    for part in ["full", "writes", "day"] {
        output::progress(&format!("the laboratory, {part}"));
        results.extend(measure::run_child::<Vec<Measured>>(|command| {
            command.args(["lab", "--measure", part, "--share", &args.share.to_string()])
        })?);
    }
    match args.output {
        Format::Table | Format::Wide => output::text(&render(&results)),
        Format::Json => output::json(&results),
        Format::Yaml => output::yaml(&results),
    }
    .map(|()| Exit::Success)
}

fn runtime(paused: bool) -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(paused)
        .build()
        .map_err(|error| Failure::bad_input(format!("cannot start: {error}")))
}

/// An API server of which nothing is kept.
fn bare() -> Lab {
    Lab::new(Setup { keep: Keep::Nothing, bare: true, ..Setup::new(SEED) })
}

/// A cluster full of nodes and pods.
async fn full(args: &LabArgs) -> Result<Vec<Measured>, Failure> {
    let (nodes, pods) = (args.of(NODES), args.of(PODS));
    let lab = bare();
    let user = lab.caller("user");
    let started = Instant::now();
    let of_nodes = (0..nodes).map(|number| ("nodes", objects::node(number)));
    let of_pods = (0..pods).map(|number| ("pods", objects::pod(number, number % nodes)));
    for (plural, object) in of_nodes.chain(of_pods) {
        let resource = Resource::new("", plural);
        let status = object["status"].clone();
        let made = user.create(&resource, object).and_then(|made| {
            let mut made = made.value();
            made["status"] = status;
            user.update_status(&resource, made)
        });
        made.map_err(|status| failed(&status.message))?;
    }
    let sizes = format!("{} nodes and {} pods", text::thousands(nodes), text::thousands(pods));
    let created = Measured::since(started, format!("create {sizes}"), nodes + pods);
    let started = Instant::now();
    let mut connection = lab.client("reader").connect();
    let mut pieces = call(&mut connection, Method::GET, "/api/v1/pods", None).await?.into_stream();
    let mut bytes = 0;
    while let Some(piece) = pieces.next().await {
        bytes += piece.map_err(|error| failed(&error.to_string()))?.len();
    }
    let listed = Measured::since(started, "list all pods".to_owned(), pods);
    Ok(vec![created, Measured { bytes: Some(bytes), ..listed }])
}

/// Pods that are created and then change, while others watch them all.
async fn writes(args: &LabArgs) -> Result<Vec<Measured>, Failure> {
    let pods = args.of(WRITES / 2);
    let lab = bare();
    let mut watchers = Vec::new();
    for number in 0..WATCHERS {
        watchers.push(watch(&lab, &format!("watcher-{number}")).await?);
    }
    let mut connection = lab.client("writer").connect();
    let started = Instant::now();
    for number in 0..pods {
        let pod = objects::pod(number, 0);
        call(&mut connection, Method::POST, PATH_OF_PODS, Some(&pod)).await?;
        // The watchers are told before the next write, as they are by a server with many threads.
        tokio::task::yield_now().await;
    }
    for number in 0..pods {
        let path = format!("{PATH_OF_PODS}/{}/status", objects::pod_name(number));
        let status = json!({"status": objects::pod_status(number)});
        call(&mut connection, Method::PATCH, &path, Some(&status)).await?;
        tokio::task::yield_now().await;
    }
    settle(&watchers).await;
    let measured = Measured::since(started, format!("write with {WATCHERS} watchers"), 2 * pods);
    for (number, seen) in watchers.iter().enumerate() {
        let seen = seen.load(Ordering::Relaxed);
        if seen != measured.count {
            let count = measured.count;
            return Err(failed(&format!("watcher {number} saw {seen} of {count} changes")));
        }
    }
    Ok(vec![measured])
}

/// Opens a watch of all pods, and counts the changes that it tells.
async fn watch(lab: &Lab, name: &str) -> Result<Arc<AtomicUsize>, Failure> {
    let mut connection = lab.client(name).connect();
    let path = format!("{PATH_OF_PODS}?watch=true");
    let events = call(&mut connection, Method::GET, &path, None).await?;
    let seen = Arc::<AtomicUsize>::default();
    let counter = Arc::clone(&seen);
    tokio::spawn(events.into_stream().for_each(move |piece| {
        // Every change is a line.
        counter.fetch_add(lines_of(piece.as_deref().unwrap_or_default()), Ordering::Relaxed);
        std::future::ready(())
    }));
    Ok(seen)
}

/// How many lines end in a text. Ten watchers read forty kilobytes with every write, so that it must
/// not be the counting that is measured.
fn lines_of(text: &[u8]) -> usize {
    // Short enough that a byte can count them, which is what processors are quick at.
    let parts = text.chunks(usize::from(u8::MAX));
    let lines = |part: &[u8]| part.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>();
    parts.map(|part| usize::from(lines(part))).sum()
}

/// Waits until no watcher sees anything more.
async fn settle(watchers: &[Arc<AtomicUsize>]) {
    // As often as every task surely has had its turn.
    const TURNS: usize = 100;
    let sum = || watchers.iter().map(|seen| seen.load(Ordering::Relaxed)).sum::<usize>();
    loop {
        let before = sum();
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
        if sum() == before {
            return;
        }
    }
}

/// A quiet day of a small cluster.
async fn day(args: &LabArgs) -> Vec<Measured> {
    let (nodes, pods) = (args.of(DAY_NODES), args.of(DAY_PODS));
    let started = Instant::now();
    let lab = story::quiet_day(SEED, nodes, pods, DAY_RESTARTS).await;
    let what = format!("a day of {nodes} nodes and {} pods", text::thousands(pods));
    vec![Measured::since(started, what, lab.server().version() as usize)]
}

/// Makes a call that must succeed.
async fn call(
    connection: &mut Connection,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Body, Failure> {
    let kind = match method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind)
        .body(Full::from(body.map(Value::to_string).unwrap_or_default()))
        .expect("the paths here are valid");
    let response = connection.call(request).await.map_err(|error| failed(&error.to_string()))?;
    if response.status().is_success() {
        Ok(response.into_body())
    } else {
        Err(failed(&format!("{path} is answered with {}", response.status())))
    }
}

fn failed(why: &str) -> Failure {
    Failure::bad_input(format!("the laboratory does not do what is to be measured: {why}"))
}

fn render(results: &[Measured]) -> String {
    let right = |title| (title, Align::Right);
    let mut table = Table::new([
        ("WHAT", Align::Left),
        right("COUNT"),
        right("TIME"),
        right("PER SECOND"),
        right("READ"),
        right("MEMORY"),
    ]);
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    for result in results {
        table.row([
            Cell::from(result.what.clone()),
            text::thousands(result.count).into(),
            report::duration(result.seconds).into(),
            text::thousands(result.per_second.round() as usize).into(),
            result.bytes.map(|bytes| mib(bytes as u64)).unwrap_or_default().into(),
            mib(result.peak_bytes).into(),
        ]);
    }
    table.render()
        + "Counts are objects, writes, and changes of the day. Memory is the most that the process \
           had; every watcher saw every change.\n"
}
