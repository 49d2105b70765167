//! Executes templates by walking their trees.

mod arguments;
mod call;
mod error;
mod field;
mod range;

pub(crate) use call::invoke;
pub use error::ExecutionError;

use std::sync::Arc;

use crate::{
    Options, Template,
    budget::{Budget, DEPTH_MAX},
    format,
    operand::Operand,
    tree::{Branch, Call, Command, Node, Pipe, Sequence, Term, TermKind},
    value::Value,
};

type Outcome<T> = Result<T, ExecutionError>;

/// How a node ended: loops look at it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

/// The part of the template that is at work, for messages.
#[derive(Clone, Copy)]
enum At<'t> {
    Action(&'t Pipe),
    Pipe(&'t Pipe),
    Command(&'t Command),
    Term(&'t Term),
    Call(&'t Call),
}

struct Execution<'t> {
    template: &'t Template,
    options: &'t Options,
    budget: Budget,
    output: Vec<u8>,
    /// Name and value of all variables that can be seen, the innermost last.
    variables: Vec<(Arc<str>, Operand)>,
    /// The name of the definition that is at work.
    definition: &'t [u8],
    at: Option<At<'t>>,
    depth: usize,
}

/// Executes a template on a value.
pub(crate) fn execute(template: &Template, data: &Value, options: &Options) -> Outcome<Vec<u8>> {
    let dot = Operand::of(data.clone());
    let mut execution = Execution {
        template,
        options,
        budget: Budget::new(&options.limits),
        output: Vec::new(),
        variables: vec![("$".into(), dot.clone())],
        definition: template.name.as_bytes(),
        at: None,
        depth: 0,
    };
    if let Some(root) = template.trees.get(template.name.as_bytes()) {
        execution.sequence(&dot, root)?;
    }
    Ok(execution.output)
}

impl<'t> Execution<'t> {
    /// Runs a part that may be nested in itself.
    fn nested<T>(&mut self, part: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        if self.depth == DEPTH_MAX {
            return Err(self.error(format!("exceeded maximum template depth ({DEPTH_MAX})")));
        }
        self.depth += 1;
        let result = part(self);
        self.depth -= 1;
        result
    }

    fn write(&mut self, text: &[u8]) -> Outcome<()> {
        let most = self.options.limits.output_bytes;
        if text.len() > most - self.output.len() {
            return Err(self.limit(crate::budget::LimitReached::Output(most)));
        }
        self.output.extend_from_slice(text);
        Ok(())
    }

    fn step(&mut self) -> Outcome<()> {
        self.budget.step().map_err(|limit| self.limit(limit))
    }

    fn sequence(&mut self, dot: &Operand, sequence: &'t Sequence) -> Outcome<Flow> {
        for node in &sequence.nodes {
            let flow = self.node(dot, node)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn node(&mut self, dot: &Operand, node: &'t Node) -> Outcome<Flow> {
        self.step()?;
        match node {
            Node::Text(text) => self.write(text)?,
            Node::Action(pipe) => self.action(dot, pipe)?,
            Node::If(branch) => {
                return self.nested(|execution| execution.condition(dot, branch, false));
            }
            Node::With(branch) => {
                return self.nested(|execution| execution.condition(dot, branch, true));
            }
            Node::Range(branch) => return self.nested(|execution| execution.range(dot, branch)),
            Node::Template(call) => {
                self.at = Some(At::Call(call));
                self.nested(|execution| execution.definition(dot, call))?;
            }
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    /// Variables that an action declares live on to the next `end`.
    fn action(&mut self, dot: &Operand, pipe: &'t Pipe) -> Outcome<()> {
        let value = self.pipe(dot, pipe)?;
        if pipe.variables.is_empty() {
            self.at = Some(At::Action(pipe));
            let text = match value.value().map(Value::behind_pointers) {
                None => b"<no value>".to_vec(),
                Some(Value::Text(text)) => text.bytes().to_vec(),
                Some(function @ Value::Function(_)) => {
                    let of = function.type_of();
                    return Err(self.error(format!("can't print {{{{{pipe}}}}} of type {of}")));
                }
                Some(value) => {
                    let text = format::print(&self.budget, std::slice::from_ref(value)).finish();
                    text.map_err(|limit| self.limit(limit))?
                }
            };
            self.write(&text)?;
        }
        Ok(())
    }

    fn condition(&mut self, dot: &Operand, branch: &'t Branch, is_with: bool) -> Outcome<Flow> {
        let known = self.variables.len();
        let value = self.pipe(dot, &branch.pipe)?;
        let flow = if value.is_true() {
            self.sequence(if is_with { &value } else { dot }, &branch.then)
        } else if let Some(otherwise) = &branch.otherwise {
            self.sequence(dot, otherwise)
        } else {
            Ok(Flow::Next)
        };
        self.variables.truncate(known);
        flow
    }

    /// Executes a definition, which sees no variables but its own.
    fn definition(&mut self, dot: &Operand, call: &'t Call) -> Outcome<()> {
        let Some(tree) = self.template.trees.get(&call.name) else {
            let name = crate::quote::shown(&call.name);
            return Err(self.error(format!("template {name} not defined")));
        };
        let dot = match &call.pipe {
            Some(pipe) => self.pipe(dot, pipe)?,
            None => Operand::Missing,
        };
        let variables = vec![("$".into(), dot.clone())];
        let outer_variables = std::mem::replace(&mut self.variables, variables);
        let outer_definition = std::mem::replace(&mut self.definition, &call.name);
        self.sequence(&dot, tree)?;
        self.variables = outer_variables;
        self.definition = outer_definition;
        Ok(())
    }

    /// The value of a pipeline. Variables that it declares are added.
    fn pipe(&mut self, dot: &Operand, pipe: &'t Pipe) -> Outcome<Operand> {
        self.at = Some(At::Pipe(pipe));
        let mut value = None;
        for command in &pipe.commands {
            value = Some(self.command(dot, command, value)?.unboxed());
        }
        let value = value.unwrap_or(Operand::Missing);
        for name in &pipe.variables {
            if pipe.assigns {
                self.assign(name, value.clone())?;
            } else {
                self.variables.push((name.clone(), value.clone()));
            }
        }
        Ok(value)
    }

    /// Gives the variable of that name that was declared last a new value.
    fn assign(&mut self, name: &str, value: Operand) -> Outcome<()> {
        let known = self.variables.iter_mut().rev().find(|(known, _)| **known == *name);
        // The parser takes an assignment for a declaration, as Go's does.
        let Some((_, known)) = known else { return Err(self.undefined(name)) };
        *known = value;
        Ok(())
    }

    fn variable(&self, name: &str) -> Outcome<Operand> {
        let known = self.variables.iter().rev().find(|(known, _)| **known == *name);
        known.map(|(_, value)| value.clone()).ok_or_else(|| self.undefined(name))
    }

    fn undefined(&self, name: &str) -> ExecutionError {
        self.error(format!("undefined variable: {name}"))
    }

    /// The value of a command; `last` is what the command before it made.
    fn command(
        &mut self,
        dot: &Operand,
        command: &'t Command,
        last: Option<Operand>,
    ) -> Outcome<Operand> {
        self.step()?;
        let [first, arguments @ ..] = command.terms.as_slice() else {
            return Ok(Operand::Missing);
        };
        match &first.kind {
            TermKind::Field(_) | TermKind::Chain(..) | TermKind::Variable(_) => {
                let given = arguments.len() + usize::from(last.is_some());
                return self.reference(dot, first, given);
            }
            TermKind::Identifier(name) => {
                self.at = Some(At::Term(first));
                return self.call(dot, name, At::Command(command), arguments, last);
            }
            TermKind::Pipe(pipe) => {
                self.refuse_arguments(first, arguments.len() + usize::from(last.is_some()))?;
                return self.nested(|execution| execution.pipe(dot, pipe));
            }
            _ => {}
        }
        self.at = Some(At::Term(first));
        self.refuse_arguments(first, arguments.len() + usize::from(last.is_some()))?;
        match &first.kind {
            TermKind::Dot => Ok(dot.clone()),
            TermKind::Nil => Err(self.error("nil is not a command".to_owned())),
            TermKind::Bool(value) => Ok(Operand::Plain(Value::Bool(*value))),
            TermKind::Number(number) => self.number(number),
            TermKind::Text { text, .. } => Ok(Operand::Plain(Value::text(text.clone()))),
            _ => Ok(Operand::Missing),
        }
    }

    fn refuse_arguments(&mut self, term: &Term, given: usize) -> Outcome<()> {
        if given == 0 {
            return Ok(());
        }
        Err(self.error(format!("can't give argument to non-function {term}")))
    }
}
