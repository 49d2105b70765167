//! `ConfigMaps` and Secrets.

use serde_json::Value;

use super::{
    base64,
    errors::{Errors, IMMUTABLE, Path},
    formats,
};
use crate::fields::Fields;

/// All values of a ConfigMap or Secret together.
const MAX_SIZE: usize = 1024 * 1024;
const FROZEN: &str = "field is immutable when `immutable` is set";

/// What a map that is not there is to one that is empty.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absent {
    IsEmpty,
    Differs,
}

fn keys(errors: &mut Errors, object: &Value, field: &str) {
    let path = Path::new(field);
    for (key, _) in object.entries(field) {
        errors.invalid_each(&path.key(key), key, formats::config_key(key));
    }
}

fn text_size(object: &Value, field: &str) -> usize {
    object.entries(field).map(|(_, value)| value.as_str().map_or(0, str::len)).sum()
}

fn binary_size(object: &Value, field: &str) -> usize {
    let size = |value: &Value| value.as_str().map_or(0, base64::decoded_len);
    object.entries(field).map(|(_, value)| size(value)).sum()
}

pub(super) fn create_config_map(errors: &mut Errors, map: &Value) {
    let path = Path::new("data");
    for (key, _) in map.entries("data") {
        errors.invalid_each(&path.key(key), key, formats::config_key(key));
        if map.part("binaryData").get(key).is_some() {
            errors.invalid(&path.key(key), key, "duplicate of key present in binaryData");
        }
    }
    keys(errors, map, "binaryData");
    if text_size(map, "data") + binary_size(map, "binaryData") > MAX_SIZE {
        errors.too_long(&Path::new(""), MAX_SIZE);
    }
}

/// What was declared immutable stays as it is, and stays immutable. An empty map is another one than
/// none, unless the kind always has it.
fn frozen(errors: &mut Errors, new: &Value, old: &Value, fields: &[(&str, Absent)]) {
    if !old.flag("immutable") {
        return;
    }
    if !new.flag("immutable") {
        errors.forbidden(&Path::new("immutable"), FROZEN);
    }
    for (field, absent) in fields {
        let is = |value: &'_ Value| -> Option<Value> {
            let given = value.field(field).filter(|map| {
                *absent == Absent::Differs || map.as_object().is_some_and(|map| !map.is_empty())
            });
            given.cloned()
        };
        if is(new) != is(old) {
            errors.forbidden(&Path::new(field), FROZEN);
        }
    }
}

pub(super) fn update_config_map(errors: &mut Errors, new: &Value, old: &Value) {
    frozen(errors, new, old, &[("data", Absent::IsEmpty), ("binaryData", Absent::Differs)]);
}

pub(super) fn create_secret(errors: &mut Errors, secret: &Value) {
    let path = Path::new("data");
    keys(errors, secret, "data");
    if binary_size(secret, "data") > MAX_SIZE {
        errors.too_long(&path, MAX_SIZE);
    }
    let data = secret.part("data");
    let has = |key: &str| data.get(key).is_some();
    match secret.text("type") {
        "kubernetes.io/service-account-token" => {
            let key = "kubernetes.io/service-account.name";
            if secret.part("metadata").part("annotations").text(key).is_empty() {
                errors.required(&Path::new("metadata.annotations").key(key), "");
            }
        }
        "kubernetes.io/dockercfg" => docker_config(errors, data, ".dockercfg"),
        "kubernetes.io/dockerconfigjson" => docker_config(errors, data, ".dockerconfigjson"),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            errors.required(&path.key("username"), "");
            errors.required(&path.key("password"), "");
        }
        "kubernetes.io/ssh-auth" if data.text("ssh-privatekey").is_empty() => {
            errors.required(&path.key("ssh-privatekey"), "");
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"] {
                if !has(key) {
                    errors.required(&path.key(key), "");
                }
            }
        }
        _ => {}
    }
}

fn docker_config(errors: &mut Errors, data: &Value, key: &str) {
    let path = Path::new("data");
    let Some(value) = data.given_text(key) else {
        errors.required(&path.key(key), "");
        return;
    };
    let bytes = base64::decode(value).unwrap_or_default();
    let redacted = "<secret contents redacted>";
    match serde_json::from_slice::<Value>(&bytes) {
        Ok(Value::Object(_) | Value::Null) => {}
        Ok(other) => {
            let kind = match other {
                Value::Bool(_) => "bool",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                _ => "array",
            };
            let detail = format!(
                "json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
            );
            errors.invalid(&path.key(key), redacted, detail);
        }
        Err(error) if error.is_eof() => {
            errors.invalid(&path.key(key), redacted, "unexpected end of JSON input");
        }
        Err(_) => {
            let first = String::from_utf8_lossy(&bytes).trim_start().chars().next();
            let shown = first.unwrap_or_default();
            let detail = format!("invalid character '{shown}' looking for beginning of value");
            errors.invalid(&path.key(key), redacted, detail);
        }
    }
}

pub(super) fn update_secret(errors: &mut Errors, new: &Value, old: &Value) {
    if new.text("type") != old.text("type") {
        errors.invalid(&Path::new("type"), new.text("type"), IMMUTABLE);
    }
    frozen(errors, new, old, &[("data", Absent::Differs)]);
}
