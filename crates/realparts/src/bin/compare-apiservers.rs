//! Asks two API servers the same questions and shows where their answers differ.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, anyhow, bail};
use clap::Parser;
use joiner_realparts::{
    accepted::Accepted,
    compare::Comparison,
    control_plane::{self, ControlPlane, Options, Parts},
    generate::{Generator, custom::Definition},
    http::Server,
    report::{self, Report},
};
use regex::Regex;

/// Asks two API servers the same questions and shows where their answers differ.
///
/// Both should be fresh, or at least not have seen the seed before: names of a run begin with its
/// seed. Exits with 1 when there are differences that are not accepted.
#[derive(Debug, Parser)]
#[command(name = "compare-apiservers")]
struct Arguments {
    /// The real server's address; without it, one is started from --parts
    #[arg(long, value_name = "URL", required_unless_present = "parts")]
    real: Option<String>,
    /// The bearer token, once for both servers, or first for the real one and then for the other
    #[arg(long = "token", value_name = "TOKEN", default_value = control_plane::TOKEN)]
    tokens: Vec<String>,
    /// The server that is to answer like the real one
    #[arg(long, value_name = "URL", required_unless_present = "self_check")]
    lab: Option<String>,
    /// A file with the paths of installed parts, as scripts/install-real-parts prints them: starts
    /// the real server, and stops it at the end
    #[arg(long, value_name = "FILE")]
    parts: Option<PathBuf>,
    /// Compares the real server with a second real one, which must give no differences
    #[arg(long = "self", requires = "parts", conflicts_with = "lab")]
    self_check: bool,
    /// The seed of the questions
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many questions
    #[arg(long, default_value_t = 2000, value_name = "N")]
    exchanges: usize,
    /// How many kinds of differences may remain
    #[arg(long, default_value_t = 0, value_name = "N")]
    tolerate: usize,
    /// A folder with custom resource definitions to use besides our own
    #[arg(long, value_name = "FOLDER")]
    crds: Option<PathBuf>,
    /// Reports only questions whose "verb resource" matches
    #[arg(long, value_name = "REGEX")]
    only: Option<Regex>,
    /// Writes every question that showed a difference to a file, as lines of JSON
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    /// Shows how often each kind of question was answered with which status
    #[arg(long)]
    coverage: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("compare-apiservers: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Returns how many kinds of differences somebody must look at.
async fn run(arguments: &Arguments) -> Result<usize> {
    let mut definitions = Definition::own();
    if let Some(folder) = &arguments.crds {
        definitions.extend(Definition::read_folder(folder)?);
    }
    let (real_plane, lab_plane) = start(arguments).await?;
    let [real_token, lab_token] = match arguments.tokens.as_slice() {
        [both] => [both, both],
        [real, lab] => [real, lab],
        _ => bail!("--token is given {} times; once or twice is right", arguments.tokens.len()),
    };
    let real = server(real_plane.as_ref(), arguments.real.as_deref(), real_token)?;
    let lab = server(lab_plane.as_ref(), arguments.lab.as_deref(), lab_token)?;
    let mut comparison = Comparison::new(real, lab);
    let mut generator = Generator::new(arguments.seed, &definitions);
    let mut report = Report::new(Accepted::list().map_err(|problem| anyhow!(problem))?);
    let mut kept = arguments.keep.as_deref().map(create).transpose()?;
    for number in 1..=arguments.exchanges {
        let exchange = generator.next_exchange();
        let outcome = comparison.ask(&exchange).await?;
        let agreed = report.agrees(&exchange, &outcome);
        generator.observe(&exchange, outcome.real.status, &outcome.real.body, agreed);
        let wanted = arguments.only.as_ref();
        if wanted.is_some_and(|only| !only.is_match(&report::what(&exchange))) {
            continue;
        }
        let remaining = report.add(number, &exchange, &outcome);
        if let (Some(kept), false) = (&mut kept, remaining.is_empty()) {
            writeln!(kept, "{}", report::record(number, &exchange, &outcome, &remaining))?;
        }
    }
    if let Some(mut kept) = kept {
        kept.flush()?;
    }
    let mut out = io::stdout().lock();
    if arguments.coverage {
        writeln!(out, "{}", report.coverage())?;
    }
    write!(out, "{}", report.text())?;
    let remaining = report.remaining();
    if (1..=arguments.tolerate).contains(&remaining) {
        writeln!(
            out,
            "{remaining} kinds of differences remain, {} are tolerated",
            arguments.tolerate
        )?;
    }
    Ok(remaining.saturating_sub(arguments.tolerate))
}

/// The server of a control plane that was started, or the one at an address.
fn server(plane: Option<&ControlPlane>, url: Option<&str>, token: &str) -> Result<Server> {
    match (plane, url) {
        (Some(plane), _) => Ok(Server::new(plane.url(), plane.token())),
        (None, Some(url)) => Ok(Server::new(url, token)),
        (None, None) => bail!("a server is missing: give --real and --lab, or --parts"),
    }
}

/// Starts the control planes that are not given by their addresses.
async fn start(arguments: &Arguments) -> Result<(Option<ControlPlane>, Option<ControlPlane>)> {
    let Some(path) = &arguments.parts else { return Ok((None, None)) };
    let listing = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let parts = Parts::from_listing(&listing)?;
    let options = Options::default();
    let real = match arguments.real {
        Some(_) => None,
        None => Some(ControlPlane::start(&parts, &options).await?),
    };
    let lab = match arguments.lab {
        Some(_) => None,
        None => Some(ControlPlane::start(&parts, &options).await?),
    };
    Ok((real, lab))
}

fn create(path: &Path) -> Result<BufWriter<File>> {
    Ok(BufWriter::new(File::create(path).with_context(|| path.display().to_string())?))
}
