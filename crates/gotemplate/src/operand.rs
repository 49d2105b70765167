//! What a term is while a template is executed.

use crate::value::{Type, Value};

/// A value with what Go's reflection knows besides: whether there is one at all, and whether it
/// lies in a place that could hold any type.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    /// No value, such as that of a key that a map lacks.
    Missing,
    Plain(Value),
    /// A value in an interface, such as an item of a `[]any`.
    Boxed(Value),
}

impl Operand {
    /// A value that came from outside.
    pub(crate) fn of(value: Value) -> Self {
        match value {
            Value::Nil => Self::Missing,
            value => Self::Plain(value),
        }
    }

    /// A value from a place of this type.
    pub(crate) fn from_place(of: &Type, value: Value) -> Self {
        match of {
            Type::Any => Self::Boxed(value),
            _ => Self::of(value),
        }
    }

    /// The value without the interface around it.
    pub(crate) fn unboxed(self) -> Self {
        match self {
            Self::Boxed(value) => Self::of(value),
            operand => operand,
        }
    }

    /// The value; that of a nil interface is none.
    pub(crate) fn value(&self) -> Option<&Value> {
        match self {
            Self::Missing | Self::Boxed(Value::Nil) => None,
            Self::Plain(value) | Self::Boxed(value) => Some(value),
        }
    }

    /// The value, with nil for none.
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Missing => Value::Nil,
            Self::Plain(value) | Self::Boxed(value) => value,
        }
    }

    /// The type of the place, which for an interface is not that of the value.
    pub(crate) fn type_of(&self) -> Type {
        match self {
            Self::Missing | Self::Boxed(_) => Type::Any,
            Self::Plain(value) => value.type_of(),
        }
    }

    pub(crate) fn is_true(&self) -> bool {
        self.value().is_some_and(Value::is_true)
    }
}
