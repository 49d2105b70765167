//! How stored objects are shown: in which version of the API, whole, as metadata, or as a table.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    negotiate::Shape,
    object::Object,
    registry::{Kind, Version},
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
        let mut value = object.value();
        if self.kind.storage != self.kind.resource {
            value = joiner_kinds::event_from_core(&value);
        }
        self.name_type(&mut value);
        value
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
            Shape::Object | Shape::Discovery if self.kind.storage == self.kind.resource => {
                out.put_slice(&self.version().head);
                out.put_slice(&object.json[1..]);
            }
            Shape::Object | Shape::Discovery => {
                out.put_slice(self.value(object).to_string().as_bytes());
            }
            Shape::Metadata => out.put_slice(partial(&self.value(object)).to_string().as_bytes()),
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
            Shape::Metadata => ("meta.k8s.io/v1", "PartialObjectMetadataList"),
            _ => (&self.version().api_version, &self.kind.list_kind),
        }
    }
}

/// Only the metadata of an object.
pub(crate) fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object["metadata"],
    })
}
