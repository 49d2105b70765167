//! Answers without what no two servers have in common.
//!
//! Questions only ever send times before 2022, so a later time is one that a server made. A
//! version is replaced by whether it is the one this object was last seen with, because that is
//! what a client can rely on.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

use crate::http::{Answer, Request};

/// What is compared of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Normal {
    /// The status code; 0 where there was no answer.
    pub status: u16,
    /// The content type.
    pub content_type: Vec<String>,
    /// The warnings.
    pub warnings: Vec<String>,
    /// The body: JSON if it is JSON, a list if it is several JSON texts, a text otherwise.
    pub body: Value,
}

/// Makes the answers of one server comparable with those of another.
#[derive(Debug)]
pub struct Normaliser {
    rules: Vec<(Regex, &'static str)>,
    /// Versions that objects were last seen with, by their identifiers.
    versions: BTreeMap<String, String>,
    /// Names that the server made, and what they are called here.
    names: Vec<(String, String)>,
    /// Finds a name that the server made for an object which it then refused.
    refused: Option<Regex>,
}

impl Default for Normaliser {
    fn default() -> Self {
        let rules = [
            (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
            (r"20(2[2-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\dZ", "<time>"),
            (r"20(2[2-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", "<exact time>"),
            (
                r"20(2[2-9]|[3-9]\d)-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? [+-]\d{4} \w+( m=\S+)?",
                "<go time>",
            ),
            (r"eyJ[\w-]+\.[\w-]+\.[\w-]+", "<token>"),
            (r"127\.0\.0\.1:\d+", "<address>"),
            (r"\b0xc[0-9a-f]{6,}\b", "<pointer>"),
            (
                r"too old resource version: \d+ \(\d+\)",
                "too old resource version: <old> (<oldest>)",
            ),
            (
                r"Too large resource version: (\d+), current: \d+",
                "Too large resource version: $1, current: <newest>",
            ),
            (
                r"ResourceVersion in precondition: \S+, ResourceVersion in object meta: \d+",
                "ResourceVersion in precondition: <given>, ResourceVersion in object meta: <real>",
            ),
            (
                r"the ResourceVersion in the precondition \(\S+\) does not match the ResourceVersion in record \(\d+\)",
                "the ResourceVersion in the precondition (<given>) does not match the ResourceVersion in record (<real>)",
            ),
            (r#"resourceVersion: "\d+""#, "resourceVersion: <version>"),
            // Whole objects in messages, as JSON that was quoted.
            (r#"(resourceVersion\\*":\\*")\d+"#, "$1<version>"),
            (r#"managedFields\\*":\[.*?\}\]"#, "managedFields <...>"),
            // An address that was set aside for a service which was refused after all.
            (r"\b10\.96\.\d+\.\d+\b", "<service address>"),
        ];
        let compile =
            |(pattern, text)| (Regex::new(pattern).expect("the patterns are fixed"), text);
        Self {
            rules: rules.into_iter().map(compile).collect(),
            versions: BTreeMap::new(),
            names: Vec::new(),
            refused: None,
        }
    }
}

impl Normaliser {
    /// What is compared of the answer to a request.
    pub fn answer(&mut self, request: &Request, answer: &Answer) -> Normal {
        self.refused = refused_name(request, answer);
        let yaml = answer.header("content-type").iter().any(|kind| kind.contains("yaml"));
        let texts = if yaml { yaml_text(&answer.body) } else { json_texts(&answer.body) };
        let body = match texts {
            Some(mut body) => {
                drop_bookmarks(&mut body);
                self.value(&mut body);
                sort_causes(&mut body);
                body
            }
            None => Value::String(self.text(&answer.body)),
        };
        Normal {
            status: answer.status,
            content_type: answer.header("content-type"),
            warnings: answer.header("warning").iter().map(|text| self.text(text)).collect(),
            body,
        }
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => self.object(fields),
            _ => {}
        }
    }

    fn object(&mut self, fields: &mut Map<String, Value>) {
        let kind = fields.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            self.metadata(&kind, metadata);
        }
        if fields.contains_key("columnDefinitions") {
            blank_ages(fields);
        }
        if let Some(Value::Array(items)) = fields.get_mut("managedFields") {
            // The server sorts these by time, to the second; two servers differ in when a second
            // ends.
            items.sort_by_key(managed_fields_order);
        }
        let mut generated = false;
        for (_, field) in fields.iter_mut() {
            self.value(field);
        }
        if let Some(Value::Array(items)) = fields.get_mut("items") {
            generated |= items.iter().any(|item| name_of(item).starts_with("<generated"));
            if generated {
                items.sort_by_key(name_of);
            }
        }
    }

    fn metadata(&mut self, kind: &str, metadata: &mut Map<String, Value>) {
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).map(str::to_owned);
        if let (Some(prefix), Some(name)) = (text("generateName"), text("name")) {
            let made =
                name.strip_prefix(beginning(&prefix)).is_some_and(|suffix| suffix.len() == 5);
            if made && !self.names.iter().any(|(known, _)| *known == name) {
                let called = format!("<generated {}>", self.names.len() + 1);
                self.names.push((name, called));
            }
        }
        if let Some(version) = text("resourceVersion") {
            let seen = match text("uid") {
                // Conditions of these are written by the server itself, some time after creation.
                _ if kind == "CustomResourceDefinition" => "<version>",
                None => "<version>",
                Some(uid) => match self.versions.insert(uid, version.clone()) {
                    Some(known) if known == version => "<version as before>",
                    _ => "<new version>",
                },
            };
            metadata.insert("resourceVersion".into(), seen.into());
        }
        if text_is_filled(metadata.get("continue")) {
            metadata.insert("continue".into(), "<continue>".into());
        }
    }

    fn text(&self, text: &str) -> String {
        let mut text = shorten_go_difference(text);
        if let Some(sorted) = sort_quoted_object(&text) {
            text = sorted;
        }
        for (name, called) in &self.names {
            if text.contains(name) {
                text = text.replace(name, called);
            }
        }
        if let Some(refused) = &self.refused {
            text = refused.replace_all(&text, "<generated>").into_owned();
        }
        for (pattern, replacement) in &self.rules {
            if pattern.is_match(&text) {
                text = pattern.replace_all(&text, *replacement).into_owned();
            }
        }
        text
    }
}

/// What a server keeps of the beginning of a generated name, so that there is room for the rest.
fn beginning(prefix: &str) -> &str {
    &prefix[..prefix.floor_char_boundary(58)]
}

/// What finds the name that was made for an object, if the object was refused.
fn refused_name(request: &Request, answer: &Answer) -> Option<Regex> {
    if answer.status < 400 {
        return None;
    }
    let object: Value = serde_json::from_str(request.body.as_deref()?).ok()?;
    let prefix = object["metadata"]["generateName"].as_str().filter(|prefix| !prefix.is_empty())?;
    let made = format!(r"{}[bcdfghjklmnpqrstvwxz2456789]{{5}}\b", regex::escape(beginning(prefix)));
    Regex::new(&made).ok()
}

/// A server finds what is wrong with a custom resource, and who else owns a field, in no particular
/// order; so here it is one. For built-in kinds the order of what is wrong is part of the answer.
fn sort_causes(status: &mut Value) {
    let group = status["details"]["group"].as_str().unwrap_or_default();
    let built_in = !group.contains('.') || group.ends_with(".k8s.io");
    if built_in && status["reason"] != "Conflict" {
        return;
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let listed = |causes: &[Value]| {
        let lines: Vec<String> = causes
            .iter()
            .map(|cause| format!("{}: {}", text(&cause["field"]), text(&cause["message"])))
            .collect();
        lines.join(", ")
    };
    let message = text(&status["message"]);
    let Some(causes) = status["details"]["causes"].as_array_mut() else { return };
    let before = listed(causes);
    causes.sort_by_cached_key(ToString::to_string);
    let after = listed(causes);
    status["message"] = message.replace(&before, &after).into();
}

/// A body as JSON; a list where it is several texts, as watches send them.
fn json_texts(body: &str) -> Option<Value> {
    let texts: Result<Vec<Value>, _> =
        serde_json::Deserializer::from_str(body).into_iter().collect();
    let mut texts = texts.ok()?;
    match texts.len() {
        0 => None,
        1 if texts[0].get("object").is_none() => texts.pop(),
        _ => Some(Value::Array(texts)),
    }
}

/// A body in YAML by what it says: there are many ways to write the same.
fn yaml_text(body: &str) -> Option<Value> {
    serde_saphyr::from_str(body).ok()
}

/// Some refusals quote a whole object as JSON, whose fields come in the order of Go's structs. What
/// they say counts, but for managed fields.
fn sort_quoted_object(text: &str) -> Option<String> {
    const BEFORE: &str = "patch: Invalid value: ";
    let start = match text.find(BEFORE) {
        Some(place) => place + BEFORE.len(),
        None => "Invalid value: ".len(),
    };
    let rest = text.get(start..)?;
    if !rest.starts_with("\"{") || !text[..start].ends_with("Invalid value: ") {
        return None;
    }
    let mut quoted = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    let object = quoted.next()?.ok()?;
    let end = start + quoted.byte_offset();
    let mut object: Value = serde_json::from_str(&object).ok()?;
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    Some(format!("{}{object}{}", &text[..start], &text[end..]))
}

/// Removes bookmarks that a server sends when it thinks fit. The one that ends the initial events
/// of a watch stays.
fn drop_bookmarks(body: &mut Value) {
    if let Value::Array(events) = body {
        events.retain(|event| {
            let annotations = &event["object"]["metadata"]["annotations"];
            event["type"] != "BOOKMARK" || annotations.get("k8s.io/initial-events-end").is_some()
        });
    }
}

/// Takes the ages out of a table's cells.
fn blank_ages(table: &mut Map<String, Value>) {
    const AGES: [&str; 6] =
        ["Age", "Last Seen", "First Seen", "Duration", "Requested Duration", "Last Schedule"];
    let untold = table["columnDefinitions"].is_null();
    let columns: Vec<usize> = table["columnDefinitions"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
        .filter(|(_, column)| {
            let name = column["name"].as_str().unwrap_or_default();
            AGES.contains(&name) || column["type"] == "date"
        })
        .map(|(index, _)| index)
        .collect();
    let rows = table.get_mut("rows").and_then(Value::as_array_mut);
    for row in rows.into_iter().flatten() {
        // Only the first event of a watch tells the columns.
        for cell in row["cells"].as_array_mut().into_iter().flatten().filter(|_| untold) {
            if cell.as_str().is_some_and(looks_like_an_age) {
                *cell = "<age>".into();
            }
        }
        for column in &columns {
            if let Some(cell @ Value::String(_)) = row["cells"].get_mut(column) {
                let known = cell != "<unknown>" && cell != "<none>";
                *cell = if known { "<age>".into() } else { cell.take() };
            }
        }
    }
}

/// Whether a text is a short duration, such as `23s` or `2m5s`.
fn looks_like_an_age(text: &str) -> bool {
    let numbers = text.split_terminator(['s', 'm', 'h', 'd']);
    text.ends_with(['s', 'm', 'h', 'd'])
        && numbers
            .into_iter()
            .all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn managed_fields_order(entry: &Value) -> String {
    let part = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    format!(
        "{} {} {} {}",
        part("operation"),
        part("manager"),
        part("subresource"),
        part("apiVersion")
    )
}

fn name_of(item: &Value) -> String {
    item["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

fn text_is_filled(value: Option<&Value>) -> bool {
    value.and_then(Value::as_str).is_some_and(|text| !text.is_empty())
}

/// Some refusals show two Go structures and how they differ, in a form that is meant for eyes and
/// changes from run to run. What comes before it is compared.
fn shorten_go_difference(text: &str) -> String {
    match text.find("\n  ").or_else(|| text.find("\n\u{a0}")) {
        Some(start) if text[start..].contains('{') && text[start..].contains("core.") => {
            format!("{}<difference>", &text[..start])
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderMap;
    use serde_json::json;

    use super::*;

    fn normal(normaliser: &mut Normaliser, body: &Value) -> Value {
        let answer = Answer { status: 200, headers: HeaderMap::new(), body: body.to_string() };
        normaliser.answer(&Request::default(), &answer).body
    }

    #[test]
    fn versions_say_whether_an_object_changed() {
        let mut normaliser = Normaliser::default();
        let uid = "0f2b7b0e-4b3c-4f0e-9d8a-6f1d2c3b4a59";
        let object = |version: &str| json!({"metadata": {"uid": uid, "resourceVersion": version}});
        let mut seen = |version| {
            normal(&mut normaliser, &object(version))["metadata"]["resourceVersion"].clone()
        };
        assert_eq!(seen("5"), "<new version>");
        assert_eq!(seen("5"), "<version as before>");
        assert_eq!(seen("6"), "<new version>");
    }

    #[test]
    fn times_that_were_sent_stay_and_times_that_were_made_go() {
        let sent = json!({"a": "2020-01-01T00:00:00Z", "b": "2026-01-01T00:00:00Z"});
        assert_eq!(
            normal(&mut Normaliser::default(), &sent),
            json!({"a": "2020-01-01T00:00:00Z", "b": "<time>"})
        );
    }

    #[test]
    fn generated_names_are_known_wherever_they_come_up() {
        let mut normaliser = Normaliser::default();
        normal(
            &mut normaliser,
            &json!({"metadata": {"generateName": "web-", "name": "web-x7k2p"}}),
        );
        assert_eq!(
            normal(&mut normaliser, &json!({"message": "pods \"web-x7k2p\" not found"})),
            json!({"message": "pods \"<generated 1>\" not found"})
        );
    }

    #[test]
    fn ages_are_not_compared_also_where_a_watch_tells_no_columns() {
        let table = json!({
            "columnDefinitions": null,
            "rows": [{"cells": ["web", "2m5s", "1/1", "<none>", "7s"]}],
        });
        let shown = normal(&mut Normaliser::default(), &table);
        assert_eq!(shown["rows"][0]["cells"], json!(["web", "<age>", "1/1", "<none>", "<age>"]));
    }

    #[test]
    fn events_of_a_watch_are_a_list_without_casual_bookmarks() {
        let events = "{\"type\":\"ADDED\",\"object\":{}}\n{\"type\":\"BOOKMARK\",\"object\":{}}\n";
        let answer = Answer { status: 200, headers: HeaderMap::new(), body: events.to_owned() };
        assert_eq!(
            Normaliser::default().answer(&Request::default(), &answer).body,
            json!([{"type": "ADDED", "object": {}}])
        );
    }
}
