//! The API object, as far as machines depend on it.

use std::collections::BTreeMap;

use joiner_core::{label::Labels, quantity::Quantity, resources::Resources};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    NotANodeClass,
    size::is_disk,
    text::{IntOrText, NumberOrText},
};

/// A `VsphereNodeClass`, as far as machines depend on it.
///
/// Every field may be absent or null. Fields about where and how machines are cloned are looked
/// past.
#[derive(Debug, Clone)]
pub struct NodeClass {
    pub(crate) name: String,
    pub(crate) spec: Spec,
    /// Size in GiB of the template's disk, once a controller has looked.
    pub(crate) template_disk_gib: Option<i64>,
    /// Fields of sizes that nobody knows.
    pub(crate) unknown_fields: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Object {
    spec: Option<Spec>,
    status: Option<Status>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Spec {
    pub(crate) instance_types: Option<Vec<Entry>>,
    /// In GiB; 0 keeps the template's.
    pub(crate) disk_size: Option<i64>,
    pub(crate) zones: Option<Vec<Zone>>,
    pub(crate) kubelet: Option<Kubelet>,
}

/// A size: an entry of `spec.instanceTypes`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    pub(crate) cpu: Option<IntOrText>,
    pub(crate) memory: Option<IntOrText>,
    pub(crate) max_pods: Option<IntOrText>,
    pub(crate) os: Option<String>,
    pub(crate) arch: Option<String>,
    pub(crate) zone: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) price: Option<NumberOrText>,
    pub(crate) labels: Option<Labels>,
    pub(crate) extended_resources: Option<BTreeMap<String, Quantity>>,
    /// In GiB, instead of the class's.
    pub(crate) disk_size: Option<i64>,
}

/// The fields of a size, also those that do not matter before a machine is cloned.
const ENTRY_FIELDS: [&str; 15] = [
    "arch",
    "coresPerSocket",
    "cpu",
    "diskSize",
    "extendedResources",
    "labels",
    "maxPods",
    "memory",
    "name",
    "os",
    "pciDevices",
    "price",
    "region",
    "vgpu",
    "zone",
];

/// A place that machines can be made in.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Zone {
    pub(crate) name: String,
    pub(crate) region: Option<String>,
}

/// What the kubelet is told, in the words of its own configuration.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kubelet {
    pub(crate) max_pods: Option<u32>,
    pub(crate) pods_per_core: Option<u32>,
    pub(crate) kube_reserved: Option<Resources>,
    pub(crate) system_reserved: Option<Resources>,
    pub(crate) eviction_hard: Option<BTreeMap<String, String>>,
    pub(crate) eviction_soft: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
struct Status {
    image: Option<Image>,
}

#[derive(Debug, Deserialize)]
struct Image {
    #[serde(rename = "diskGiB")]
    disk_gib: Option<i64>,
}

impl NodeClass {
    /// Reads an object; what its schema refuses is an error.
    pub fn read(object: &Value) -> Result<Self, NotANodeClass> {
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let read: Object = serde_path_to_error::deserialize(object).map_err(|error| {
            let field = error.path().to_string();
            let problem = with_remedy(&error.into_inner().to_string());
            NotANodeClass { class: name.to_owned(), field, problem }
        })?;
        Ok(Self {
            name: name.to_owned(),
            spec: read.spec.unwrap_or_default(),
            template_disk_gib: read
                .status
                .and_then(|status| status.image)
                .and_then(|image| image.disk_gib)
                .filter(|gib| is_disk(*gib)),
            unknown_fields: unknown_fields(object),
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// What serde says of a value of the wrong type, with what to write instead of what serde expected.
fn with_remedy(problem: &str) -> String {
    let Some((found, expected)) = problem.split_once(", expected ") else {
        return problem.to_owned();
    };
    let remedy = match expected {
        "a string" => "put it in quotes",
        "a sequence" => "write a list",
        "i64" => "write a whole number",
        "u32" => "write a whole number of 0 or more",
        _ => "write an object",
    };
    format!("{found}; {remedy}")
}

/// Paths of fields that no size has. The API server drops them without a word, and who wrote one
/// meant something.
fn unknown_fields(object: &Value) -> Vec<String> {
    let sizes = object.pointer("/spec/instanceTypes").and_then(Value::as_array);
    let mut unknown = Vec::new();
    for (i, size) in sizes.into_iter().flatten().enumerate() {
        for field in size.as_object().into_iter().flat_map(|fields| fields.keys()) {
            if !ENTRY_FIELDS.contains(&field.as_str()) {
                unknown.push(format!("spec.instanceTypes[{i}].{field}"));
            }
        }
    }
    unknown
}
