//! Values as YAML, as the library writes it that Go programs use most (yaml.v3).

mod emitter;
mod keys;
mod resolve;
mod scalar;

use super::Called;
use crate::{
    budget::Budget,
    number::{self, Notation},
    value::{Text, Value},
};
use emitter::{Emitter, Place};
use scalar::Scalar;

/// A document without the line break at its end.
pub(super) fn document(budget: &Budget, value: &Value, indent: usize) -> Called {
    let mut emitter = Emitter::new(budget.writer(), indent);
    node(&mut emitter, value, Place::Root)?;
    emitter.end_document();
    let mut text = emitter.finish()?;
    if text.last() == Some(&b'\n') {
        text.pop();
    }
    Ok(Value::text(text))
}

fn node(emitter: &mut Emitter, value: &Value, place: Place) -> Result<(), String> {
    match value.behind_pointers() {
        Value::Nil | Value::Pointer(_) => emitter.plain("null", place),
        Value::Bool(flag) => emitter.plain(if *flag { "true" } else { "false" }, place),
        Value::Int(_, number) => emitter.plain(&number.to_string(), place),
        Value::Uint(_, number) => emitter.plain(&number.to_string(), place),
        Value::Float(number) => emitter.plain(&float(*number), place),
        Value::Text(text) => emitter.scalar(&Scalar::of_text(text.bytes()), place),
        Value::List(list) if list.items().is_empty() => emitter.empty("[]"),
        Value::List(list) => {
            let outer = emitter.deeper(place);
            for item in list.items() {
                emitter.item();
                node(emitter, item, Place::Sequence)?;
            }
            emitter.back_to(outer);
        }
        Value::Map(map) => {
            let entries: Vec<(&Text, &Value)> = map.iter().collect();
            let entries = keys::sorted(entries, |(key, _)| key.bytes());
            let entries = entries.into_iter().map(|(key, value)| (key.bytes(), value));
            mapping(emitter, entries, place)?;
        }
        Value::Struct(structure) => {
            let kept = structure
                .fields()
                .filter(|(field, value)| !(field.yaml.omit_empty && is_empty(value)))
                .map(|(field, value)| (field.yaml.key.as_bytes(), value));
            mapping(emitter, kept, place)?;
        }
        Value::Function(_) => return Err(format!("cannot marshal type: {}", value.type_of())),
    }
    Ok(())
}

fn mapping<'v>(
    emitter: &mut Emitter,
    entries: impl Iterator<Item = (&'v [u8], &'v Value)>,
    place: Place,
) -> Result<(), String> {
    let mut entries = entries.peekable();
    if entries.peek().is_none() {
        emitter.empty("{}");
        return Ok(());
    }
    let outer = emitter.deeper(place);
    for (key, value) in entries {
        emitter.key(&Scalar::of_text(key));
        node(emitter, value, Place::Mapping)?;
    }
    emitter.back_to(outer);
    Ok(())
}

fn float(value: f64) -> String {
    match number::written(value, Notation::Shorter, None).as_str() {
        "+Inf" => ".inf".to_owned(),
        "-Inf" => "-.inf".to_owned(),
        "NaN" => ".nan".to_owned(),
        text => text.to_owned(),
    }
}

/// What `omitempty` of YAML leaves out: structs too, if all of their fields are empty.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Struct(structure) => structure.values.iter().all(is_empty),
        value => !value.is_true(),
    }
}
