//! YAML: split into documents, and lists read item by item.

use std::fmt::{self, Formatter};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::{NOT_AN_OBJECT, ReadError, Reader, complete, is_empty_list};
use crate::{objects::Head, validate::Invalid};

/// Takes the objects of every document.
pub(super) fn read(reader: &mut Reader, text: &str) -> Result<(), ReadError> {
    for (line, document) in documents(text) {
        reader.document += 1;
        let mut failure = None;
        let seed = Document { reader, failure: &mut failure };
        let outcome = serde_saphyr::with_deserializer_from_str_with_options(
            document,
            options(),
            |deserializer| seed.deserialize(deserializer),
        );
        if let Some(failure) = failure {
            return Err(failure);
        }
        if let Err(error) = outcome {
            return Err(reader.syntax("YAML", describe(&error, line)));
        }
    }
    Ok(())
}

/// As `kubectl` reads YAML, except that words such as `y` and `no` are text. The size of files is
/// not limited, since they are the user's own; how much aliases may add to them, and how deep
/// nesting goes, is.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
            max_aliases: usize::MAX,
            max_anchors: usize::MAX,
            max_merge_keys: usize::MAX,
            max_recorded_anchor_events: 100_000,
            enforce_alias_anchor_ratio: false,
        },
        with_snippet: false,
        strict_booleans: true,
        legacy_octal_numbers: true,
    }
}

/// The parser's complaint, with the line in the file instead of the line in the document.
fn describe(error: &serde_saphyr::Error, first_line: usize) -> String {
    let text = error.render_with_formatter(&serde_saphyr::UserMessageFormatter);
    let Some(location) = error.location() else { return text };
    let shown = format!("line {}, column {}", location.line(), location.column());
    let line = location.line() as usize + first_line;
    text.replace(&shown, &format!("line {line}, column {}", location.column()))
}

/// The documents of a text, each with the number of lines before it. A line that starts with `---`
/// starts a document wherever it stands, even inside a text block. Parts with comments only are no
/// documents.
fn documents(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut lines = 0;
    Parts { rest: text }
        .map(move |part| {
            let before = lines;
            lines += part.bytes().filter(|byte| *byte == b'\n').count();
            (before, part)
        })
        .filter(|(_, part)| has_content(part))
}

struct Parts<'t> {
    rest: &'t str,
}

impl<'t> Iterator for Parts<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        let mut end = 0;
        loop {
            // The first line belongs to this document, whether or not it is a marker.
            end = self.rest[end..].find('\n').map_or(self.rest.len(), |i| end + i + 1);
            if end == self.rest.len() || is_marker(&self.rest[end..]) {
                break;
            }
        }
        let (part, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(part)
    }
}

fn is_marker(text: &str) -> bool {
    text.strip_prefix("---")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// Whether there is more than markers, directives, comments and blank lines.
fn has_content(part: &str) -> bool {
    part.lines().any(|line| {
        let line = if is_marker(line) { &line[3..] } else { line };
        let line = line.trim();
        !(line.is_empty() || line.starts_with(['#', '%']) || line == "...")
    })
}

/// Hands the objects of one document to the reader. What the reader refuses is put into `failure`,
/// because a deserializer's error can only carry text.
struct Document<'r> {
    reader: &'r mut Reader,
    failure: &'r mut Option<ReadError>,
}

impl Document<'_> {
    fn add<E: serde::de::Error>(
        &mut self,
        object: &Value,
        list: Option<&Head>,
        item: u32,
    ) -> Result<(), E> {
        let Some(fields) = object.as_object() else { return self.no_object(item) };
        match head(fields).and_then(|head| complete(head, list, item)) {
            Ok(head) => self.reader.add(head, object, item).map_err(|failure| {
                *self.failure = Some(failure);
                E::custom("refused")
            }),
            Err(invalid) => {
                let kind = fields.get("kind").and_then(Value::as_str);
                self.refuse(item, kind.unwrap_or_default(), invalid)
            }
        }
    }

    fn no_object<E: serde::de::Error>(&mut self, item: u32) -> Result<(), E> {
        self.refuse(item, "", Invalid::new("", NOT_AN_OBJECT))
    }

    fn refuse<T, E: serde::de::Error>(
        &mut self,
        item: u32,
        object: &str,
        invalid: Invalid,
    ) -> Result<T, E> {
        *self.failure = Some(self.reader.refused(item, object, invalid));
        Err(E::custom("refused"))
    }
}

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes object")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: serde::de::Error>(mut self, _: bool) -> Result<(), E> {
        self.no_object(0)
    }

    fn visit_i64<E: serde::de::Error>(mut self, _: i64) -> Result<(), E> {
        self.no_object(0)
    }

    fn visit_u64<E: serde::de::Error>(mut self, _: u64) -> Result<(), E> {
        self.no_object(0)
    }

    fn visit_f64<E: serde::de::Error>(mut self, _: f64) -> Result<(), E> {
        self.no_object(0)
    }

    fn visit_str<E: serde::de::Error>(mut self, _: &str) -> Result<(), E> {
        self.no_object(0)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, sequence: A) -> Result<(), A::Error> {
        let waiting = Items { document: &mut self }.visit_seq(sequence)?;
        waiting.iter().try_for_each(|(item, object)| self.add(object, None, *item))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut fields = Map::new();
        let mut waiting = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == "items" {
                waiting = Some(map.next_value_seed(Items { document: &mut self })?);
            } else {
                fields.insert(key, map.next_value()?);
            }
        }
        let list = head(&fields).unwrap_or_default();
        let Some(waiting) = waiting else {
            let is_nothing = fields.is_empty() || is_empty_list(&list);
            return if is_nothing { Ok(()) } else { self.add(&Value::Object(fields), None, 0) };
        };
        if !list.kind.ends_with("List") {
            let problem = "belongs to a List; write kind: List";
            return self.refuse(0, &list.to_string(), Invalid::new("items", problem));
        }
        waiting.iter().try_for_each(|(item, object)| self.add(object, Some(&list), *item))
    }
}

/// The items of a list. Those without a kind wait for the list's own, which may come after them.
struct Items<'d, 'r> {
    document: &'d mut Document<'r>,
}

impl<'de> DeserializeSeed<'de> for Items<'_, '_> {
    type Value = Vec<(u32, Value)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_> {
    type Value = Vec<(u32, Value)>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a list of Kubernetes objects")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut waiting = Vec::new();
        let mut number = 0;
        while let Some(object) = sequence.next_element::<Value>()? {
            number += 1;
            if object.is_object() && object.get("kind").is_none() {
                waiting.push((number, object));
            } else {
                self.document.add(&object, None, number)?;
            }
        }
        Ok(waiting)
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        let problem = "is an object; write a list of objects";
        self.document.refuse(0, "List", Invalid::new("items", problem))
    }
}

/// What an object says it is.
fn head(fields: &Map<String, Value>) -> Result<Head, Invalid> {
    let metadata = fields.get("metadata");
    let text = |value: Option<&Value>, field: &str| match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Invalid::new(field, "is not text; put it in quotes")),
    };
    Ok(Head {
        api_version: text(fields.get("apiVersion"), "apiVersion")?.unwrap_or_default(),
        kind: text(fields.get("kind"), "kind")?.unwrap_or_default(),
        namespace: text(metadata.and_then(|m| m.get("namespace")), "metadata.namespace")?,
        name: text(metadata.and_then(|m| m.get("name")), "metadata.name")?.unwrap_or_default(),
    })
}
