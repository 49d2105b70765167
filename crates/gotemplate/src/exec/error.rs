//! Why an execution ended, and where.

use std::fmt;

use super::{At, Execution};
use crate::{budget::LimitReached, quote};

/// How much of an action a message shows.
const CONTEXT_MAX: usize = 300;

/// Why an execution ended, in Go's words.
///
/// The message names no values: they may be secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionError {
    /// The name of the template.
    pub name: String,
    /// The line, from 1.
    pub line: usize,
    /// The byte of the line, from 0.
    pub column: usize,
    /// The name of the definition that was at work.
    pub definition: String,
    /// The part of the action that was at work.
    pub context: String,
    /// What is wrong.
    pub problem: String,
    /// The bound that was reached, if that is why.
    pub limit: Option<LimitReached>,
}

impl fmt::Display for ExecutionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, line, column, definition, context, problem, .. } = self;
        let definition = quote::shown(definition.as_bytes());
        write!(
            formatter,
            "template: {name}:{line}:{column}: executing {definition} at <{context}>: {problem}"
        )
    }
}

impl std::error::Error for ExecutionError {}

impl At<'_> {
    fn position(&self) -> usize {
        match self {
            Self::Action(pipe) | Self::Pipe(pipe) => pipe.position,
            Self::Command(command) => command.position,
            Self::Term(term) => term.position,
            Self::Call(call) => call.position,
        }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Action(pipe) => write!(formatter, "{{{{{pipe}}}}}"),
            Self::Pipe(pipe) => write!(formatter, "{pipe}"),
            Self::Command(command) => write!(formatter, "{command}"),
            Self::Term(term) => write!(formatter, "{term}"),
            Self::Call(call) => write!(formatter, "{call}"),
        }
    }
}

impl Execution<'_> {
    pub(super) fn error(&self, problem: String) -> ExecutionError {
        let position = self.at.map_or(0, |at| at.position());
        let before = &self.template.source[..position];
        let line = before.split(|byte| *byte == b'\n').count();
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count();
        let context = self.at.map(|at| at.to_string()).unwrap_or_default();
        ExecutionError {
            name: self.template.name.clone(),
            line,
            column,
            definition: String::from_utf8_lossy(self.definition).into_owned(),
            context: shortened(context),
            problem,
            limit: None,
        }
    }

    pub(super) fn limit(&self, limit: LimitReached) -> ExecutionError {
        ExecutionError { limit: Some(limit), ..self.error(limit.to_string()) }
    }
}

fn shortened(context: String) -> String {
    match context.char_indices().nth(CONTEXT_MAX) {
        Some((end, _)) => format!("{}...", &context[..end]),
        None => context,
    }
}
