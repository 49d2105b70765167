//! Operators and functions.

use std::{cmp::Ordering, rc::Rc};

use super::{
    convert,
    eval::{Context, TOO_COSTLY, index},
    kube, strings,
    value::{Failure, List, Outcome, Val},
};
use crate::time;

/// Calls a function with its arguments; the target of a method is the first of them.
pub(super) fn call<'a>(
    context: &Context<'_, 'a>,
    function: &str,
    method: bool,
    args: &[Val<'a>],
) -> Outcome<'a> {
    if let Some(result) = operator(function, args) {
        return result;
    }
    if let Some(result) = list_function(function, args) {
        return result;
    }
    if let Some(result) = strings::call(context, function, args) {
        return result;
    }
    if let Some(result) = convert::call(function, args) {
        return result;
    }
    if let Some(result) = kube::call(function, method, args) {
        return result;
    }
    Failure::overload()
}

fn operator<'a>(function: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    let truth = |result: Result<bool, Failure>| Some(result.map(Val::Bool));
    match (function, args) {
        ("_==_", [a, b]) => truth(a.equals(b)),
        ("_!=_", [a, b]) => truth(a.equals(b).map(|equal| !equal)),
        ("_<_", [a, b]) => truth(a.compare(b).map(Ordering::is_lt)),
        ("_<=_", [a, b]) => truth(a.compare(b).map(Ordering::is_le)),
        ("_>_", [a, b]) => truth(a.compare(b).map(Ordering::is_gt)),
        ("_>=_", [a, b]) => truth(a.compare(b).map(Ordering::is_ge)),
        ("@in", [value, Val::List(list)]) => truth(list.contains(value)),
        ("@in", [key, Val::Map(fields)]) => match fields.get_val(key) {
            None => truth(Ok(false)),
            Some(value) => truth(value.map(|_| true)),
        },
        ("!_", [Val::Bool(flag)]) => truth(Ok(!flag)),
        ("-_", [Val::Int(number)]) => Some(whole(number.checked_neg())),
        ("-_", [Val::Double(number)]) => Some(Ok(Val::Double(-number))),
        ("_[_]", [operand, key]) => Some(indexed(operand, key)),
        ("_[?_]", [operand, key]) => Some(match operand {
            Val::Optional(None) => Ok(Val::Optional(None)),
            Val::Optional(Some(inner)) => optional_index(inner, key),
            operand => optional_index(operand, key),
        }),
        ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [a, b]) => arithmetic(function, a, b),
        _ => None,
    }
}

fn indexed<'a>(operand: &Val<'a>, key: &Val<'a>) -> Outcome<'a> {
    if let Val::Optional(inner) = operand {
        return match inner {
            None => Ok(Val::Optional(None)),
            Some(inner) => optional_index(inner, key),
        };
    }
    index(operand, key)?.map_or_else(
        || match operand {
            Val::List(_) => Failure::new(format!("index out of bounds: {}", key.show())),
            _ => Failure::new(format!("no such key: {}", key.show())),
        },
        Ok,
    )
}

fn optional_index<'a>(operand: &Val<'a>, key: &Val<'a>) -> Outcome<'a> {
    Ok(index(operand, key)?.map_or(Val::Optional(None), Val::some))
}

fn whole<'a>(number: Option<i64>) -> Outcome<'a> {
    number.map_or_else(|| Failure::new("integer overflow"), |number| Ok(Val::Int(number)))
}

fn unsigned<'a>(number: Option<u64>) -> Outcome<'a> {
    number.map_or_else(|| Failure::new("unsigned integer overflow"), |number| Ok(Val::Uint(number)))
}

fn arithmetic<'a>(operator: &str, a: &Val<'a>, b: &Val<'a>) -> Option<Outcome<'a>> {
    let sign = operator.trim_matches('_');
    Some(match (sign, a, b) {
        ("/", Val::Int(_), Val::Int(0)) | ("/", Val::Uint(_), Val::Uint(0)) => {
            Failure::new("division by zero")
        }
        ("%", Val::Int(_), Val::Int(0)) | ("%", Val::Uint(_), Val::Uint(0)) => {
            Failure::new("modulus by zero")
        }
        ("+", Val::Int(a), Val::Int(b)) => whole(a.checked_add(*b)),
        ("-", Val::Int(a), Val::Int(b)) => whole(a.checked_sub(*b)),
        ("*", Val::Int(a), Val::Int(b)) => whole(a.checked_mul(*b)),
        ("/", Val::Int(a), Val::Int(b)) => whole(a.checked_div(*b)),
        ("%", Val::Int(a), Val::Int(b)) => whole(a.checked_rem(*b)),
        ("+", Val::Uint(a), Val::Uint(b)) => unsigned(a.checked_add(*b)),
        ("-", Val::Uint(a), Val::Uint(b)) => unsigned(a.checked_sub(*b)),
        ("*", Val::Uint(a), Val::Uint(b)) => unsigned(a.checked_mul(*b)),
        ("/", Val::Uint(a), Val::Uint(b)) => unsigned(a.checked_div(*b)),
        ("%", Val::Uint(a), Val::Uint(b)) => unsigned(a.checked_rem(*b)),
        ("+", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a + b)),
        ("-", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a - b)),
        ("*", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a * b)),
        ("/", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a / b)),
        ("+", Val::Text(a), Val::Text(b)) => Ok(Val::text(format!("{a}{b}"))),
        ("+", Val::Bytes(a), Val::Bytes(b)) => Ok(Val::Bytes([&a[..], &b[..]].concat().into())),
        ("+", Val::List(a), Val::List(b)) => a.plus(b),
        ("+", Val::Duration(a), Val::Duration(b)) => duration(a.checked_add(*b)),
        ("-", Val::Duration(a), Val::Duration(b)) => duration(a.checked_sub(*b)),
        ("+", Val::Timestamp(time), Val::Duration(by))
        | ("+", Val::Duration(by), Val::Timestamp(time)) => timestamp(time::shifted(*time, *by)),
        ("-", Val::Timestamp(time), Val::Duration(by)) => {
            timestamp(by.checked_neg().and_then(|by| time::shifted(*time, by)))
        }
        ("-", Val::Timestamp(a), Val::Timestamp(b)) => {
            duration(i64::try_from(a.duration_since(*b).as_nanos()).ok())
        }
        _ => return None,
    })
}

fn duration<'a>(nanos: Option<i64>) -> Outcome<'a> {
    nanos.map_or_else(|| Failure::new("duration overflow"), |nanos| Ok(Val::Duration(nanos)))
}

fn timestamp<'a>(time: Option<jiff::Timestamp>) -> Outcome<'a> {
    time.map_or_else(|| Failure::new("timestamp overflow"), |time| Ok(Val::Timestamp(time)))
}

fn list_function<'a>(function: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    Some(match (function, args) {
        ("size", [Val::List(list)]) => Ok(Val::Int(list.len() as i64)),
        ("size", [Val::Map(fields)]) => Ok(Val::Int(fields.len() as i64)),
        ("isSorted", [Val::List(list)]) => is_sorted(list),
        ("sum", [Val::List(list)]) => sum(list),
        ("min", [Val::List(list)]) => extreme(list, "min", Ordering::Greater),
        ("max", [Val::List(list)]) => extreme(list, "max", Ordering::Less),
        ("indexOf", [Val::List(list), value]) => place(list, value, false),
        ("lastIndexOf", [Val::List(list), value]) => place(list, value, true),
        ("sets.contains", [Val::List(a), Val::List(b)]) => contains_all(a, b).map(Val::Bool),
        ("sets.equivalent", [Val::List(a), Val::List(b)]) => {
            contains_all(a, b).and_then(|first| Ok(Val::Bool(first && contains_all(b, a)?)))
        }
        ("sets.intersects", [Val::List(a), Val::List(b)]) => intersects(a, b).map(Val::Bool),
        ("slice", [Val::List(list), Val::Int(start), Val::Int(end)]) => slice(list, *start, *end),
        ("flatten", [Val::List(list)]) => flatten(list, 1).map(Val::list),
        ("flatten", [Val::List(list), Val::Int(depth)]) => {
            if *depth < 0 {
                return Some(Failure::new("level must be non-negative"));
            }
            flatten(list, *depth).map(Val::list)
        }
        ("distinct", [Val::List(list)]) => distinct(list),
        ("first" | "last", [Val::List(list)]) => match list.len().checked_sub(1) {
            None => Ok(Val::Optional(None)),
            Some(last) => list.at(if function == "last" { last } else { 0 }).map(Val::some),
        },
        ("reverse", [Val::List(list)]) => list.all().map(|mut items| {
            items.reverse();
            Val::list(items)
        }),
        ("sort", [Val::List(list)]) => list.all().and_then(|items| sort_by(items.clone(), items)),
        ("lists.range", [Val::Int(count)]) => range(*count),
        _ => return optional_function(function, args),
    })
}

fn optional_function<'a>(function: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    Some(match (function, args) {
        ("optional.of", [value]) => Ok(Val::some(value.clone())),
        ("optional.ofNonZeroValue", [value]) => {
            let zero = match value {
                Val::Null | Val::Bool(false) | Val::Int(0) | Val::Uint(0) | Val::Duration(0) => {
                    true
                }
                Val::Double(number) => *number == 0.0,
                Val::Text(text) => text.is_empty(),
                Val::Bytes(bytes) => bytes.is_empty(),
                Val::List(list) => list.len() == 0,
                Val::Map(fields) => fields.len() == 0,
                _ => false,
            };
            Ok(if zero { Val::Optional(None) } else { Val::some(value.clone()) })
        }
        ("optional.none", []) => Ok(Val::Optional(None)),
        ("hasValue", [Val::Optional(inner)]) => Ok(Val::Bool(inner.is_some())),
        ("value", [Val::Optional(inner)]) => match inner {
            Some(inner) => Ok(Val::clone(inner)),
            None => Failure::new("optional.none() dereference"),
        },
        _ => return None,
    })
}

fn is_sorted<'a>(list: &List<'a>) -> Outcome<'a> {
    let items = list.all()?;
    for pair in items.windows(2) {
        if pair[0].compare(&pair[1])?.is_gt() {
            return Ok(Val::Bool(false));
        }
    }
    Ok(Val::Bool(true))
}

fn sum<'a>(list: &List<'a>) -> Outcome<'a> {
    let mut total: Option<Val<'a>> = None;
    for item in list.iter() {
        let item = item?;
        total = Some(match total {
            None => item,
            Some(total) => arithmetic("_+_", &total, &item).unwrap_or_else(Failure::overload)?,
        });
    }
    Ok(total.unwrap_or(Val::Int(0)))
}

fn extreme<'a>(list: &List<'a>, name: &str, replace: Ordering) -> Outcome<'a> {
    let mut best: Option<Val<'a>> = None;
    for item in list.iter() {
        let item = item?;
        best = Some(match best {
            Some(best) if best.compare(&item)? != replace => best,
            _ => item,
        });
    }
    best.map_or_else(|| Failure::new(format!("{name} called on empty list")), Ok)
}

fn place<'a>(list: &List<'a>, value: &Val<'a>, last: bool) -> Outcome<'a> {
    let mut found = -1;
    for (i, item) in list.iter().enumerate() {
        if item?.equals(value)? {
            found = i as i64;
            if !last {
                break;
            }
        }
    }
    Ok(Val::Int(found))
}

fn contains_all(whole: &List<'_>, part: &List<'_>) -> Result<bool, Failure> {
    for item in part.iter() {
        if !whole.contains(&item?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn intersects(a: &List<'_>, b: &List<'_>) -> Result<bool, Failure> {
    for item in a.iter() {
        if b.contains(&item?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn slice<'a>(list: &List<'a>, start: i64, end: i64) -> Outcome<'a> {
    if start < 0 || end < 0 {
        return Failure::new(format!(
            "cannot slice({start}, {end}), negative indexes not supported"
        ));
    }
    if start > end {
        return Failure::new(format!(
            "cannot slice({start}, {end}), start index must be less than or equal to end index"
        ));
    }
    let size = list.len();
    if end as usize > size {
        return Failure::new(format!("cannot slice({start}, {end}), list is length {size}"));
    }
    Ok(Val::list(list.all()?[start as usize..end as usize].to_vec()))
}

fn flatten<'a>(list: &List<'a>, depth: i64) -> Result<Vec<Val<'a>>, Failure> {
    let mut out = Vec::new();
    for item in list.iter() {
        match item? {
            Val::List(inner) if depth > 0 => out.extend(flatten(&inner, depth - 1)?),
            item => out.push(item),
        }
    }
    Ok(out)
}

fn distinct<'a>(list: &List<'a>) -> Outcome<'a> {
    let mut out: Vec<Val<'a>> = Vec::new();
    'items: for item in list.iter() {
        let item = item?;
        for known in &out {
            if known.equals(&item)? {
                continue 'items;
            }
        }
        out.push(item);
    }
    Ok(Val::list(out))
}

/// `items` in the order of `keys`.
pub(super) fn sort_by<'a>(items: Vec<Val<'a>>, keys: Vec<Val<'a>>) -> Outcome<'a> {
    let mut failure = None;
    let mut pairs: Vec<(Val<'a>, Val<'a>)> = keys.into_iter().zip(items).collect();
    pairs.sort_by(|(a, _), (b, _)| {
        a.compare(b).unwrap_or_else(|error| {
            failure = Some(error);
            Ordering::Equal
        })
    });
    match failure {
        Some(failure) => Err(failure),
        None => {
            Ok(Val::List(List::Made(Rc::new(pairs.into_iter().map(|(_, item)| item).collect()))))
        }
    }
}

/// Nobody needs longer lists of numbers, and memory is not the rule's to use up.
const LONGEST_RANGE: i64 = 1_000_000;

fn range<'a>(count: i64) -> Outcome<'a> {
    if count > LONGEST_RANGE {
        return Failure::new(TOO_COSTLY);
    }
    Ok(Val::list((0..count.max(0)).map(Val::Int).collect()))
}
