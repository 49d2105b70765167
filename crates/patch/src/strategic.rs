//! Strategic merge patch: a merge patch that knows which lists are merged entry by entry, and has
//! directives for what a merge cannot say.

mod lists;

use joiner_schema::{Patch, Schema, Type};
use serde_json::{Map, Value};

use crate::{error::PatchError, go};
use lists::ListRule;

type Fields = Map<String, Value>;

/// Says what to do with an object or with an entry of a list: `replace` or `delete`.
const DIRECTIVE: &str = "$patch";
/// The fields of an object that stay; all others go.
const RETAIN_KEYS: &str = "$retainKeys";
/// `…/field`: entries that leave a list of scalars.
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
/// `…/field`: the order of a merged list.
const SET_ORDER: &str = "$setElementOrder";

/// Applies a strategic merge patch to an object of a built-in kind. Custom resources do not have
/// this sort of patch; refusing it with 415 is up to the caller.
///
/// Entries that are new to a list are taken over as they are, directives inside of them included:
/// as in the API server, it is up to decoding to drop what it does not know.
pub fn strategic_merge(
    object: &Value,
    patch: &Value,
    schema: &Schema,
) -> Result<Value, PatchError> {
    let patch = match patch {
        Value::Object(patch) => patch.clone(),
        Value::Null => Fields::new(),
        other => {
            return Err(PatchError::bad_request(format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                joiner_schema::go_word(other)
            )));
        }
    };
    let original = object.as_object().cloned().unwrap_or_default();
    Ok(Value::Object(merge_objects(original, patch, Some(schema))?))
}

/// What the API server has left of a strategic merge patch after it was merged into an object, which
/// is what its refusals show: directives that were followed and nulls that had nothing to remove are
/// gone.
pub fn strategic_remainder(object: &Value, patch: &Value) -> Value {
    match (object, patch) {
        (Value::Object(object), Value::Object(patch)) => remainder(object, patch).into(),
        _ => patch.clone(),
    }
}

fn remainder(original: &Fields, patch: &Fields) -> Fields {
    if let Some(directive) = patch.get(DIRECTIVE) {
        let kept = patch.iter().filter(|(name, _)| directive != "replace" || *name != DIRECTIVE);
        return kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    }
    let ordered = |name: &str| patch.contains_key(&format!("{SET_ORDER}/{name}"));
    let kept = patch
        .iter()
        .filter(|(name, _)| *name != RETAIN_KEYS && !name.starts_with(SET_ORDER) && !ordered(name));
    let left = |(name, value): (&String, &Value)| {
        let left = match (original.get(name), value) {
            (_, Value::Null) => Value::Null,
            (Some(Value::Object(original)), Value::Object(patch)) => {
                remainder(original, patch).into()
            }
            (Some(Value::Array(_)), Value::Array(_)) => value.clone(),
            _ => left_inside(without_nulls(value.clone())),
        };
        (name.clone(), left)
    };
    kept.map(left).collect()
}

/// What is left of a value that was taken over: directives are gone from inside of objects, while a
/// list by itself still has them.
fn left_inside(value: Value) -> Value {
    match value {
        Value::Array(entries) => entries.into_iter().map(left_inside).collect::<Vec<_>>().into(),
        Value::Object(fields) if !fields.contains_key(DIRECTIVE) => {
            without_directives(fields.into()).unwrap_or_default()
        }
        other => other,
    }
}

/// Merges a patch into an object. No schema means that nothing is known about its fields.
fn merge_objects(
    mut original: Fields,
    mut patch: Fields,
    schema: Option<&Schema>,
) -> Result<Fields, PatchError> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Fields::new()),
            _ => Err(unknown_directive(directive, &patch)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    merge_ordered_lists(&mut original, &mut patch, schema)?;
    // What leaves a list leaves it after the list was merged. (The API server does both in any
    // order unless the patch also gives the list's order; then it is this one.)
    let (deletions, merges): (Vec<_>, Vec<_>) =
        patch.into_iter().partition(|(key, _)| key.starts_with(DELETE_FROM));
    for (key, value) in merges.into_iter().chain(deletions) {
        let (name, deletes) = match key.strip_prefix(DELETE_FROM) {
            Some(rest) => {
                let name = rest.strip_prefix('/').ok_or_else(|| {
                    PatchError::bad_request("invalid patch format of primitive list")
                })?;
                (name.to_owned(), true)
            }
            None => (key, false),
        };
        if value.is_null() {
            original.remove(&name);
            continue;
        }
        let merged = match original.remove(&name) {
            Some(Value::Object(original)) if value.is_object() => {
                let field = field_schema(schema, &name)?;
                if field.is_some_and(|field| field.patch.as_ref() == Some(&Patch::default())) {
                    // The field says that it is replaced.
                    without_directives(without_nulls(value))
                } else {
                    let patch = into_object(value);
                    Some(Value::Object(merge_objects(original, patch, field)?))
                }
            }
            Some(Value::Array(original)) if value.is_array() => {
                let patch = into_array(value);
                let rule = list_rule(schema, &name)?;
                let merged = if deletes {
                    rule.delete(original, patch)?
                } else {
                    rule.merge(original, patch)?
                };
                Some(Value::Array(merged))
            }
            kept if deletes => kept,
            _ => without_directives(without_nulls(value)),
        };
        original.extend(merged.map(|value| (name, value)));
    }
    Ok(original)
}

fn unknown_directive(directive: &Value, patch: &Fields) -> PatchError {
    PatchError::internal(format!(
        "unknown patch type: {} in map: {}",
        go::plain(directive),
        go::plain(&Value::Object(patch.clone()))
    ))
}

/// Follows `$retainKeys`: what it does not name goes, and the patch must not have it either.
fn retain_keys(original: &mut Fields, patch: &mut Fields) -> Result<(), PatchError> {
    let Some(directive) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let malformed = || PatchError::bad_request("invalid patch format of retainKeys");
    let retained = directive.as_array().ok_or_else(malformed)?;
    let is_retained = |name: &str| retained.iter().any(|kept| kept.as_str() == Some(name));
    for (name, value) in &*patch {
        let directive = name.starts_with(DELETE_FROM) || name.starts_with(SET_ORDER);
        if !value.is_null() && !directive && !is_retained(name) {
            return Err(malformed());
        }
    }
    original.retain(|name, _| is_retained(name));
    Ok(())
}

/// Merges the lists whose order the patch gives with `$setElementOrder`.
fn merge_ordered_lists(
    original: &mut Fields,
    patch: &mut Fields,
    schema: Option<&Schema>,
) -> Result<(), PatchError> {
    let keys: Vec<String> =
        patch.keys().filter(|key| key.starts_with(SET_ORDER)).cloned().collect();
    for key in keys {
        let order = patch.remove(&key).unwrap_or_default();
        let Value::Array(order) = order else { return Err(expected_list(&order)) };
        let name = key[SET_ORDER.len()..].strip_prefix('/').ok_or_else(lists::malformed_order)?;
        let list_of = |fields: &Fields| match fields.get(name) {
            Some(Value::Array(list)) => Ok(Some(list.clone())),
            Some(other) => Err(expected_list(other)),
            None => Ok(None),
        };
        let (before, patched) = (list_of(original)?, list_of(patch)?);
        let rule = list_rule(schema, name)?;
        rule.check_order(patched.as_deref().unwrap_or_default(), &order)?;
        let (server, given) =
            (before.clone().unwrap_or_default(), patched.clone().unwrap_or_default());
        let merged = match (before, patched) {
            (None, None) => continue,
            (Some(before), None) => before,
            (None, Some(patched)) => {
                let kept = patched.into_iter().filter_map(without_directives);
                kept.collect()
            }
            (Some(before), Some(patched)) => rule.merge(before, patched)?,
        };
        let place = rule.order_after(&server, &given);
        let ordered = rule.arrange(merged, &order, &place, &[&server, &given])?;
        original.insert(name.to_owned(), Value::Array(ordered));
        patch.remove(name);
    }
    Ok(())
}

fn expected_list(found: &Value) -> PatchError {
    expected("[]interface {}", found)
}

/// Something has the wrong type. Go has no name for the type of `null`.
fn expected(what: &str, found: &Value) -> PatchError {
    let found = if found.is_null() { "%!s(<nil>)" } else { go::type_name(found) };
    PatchError::internal(format!("expected a {what}, but received a {found}"))
}

/// The schema of a field that is an object; none for the values of maps.
fn field_schema<'s>(
    schema: Option<&'s Schema>,
    name: &str,
) -> Result<Option<&'s Schema>, PatchError> {
    let Some(schema) = schema else { return Ok(None) };
    if let Some(field) = schema.properties.get(name) {
        return Ok(Some(field));
    }
    let message = if schema.properties.is_empty() && schema.preserve_unknown_fields {
        let name = go::quoted(name);
        format!("unable to find api field in struct RawExtension for the json field {name}")
    } else if schema.properties.is_empty() {
        "merging an object in json but data type is not struct, instead is: map".to_owned()
    } else {
        let kind = schema.name.as_deref().unwrap_or_default();
        let kind = kind.rsplit('.').next().unwrap_or_default();
        let name = go::quoted(name);
        format!("unable to find api field in struct {kind} for the json field {name}")
    };
    Err(PatchError::internal(message))
}

/// How the entries of a list are merged.
fn list_rule<'s>(schema: Option<&'s Schema>, name: &str) -> Result<ListRule<'s>, PatchError> {
    let field = field_schema(schema, name)?;
    if let Some(kind) = field.and_then(|field| field.kind)
        && kind != Type::Array
    {
        return Err(PatchError::internal(
            "expected slice or array type, but got: struct".to_owned(),
        ));
    }
    let patch: Option<&Patch> = field.and_then(|field| field.patch.as_ref());
    Ok(ListRule {
        merges: patch.is_some_and(|patch| patch.merge),
        key: patch.and_then(|patch| patch.merge_key.as_deref()).unwrap_or_default(),
        entries: field.and_then(|field| field.items.as_deref()),
    })
}

fn into_object(value: Value) -> Fields {
    match value {
        Value::Object(fields) => fields,
        _ => Fields::new(),
    }
}

fn into_array(value: Value) -> Vec<Value> {
    match value {
        Value::Array(entries) => entries,
        _ => Vec::new(),
    }
}

/// The value without fields that are `null`.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name, without_nulls(value)))
            .collect::<Fields>()
            .into(),
        Value::Array(entries) => entries.into_iter().map(without_nulls).collect::<Vec<_>>().into(),
        other => other,
    }
}

/// The value without objects that carry a directive; none if it is one itself.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => {
            let kept = fields
                .into_iter()
                .filter_map(|(name, value)| Some((name, without_directives(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(entries) => {
            Some(Value::Array(entries.into_iter().filter_map(without_directives).collect()))
        }
        other => Some(other),
    }
}
