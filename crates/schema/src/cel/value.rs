//! Values of expressions: JSON as its schema says, and what functions make of it.

use std::{borrow::Cow, cmp::Ordering, net::IpAddr, rc::Rc};

use jiff::Timestamp;
use joiner_core::quantity::Quantity;
use serde_json::{Map, Value};

use super::escape::{escape, unescape};
use crate::{
    schema::{ListType, Schema, Type},
    text, time,
    url::Url,
};

/// Why an expression has no value, in cel-go's words.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure(pub(super) String);

impl Failure {
    pub(super) fn new<T>(words: impl Into<String>) -> Result<T, Self> {
        Err(Self(words.into()))
    }

    /// A function was called with values it is not made for.
    pub(super) fn overload<T>() -> Result<T, Self> {
        Self::new("no such overload")
    }
}

pub(super) type Outcome<'a> = Result<Val<'a>, Failure>;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Cow<'a, str>),
    Bytes(Rc<[u8]>),
    /// In nanoseconds.
    Duration(i64),
    Timestamp(Timestamp),
    List(List<'a>),
    Map(Fields<'a>),
    Optional(Option<Rc<Val<'a>>>),
    /// A type, by name.
    Type(&'static str),
    Quantity(Quantity),
    Ip(IpAddr),
    Cidr(IpAddr, u8),
    Url(Rc<Url>),
    Semver(Rc<super::semver::Version>),
    /// A named format.
    Format(&'static str),
    /// A value that no schema describes; it can only be compared.
    Opaque(&'a Value),
}

/// A list.
#[derive(Clone, Debug)]
pub(super) enum List<'a> {
    /// From an object, with the schema of the list.
    Json(&'a [Value], &'a Schema),
    Made(Rc<Vec<Val<'a>>>),
}

/// A map, or an object with fields.
#[derive(Clone, Debug)]
pub(super) enum Fields<'a> {
    /// From an object, with the schema of the map or object.
    Json(&'a Map<String, Value>, &'a Schema),
    Made(Rc<Vec<(Val<'a>, Val<'a>)>>),
}

/// The value that JSON has according to its schema.
pub(super) fn typed<'a>(value: &'a Value, schema: &'a Schema) -> Outcome<'a> {
    let got = |what: &str, name: &str| -> Outcome<'a> {
        Failure::new(format!("invalid data, expected {what}, got {name}"))
    };
    if value.is_null() {
        if schema.nullable {
            return Ok(Val::Null);
        }
        return Failure::new("invalid data, got null for schema with nullable=false");
    }
    if schema.int_or_string {
        return match value {
            Value::String(text) => Ok(Val::Text(Cow::Borrowed(text))),
            Value::Number(number) if number.is_i64() => Ok(Val::Int(number.as_i64().unwrap_or(0))),
            _ => Failure::new(
                "invalid data, expected XIntOrString value to be either a string or integer",
            ),
        };
    }
    match (schema.kind, value) {
        (Some(Type::Object), Value::Object(fields)) => Ok(Val::Map(Fields::Json(fields, schema))),
        (Some(Type::Object), _) => {
            Failure::new("invalid data, expected a map for the provided schema with type=object")
        }
        (Some(Type::Array), Value::Array(items)) => {
            if schema.items.is_none() {
                return Failure::new("invalid array type, expected Items with a non-empty Schema");
            }
            Ok(Val::List(List::Json(items, schema)))
        }
        (Some(Type::Array), _) => {
            Failure::new("invalid data, expected an array for the provided schema with type=array")
        }
        (Some(Type::String), Value::String(text)) => typed_text(text, schema),
        (Some(Type::String), _) => got("string", go_type(value)),
        (Some(Type::Number), Value::Number(number)) => {
            Ok(Val::Double(number.as_f64().unwrap_or(f64::NAN)))
        }
        (Some(Type::Number), _) => got("float", go_type(value)),
        (Some(Type::Integer), Value::Number(number)) if number.is_i64() => {
            Ok(Val::Int(number.as_i64().unwrap_or(0)))
        }
        (Some(Type::Integer), _) => got("int", go_type(value)),
        (Some(Type::Boolean), Value::Bool(flag)) => Ok(Val::Bool(*flag)),
        (Some(Type::Boolean), _) => got("bool", go_type(value)),
        (None, _) => Ok(Val::Opaque(value)),
    }
}

fn typed_text<'a>(text: &'a str, schema: &Schema) -> Outcome<'a> {
    match schema.format.as_deref() {
        Some("duration") => match time::parse_duration(text) {
            Some(nanos) => Ok(Val::Duration(nanos)),
            None => {
                Failure::new(format!("Invalid duration {text}: unable to parse {text} as duration"))
            }
        },
        Some("date") => match time::parse_date(text).and_then(time::midnight) {
            Some(time) => Ok(Val::Timestamp(time)),
            None => Failure::new(format!("Invalid date formatted string {text}")),
        },
        Some("date-time") => match time::parse_date_time(text) {
            Some(time) => Ok(Val::Timestamp(time)),
            None => Failure::new(format!("Invalid date-time formatted string {text}")),
        },
        Some("byte") => match super::strings::decode_base64(text) {
            Some(bytes) => Ok(Val::Bytes(bytes.into())),
            None => Failure::new(format!("Invalid byte formatted string {text}")),
        },
        _ => Ok(Val::Text(Cow::Borrowed(text))),
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

impl<'a> Val<'a> {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(Cow::Owned(text.into()))
    }

    pub(super) fn list(items: Vec<Val<'a>>) -> Self {
        Self::List(List::Made(Rc::new(items)))
    }

    pub(super) fn some(value: Val<'a>) -> Self {
        Self::Optional(Some(Rc::new(value)))
    }

    /// The name of the value's type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Ip(_) => "net.IP",
            Self::Cidr(..) => "net.CIDR",
            Self::Url(_) => "kubernetes.URL",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Opaque(_) => "unknown",
        }
    }

    /// Whether two values are equal. Values of different types are not, but numbers are compared
    /// as numbers.
    pub(super) fn equals(&self, other: &Self) -> Result<bool, Failure> {
        Ok(match (self, other) {
            (Self::Null, Self::Null) | (Self::Optional(None), Self::Optional(None)) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Duration(a), Self::Duration(b)) => a == b,
            (Self::Timestamp(a), Self::Timestamp(b)) => a == b,
            (Self::Type(a), Self::Type(b)) | (Self::Format(a), Self::Format(b)) => a == b,
            (Self::Quantity(a), Self::Quantity(b)) => a == b,
            (Self::Ip(a), Self::Ip(b)) => a == b,
            (Self::Cidr(a, n), Self::Cidr(b, m)) => (a, n) == (b, m),
            (Self::Url(a), Self::Url(b)) => a.raw == b.raw,
            (Self::Semver(a), Self::Semver(b)) => a.cmp(b) == Ordering::Equal,
            (Self::Opaque(a), Self::Opaque(b)) => a == b,
            (Self::Optional(Some(a)), Self::Optional(Some(b))) => a.equals(b)?,
            (Self::List(a), Self::List(b)) => a.equals(b)?,
            (Self::Map(a), Self::Map(b)) => a.equals(b)?,
            (a, b) if a.is_number() && b.is_number() => {
                a.compare_numbers(b) == Some(Ordering::Equal)
            }
            _ => false,
        })
    }

    fn is_number(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Uint(_) | Self::Double(_))
    }

    fn compare_numbers(&self, other: &Self) -> Option<Ordering> {
        let whole = |value: &Self| match value {
            Self::Int(number) => Some(i128::from(*number)),
            Self::Uint(number) => Some(i128::from(*number)),
            _ => None,
        };
        let float = |value: &Self| match value {
            Self::Int(number) => *number as f64,
            Self::Uint(number) => *number as f64,
            Self::Double(number) => *number,
            _ => f64::NAN,
        };
        match (whole(self), whole(other)) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => float(self).partial_cmp(&float(other)),
        }
    }

    /// Which of two values is greater.
    pub(super) fn compare(&self, other: &Self) -> Result<Ordering, Failure> {
        let ordering = match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            (Self::Duration(a), Self::Duration(b)) => Some(a.cmp(b)),
            (Self::Timestamp(a), Self::Timestamp(b)) => Some(a.cmp(b)),
            (a, b) if a.is_number() && b.is_number() => match a.compare_numbers(b) {
                None => return Failure::new("NaN values cannot be ordered"),
                ordering => ordering,
            },
            _ => None,
        };
        ordering.map_or_else(Failure::overload, Ok)
    }

    /// The value in messages.
    pub(super) fn show(&self) -> String {
        match self {
            Self::Text(text) => text.to_string(),
            Self::Int(number) => number.to_string(),
            Self::Uint(number) => number.to_string(),
            Self::Double(number) => text::float(*number),
            Self::Bool(flag) => flag.to_string(),
            Self::Null => "null".to_owned(),
            other => other.type_name().to_owned(),
        }
    }
}

impl<'a> List<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Json(items, _) => items.len(),
            Self::Made(items) => items.len(),
        }
    }

    /// The entry at a place that exists.
    pub(super) fn at(&self, index: usize) -> Outcome<'a> {
        match self {
            Self::Json(items, schema) => match (items.get(index), &schema.items) {
                (Some(item), Some(inner)) => typed(item, inner),
                _ => Failure::new(format!("index out of bounds: {index}")),
            },
            Self::Made(items) => match items.get(index) {
                Some(item) => Ok(item.clone()),
                None => Failure::new(format!("index out of bounds: {index}")),
            },
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Outcome<'a>> + '_ {
        (0..self.len()).map(|i| self.at(i))
    }

    /// All entries, if all have a value.
    pub(super) fn all(&self) -> Result<Vec<Val<'a>>, Failure> {
        self.iter().collect()
    }

    pub(super) fn contains(&self, value: &Val<'_>) -> Result<bool, Failure> {
        for item in self.iter() {
            if item?.equals(value)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn list_type(&self) -> Option<ListType> {
        match self {
            Self::Json(_, schema) => schema.list_type,
            Self::Made(_) => None,
        }
    }

    /// Sets are equal in any order, maps if the entries with equal keys are.
    fn equals(&self, other: &List<'_>) -> Result<bool, Failure> {
        if self.len() != other.len() {
            return Ok(false);
        }
        match self.list_type() {
            Some(ListType::Set) => {
                for item in other.iter() {
                    if !self.contains(&item?)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Some(ListType::Map) => {
                for item in other.iter() {
                    let item = item?;
                    let Some(mine) = self.keyed_like(&item)? else { return Ok(false) };
                    if !mine.equals(&item)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => {
                for (a, b) in self.iter().zip(other.iter()) {
                    if !a?.equals(&b?)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// The entry with the same keys.
    fn keyed_like(&self, item: &Val<'_>) -> Result<Option<Val<'a>>, Failure> {
        let (Self::Json(_, schema), Val::Map(wanted)) = (self, item) else { return Ok(None) };
        'entries: for mine in self.iter() {
            let mine = mine?;
            let Val::Map(fields) = &mine else { continue };
            for key in &schema.list_map_keys {
                let same = match (fields.get_raw(key), wanted.get_raw(key)) {
                    (Some(a), Some(b)) => a?.equals(&b?)?,
                    (None, None) => true,
                    _ => false,
                };
                if !same {
                    continue 'entries;
                }
            }
            return Ok(Some(mine));
        }
        Ok(None)
    }

    /// This list with another behind it; a set has no entry twice.
    pub(super) fn plus(&self, other: &List<'a>) -> Outcome<'a> {
        let mut items = self.all()?;
        let is_set = self.list_type() == Some(ListType::Set);
        for item in other.iter() {
            let item = item?;
            if !(is_set && self.contains(&item)?) {
                items.push(item);
            }
        }
        Ok(Val::list(items))
    }
}

impl<'a> Fields<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Json(fields, _) => fields.len(),
            Self::Made(entries) => entries.len(),
        }
    }

    /// The value of a field or key, as expressions write it.
    pub(super) fn get(&self, key: &str) -> Option<Outcome<'a>> {
        match self {
            Self::Json(_, schema) if !schema.properties.is_empty() => self.get_raw(&unescape(key)?),
            _ => self.get_raw(key),
        }
    }

    /// The value of a field or key, by its own name.
    fn get_raw(&self, key: &str) -> Option<Outcome<'a>> {
        match self {
            Self::Json(fields, schema) => {
                let value = fields.get(key)?;
                let property = schema.properties.get(key);
                if value.is_null() && !schema.properties.is_empty() {
                    return None;
                }
                let inner = if schema.properties.is_empty() {
                    schema.additional_schema()?
                } else {
                    property?
                };
                Some(typed(value, inner))
            }
            Self::Made(entries) => entries.iter().find_map(|(known, value)| match known {
                Val::Text(text) if text == key => Some(Ok(value.clone())),
                _ => None,
            }),
        }
    }

    /// The value of any key.
    pub(super) fn get_val(&self, key: &Val<'a>) -> Option<Outcome<'a>> {
        match (self, key) {
            (_, Val::Text(text)) => self.get(text),
            (Self::Json(..), _) => Some(Failure::overload()),
            (Self::Made(entries), key) => entries
                .iter()
                .find(|(known, _)| known.equals(key).unwrap_or(false))
                .map(|(_, value)| Ok(value.clone())),
        }
    }

    /// The keys that have values, sorted for objects.
    pub(super) fn keys(&self) -> Vec<Val<'a>> {
        match self {
            Self::Json(fields, schema) if schema.properties.is_empty() => {
                if schema.additional_schema().is_none() {
                    return Vec::new();
                }
                fields.keys().map(|key| Val::Text(Cow::Borrowed(key))).collect()
            }
            Self::Json(fields, schema) => fields
                .keys()
                .filter(|key| schema.properties.contains_key(*key))
                .map(|key| Val::Text(escape(key).unwrap_or(Cow::Borrowed(key))))
                .collect(),
            Self::Made(entries) => entries.iter().map(|(key, _)| key.clone()).collect(),
        }
    }

    fn equals(&self, other: &Fields<'_>) -> Result<bool, Failure> {
        if self.len() != other.len() {
            return Ok(false);
        }
        if let (Fields::Json(mine, schema), Fields::Json(theirs, _)) = (self, other) {
            for (key, value) in *mine {
                let known = schema.properties.contains_key(key)
                    || (schema.properties.is_empty() && schema.additional_schema().is_some());
                if known {
                    match (self.get_raw(key), other.get_raw(key)) {
                        (None, None) => {}
                        (Some(a), Some(b)) if a.clone()?.equals(&b.clone()?)? => {}
                        _ => return Ok(false),
                    }
                } else if theirs.get(key).is_some_and(|theirs| theirs != value) {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        for key in self.keys() {
            let (Some(mine), Val::Text(name)) = (self.get_val(&key), &key) else {
                return Ok(false);
            };
            let Some(theirs) = other.get(name) else { return Ok(false) };
            if !mine?.equals(&theirs?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
