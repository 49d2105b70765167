//! What strategic and applied patches make is not read from text but converted field by field, with
//! other words for what is wrong, and cutting off what is too large.

use serde_json::Value;

use super::DecodeError;
use crate::types::{Held, Shape};

/// Converts a value of a simple type, and refuses what is of another one.
pub(super) fn convert(held: &Held, value: &mut Value) -> Result<(), DecodeError> {
    let wrong = |why: String| Err(DecodeError(why));
    match (&held.shape, &*value) {
        (Shape::Bool, Value::Bool(_))
        | (Shape::String | Shape::Bytes | Shape::Time | Shape::MicroTime, Value::String(_))
        | (Shape::Float, Value::Number(_))
        | (Shape::List(_) | Shape::Bytes, Value::Array(_))
        | (Shape::Map(..) | Shape::Struct(_), Value::Object(_))
        | (Shape::Quantity | Shape::Any, _) => Ok(()),
        (Shape::Integer(bits), Value::Number(number)) => {
            let whole = number.as_f64().filter(|float| float.fract() == 0.0);
            let Some(whole) = number.as_i64().or(whole.map(|float| float as i64)) else {
                return wrong(format!("cannot convert float64 to {}", held.go_name()));
            };
            *value = if *bits > 32 { whole.into() } else { (whole as i32).into() };
            Ok(())
        }
        (Shape::String, Value::Number(number)) if number.is_i64() => {
            wrong(format!("cannot convert int64 to {}", held.go_name()))
        }
        (Shape::Bool, _) => wrong("unrecognized type: bool".to_owned()),
        (Shape::String, _) => wrong("unrecognized type: string".to_owned()),
        (Shape::Float, _) => wrong("unrecognized type: float64".to_owned()),
        (Shape::Integer(bits), _) => wrong(format!("unrecognized type: int{bits}")),
        (Shape::List(_) | Shape::Bytes, other) => {
            wrong(format!("cannot restore slice from {}", go_kind(other)))
        }
        (Shape::Map(..), other) => wrong(format!("cannot restore map from {}", go_kind(other))),
        (Shape::Struct(_), other) => {
            wrong(format!("cannot restore struct from: {}", go_kind(other)))
        }
        (Shape::Time | Shape::MicroTime, other) => {
            let found = joiner_schema::go_word(other);
            wrong(format!("json: cannot unmarshal {found} into Go value of type string"))
        }
        (Shape::IntOrString, other) => match super::scalar::not_int_or_string(other) {
            None => Ok(()),
            Some(found) => {
                wrong(format!("json: cannot unmarshal {found} into Go value of type int32"))
            }
        },
    }
}

/// The kind of type that Go has for a value of JSON.
fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}
