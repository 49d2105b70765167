//! Fields of structs and keys of maps.

use std::sync::Arc;

use super::{At, Execution, Outcome};
use crate::{
    MissingKey,
    operand::Operand,
    quote,
    tree::{Term, TermKind},
    value::{Pointer, Type, Value},
};

impl<'t> Execution<'t> {
    /// The value of a field, of a chain of fields, or of a variable. They take no arguments.
    pub(super) fn reference(
        &mut self,
        dot: &Operand,
        term: &'t Term,
        arguments: usize,
    ) -> Outcome<Operand> {
        self.at = Some(At::Term(term));
        match &term.kind {
            TermKind::Field(names) => self.fields(dot.clone(), names, arguments),
            TermKind::Variable(names) => {
                let [name, fields @ ..] = names.as_slice() else { return Ok(Operand::Missing) };
                let value = self.variable(name)?;
                if fields.is_empty() {
                    self.refuse_arguments(term, arguments)?;
                }
                self.fields(value, fields, arguments)
            }
            TermKind::Chain(inner, names) => {
                if let TermKind::Nil = inner.kind {
                    return Err(self.error(format!("indirection through explicit nil in {term}")));
                }
                let value = self.nested(|execution| execution.argument(dot, None, inner))?;
                self.fields(value, names, arguments)
            }
            _ => Ok(Operand::Missing),
        }
    }

    fn fields(
        &mut self,
        receiver: Operand,
        names: &[Arc<str>],
        arguments: usize,
    ) -> Outcome<Operand> {
        let mut value = receiver;
        for (index, name) in names.iter().enumerate() {
            let is_last = index + 1 == names.len();
            value = self.field(&value, name, if is_last { arguments } else { 0 })?;
        }
        Ok(value)
    }

    fn field(&mut self, receiver: &Operand, name: &str, arguments: usize) -> Outcome<Operand> {
        let quoted = || quote::shown(name.as_bytes());
        let of = receiver.type_of();
        let value = match receiver {
            Operand::Missing if self.options.missing_key == MissingKey::Error => {
                return Err(self.error(format!("nil data; no entry for key {}", quoted())));
            }
            Operand::Missing => return Ok(Operand::Missing),
            Operand::Boxed(Value::Nil) => {
                return Err(self.error(format!("nil pointer evaluating {of}.{name}")));
            }
            Operand::Boxed(value) | Operand::Plain(value) => value.behind_pointers(),
        };
        match value {
            Value::Struct(value) => {
                if let Some((field, found)) = value.get(name.as_bytes()) {
                    if arguments > 0 {
                        return Err(self.error(format!(
                            "{name} has arguments but cannot be invoked as function"
                        )));
                    }
                    return Ok(Operand::from_place(&field.of, found.clone()));
                }
            }
            Value::Map(map) => {
                if arguments > 0 {
                    return Err(self.error(format!("{name} is not a method but has arguments")));
                }
                if let Some(found) = map.get(name.as_bytes()) {
                    return Ok(Operand::from_place(&map.of, found.clone()));
                }
                return match self.options.missing_key {
                    MissingKey::NoValue => Ok(Operand::Missing),
                    MissingKey::Zero => Ok(Operand::from_place(&map.of, map.of.zero())),
                    MissingKey::Error => {
                        Err(self.error(format!("map has no entry for key {}", quoted())))
                    }
                };
            }
            Value::Pointer(Pointer { to, .. }) if !is_struct_without(to, name) => {
                return Err(self.error(format!("nil pointer evaluating {of}.{name}")));
            }
            _ => {}
        }
        Err(self.error(format!("can't evaluate field {name} in type {of}")))
    }
}

fn is_struct_without(of: &Type, name: &str) -> bool {
    matches!(of, Type::Struct(of) if of.fields().iter().all(|field| field.name != name))
}
