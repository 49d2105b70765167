//! The shape of a value.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

/// The shape of a value, as a structural OpenAPI v3 schema says it.
///
/// Schemas of built-in kinds share their parts (a `PodSpec` is one schema in all workloads), hence
/// the `Arc`s.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    /// The name under which OpenAPI documents publish it, such as `io.k8s.api.core.v1.PodSpec`;
    /// none for schemas that are only written in place.
    pub name: Option<Arc<str>>,
    /// What the field is for, for readers of `kubectl explain`.
    pub description: Option<Arc<str>>,
    /// A short name for readers.
    pub title: Option<String>,
    /// A value for readers to look at.
    pub example: Option<Value>,
    /// Where to read more (`externalDocs`), as it was given.
    pub external_docs: Option<Value>,
    /// The JSON type; none means any (only with `int_or_string` or `preserve_unknown_fields`).
    pub kind: Option<Type>,
    /// Whether `null` is a value of its own rather than "not given".
    pub nullable: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown_fields: bool,
    /// `x-kubernetes-embedded-resource`: has apiVersion, kind and metadata.
    pub embedded_resource: bool,
    /// Fields of an object.
    pub properties: BTreeMap<String, Arc<Schema>>,
    /// Fields of an object beyond `properties`: a map's values.
    pub additional: Option<Additional>,
    /// Entries of an array.
    pub items: Option<Arc<Schema>>,
    /// Fields that must be given.
    pub required: Vec<String>,
    /// The value when none is given.
    pub default: Option<Value>,
    /// How entries of an array are told apart in merges (`x-kubernetes-list-type`).
    pub list_type: Option<ListType>,
    /// Which fields tell entries apart (`x-kubernetes-list-map-keys`).
    pub list_map_keys: Vec<String>,
    /// `x-kubernetes-map-type: atomic`: the object is owned and replaced as a whole.
    pub atomic_map: bool,
    /// `x-kubernetes-map-type: granular`, said explicitly; it is also what holds without a word.
    pub granular_map: bool,
    /// How a strategic merge patch treats the field.
    pub patch: Option<Patch>,
    /// `format`, such as `int32` or `date-time`.
    pub format: Option<String>,
    /// The only values allowed.
    pub enumeration: Option<Vec<Value>>,
    /// A regular expression that a string must contain a match of.
    pub pattern: Option<String>,
    /// `minimum`.
    pub minimum: Option<f64>,
    /// `maximum`.
    pub maximum: Option<f64>,
    /// Whether `minimum` itself is refused.
    pub exclusive_minimum: bool,
    /// Whether `maximum` itself is refused.
    pub exclusive_maximum: bool,
    /// `multipleOf`.
    pub multiple_of: Option<f64>,
    /// Shortest string, in characters.
    pub min_length: Option<u64>,
    /// Longest string, in characters.
    pub max_length: Option<u64>,
    /// Shortest array.
    pub min_items: Option<u64>,
    /// Longest array.
    pub max_items: Option<u64>,
    /// Smallest object.
    pub min_properties: Option<u64>,
    /// Largest object.
    pub max_properties: Option<u64>,
    /// Whether entries of an array must differ.
    pub unique_items: bool,
    /// Every one of these must hold.
    pub all_of: Vec<Schema>,
    /// One of these must hold at least.
    pub any_of: Vec<Schema>,
    /// Exactly one of these must hold.
    pub one_of: Vec<Schema>,
    /// This must not hold.
    pub not: Option<Box<Schema>>,
    /// CEL rules (`x-kubernetes-validations`).
    pub rules: Vec<Rule>,
}

/// A JSON type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A JSON object, with known fields or as a map.
    Object,
    /// A JSON array.
    Array,
    /// A string.
    String,
    /// A number without fraction.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
}

impl Type {
    /// The word OpenAPI has for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }

    /// The type of that word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Object, Self::Array, Self::String, Self::Integer, Self::Number, Self::Boolean]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

/// What `additionalProperties` says.
#[derive(Clone, Debug, PartialEq)]
pub enum Additional {
    /// `true` or `false`.
    Allowed(bool),
    /// Every value has this shape.
    Schema(Arc<Schema>),
}

/// How the entries of an array are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListType {
    /// They are not: the array is replaced as a whole.
    Atomic,
    /// By their value.
    Set,
    /// By the fields in `list_map_keys`.
    Map,
}

impl ListType {
    /// The word `x-kubernetes-list-type` has for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Atomic => "atomic",
            Self::Set => "set",
            Self::Map => "map",
        }
    }
}

/// How a strategic merge patch treats a field (`x-kubernetes-patch-strategy` and `-merge-key`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// The field is merged rather than replaced.
    pub merge: bool,
    /// Fields that the patch does not name in `$retainKeys` are dropped.
    pub retain_keys: bool,
    /// Which field tells entries of an array apart.
    pub merge_key: Option<String>,
}

/// A CEL rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The expression; it holds when it is true.
    pub rule: String,
    /// What to say when it does not hold.
    pub message: Option<String>,
    /// A CEL expression that makes the message.
    pub message_expression: Option<String>,
    /// The sort of error, by its cause's reason; `FieldValueInvalid` when not given.
    pub reason: Option<String>,
    /// The field at fault, relative to the rule's place.
    pub field_path: Option<String>,
    /// Whether a rule about `oldSelf` also runs when there was no old value.
    pub optional_old_self: bool,
}

impl Schema {
    /// The shape of the values of a map, if the schema describes one.
    pub fn additional_schema(&self) -> Option<&Arc<Schema>> {
        match &self.additional {
            Some(Additional::Schema(schema)) => Some(schema),
            _ => None,
        }
    }

    /// The word for the type, empty when there is none.
    pub(crate) fn kind_word(&self) -> &'static str {
        self.kind.map_or("", Type::as_str)
    }
}
