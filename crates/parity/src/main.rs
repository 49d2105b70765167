//! Compares Joiner's plans with Karpenter's on generated scenarios.

use std::{
    io::{self, Write},
    ops::Range,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use anyhow::{Context, Result};
use clap::Parser;
use joiner_parity::{
    compare::{Checked, Comparison, Verdict},
    disruption::{
        self,
        tell::{Effort, tell},
    },
    fixture::{self, Expectation},
    generate::generate,
    oracle::{Oracle, RUNS},
    report::Report,
    scenario::Scenario,
    shrink::shrink,
    trial,
};

/// Compares Joiner's plans with Karpenter's on generated scenarios.
///
/// Exits with 1 when ours is worse than Karpenter's and nothing explains it, more often than is
/// tolerated.
#[derive(Debug, Parser)]
#[command(name = "joiner-parity")]
struct Arguments {
    /// The oracle; `scripts/install-real-parts oracle` builds it and prints where it is
    #[arg(long, env = "JOINER_ORACLE", value_name = "PATH")]
    oracle: PathBuf,
    /// Compares what becomes of clusters whose instances may go, instead of plans
    #[arg(long)]
    disrupt: bool,
    /// How many scenarios
    #[arg(long, default_value_t = 200, value_name = "N")]
    scenarios: u64,
    /// The seed of the first scenario; the others have the seeds after it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many scenarios may be worse, where it is known that some are
    #[arg(long, default_value_t = 0, value_name = "N")]
    tolerate: usize,
    /// How many scenarios at a time
    #[arg(long, default_value_t = 2, value_name = "N")]
    jobs: usize,
    /// Only the scenario of this seed, with what both sides do
    #[arg(long, value_name = "SEED")]
    only: Option<u64>,
    /// Shrinks each scenario that is worse, or the one of --only whatever it is, and writes it to a
    /// folder below this one
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(worse) if worse <= arguments.tolerate => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("joiner-parity: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Returns how many scenarios somebody must look at.
fn run(arguments: &Arguments) -> Result<usize> {
    let seeds = match arguments.only {
        Some(seed) => seed..seed + 1,
        None => arguments.seed..arguments.seed + arguments.scenarios,
    };
    eprintln!(
        "joiner-parity: seeds {} to {}, {RUNS} runs of Karpenter each",
        seeds.start,
        seeds.end - 1
    );
    if arguments.disrupt {
        compare_disruptions(seeds, arguments)
    } else {
        compare_plans(seeds, arguments)
    }
}

fn compare_disruptions(seeds: Range<u64>, arguments: &Arguments) -> Result<usize> {
    let trials = try_all(seeds, arguments.jobs, &arguments.oracle, |seed, oracle| {
        let situation = disruption::generate::generate(seed)?;
        let trial = disruption::trial::run(&situation, oracle)?;
        Ok((situation, trial))
    })?;
    let mut report = Report::new(
        "cargo run --release -p joiner-parity -- --disrupt --only",
        "once nothing more is found",
    );
    let mut effort = Effort::default();
    for (situation, trial) in &trials {
        report.add(situation.scenario.seed, &situation.kind_names(), &trial.comparison);
        effort.add(trial);
    }
    let mut out = io::stdout().lock();
    if let (Some(seed), Some((situation, trial))) = (arguments.only, trials.first()) {
        writeln!(out, "seed {seed}: {}", situation.kind_names().join("+"))?;
        tell(trial, &mut out)?;
        show_verdict(&trial.comparison, &mut out)?;
    } else {
        write!(out, "{report}{effort}")?;
    }
    if let Some(folder) = &arguments.keep {
        for (situation, _) in trials.iter().filter(|(_, trial)| {
            arguments.only.is_some() || trial.comparison.verdict() == Verdict::Worse
        }) {
            let folder = folder.join(format!("disrupt-{}", situation.scenario.seed));
            fixture::write_scenario(&folder, &situation.scenario)?;
        }
    }
    Ok(report.to_look_at())
}

fn compare_plans(seeds: Range<u64>, arguments: &Arguments) -> Result<usize> {
    let outcomes = try_all(seeds, arguments.jobs, &arguments.oracle, |seed, oracle| {
        let scenario = generate(seed);
        let comparison = trial::run(&scenario, oracle)?.comparison;
        Ok((scenario, comparison))
    })?;
    let mut report = Report::new(
        "cargo run --release -p joiner-parity -- --only",
        "where both place the same pods",
    );
    for (scenario, comparison) in &outcomes {
        let kinds: Vec<&'static str> = scenario.kinds.iter().map(|kind| kind.name()).collect();
        report.add(scenario.seed, &kinds, comparison);
    }
    let mut out = io::stdout().lock();
    if arguments.only.is_some() {
        show(&outcomes[0].0, &arguments.oracle, &mut out)?;
    } else {
        write!(out, "{report}")?;
    }
    if let Some(folder) = &arguments.keep {
        for (scenario, comparison) in &outcomes {
            if arguments.only.is_some() || comparison.verdict() == Verdict::Worse {
                keep(scenario, comparison, &arguments.oracle, folder)?;
            }
        }
    }
    Ok(report.to_look_at())
}

/// Tries all seeds, `jobs` at a time, each with an oracle of its own.
fn try_all<T: Send>(
    seeds: Range<u64>,
    jobs: usize,
    oracle: &Path,
    attempt: impl Fn(u64, &mut Oracle) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicU64::new(seeds.start);
    let outcomes = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let work = || -> Result<()> {
            let mut oracle = Oracle::start(oracle)?;
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= seeds.end {
                    return Ok(());
                }
                let outcome = attempt(seed, &mut oracle).with_context(|| format!("seed {seed}"))?;
                let mut outcomes =
                    outcomes.lock().expect("no worker panics while it holds the lock");
                outcomes.push((seed, outcome));
            }
        };
        let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    let mut outcomes = outcomes.into_inner().expect("no worker panics while it holds the lock");
    outcomes.sort_by_key(|(seed, _)| *seed);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

/// Tells all about one scenario.
fn show(scenario: &Scenario, oracle: &Path, out: &mut impl Write) -> Result<()> {
    let trial = trial::run(scenario, &mut Oracle::start(oracle)?)?;
    writeln!(out, "seed {}: {}", scenario.seed, scenario.name())?;
    show_plan("ours", &trial.ours, out)?;
    for (index, run) in trial.theirs.iter().enumerate() {
        show_plan(&format!("Karpenter, run {}", index + 1), run, out)?;
    }
    show_verdict(&trial.comparison, out)
}

fn show_verdict(comparison: &Comparison, out: &mut impl Write) -> Result<()> {
    writeln!(out, "\nverdict: {}", comparison.verdict().name())?;
    for (difference, verdict) in &comparison.differences {
        writeln!(out, "  {}: {difference}", fixture::verdict_text(*verdict))?;
    }
    Ok(())
}

fn show_plan(whose: &str, side: &Checked, out: &mut impl Write) -> Result<()> {
    let plan = &side.plan;
    let (instances, price) = (plan.claims.len(), plan.price());
    writeln!(
        out,
        "\n{whose}: {} pods placed, {instances} instances, price {price:.4}",
        plan.placed()
    )?;
    for claim in &plan.claims {
        let kind = claim.instance_types.first().map_or("no type", String::as_str);
        writeln!(
            out,
            "  new {} {kind} {:.4}: {}",
            claim.node_pool,
            claim.price,
            claim.pods.join(" ")
        )?;
    }
    for node in &plan.existing {
        writeln!(out, "  existing {}: {}", node.name(), node.pods.join(" "))?;
    }
    for unplaced in plan.unschedulable.iter().chain(&plan.deferred) {
        writeln!(out, "  no place for {}: {}", unplaced.pod, unplaced.message)?;
    }
    for finding in &side.findings {
        writeln!(out, "  breaks {finding}")?;
    }
    Ok(())
}

/// Shrinks a scenario while its verdict stays what it is, for the same reasons, and writes what is
/// left as a fixture.
fn keep(scenario: &Scenario, comparison: &Comparison, oracle: &Path, folder: &Path) -> Result<()> {
    let mut oracle = Oracle::start(oracle)?;
    let (verdict, sorts) = (comparison.verdict(), comparison.decisive());
    let smallest = shrink(scenario, &mut |smaller| {
        trial::run(smaller, &mut oracle).is_ok_and(|trial| {
            trial.comparison.verdict() == verdict
                && trial.comparison.decisive().intersection(&sorts).next().is_some()
        })
    });
    let trial = trial::run(&smallest, &mut oracle)?;
    let differences = trial.comparison.differences.iter();
    let why: Vec<String> = differences.map(|(difference, _)| difference.to_string()).collect();
    let target = folder.join(format!("seed-{}", scenario.seed));
    fixture::write(&target, &smallest, &Expectation::of(&smallest, &trial, &why.join("; ")))
        .with_context(|| format!("seed {} could not be kept", scenario.seed))?;
    eprintln!("joiner-parity: seed {} shrunk to {}", scenario.seed, target.display());
    Ok(())
}
