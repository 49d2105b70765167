//! Fields that are two names of one thing: the server's own form of an object has only one of them,
//! and both are written again from it.

use serde_json::{Map, Value, json};

use super::encode_base64;
use crate::edit::{is_blank, object_at, pod_spec};

/// Brings such fields of an object in line.
pub(super) fn settle(type_name: &str, object: &mut Value) {
    if let Some(spec) = pod_spec(object) {
        service_account(spec);
    }
    match type_name {
        "core.v1.Secret" => fold_string_data(object),
        "core.v1.Node" => addresses(object, "/spec", "podCIDR", "podCIDRs", |cidr| json!(cidr)),
        "core.v1.Pod" => {
            addresses(object, "/status", "podIP", "podIPs", |ip| json!({ "ip": ip }));
            if let Some(spec) = object_at(object, "/spec")
                && let Some(seconds) = spec.get_mut("terminationGracePeriodSeconds")
                && seconds.as_i64().is_some_and(|seconds| seconds < 0)
            {
                *seconds = 1.into();
            }
        }
        "apps.v1.DaemonSet" => {
            // The old place of the template's generation, which every one has.
            if let Some(metadata) = object_at(object, "/metadata") {
                let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
                if let Some(annotations) = annotations.as_object_mut() {
                    let generation = annotations.entry("deprecated.daemonset.template.generation");
                    generation.or_insert_with(|| "0".into());
                }
            }
        }
        "apps.v1.StatefulSet" => {
            let claims = object.pointer_mut("/spec/volumeClaimTemplates");
            for claim in claims.and_then(Value::as_array_mut).into_iter().flatten() {
                claim["apiVersion"] = "v1".into();
                claim["kind"] = "PersistentVolumeClaim".into();
            }
        }
        _ => {}
    }
}

/// `serviceAccount` is the old name of `serviceAccountName`; the new one wins.
fn service_account(spec: &mut Map<String, Value>) {
    let name = ["serviceAccountName", "serviceAccount"]
        .into_iter()
        .find_map(|field| spec.get(field).filter(|name| !is_blank(name)))
        .cloned();
    if let Some(name) = name {
        spec.insert("serviceAccountName".to_owned(), name.clone());
        spec.insert("serviceAccount".to_owned(), name);
    }
}

/// A field with one address and a list of which it is the first; the single one wins.
fn addresses(object: &mut Value, part: &str, one: &str, all: &str, entry: impl Fn(&str) -> Value) {
    let Some(part) = object_at(object, part) else { return };
    let first = part.get(all).and_then(|all| all.get(0)).cloned();
    match part.get(one).and_then(Value::as_str).filter(|text| !text.is_empty()) {
        Some(text) if first.as_ref() != Some(&entry(text)) => {
            let list = json!([entry(text)]);
            part.insert(all.to_owned(), list);
        }
        Some(_) => {}
        None => {
            let first = first.map(|first| first.get("ip").cloned().unwrap_or(first));
            let first = first.filter(|first| first.is_string() && !is_blank(first));
            part.extend(first.map(|first| (one.to_owned(), first)));
        }
    }
}

/// `stringData` is only ever written: it is laid over `data`.
fn fold_string_data(secret: &mut Value) {
    let Some(secret) = secret.as_object_mut() else { return };
    let Some(Value::Object(texts)) = secret.remove("stringData") else { return };
    let data = secret.entry("data").or_insert_with(|| json!({}));
    for (key, text) in texts {
        data[key] = encode_base64(text.as_str().unwrap_or_default().as_bytes()).into();
    }
}
