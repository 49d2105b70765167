//! Conversions between types, and the parts of times.

use jiff::{Timestamp, Zoned, tz::TimeZone};

use super::{
    strings,
    value::{Failure, Outcome, Val},
};
use crate::{text, time};

/// Calls a conversion or a getter of times, if there is one for these arguments.
pub(super) fn call<'a>(function: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    let (value, rest) = args.split_first()?;
    if function.starts_with("get")
        && let Some(result) = getter(function, value, rest)
    {
        return Some(result);
    }
    if !rest.is_empty() {
        return None;
    }
    match function {
        "dyn" => Some(Ok(value.clone())),
        "type" => Some(Ok(Val::Type(value.type_name()))),
        "bool" => to_bool(value),
        "bytes" => match value {
            Val::Bytes(_) => Some(Ok(value.clone())),
            Val::Text(text) => Some(Ok(Val::Bytes(text.as_bytes().into()))),
            _ => None,
        },
        "double" => to_double(value),
        "int" => to_int(value),
        "uint" => to_uint(value),
        "string" => to_text(value),
        "duration" => match value {
            Val::Duration(_) => Some(Ok(value.clone())),
            Val::Int(seconds) => Some(seconds.checked_mul(1_000_000_000).map_or_else(
                || Failure::new("range error converting int to duration"),
                |n| Ok(Val::Duration(n)),
            )),
            Val::Text(text) => Some(match time::parse_go_duration(text) {
                Some(nanos) => Ok(Val::Duration(nanos)),
                None => refuse("string", "google.protobuf.Duration"),
            }),
            _ => None,
        },
        "timestamp" => match value {
            Val::Timestamp(_) => Some(Ok(value.clone())),
            Val::Int(seconds) => Some(match Timestamp::from_second(*seconds) {
                Ok(time) => Ok(Val::Timestamp(time)),
                Err(_) => Failure::new("range error converting int to timestamp"),
            }),
            Val::Text(text) => Some(match text.parse::<Timestamp>() {
                Ok(time) => Ok(Val::Timestamp(time)),
                Err(_) => refuse("string", "google.protobuf.Timestamp"),
            }),
            _ => None,
        },
        _ => None,
    }
}

fn refuse<'a>(from: &str, to: &str) -> Outcome<'a> {
    Failure::new(format!("type conversion error from '{from}' to '{to}'"))
}

fn to_bool<'a>(value: &Val<'a>) -> Option<Outcome<'a>> {
    match value {
        Val::Bool(_) => Some(Ok(value.clone())),
        Val::Text(text) => Some(match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => refuse("string", "bool"),
        }),
        _ => None,
    }
}

fn to_double<'a>(value: &Val<'a>) -> Option<Outcome<'a>> {
    Some(match value {
        Val::Double(number) => Ok(Val::Double(*number)),
        Val::Int(number) => Ok(Val::Double(*number as f64)),
        Val::Uint(number) => Ok(Val::Double(*number as f64)),
        Val::Text(text) => text
            .parse()
            .map_or_else(|_| refuse("string", "double"), |number| Ok(Val::Double(number))),
        _ => return None,
    })
}

fn to_int<'a>(value: &Val<'a>) -> Option<Outcome<'a>> {
    Some(match value {
        Val::Int(number) => Ok(Val::Int(*number)),
        Val::Uint(number) => i64::try_from(*number)
            .map_or_else(|_| Failure::new("integer overflow"), |number| Ok(Val::Int(number))),
        Val::Double(number) if number.is_finite() && number.abs() < 9.223_372_036_854_775e18 => {
            Ok(Val::Int(number.trunc() as i64))
        }
        Val::Double(_) => Failure::new("integer overflow"),
        Val::Text(text) => {
            text.parse().map_or_else(|_| refuse("string", "int"), |number| Ok(Val::Int(number)))
        }
        Val::Duration(nanos) => Ok(Val::Int(*nanos)),
        Val::Timestamp(time) => Ok(Val::Int(time.as_second())),
        _ => return None,
    })
}

fn to_uint<'a>(value: &Val<'a>) -> Option<Outcome<'a>> {
    let overflow = || Failure::new("unsigned integer overflow");
    Some(match value {
        Val::Uint(number) => Ok(Val::Uint(*number)),
        Val::Int(number) => {
            u64::try_from(*number).map_or_else(|_| overflow(), |n| Ok(Val::Uint(n)))
        }
        Val::Double(number) if (0.0..1.844_674_407_370_955e19).contains(number) => {
            Ok(Val::Uint(number.trunc() as u64))
        }
        Val::Double(_) => overflow(),
        Val::Text(text) => {
            text.parse().map_or_else(|_| refuse("string", "uint"), |number| Ok(Val::Uint(number)))
        }
        _ => return None,
    })
}

/// A value as `string(value)` has it.
pub(super) fn to_text<'a>(value: &Val<'a>) -> Option<Outcome<'a>> {
    Some(match value {
        Val::Text(_) => Ok(value.clone()),
        Val::Bool(_) | Val::Int(_) | Val::Uint(_) => Ok(Val::text(value.show())),
        Val::Double(number) => Ok(Val::text(text::float(*number))),
        Val::Bytes(bytes) => strings::utf8(bytes),
        Val::Duration(nanos) => Ok(Val::text(format!("{}s", *nanos as f64 / 1e9))),
        Val::Timestamp(time) => Ok(Val::text(time.to_string())),
        Val::Ip(address) => Ok(Val::text(address.to_string())),
        Val::Cidr(address, bits) => Ok(Val::text(format!("{address}/{bits}"))),
        _ => return None,
    })
}

fn getter<'a>(function: &str, value: &Val<'a>, rest: &[Val<'a>]) -> Option<Outcome<'a>> {
    match (value, rest) {
        (Val::Duration(nanos), []) => {
            let number = match function {
                "getHours" => nanos / 3_600_000_000_000,
                "getMinutes" => nanos / 60_000_000_000,
                "getSeconds" => nanos / 1_000_000_000,
                "getMilliseconds" => nanos / 1_000_000,
                _ => return None,
            };
            Some(Ok(Val::Int(number)))
        }
        (Val::Timestamp(time), []) => part(function, &time.to_zoned(TimeZone::UTC)),
        (Val::Timestamp(time), [Val::Text(zone)]) => match time_zone(zone) {
            Some(zone) => part(function, &time.to_zoned(zone)),
            None => Some(Failure::new(format!("unknown time zone {zone}"))),
        },
        _ => None,
    }
}

/// `UTC`, or an offset such as `+02:00`. Names of places need a database that is not there.
fn time_zone(name: &str) -> Option<TimeZone> {
    if name.is_empty() || name == "UTC" {
        return Some(TimeZone::UTC);
    }
    let (sign, digits) = match name.as_bytes().first()? {
        b'-' => (-1, &name[1..]),
        b'+' => (1, &name[1..]),
        _ => (1, name),
    };
    let (hours, minutes) = digits.split_once(':')?;
    let seconds = hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60;
    jiff::tz::Offset::from_seconds(sign * seconds).ok().map(TimeZone::fixed)
}

fn part<'a>(function: &str, time: &Zoned) -> Option<Outcome<'a>> {
    let number = match function {
        "getFullYear" => i64::from(time.year()),
        "getMonth" => i64::from(time.month()) - 1,
        "getDayOfYear" => i64::from(time.day_of_year()) - 1,
        "getDayOfMonth" => i64::from(time.day()) - 1,
        "getDate" => i64::from(time.day()),
        "getDayOfWeek" => i64::from(time.weekday().to_sunday_zero_offset()),
        "getHours" => i64::from(time.hour()),
        "getMinutes" => i64::from(time.minute()),
        "getSeconds" => i64::from(time.second()),
        "getMilliseconds" => i64::from(time.millisecond()),
        _ => return None,
    };
    Some(Ok(Val::Int(number)))
}
