//! Objects on which two servers disagreed.
//!
//! One different answer to a write makes a different object, and every list and watch would tell of
//! it again. They leave such objects out, so that each difference is reported where it arises.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::http::Request;

/// Objects on which the servers disagreed: resource, namespace and name.
#[derive(Debug, Default)]
pub(crate) struct Disputed(BTreeSet<(String, String, String)>);

impl Disputed {
    /// Takes note of the object that a question was about, or that an answer has.
    pub(crate) fn note(&mut self, request: &Request, body: &str) {
        let (plural, namespace, name) = target(&request.path);
        let answer: Value = serde_json::from_str(body).unwrap_or_default();
        let own = answer["metadata"]["name"].as_str().unwrap_or_default();
        let name = if name.is_empty() { own.to_owned() } else { name };
        if !name.is_empty() {
            self.0.insert((plural, namespace, name));
        }
    }

    /// Takes disputed objects out of both answers to a list or a watch.
    pub(crate) fn leave_out(&self, request: &Request, real: &mut Value, lab: &mut Value) {
        let (plural, _, name) = target(&request.path);
        if self.0.is_empty() || !name.is_empty() {
            return;
        }
        for body in [&mut *real, &mut *lab] {
            // A watch that told one thing only.
            if body.get("type").is_some() && body.get("object").is_some() {
                *body = Value::Array(vec![body.take()]);
            }
        }
        let before = real.clone();
        for body in [&mut *real, &mut *lab] {
            let entries = match body {
                Value::Array(events) => events,
                Value::Object(list) => {
                    let field = if list.contains_key("rows") { "rows" } else { "items" };
                    match list.get_mut(field).and_then(Value::as_array_mut) {
                        Some(entries) => entries,
                        None => continue,
                    }
                }
                _ => continue,
            };
            entries.retain(|entry| !self.has(&plural, entry));
        }
        if *real != before {
            // How many there are besides is different too.
            for body in [real, lab] {
                if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
                    metadata.remove("remainingItemCount");
                    metadata.remove("continue");
                }
            }
        }
    }

    fn has(&self, plural: &str, entry: &Value) -> bool {
        let object = entry.get("object").unwrap_or(entry);
        // An event of a table has the object in its only row.
        let object = object.pointer("/rows/0/object").unwrap_or(object);
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        self.0.contains(&(plural.to_owned(), text("namespace"), text("name")))
    }
}

/// The resource, namespace and name in a path; what it does not have is empty.
fn target(path: &str) -> (String, String, String) {
    let path = path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let skip = if parts.first() == Some(&"api") { 2 } else { 3 };
    let rest = parts.get(skip..).unwrap_or_default();
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
        all => ("", all),
    };
    let part = |at: usize| rest.get(at).copied().unwrap_or_default().to_owned();
    (part(0), namespace.to_owned(), part(1))
}
