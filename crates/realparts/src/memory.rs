//! What one server answered so far, as far as later questions need it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    exchange::{Body, Edit, Exchange, remove, set},
    http::Request,
};

/// Stands for a reference to something that the server never gave.
const NOTHING: &str = "nothing";

/// The newest object of a key and the one before it.
#[derive(Debug, Clone, Default)]
struct Known {
    newest: Value,
    before: Value,
}

/// What one server answered so far.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    known: BTreeMap<String, Known>,
}

impl Memory {
    /// Keeps the object in an answer that was a success.
    pub fn remember(&mut self, exchange: &Exchange, status: u16, body: &str) {
        if exchange.key.is_empty() || !(200..300).contains(&status) {
            return;
        }
        let Ok(object) = serde_json::from_str::<Value>(body) else { return };
        if object["kind"] == "Status" || object.get("metadata").is_none() {
            return;
        }
        let known = self.known.entry(exchange.key.clone()).or_default();
        known.before = std::mem::replace(&mut known.newest, object);
    }

    /// The request of an exchange as this server has to be asked.
    pub fn request(&self, exchange: &Exchange) -> Request {
        let body = match &exchange.body {
            Body::None => None,
            Body::Text(text) => Some(self.resolve(text, false)),
            Body::Edited { key, edits } => {
                let mut object = self.known.get(key).map_or(Value::Null, |k| k.newest.clone());
                for edit in edits {
                    match edit {
                        Edit::Set(pointer, value) => set(&mut object, pointer, value.clone()),
                        Edit::Remove(pointer) => remove(&mut object, pointer),
                    }
                }
                Some(self.resolve(&object.to_string(), false))
            }
        };
        Request {
            method: exchange.method.to_owned(),
            path: self.resolve(&exchange.path, true),
            headers: exchange.headers.clone(),
            body,
        }
    }

    /// Replaces every reference of a text. In a path, what replaces it must not end the parameter.
    fn resolve(&self, text: &str, path: bool) -> String {
        let mut resolved = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((reference, after)) = after.split_once('}') else { break };
            resolved.push_str(before);
            let found = self.find(reference);
            let found = if path { found.replace('+', "%2B").replace('=', "%3D") } else { found };
            resolved.push_str(&found);
            rest = after;
        }
        resolved + rest
    }

    fn find(&self, reference: &str) -> String {
        let (key, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        let known = self.known.get(key);
        let value = match pointer.strip_prefix('~') {
            Some(pointer) => known.and_then(|known| known.before.pointer(pointer)),
            None => known.and_then(|known| known.newest.pointer(pointer)),
        };
        match value {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => NOTHING.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::exchange::{reference, reference_before};

    #[test]
    fn questions_refer_to_the_answers_of_their_server() {
        let mut memory = Memory::default();
        let create = Exchange::new("create", "pods", "POST").remember("pod");
        for version in ["7", "8"] {
            let object = json!({"kind": "Pod", "metadata": {"resourceVersion": version}});
            memory.remember(&create, 201, &object.to_string());
        }
        let version = "/metadata/resourceVersion";
        let update = Exchange::new("update", "pods", "PUT")
            .at("/pods")
            .query("now", reference("pod", version))
            .query("before", reference_before("pod", version))
            .query("never", reference("other", version))
            .edited("pod", vec![Edit::Set("/spec/a".into(), json!(1))]);
        let request = memory.request(&update);
        assert_eq!(request.path, "/pods?now=8&before=7&never=nothing");
        assert_eq!(
            request.body.unwrap(),
            json!({"kind": "Pod", "metadata": {"resourceVersion": "8"}, "spec": {"a": 1}})
                .to_string()
        );
    }
}
