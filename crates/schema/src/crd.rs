//! What a CustomResourceDefinition's schema must not say, beyond being structural.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;

use crate::{
    cel::{self, CompiledRule},
    error::{ErrorKind, FieldError},
    prune::META_FIELDS,
    schema::{Additional, ListType, Rule, Schema, Type},
    text,
    validate::augmented,
};

/// Checks a schema and all below it. Rules are compiled only if the schema is `sound` otherwise:
/// their types come from it.
pub(crate) fn check(schema: &Arc<Schema>, path: &str, sound: bool) -> Vec<FieldError> {
    let mut found = Found::default();
    let place = Place { root: true, sound, ..Place::default() };
    let seen = augmented(schema, true);
    visit(schema, &seen, path, &place, &mut found);
    found.schema.extend(found.rules);
    found.schema
}

/// Errors about rules come after all others.
#[derive(Default)]
struct Found {
    schema: Vec<FieldError>,
    rules: Vec<FieldError>,
}

/// What is known about the place of a schema.
#[derive(Clone, Default)]
struct Place {
    root: bool,
    /// Whether rules can be compiled here.
    sound: bool,
    /// Whether this describes a resource's own fields.
    in_meta: bool,
    /// Why there must be no defaults here.
    no_defaults: Option<String>,
    /// The list within which old values cannot be found.
    uncorrelatable: Option<String>,
}

impl Place {
    fn below(&self) -> Self {
        Self { root: false, ..self.clone() }
    }
}

fn visit(schema: &Arc<Schema>, seen: &Arc<Schema>, path: &str, place: &Place, found: &mut Found) {
    let before = found.schema.len();
    let field = |name: &str| format!("{path}.{name}");
    if schema.default.is_some()
        && let Some(reason) = &place.no_defaults
    {
        let words = format!("must not be set {reason}");
        found.schema.push(FieldError::forbidden(field("default"), words));
    }
    if place.in_meta && schema.embedded_resource {
        let words = "must not be used inside of resource meta";
        found.schema.push(FieldError::forbidden(field("x-kubernetes-embedded-resource"), words));
    }
    if schema.unique_items {
        let words = "uniqueItems cannot be set to true since the runtime complexity becomes \
                     quadratic";
        found.schema.push(FieldError::forbidden(field("uniqueItems"), words));
    }
    visit_children(schema, seen, path, place, found);
    check_collections(schema, path, &mut found.schema);
    for (i, rule) in schema.rules.iter().enumerate() {
        check_rule(rule, schema, &field(&format!("x-kubernetes-validations[{i}]")), found);
    }
    if found.schema.len() == before && place.sound {
        compile_rules(schema, seen, path, place, found);
    }
}

fn visit_children(
    schema: &Arc<Schema>,
    seen: &Arc<Schema>,
    path: &str,
    place: &Place,
    found: &mut Found,
) {
    let field = |name: &str| format!("{path}.{name}");
    let exclusive = !matches!(schema.additional, None | Some(Additional::Allowed(true)));
    if exclusive && !schema.properties.is_empty() {
        let words = "additionalProperties and properties are mutual exclusive";
        found.schema.push(FieldError::forbidden(field("additionalProperties"), words));
    }
    if let Some(values) = schema.additional_schema() {
        let mut below = place.below();
        if place.in_meta {
            below.no_defaults =
                Some("inside additionalProperties applying to object metadata".to_owned());
        }
        let seen = seen.additional_schema().unwrap_or(values);
        visit(values, seen, &field("additionalProperties"), &below, found);
    }
    for (name, property) in &schema.properties {
        let mut below = place.below();
        if (place.root || schema.embedded_resource) && META_FIELDS.contains(&name.as_str()) {
            below.in_meta = true;
            if place.root {
                below.no_defaults = Some(format!("in top-level {name}"));
            }
        }
        let seen = seen.properties.get(name).unwrap_or(property);
        visit(property, seen, &field(&format!("properties[{name}]")), &below, found);
    }
    let junctors =
        [("allOf", &schema.all_of), ("oneOf", &schema.one_of), ("anyOf", &schema.any_of)];
    let nested = Place { sound: false, ..place.below() };
    let mut visit_nested = |inner: &Schema, path: String| {
        let inner = Arc::new(inner.clone());
        visit(&inner, &inner, &path, &nested, found);
    };
    if let Some(not) = &schema.not {
        visit_nested(not, field("not"));
    }
    for (name, list) in junctors {
        for (i, inner) in list.iter().enumerate() {
            visit_nested(inner, field(&format!("{name}[{i}]")));
        }
    }
    if let Some(items) = &schema.items {
        let mut below = place.below();
        if schema.list_type != Some(ListType::Map) && below.uncorrelatable.is_none() {
            below.uncorrelatable = Some(path.to_owned());
        }
        visit(items, seen.items.as_ref().unwrap_or(items), &field("items"), &below, found);
    }
}

/// Lists and maps must be what their merge strategies need them to be.
fn check_collections(schema: &Schema, path: &str, errors: &mut Vec<FieldError>) {
    let field = |name: &str| format!("{path}.{name}");
    let must_be = |wanted: Type, because: &str, errors: &mut Vec<FieldError>| {
        let words = format!("must be {} if {because} is specified", wanted.as_str());
        match schema.kind {
            None => errors.push(FieldError::required(field("type"), words)),
            Some(kind) if kind != wanted => {
                errors.push(FieldError::invalid(field("type"), kind.as_str(), words));
            }
            Some(_) => {}
        }
    };
    if schema.atomic_map || schema.granular_map {
        must_be(Type::Object, "x-kubernetes-map-type", errors);
    }
    if schema.list_type.is_some() {
        must_be(Type::Array, "x-kubernetes-list-type", errors);
    }
    if !schema.list_map_keys.is_empty() {
        let words = "must be map if x-kubernetes-list-map-keys is non-empty";
        let field = field("x-kubernetes-list-type");
        match schema.list_type {
            None => errors.push(FieldError::required(field, words)),
            Some(ListType::Map) => {}
            Some(other) => errors.push(FieldError::invalid(field, other.as_str(), words)),
        }
    }
    match (schema.list_type, schema.kind) {
        (Some(ListType::Set), Some(Type::Array)) => check_set(schema, path, errors),
        (Some(ListType::Map), _) => check_map(schema, path, errors),
        _ => {}
    }
    if let (Some(kind @ (ListType::Set | ListType::Map)), Some(items)) =
        (schema.list_type, &schema.items)
        && items.nullable
    {
        let words = format!("cannot be nullable when x-kubernetes-list-type is {}", kind.as_str());
        errors.push(FieldError::forbidden(field("items.nullable"), words));
    }
    if schema.list_type == Some(ListType::Map) {
        check_map_keys(schema, path, errors);
    }
}

/// Entries of sets are replaced as a whole, so they must be atomic.
fn check_set(schema: &Schema, path: &str, errors: &mut Vec<FieldError>) {
    let Some(items) = &schema.items else { return };
    let words = "must be atomic as item of a list with x-kubernetes-list-type=set";
    match (items.kind, items.list_type) {
        (Some(Type::Array), Some(kind @ (ListType::Set | ListType::Map))) => {
            let field = format!("{path}.items.x-kubernetes-list-type");
            errors.push(FieldError::invalid(field, kind.as_str(), words));
        }
        (Some(Type::Object), _) if !items.atomic_map => {
            let field = format!("{path}.items.x-kubernetes-map-type");
            errors.push(FieldError::invalid(field, Value::Null, words));
        }
        _ => {}
    }
}

fn check_map(schema: &Schema, path: &str, errors: &mut Vec<FieldError>) {
    let keys_field = format!("{path}.x-kubernetes-list-map-keys");
    if schema.list_map_keys.is_empty() {
        let words = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(&keys_field, words));
    }
    let Some(items) = &schema.items else {
        let words = "must have a schema if x-kubernetes-list-type is map";
        errors.push(FieldError::required(format!("{path}.items"), words));
        return;
    };
    if items.kind != Some(Type::Object) {
        let words = "must be object if parent array's x-kubernetes-list-type is map";
        let field = format!("{path}.items.type");
        errors.push(FieldError::invalid(field, items.kind_word(), words));
        return;
    }
    let mut seen = BTreeSet::new();
    let shown = || Value::from(schema.list_map_keys.clone());
    for key in &schema.list_map_keys {
        match items.properties.get(key).map(|property| property.kind) {
            None => {
                let words = "entries must all be names of item properties";
                errors.push(FieldError::invalid(&keys_field, shown(), words));
            }
            Some(Some(Type::Array | Type::Object)) => {
                let words = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                let field = format!("{path}.items.properties[{key}].type");
                errors.push(FieldError::invalid(field, items.kind_word(), words));
            }
            Some(_) => {}
        }
        if !seen.insert(key) {
            let words = "must not contain duplicate entries";
            errors.push(FieldError::invalid(&keys_field, shown(), words));
        }
    }
}

/// Every entry must have its keys.
fn check_map_keys(schema: &Schema, path: &str, errors: &mut Vec<FieldError>) {
    let Some(items) = &schema.items else { return };
    for key in &schema.list_map_keys {
        let Some(property) = items.properties.get(key) else { continue };
        let field = format!("{path}.items.properties[{key}]");
        if !items.required.contains(key) && property.default.is_none() {
            let words = "this property is in x-kubernetes-list-map-keys, so it must have a \
                         default or be a required property";
            errors.push(FieldError::required(format!("{field}.default"), words));
        }
        if property.nullable {
            let words = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(format!("{field}.nullable"), words));
        }
    }
}

const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

fn check_rule(rule: &Rule, schema: &Schema, path: &str, found: &mut Found) {
    let errors = &mut found.schema;
    let lines = |text: &str| text.contains(['\n', '\r']);
    let text = rule.rule.trim();
    let message = rule.message.as_deref().unwrap_or_default();
    let message_field = format!("{path}.message");
    if text.is_empty() {
        errors.push(FieldError::required(format!("{path}.rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.push(FieldError::invalid(message_field, message, "must be non-empty if specified"));
    } else if lines(message.trim()) {
        errors.push(FieldError::invalid(message_field, message, "must not contain line breaks"));
    } else if lines(text) && message.trim().is_empty() {
        let words = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(message_field, words));
    }
    if rule.message_expression.as_deref().is_some_and(|text| text.trim().is_empty()) {
        let words = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(format!("{path}.messageExpression"), words));
    }
    if let Some(reason) = rule.reason.as_deref().filter(|reason| !REASONS.contains(reason)) {
        errors.push(FieldError::not_supported(format!("{path}.reason"), reason, &REASONS));
    }
    if let Some(field_path) = &rule.field_path {
        let field = format!("{path}.fieldPath");
        let shown = field_path.as_str();
        if field_path.trim().is_empty() {
            errors.push(FieldError::invalid(&field, shown, "must be non-empty if specified"));
        }
        if lines(field_path) {
            errors.push(FieldError::invalid(&field, shown, "must not contain line breaks"));
        }
        if cel::normalize_field_path(field_path, schema).is_err() {
            errors.push(FieldError::invalid(&field, shown, "must be a valid path"));
        }
    }
}

fn compile_rules(
    schema: &Schema,
    seen: &Arc<Schema>,
    path: &str,
    place: &Place,
    found: &mut Found,
) {
    for (i, compiled) in CompiledRule::compile_all(schema, seen).iter().enumerate() {
        let path = format!("{path}.x-kubernetes-validations[{i}]");
        let rule = &compiled.rule;
        if let Some(error) = compiled.error() {
            let field = format!("{path}.rule");
            found.rules.push(refused_rule(field, rule, error));
        }
        if let Some(error) = compiled.message_error() {
            let field = format!("{path}.messageExpression");
            found.rules.push(refused_rule(field, rule, error));
        }
        if compiled.uses_old_self {
            if let Some(list) = &place.uncorrelatable {
                let words = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within \
                     {list}"
                );
                let field = format!("{path}.rule");
                found.rules.push(FieldError::invalid(field, rule.rule.as_str(), words));
            }
        } else if rule.optional_old_self {
            let words = "may not be set if oldSelf is not used in rule";
            found.rules.push(FieldError::invalid(format!("{path}.optionalOldSelf"), true, words));
        }
    }
}

/// An error about a rule. It shows the rule's fields by the names and in the order that they have
/// in the API server's code; JSON values have no order, hence the rule is part of the detail.
fn refused_rule(field: String, rule: &Rule, error: &str) -> FieldError {
    let shown =
        |text: &Option<String>| text::json(&Value::from(text.as_deref().unwrap_or_default()));
    let reason = rule.reason.as_ref().map_or_else(|| "null".to_owned(), |_| shown(&rule.reason));
    let optional = if rule.optional_old_self { "true" } else { "null" };
    let detail = format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{reason},\
         \"FieldPath\":{},\"OptionalOldSelf\":{optional}}}: {error}",
        text::json(&Value::from(rule.rule.as_str())),
        shown(&rule.message),
        shown(&rule.message_expression),
        shown(&rule.field_path),
    );
    FieldError::new(ErrorKind::Invalid, field, None, detail)
}
