//! What goes wrong with a CloudStack, besides what goes wrong with any simulated cloud.
//!
//! ```text
//! # what                                 with which command         how often
//! fail 530                               on listVirtualMachines     2 times
//! fail 533 "No room"                     on deployVirtualMachine of "web-1"
//! job fails 533                          on deployVirtualMachine    always
//! job fails 534 "Unable to start" after 30s  on deployVirtualMachine
//! job lasts 10m                          on destroyVirtualMachine
//! job never ends                         on deployVirtualMachine
//! job cancelled                          on deployVirtualMachine
//! job interrupted                        on deployVirtualMachine    once
//! no job                                 on deployVirtualMachine    once
//! ```
//!
//! `interrupted` is what a restart of the server does to a job: it fails without a result. `no job`
//! is a server that dies between the VM and its job: the VM is there, and the answer is lost.

use std::time::Duration;

use joiner_sim::{
    script::duration,
    trouble::{self, CloudTrouble},
};

/// What goes wrong with a call.
pub(crate) type Effect = trouble::Effect<CloudStackTrouble>;

/// What goes wrong with a call that has reached the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CloudStackTrouble {
    /// The call is refused.
    Fail { code: u16, text: String },
    /// The call begins a job, and that goes wrong.
    Job(JobTrouble),
    /// The call makes its object and no job.
    NoJob,
}

/// What goes wrong with a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JobTrouble {
    Fails { code: u16, text: String, after: Option<Duration> },
    Lasts(Duration),
    NeverEnds,
    Cancelled,
    Interrupted,
}

impl CloudTrouble for CloudStackTrouble {
    const WORDS: &'static str = "`fail CODE \"TEXT\"`, `job fails CODE \"TEXT\" after TIME`, `job \
                                 lasts TIME`, `job never ends`, `job cancelled`, `job interrupted`, \
                                 `no job`";

    const POSSIBLE: &'static str = "jobs are begun by commands that do not begin with `list`, \
                                    `get`, `query` or `update`";

    fn read<'a, 'w>(words: &'a [&'w str]) -> Result<Option<(Self, &'a [&'w str])>, String> {
        Ok(Some(match words {
            ["fail", code, rest @ ..] => {
                let (code, text, rest) = failure(code, rest)?;
                (Self::Fail { code, text }, rest)
            }
            ["job", "fails", code, rest @ ..] => {
                let (code, text, rest) = failure(code, rest)?;
                let (after, rest) = match rest {
                    ["after", time, rest @ ..] if !matches!(rest, ["calls", ..]) => {
                        (Some(duration(time)?), rest)
                    }
                    rest => (None, rest),
                };
                (Self::Job(JobTrouble::Fails { code, text, after }), rest)
            }
            ["job", "lasts", time, rest @ ..] => {
                (Self::Job(JobTrouble::Lasts(duration(time)?)), rest)
            }
            ["job", "never", "ends", rest @ ..] => (Self::Job(JobTrouble::NeverEnds), rest),
            ["job", "cancelled", rest @ ..] => (Self::Job(JobTrouble::Cancelled), rest),
            ["job", "interrupted", rest @ ..] => (Self::Job(JobTrouble::Interrupted), rest),
            ["no", "job", rest @ ..] => (Self::NoJob, rest),
            _ => return Ok(None),
        }))
    }

    fn can_happen_to(&self, call: &str) -> bool {
        let reads = ["list", "get", "query", "update"];
        match self {
            Self::Fail { .. } => true,
            Self::Job(_) | Self::NoJob => !reads.iter().any(|verb| call.starts_with(verb)),
        }
    }
}

/// A code, and a text in quotes that may be left out.
fn failure<'a, 'w>(
    code: &str,
    words: &'a [&'w str],
) -> Result<(u16, String, &'a [&'w str]), String> {
    let known = code.parse().ok().filter(|code| (400..=599).contains(code));
    let code = known.ok_or_else(|| format!("{code:?} is no code from 400 to 599"))?;
    let (text, rest) = match words {
        [first, ..] if first.starts_with('"') => {
            let ends = |word: &&str| word.len() > 1 && word.ends_with('"');
            let last = words.iter().position(ends);
            let last = last.ok_or_else(|| format!("the text {first} … has no second quote"))?;
            let (text, rest) = words.split_at(last + 1);
            (text.join(" ").trim_matches('"').to_owned(), rest)
        }
        rest => (format!("The fault script says {code}."), rest),
    };
    Ok((code, text, rest))
}

#[cfg(test)]
mod tests {
    use joiner_sim::trouble::parse;

    use super::*;

    #[test]
    fn the_lines_of_the_documentation_are_understood() {
        let example = include_str!("trouble.rs");
        let lines = example.lines().skip_while(|line| !line.ends_with("```text")).skip(1);
        let lines = lines.take_while(|line| !line.ends_with("```"));
        let script: Vec<&str> = lines.map(|line| line.trim_start_matches("//!")).collect();
        let rules = parse::<CloudStackTrouble>(&script.join("\n")).unwrap();
        assert_eq!(rules.len(), 9);
        assert_eq!(rules[1].object, "web-1");
        let text = "Unable to start".to_owned();
        let after = Some(Duration::from_secs(30));
        let fails = CloudStackTrouble::Job(JobTrouble::Fails { code: 534, text, after });
        assert_eq!(rules[3].effect, Effect::Cloud(fails));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for script in ["job cancelled on listZones", "fail 200", "fail 530 \"no end", "job falls"] {
            assert!(parse::<CloudStackTrouble>(script).is_err(), "{script}");
        }
    }
}
