//! `index`, `slice` and `len`.

use crate::{
    function::CallError,
    operand::Operand,
    value::{Pointer, Text, Type, UintKind, Value},
};

/// The number that an index says, at most `most`. It may not lie in an interface.
fn position(index: &Operand, most: usize) -> Result<usize, String> {
    let number = match index {
        Operand::Missing => return Err("cannot index slice/array with nil".to_owned()),
        Operand::Plain(Value::Int(_, number)) => *number,
        Operand::Plain(Value::Uint(_, number)) => *number as i64,
        other => return Err(format!("cannot index slice/array with type {}", other.type_of())),
    };
    match usize::try_from(number) {
        Ok(position) if position <= most => Ok(position),
        _ => Err(format!("index out of range: {number}")),
    }
}

/// A value as one of a type, for keys of maps and arguments of `call`.
pub(super) fn prepared(operand: &Operand, of: &Type) -> Result<Value, String> {
    let Some(value) = operand.value() else {
        if of.can_be_nil() {
            return Ok(of.zero());
        }
        return Err(format!("value is nil; should be of type {of}"));
    };
    let given = value.type_of();
    if *of == Type::Any || given == *of {
        return Ok(value.clone());
    }
    if given.is_whole_number() {
        let bits = match value {
            Value::Int(_, number) => *number,
            Value::Uint(_, number) => *number as i64,
            _ => 0,
        };
        match of {
            Type::Int(kind) => return Ok(Value::Int(*kind, kind.wrap(bits))),
            Type::Uint(kind) => return Ok(Value::Uint(*kind, kind.wrap(bits as u64))),
            _ => {}
        }
    }
    Err(format!("value has type {given}; should be {of}"))
}

pub(super) fn index(operands: &[Operand]) -> Result<Operand, CallError> {
    let Some((item, indexes)) = operands.split_first() else { return Ok(Operand::Missing) };
    let mut item = item.clone().unboxed();
    if item.value().is_none() {
        return Err("index of untyped nil".into());
    }
    for index in indexes {
        let index = index.clone().unboxed();
        let Some(value) = item.value() else { return Err("index of nil pointer".into()) };
        item = match value.behind_pointers() {
            Value::Pointer(Pointer { value: None, .. }) => {
                return Err("index of nil pointer".into());
            }
            Value::List(list) => {
                let items = list.items();
                let at = position(&index, items.len())?;
                let found = items.get(at).ok_or("reflect: slice index out of range")?;
                Operand::from_place(&list.of, found.clone())
            }
            Value::Text(text) => {
                let bytes = text.bytes();
                let at = position(&index, bytes.len())?;
                let found = bytes.get(at).ok_or("reflect: string index out of range")?;
                Operand::Plain(Value::Uint(UintKind::Uint8, (*found).into()))
            }
            Value::Map(map) => {
                let Value::Text(key) = prepared(&index, &Type::Text)? else {
                    return Err("value is not a string".into());
                };
                let found = map.get(key.bytes()).cloned().unwrap_or_else(|| map.of.zero());
                Operand::from_place(&map.of, found)
            }
            other => return Err(format!("can't index item of type {}", other.type_of()).into()),
        };
    }
    Ok(item)
}

pub(super) fn slice(operands: &[Operand]) -> Result<Value, String> {
    let Some((item, indexes)) = operands.split_first() else { return Ok(Value::Nil) };
    let Some(value) = item.value() else { return Err("slice of untyped nil".to_owned()) };
    let value = value.behind_pointers();
    if let Value::Pointer(_) = value {
        return Err("slice of nil pointer".to_owned());
    }
    if indexes.len() > 3 {
        return Err(format!("too many slice indexes: {}", indexes.len()));
    }
    let (length, capacity) = match value {
        Value::Text(_) if indexes.len() == 3 => {
            return Err("cannot 3-index slice a string".to_owned());
        }
        Value::Text(text) => (text.bytes().len(), text.bytes().len()),
        Value::List(list) => (list.items().len(), list.capacity()),
        other => return Err(format!("can't slice item of type {}", other.type_of())),
    };
    let mut bounds = [0, length, capacity];
    // Unlike `index`, Go's `slice` does not look into interfaces for numbers.
    for (bound, index) in bounds.iter_mut().zip(indexes) {
        *bound = position(index, capacity)?;
    }
    let [start, end, limit] = bounds;
    if start > end {
        return Err(format!("invalid slice index: {start} > {end}"));
    }
    if indexes.len() == 3 && end > limit {
        return Err(format!("invalid slice index: {end} > {limit}"));
    }
    Ok(match value {
        Value::Text(text) => Value::Text(Text::from(&text.bytes()[start..end])),
        Value::List(list) => Value::List(list.slice(start, end, limit)),
        _ => Value::Nil,
    })
}

pub(super) fn len(operands: &[Operand]) -> Result<Value, String> {
    let Some(value) = operands.first().and_then(Operand::value) else {
        // Go asks nil for its type and says what came of it.
        return Err(match operands.first() {
            Some(Operand::Boxed(_)) => "len of nil pointer".to_owned(),
            _ => "reflect: call of reflect.Value.Type on zero Value".to_owned(),
        });
    };
    let length = match value.behind_pointers() {
        Value::Pointer(_) => return Err("len of nil pointer".to_owned()),
        Value::Text(text) => text.bytes().len(),
        Value::List(list) => list.items().len(),
        Value::Map(map) => map.iter().count(),
        other => return Err(format!("len of type {}", other.type_of())),
    };
    Ok(Value::int(length as i64))
}
