//! API objects of this provider's kinds, as they are read.

use std::collections::BTreeMap;

use joiner_api::{condition::Condition, schema};
use joiner_cloud::class::ClassKind;
use joiner_core::{label::Labels, quantity::Quantity};
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

/// What a user writes about an object of a kind.
pub trait Spec: Default + DeserializeOwned + JsonSchema {
    /// What its controller says about it.
    type Status: Default + DeserializeOwned + JsonSchema;
    /// The kind.
    const KIND: ClassKind;
    /// What `kubectl get` prints: the name of each column and where its text is found.
    const COLUMNS: &'static [(&'static str, &'static str)];
}

/// An object. Whatever may be absent may also be null.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object<S: Spec> {
    /// Its name.
    pub name: String,
    /// Its annotations.
    pub annotations: Labels,
    /// What its user wants.
    pub spec: S,
    /// What its controller last said.
    pub status: S::Status,
}

/// An object that the API server would refuse: a field has a value of the wrong type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {name:?}: {field}: {problem}")]
pub struct NotReadable {
    /// Kind of the object.
    pub kind: &'static str,
    /// Name of the object.
    pub name: String,
    /// Path of the field.
    pub field: String,
    /// What is wrong and what to write.
    pub problem: String,
}

/// Something about an object that keeps it from being used, although its schema accepts it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Problem {
    /// Path of the field.
    pub field: String,
    /// What is wrong and what to write.
    pub problem: String,
}

impl Problem {
    pub(crate) fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }
}

#[derive(Deserialize)]
#[serde(bound = "")]
struct Wire<S: Spec> {
    metadata: Option<Metadata>,
    spec: Option<S>,
    status: Option<S::Status>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    annotations: Option<Labels>,
}

impl<S: Spec> Object<S> {
    /// Reads an object as the API server has it; what its schema refuses is an error.
    pub fn read(object: &Value) -> Result<Self, NotReadable> {
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let wire: Wire<S> = serde_path_to_error::deserialize(object).map_err(|error| {
            let field = error.path().to_string();
            let problem = with_remedy(&error.into_inner().to_string());
            NotReadable { kind: S::KIND.kind, name: name.to_owned(), field, problem }
        })?;
        Ok(Self {
            name: name.to_owned(),
            annotations: wire.metadata.unwrap_or_default().annotations.unwrap_or_default(),
            spec: wire.spec.unwrap_or_default(),
            status: wire.status.unwrap_or_default(),
        })
    }
}

/// The status of both kinds of templates.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = null))]
pub struct TemplateStatus {
    /// Whether the template can be used.
    pub conditions: Option<Vec<Condition>>,
    /// How many zones have the template.
    #[schemars(schema_with = "schema::resource_list")]
    pub resources: Option<BTreeMap<String, Quantity>>,
    /// Where the template is: region, zone and id of its virtual machine, separated by slashes.
    pub zones: Option<Vec<String>>,
    /// The file of the image that it was built from.
    #[serde(rename = "imageID")]
    pub image_id: Option<String>,
}

/// What serde says of a value of the wrong type, with what to write instead of what serde expected.
pub(crate) fn with_remedy(problem: &str) -> String {
    if problem.starts_with("missing field") {
        return format!("{problem}; add it");
    }
    let Some((found, expected)) = problem.split_once(", expected ") else {
        return problem.to_owned();
    };
    let remedy = match expected {
        "a string" => "put it in quotes",
        "a sequence" => "write a list",
        "a boolean" => "write true or false",
        "i32" | "i64" => "write a whole number",
        "u32" | "u64" => "write a whole number of 0 or more",
        _ => "write an object",
    };
    format!("{found}; {remedy}")
}
