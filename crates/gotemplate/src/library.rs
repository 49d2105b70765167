//! The functions that templates of nodes use besides Go's own: those that the Karpenter provider
//! for Proxmox VE offers, by their names, orders of arguments and types.
//!
//! Where that provider's functions have defects, these do not:
//! `getValue` has no trouble with parts without `=`, `hasKey` and `get` take maps of any type,
//! `quote` prints what a pointer points to, and `toPrettyYaml` is there under both names.

mod json;
mod network;
mod regex;
mod text;
mod yaml;

use crate::{
    budget::Budget,
    format,
    function::{CallError, Function},
    value::{Text, Type, Value},
};

type Called = Result<Value, CallError>;

/// All functions.
pub fn functions() -> Vec<(&'static str, Function)> {
    let mut all = choices();
    all.extend(documents());
    all.extend(text::functions());
    all.extend(regex::functions());
    all.extend(network::functions());
    all
}

/// Functions that choose among values or ask what they are.
fn choices() -> Vec<(&'static str, Function)> {
    vec![
        (
            "default",
            Function::new(vec![Type::Any], Type::Any, |_, values| {
                let [default, given @ ..] = values else { return Ok(Value::Nil) };
                let given = given.first().filter(|given| !given.is_zero());
                Ok(given.unwrap_or(default).clone())
            })
            .and_more(Type::Any),
        ),
        (
            "coalesce",
            Function::new(vec![], Type::Any, |_, values| {
                Ok(values.iter().find(|value| !value.is_zero()).cloned().unwrap_or(Value::Nil))
            })
            .and_more(Type::Any),
        ),
        (
            "ternary",
            Function::new(vec![Type::Any, Type::Any, Type::Bool], Type::Any, |_, values| {
                let [one, other, condition] = values else { return Ok(Value::Nil) };
                Ok(if condition.is_true() { one.clone() } else { other.clone() })
            }),
        ),
        (
            "empty",
            Function::new(vec![Type::Any], Type::Bool, |_, values| {
                Ok(Value::Bool(values.iter().all(Value::is_zero)))
            }),
        ),
        ("get", Function::new(vec![Type::Any, Type::Text], Type::Any, |_, values| get(values))),
        (
            "hasKey",
            Function::new(vec![Type::Any, Type::Text], Type::Bool, |_, values| {
                Ok(Value::Bool(entry(values)?.is_some()))
            }),
        ),
        (
            "hasTag",
            Function::new(vec![Type::list(Type::Text), Type::Text], Type::Bool, |_, values| {
                let [Value::List(tags), tag] = values else { return Ok(Value::Bool(false)) };
                let tag = bytes(tag);
                let has = tags.items().iter().any(|known| bytes(known) == tag);
                Ok(Value::Bool(has && !tag.is_empty()))
            }),
        ),
    ]
}

/// Functions that write a value as a document.
fn documents() -> Vec<(&'static str, Function)> {
    let document = |write: fn(&Budget, &Value) -> Called| {
        Function::new(vec![Type::Any], Type::Text, move |budget: &mut Budget, values: &[Value]| {
            write(budget, values.first().unwrap_or(&Value::Nil))
        })
    };
    vec![
        ("toJson", document(|budget, value| json::document(budget, value, false))),
        ("toPrettyJson", document(|budget, value| json::document(budget, value, true))),
        ("toYaml", document(|budget, value| yaml::document(budget, value, 4))),
        ("toYamlPretty", document(|budget, value| yaml::document(budget, value, 2))),
        ("toPrettyYaml", document(|budget, value| yaml::document(budget, value, 2))),
    ]
}

/// The entry of a key in a map of any type.
fn entry(values: &[Value]) -> Result<Option<&Value>, CallError> {
    let [map, key] = values else { return Ok(None) };
    match map.behind_pointers() {
        Value::Map(map) => Ok(map.get(bytes(key))),
        Value::Nil => Ok(None),
        other => {
            Err(format!("wrong type for value; expected a map; got {}", other.type_of()).into())
        }
    }
}

fn get(values: &[Value]) -> Called {
    Ok(entry(values)?.cloned().unwrap_or_else(|| Value::text("")))
}

/// The bytes of a text; functions of texts are called with nothing else.
fn bytes(value: &Value) -> &[u8] {
    match value {
        Value::Text(text) => text.bytes(),
        _ => &[],
    }
}

/// A value as `%v` prints it.
fn printed(budget: &Budget, value: &Value) -> Result<Vec<u8>, CallError> {
    match value {
        Value::Text(text) => Ok(text.bytes().to_vec()),
        value => Ok(format::print(budget, std::slice::from_ref(value)).finish()?),
    }
}

/// A function from texts to a text that is no longer than they are.
fn of_texts(
    parameters: usize,
    body: impl Fn(&[&[u8]]) -> Vec<u8> + Send + Sync + 'static,
) -> Function {
    Function::new(vec![Type::Text; parameters], Type::Text, move |_, values| {
        let texts: Vec<&[u8]> = values.iter().map(bytes).collect();
        Ok(Value::Text(Text::from(body(&texts))))
    })
}

/// A question about texts.
fn question(body: impl Fn(&[u8], &[u8]) -> bool + Send + Sync + 'static) -> Function {
    Function::new(vec![Type::Text, Type::Text], Type::Bool, move |_, values| {
        let [one, other] = values else { return Ok(Value::Bool(false)) };
        Ok(Value::Bool(body(bytes(one), bytes(other))))
    })
}

/// Where a text begins in another.
fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return Some(0);
    }
    text.windows(part.len()).position(|window| window == part)
}
