//! The types of expressions.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::schema::{Schema, Type};

/// A type, as far as it is known before evaluation.
#[derive(Clone, Debug)]
pub(super) enum Ty {
    /// Known at evaluation only.
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Duration,
    Timestamp,
    List(Box<Ty>),
    Map(Box<Ty>, Box<Ty>),
    /// An object with the fields of a schema.
    Object(Arc<Schema>),
    Optional(Box<Ty>),
    /// A type that only its own functions know, by name.
    Opaque(&'static str),
    /// The type of types.
    Type(Box<Ty>),
    /// A type that a call decides, by its letter; or one that is still open, as that of the
    /// entries of `[]`.
    Param(char),
}

impl Ty {
    /// The type of the values of a schema; none where rules cannot see it.
    pub(super) fn of(schema: &Arc<Schema>) -> Option<Self> {
        if schema.int_or_string {
            return Some(Self::Dyn);
        }
        Some(match schema.kind? {
            Type::Array => Self::List(Box::new(Self::of(schema.items.as_ref()?)?)),
            Type::Object => match schema.additional_schema() {
                Some(values) => Self::Map(Box::new(Self::Text), Box::new(Self::of(values)?)),
                None => Self::Object(Arc::clone(schema)),
            },
            Type::String => match schema.format.as_deref() {
                Some("byte") => Self::Bytes,
                Some("duration") => Self::Duration,
                Some("date" | "date-time") => Self::Timestamp,
                _ => Self::Text,
            },
            Type::Boolean => Self::Bool,
            Type::Number => Self::Double,
            Type::Integer => Self::Int,
        })
    }

    /// Whether a value of type `self` may stand where `wanted` is expected. Decides parameters on
    /// the way. What is dynamic fits everything.
    pub(super) fn fits(&self, wanted: &Self, decided: &mut BTreeMap<char, Self>) -> bool {
        match (self, wanted) {
            (_, Self::Param(letter)) => match decided.get(letter).cloned() {
                None | Some(Self::Param(_)) => {
                    decided.insert(*letter, self.clone());
                    true
                }
                Some(known) => {
                    // A more general type may come second.
                    if matches!(self, Self::Dyn) {
                        decided.insert(*letter, Self::Dyn);
                    }
                    matches!(known, Self::Dyn | Self::Null) || self.fits(&known, decided)
                }
            },
            (Self::Dyn | Self::Param(_), _) | (_, Self::Dyn) => true,
            (Self::List(a), Self::List(b))
            | (Self::Optional(a), Self::Optional(b))
            | (Self::Type(a), Self::Type(b)) => a.fits(b, decided),
            (Self::Map(ak, av), Self::Map(bk, bv)) => ak.fits(bk, decided) && av.fits(bv, decided),
            (Self::Object(a), Self::Object(b)) => Arc::ptr_eq(a, b) || a == b,
            (Self::Null, other) | (other, Self::Null) => other.may_be_null(),
            (Self::Opaque(a), Self::Opaque(b)) => a == b,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }

    /// Whether `null` may be compared with values of the type.
    fn may_be_null(&self) -> bool {
        matches!(
            self,
            Self::Null
                | Self::Object(_)
                | Self::Duration
                | Self::Timestamp
                | Self::Opaque(_)
                | Self::Optional(_)
        )
    }

    /// The type with its parameters replaced by what was decided; what was not stays open.
    pub(super) fn decided(&self, by: &BTreeMap<char, Self>) -> Self {
        let inner = |ty: &Self| Box::new(ty.decided(by));
        match self {
            Self::Param(letter) => by.get(letter).unwrap_or(self).clone(),
            Self::List(of) => Self::List(inner(of)),
            Self::Map(keys, values) => Self::Map(inner(keys), inner(values)),
            Self::Optional(of) => Self::Optional(inner(of)),
            Self::Type(of) => Self::Type(inner(of)),
            other => other.clone(),
        }
    }

    /// One type for values of either.
    pub(super) fn joined(&self, other: &Self) -> Self {
        let mut decided = BTreeMap::new();
        match (self, other) {
            (Self::Dyn, _) | (_, Self::Dyn) => Self::Dyn,
            (Self::Null | Self::Param(_), other) => other.clone(),
            (a, b) if b.fits(a, &mut decided) => a.clone(),
            _ => Self::Dyn,
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => f.write_str("dyn"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::Text => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Duration => f.write_str("google.protobuf.Duration"),
            Self::Timestamp => f.write_str("google.protobuf.Timestamp"),
            Self::List(of) => write!(f, "list({of})"),
            Self::Map(keys, values) => write!(f, "map({keys}, {values})"),
            Self::Object(_) => f.write_str("object"),
            Self::Optional(of) => write!(f, "optional_type({of})"),
            Self::Opaque(name) => f.write_str(name),
            Self::Type(of) => write!(f, "type({of})"),
            Self::Param(letter) => write!(f, "{letter}"),
        }
    }
}
