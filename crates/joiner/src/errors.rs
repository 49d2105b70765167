//! How a command ends: exit codes, and what is said when it ends badly.

use std::{io, process::ExitCode};

pub(crate) use joiner_operator::text::chain;

/// How a command that did its work ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Success,
    /// Done, and something would change (only with `--detailed-exitcode`).
    WouldChange,
    /// Done, and pods have no place (only with `--fail-on unschedulable`).
    Unschedulable,
    /// The checker refuses the plan: a bug of ours, and never a plan to act on.
    Refused,
    /// Done, and what was looked at is not as it must be.
    Violated,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Success => 0,
            Exit::WouldChange => 3,
            Exit::Unschedulable => 4,
            Exit::Refused => EXIT_BUG,
            Exit::Violated => EXIT_VIOLATED,
        })
    }
}

/// sysexits.h's "internal software error".
const EXIT_BUG: u8 = 70;
/// Bad input or a bad command line; clap uses the same number.
const EXIT_BAD_INPUT: u8 = 2;
/// Rules were broken in what was looked at.
const EXIT_VIOLATED: u8 = 1;
/// The work was right but its result could not be written.
const EXIT_OUTPUT: u8 = 1;
/// The running command failed and should be restarted.
const EXIT_ENDED: u8 = 1;

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What the user gave cannot be used. Each problem is one message.
    BadInput(Vec<String>),
    /// The result could not be written.
    Output(io::Error),
    /// What ran could not go on.
    Ended(String),
}

impl Failure {
    /// One problem with what the user gave.
    pub(crate) fn bad_input(problem: impl Into<String>) -> Self {
        Self::BadInput(vec![problem.into()])
    }

    /// Tells the user, and how the process ends.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::BadInput(problems) => {
                for problem in &problems {
                    eprintln!("joiner: {problem}");
                }
                ExitCode::from(EXIT_BAD_INPUT)
            }
            // The reader has seen enough, as `joiner plan | head` has.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Self::Output(error) => {
                eprintln!("joiner: the output could not be written: {error}");
                ExitCode::from(EXIT_OUTPUT)
            }
            Self::Ended(why) => {
                eprintln!("joiner: {why}");
                ExitCode::from(EXIT_ENDED)
            }
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
