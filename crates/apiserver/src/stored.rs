//! Conversions of objects between the store and the write path.

use std::{
    borrow::Cow,
    cell::RefCell,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use joiner_kinds as kinds;
use joiner_schema::{apply_defaults, prune};
use serde_json::{Map, Value, json};

use crate::{
    Status,
    custom::CustomVersion,
    object::{Key, Object},
    registry::{Kind, Rules, Version},
    server::State,
    write::Request,
};

/// The largest object that etcd takes: its request limit of 1.5 MiB.
const OBJECT_MAX: usize = 3 * 512 * 1024;

impl State {
    /// The object as it is.
    pub(crate) fn live(&self, request: &Request<'_>) -> Result<Option<Arc<Object>>, Status> {
        crate::read::check_name(request.key)?;
        Ok(self.store.get(&request.kind.storage, request.key).cloned())
    }

    /// Writes an object into the store.
    pub(crate) fn put(
        &mut self,
        request: &Request<'_>,
        object: Value,
    ) -> Result<Arc<Object>, Status> {
        self.put_as(request, object, None)
    }

    /// The same for an object that is read with more than is written of it.
    pub(crate) fn put_as(
        &mut self,
        request: &Request<'_>,
        object: Value,
        written: Option<Value>,
    ) -> Result<Arc<Object>, Status> {
        let (mut built, value) = build(request, object, Some(self.store.version() + 1));
        if let Some(written) = written {
            built.written = Some(without_version(written).into());
        }
        if built.json.len() > OBJECT_MAX {
            return Err(Status::plain(500, "", "etcdserver: request is too large"));
        }
        Ok(self.store.put(&request.kind.storage, request.now, built, value))
    }

    /// Takes an object out of the store.
    pub(crate) fn remove(&mut self, request: &Request<'_>, last: Value) -> Arc<Object> {
        let version = self.store.version() + 1;
        let (built, value) = build(request, last, Some(version));
        let gone = self.store.remove(&request.kind.storage, request.now, built, value);
        self.after_removal(request, &gone);
        gone
    }
}

/// The object as one version of its API has it.
pub(crate) fn in_version(kind: &Kind, version: &Version, object: &Object) -> Value {
    let mut value = object.untyped();
    if kind.storage != kind.resource {
        value = kinds::event_from_core(&value);
    }
    if matches!(version.rules, Rules::Custom(_)) && !version.stored {
        // Nothing converts custom resources: a version shows what it knows of the stored one.
        prune(&mut value, &version.schema);
    }
    value["apiVersion"] = Value::from(&*version.api_version);
    value["kind"] = Value::from(&*kind.kind);
    value
}

/// The object as the caller's version of the API has it.
pub(crate) fn request_value(request: &Request<'_>, object: &Object) -> Value {
    in_version(request.kind, request.version, object)
}

/// The same for reading only: the stored form is not parsed again while another reference keeps it
/// alive.
pub(crate) fn shared_request_value(request: &Request<'_>, object: &Object) -> Arc<Value> {
    let Request { kind, version, .. } = request;
    let as_stored = kind.storage == kind.resource
        && version.stored
        && version.api_version == object.of_type.api_version
        && kind.kind == object.of_type.kind;
    if as_stored { object.shared() } else { Arc::new(request_value(request, object)) }
}

/// Makes the stored form of an object. Its value is returned with it, for immediate readers.
pub(crate) fn build(
    request: &Request<'_>,
    mut object: Value,
    version: Option<u64>,
) -> (Object, Arc<Value>) {
    if request.kind.storage != request.kind.resource {
        object = kinds::event_to_core(&object);
    }
    if let Some(version) = version {
        metadata_of(&mut object).insert("resourceVersion".into(), version.to_string().into());
    }
    let stored = request.kind.stored();
    let mut written = None;
    let selectable = match &stored.rules {
        Rules::BuiltIn(resource) => {
            kinds::selectable_fields(stored_kind(request, resource), &object)
                .into_iter()
                // The key has name and namespace, and what is not there is empty anyway.
                .filter(|(path, value)| !path.starts_with("metadata.") && !value.is_empty())
                .map(|(path, value)| (Cow::Borrowed(path), value.into()))
                .collect()
        }
        Rules::Custom(custom) => {
            if !request.version.stored {
                prune(&mut object, &stored.schema);
            }
            // What is filled in when an object is read is written with its next change only, and
            // what was applied empty is written as it is.
            let sent = request.as_sent(&object).into_owned();
            let without_status = object.get("status").is_none() && fills_in_status(custom);
            if without_status || !request.version.stored {
                apply_defaults(&mut object, &custom.schema);
            }
            if object != sent {
                written = Some(without_version(sent).into());
            }
            custom.selectable_values(&object)
        }
    };
    let fields = fields_of(&mut object);
    fields.remove("apiVersion");
    fields.remove("kind");
    let json = json_of(fields);
    let of_type = &request.kind.stored_type;
    fields.insert("apiVersion".into(), Value::from(&*of_type.api_version));
    fields.insert("kind".into(), Value::from(&*of_type.kind));
    let metadata = &object["metadata"];
    let labels = metadata["labels"].as_object().into_iter().flatten();
    let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
    let built = Object {
        key: key_of(request, &object),
        uid: text(&object, "/metadata/uid").into(),
        version: version.unwrap_or_default(),
        labels: labels
            .map(|(key, value)| (key.as_str().into(), value.as_str().unwrap_or_default().into()))
            .collect(),
        fields: selectable,
        owners: owners.filter_map(|owner| owner["uid"].as_str()).map(Into::into).collect(),
        deleting: metadata.get("deletionTimestamp").is_some(),
        written,
        json,
        of_type: Arc::clone(of_type),
        shared: OnceLock::new(),
    };
    let value = Arc::new(object);
    built.share(&value);
    (built, value)
}

/// The key of an object: that of the request, unless the server made up the name.
fn key_of(request: &Request<'_>, object: &Value) -> Key {
    let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
    let asked = request.key;
    if (&*asked.namespace, &*asked.name) == (namespace, name) {
        return asked.clone();
    }
    Key::new(namespace, name)
}

/// The text of an object, in memory of just that size: it stays as long as the object does.
fn json_of(fields: &Map<String, Value>) -> Bytes {
    thread_local! {
        static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    ROOM.with_borrow_mut(|room| {
        room.clear();
        serde_json::to_writer(&mut *room, fields).expect("a JSON value can be written");
        Bytes::copy_from_slice(room)
    })
}

/// The kind whose form objects have in the store.
fn stored_kind<'a>(request: &Request<'_>, resource: &'a kinds::Resource) -> &'a kinds::Resource {
    if request.kind.storage == request.kind.resource {
        return resource;
    }
    kinds::find_kind(&request.kind.storage.group, "v1", resource.kind).unwrap_or(resource)
}

/// Whether objects are read with a default status.
fn fills_in_status(custom: &CustomVersion) -> bool {
    let status = custom.schema.properties.get("status");
    status.is_some_and(|status| status.default.is_some())
}

/// Whether writing `new` over what `old` shows of the live object would change nothing.
pub(crate) fn is_same(request: &Request<'_>, live: &Object, old: &Value, new: &Value) -> bool {
    let whole = !request.custom() || request.empty.borrow().is_empty();
    if request.version.stored && live.written.is_none() && whole {
        return old == new;
    }
    let (built, _) = build(request, new.clone(), Some(live.version));
    let text_of = |object: &Object| match &object.written {
        Some(written) => written.clone(),
        None => without_version(object.value()).into(),
    };
    if live.written.is_some() || built.written.is_some() {
        return text_of(&built) == text_of(live);
    }
    built.json == live.json
}

/// The text of an object but for what says of which version it is.
fn without_version(mut object: Value) -> String {
    for field in ["apiVersion", "kind"] {
        if let Some(fields) = object.as_object_mut() {
            fields.remove(field);
        }
    }
    metadata_of(&mut object).remove("resourceVersion");
    object.to_string()
}

/// The text at a pointer such as `/metadata/name`; empty when there is none. Unlike
/// [`Value::pointer`] it knows no escapes and allocates nothing.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    let mut steps = pointer.split('/').skip(1);
    steps
        .try_fold(object, |value, step| value.get(step))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The metadata of an object, which is made if there is none.
pub(crate) fn metadata_of(object: &mut Value) -> &mut Map<String, Value> {
    fields_of(fields_of(object).entry("metadata").or_insert(Value::Null))
}

/// The fields of an object, which is made if it is none.
fn fields_of(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = json!({});
    }
    object.as_object_mut().expect("made as an object above")
}
