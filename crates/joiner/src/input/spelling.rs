//! Unknown fields in files. The API server drops fields that a CRD does not define, and reports them
//! in strict mode. A misspelt field in a file would have no effect without a message.

use std::collections::BTreeMap;

use joiner_operator::objects::Written;
use joiner_schema::{Schema, prune};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

/// A sentence for each field of these objects that their CRD does not know. Of kinds that are not ours nothing is known.
pub(super) fn unknown_fields(
    objects: &[Written],
    definitions: impl FnOnce() -> Vec<CustomResourceDefinition>,
) -> Vec<String> {
    if objects.is_empty() {
        return Vec::new();
    }
    let definitions = definitions();
    let mut schemas: BTreeMap<(String, String), Option<Schema>> = BTreeMap::new();
    let mut notes = Vec::new();
    for Written { place, object } in objects {
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let schema = schemas
            .entry((api_version.clone(), kind.clone()))
            .or_insert_with(|| schema(&api_version, &kind, &definitions));
        let Some(schema) = schema else { continue };
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        for field in prune(&mut object.clone(), schema) {
            let around = field.rsplit_once('.').map_or("", |(around, _)| around);
            let explain = [kind.to_lowercase().as_str(), around].join(".");
            let explain = explain.trim_end_matches('.');
            notes.push(format!(
                "{place}: {kind} {name}: {field} is no field that is known, and has no effect; \
                 kubectl explain {explain} lists those that are"
            ));
        }
    }
    notes
}

fn schema(
    api_version: &str,
    kind: &str,
    definitions: &[CustomResourceDefinition],
) -> Option<Schema> {
    let (group, version) = api_version.split_once('/')?;
    let is_it =
        |it: &&CustomResourceDefinition| it.spec.group == group && it.spec.names.kind == kind;
    let definition = definitions.iter().find(is_it)?;
    let version = definition.spec.versions.iter().find(|each| each.name == version)?;
    let schema: Value = json!(version.schema.as_ref()?.open_api_v3_schema.as_ref()?);
    Schema::from_json(&schema).ok()
}
