//! Reaching into objects to change them.

use serde_json::{Map, Value};

/// What is at a JSON pointer. Like [`Value::pointer`], but without escapes and positions in lists;
/// it allocates nothing, and every write asks often.
pub(crate) fn value_at<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    let mut steps = pointer.split('/').skip(1);
    steps.try_fold(value, |value, step| value.get(step))
}

/// The object at a JSON pointer, as [`value_at`] reads it.
pub(crate) fn object_at<'a>(
    value: &'a mut Value,
    pointer: &str,
) -> Option<&'a mut Map<String, Value>> {
    let mut steps = pointer.split('/').skip(1);
    steps.try_fold(value, |value, step| value.get_mut(step))?.as_object_mut()
}

/// The object in a field.
pub(crate) fn object_in<'a>(
    object: &'a mut Map<String, Value>,
    field: &str,
) -> Option<&'a mut Map<String, Value>> {
    object.get_mut(field).and_then(Value::as_object_mut)
}

/// The entries of a list; none if there is no such list.
pub(crate) fn entries<'a>(
    object: &'a mut Map<String, Value>,
    field: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let list = object.get_mut(field).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Whether a value is what Go has when nothing was given: nothing, zero, or an empty text.
pub(crate) fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        _ => false,
    }
}

/// Sets a field that is not there.
pub(crate) fn set_missing(object: &mut Map<String, Value>, field: &str, value: impl Into<Value>) {
    if object.get(field).is_none_or(Value::is_null) {
        object.insert(field.to_owned(), value.into());
    }
}

/// The text in a field; empty if there is none.
pub(crate) fn text<'a>(object: &'a Map<String, Value>, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The pod spec in an object: of a pod, or of the template in it.
pub(crate) fn pod_spec(object: &mut Value) -> Option<&mut Map<String, Value>> {
    const PLACES: [&str; 4] =
        ["/spec/template/spec", "/spec/jobTemplate/spec/template/spec", "/template/spec", "/spec"];
    let place = PLACES.into_iter().find(|place| {
        value_at(object, place).is_some_and(|spec| spec.get("containers").is_some())
    })?;
    object_at(object, place)
}

/// The text at a JSON pointer; empty if there is none.
pub(crate) fn text_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value_at(value, pointer).and_then(Value::as_str).unwrap_or_default()
}
