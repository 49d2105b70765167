//! Values as JSON, as Go's `encoding/json` writes them.

use super::Called;
use crate::{
    budget::{Budget, Writer},
    number::{self, Notation},
    runes::{self, REPLACEMENT},
    value::{Tag, Type, UintKind, Value},
};

struct Json {
    out: Writer,
    pretty: bool,
    depth: usize,
    /// Go writes nothing at all where a value has no JSON.
    impossible: bool,
}

pub(super) fn document(budget: &Budget, value: &Value, pretty: bool) -> Called {
    let mut json = Json { out: budget.writer(), pretty, depth: 0, impossible: false };
    json.value(value);
    if json.impossible {
        return Ok(Value::text(""));
    }
    Ok(Value::text(json.out.finish()?))
}

impl Json {
    fn value(&mut self, value: &Value) {
        match value.behind_pointers() {
            Value::Nil | Value::Pointer(_) => self.out.push("null"),
            Value::Bool(flag) => self.out.push(flag.to_string()),
            Value::Int(_, number) => self.out.push(number.to_string()),
            Value::Uint(_, number) => self.out.push(number.to_string()),
            Value::Float(number) => self.float(*number),
            Value::Text(text) => self.text(text.bytes()),
            Value::List(list) if list.is_nil() => self.out.push("null"),
            Value::List(list) if list.of == Type::Uint(UintKind::Uint8) => self.bytes(list.items()),
            Value::List(list) => {
                let items = list.items();
                self.group("[", "]", items.iter(), Self::value);
            }
            Value::Map(map) if map.is_nil() => self.out.push("null"),
            Value::Map(map) => self.group("{", "}", map.iter(), |json, (key, value)| {
                json.key(key.bytes());
                json.value(value);
            }),
            Value::Struct(structure) => {
                let kept =
                    structure.fields().filter(|(field, value)| !is_left_out(&field.json, value));
                self.group("{", "}", kept, |json, (field, value)| {
                    json.key(field.json.key.as_bytes());
                    json.value(value);
                });
            }
            Value::Function(_) => self.impossible = true,
        }
    }

    fn group<I>(
        &mut self,
        open: &str,
        close: &str,
        items: impl Iterator<Item = I>,
        write: impl Fn(&mut Self, I),
    ) {
        self.out.push(open);
        self.depth += 1;
        let mut any = false;
        for item in items {
            if any {
                self.out.push(",");
            }
            any = true;
            self.line();
            write(self, item);
        }
        self.depth -= 1;
        if any {
            self.line();
        }
        self.out.push(close);
    }

    fn line(&mut self) {
        if self.pretty {
            self.out.push("\n");
            self.out.repeat(b' ', self.depth * 2);
        }
    }

    fn key(&mut self, key: &[u8]) {
        self.text(key);
        self.out.push(if self.pretty { ": " } else { ":" });
    }

    fn float(&mut self, value: f64) {
        if !value.is_finite() {
            self.impossible = true;
            return;
        }
        let magnitude = value.abs();
        // As in JavaScript: exponents only for very small and very large numbers.
        let text = if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
            let text = number::written(value, Notation::Exponent, None);
            match text.rsplit_once("e-0") {
                Some((head, digit)) => format!("{head}e-{digit}"),
                None => text,
            }
        } else {
            number::written(value, Notation::Plain, None)
        };
        self.out.push(text);
    }

    fn bytes(&mut self, items: &[Value]) {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let byte = |item: &Value| match item {
            Value::Uint(_, byte) => *byte as u8,
            _ => 0,
        };
        let bytes: Vec<u8> = items.iter().map(byte).collect();
        self.text(STANDARD.encode(bytes).as_bytes());
    }

    fn text(&mut self, text: &[u8]) {
        self.out.push("\"");
        for (rune, bytes) in runes::each(text) {
            match rune {
                '"' => self.out.push("\\\""),
                '\\' => self.out.push("\\\\"),
                '\u{8}' => self.out.push("\\b"),
                '\u{c}' => self.out.push("\\f"),
                '\n' => self.out.push("\\n"),
                '\r' => self.out.push("\\r"),
                '\t' => self.out.push("\\t"),
                '<' | '>' | '&' | '\0'..' ' | '\u{2028}' | '\u{2029}' => {
                    self.out.push(format!("\\u{:04x}", rune as u32));
                }
                REPLACEMENT if bytes.len() == 1 => self.out.push("\\ufffd"),
                _ => self.out.push(bytes),
            }
        }
        self.out.push("\"");
    }
}

/// `omitempty` of JSON leaves structs in.
fn is_left_out(tag: &Tag, value: &Value) -> bool {
    tag.omit_empty
        && match value {
            Value::Struct(_) => false,
            value => !value.is_true(),
        }
}
