//! `joiner bench`: how fast the planner is, and how good its plans are, on known workloads; and how
//! much the laboratory can take ([`lab`]); and what a controller comes to on a real cluster ([`e2e`])
//! or in virtual time ([`stories`]); and what vSphere's provider asks of a vCenter ([`vsphere`]).
//!
//! Every workload is written to files first ([`folder`]), and both planners read those: ours in a
//! process of its own ([`measure`]), Karpenter's through its oracle ([`karpenter`]). A speed is only
//! printed for plans that the checker accepts and that place every pod they should.

mod e2e;
mod folder;
mod karpenter;
mod lab;
mod measure;
mod objects;
mod random;
mod report;
mod scenarios;
mod stories;
mod vsphere;
mod workloads;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, builder::PossibleValuesParser};
use joiner_core::settings::PreferencePolicy;

use self::{
    folder::Folder,
    measure::Measurement,
    workloads::{ALL, LONG_LISTS, NEVER_FIT, Workload},
};
use crate::{
    errors::{Exit, Failure},
    output::{self, Format},
};

/// `joiner bench`.
#[derive(Debug, Args)]
#[command(after_help = workload_help(), args_conflicts_with_subcommands = true)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    suite: Option<Suite>,
    /// Which workloads to run; all without
    #[arg(value_name = "WORKLOAD", value_parser = workload_names())]
    workloads: Vec<String>,
    /// How many pods, instead of each workload's own sizes
    #[arg(long, value_name = "N", num_args = 1.., value_parser = clap::value_parser!(u32).range(1..))]
    pods: Vec<u32>,
    /// How many seeds to take the mean of; fewer by default the larger the workload
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seeds: Option<u32>,
    /// How often to plan each seed's workload
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Run Karpenter's scheduler on the same files and compare
    #[arg(long)]
    against_karpenter: bool,
    /// The oracle program, which runs Karpenter's scheduler
    #[arg(long, value_name = "PATH", env = "JOINER_ORACLE", hide_env_values = true)]
    oracle: Option<PathBuf>,
    /// Write the workloads' files below this folder and stop
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
    /// How to print the results
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
    /// Measure the files in this folder, in this very process
    #[arg(long, value_name = "DIR", hide = true)]
    measure: Option<PathBuf>,
    /// Look past preferences while measuring
    #[arg(long, hide = true, requires = "measure")]
    ignore_preferences: bool,
}

/// What else than the planner can be measured.
#[derive(Debug, Subcommand)]
enum Suite {
    /// Measure the laboratory: a full one, writes under watch, a day in virtual time
    Lab(lab::LabArgs),
    /// Measure the controller's process on a real control plane whose nodes KWOK plays
    E2e(e2e::E2eArgs),
    /// Play the same scenarios in virtual time on the laboratory, and show what they come to
    Stories(stories::StoriesArgs),
    /// Measure vSphere's provider: many claims at once, calls per instance, lists of thousands
    Vsphere(vsphere::VsphereArgs),
}

fn workload_names() -> PossibleValuesParser {
    PossibleValuesParser::new(ALL.iter().map(|workload| workload.name))
}

fn workload_help() -> String {
    let widest = ALL.iter().map(|workload| workload.name.len()).max().unwrap_or(0);
    let lines = ALL.iter().map(|workload| {
        let sizes: Vec<String> = workload.sizes.iter().map(ToString::to_string).collect();
        format!("  {:widest$}  {} ({} pods)", workload.name, workload.about, sizes.join("/"))
    });
    format!("Workloads:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// Runs `joiner bench`.
pub(crate) fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    match &args.suite {
        Some(Suite::Lab(args)) => return lab::run(args),
        Some(Suite::E2e(args)) => return e2e::run(args),
        Some(Suite::Stories(args)) => return stories::run(args),
        Some(Suite::Vsphere(args)) => return vsphere::run(args),
        None => {}
    }
    if let Some(folder) = &args.measure {
        let preferences = if args.ignore_preferences {
            PreferencePolicy::Ignore
        } else {
            PreferencePolicy::Respect
        };
        return measure::run(folder, args.runs as usize, preferences);
    }
    let mut jobs = Vec::new();
    for workload in ALL {
        if args.workloads.is_empty() || args.workloads.iter().any(|name| name == workload.name) {
            let asked: Vec<usize> = args.pods.iter().map(|pods| *pods as usize).collect();
            let sizes = if asked.is_empty() { workload.sizes.to_vec() } else { asked };
            jobs.extend(sizes.into_iter().map(|pods| Job { workload, pods, args }));
        }
    }
    if let Some(parent) = &args.dump {
        return jobs.iter().try_for_each(|job| job.dump(parent)).map(|()| Exit::Success);
    }
    let oracle = args.against_karpenter.then(|| oracle_path(args)).transpose()?;
    let mut results = Vec::new();
    for job in &jobs {
        match job.run(oracle)? {
            Ok(result) => results.push(result),
            Err(problems) => {
                for problem in problems {
                    output::talk(&format!("joiner: {}: {problem}", job.name()));
                }
                return Ok(Exit::Refused);
            }
        }
    }
    match args.output {
        Format::Table | Format::Wide => output::text(&report::render(&results)),
        Format::Json => output::json(&results),
        Format::Yaml => output::yaml(&results),
    }
    .map(|()| Exit::Success)
}

fn oracle_path(args: &BenchArgs) -> Result<&Path, Failure> {
    args.oracle.as_deref().ok_or_else(|| {
        Failure::bad_input(
            "--against-karpenter needs the oracle program, which is built from the repository with \
             Go: name it with --oracle or JOINER_ORACLE, for instance --oracle \
             \"$(scripts/install-real-parts oracle)\"",
        )
    })
}

/// One workload in one size.
struct Job<'a> {
    workload: &'static Workload,
    pods: usize,
    args: &'a BenchArgs,
}

impl Job<'_> {
    fn name(&self) -> String {
        format!("{} with {} pods", self.workload.name, self.pods)
    }

    /// The seeds to use. Larger workloads vary less, and take longer.
    fn seeds(&self) -> std::ops::Range<u64> {
        let usual = match self.pods {
            0..=5_000 => 5,
            5_001..=20_000 => 3,
            _ => 1,
        };
        1..1 + self.args.seeds.map_or(self.workload.seeds_max.min(usual), u64::from)
    }

    fn dump(&self, parent: &Path) -> Result<(), Failure> {
        let seeds = 1..1 + u64::from(self.args.seeds.unwrap_or(1));
        for seed in seeds {
            let folder = Folder::write(parent, self.workload, self.pods, seed)
                .map_err(|error| unwritten(parent, &error))?;
            output::talk(&format!(
                "joiner plan -f {} --instance-types {} --reserved-fallback{}",
                folder.snapshot().display(),
                folder.instance_types().display(),
                match self.workload.preferences {
                    PreferencePolicy::Respect => "",
                    PreferencePolicy::Ignore => " --preference-policy Ignore",
                }
            ));
        }
        Ok(())
    }

    /// Measures over all seeds. What is wrong with a plan comes back as problems.
    fn run(&self, oracle: Option<&Path>) -> Result<Result<report::Result, Vec<String>>, Failure> {
        let runs = self.args.runs as usize;
        let mut measurements = Vec::new();
        let mut answers = Vec::new();
        let mut overheads = Vec::new();
        let mut expected_claims = Vec::new();
        for seed in self.seeds() {
            output::progress(&format!("{}, seed {seed}", self.name()));
            let folder = Folder::temporary(self.workload, self.pods, seed)
                .map_err(|error| unwritten(&std::env::temp_dir(), &error))?;
            let measured = measure::in_child(&folder, runs, self.workload.preferences)?;
            let problems = self.problems(&measured);
            if !problems.is_empty() {
                return Ok(Err(problems));
            }
            if self.workload.name == NEVER_FIT {
                overheads.push(self.never_fit_overhead(&measured, seed)?);
            }
            if let Some(oracle) = oracle {
                answers.push(karpenter::ask(oracle, &folder, runs, self.workload.preferences)?);
            }
            expected_claims.extend((self.workload.claims)(self.pods, seed));
            measurements.push(measured);
        }
        let mut result = report::Result::new(self.workload.name, &measurements, &answers);
        result.expect_claims(&expected_claims);
        if self.workload.name == LONG_LISTS {
            result.tell_pass(&measurements, workloads::long_pods(self.pods));
        }
        overheads.sort_by(f64::total_cmp);
        result.never_fit_overhead =
            (!overheads.is_empty()).then(|| report::quantile(&overheads, 0.5));
        Ok(Ok(result))
    }

    /// Why a measurement must not be shown.
    fn problems(&self, measured: &Measurement) -> Vec<String> {
        let mut problems = measured.findings.clone();
        let never_fit = (self.workload.never_fit)(self.pods);
        if measured.pods != self.pods {
            problems.push(format!("{} pods were read", measured.pods));
        }
        if measured.unplaced != never_fit {
            problems.push(format!(
                "{} pods have no place, {never_fit} were expected to have none",
                measured.unplaced
            ));
            problems.extend(measured.examples.iter().cloned());
        }
        problems
    }

    /// How much longer planning took than for the pods that can be placed alone.
    fn never_fit_overhead(&self, measured: &Measurement, seed: u64) -> Result<f64, Failure> {
        let placeable = self.pods - (self.workload.never_fit)(self.pods);
        let without = ALL.iter().find(|workload| workload.name == "diverse");
        let without = without.expect("the placeable pods are the diverse workload's");
        let folder = Folder::temporary(without, placeable, seed)
            .map_err(|error| unwritten(&std::env::temp_dir(), &error))?;
        let runs = self.args.runs as usize;
        let alone = measure::in_child(&folder, runs, without.preferences)?;
        // The fastest runs are compared, as they were disturbed least.
        let fastest =
            |measured: &Measurement| measured.seconds.iter().copied().fold(f64::INFINITY, f64::min);
        Ok(fastest(measured) / fastest(&alone).max(f64::MIN_POSITIVE) - 1.0)
    }
}

fn unwritten(folder: &Path, error: &std::io::Error) -> Failure {
    Failure::bad_input(format!("cannot write below {}: {error}", folder.display()))
}

#[cfg(test)]
mod tests;
