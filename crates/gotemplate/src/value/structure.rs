//! Structs: fields in their order, each with its Go name and its keys in YAML and JSON.

use std::{fmt, sync::Arc};

use super::{Type, Value};

/// The type of a struct. Two types of one name are the same type.
pub struct StructType {
    name: String,
    fields: Vec<Field>,
}

impl StructType {
    /// A type by its Go name, such as `cloudinit.MetaData`.
    pub fn new(name: &str, fields: Vec<Field>) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), fields })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// A struct with these values; fields that are not named have their zero values.
    pub fn value<'f>(
        self: &Arc<Self>,
        values: impl IntoIterator<Item = (&'f str, Value)>,
    ) -> Result<Value, ShapeError> {
        let mut all: Vec<Value> = self.fields.iter().map(|field| field.of.zero()).collect();
        for (name, value) in values {
            let Some(index) = self.fields.iter().position(|field| field.name == name) else {
                return Err(ShapeError::new(format!("{} has no field {name}", self.name)));
            };
            self.fields[index]
                .of
                .check(&value)
                .map_err(|error| error.inside(&format!("{}.{name}", self.name)))?;
            all[index] = value;
        }
        Ok(Value::Struct(Struct { of: self.clone(), values: all.into() }))
    }

    pub(super) fn zero(self: &Arc<Self>) -> Value {
        let values = self.fields.iter().map(|field| field.of.zero()).collect();
        Value::Struct(Struct { of: self.clone(), values })
    }
}

impl PartialEq for StructType {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for StructType {}

impl fmt::Debug for StructType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

/// A field of a struct.
#[derive(Clone)]
pub struct Field {
    pub(crate) name: String,
    pub(crate) of: Type,
    pub(crate) yaml: Tag,
    pub(crate) json: Tag,
}

impl Field {
    /// A field by its Go name. Without a tag its key in YAML is the name in lower case, and its key
    /// in JSON the name.
    pub fn new(name: &str, of: Type) -> Self {
        let yaml = Tag { key: name.to_lowercase(), omit_empty: false };
        let json = Tag { key: name.to_owned(), omit_empty: false };
        Self { name: name.to_owned(), of, yaml, json }
    }

    /// The Go name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives the field a key in YAML.
    pub fn yaml(mut self, key: &str) -> Self {
        key.clone_into(&mut self.yaml.key);
        self
    }

    /// Gives the field a key in YAML, which is left out with an empty value.
    pub fn yaml_unless_empty(mut self, key: &str) -> Self {
        self.yaml = Tag { key: key.to_owned(), omit_empty: true };
        self
    }

    /// Gives the field a key in JSON.
    pub fn json(mut self, key: &str) -> Self {
        key.clone_into(&mut self.json.key);
        self
    }

    /// Gives the field a key in JSON, which is left out with an empty value.
    pub fn json_unless_empty(mut self, key: &str) -> Self {
        self.json = Tag { key: key.to_owned(), omit_empty: true };
        self
    }
}

impl fmt::Debug for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.name, self.of)
    }
}

/// How a field is called in a document.
#[derive(Clone, Debug)]
pub struct Tag {
    pub(crate) key: String,
    pub(crate) omit_empty: bool,
}

/// A struct: a type and a value for each of its fields.
#[derive(Clone)]
pub struct Struct {
    pub(crate) of: Arc<StructType>,
    pub(crate) values: Arc<[Value]>,
}

impl Struct {
    /// All fields with their values, in the order of the type.
    pub fn fields(&self) -> impl Iterator<Item = (&Field, &Value)> {
        self.of.fields.iter().zip(self.values.iter())
    }

    /// The value of a field.
    pub(crate) fn get(&self, name: &[u8]) -> Option<(&Field, &Value)> {
        self.fields().find(|(field, _)| field.name.as_bytes() == name)
    }
}

impl fmt::Debug for Struct {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Struct({})", self.of.name)
    }
}

/// A value that does not fit where it was put. It names the place.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}{problem}")]
pub struct ShapeError {
    place: String,
    problem: String,
}

impl ShapeError {
    pub(super) fn new(problem: String) -> Self {
        Self { place: String::new(), problem }
    }

    pub(super) fn inside(self, place: &str) -> Self {
        let separator = if self.place.is_empty() { ": " } else { "" };
        Self { place: format!("{place}{separator}{}", self.place), ..self }
    }
}
