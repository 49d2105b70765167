//! What templates are executed on: values of Go's kinds, ordered and cheap to clone.
//!
//! A value knows its Go type, since Go's rules and messages depend on it: a key that a map lacks
//! prints as `<no value>`, a field that a struct lacks ends the execution; an empty list of a
//! `[]string` is another thing than none.

mod structure;
mod types;

use std::{collections::BTreeMap, fmt, sync::Arc};

pub use structure::{Field, ShapeError, Struct, StructType, Tag};
pub use types::{IntKind, Type, UintKind};

use crate::function::Function;

/// What an item of a list takes, besides its text.
pub(crate) const ITEM_BYTES: usize = 64;

/// A Go value.
///
/// `Debug` shows the type only: values may be secrets.
#[derive(Clone)]
pub enum Value {
    /// The nil of an interface.
    Nil,
    /// A truth value.
    Bool(bool),
    /// A number of a signed kind.
    Int(IntKind, i64),
    /// A number of an unsigned kind.
    Uint(UintKind, u64),
    /// A `float64`.
    Float(f64),
    /// A string: bytes that are UTF-8 most of the time.
    Text(Text),
    /// A slice.
    List(List),
    /// A map from strings, in the order of its keys.
    Map(Map),
    /// A struct.
    Struct(Struct),
    /// A pointer, which may be nil.
    Pointer(Pointer),
    /// A function.
    Function(Arc<Function>),
}

impl Value {
    /// A Go `int`.
    pub const fn int(value: i64) -> Self {
        Self::Int(IntKind::Int, value)
    }

    /// A text from bytes or characters.
    pub fn text(text: impl Into<Text>) -> Self {
        Self::Text(text.into())
    }

    /// A `[]string`.
    pub fn texts<T: Into<Text>>(texts: impl IntoIterator<Item = T>) -> Self {
        let items = texts.into_iter().map(Self::text).collect();
        Self::List(List::unchecked(Type::Text, items))
    }

    /// A `map[string]string`.
    pub fn text_map<K: Into<Text>, V: Into<Text>>(
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let entries = entries.into_iter().map(|(key, value)| (key.into(), Self::text(value)));
        Self::Map(Map { of: Type::Text, entries: Some(Arc::new(entries.collect())) })
    }

    /// A `[]any`.
    pub fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Self::List(List::unchecked(Type::Any, items.into_iter().collect()))
    }

    /// A `map[string]any`.
    pub fn map<K: Into<Text>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        let entries = entries.into_iter().map(|(key, value)| (key.into(), value));
        Self::Map(Map { of: Type::Any, entries: Some(Arc::new(entries.collect())) })
    }

    /// The Go type; that of a nil interface is `any`.
    pub fn type_of(&self) -> Type {
        match self {
            Self::Nil => Type::Any,
            Self::Bool(_) => Type::Bool,
            Self::Int(kind, _) => Type::Int(*kind),
            Self::Uint(kind, _) => Type::Uint(*kind),
            Self::Float(_) => Type::Float,
            Self::Text(_) => Type::Text,
            Self::List(list) => Type::List(Arc::new(list.of.clone())),
            Self::Map(map) => Type::Map(Arc::new(map.of.clone())),
            Self::Struct(value) => Type::Struct(value.of.clone()),
            Self::Pointer(pointer) => Type::Pointer(Arc::new(pointer.to.clone())),
            Self::Function(function) => Type::Function(function.signature().into()),
        }
    }

    /// Whether this is the zero value of its type, which `default` and `empty` ask.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Nil => true,
            Self::Bool(value) => !value,
            Self::Int(_, value) => *value == 0,
            Self::Uint(_, value) => *value == 0,
            Self::Float(value) => *value == 0.0,
            Self::Text(text) => text.bytes().is_empty(),
            Self::List(list) => list.items.is_none(),
            Self::Map(map) => map.entries.is_none(),
            Self::Struct(value) => value.values.iter().all(Self::is_zero),
            Self::Pointer(pointer) => pointer.value.is_none(),
            Self::Function(_) => false,
        }
    }

    /// Whether conditions take this for true: what is not empty.
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(value) => *value,
            Self::Int(_, value) => *value != 0,
            Self::Uint(_, value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Text(text) => !text.bytes().is_empty(),
            Self::List(list) => !list.items().is_empty(),
            Self::Map(map) => map.iter().next().is_some(),
            Self::Pointer(pointer) => pointer.value.is_some(),
            Self::Struct(_) | Self::Function(_) => true,
        }
    }

    /// What a chain of pointers leads to; a nil pointer stays.
    pub(crate) fn behind_pointers(&self) -> &Self {
        let mut value = self;
        while let Self::Pointer(Pointer { value: Some(next), .. }) = value {
            value = next;
        }
        value
    }

    /// How many bytes a value takes: what it costs to make it or to look at all of it.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.bytes().len(),
            Self::List(list) => list.items().iter().map(|item| ITEM_BYTES + item.size()).sum(),
            Self::Map(map) => {
                map.iter().map(|(key, item)| ITEM_BYTES + key.bytes().len() + item.size()).sum()
            }
            Self::Struct(value) => value.values.iter().map(|item| ITEM_BYTES + item.size()).sum(),
            Self::Pointer(Pointer { value: Some(value), .. }) => value.size(),
            _ => 0,
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Value({})", self.type_of())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

/// A Go string: bytes that need not be UTF-8.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Arc<[u8]>);

impl Text {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The characters, with U+FFFD for what is none.
    pub fn lossy(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Text({} bytes)", self.0.len())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().into())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into_bytes().into())
    }
}

impl From<&[u8]> for Text {
    fn from(text: &[u8]) -> Self {
        Self(text.into())
    }
}

impl From<Vec<u8>> for Text {
    fn from(text: Vec<u8>) -> Self {
        Self(text.into())
    }
}

/// A Go slice: a window on shared items. One that was never made is nil, and empty.
#[derive(Clone)]
pub struct List {
    pub(crate) of: Type,
    items: Option<Arc<[Value]>>,
    start: usize,
    end: usize,
    /// Up to where the window can be widened again.
    limit: usize,
}

impl List {
    /// A list whose items have to be of the type; for `any`, of each type.
    pub fn new(of: Type, items: Vec<Value>) -> Result<Self, ShapeError> {
        for (index, item) in items.iter().enumerate() {
            of.check(item).map_err(|error| error.inside(&format!("[{index}]")))?;
        }
        Ok(Self::unchecked(of, items))
    }

    pub(crate) fn unchecked(of: Type, items: Vec<Value>) -> Self {
        let end = items.len();
        Self { of, items: Some(items.into()), start: 0, end, limit: end }
    }

    /// The nil slice of a type.
    pub fn nil(of: Type) -> Self {
        Self { of, items: None, start: 0, end: 0, limit: 0 }
    }

    /// Whether the list was never made.
    pub fn is_nil(&self) -> bool {
        self.items.is_none()
    }

    /// The items.
    pub fn items(&self) -> &[Value] {
        self.items.as_ref().map_or(&[], |items| &items[self.start..self.end])
    }

    /// How far the list can be sliced.
    pub(crate) fn capacity(&self) -> usize {
        self.limit - self.start
    }

    /// The part from `start` to `end`, which can be widened to `limit`; none is beyond the capacity.
    pub(crate) fn slice(&self, start: usize, end: usize, limit: usize) -> Self {
        let base = self.start;
        Self { start: base + start, end: base + end, limit: base + limit, ..self.clone() }
    }
}

impl fmt::Debug for List {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "List([]{}, {} items)", self.of, self.items().len())
    }
}

/// A Go map from strings, in the order of its keys. One that was never made is nil, and empty.
#[derive(Clone)]
pub struct Map {
    pub(crate) of: Type,
    entries: Option<Arc<BTreeMap<Text, Value>>>,
}

impl Map {
    /// A map whose values have to be of the type; for `any`, of each type.
    pub fn new(of: Type, entries: BTreeMap<Text, Value>) -> Result<Self, ShapeError> {
        for (key, value) in &entries {
            of.check(value).map_err(|error| error.inside(&format!("[{}]", key.lossy())))?;
        }
        Ok(Self { of, entries: Some(Arc::new(entries)) })
    }

    /// The nil map of a type.
    pub fn nil(of: Type) -> Self {
        Self { of, entries: None }
    }

    /// Whether the map was never made.
    pub fn is_nil(&self) -> bool {
        self.entries.is_none()
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Option<&Value> {
        self.entries.as_ref()?.get(&Text::from(key))
    }

    /// All keys with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &Value)> {
        self.entries.iter().flat_map(|entries| entries.iter())
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Map(map[string]{})", self.of)
    }
}

/// A Go pointer.
#[derive(Clone)]
pub struct Pointer {
    pub(crate) to: Type,
    pub(crate) value: Option<Arc<Value>>,
}

impl Pointer {
    /// A pointer to a value.
    pub fn to(value: Value) -> Self {
        Self { to: value.type_of(), value: Some(Arc::new(value)) }
    }

    /// The nil pointer of a type.
    pub fn nil(to: Type) -> Self {
        Self { to, value: None }
    }

    /// What it points to.
    pub fn target(&self) -> Option<&Value> {
        self.value.as_deref()
    }
}

impl fmt::Debug for Pointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Pointer(*{})", self.to)
    }
}
