//! Reading Kubernetes' protobuf, in which its own clients send objects of built-in kinds.
//!
//! `facts/protobuf.txt` has the messages as the `generated.proto` files of k8s.io/api 0.36 define
//! them: below each name one line per field with its number, its JSON name (`-` for a struct that
//! JSON writes in place) and its type.

use std::sync::LazyLock;

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use rustc_hash::FxHashMap;
use serde_json::{Map, Number, Value};

/// What every object in protobuf begins with.
const MAGIC: &[u8] = b"k8s\0";

/// How deeply messages may be nested; the types themselves nest about a dozen levels.
const DEPTH_MAX: usize = 64;

struct Field {
    number: u64,
    /// None where JSON writes the fields of the message in place.
    name: Option<&'static str>,
    holds: Holds,
    of: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    One,
    List,
    Map,
}

static MESSAGES: LazyLock<FxHashMap<&'static str, Vec<Field>>> = LazyLock::new(|| {
    let mut messages: FxHashMap<&'static str, Vec<Field>> = FxHashMap::default();
    let mut current = "";
    for line in include_str!("../facts/protobuf.txt").lines() {
        let Some(field) = line.strip_prefix(' ') else {
            current = line;
            messages.insert(current, Vec::new());
            continue;
        };
        let mut words = field.split(' ');
        let mut next = || words.next().expect("a field has three words");
        let (number, name, kind) = (next(), next(), next());
        let (holds, of) = if let Some(of) = kind.strip_prefix("[]") {
            (Holds::List, of)
        } else if let Some(of) = kind.strip_prefix("map:") {
            (Holds::Map, of)
        } else {
            (Holds::One, kind)
        };
        let number = number.parse().expect("a field begins with its number");
        let name = (name != "-").then_some(name);
        messages.entry(current).or_default().push(Field { number, name, holds, of });
    }
    messages
});

/// Reads an object with its apiVersion and kind. The error says what is wrong with the bytes.
pub fn from_protobuf(bytes: &[u8]) -> Result<Value, String> {
    let envelope = bytes.strip_prefix(MAGIC).ok_or("does not begin with k8s and a zero byte")?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    let mut reader = Reader { bytes: envelope };
    while let Some((number, content)) = reader.field()? {
        match (number, content) {
            (1, Content::Bytes(of_type)) => {
                let mut reader = Reader { bytes: of_type };
                while let Some((number, content)) = reader.field()? {
                    match number {
                        1 => api_version = content.text()?,
                        2 => kind = content.text()?,
                        _ => {}
                    }
                }
            }
            (2, Content::Bytes(content)) => raw = content,
            _ => {}
        }
    }
    let name = message_name(&api_version, &kind)
        .ok_or_else(|| format!("no protobuf is known of {kind:?} in {api_version:?}"))?;
    let mut object = Map::new();
    read_message(name, raw, &mut object, 0)?;
    object.insert("apiVersion".into(), api_version.into());
    object.insert("kind".into(), kind.into());
    Ok(Value::Object(object))
}

fn message_name(api_version: &str, kind: &str) -> Option<&'static str> {
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    let package = group.split('.').next().unwrap_or(group);
    let own = format!("{package}.{version}.{kind}");
    let shared = format!("meta.v1.{kind}");
    let found = [own, shared].iter().find_map(|name| MESSAGES.get_key_value(name.as_str()));
    found.map(|(name, _)| *name)
}

fn read_message(
    name: &str,
    bytes: &[u8],
    out: &mut Map<String, Value>,
    depth: usize,
) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err("is nested too deeply".to_owned());
    }
    let fields = MESSAGES.get(name).ok_or_else(|| format!("has an unknown message {name}"))?;
    let mut reader = Reader { bytes };
    while let Some((number, content)) = reader.field()? {
        // Fields of later versions are left out, as the real server does.
        let Some(field) = fields.iter().find(|field| field.number == number) else { continue };
        let Some(name) = field.name else {
            read_message(field.of, content.bytes()?, out, depth + 1)?;
            continue;
        };
        match field.holds {
            Holds::One => {
                out.insert(name.to_owned(), read_value(field.of, content, depth)?);
            }
            Holds::List => {
                let entry = read_value(field.of, content, depth)?;
                let list = out.entry(name).or_insert_with(|| Value::Array(Vec::new()));
                list.as_array_mut().expect("a field is always a list or never").push(entry);
            }
            Holds::Map => {
                let (key, value) = read_entry(field.of, content.bytes()?, depth)?;
                let map = out.entry(name).or_insert_with(|| Value::Object(Map::new()));
                map.as_object_mut().expect("a field is always a map or never").insert(key, value);
            }
        }
    }
    Ok(())
}

fn read_entry(of: &str, bytes: &[u8], depth: usize) -> Result<(String, Value), String> {
    let (mut key, mut value) = (String::new(), None);
    let mut reader = Reader { bytes };
    while let Some((number, content)) = reader.field()? {
        match number {
            1 => key = content.text()?,
            2 => value = Some(read_value(of, content, depth)?),
            _ => {}
        }
    }
    let value = match value {
        Some(value) => value,
        None => read_value(of, Content::Bytes(&[]), depth)?,
    };
    Ok((key, value))
}

fn read_value(of: &str, content: Content<'_>, depth: usize) -> Result<Value, String> {
    Ok(match of {
        "string" => content.text()?.into(),
        "bytes" => STANDARD.encode(content.bytes()?).into(),
        "bool" => (content.number()? != 0).into(),
        "int32" | "int64" => (content.number()? as i64).into(),
        "uint32" | "uint64" => content.number()?.into(),
        "double" => match content {
            Content::Fixed(bits) => {
                Number::from_f64(f64::from_bits(bits)).map_or(Value::Null, Value::Number)
            }
            _ => return Err("has a number where a double should be".to_owned()),
        },
        "meta.v1.Time" => read_time(content.bytes()?, false)?,
        "meta.v1.MicroTime" => read_time(content.bytes()?, true)?,
        "meta.v1.Duration" => {
            let nanoseconds = first(content.bytes()?)?.map_or(Ok(0), Content::number)?;
            go_duration(nanoseconds as i64).into()
        }
        "api.resource.Quantity" => match first(content.bytes()?)? {
            Some(text) => text.text()?.into(),
            None => "0".into(),
        },
        "util.intstr.IntOrString" => read_int_or_string(content.bytes()?)?,
        "pkg.runtime.RawExtension" | "meta.v1.FieldsV1" => {
            let raw = first(content.bytes()?)?.map_or(Ok(&[][..]), Content::bytes)?;
            serde_json::from_slice(raw).unwrap_or_default()
        }
        message => {
            let mut object = Map::new();
            read_message(message, content.bytes()?, &mut object, depth + 1)?;
            if message.ends_with(".ExtraValue") {
                return Ok(object.remove("items").unwrap_or_else(|| Value::Array(Vec::new())));
            }
            Value::Object(object)
        }
    })
}

/// The field of a message that has only one.
fn first(bytes: &[u8]) -> Result<Option<Content<'_>>, String> {
    Ok(Reader { bytes }.field()?.map(|(_, content)| content))
}

fn read_time(bytes: &[u8], with_fraction: bool) -> Result<Value, String> {
    let (mut seconds, mut nanoseconds) = (None, 0);
    let mut reader = Reader { bytes };
    while let Some((number, content)) = reader.field()? {
        match number {
            1 => seconds = Some(content.number()? as i64),
            2 => nanoseconds = content.number()? as i32,
            _ => {}
        }
    }
    // Nothing at all is Go's zero time, which JSON writes as null.
    let Some(seconds) = seconds else { return Ok(Value::Null) };
    let fraction = if with_fraction { nanoseconds } else { 0 };
    let moment = Timestamp::new(seconds, fraction).map_err(|error| error.to_string())?;
    Ok(if with_fraction { format!("{moment:.6}") } else { moment.to_string() }.into())
}

fn read_int_or_string(bytes: &[u8]) -> Result<Value, String> {
    let (mut is_text, mut number, mut text) = (false, 0, String::new());
    let mut reader = Reader { bytes };
    while let Some((field, content)) = reader.field()? {
        match field {
            1 => is_text = content.number()? == 1,
            2 => number = content.number()? as i64,
            3 => text = content.text()?,
            _ => {}
        }
    }
    Ok(if is_text { text.into() } else { number.into() })
}

/// A duration as Go writes it, in seconds with their fraction.
fn go_duration(nanoseconds: i64) -> String {
    let (seconds, rest) = (nanoseconds / 1_000_000_000, (nanoseconds % 1_000_000_000).abs());
    if rest == 0 {
        return format!("{seconds}s");
    }
    let fraction = format!("{rest:09}");
    format!("{seconds}.{}s", fraction.trim_end_matches('0'))
}

/// What a field holds on the wire.
#[derive(Clone, Copy)]
enum Content<'a> {
    Number(u64),
    Fixed(u64),
    Bytes(&'a [u8]),
}

impl<'a> Content<'a> {
    fn number(self) -> Result<u64, String> {
        match self {
            Self::Number(number) => Ok(number),
            _ => Err("has something else where a number should be".to_owned()),
        }
    }

    fn bytes(self) -> Result<&'a [u8], String> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err("has a number where a text or a message should be".to_owned()),
        }
    }

    fn text(self) -> Result<String, String> {
        let text = std::str::from_utf8(self.bytes()?).map_err(|error| error.to_string())?;
        Ok(text.to_owned())
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// The number and the content of the next field; none at the end.
    fn field(&mut self) -> Result<Option<(u64, Content<'a>)>, String> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let content = match tag & 7 {
            0 => Content::Number(self.varint()?),
            1 => Content::Fixed(u64::from_le_bytes(self.fixed()?)),
            2 => {
                let length = self.varint()?;
                let length = usize::try_from(length).map_err(|error| error.to_string())?;
                Content::Bytes(self.take(length)?)
            }
            5 => Content::Fixed(u64::from(u32::from_le_bytes(self.fixed()?))),
            other => return Err(format!("has a field of the unknown wire type {other}")),
        };
        Ok(Some((tag >> 3, content)))
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("has a number of more than 64 bits".to_owned())
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.take(N)?.try_into().map_err(|_| "ends early".to_owned())
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let taken = self.bytes.get(..length).ok_or("ends early")?;
        self.bytes = &self.bytes[length..];
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field whose content has a length.
    fn long(number: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).expect("short contents");
        [&[number << 3 | 2, length], content].concat()
    }

    fn object(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let of_type = [long(1, api_version.as_bytes()), long(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), long(1, &of_type), long(2, raw)].concat()
    }

    fn read(api_version: &str, kind: &str, raw: &[u8]) -> String {
        match from_protobuf(&object(api_version, kind, raw)) {
            Ok(value) => value.to_string(),
            Err(why) => why,
        }
    }

    #[test]
    fn objects_become_json() {
        let entry = [long(1, b"k"), long(2, b"v")].concat();
        let metadata = [long(1, b"a"), long(11, &entry), long(8, &[])].concat();
        assert_eq!(
            read("v1", "Namespace", &long(1, &metadata)),
            r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"creationTimestamp":null,"labels":{"k":"v"},"name":"a"}}"#
        );
        assert_eq!(
            read("v1", "DeleteOptions", &[1 << 3, 30]),
            r#"{"apiVersion":"v1","gracePeriodSeconds":30,"kind":"DeleteOptions"}"#
        );
    }

    #[test]
    fn structs_that_json_writes_in_place_are_written_in_place() {
        let secret = long(6, &long(1, b"s"));
        let volume = [long(1, b"v"), long(2, &secret)].concat();
        let template = long(2, &long(2, &long(1, &volume)));
        assert_eq!(
            read("v1", "PodTemplate", &template),
            r#"{"apiVersion":"v1","kind":"PodTemplate","template":{"spec":{"volumes":[{"name":"v","secret":{"secretName":"s"}}]}}}"#
        );
    }

    #[test]
    fn bad_bytes_are_refused() {
        assert_eq!(read("v9", "Namespace", &[]), r#"no protobuf is known of "Namespace" in "v9""#);
        assert_eq!(read("v1", "Namespace", &[0x0a, 9, 1]), "ends early");
        assert_eq!(read("v1", "Namespace", &[0x0b]), "has a field of the unknown wire type 3");
        assert_eq!(from_protobuf(b"{}"), Err("does not begin with k8s and a zero byte".into()));
    }
}
