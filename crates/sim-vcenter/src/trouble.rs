//! What goes wrong, from a script.

mod script;

use std::time::Duration;

pub use script::TroubleError;

use crate::fault::Fault;

/// What goes wrong with a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// The call fails.
    Fault(Fault),
    /// The call begins a task, and that goes wrong.
    Task(TaskTrouble),
    /// The connection breaks, before or after the call took effect.
    Lost { after: bool },
    /// No answer ever comes.
    Silence { after: bool },
    /// Something in front of the server answers.
    Http(u16),
    /// The answer takes its time.
    Slow(Duration),
    /// All sessions are over, also the one of the call.
    ExpireSessions,
    /// Properties are read as if each of them were forbidden.
    AllMissing,
}

impl Effect {
    /// Whether the trouble makes sense for a method, or for a verb and a path.
    fn can_happen_to(&self, method: &str) -> bool {
        match self {
            Self::Fault(_) => !method.contains('/'),
            Self::Task(_) => method.ends_with("_Task"),
            Self::AllMissing => method == "RetrievePropertiesEx",
            _ => true,
        }
    }
}

/// What goes wrong with a task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TaskTrouble {
    Fails {
        after: Duration,
        fault: Fault,
    },
    Lasts(Duration),
    NeverEnds,
    /// Its information cannot be made sense of.
    Garbage,
}

/// What goes wrong with which calls.
#[derive(Clone, Debug, PartialEq)]
struct Rule {
    effect: Effect,
    /// The method, or the beginning of a REST path; any call if empty.
    call: String,
    /// The name or the id of the object, or the name of the VM that a clone makes; any if empty.
    object: String,
    /// How many calls get through first.
    skip: u32,
    /// How many times it happens; none for always.
    times: Option<u32>,
}

/// A call that is about to be made.
#[derive(Clone, Debug)]
pub(crate) struct Sighted<'c> {
    /// The method, or verb and path.
    pub(crate) method: &'c str,
    /// Everything that the object could be called by.
    pub(crate) names: Vec<String>,
}

/// All that will go wrong.
#[derive(Debug, Default)]
pub(crate) struct Trouble {
    rules: Vec<Counted>,
}

#[derive(Debug)]
struct Counted {
    rule: Rule,
    seen: u32,
    happened: u32,
}

impl Trouble {
    pub(crate) fn add(&mut self, script: &str) -> Result<(), TroubleError> {
        let rules = script::parse(script)?;
        self.rules.extend(rules.into_iter().map(|rule| Counted { rule, seen: 0, happened: 0 }));
        Ok(())
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
    }

    /// How many times something went wrong.
    pub(crate) fn happened(&self) -> u32 {
        self.rules.iter().map(|counted| counted.happened).sum()
    }

    /// What goes wrong with a call: the first rule that fits.
    pub(crate) fn strike(&mut self, call: &Sighted<'_>) -> Option<Effect> {
        for counted in &mut self.rules {
            let rule = &counted.rule;
            let spent = rule.times.is_some_and(|times| counted.happened >= times);
            if spent || !rule.fits(call) {
                continue;
            }
            counted.seen += 1;
            if counted.seen > rule.skip {
                counted.happened += 1;
                return Some(rule.effect.clone());
            }
        }
        None
    }
}

impl Rule {
    fn fits(&self, call: &Sighted<'_>) -> bool {
        let path = call.method.split_once(' ').map(|(_, path)| path);
        let method = self.call.is_empty()
            || self.call == call.method
            || path.is_some_and(|path| path.starts_with(&self.call));
        method
            && self.effect.can_happen_to(call.method)
            && (self.object.is_empty() || call.names.contains(&self.object))
    }
}
