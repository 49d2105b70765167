//! The command line as typed. Its comments are the help that `--help` prints.

#![expect(clippy::doc_markdown, reason = "backticks would show in the help")]

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use jiff::Timestamp;
use joiner_clock::SPEEDS;

use crate::{
    bench::BenchArgs,
    build::VERSION,
    clouds,
    connection::ClusterArgs,
    doctor::Doctor,
    output::Format,
    run::Controller,
    settings::{Given, RawSettings},
};

/// Gives Kubernetes on private clouds the instances it needs.
#[derive(Debug, Parser)]
#[command(name = "joiner", version = VERSION, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the controller: watch a cluster and give its pods the instances they need
    Run(Box<RunArgs>),
    /// Show which instances the pods of a cluster need; nothing is changed
    Plan(Box<PlanArgs>),
    /// Say why something is as it is
    #[command(subcommand)]
    Explain(Explain),
    /// Look for what would keep instances from being made, each with its remedy; nothing is changed
    #[command(subcommand)]
    Doctor(Doctor),
    /// Print the CRDs as YAML
    Crds,
    /// Watch Joiner at work on a cluster that lives in this process, with nothing installed
    ///
    /// Tells a story: pods come in a burst, one fits nowhere, an instance fails, the load goes away.
    /// It is shown in the terminal and on a page; kubectl can be used on the cluster all the time.
    Demo(DemoArgs),
    /// Measure the planner on known workloads, or the laboratory
    Bench(BenchArgs),
    /// A Kubernetes cluster that lives in this process, with nothing installed
    #[command(subcommand)]
    Lab(Lab),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// What to explain.
#[derive(Debug, Subcommand)]
pub(crate) enum Explain {
    /// Say where a pod would be placed, or what every NodePool has against it
    Pod(Box<ExplainPodArgs>),
    /// Say why a node stays or goes, where its pods would be, and when it may go next
    Node(Box<ExplainNodeArgs>),
    /// List all nodes with what they cost and hold, and why each stays or goes
    Nodes(Box<AskingArgs>),
    /// Say what would happen if nodes were drained now: in which order pods leave, where they go,
    /// what keeps them, and which instances would be made
    Drain(Box<ExplainDrainArgs>),
}

/// What to do in the laboratory.
#[derive(Debug, Subcommand)]
pub(crate) enum Lab {
    /// Serve the laboratory's API to kubectl and everybody else on this computer, until Ctrl-C
    Serve(LabServeArgs),
    /// Tell the story of a seed: hours of a small cluster on a bad day, checked from end to end
    ///
    /// The same seed and faults give the same story. Exits with 1 when something happened in it
    /// that must not.
    Replay(LabReplayArgs),
}

/// Whose instances the demonstration has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DemoProvider {
    /// Nodes without instances
    #[default]
    Kwok,
    /// Virtual machines of a vCenter that lives in this process
    Vsphere,
}

/// `joiner demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Whose instances the cluster has
    #[arg(long, value_enum, default_value_t)]
    pub(crate) provider: DemoProvider,
    /// How many times as fast as usual time passes, from 0.001 to 1000 [default: 10; with --headless
    /// alone as fast as it can]
    #[arg(long, value_name = "TIMES", value_parser = speed)]
    pub(crate) speed: Option<f64>,
    /// Everything that looks like chance comes from it
    #[arg(long, default_value_t = 7)]
    pub(crate) seed: u64,
    /// No terminal to look at: one line for each thing that happens, until the story ends
    #[arg(long)]
    pub(crate) headless: bool,
    /// The port of the page on this computer, 0 for any that is free [default: 4646 if it is free]
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// Write the kubeconfig to this file and leave it there, instead of a temporary one
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
}

/// `joiner lab replay`.
#[derive(Debug, Args)]
pub(crate) struct LabReplayArgs {
    /// Everything that looks like chance comes from it; drawn and printed if not given
    pub(crate) seed: Option<u64>,
    /// Print who did what when, and what it changed
    #[arg(long, conflicts_with = "json")]
    pub(crate) timeline: bool,
    /// Print everything that happened, one JSON value per line
    #[arg(long)]
    pub(crate) json: bool,
    /// More that goes wrong: a fault script, whose client is called administrator
    #[arg(long, value_name = "FILE")]
    pub(crate) faults: Option<PathBuf>,
}

/// `joiner lab serve`.
#[derive(Debug, Args)]
pub(crate) struct LabServeArgs {
    /// Where to listen; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Serve without encryption and without asking for a token
    #[arg(long)]
    pub(crate) http: bool,
    /// Write the kubeconfig to this file instead of printing it
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// How many times as fast as usual time passes in the laboratory, from 0.001 to 1000
    #[arg(long, value_name = "TIMES", default_value_t = 1.0, value_parser = speed)]
    pub(crate) speed: f64,
    /// Objects that are there from the beginning: files, folders, or - for stdin
    #[arg(short = 'f', long = "filename", value_name = "PATH", num_args = 1..)]
    pub(crate) files: Vec<PathBuf>,
    /// Only the API server: no scheduler, no controllers, no kubelets
    #[arg(long)]
    pub(crate) bare: bool,
}

fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "is not a number".to_owned())?;
    let (slowest, fastest) = (SPEEDS.start(), SPEEDS.end());
    if SPEEDS.contains(&speed) {
        return Ok(speed);
    }
    Err(format!("is out of range; use a number from {slowest} to {fastest}"))
}

/// `joiner run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    #[command(flatten)]
    pub(crate) settings: Given<Controller>,
}

/// `joiner plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// How to print the plan
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Format,
    /// Show also which instances are not needed or wrong and would go, and why the others stay
    #[arg(long)]
    pub(crate) disrupt: bool,
    /// Exit with 3 instead of 0 when instances would be made, or would go with --disrupt
    #[arg(long = "detailed-exitcode")]
    pub(crate) detailed_exit_code: bool,
    /// Exit with 4 when there are such pods
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) fail_on: Option<FailOn>,
    /// Write what was read of the cluster to this folder, a file for each kind, for plan -f
    #[arg(long, value_name = "FOLDER", conflicts_with = "files")]
    pub(crate) dump: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: RawSettings,
}

/// What a plan may fail on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Pods that were considered and have no place
    Unschedulable,
}

/// `joiner explain pod`.
#[derive(Debug, Args)]
pub(crate) struct ExplainPodArgs {
    /// The pod
    #[arg(value_name = "[NAMESPACE/]NAME")]
    pub(crate) pod: String,
    /// The pod's namespace; without it the context's, or default
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    #[command(flatten)]
    pub(crate) asking: AskingArgs,
}

/// `joiner explain node`.
#[derive(Debug, Args)]
pub(crate) struct ExplainNodeArgs {
    /// The node, or its NodeClaim while there is no node
    #[arg(value_name = "NAME")]
    pub(crate) node: String,
    #[command(flatten)]
    pub(crate) asking: AskingArgs,
}

/// `joiner explain drain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainDrainArgs {
    /// The nodes
    #[arg(value_name = "NODE", required = true)]
    pub(crate) nodes: Vec<String>,
    #[command(flatten)]
    pub(crate) asking: AskingArgs,
}

/// What every question about a cluster has: where it is read from, as what settings have it, and how
/// it is answered.
#[derive(Debug, Args)]
pub(crate) struct AskingArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// How to print the answer
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) settings: RawSettings,
}

/// Where a cluster is read from.
#[derive(Debug, Args)]
pub(crate) struct InputArgs {
    /// What `kubectl get … -o yaml` printed: files, folders, or - for stdin; without it the cluster
    /// itself is read
    #[arg(short = 'f', long = "filename", value_name = "PATH", num_args = 1..)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Objects that are looked at as if they were in the cluster that is read, such as NodePools to
    /// try: files, folders, or - for stdin; of two objects of one name the file's counts
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with = "files")]
    pub(crate) with: Vec<PathBuf>,
    /// The instances that can be had, for every NodePool
    #[arg(long, value_name = "FILE", help = instance_types_help())]
    pub(crate) instance_types: Option<PathBuf>,
    /// Judge as of this moment instead of now, such as 2026-01-31T22:00:00Z: what ends or opens with
    /// time is read as it is then
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) at: Option<Timestamp>,
}

fn instance_types_help() -> String {
    let told: Vec<&str> = clouds::ALL.iter().map(|kind| kind.types_told).collect();
    let without = listed_in_words(&told);
    format!("The instances that can be had, for every NodePool; without it, {without}")
}

/// Several things in a sentence: `a, b and c`.
fn listed_in_words(things: &[&str]) -> String {
    match things {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => things.concat(),
    }
}

fn moment(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| "is no moment; write it as 2026-01-31T22:00:00Z".to_owned())
}
