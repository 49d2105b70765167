//! What a schema must be like for custom resources to be stored by it: structural.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    crd,
    error::{ErrorKind, FieldError},
    prune, regexes,
    schema::{Additional, Schema, Type},
    validate::Validator,
};

/// Where a schema stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Items,
    Field,
}

impl Schema {
    /// What keeps the schema from being that of a CustomResourceDefinition, in the API server's
    /// words and order.
    ///
    /// `path` is the place of the schema: the API server says `spec.validation.openAPIV3Schema`
    /// when all versions have the same schema (a single version has), and
    /// `spec.versions[0].schema.openAPIV3Schema` otherwise.
    pub fn check_structural(&self, path: &str) -> Vec<FieldError> {
        check(&Arc::new(self.clone()), Vec::new(), path)
    }

    /// What is wrong with the `openAPIV3Schema` of a CustomResourceDefinition, whatever it is:
    /// [`Schema::from_json`] and [`Schema::check_structural`] in one, with all errors.
    pub fn check_json(value: &Value, path: &str) -> Vec<FieldError> {
        let (schema, unreadable) = Self::read(value, path);
        check(&Arc::new(schema), unreadable, path)
    }
}

fn check(schema: &Arc<Schema>, unreadable: Vec<FieldError>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if schema.nullable {
        let field = format!("{path}.nullable");
        errors.push(FieldError::forbidden(field, "nullable cannot be true at the root"));
    }
    // What has fields that are not supported at all is not looked at as a structural schema.
    let readable = unreadable.iter().all(|error| error.kind == ErrorKind::NotSupported);
    let mut found = Vec::new();
    if readable {
        invariants(schema, Level::Root, path, &mut found);
        complete(schema, Some(schema), path, path, &mut found);
        // A type that is not known is not a type that is missing.
        found.retain(|error| unreadable.iter().all(|known| known.field != error.field));
        if found.is_empty() {
            defaults(schema, path, Meta::Root, &mut found);
        } else {
            found.sort_by_cached_key(ToString::to_string);
        }
    }
    let sound = readable && found.is_empty();
    errors.extend(found);
    errors.extend(unreadable);
    errors.extend(crd::check(schema, path, sound));
    errors
}

fn invariants(schema: &Schema, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    if schema.kind == Some(Type::Array) && schema.items.is_none() {
        errors.push(FieldError::required(format!("{path}.items"), "must be specified"));
    }
    if let Some(items) = &schema.items {
        invariants(items, Level::Items, &format!("{path}.items"), errors);
    }
    for (name, property) in &schema.properties {
        invariants(property, Level::Field, &format!("{path}.properties[{name}]"), errors);
    }
    let additional = format!("{path}.additionalProperties");
    if schema.additional.is_some() && level == Level::Root {
        errors.push(FieldError::forbidden(&additional, "must not be used at the root"));
    }
    if let Some(values) = schema.additional_schema() {
        invariants(values, Level::Field, &additional, errors);
    }
    extensions(schema, path, errors);
    let either = is_int_or_string(&schema.any_of);
    let first_either = schema.all_of.first().is_some_and(|first| is_int_or_string(&first.any_of));
    validations(schema, either, first_either, path, errors);
    type_invariants(schema, level, path, errors);
    if schema.embedded_resource && schema.additional.is_some() {
        let words = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(additional, words));
    }
    metadata_invariants(schema, level, path, errors);
    if schema.embedded_resource && !schema.preserve_unknown_fields && schema.properties.is_empty() {
        let words = "must not be empty if x-kubernetes-embedded-resource is true without \
                     x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(format!("{path}.properties"), words));
    }
}

fn extensions(schema: &Schema, path: &str, errors: &mut Vec<FieldError>) {
    if !schema.int_or_string {
        return;
    }
    for (set, field) in [
        (schema.preserve_unknown_fields, "x-kubernetes-preserve-unknown-fields"),
        (schema.embedded_resource, "x-kubernetes-embedded-resource"),
    ] {
        if set {
            let words = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(format!("{path}.{field}"), true, words));
        }
    }
}

fn type_invariants(schema: &Schema, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let field = format!("{path}.type");
    match schema.kind {
        None if schema.embedded_resource => {
            let words = "must be object if x-kubernetes-embedded-resource is true";
            errors.push(FieldError::required(&field, words));
        }
        Some(kind) if schema.embedded_resource && kind != Type::Object => {
            let words = "must be object if x-kubernetes-embedded-resource is true";
            errors.push(FieldError::invalid(&field, kind.as_str(), words));
        }
        None if !schema.int_or_string && !schema.preserve_unknown_fields => {
            let words = match level {
                Level::Root => "must not be empty at the root",
                Level::Items => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            };
            errors.push(FieldError::required(&field, words));
        }
        _ => {}
    }
    if let Some(kind) = schema.kind
        && level == Level::Root
        && kind != Type::Object
    {
        errors.push(FieldError::invalid(field, kind.as_str(), "must be object at the root"));
    }
}

/// What `apiVersion`, `kind` and `metadata` may be said to be.
fn metadata_invariants(schema: &Schema, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let is_resource = level == Level::Root || schema.embedded_resource;
    for name in ["kind", "apiVersion"] {
        if let Some(property) = schema.properties.get(name)
            && is_resource
            && property.kind != Some(Type::String)
        {
            let field = format!("{path}.properties[{name}].type");
            errors.push(FieldError::invalid(field, property.kind_word(), "must be string"));
        }
    }
    let Some(metadata) = schema.properties.get("metadata") else { return };
    let path = format!("{path}.properties[metadata]");
    if is_resource && metadata.kind != Some(Type::Object) {
        let field = format!("{path}.type");
        errors.push(FieldError::invalid(field, metadata.kind_word(), "must be object"));
    }
    if level == Level::Root {
        let mut rest = Schema { kind: None, default: None, ..Schema::clone(metadata) };
        if rest.properties.keys().all(|name| name == "name" || name == "generateName") {
            rest.properties.clear();
        }
        if rest != Schema::default() {
            errors.push(FieldError::forbidden(
                path,
                "must not specify anything other than name and generateName, but metadata is \
                 implicitly specified",
            ));
        }
    }
}

/// Whether these alternatives are exactly an integer and a string.
fn is_int_or_string(alternatives: &[Schema]) -> bool {
    let only = |kind: Type| Schema { kind: Some(kind), ..Schema::default() };
    *alternatives == [only(Type::Integer), only(Type::String)]
}

fn validations(
    schema: &Schema,
    skip_any_of: bool,
    skip_first: bool,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    if !skip_any_of {
        for (i, inner) in schema.any_of.iter().enumerate() {
            nested(inner, false, &format!("{path}.anyOf[{i}]"), errors);
        }
    }
    for (i, inner) in schema.all_of.iter().enumerate() {
        nested(inner, skip_first && i == 0, &format!("{path}.allOf[{i}]"), errors);
    }
    for (i, inner) in schema.one_of.iter().enumerate() {
        nested(inner, false, &format!("{path}.oneOf[{i}]"), errors);
    }
    if let Some(inner) = &schema.not {
        nested(inner, false, &format!("{path}.not"), errors);
    }
    if let Some(pattern) = &schema.pattern
        && let Err(error) = regexes::compile(pattern)
    {
        let words = format!("must be a valid regular expression, but isn't: {error}");
        errors.push(FieldError::invalid(format!("{path}.pattern"), pattern.as_str(), words));
    }
}

/// A schema within a logical junctor may only say what values must be, not what they are.
fn nested(schema: &Schema, skip_any_of: bool, path: &str, errors: &mut Vec<FieldError>) {
    validations(schema, skip_any_of, false, path, errors);
    if let Some(items) = &schema.items {
        nested(items, false, &format!("{path}.items"), errors);
    }
    for (name, property) in &schema.properties {
        nested(property, false, &format!("{path}.properties[{name}]"), errors);
    }
    let additional = !matches!(schema.additional, None | Some(Additional::Allowed(false)));
    for (said, field, must_be) in [
        (schema.kind.is_some(), "type", "empty"),
        (additional, "additionalProperties", "undefined"),
        (schema.default.is_some(), "default", "undefined"),
        (schema.title.is_some(), "title", "empty"),
        (schema.description.is_some(), "description", "empty"),
        (schema.nullable, "nullable", "false"),
        (schema.preserve_unknown_fields, "x-kubernetes-preserve-unknown-fields", "false"),
        (schema.embedded_resource, "x-kubernetes-embedded-resource", "false"),
        (schema.int_or_string, "x-kubernetes-int-or-string", "false"),
        (!schema.list_map_keys.is_empty(), "x-kubernetes-list-map-keys", "empty"),
        (schema.list_type.is_some(), "x-kubernetes-list-type", "undefined"),
        (schema.atomic_map || schema.granular_map, "x-kubernetes-map-type", "undefined"),
        (!schema.rules.is_empty(), "x-kubernetes-validations", "empty"),
    ] {
        if said {
            let words = format!("must be {must_be} to be structural");
            errors.push(FieldError::forbidden(format!("{path}.{field}"), words));
        }
    }
    if schema.properties.contains_key("metadata") {
        let field = format!("{path}.properties[metadata]");
        errors.push(FieldError::forbidden(field, "must not be specified in a nested context"));
    }
}

/// What junctors say something about must be described outside of them.
fn complete(
    said: &Schema,
    described: Option<&Schema>,
    path: &str,
    said_at: &str,
    errors: &mut Vec<FieldError>,
) {
    let nots = said.not.as_deref().map(|inner| (format!("{said_at}.not"), inner));
    let named = |name: &'static str, list: &'_ [Schema]| -> Vec<String> {
        (0..list.len()).map(|i| format!("{said_at}.{name}[{i}]")).collect()
    };
    let lists = [("allOf", &said.all_of), ("anyOf", &said.any_of), ("oneOf", &said.one_of)];
    let listed = lists.into_iter().flat_map(|(name, list)| named(name, list).into_iter().zip(list));
    for (at, inner) in nots.into_iter().chain(listed) {
        complete_nested(inner, described, path, &at, errors);
    }
}

fn complete_nested(
    said: &Schema,
    described: Option<&Schema>,
    path: &str,
    said_at: &str,
    errors: &mut Vec<FieldError>,
) {
    let Some(known) = described else {
        errors.push(FieldError::required(path, format!("because it is defined in {said_at}")));
        return;
    };
    complete(said, described, path, said_at, errors);
    if let Some(items) = &said.items {
        let (path, said_at) = (format!("{path}.items"), format!("{said_at}.items"));
        complete_nested(items, known.items.as_deref(), &path, &said_at, errors);
    }
    for (name, property) in &said.properties {
        let path = format!("{path}.properties[{name}]");
        let said_at = format!("{said_at}.properties[{name}]");
        let known = known.properties.get(name).map(AsRef::as_ref);
        complete_nested(property, known, &path, &said_at, errors);
    }
}

/// Whether a schema describes a resource's own fields.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meta {
    /// The schema is that of the resource.
    Root,
    Outside,
    Inside,
}

/// Defaults must be values that the schema accepts and knows.
fn defaults(schema: &Arc<Schema>, path: &str, meta: Meta, errors: &mut Vec<FieldError>) {
    let meta = if schema.embedded_resource { Meta::Root } else { meta };
    if let Some(default) = &schema.default {
        let field = format!("{path}.default");
        if meta != Meta::Inside {
            let mut pruned = default.clone();
            prune::prune_value(&mut pruned, schema);
            if pruned != *default {
                let words = "must not have unknown fields";
                errors.push(FieldError::invalid(&field, default.clone(), words));
            }
        }
        errors.extend(Validator::of_part(schema).validate_part(default, &field));
    }
    let inner = if meta == Meta::Inside { Meta::Inside } else { Meta::Outside };
    if let Some(items) = &schema.items {
        defaults(items, &format!("{path}.items"), inner, errors);
    }
    for (name, property) in &schema.properties {
        let own = meta == Meta::Root && prune::META_FIELDS.contains(&name.as_str());
        let inner = if own { Meta::Inside } else { inner };
        defaults(property, &format!("{path}.properties[{name}]"), inner, errors);
    }
}
