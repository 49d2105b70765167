//! What goes wrong with calls to a simulated cloud, from a script.

mod around;
mod line;

use std::{fmt::Debug, time::Duration};

pub use around::{Ending, around};

use crate::script::{self, Counter, Often, ScriptError};

/// What can go wrong with one kind of cloud, besides what can go wrong with any.
pub trait CloudTrouble: Clone + Debug + PartialEq {
    /// The words of it, for a line that is not understood.
    const WORDS: &'static str;

    /// To which calls it can happen, for a line that asks for something else.
    const POSSIBLE: &'static str;

    /// Reads the beginning of a line: the trouble and the words after it. None if the words are not
    /// of this cloud.
    fn read<'a, 'w>(words: &'a [&'w str]) -> Result<Option<(Self, &'a [&'w str])>, String>;

    /// Whether it can happen to a call.
    fn can_happen_to(&self, call: &str) -> bool;
}

/// What goes wrong with a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect<C> {
    /// The connection breaks.
    Lost {
        /// Whether the call takes effect.
        after: bool,
    },
    /// No answer ever comes.
    Silence {
        /// Whether the call takes effect.
        after: bool,
    },
    /// A proxy answers in place of the server, with this status.
    Http(u16),
    /// The answer ends in the middle.
    CutShort,
    /// The answer takes its time.
    Slow(Duration),
    /// Trouble of one kind of cloud.
    Cloud(C),
}

/// What goes wrong with which calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule<C> {
    /// What goes wrong.
    pub effect: Effect<C>,
    /// The method or the command, or the beginning of a path; any call if empty.
    pub call: String,
    /// The name or the id of the object; any if empty.
    pub object: String,
    /// How often.
    pub often: Often,
}

/// A call that is about to be made.
#[derive(Clone, Debug)]
pub struct Sighted<'c> {
    /// The method or the command, or verb and path.
    pub call: &'c str,
    /// Everything that the object could be called by.
    pub names: Vec<String>,
}

/// All that will go wrong.
#[derive(Debug)]
pub struct Trouble<C> {
    rules: Vec<(Rule<C>, Counter)>,
}

impl<C> Default for Trouble<C> {
    fn default() -> Self {
        Self { rules: Vec::new() }
    }
}

impl<C: CloudTrouble> Effect<C> {
    fn can_happen_to(&self, call: &str) -> bool {
        match self {
            Self::Cloud(trouble) => trouble.can_happen_to(call),
            _ => true,
        }
    }
}

impl<C: CloudTrouble> Trouble<C> {
    /// Adds what a script says.
    pub fn add(&mut self, script: &str) -> Result<(), ScriptError> {
        let rules = parse(script)?;
        self.rules.extend(rules.into_iter().map(|rule| (rule, Counter::default())));
        Ok(())
    }

    /// Nothing goes wrong any more.
    pub fn clear(&mut self) {
        self.rules.clear();
    }

    /// How many times something went wrong.
    pub fn happened(&self) -> u32 {
        self.rules.iter().map(|(_, counter)| counter.happened()).sum()
    }

    /// What goes wrong with a call: the first rule that fits.
    pub fn strike(&mut self, call: &Sighted<'_>) -> Option<Effect<C>> {
        for (rule, counter) in &mut self.rules {
            if counter.is_spent(rule.often) || !rule.fits(call) {
                continue;
            }
            if counter.strikes(rule.often) {
                return Some(rule.effect.clone());
            }
        }
        None
    }
}

impl<C: CloudTrouble> Rule<C> {
    fn fits(&self, call: &Sighted<'_>) -> bool {
        let path = call.call.split_once(' ').map(|(_, path)| path);
        let called = self.call.is_empty()
            || self.call == call.call
            || path.is_some_and(|path| path.starts_with(&self.call));
        called
            && self.effect.can_happen_to(call.call)
            && (self.object.is_empty() || call.names.contains(&self.object))
    }
}

/// Reads a script.
pub fn parse<C: CloudTrouble>(script: &str) -> Result<Vec<Rule<C>>, ScriptError> {
    script::read(script, line::rule)
}
