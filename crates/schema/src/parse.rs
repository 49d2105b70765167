//! Reading a schema as a CustomResourceDefinition writes it.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value};

use crate::{
    error::{ErrorKind, FieldError},
    schema::{Additional, ListType, Patch, Rule, Schema, Type},
};

/// The types that may be named in a schema, sorted as the API server lists them.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Fields of JSON Schema that custom resources cannot use.
const UNSUPPORTED: [&str; 6] =
    ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"];

impl Schema {
    /// Reads the `openAPIV3Schema` of a CustomResourceDefinition's version, or the schema of an
    /// OpenAPI v3 document without references.
    ///
    /// What cannot be said by a [`Schema`] (an unknown type, `$ref`, `patternProperties`) is an
    /// error here; what can be said but must not be is found by [`Schema::check_structural`].
    pub fn from_json(value: &Value) -> Result<Self, Vec<FieldError>> {
        let (schema, errors) = Self::read(value, "openAPIV3Schema");
        if errors.is_empty() { Ok(schema) } else { Err(errors) }
    }

    /// Reads as much as possible, and says what could not be read.
    pub(crate) fn read(value: &Value, path: &str) -> (Self, Vec<FieldError>) {
        let mut reader = Reader { errors: Vec::new() };
        let schema = reader.schema(value, path);
        (schema, reader.errors)
    }
}

struct Reader {
    errors: Vec<FieldError>,
}

impl Reader {
    fn wrong(&mut self, path: &str, field: &str, value: &Value, wanted: &str) {
        self.errors.push(FieldError::new(
            ErrorKind::TypeInvalid,
            format!("{path}.{field}"),
            Some(value.clone()),
            format!("must be {wanted}"),
        ));
    }

    /// A field's value, where `null` counts as not given.
    fn given<'v>(fields: &'v Map<String, Value>, field: &str) -> Option<&'v Value> {
        fields.get(field).filter(|value| !value.is_null())
    }

    fn text(&mut self, fields: &Map<String, Value>, path: &str, field: &str) -> Option<String> {
        let value = Self::given(fields, field)?;
        if value.as_str().is_none() {
            self.wrong(path, field, value, "a string");
        }
        value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    }

    fn flag(&mut self, fields: &Map<String, Value>, path: &str, field: &str) -> bool {
        let Some(value) = Self::given(fields, field) else { return false };
        if value.as_bool().is_none() {
            self.wrong(path, field, value, "true or false");
        }
        value.as_bool() == Some(true)
    }

    fn number(&mut self, fields: &Map<String, Value>, path: &str, field: &str) -> Option<f64> {
        let value = Self::given(fields, field)?;
        if value.as_f64().is_none() {
            self.wrong(path, field, value, "a number");
        }
        value.as_f64()
    }

    /// A count; negative ones mean zero, as nothing is shorter than empty.
    fn count(&mut self, fields: &Map<String, Value>, path: &str, field: &str) -> Option<u64> {
        let value = Self::given(fields, field)?;
        let whole = value.as_i64().or_else(|| {
            value.as_f64().filter(|number| number.fract() == 0.0).map(|number| number as i64)
        });
        if whole.is_none() {
            self.wrong(path, field, value, "a whole number");
        }
        whole.map(|count| u64::try_from(count).unwrap_or(0))
    }

    fn texts(&mut self, fields: &Map<String, Value>, path: &str, field: &str) -> Vec<String> {
        let Some(value) = Self::given(fields, field) else { return Vec::new() };
        let texts: Option<Vec<String>> = value
            .as_array()
            .and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        texts.unwrap_or_else(|| {
            self.wrong(path, field, value, "a list of strings");
            Vec::new()
        })
    }

    fn schemas(&mut self, fields: &Map<String, Value>, path: &str, field: &str) -> Vec<Schema> {
        let Some(value) = Self::given(fields, field) else { return Vec::new() };
        let Some(items) = value.as_array() else {
            self.wrong(path, field, value, "a list of schemas");
            return Vec::new();
        };
        let read = |(i, item)| self.schema(item, &format!("{path}.{field}[{i}]"));
        items.iter().enumerate().map(read).collect()
    }

    fn properties(
        &mut self,
        fields: &Map<String, Value>,
        path: &str,
    ) -> BTreeMap<String, Arc<Schema>> {
        let Some(value) = Self::given(fields, "properties") else { return BTreeMap::new() };
        let Some(properties) = value.as_object() else {
            self.wrong(path, "properties", value, "an object of schemas");
            return BTreeMap::new();
        };
        let read = |(name, property): (&String, &Value)| {
            let schema = self.schema(property, &format!("{path}.properties[{name}]"));
            (name.clone(), Arc::new(schema))
        };
        properties.iter().map(read).collect()
    }

    fn additional(&mut self, fields: &Map<String, Value>, path: &str) -> Option<Additional> {
        Some(match Self::given(fields, "additionalProperties")? {
            Value::Bool(allowed) => Additional::Allowed(*allowed),
            value => {
                let schema = self.schema(value, &format!("{path}.additionalProperties"));
                Additional::Schema(Arc::new(schema))
            }
        })
    }

    fn items(&mut self, fields: &Map<String, Value>, path: &str) -> Option<Arc<Schema>> {
        let value = Self::given(fields, "items")?;
        if value.is_array() {
            self.errors.push(FieldError::forbidden(
                format!("{path}.items"),
                "items must be a schema object and not an array",
            ));
            return None;
        }
        Some(Arc::new(self.schema(value, &format!("{path}.items"))))
    }

    fn kind(&mut self, fields: &Map<String, Value>, path: &str) -> Option<Type> {
        let word = self.text(fields, path, "type")?;
        let kind = Type::parse(&word);
        if kind.is_none() {
            let field = format!("{path}.type");
            self.errors.push(FieldError::not_supported(&field, word.as_str(), &TYPES));
            if word == "null" {
                self.errors.push(FieldError::forbidden(
                    field,
                    "type cannot be set to null, use nullable as an alternative",
                ));
            }
        }
        kind
    }

    fn list_type(&mut self, fields: &Map<String, Value>, path: &str) -> Option<ListType> {
        let field = "x-kubernetes-list-type";
        let word = self.text(fields, path, field)?;
        let known = [ListType::Atomic, ListType::Set, ListType::Map];
        let found = known.into_iter().find(|kind| kind.as_str() == word);
        if found.is_none() {
            self.errors.push(FieldError::not_supported(
                format!("{path}.{field}"),
                word,
                &["atomic", "set", "map"],
            ));
        }
        found
    }

    fn map_type(&mut self, fields: &Map<String, Value>, path: &str) -> (bool, bool) {
        let field = "x-kubernetes-map-type";
        let Some(word) = self.text(fields, path, field) else { return (false, false) };
        if word != "atomic" && word != "granular" {
            self.errors.push(FieldError::not_supported(
                format!("{path}.{field}"),
                word.as_str(),
                &["atomic", "granular"],
            ));
        }
        (word == "atomic", word == "granular")
    }

    fn preserve(&mut self, fields: &Map<String, Value>, path: &str) -> bool {
        let field = "x-kubernetes-preserve-unknown-fields";
        let preserve = self.flag(fields, path, field);
        if fields.get(field) == Some(&Value::Bool(false)) {
            self.errors.push(FieldError::invalid(
                format!("{path}.{field}"),
                false,
                "must be true or undefined",
            ));
        }
        preserve
    }

    fn rules(&mut self, fields: &Map<String, Value>, path: &str) -> Vec<Rule> {
        let field = "x-kubernetes-validations";
        let Some(value) = Self::given(fields, field) else { return Vec::new() };
        let Some(items) = value.as_array() else {
            self.wrong(path, field, value, "a list of rules");
            return Vec::new();
        };
        let mut rules = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            let path = format!("{path}.{field}[{i}]");
            let Some(fields) = item.as_object() else {
                self.wrong(path.trim_end_matches(']'), "rule", item, "an object with a rule");
                continue;
            };
            rules.push(Rule {
                rule: self.text(fields, &path, "rule").unwrap_or_default(),
                message: self.text(fields, &path, "message"),
                message_expression: self.text(fields, &path, "messageExpression"),
                reason: self.text(fields, &path, "reason"),
                field_path: self.text(fields, &path, "fieldPath"),
                optional_old_self: self.flag(fields, &path, "optionalOldSelf"),
            });
        }
        rules
    }

    fn patch(&mut self, fields: &Map<String, Value>, path: &str) -> Option<Patch> {
        let strategy = self.text(fields, path, "x-kubernetes-patch-strategy");
        let merge_key = self.text(fields, path, "x-kubernetes-patch-merge-key");
        if strategy.is_none() && merge_key.is_none() {
            return None;
        }
        let has = |word: &str| {
            strategy.as_deref().is_some_and(|list| list.split(',').any(|part| part == word))
        };
        Some(Patch { merge: has("merge"), retain_keys: has("retainKeys"), merge_key })
    }

    fn schema(&mut self, value: &Value, path: &str) -> Schema {
        let Some(fields) = value.as_object() else {
            self.errors.push(FieldError::type_invalid(path, value.clone(), "must be a schema"));
            return Schema::default();
        };
        for field in UNSUPPORTED {
            if Self::given(fields, field).is_some() {
                let detail = format!("{field} is not supported");
                self.errors.push(FieldError::forbidden(format!("{path}.{field}"), detail));
            }
        }
        let (atomic_map, granular_map) = self.map_type(fields, path);
        Schema {
            name: None,
            description: self.text(fields, path, "description").map(Arc::from),
            title: self.text(fields, path, "title"),
            example: Self::given(fields, "example").cloned(),
            external_docs: Self::given(fields, "externalDocs").cloned(),
            kind: self.kind(fields, path),
            nullable: self.flag(fields, path, "nullable"),
            int_or_string: self.flag(fields, path, "x-kubernetes-int-or-string"),
            preserve_unknown_fields: self.preserve(fields, path),
            embedded_resource: self.flag(fields, path, "x-kubernetes-embedded-resource"),
            properties: self.properties(fields, path),
            additional: self.additional(fields, path),
            items: self.items(fields, path),
            required: self.texts(fields, path, "required"),
            default: Self::given(fields, "default").cloned(),
            list_type: self.list_type(fields, path),
            list_map_keys: self.texts(fields, path, "x-kubernetes-list-map-keys"),
            atomic_map,
            granular_map,
            patch: self.patch(fields, path),
            format: self.text(fields, path, "format"),
            enumeration: Self::given(fields, "enum").and_then(Value::as_array).cloned(),
            pattern: self.text(fields, path, "pattern"),
            minimum: self.number(fields, path, "minimum"),
            maximum: self.number(fields, path, "maximum"),
            exclusive_minimum: self.flag(fields, path, "exclusiveMinimum"),
            exclusive_maximum: self.flag(fields, path, "exclusiveMaximum"),
            multiple_of: self.number(fields, path, "multipleOf"),
            min_length: self.count(fields, path, "minLength"),
            max_length: self.count(fields, path, "maxLength"),
            min_items: self.count(fields, path, "minItems"),
            max_items: self.count(fields, path, "maxItems"),
            min_properties: self.count(fields, path, "minProperties"),
            max_properties: self.count(fields, path, "maxProperties"),
            unique_items: self.flag(fields, path, "uniqueItems"),
            all_of: self.schemas(fields, path, "allOf"),
            any_of: self.schemas(fields, path, "anyOf"),
            one_of: self.schemas(fields, path, "oneOf"),
            not: Self::given(fields, "not")
                .map(|value| Box::new(self.schema(value, &format!("{path}.not")))),
            rules: self.rules(fields, path),
        }
    }
}
