//! What a schema says about merging: which parts of an object are owned one by one and which as a
//! whole.

use std::slice;

use joiner_schema::{Additional, ListType, Schema, Type};
use serde_json::Value;

use crate::fields::Step;

/// The shape of a part of an object.
#[derive(Clone, Copy)]
pub(crate) enum Shape<'s> {
    /// As a schema says.
    Typed {
        schema: &'s Schema,
        /// Whether a schema further up keeps unknown fields, which goes for all below it.
        preserve: bool,
    },
    /// No schema: objects are owned field by field, everything else as a whole.
    Deduced,
    /// No schema: owned as a whole.
    Whole,
}

/// What a value of some shape is treated as.
#[derive(Clone, Copy)]
pub(crate) enum Atom<'s> {
    Map(MapShape<'s>),
    List(ListShape<'s>),
    Scalar(Scalar),
}

/// The sorts of scalars that are told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    Number,
    Text,
    Boolean,
    Any,
}

/// The shape of an object.
#[derive(Clone, Copy)]
pub(crate) struct MapShape<'s> {
    shape: Shape<'s>,
    preserve: bool,
    /// Whether it is owned as a whole.
    pub(crate) atomic: bool,
}

/// The shape of an array.
#[derive(Clone, Copy)]
pub(crate) struct ListShape<'s> {
    /// How entries are told apart.
    pub(crate) kind: ListKind<'s>,
    /// The shape of entries.
    pub(crate) entries: Shape<'s>,
}

/// How the entries of an array are told apart.
#[derive(Clone, Copy)]
pub(crate) enum ListKind<'s> {
    /// They are not; the array is owned as a whole.
    Atomic,
    /// By their value.
    Set,
    /// By these fields.
    Keyed(&'s [String]),
}

impl<'s> Shape<'s> {
    /// The shape that a schema gives to a whole object.
    pub(crate) fn of(schema: &'s Schema) -> Self {
        Self::below(schema, false)
    }

    /// The shape that a schema gives to a part, where `preserve` goes for the part around it.
    fn below(schema: &'s Schema, preserve: bool) -> Self {
        if named(schema, "io.k8s.apimachinery.pkg.runtime.RawExtension") {
            return Self::Whole;
        }
        // In definitions, what may be a number or a text is of no type at all.
        if schema.int_or_string && schema.name.is_none() {
            return Self::Whole;
        }
        // A schema with a name is one of its own: what goes for the part around it ends there.
        let preserve = (preserve && schema.name.is_none()) || schema.preserve_unknown_fields;
        Self::Typed { schema, preserve }
    }

    /// What `value` is treated as. Where the shape leaves the choice, the value decides.
    pub(crate) fn atom(self, value: Option<&Value>) -> Atom<'s> {
        let chosen = match self {
            Self::Typed { schema, .. } => fixed_type(schema),
            Self::Deduced | Self::Whole => None,
        };
        let kind = match (chosen, value) {
            (Some(kind), _) => kind,
            (None, Some(Value::Array(_))) => Type::Array,
            (None, Some(Value::Null | Value::Object(_)) | None) => Type::Object,
            (None, Some(_)) => return Atom::Scalar(Scalar::Any),
        };
        match kind {
            Type::Object => Atom::Map(self.map()),
            Type::Array => Atom::List(self.list()),
            Type::Integer | Type::Number => Atom::Scalar(Scalar::Number),
            Type::Boolean => Atom::Scalar(Scalar::Boolean),
            Type::String => Atom::Scalar(self.text()),
        }
    }

    fn text(self) -> Scalar {
        match self {
            Self::Typed { schema, .. }
                if !is_quantity(schema)
                    && !schema.int_or_string
                    && matches!(schema.format.as_deref(), None | Some("" | "byte")) =>
            {
                Scalar::Text
            }
            _ => Scalar::Any,
        }
    }

    /// The shape as that of an object.
    pub(crate) fn map(self) -> MapShape<'s> {
        match self {
            Self::Typed { schema, preserve } => {
                MapShape { shape: self, preserve, atomic: schema.atomic_map }
            }
            Self::Deduced => MapShape { shape: self, preserve: true, atomic: false },
            Self::Whole => MapShape { shape: self, preserve: true, atomic: true },
        }
    }

    fn list(self) -> ListShape<'s> {
        let Self::Typed { schema, preserve } = self else {
            return ListShape { kind: ListKind::Atomic, entries: Shape::Whole };
        };
        let entries = match &schema.items {
            Some(items) => Self::below(items, preserve),
            None => Shape::Whole,
        };
        let kind = match (schema.list_type, &schema.patch) {
            (Some(ListType::Set), _) => ListKind::Set,
            (Some(ListType::Map), _) if schema.list_map_keys.is_empty() => ListKind::Set,
            (Some(ListType::Map), _) => ListKind::Keyed(&schema.list_map_keys),
            (None, Some(patch)) if patch.merge => match &patch.merge_key {
                Some(key) => ListKind::Keyed(slice::from_ref(key)),
                None => ListKind::Set,
            },
            (Some(ListType::Atomic) | None, _) => ListKind::Atomic,
        };
        ListShape { kind, entries }
    }

    /// Whether both sides of a comparison are treated alike regardless of their values.
    pub(crate) fn is_fixed(self) -> bool {
        matches!(self, Self::Typed { schema, .. } if fixed_type(schema).is_some())
    }
}

/// The type that a schema insists on; none where the value decides.
fn fixed_type(schema: &Schema) -> Option<Type> {
    if schema.int_or_string || is_quantity(schema) { Some(Type::String) } else { schema.kind }
}

fn is_quantity(schema: &Schema) -> bool {
    named(schema, "io.k8s.apimachinery.pkg.api.resource.Quantity")
}

fn named(schema: &Schema, name: &str) -> bool {
    schema.name.as_deref() == Some(name)
}

impl<'s> MapShape<'s> {
    /// The schema of a field that is declared, with its shape.
    pub(crate) fn declared(&self, name: &str) -> Option<(&'s Schema, Shape<'s>)> {
        let Shape::Typed { schema, .. } = self.shape else { return None };
        let field = schema.properties.get(name)?;
        Some((field, Shape::below(field, self.preserve)))
    }

    /// The shape of fields that are not declared; none if there must not be any.
    pub(crate) fn others(&self) -> Option<Shape<'s>> {
        let schema = match self.shape {
            Shape::Typed { schema, .. } => schema,
            other => return Some(other),
        };
        match &schema.additional {
            Some(Additional::Schema(values)) => Some(Shape::below(values, self.preserve)),
            Some(Additional::Allowed(true)) => Some(Shape::Deduced),
            None if self.preserve || schema.properties.is_empty() => Some(Shape::Deduced),
            Some(Additional::Allowed(false)) | None => None,
        }
    }

    /// The shape of any field; deduced where there should be none.
    pub(crate) fn field(&self, name: &str) -> Shape<'s> {
        self.declared(name).map_or_else(|| self.undeclared(), |(_, shape)| shape)
    }

    /// The shape of a field that is not declared; deduced where there should be none.
    pub(crate) fn undeclared(&self) -> Shape<'s> {
        self.others().unwrap_or(Shape::Deduced)
    }

    /// Whether a field must be given.
    pub(crate) fn requires(&self, name: &str) -> bool {
        let Shape::Typed { schema, .. } = self.shape else { return false };
        schema.required.iter().any(|required| required == name)
    }

    /// Whether nothing is known about the object.
    pub(crate) fn is_unknown(&self) -> bool {
        match self.shape {
            Shape::Typed { schema, .. } => {
                schema.properties.is_empty() && matches!(self.others(), Some(Shape::Deduced))
            }
            Shape::Deduced => true,
            Shape::Whole => false,
        }
    }
}

impl<'s> ListShape<'s> {
    /// What tells an entry of the array apart from others.
    pub(crate) fn step<'v>(&self, entry: &'v Value) -> Result<Step<'v>, String>
    where
        's: 'v,
    {
        match self.kind {
            ListKind::Atomic => Err("invalid indexing of non-associative list".to_owned()),
            ListKind::Set => match entry {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".to_owned())
                }
                Value::Array(_) => {
                    Err("not supported: associative list with lists as elements".to_owned())
                }
                Value::Null => {
                    Err("associative list without keys has an element that's an explicit null"
                        .to_owned())
                }
                value => Ok(Step::Value(value)),
            },
            ListKind::Keyed(names) => self.key(names, entry),
        }
    }

    fn key<'v>(&self, names: &'s [String], entry: &'v Value) -> Result<Step<'v>, String>
    where
        's: 'v,
    {
        let fields = match entry {
            Value::Object(fields) => fields,
            Value::Null => {
                return Err("associative list with keys may not have a null element".to_owned());
            }
            _ => {
                return Err("associative list with keys may not have non-map elements".to_owned());
            }
        };
        let mut key: Vec<(&'v str, &'v Value)> = Vec::with_capacity(names.len());
        for name in names {
            let value = fields.get(name).or_else(|| self.default_of(name));
            key.extend(value.map(|value| (name.as_str(), value)));
        }
        if key.is_empty() && !names.is_empty() {
            let names: Vec<String> = names.iter().map(|name| crate::go::quoted(name)).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and \
                 doesn't have default values for any key fields)",
                names.join(" ")
            ));
        }
        key.sort_by_key(|(name, _)| *name);
        Ok(Step::Key(key))
    }

    fn default_of(&self, name: &str) -> Option<&'s Value> {
        let (schema, _) = self.entries.map().declared(name)?;
        schema.default.as_ref()
    }
}
