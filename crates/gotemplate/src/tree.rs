//! Parsed templates. `Display` is what Go's messages show of a part of one.

use std::{fmt, sync::Arc};

use crate::quote;

/// A sequence of texts and actions.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    pub(crate) nodes: Vec<Node>,
}

#[derive(Debug)]
pub(crate) enum Node {
    Text(Vec<u8>),
    Action(Pipe),
    If(Branch),
    With(Branch),
    Range(Branch),
    Template(Call),
    Break,
    Continue,
}

impl Sequence {
    /// Whether nothing but white space is in it: such a definition gives way to another.
    pub(crate) fn is_blank(&self) -> bool {
        self.nodes.iter().all(|node| match node {
            Node::Text(text) => String::from_utf8_lossy(text).trim().is_empty(),
            _ => false,
        })
    }
}

/// `if`, `with` and `range`.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) pipe: Pipe,
    pub(crate) then: Sequence,
    pub(crate) otherwise: Option<Sequence>,
}

/// `template` and `block`.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) position: usize,
    pub(crate) name: Vec<u8>,
    pub(crate) pipe: Option<Pipe>,
}

impl fmt::Display for Call {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{{{{template {}", quote::shown(&self.name))?;
        if let Some(pipe) = &self.pipe {
            write!(formatter, " {pipe}")?;
        }
        formatter.write_str("}}")
    }
}

/// Commands, each of which gets the value of the one before as its last argument.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) position: usize,
    /// The variables are given new values instead of being declared.
    pub(crate) assigns: bool,
    pub(crate) variables: Vec<Arc<str>>,
    pub(crate) commands: Vec<Command>,
}

impl fmt::Display for Pipe {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.variables.is_empty() {
            let sign = if self.assigns { "=" } else { ":=" };
            write!(formatter, "{} {sign} ", self.variables.join(", "))?;
        }
        for (index, command) in self.commands.iter().enumerate() {
            write!(formatter, "{}{command}", if index > 0 { " | " } else { "" })?;
        }
        Ok(())
    }
}

/// A term with its arguments; there is at least one.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) position: usize,
    pub(crate) terms: Vec<Term>,
}

impl fmt::Display for Command {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            formatter.write_str(if index > 0 { " " } else { "" })?;
            term.write_in_parentheses(formatter)?;
        }
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct Term {
    pub(crate) position: usize,
    pub(crate) kind: TermKind,
}

#[derive(Debug)]
pub(crate) enum TermKind {
    Dot,
    Nil,
    Bool(bool),
    Number(Number),
    Text {
        source: Vec<u8>,
        text: Vec<u8>,
    },
    /// Names of fields.
    Field(Vec<Arc<str>>),
    /// The name of a variable, and of fields of it.
    Variable(Vec<Arc<str>>),
    Identifier(Arc<str>),
    Pipe(Box<Pipe>),
    /// Fields of what a term is.
    Chain(Box<Term>, Vec<Arc<str>>),
}

impl Term {
    fn write_in_parentheses(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            TermKind::Pipe(pipe) => write!(formatter, "({pipe})"),
            _ => write!(formatter, "{self}"),
        }
    }

    /// Whether this says what it is without being evaluated.
    pub(crate) fn is_constant(&self) -> bool {
        use TermKind::{Bool, Dot, Nil, Number, Text};
        matches!(self.kind, Bool(_) | Dot | Nil | Number(_) | Text { .. })
    }
}

impl fmt::Display for Term {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            TermKind::Dot => formatter.write_str("."),
            TermKind::Nil => formatter.write_str("nil"),
            TermKind::Bool(value) => write!(formatter, "{value}"),
            TermKind::Number(number) => formatter.write_str(&number.source),
            TermKind::Text { source, .. } => formatter.write_str(&String::from_utf8_lossy(source)),
            TermKind::Field(names) => {
                names.iter().try_for_each(|name| write!(formatter, ".{name}"))
            }
            TermKind::Variable(names) => formatter.write_str(&names.join(".")),
            TermKind::Identifier(name) => formatter.write_str(name),
            TermKind::Pipe(pipe) => write!(formatter, "{pipe}"),
            TermKind::Chain(term, names) => {
                term.write_in_parentheses(formatter)?;
                names.iter().try_for_each(|name| write!(formatter, ".{name}"))
            }
        }
    }
}

/// A number constant: what it is depends on what is asked for.
#[derive(Debug, Default)]
pub(crate) struct Number {
    pub(crate) source: String,
    pub(crate) int: Option<i64>,
    pub(crate) uint: Option<u64>,
    pub(crate) float: Option<f64>,
}
