//! Go's own functions.

mod compare;
mod escape;
mod index;

use crate::{
    budget::Budget,
    exec, format,
    function::CallError,
    operand::Operand,
    value::{Type, Value},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    And,
    Call,
    Eq,
    Ge,
    Gt,
    Html,
    Index,
    Js,
    Le,
    Len,
    Lt,
    Ne,
    Not,
    Or,
    Print,
    Printf,
    Println,
    Slice,
    UrlQuery,
}

pub(crate) const ALL: [(&str, Builtin); 19] = [
    ("and", Builtin::And),
    ("call", Builtin::Call),
    ("eq", Builtin::Eq),
    ("ge", Builtin::Ge),
    ("gt", Builtin::Gt),
    ("html", Builtin::Html),
    ("index", Builtin::Index),
    ("js", Builtin::Js),
    ("le", Builtin::Le),
    ("len", Builtin::Len),
    ("lt", Builtin::Lt),
    ("ne", Builtin::Ne),
    ("not", Builtin::Not),
    ("or", Builtin::Or),
    ("print", Builtin::Print),
    ("printf", Builtin::Printf),
    ("println", Builtin::Println),
    ("slice", Builtin::Slice),
    ("urlquery", Builtin::UrlQuery),
];

/// What a function of Go's is called with.
pub(crate) struct Arguments {
    pub(crate) operands: Vec<Operand>,
    /// How the first argument is written in the template.
    pub(crate) callee: Option<String>,
}

impl Builtin {
    /// How many arguments there have to be, and whether more may follow.
    pub(crate) fn arity(self) -> (usize, bool) {
        match self {
            Self::Html | Self::Js | Self::UrlQuery | Self::Print | Self::Println => (0, true),
            Self::And
            | Self::Or
            | Self::Call
            | Self::Eq
            | Self::Index
            | Self::Slice
            | Self::Printf => (1, true),
            Self::Len | Self::Not => (1, false),
            Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge => (2, false),
        }
    }

    /// The type of the argument of a place; nothing where the function looks at what there is.
    pub(crate) fn parameter(self, index: usize) -> Option<Type> {
        match self {
            Self::Printf if index == 0 => Some(Type::Text),
            Self::Printf | Self::Print | Self::Println | Self::Html | Self::Js | Self::UrlQuery => {
                Some(Type::Any)
            }
            _ => None,
        }
    }

    pub(crate) fn call(
        self,
        budget: &mut Budget,
        arguments: Arguments,
    ) -> Result<Operand, CallError> {
        let operands = arguments.operands;
        let value = match self {
            // They are evaluated as they stand, by the execution.
            Self::And | Self::Or => return Ok(Operand::Missing),
            Self::Call => return call(budget, operands, arguments.callee),
            Self::Index => return index::index(&operands),
            Self::Slice => index::slice(&operands)?,
            Self::Len => index::len(&operands)?,
            Self::Not => Value::Bool(!operands.first().is_some_and(Operand::is_true)),
            Self::Eq => Value::Bool(compare::equal(&operands)?),
            Self::Ne => Value::Bool(!compare::equal(&operands)?),
            Self::Lt => Value::Bool(compare::less(&operands)?),
            Self::Le => Value::Bool(compare::less_or_equal(&operands)?),
            Self::Gt => Value::Bool(!compare::less_or_equal(&operands)?),
            Self::Ge => Value::Bool(!compare::less(&operands)?),
            Self::Print => Value::text(format::print(budget, &values(operands)).finish()?),
            Self::Println => Value::text(format::println(budget, &values(operands)).finish()?),
            Self::Printf => {
                let values = values(operands);
                let Some((Value::Text(format), rest)) = values.split_first() else {
                    return Err("the format is not a string".into());
                };
                Value::text(format::printf(budget, format.bytes(), rest).finish()?)
            }
            Self::Html => Value::text(escape::html(budget, &values(operands))?),
            Self::Js => Value::text(escape::js(budget, &values(operands))?),
            Self::UrlQuery => Value::text(escape::url_query(budget, &values(operands))?),
        };
        budget.take_bytes(value.size())?;
        Ok(Operand::of(value))
    }
}

fn values(operands: Vec<Operand>) -> Vec<Value> {
    operands.into_iter().map(Operand::into_value).collect()
}

/// Calls a function that is a value.
fn call(
    budget: &mut Budget,
    operands: Vec<Operand>,
    callee: Option<String>,
) -> Result<Operand, CallError> {
    let mut operands = operands.into_iter();
    let function = operands.next().unwrap_or(Operand::Missing).unboxed();
    let Some(value) = function.value() else { return Err("call of nil".into()) };
    let of = value.type_of();
    let name = callee.unwrap_or_else(|| format!("<{of} Value>"));
    let Value::Function(function) = value else {
        return Err(format!("non-function {name} of type {of}").into());
    };
    let (given, fixed) = (operands.len(), function.parameters.len());
    if function.rest.is_some() && given < fixed {
        let problem = format!("wrong number of args for {name}: got {given} want at least {fixed}");
        return Err(problem.into());
    }
    if function.rest.is_none() && given != fixed {
        return Err(format!("wrong number of args for {name}: got {given} want {fixed}").into());
    }
    let mut values = Vec::with_capacity(given);
    for (index, operand) in operands.enumerate() {
        let of = function.parameter(index).unwrap_or(&Type::Any);
        let value = index::prepared(&operand.unboxed(), of);
        values.push(value.map_err(|problem| format!("arg {index}: {problem}"))?);
    }
    exec::invoke(budget, function, &values)
}
