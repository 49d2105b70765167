//! What goes wrong with a Proxmox VE cluster, besides what goes wrong with any simulated cloud.
//!
//! ```text
//! # what                                   with which call    how often
//! fail 500 "got lock request timeout"      on config          2 times
//! fail 596                                 on clone of pve-2
//! task fails "clone failed: no space"      on clone           always
//! task breaks "unexpected status"          on clone
//! task warns 1                             on start
//! task lasts 10m                           on clone of 9000
//! task never ends                          on download
//! task lost                                on clone           after 2 calls once
//! ```
//!
//! A task that `fails` cleans up behind itself, one that `breaks` leaves everything as it is. The
//! server knows nothing of a task that is `lost`, but the task is done.

use std::time::Duration;

use joiner_sim::{
    script::{duration, number},
    trouble::{self, CloudTrouble},
};

/// What goes wrong with a call.
pub(crate) type Effect = trouble::Effect<ProxmoxTrouble>;

/// What goes wrong with a call that has reached the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProxmoxTrouble {
    Fail { status: u16, text: String },
    Task(TaskTrouble),
}

/// What goes wrong with a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TaskTrouble {
    Fails(String),
    Breaks(String),
    Warns(u32),
    Lasts(Duration),
    NeverEnds,
    Lost,
}

/// The calls that begin tasks.
const WITH_TASKS: [&str; 15] = [
    "create",
    "change",
    "changesync",
    "clone",
    "resize",
    "template",
    "start",
    "stop",
    "shutdown",
    "destroy",
    "unlink",
    "upload",
    "download",
    "contentdelete",
    "cloudinitrun",
];

impl CloudTrouble for ProxmoxTrouble {
    const WORDS: &'static str = "`fail STATUS \"TEXT\"`, `task fails \"TEXT\"`, `task breaks \
                                 \"TEXT\"`, `task warns N`, `task lasts TIME`, `task never ends`, \
                                 `task lost`";

    const POSSIBLE: &'static str = "tasks are begun by `create`, `change`, `changesync`, `clone`, \
                                    `resize`, `template`, `start`, `stop`, `shutdown`, `destroy`, \
                                    `unlink`, `upload`, `download`, `contentdelete`, \
                                    `cloudinitrun`";

    fn read<'a, 'w>(words: &'a [&'w str]) -> Result<Option<(Self, &'a [&'w str])>, String> {
        let (trouble, rest) = match words {
            ["fail", status, rest @ ..] => {
                let known = status.parse().ok().filter(|status| (400..=599).contains(status));
                let status =
                    known.ok_or_else(|| format!("{status:?} is no status from 400 to 599"))?;
                let (text, rest) = text(rest)?;
                return Ok(Some((Self::Fail { status, text }, rest)));
            }
            ["task", "fails", rest @ ..] => {
                let (text, rest) = text(rest)?;
                (TaskTrouble::Fails(text), rest)
            }
            ["task", "breaks", rest @ ..] => {
                let (text, rest) = text(rest)?;
                (TaskTrouble::Breaks(text), rest)
            }
            ["task", "warns", count, rest @ ..] => (TaskTrouble::Warns(number(count)?), rest),
            ["task", "lasts", time, rest @ ..] => (TaskTrouble::Lasts(duration(time)?), rest),
            ["task", "never", "ends", rest @ ..] => (TaskTrouble::NeverEnds, rest),
            ["task", "lost", rest @ ..] => (TaskTrouble::Lost, rest),
            _ => return Ok(None),
        };
        Ok(Some((Self::Task(trouble), rest)))
    }

    fn can_happen_to(&self, call: &str) -> bool {
        match self {
            Self::Fail { .. } => true,
            Self::Task(_) => WITH_TASKS.contains(&call),
        }
    }
}

/// A text in quotes, which may be left out.
fn text<'a, 'w>(words: &'a [&'w str]) -> Result<(String, &'a [&'w str]), String> {
    match words {
        [first, ..] if first.starts_with('"') => {
            let ends = |word: &&str| word.len() > 1 && word.ends_with('"');
            let last = words.iter().position(ends);
            let last = last.ok_or_else(|| format!("the text {first} … has no second quote"))?;
            let (text, rest) = words.split_at(last + 1);
            Ok((text.join(" ").trim_matches('"').to_owned(), rest))
        }
        rest => Ok(("the fault script says so".to_owned(), rest)),
    }
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
        let rules = parse::<ProxmoxTrouble>(&script.join("\n")).unwrap();
        assert_eq!((rules.len(), rules[1].object.as_str()), (8, "pve-2"));
        for wrong in ["task lost on config", "fail 200", "task fails \"no end", "task falls"] {
            assert!(parse::<ProxmoxTrouble>(wrong).is_err(), "{wrong}");
        }
    }
}
