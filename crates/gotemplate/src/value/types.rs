//! Go's types, as far as templates meet them.

use std::{fmt, sync::Arc};

use super::{List, Map, Pointer, ShapeError, StructType, Value};

/// A Go type. Its `Display` is Go's name for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// `any`: a value of each type, or nil.
    Any,
    /// `bool`
    Bool,
    /// The signed kinds.
    Int(IntKind),
    /// The unsigned kinds.
    Uint(UintKind),
    /// `float64`
    Float,
    /// `string`
    Text,
    /// A slice.
    List(Arc<Type>),
    /// A map from strings.
    Map(Arc<Type>),
    /// A struct.
    Struct(Arc<StructType>),
    /// A pointer.
    Pointer(Arc<Type>),
    /// A function, by its Go signature.
    Function(Arc<str>),
}

impl Type {
    /// `int`
    pub const INT: Self = Self::Int(IntKind::Int);

    /// A slice of a type.
    pub fn list(of: Self) -> Self {
        Self::List(Arc::new(of))
    }

    /// A map from strings to a type.
    pub fn map(of: Self) -> Self {
        Self::Map(Arc::new(of))
    }

    /// A pointer to a type.
    pub fn pointer(to: Self) -> Self {
        Self::Pointer(Arc::new(to))
    }

    /// What a variable of this type is before anything is put into it.
    pub fn zero(&self) -> Value {
        match self {
            // There is no function that could stand for none.
            Self::Any | Self::Function(_) => Value::Nil,
            Self::Bool => Value::Bool(false),
            Self::Int(kind) => Value::Int(*kind, 0),
            Self::Uint(kind) => Value::Uint(*kind, 0),
            Self::Float => Value::Float(0.0),
            Self::Text => Value::text(""),
            Self::List(of) => Value::List(List::nil((**of).clone())),
            Self::Map(of) => Value::Map(Map::nil((**of).clone())),
            Self::Struct(of) => of.zero(),
            Self::Pointer(to) => Value::Pointer(Pointer::nil((**to).clone())),
        }
    }

    /// Whether nil can be given where this type is asked for.
    pub(crate) fn can_be_nil(&self) -> bool {
        matches!(
            self,
            Self::Any | Self::List(_) | Self::Map(_) | Self::Pointer(_) | Self::Function(_)
        )
    }

    /// Whether values of this type can be compared with `==`.
    pub(crate) fn is_comparable(&self) -> bool {
        match self {
            Self::List(_) | Self::Map(_) | Self::Function(_) => false,
            Self::Struct(of) => of.fields().iter().all(|field| field.of.is_comparable()),
            _ => true,
        }
    }

    /// Whether numbers of this type count things.
    pub(crate) fn is_whole_number(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Uint(_))
    }

    /// Refuses a value that a variable of this type cannot hold.
    pub(super) fn check(&self, value: &Value) -> Result<(), ShapeError> {
        let of = value.type_of();
        if *self == Self::Any || of == *self {
            return Ok(());
        }
        Err(ShapeError::new(format!("a value of type {of} cannot be a {self}")))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => formatter.write_str("interface {}"),
            Self::Bool => formatter.write_str("bool"),
            Self::Int(kind) => formatter.write_str(kind.name()),
            Self::Uint(kind) => formatter.write_str(kind.name()),
            Self::Float => formatter.write_str("float64"),
            Self::Text => formatter.write_str("string"),
            Self::List(of) => write!(formatter, "[]{of}"),
            Self::Map(of) => write!(formatter, "map[string]{of}"),
            Self::Struct(of) => formatter.write_str(of.name()),
            Self::Pointer(to) => write!(formatter, "*{to}"),
            Self::Function(signature) => formatter.write_str(signature),
        }
    }
}

/// Go's signed kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are Go's")]
pub enum IntKind {
    Int,
    Int8,
    Int16,
    Int32,
    Int64,
}

impl IntKind {
    fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
        }
    }

    /// What remains of a number when it is converted to this kind.
    pub(crate) fn wrap(self, value: i64) -> i64 {
        match self {
            Self::Int | Self::Int64 => value,
            Self::Int8 => i64::from(value as i8),
            Self::Int16 => i64::from(value as i16),
            Self::Int32 => i64::from(value as i32),
        }
    }
}

/// Go's unsigned kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are Go's")]
pub enum UintKind {
    Uint,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
}

impl UintKind {
    fn name(self) -> &'static str {
        match self {
            Self::Uint => "uint",
            Self::Uint8 => "uint8",
            Self::Uint16 => "uint16",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
        }
    }

    /// What remains of a number when it is converted to this kind.
    pub(crate) fn wrap(self, value: u64) -> u64 {
        match self {
            Self::Uint | Self::Uint64 => value,
            Self::Uint8 => u64::from(value as u8),
            Self::Uint16 => u64::from(value as u16),
            Self::Uint32 => u64::from(value as u32),
        }
    }
}
