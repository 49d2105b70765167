//! What decoding an object into Go's structs and encoding it again does to it.

mod base64;
mod convert;
mod scalar;
mod time;
mod unstructured;

use std::{borrow::Cow, fmt};

use joiner_schema::go_word;
use serde_json::{Map, Value};

use crate::{
    Resource,
    resource::type_name,
    types::{Field, Held, Shape, Struct, types},
};

pub(crate) use base64::encode as encode_base64;
pub(crate) use scalar::round_to_milli;

/// What decoding noticed and did not refuse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// Paths of fields that no type has, such as `spec.containers[0].foo`; they have been dropped.
    pub unknown: Vec<String>,
    /// Whether [`normalize`] would take away more: see [`normalize_sent`].
    pub unsettled: bool,
    /// Lists and maps that were sent with nothing in them, and where, as JSON pointers. The store
    /// does not tell them from none, but some refusals do: see [`as_sent`].
    pub empty: Vec<(String, Value)>,
}

impl Decoded {
    /// One warning per unknown field, as `fieldValidation=Warn` answers them.
    pub fn warnings(&self) -> Vec<String> {
        self.unknown.iter().map(|path| format!("unknown field {path:?}")).collect()
    }

    /// The refusal of unknown fields, as `fieldValidation=Strict` answers it.
    pub fn strict(&self) -> Result<(), DecodeError> {
        if self.unknown.is_empty() {
            return Ok(());
        }
        Err(DecodeError(format!("strict decoding error: {}", self.warnings().join(", "))))
    }
}

/// An object that cannot be decoded, in the words of Go's decoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError(String);

impl DecodeError {
    /// The message of the Status with which a server refuses the object.
    pub fn refusal(&self, resource: &Resource) -> String {
        let Resource { kind, version, .. } = resource;
        format!("{kind} in version {version:?} cannot be handled as a {kind}: {self}")
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DecodeError {}

/// Gives the object the form in which it comes back from the store: unknown fields are dropped,
/// empty values are dropped or filled in as the struct has it, amounts and times are written
/// Kubernetes' way. An object of the wrong types is refused.
pub fn normalize(resource: &Resource, object: &mut Value) -> Result<Decoded, DecodeError> {
    normalize_type(&resource.type_name, object)
}

/// The same, but leaves what the server drops later: fields of features that are off, and lists that
/// are empty, which the store does not tell from none. Whoever sends them comes to own them.
pub fn normalize_sent(resource: &Resource, object: &mut Value) -> Result<Decoded, DecodeError> {
    decode_type(&resource.type_name, object, Origin::Sent)
}

/// The same for what a strategic or an applied patch made.
pub fn normalize_merged(resource: &Resource, object: &mut Value) -> Result<Decoded, DecodeError> {
    let mut decoded = decode_type(&resource.type_name, object, Origin::Merged)?;
    decoded.unknown.sort_unstable();
    Ok(decoded)
}

/// Where an object comes from.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Origin {
    /// It was read before: it takes the form in which the store has it.
    #[default]
    Known,
    /// Somebody sent it: what the server settles later stays as it is.
    Sent,
    /// A patch made it, which goes by another way.
    Merged,
}

/// The same for a kind that is no resource of its own: what subresources take, such as `Scale` in
/// `autoscaling/v1`, and `DeleteOptions` in `meta.k8s.io/v1`.
pub fn normalize_kind(
    group: &str,
    version: &str,
    kind: &str,
    object: &mut Value,
) -> Result<Decoded, DecodeError> {
    normalize_type(&type_name(group, version, kind), object)
}

/// The same for a type by its name in the facts.
pub(crate) fn normalize_type(name: &str, object: &mut Value) -> Result<Decoded, DecodeError> {
    decode_type(name, object, Origin::Known)
}

fn decode_type(name: &str, object: &mut Value, origin: Origin) -> Result<Decoded, DecodeError> {
    let Some(of) = types().named(name) else { return Ok(Decoded::default()) };
    let mut decoder = Decoder { origin, ..Decoder::default() };
    match object {
        Value::Object(fields) => decoder.fields(of, fields, &Path::Root)?,
        other => {
            let found = go_word(other);
            return Err(DecodeError(format!(
                "json: cannot unmarshal {found} into Go value of type {}",
                name.split_once('.').map_or(name, |(_, name)| name)
            )));
        }
    }
    if let Some(error) = decoder.wrong_type {
        return Err(error);
    }
    convert::settle(name, object);
    Ok(Decoded { unknown: decoder.unknown, unsettled: decoder.unsettled, empty: decoder.empty })
}

/// The object with the lists and maps that were sent with nothing in them, where nothing has taken
/// their place since.
pub fn as_sent<'v>(object: &'v Value, empty: &[(String, Value)]) -> Cow<'v, Value> {
    let mut sent = Cow::Borrowed(object);
    for (pointer, value) in empty {
        let Some((parent, name)) = pointer.rsplit_once('/') else { continue };
        if let Some(Value::Object(parent)) = sent.to_mut().pointer_mut(parent) {
            let place = parent.entry(name).or_insert(Value::Null);
            if place.is_null() {
                place.clone_from(value);
            }
        }
    }
    sent
}

/// What Go writes for a struct that was never set.
fn empty(of: &Struct) -> Value {
    let kept = of.fields.iter().filter(|field| field.keep);
    Value::Object(kept.map(|field| (field.name.to_owned(), empty_held(&field.held))).collect())
}

/// What Go writes for a field that was never set.
pub(crate) fn empty_field(type_name: &str, field: &str) -> Option<Value> {
    types().named(type_name)?.field(field).map(|field| empty_held(&field.held))
}

fn empty_held(held: &Held) -> Value {
    if held.pointer {
        return Value::Null;
    }
    match &held.shape {
        Shape::Bool => false.into(),
        Shape::Integer(_) | Shape::Float | Shape::IntOrString => 0.into(),
        Shape::String => "".into(),
        Shape::Quantity => "0".into(),
        Shape::Struct(index) => empty(types().at(*index)),
        Shape::Bytes
        | Shape::Time
        | Shape::MicroTime
        | Shape::Any
        | Shape::List(_)
        | Shape::Map(..) => Value::Null,
    }
}

/// Where in the object the decoder is.
enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'static Struct, &'static Field),
    Index(&'a Path<'a>, usize),
    Key(&'a Path<'a>, &'a str),
}

impl Path<'_> {
    /// As strict decoding writes it: `spec.containers[0]`.
    fn full(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Field(Self::Root, _, field) => field.name.to_owned(),
            Self::Field(parent, _, field) => format!("{}.{}", parent.full(), field.name),
            Self::Index(parent, index) => format!("{}[{index}]", parent.full()),
            Self::Key(parent, key) => format!("{}.{key}", parent.full()),
        }
    }

    /// As a JSON pointer: `/spec/containers/0`.
    fn pointer(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Field(parent, _, field) => format!("{}/{}", parent.pointer(), field.name),
            Self::Index(parent, index) => format!("{}/{index}", parent.pointer()),
            Self::Key(parent, key) => {
                format!("{}/{}", parent.pointer(), key.replace('~', "~0").replace('/', "~1"))
            }
        }
    }

    /// The struct that holds the field the decoder is in, and the names of the fields on the way:
    /// what Go's errors know of the place.
    fn go(&self) -> (Option<&'static Struct>, String) {
        match self {
            Self::Root => (None, String::new()),
            Self::Index(parent, _) | Self::Key(parent, _) => parent.go(),
            Self::Field(parent, owner, field) => {
                let (_, mut path) = parent.go();
                for part in field.inside.into_iter().chain([field.name]) {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(part);
                }
                (Some(owner), path)
            }
        }
    }
}

#[derive(Default)]
struct Decoder {
    unknown: Vec<String>,
    origin: Origin,
    unsettled: bool,
    empty: Vec<(String, Value)>,
    /// The first value that is of a wrong type or no base64. Go goes on decoding after it, and
    /// forgets it if a value that decodes itself refuses its text later on.
    wrong_type: Option<DecodeError>,
}

impl Decoder {
    fn fields(
        &mut self,
        of: &'static Struct,
        object: &mut Map<String, Value>,
        path: &Path<'_>,
    ) -> Result<(), DecodeError> {
        let merged = self.origin == Origin::Merged;
        // Text is read as it comes; what was merged is converted in the order of Go's fields.
        let mut failure: Option<(usize, DecodeError)> = None;
        object.retain(|name, value| {
            if failure.is_some() && !merged {
                return true;
            }
            let Some(field) = of.field(name) else {
                let parent = path.full();
                let separator = if parent.is_empty() { "" } else { "." };
                self.unknown.push(format!("{parent}{separator}{name}"));
                return false;
            };
            if value.is_null() {
                return false;
            }
            let path = Path::Field(path, of, field);
            match self.value(&field.held, value, &path) {
                Ok(()) => {
                    if field.held.is_empty_collection(value) {
                        self.empty.push((path.pointer(), value.clone()));
                    }
                    self.unsettled |= field.off;
                    (self.origin != Origin::Known || !field.off)
                        && (field.keep || field.held.pointer || !is_empty(value))
                }
                Err(error) => {
                    if failure.as_ref().is_none_or(|(place, _)| field.place < *place) {
                        failure = Some((field.place, error));
                    }
                    true
                }
            }
        });
        if let Some((_, error)) = failure {
            return Err(error);
        }
        for field in of.fields.iter().filter(|field| field.keep) {
            match object.get_mut(field.name) {
                None => {
                    object.insert(field.name.to_owned(), empty_held(&field.held));
                }
                // The store does not tell an empty list from none.
                Some(value) if field.held.is_empty_collection(value) => {
                    self.unsettled = true;
                    if self.origin == Origin::Known {
                        *value = Value::Null;
                    }
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn value(
        &mut self,
        held: &'static Held,
        value: &mut Value,
        path: &Path<'_>,
    ) -> Result<(), DecodeError> {
        let merged = self.origin == Origin::Merged;
        if merged {
            unstructured::convert(held, value)?;
        }
        match (&held.shape, &mut *value) {
            (Shape::Struct(index), Value::Object(object)) => {
                self.fields(types().at(*index), object, path)
            }
            (Shape::List(entry), Value::Array(entries)) => {
                for (index, one) in entries.iter_mut().enumerate() {
                    self.entry(entry, one, &Path::Index(path, index))?;
                }
                Ok(())
            }
            (Shape::Map(_, entry), Value::Object(entries)) => {
                for (key, one) in entries.iter_mut() {
                    self.entry(entry, one, &Path::Key(path, key))?;
                }
                Ok(())
            }
            (Shape::Bool, Value::Bool(_))
            | (Shape::String, Value::String(_))
            | (Shape::Float, Value::Number(_))
            | (Shape::Any, _) => Ok(()),
            (Shape::Integer(bits), Value::Number(number)) => {
                if !scalar::fits(number, *bits) {
                    self.wrong(path, &format!("number {number}"), &held.go_name());
                }
                Ok(())
            }
            (Shape::Bytes, Value::String(_) | Value::Array(_)) => {
                match scalar::bytes(value) {
                    Err(error) if merged => {
                        return Err(DecodeError(format!("error decoding from json: {error}")));
                    }
                    Err(error) => _ = self.wrong_type.get_or_insert(error),
                    Ok(()) => {}
                }
                Ok(())
            }
            (Shape::Quantity, _) => scalar::quantity(value),
            (Shape::IntOrString, _) => {
                if let Some(found) = scalar::not_int_or_string(value) {
                    return Err(wrong_type(path, &found, "int32"));
                }
                Ok(())
            }
            (Shape::Time, Value::String(text)) => time::seconds(text),
            (Shape::MicroTime, Value::String(text)) => time::microseconds(text),
            (Shape::Time | Shape::MicroTime, other) => {
                Err(wrong_type(path, go_word(other), "string"))
            }
            (_, other) => {
                self.wrong(path, go_word(other), &held.go_name());
                Ok(())
            }
        }
    }

    /// An entry of a list or map; one that is null is the empty value of its type.
    fn entry(
        &mut self,
        held: &'static Held,
        value: &mut Value,
        path: &Path<'_>,
    ) -> Result<(), DecodeError> {
        if value.is_null() {
            // In a map or list the store tells an empty value from none.
            *value = match held.shape {
                Shape::Bytes => "".into(),
                Shape::List(_) => Value::Array(Vec::new()),
                _ => empty_held(held),
            };
            return Ok(());
        }
        self.value(held, value, path)
    }

    fn wrong(&mut self, path: &Path<'_>, found: &str, wanted: &str) {
        if self.wrong_type.is_none() {
            self.wrong_type = Some(wrong_type(path, found, wanted));
        }
    }
}

fn wrong_type(path: &Path<'_>, found: &str, wanted: &str) -> DecodeError {
    let (owner, path) = path.go();
    let owner = owner.map_or("", Struct::go_name);
    DecodeError(format!(
        "json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {wanted}"
    ))
}

impl Held {
    /// Whether the value is a list or map of Go with nothing in it.
    fn is_empty_collection(&self, value: &Value) -> bool {
        !self.pointer
            && matches!(self.shape, Shape::List(_) | Shape::Map(..))
            && (value.is_array() || value.is_object())
            && is_empty(value)
    }
}

/// Whether `omitempty` leaves the value out.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(entries) => entries.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}
