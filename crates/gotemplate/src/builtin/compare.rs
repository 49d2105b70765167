//! `eq` and its kin: numbers compare with numbers of either sign, everything else with its like.

use std::{cmp::Ordering, sync::Arc};

use crate::{operand::Operand, value::Value};

const BAD_TYPE: &str = "invalid type for comparison";

/// What Go compares by order.
enum Basic<'v> {
    Bool(bool),
    Whole(i128),
    Float(f64),
    Text(&'v [u8]),
}

fn basic(value: Option<&Value>) -> Option<Basic<'_>> {
    match value? {
        Value::Bool(value) => Some(Basic::Bool(*value)),
        Value::Int(_, value) => Some(Basic::Whole((*value).into())),
        Value::Uint(_, value) => Some(Basic::Whole((*value).into())),
        Value::Float(value) => Some(Basic::Float(*value)),
        Value::Text(text) => Some(Basic::Text(text.bytes())),
        _ => None,
    }
}

fn type_name(value: Option<&Value>) -> String {
    value.map_or_else(|| "<nil>".to_owned(), |value| value.type_of().to_string())
}

fn incompatible(one: Option<&Value>, other: Option<&Value>) -> String {
    format!("incompatible types for comparison: {} and {}", type_name(one), type_name(other))
}

/// Whether the first is equal to one of the others.
pub(super) fn equal(operands: &[Operand]) -> Result<bool, String> {
    let Some((first, others)) = operands.split_first() else { return Ok(false) };
    if others.is_empty() {
        return Err("missing argument for comparison".to_owned());
    }
    for other in others {
        if equal_values(first.value(), other.value())? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn equal_values(one: Option<&Value>, other: Option<&Value>) -> Result<bool, String> {
    match (basic(one), basic(other)) {
        (Some(Basic::Bool(one)), Some(Basic::Bool(other))) => Ok(one == other),
        (Some(Basic::Whole(one)), Some(Basic::Whole(other))) => Ok(one == other),
        (Some(Basic::Float(one)), Some(Basic::Float(other))) => {
            Ok(one.partial_cmp(&other) == Some(Ordering::Equal))
        }
        (Some(Basic::Text(one)), Some(Basic::Text(other))) => Ok(one == other),
        (None, None) => equal_others(one, other),
        _ if one.is_none() || other.is_none() => Ok(false),
        _ => Err(incompatible(one, other)),
    }
}

/// Compares what is neither number, text nor truth value.
fn equal_others(one: Option<&Value>, other: Option<&Value>) -> Result<bool, String> {
    let (Some(first), Some(second)) = (one, other) else {
        let nil = |value: Option<&Value>| value.is_none_or(is_nil);
        return Ok(nil(one) && nil(other));
    };
    if std::mem::discriminant(first) != std::mem::discriminant(second) {
        // Go shows the values, which may be secrets.
        let types = format!("{}, {}", type_name(one), type_name(other));
        return Err(format!("non-comparable types {types}"));
    }
    if is_nil(first) || is_nil(second) {
        return Ok(is_nil(first) && is_nil(second));
    }
    if !second.type_of().is_comparable() {
        return Err(format!("non-comparable type {}", type_name(other)));
    }
    same(first, second)
}

fn is_nil(value: &Value) -> bool {
    match value {
        Value::Nil => true,
        Value::List(list) => list.is_nil(),
        Value::Map(map) => map.is_nil(),
        Value::Pointer(pointer) => pointer.value.is_none(),
        _ => false,
    }
}

/// Go's `==` on what interfaces hold: types that cannot be compared end it.
fn same(one: &Value, other: &Value) -> Result<bool, String> {
    let of = one.type_of();
    if of != other.type_of() {
        return Ok(false);
    }
    if !of.is_comparable() {
        return Err(format!("runtime error: comparing uncomparable type {of}"));
    }
    match (one, other) {
        (Value::Struct(one), Value::Struct(other)) => {
            for (one, other) in one.values.iter().zip(other.values.iter()) {
                if !same(one, other)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Pointer(one), Value::Pointer(other)) => Ok(match (&one.value, &other.value) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }),
        (Value::Nil, Value::Nil) => Ok(true),
        _ => equal_values(Some(one), Some(other)),
    }
}

pub(super) fn less(operands: &[Operand]) -> Result<bool, String> {
    let [one, other] = operands else { return Ok(false) };
    let (one, other) = (one.value(), other.value());
    let (Some(first), Some(second)) = (basic(one), basic(other)) else {
        return Err(BAD_TYPE.to_owned());
    };
    match (first, second) {
        (Basic::Bool(_), Basic::Bool(_)) => Err(BAD_TYPE.to_owned()),
        (Basic::Whole(one), Basic::Whole(other)) => Ok(one < other),
        (Basic::Float(one), Basic::Float(other)) => Ok(one < other),
        (Basic::Text(one), Basic::Text(other)) => Ok(one < other),
        _ => Err(incompatible(one, other)),
    }
}

pub(super) fn less_or_equal(operands: &[Operand]) -> Result<bool, String> {
    Ok(less(operands)? || equal(operands)?)
}
