//! Writing a schema again, for OpenAPI v3 documents.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Number, Value};

use crate::schema::{Additional, Patch, Rule, Schema};

impl Schema {
    /// The schema as JSON, with everything in place: the form in which it was read.
    pub fn to_json(&self) -> Value {
        write(self, &mut |schema| write_in_place(schema))
    }

    /// The schema as JSON in which every named schema below it is a reference to
    /// `#/components/schemas/<name>`; [`Schema::components`] has those.
    pub fn to_json_with_references(&self) -> Value {
        write(self, &mut |schema| reference_or(schema))
    }

    /// The named schemas that this one consists of, itself included if it has a name, each as an
    /// OpenAPI document publishes it under `components.schemas`.
    pub fn components(&self) -> BTreeMap<Arc<str>, Value> {
        let mut found = BTreeMap::new();
        collect(self, &mut found);
        found
    }
}

fn write_in_place(schema: &Schema) -> Value {
    write(schema, &mut |inner| write_in_place(inner))
}

fn reference_or(schema: &Schema) -> Value {
    let Some(name) = &schema.name else {
        return write(schema, &mut |inner| reference_or(inner));
    };
    let reference = Value::from(format!("#/components/schemas/{name}"));
    let mut out = Map::new();
    // A reference stands alone; what belongs to the field rather than to its type goes beside it.
    if schema.description.is_some() || schema.default.is_some() {
        let target = Map::from_iter([("$ref".to_owned(), reference)]);
        out.insert("allOf".to_owned(), Value::Array(vec![Value::Object(target)]));
        if let Some(default) = &schema.default {
            out.insert("default".to_owned(), default.clone());
        }
        if let Some(description) = &schema.description {
            out.insert("description".to_owned(), Value::from(&**description));
        }
    } else {
        out.insert("$ref".to_owned(), reference);
    }
    Value::Object(out)
}

fn collect(schema: &Schema, found: &mut BTreeMap<Arc<str>, Value>) {
    if let Some(name) = &schema.name {
        if found.contains_key(name) {
            return;
        }
        found.insert(Arc::clone(name), schema.to_json_with_references());
    }
    for inner in schema.children() {
        collect(inner, found);
    }
}

impl Schema {
    /// The schemas directly inside this one, those of logical junctors included.
    fn children(&self) -> impl Iterator<Item = &Schema> {
        let fields = self.properties.values().map(AsRef::as_ref);
        let values = self.additional_schema().map(AsRef::as_ref);
        let junctors = self.all_of.iter().chain(&self.any_of).chain(&self.one_of);
        fields.chain(values).chain(self.items.as_deref()).chain(junctors).chain(self.not.as_deref())
    }
}

/// Writes the fields of `schema`; `inner` writes the schemas inside it.
fn write(schema: &Schema, inner: &mut dyn FnMut(&Schema) -> Value) -> Value {
    let mut out = Map::new();
    write_words(schema, &mut out);
    write_limits(schema, &mut out);
    write_extensions(schema, &mut out);
    let mut put = |field: &str, value: Value| {
        out.insert(field.to_owned(), value);
    };
    if !schema.properties.is_empty() {
        let write = |(name, property): (&String, &Arc<Schema>)| (name.clone(), inner(property));
        put("properties", Value::Object(schema.properties.iter().map(write).collect()));
    }
    match &schema.additional {
        None => {}
        Some(Additional::Allowed(allowed)) => put("additionalProperties", Value::Bool(*allowed)),
        Some(Additional::Schema(values)) => put("additionalProperties", inner(values)),
    }
    if let Some(items) = &schema.items {
        put("items", inner(items));
    }
    for (field, junctors) in
        [("allOf", &schema.all_of), ("anyOf", &schema.any_of), ("oneOf", &schema.one_of)]
    {
        if !junctors.is_empty() {
            put(field, Value::Array(junctors.iter().map(&mut *inner).collect()));
        }
    }
    if let Some(not) = &schema.not {
        put("not", inner(not));
    }
    Value::Object(out)
}

fn write_words(schema: &Schema, out: &mut Map<String, Value>) {
    let mut put = |field: &str, value: Option<Value>| {
        if let Some(value) = value {
            out.insert(field.to_owned(), value);
        }
    };
    put("description", schema.description.as_deref().map(Value::from));
    put("title", schema.title.as_deref().map(Value::from));
    put("type", schema.kind.map(|kind| Value::from(kind.as_str())));
    put("format", schema.format.as_deref().map(Value::from));
    put("nullable", schema.nullable.then_some(Value::Bool(true)));
    put("default", schema.default.clone());
    put("example", schema.example.clone());
    put("externalDocs", schema.external_docs.clone());
    put("enum", schema.enumeration.clone().map(Value::Array));
    put("pattern", schema.pattern.as_deref().map(Value::from));
    let required = schema.required.iter().map(|name| Value::from(name.as_str())).collect();
    put("required", (!schema.required.is_empty()).then_some(Value::Array(required)));
}

fn write_limits(schema: &Schema, out: &mut Map<String, Value>) {
    for (field, limit) in [
        ("minimum", schema.minimum),
        ("maximum", schema.maximum),
        ("multipleOf", schema.multiple_of),
    ] {
        if let Some(limit) = limit {
            out.insert(field.to_owned(), number(limit));
        }
    }
    for (field, count) in [
        ("minLength", schema.min_length),
        ("maxLength", schema.max_length),
        ("minItems", schema.min_items),
        ("maxItems", schema.max_items),
        ("minProperties", schema.min_properties),
        ("maxProperties", schema.max_properties),
    ] {
        if let Some(count) = count {
            out.insert(field.to_owned(), Value::from(count));
        }
    }
    for (field, flag) in [
        ("exclusiveMinimum", schema.exclusive_minimum),
        ("exclusiveMaximum", schema.exclusive_maximum),
        ("uniqueItems", schema.unique_items),
    ] {
        if flag {
            out.insert(field.to_owned(), Value::Bool(true));
        }
    }
}

/// A limit, without a fraction where it has none.
fn number(limit: f64) -> Value {
    let whole = limit as i64;
    if limit.fract() == 0.0 && limit.abs() < 9e15 {
        return Value::from(whole);
    }
    Number::from_f64(limit).map_or(Value::Null, Value::Number)
}

fn write_extensions(schema: &Schema, out: &mut Map<String, Value>) {
    let mut put = |field: &str, value: Option<Value>| {
        if let Some(value) = value {
            out.insert(format!("x-kubernetes-{field}"), value);
        }
    };
    let flag = |flag: bool| flag.then_some(Value::Bool(true));
    put("int-or-string", flag(schema.int_or_string));
    put("preserve-unknown-fields", flag(schema.preserve_unknown_fields));
    put("embedded-resource", flag(schema.embedded_resource));
    put("list-type", schema.list_type.map(|kind| Value::from(kind.as_str())));
    let keys = schema.list_map_keys.iter().map(|key| Value::from(key.as_str())).collect();
    put("list-map-keys", (!schema.list_map_keys.is_empty()).then_some(Value::Array(keys)));
    put("map-type", schema.atomic_map.then(|| Value::from("atomic")));
    put("map-type", schema.granular_map.then(|| Value::from("granular")));
    if let Some(Patch { merge, retain_keys, merge_key }) = &schema.patch {
        let words = [(*retain_keys, "retainKeys"), (*merge, "merge")];
        let strategy: Vec<&str> =
            words.into_iter().filter_map(|(said, word)| said.then_some(word)).collect();
        put("patch-strategy", (!strategy.is_empty()).then(|| Value::from(strategy.join(","))));
        put("patch-merge-key", merge_key.as_deref().map(Value::from));
    }
    let rules = schema.rules.iter().map(rule_to_json).collect();
    put("validations", (!schema.rules.is_empty()).then_some(Value::Array(rules)));
}

/// A rule as a CustomResourceDefinition writes it.
pub(crate) fn rule_to_json(rule: &Rule) -> Value {
    let mut out = Map::new();
    let mut put = |field: &str, value: Option<&str>| {
        if let Some(value) = value {
            out.insert(field.to_owned(), Value::from(value));
        }
    };
    put("rule", Some(&rule.rule));
    put("message", rule.message.as_deref());
    put("messageExpression", rule.message_expression.as_deref());
    put("reason", rule.reason.as_deref());
    put("fieldPath", rule.field_path.as_deref());
    if rule.optional_old_self {
        out.insert("optionalOldSelf".to_owned(), Value::Bool(true));
    }
    Value::Object(out)
}
