//! One question to both servers, written so that each of them can be asked with its own answers.
//!
//! Versions, identifiers and generated names differ between servers, so a question that needs one
//! refers to an earlier answer: `${KEY#/metadata/uid}` is what stands there in the newest object
//! that the server gave for KEY, `${KEY#~/metadata/uid}` in the one before.

use std::fmt::Write;

use serde_json::Value;

/// How an edit changes an object.
#[derive(Debug, Clone)]
pub enum Edit {
    /// Puts a value at a JSON pointer; missing objects on the way are made.
    Set(String, Value),
    /// Removes what is at a JSON pointer, if anything is.
    Remove(String),
}

/// What is sent along.
#[derive(Debug, Clone, Default)]
pub enum Body {
    /// Nothing.
    #[default]
    None,
    /// A text with references.
    Text(String),
    /// The object the server gave last for a key, edited as a client would do it.
    Edited {
        /// The key.
        key: String,
        /// The edits, in order. Texts in them may have references.
        edits: Vec<Edit>,
    },
}

/// What becomes of the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Handling {
    /// They are compared.
    #[default]
    Compare,
    /// They are ignored: the question only tidies up.
    Ignore,
    /// The question is repeated until each server's answer is a success and has this text in it.
    /// Used where a server takes notice of something only after a moment, which is no difference.
    Until(&'static str),
}

/// One question.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    /// What is done: a word for the report.
    pub verb: &'static str,
    /// To what: a resource, perhaps with a subresource.
    pub resource: String,
    /// The method, in capitals.
    pub method: &'static str,
    /// Path and query, with references.
    pub path: String,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Body,
    /// What becomes of the answers.
    pub handling: Handling,
    /// The key under which an object in the answer is remembered; nothing is if it is empty.
    pub key: String,
}

impl Exchange {
    /// A question of a verb about a resource.
    pub fn new(verb: &'static str, resource: impl Into<String>, method: &'static str) -> Self {
        Self { verb, resource: resource.into(), method, ..Self::default() }
    }

    /// Asks at a path.
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Adds a parameter to the query.
    pub fn query(mut self, name: &str, value: impl AsRef<str>) -> Self {
        let sign = if self.path.contains('?') { '&' } else { '?' };
        self.path = format!("{}{sign}{name}={}", self.path, escape(value.as_ref()));
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Sends a text, saying of what type it is.
    pub fn text(self, content_type: impl AsRef<str>, text: impl Into<String>) -> Self {
        let mut exchange = self.header("content-type", content_type);
        exchange.body = Body::Text(text.into());
        exchange
    }

    /// Sends a JSON value as JSON.
    pub fn json(self, value: &Value) -> Self {
        self.text("application/json", value.to_string())
    }

    /// Sends the object the server gave last for a key, edited.
    pub fn edited(self, key: &str, edits: Vec<Edit>) -> Self {
        let mut exchange = self.header("content-type", "application/json");
        exchange.body = Body::Edited { key: key.to_owned(), edits };
        exchange
    }

    /// Remembers the object in the answer.
    pub fn remember(mut self, key: &str) -> Self {
        key.clone_into(&mut self.key);
        self
    }

    /// Says what becomes of the answers.
    pub fn handled(mut self, handling: Handling) -> Self {
        self.handling = handling;
        self
    }
}

/// A reference to the newest object that a server gave for a key.
pub fn reference(key: &str, pointer: &str) -> String {
    format!("${{{key}#{pointer}}}")
}

/// A reference to the object before the newest.
pub fn reference_before(key: &str, pointer: &str) -> String {
    format!("${{{key}#~{pointer}}}")
}

/// Escapes a value for a query; references stay readable, and are escaped when they are resolved.
fn escape(value: &str) -> String {
    let mut escaped = String::new();
    let mut in_reference = false;
    for byte in value.bytes() {
        match byte {
            b'$' => in_reference = true,
            b'}' if in_reference => {
                in_reference = false;
                escaped.push('}');
                continue;
            }
            _ => {}
        }
        if in_reference || byte.is_ascii_alphanumeric() || b"-_.~/:,".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _infallible = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// Puts a value at a JSON pointer. Objects that are missing on the way are made, a number behind
/// the end of a list appends, and a way through something that has no children ends there.
pub fn set(target: &mut Value, pointer: &str, value: Value) {
    let mut place = target;
    for token in tokens(pointer) {
        if place.is_null() {
            *place = Value::Object(serde_json::Map::new());
        }
        place = match place {
            Value::Object(fields) => fields.entry(token).or_insert(Value::Null),
            Value::Array(items) => {
                let index = token.parse::<usize>().unwrap_or(items.len()).min(items.len());
                if index == items.len() {
                    items.push(Value::Null);
                }
                &mut items[index]
            }
            _ => return,
        };
    }
    *place = value;
}

/// Removes what is at a JSON pointer.
pub fn remove(target: &mut Value, pointer: &str) {
    let Some((parent, last)) = pointer.rsplit_once('/') else { return };
    let last = tokens(&format!("/{last}")).next().unwrap_or_default();
    match target.pointer_mut(parent) {
        Some(Value::Object(fields)) => {
            fields.remove(&last);
        }
        Some(Value::Array(items)) => {
            if let Some(index) = last.parse().ok().filter(|index| *index < items.len()) {
                let _: Value = items.remove(index);
            }
        }
        _ => {}
    }
}

/// The steps of a JSON pointer.
pub fn tokens(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_set_wherever_there_is_room_for_it() {
        let mut object = json!({"list": [1], "text": "x"});
        set(&mut object, "/a/b~1c", json!(1));
        set(&mut object, "/list/5", json!(2));
        set(&mut object, "/text/inside", json!(3));
        assert_eq!(object, json!({"a": {"b/c": 1}, "list": [1, 2], "text": "x"}));
    }

    #[test]
    fn values_of_a_query_are_escaped_and_references_are_not() {
        let exchange = Exchange::new("list", "pods", "GET")
            .at("/api/v1/pods")
            .query("labelSelector", "a in (b, c)")
            .query("continue", reference("k", "/metadata/continue"));
        assert_eq!(
            exchange.path,
            "/api/v1/pods?labelSelector=a%20in%20%28b,%20c%29&continue=${k#/metadata/continue}"
        );
    }
}
