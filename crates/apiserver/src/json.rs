//! Reading JSON as the API server reads it: it tells duplicate fields, and its complaints about
//! malformed text are those of Go's `encoding/json`.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A value and what was noticed on the way.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Parsed {
    pub(crate) value: Value,
    /// The fields that were given twice, as paths.
    pub(crate) duplicates: Vec<String>,
    pub(crate) head: Head,
}

/// The type that an object says it has. The server looks for it without regard to case, before it
/// looks at anything else.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) api_version: Option<String>,
    pub(crate) kind: Option<String>,
    /// What is wrong with the first that is no text.
    pub(crate) wrong: Option<String>,
}

impl Head {
    /// The type of an object that was read before.
    pub(crate) fn of(object: &Value) -> Self {
        let mut head = Self::default();
        for (name, value) in object.as_object().into_iter().flatten() {
            head.note(name, value);
        }
        head
    }

    fn note(&mut self, name: &str, value: &Value) {
        let (field, place) = if name.eq_ignore_ascii_case("apiVersion") {
            ("apiVersion", &mut self.api_version)
        } else if name.eq_ignore_ascii_case("kind") {
            ("kind", &mut self.kind)
        } else {
            return;
        };
        let found = match value {
            Value::String(text) => {
                *place = Some(text.clone());
                return;
            }
            Value::Null => return,
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        self.wrong.get_or_insert_with(|| {
            format!("json: cannot unmarshal {found} into Go struct field .{field} of type string")
        });
    }
}

/// The paths of all fields of a document, in the order in which it has them.
pub(crate) fn fields_in_order(text: &[u8]) -> Vec<String> {
    let mut found = Noted { paths: Some(Vec::new()), ..Noted::default() };
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    // Malformed text has been refused before.
    let _ = Tracked { path: None, noted: &mut found }.deserialize(&mut deserializer);
    found.paths.unwrap_or_default()
}

/// What is noted while a document is read.
#[derive(Default)]
struct Noted {
    duplicates: Vec<String>,
    head: Head,
    /// The paths of all fields, if they are wanted.
    paths: Option<Vec<String>>,
}

/// Reads JSON; the error is worded as Go words it.
pub(crate) fn parse(text: &[u8]) -> Result<Parsed, String> {
    let mut noted = Noted::default();
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let seed = Tracked { path: None, noted: &mut noted };
    let value = seed.deserialize(&mut deserializer).and_then(|value| {
        deserializer.end()?;
        Ok(value)
    });
    match value {
        Ok(value) => Ok(Parsed { value, duplicates: noted.duplicates, head: noted.head }),
        Err(error) => Err(syntax_error(text).unwrap_or_else(|| error.to_string())),
    }
}

/// Where in the document we are; built only by links, so that nothing is allocated on the way.
#[derive(Clone, Copy)]
struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Entry(usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Field(name) if self.parent.is_some() => write!(f, ".{name}"),
            Step::Field(name) => f.write_str(name),
            Step::Entry(index) => write!(f, "[{index}]"),
        }
    }
}

struct Tracked<'a, 'd> {
    path: Option<&'a Path<'a>>,
    noted: &'d mut Noted,
}

impl<'de> DeserializeSeed<'de> for Tracked<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tracked<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let path = Path { parent: self.path, step: Step::Entry(list.len()) };
            let seed = Tracked { path: Some(&path), noted: self.noted };
            match entries.next_element_seed(seed)? {
                Some(entry) => list.push(entry),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let path = Path { parent: self.path, step: Step::Field(&name) };
            if let Some(paths) = &mut self.noted.paths {
                paths.push(path.to_string());
            }
            if fields.contains_key(&name) {
                self.noted.duplicates.push(path.to_string());
            }
            let seed = Tracked { path: Some(&path), noted: self.noted };
            let value = entries.next_value_seed(seed)?;
            if self.path.is_none() {
                self.noted.head.note(&name, &value);
            }
            fields.insert(name, value);
        }
        Ok(Value::Object(fields))
    }
}

/// What Go would say about malformed text; none when Go would accept it.
fn syntax_error(text: &[u8]) -> Option<String> {
    let mut scanner = Scanner { text, at: 0, depth: 0 };
    scanner.document().err()
}

/// How deeply Go lets arrays and objects be nested.
const DEPTH_MAX: usize = 10_000;

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl Scanner<'_> {
    fn document(&mut self) -> Result<(), String> {
        self.value("looking for beginning of value")?;
        self.space();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("after top-level value")),
        }
    }

    fn value(&mut self, context: &str) -> Result<(), String> {
        self.space();
        match self.peek() {
            None => Err(Self::ended()),
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string(),
            Some(b't') => self.literal(b"true"),
            Some(b'f') => self.literal(b"false"),
            Some(b'n') => self.literal(b"null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err(self.unexpected(context)),
        }
    }

    fn nested(&mut self, inside: fn(&mut Self) -> Result<(), String>) -> Result<(), String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("exceeded max depth".to_owned());
        }
        self.at += 1;
        inside(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn object(&mut self) -> Result<(), String> {
        self.space();
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            self.space();
            match self.peek() {
                None => return Err(Self::ended()),
                Some(b'"') => self.string()?,
                Some(_) => {
                    return Err(self.unexpected("looking for beginning of object key string"));
                }
            }
            self.space();
            self.expect(b':', "after object key")?;
            self.value("looking for beginning of value")?;
            self.space();
            if self.eat(b'}') {
                return Ok(());
            }
            self.expect(b',', "after object key:value pair")?;
        }
    }

    fn array(&mut self) -> Result<(), String> {
        self.space();
        if self.eat(b']') {
            return Ok(());
        }
        loop {
            self.value("looking for beginning of value")?;
            self.space();
            if self.eat(b']') {
                return Ok(());
            }
            self.expect(b',', "after array element")?;
        }
    }

    fn string(&mut self) -> Result<(), String> {
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(Self::ended()),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(byte) if byte < 0x20 => {
                    return Err(self.unexpected("in string literal"));
                }
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<(), String> {
        match self.peek() {
            None => Err(Self::ended()),
            Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    match self.peek() {
                        None => return Err(Self::ended()),
                        Some(byte) if byte.is_ascii_hexdigit() => self.at += 1,
                        Some(_) => {
                            return Err(self.unexpected("in \\u hexadecimal character escape"));
                        }
                    }
                }
                Ok(())
            }
            Some(_) => Err(self.unexpected("in string escape code")),
        }
    }

    fn literal(&mut self, word: &[u8]) -> Result<(), String> {
        for (index, expected) in word.iter().enumerate() {
            match self.peek() {
                None => return Err(Self::ended()),
                Some(byte) if byte == *expected => self.at += 1,
                Some(_) => {
                    let word = String::from_utf8_lossy(word);
                    let expected = char::from(*expected);
                    debug_assert!(index > 0, "the first letter chose the word");
                    return Err(
                        self.unexpected(&format!("in literal {word} (expecting '{expected}')"))
                    );
                }
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), String> {
        self.eat(b'-');
        match self.peek() {
            None => return Err(Self::ended()),
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            Some(_) => return Err(self.unexpected("in numeric literal")),
        }
        if self.eat(b'.') {
            self.some_digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn some_digits(&mut self, context: &str) -> Result<(), String> {
        match self.peek() {
            None => Err(Self::ended()),
            Some(b'0'..=b'9') => {
                self.digits();
                Ok(())
            }
            Some(_) => Err(self.unexpected(context)),
        }
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, byte: u8, context: &str) -> Result<(), String> {
        match self.peek() {
            None => Err(Self::ended()),
            Some(_) if self.eat(byte) => Ok(()),
            Some(_) => Err(self.unexpected(context)),
        }
    }

    fn ended() -> String {
        "unexpected end of JSON input".to_owned()
    }

    fn unexpected(&self, context: &str) -> String {
        let byte = self.peek().unwrap_or_default();
        let shown = match byte {
            b'\'' => r"'\''".to_owned(),
            b'"' => "'\"'".to_owned(),
            b'\n' => r"'\n'".to_owned(),
            b'\t' => r"'\t'".to_owned(),
            b'\r' => r"'\r'".to_owned(),
            // Go prints the byte as the character of that number.
            0x80..=0x9f | 0xad => format!(r"'\u{byte:04x}'"),
            0x20..=0x7e | 0xa0.. => format!("'{}'", char::from(byte)),
            _ => format!(r"'\x{byte:02x}'"),
        };
        format!("invalid character {shown} {context}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn malformed_text_is_reported_as_go_reports_it() {
        let cases = [
            ("{bad", "invalid character 'b' looking for beginning of object key string"),
            ("", "unexpected end of JSON input"),
            ("{\"a\":1", "unexpected end of JSON input"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\":1 2}", "invalid character '2' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("{} x", "invalid character 'x' after top-level value"),
            ("tru!", "invalid character '!' in literal true (expecting 'e')"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("[1.]", "invalid character ']' after decimal point in numeric literal"),
            ("\"\\x\"", "invalid character 'x' in string escape code"),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text.as_bytes()).unwrap_err(), expected, "{text}");
        }
    }

    #[test]
    fn the_last_of_two_fields_counts_and_both_are_told() {
        let parsed = parse(br#"{"a":1,"b":[{"c":1},{"c":1,"c":2}],"a":3}"#).unwrap();
        assert_eq!(parsed.value, json!({"a": 3, "b": [{"c": 1}, {"c": 2}]}));
        assert_eq!(parsed.duplicates, ["b[1].c", "a"]);
    }
}
