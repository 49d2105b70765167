//! `joiner`: instances for Kubernetes on private clouds.
//!
//! The program is a match from command to function. Data goes to stdout, talk to stderr; what each
//! exit code means is in `errors`.

mod bench;
mod build;
mod catalog;
mod cli;
mod clouds;
mod connection;
mod crds;
mod demo;
mod doctor;
mod dump;
mod errors;
mod explain;
pub mod house;
mod input;
mod lab;
mod output;
mod plan;
mod run;
mod settings;
mod table;
mod text;
mod vcenter;
mod workload;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::{
    cli::{Cli, Command, Lab},
    errors::{Exit, Failure},
};

/// Runs the program as its command line says.
pub fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report(),
    }
}

fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Explain(what) => explain::run(&what),
        Command::Doctor(what) => doctor::run(&what),
        Command::Crds => output::bytes(crds::text().as_bytes()).map(|()| Exit::Success),
        Command::Bench(args) => bench::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Lab(Lab::Serve(args)) => lab::serve(&args),
        Command::Lab(Lab::Replay(args)) => lab::replay(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "joiner", &mut script);
            output::bytes(&script).map(|()| Exit::Success)
        }
    }
}
