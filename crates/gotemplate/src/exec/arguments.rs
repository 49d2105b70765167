//! Arguments of functions: terms that have to be of a type.

use super::{At, Execution, Outcome};
use crate::{
    operand::Operand,
    tree::{Number, Term, TermKind},
    value::{Type, Value},
};

impl<'t> Execution<'t> {
    /// The value of a term where a value of a type is asked for; no type takes all there is.
    pub(super) fn argument(
        &mut self,
        dot: &Operand,
        of: Option<&Type>,
        term: &'t Term,
    ) -> Outcome<Operand> {
        self.step()?;
        self.at = Some(At::Term(term));
        let value = match &term.kind {
            TermKind::Dot => dot.clone(),
            TermKind::Nil => {
                return match of {
                    None => Ok(Operand::Missing),
                    Some(of) if of.can_be_nil() => Ok(Operand::from_place(of, of.zero())),
                    Some(of) => Err(self.error(format!("cannot assign nil to {of}"))),
                };
            }
            TermKind::Field(_) | TermKind::Variable(_) | TermKind::Chain(..) => {
                self.reference(dot, term, 0)?
            }
            TermKind::Pipe(pipe) => self.nested(|execution| {
                execution.at = Some(At::Pipe(pipe));
                execution.pipe(dot, pipe)
            })?,
            TermKind::Identifier(name) => self.call(dot, name, At::Term(term), &[], None)?,
            TermKind::Bool(_) | TermKind::Number(_) | TermKind::Text { .. } => {
                return self.constant(of, term);
            }
        };
        match of {
            Some(of) => self.fitting(value, of),
            None => Ok(value),
        }
    }

    /// A constant as a value of a type.
    fn constant(&mut self, of: Option<&Type>, term: &'t Term) -> Outcome<Operand> {
        let value = match (of, &term.kind) {
            (None | Some(Type::Any), TermKind::Number(number)) => return self.number(number),
            (None | Some(Type::Any | Type::Bool), TermKind::Bool(value)) => Value::Bool(*value),
            (None | Some(Type::Any | Type::Text), TermKind::Text { text, .. }) => {
                Value::text(text.clone())
            }
            (Some(Type::Int(kind)), TermKind::Number(Number { int: Some(value), .. })) => {
                Value::Int(*kind, kind.wrap(*value))
            }
            (Some(Type::Uint(kind)), TermKind::Number(Number { uint: Some(value), .. })) => {
                Value::Uint(*kind, kind.wrap(*value))
            }
            (Some(Type::Float), TermKind::Number(Number { float: Some(value), .. })) => {
                Value::Float(*value)
            }
            (Some(of), _) => {
                let expected = match of {
                    Type::Bool => "bool",
                    Type::Int(_) => "integer",
                    Type::Uint(_) => "unsigned integer",
                    Type::Float => "float",
                    Type::Text => "string",
                    _ => {
                        return Err(self.error(format!("can't handle {term} for arg of type {of}")));
                    }
                };
                return Err(self.error(format!("expected {expected}; found {term}")));
            }
            (None, _) => return Ok(Operand::Missing),
        };
        Ok(Operand::Plain(value))
    }

    /// A number where nothing says of which kind it has to be: its writing decides.
    pub(super) fn number(&mut self, number: &Number) -> Outcome<Operand> {
        let source = number.source.as_str();
        let is_hexadecimal = source.len() > 2
            && (source.starts_with("0x") || source.starts_with("0X"))
            && !source.contains(['p', 'P']);
        let is_fraction = !is_hexadecimal
            && !source.starts_with('\'')
            && source.contains(['.', 'e', 'E', 'p', 'P']);
        if let (true, Some(float)) = (is_fraction, number.float) {
            return Ok(Operand::Plain(Value::Float(float)));
        }
        match number.int {
            Some(int) => Ok(Operand::Plain(Value::int(int))),
            None => Err(self.error(format!("{source} overflows int"))),
        }
    }

    /// Makes sure that a value can be given where a type is asked for.
    pub(super) fn fitting(&mut self, value: Operand, of: &Type) -> Outcome<Operand> {
        let given = match &value {
            Operand::Missing if of.can_be_nil() => return Ok(Operand::from_place(of, of.zero())),
            Operand::Missing => return Err(self.error(format!("invalid value; expected {of}"))),
            _ if *of == Type::Any => return Ok(value),
            Operand::Boxed(Value::Nil) => None,
            Operand::Boxed(inner) | Operand::Plain(inner) => Some(inner),
        };
        if let Some(inner) = given {
            if inner.type_of() == *of {
                return Ok(Operand::Plain(inner.clone()));
            }
            if let Value::Pointer(pointer) = inner
                && pointer.to == *of
            {
                return match &pointer.value {
                    Some(target) => Ok(Operand::Plain((**target).clone())),
                    None => Err(self.error(format!("dereference of nil pointer of type {of}"))),
                };
            }
        }
        let given = given.map_or(Type::Any, Value::type_of);
        Err(self.error(format!("wrong type for value; expected {of}; got {given}")))
    }
}
