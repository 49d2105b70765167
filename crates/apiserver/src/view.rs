//! How stored objects are shown: in which version of the API, whole, as metadata, or as a table.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    Status,
    decode::package,
    negotiate::Shape,
    object::Object,
    registry::{Kind, Rules, Version},
    stored::in_version,
    table::{self, Include},
};

/// One way to show the objects of a kind.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) kind: Arc<Kind>,
    pub(crate) version: usize,
    pub(crate) shape: Shape,
    /// What the rows of a table carry of their objects.
    pub(crate) include: Include,
}

impl View {
    pub(crate) fn version(&self) -> &Version {
        &self.kind.versions[self.version]
    }

    /// The object as a value, with kind and apiVersion.
    pub(crate) fn value(&self, object: &Object) -> Value {
        in_version(&self.kind, self.version(), object)
    }

    /// Whether objects are shown as they are stored.
    pub(crate) fn shows_stored(&self) -> bool {
        self.kind.storage == self.kind.resource
            && (self.version().stored || matches!(self.version().rules, Rules::BuiltIn(_)))
    }

    /// A list of metadata was asked for, and this is no list.
    pub(crate) fn not_a_list(&self) -> Status {
        match self.version().rules {
            Rules::Custom(_) => Status::plain(500, "", "content is not a list"),
            Rules::BuiltIn(_) => not_acceptable(format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list \
                 (*{}.{})",
                package(&self.kind.resource.group),
                self.kind.kind
            )),
        }
    }

    /// The metadata of one object was asked for, and this is a list.
    pub(crate) fn a_list(&self) -> Status {
        let list = match self.version().rules {
            Rules::Custom(_) => "unstructured.UnstructuredList".to_owned(),
            Rules::BuiltIn(_) => {
                format!("{}.{}", package(&self.kind.resource.group), self.kind.list_kind)
            }
        };
        not_acceptable(format!(
            "you requested PartialObjectMetadata, but the requested object is a list (*{list})"
        ))
    }

    /// Writes kind and apiVersion into an object.
    pub(crate) fn name_type(&self, value: &mut Value) {
        value["apiVersion"] = Value::from(&*self.version().api_version);
        value["kind"] = Value::from(&*self.kind.kind);
    }

    /// The object as JSON.
    pub(crate) fn json(&self, object: &Object, now: Timestamp) -> Bytes {
        let mut out = BytesMut::with_capacity(object.json.len() + 64);
        self.write(object, now, true, &mut out);
        out.freeze()
    }

    /// Writes the object as JSON. A watch tells the columns of its table only once.
    pub(crate) fn write(&self, object: &Object, now: Timestamp, columns: bool, out: &mut BytesMut) {
        match self.shape {
            Shape::Object | Shape::Discovery if self.shows_stored() => {
                out.put_slice(&self.version().head);
                out.put_slice(&object.json[1..]);
            }
            Shape::Object | Shape::Discovery => {
                out.put_slice(self.value(object).to_string().as_bytes());
            }
            Shape::Metadata | Shape::MetadataList => {
                out.put_slice(partial(&self.value(object)).to_string().as_bytes());
            }
            Shape::Table => {
                let row = table::row(self, object, now);
                let columns = if columns { table::columns(self) } else { Value::Null };
                let metadata = json!({"resourceVersion": object.version.to_string()});
                let table = table::table(metadata, columns, vec![row]);
                out.put_slice(table.to_string().as_bytes());
            }
        }
    }

    /// The kind of a list in this view.
    pub(crate) fn list_type(&self) -> (&str, &str) {
        match self.shape {
            Shape::MetadataList => ("meta.k8s.io/v1", "PartialObjectMetadataList"),
            _ => (&self.version().api_version, &self.kind.list_kind),
        }
    }
}

fn not_acceptable(message: String) -> Status {
    Status::plain(406, "NotAcceptable", message)
}

/// Only the metadata of an object.
pub(crate) fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": joiner_kinds::bare_metadata(object),
    })
}
