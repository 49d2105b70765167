//! The manifests in `tests/manifests`, which use every field of every kind.

use std::{fs, path::Path};

use joiner_api::{
    capacity_buffer::CapacityBuffer, crd::crds, kwok_node_class::KWOKNodeClass,
    node_claim::NodeClaim, node_overlay::NodeOverlay, node_pool::NodePool,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// All documents of all manifests.
pub(crate) fn all() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/manifests");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files
        .iter()
        .flat_map(|file| {
            serde_saphyr::from_multiple::<Value>(&fs::read_to_string(file).unwrap()).unwrap()
        })
        .collect()
}

/// What becomes of an object that is read as its kind and written again.
pub(crate) fn rewritten(object: &Value) -> Result<Value, String> {
    match object["kind"].as_str() {
        Some("NodePool") => rewritten_as::<NodePool>(object),
        Some("NodeClaim") => rewritten_as::<NodeClaim>(object),
        Some("NodeOverlay") => rewritten_as::<NodeOverlay>(object),
        Some("CapacityBuffer") => rewritten_as::<CapacityBuffer>(object),
        Some("KWOKNodeClass") => rewritten_as::<KWOKNodeClass>(object),
        other => Err(format!("{other:?} is no kind of ours")),
    }
}

fn rewritten_as<K: DeserializeOwned + Serialize>(object: &Value) -> Result<Value, String> {
    let read: K = serde_json::from_value(object.clone()).map_err(|error| error.to_string())?;
    Ok(serde_json::to_value(read).unwrap())
}

#[test]
fn are_written_as_they_were_read() {
    for manifest in all() {
        assert_eq!(rewritten(&manifest), Ok(manifest));
    }
}

#[test]
fn use_every_field() {
    let manifests = all();
    let mut unused = Vec::new();
    for crd in crds() {
        let crd = serde_json::to_value(crd).unwrap();
        let kind = &crd["spec"]["names"]["kind"];
        let objects = manifests.iter().filter(|manifest| manifest["kind"] == *kind).collect();
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        note_unused(&mut unused, kind.as_str().unwrap(), schema, objects);
    }
    assert_eq!(unused, Vec::<String>::new());
}

/// Notes the fields of `schema` that none of `values` has.
fn note_unused(unused: &mut Vec<String>, place: &str, schema: &Value, values: Vec<&Value>) {
    if values.is_empty() {
        unused.push(place.to_owned());
    } else if schema["items"].is_object() {
        let items = values.into_iter().filter_map(Value::as_array).flatten().collect();
        note_unused(unused, &format!("{place}[]"), &schema["items"], items);
    } else if schema["additionalProperties"].is_object() {
        let entries =
            values.into_iter().filter_map(Value::as_object).flat_map(|map| map.values()).collect();
        note_unused(unused, &format!("{place}{{}}"), &schema["additionalProperties"], entries);
    } else if let Some(properties) = schema["properties"].as_object() {
        for (name, property) in properties {
            let field = values.iter().filter_map(|value| value.get(name)).collect();
            note_unused(unused, &format!("{place}.{name}"), property, field);
        }
    }
}
