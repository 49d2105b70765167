//! Creating and replacing objects.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

use jiff::Timestamp;
use joiner_kinds as kinds;
use joiner_schema::FieldError;
use serde_json::Value;

use crate::{
    Status, decode,
    input::Text,
    object::{Key, Object},
    operation::{FieldValidation, Outcome},
    owners,
    registry::{Kind, Rules, Version},
    review, rules,
    server::State,
    status::Cause,
};

pub(crate) use crate::stored::{build, metadata_of, request_value, same_json, text};

/// What all writes of one request have in common.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) kind: &'a Arc<Kind>,
    pub(crate) version: &'a Version,
    pub(crate) key: &'a Key,
    pub(crate) subresource: Option<&'a str>,
    pub(crate) manager: &'a str,
    pub(crate) now: Timestamp,
    pub(crate) dry_run: bool,
    pub(crate) validation: FieldValidation,
    /// What the caller should know, whatever becomes of the request.
    pub(crate) warnings: &'a RefCell<Vec<String>>,
    /// Whether the object still has what only counts for who owns it.
    pub(crate) unsettled: &'a Cell<bool>,
}

impl Request<'_> {
    pub(crate) fn not_found(&self) -> Status {
        Status::not_found(&self.kind.resource.group, &self.kind.resource.plural, &self.key.name)
    }

    fn invalid(&self, object: &Value, errors: &[FieldError]) -> Status {
        let name = text(object, "/metadata/name");
        // Objects that say they are of another kind are refused by that name.
        let kind = match text(object, "/kind") {
            "" => &*self.kind.kind,
            kind => kind,
        };
        Status::invalid(self.kind_group(), kind, name, errors)
    }

    /// The group of the kind that the server has inside, where all events are of one.
    pub(crate) fn kind_group(&self) -> &str {
        &self.kind.storage.group
    }

    /// The time as objects carry it.
    pub(crate) fn time(&self) -> String {
        seconds(self.now).to_string()
    }

    pub(crate) fn custom(&self) -> bool {
        matches!(self.version.rules, Rules::Custom(_))
    }

    pub(crate) fn warn(&self, warnings: impl IntoIterator<Item = String>) {
        self.warnings.borrow_mut().extend(warnings);
    }
}

/// A moment without its fractions of a second.
pub(crate) fn seconds(moment: Timestamp) -> Timestamp {
    Timestamp::from_second(moment.as_second()).unwrap_or(moment)
}

impl State {
    pub(crate) fn create(
        &mut self,
        request: &Request<'_>,
        mut object: Value,
        text: &Text,
    ) -> Result<Outcome, Status> {
        decode::read(request, &mut object, text)?;
        let metadata = metadata_of(&mut object);
        // The server writes these, and nobody gets to own them.
        for field in
            ["creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"]
        {
            metadata.remove(field);
        }
        rules::match_namespace(request, &mut object)?;
        owners::deduplicate(request, &mut object, false);
        self.track(request, None, &mut object);
        if let Some(answer) = review::answer(request.kind, &object) {
            return Ok(Outcome { answer: Some(answer?), created: true, ..Outcome::default() });
        }
        self.finish_create(request, object)
    }

    /// Stores a new object that was read and whose managed fields are known.
    pub(crate) fn finish_create(
        &mut self,
        request: &Request<'_>,
        mut object: Value,
    ) -> Result<Outcome, Status> {
        let kind = request.kind;
        self.check_namespace(request, &object)?;
        self.fill_metadata(request, &mut object);
        if let Rules::BuiltIn(resource) = &request.version.rules {
            let world = self.world(request.now);
            kinds::admit_create(resource, &mut object, &world).map_err(|refused| {
                let name = text(&object, "/metadata/name");
                let (group, plural) = (&kind.resource.group, &kind.resource.plural);
                Status::forbidden(group, plural, name, &refused.to_string())
            })?;
        }
        owners::deduplicate(request, &mut object, true);
        self.prepare_create(request, &mut object);
        let errors = rules::validate_create(request, &object);
        if !errors.is_empty() {
            return Err(request.invalid(&object, &errors));
        }
        request.warn(rules::warnings(request, &object, None));
        let name = text(&object, "/metadata/name").to_owned();
        let key = Key::new(&request.key.namespace, &name);
        let version = text(&object, "/metadata/resourceVersion");
        if !request.dry_run && version.parse::<u64>().is_ok_and(|version| version != 0) {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Status::plain(500, "", message));
        }
        if let Some(there) = self.store.get(&kind.storage, &key) {
            let (group, plural) = (&kind.resource.group, &kind.resource.plural);
            let mut status = Status::already_exists(group, plural, &name);
            if there.deleting {
                status.message.insert_str(0, "object is being deleted: ");
            }
            return Err(status);
        }
        let outcome =
            |object| Outcome { object: Some(object), created: true, ..Outcome::default() };
        if request.dry_run {
            metadata_of(&mut object).remove("resourceVersion");
            return Ok(outcome(Arc::new(build(request, object, None))));
        }
        let stored = self.put(request, object)?;
        let stored = self.after_write(request, stored);
        Ok(outcome(stored))
    }

    /// Namespaces must exist before what is in them, and take nothing new when they go.
    fn check_namespace(&self, request: &Request<'_>, object: &Value) -> Result<(), Status> {
        if !request.kind.namespaced {
            return Ok(());
        }
        let name = &request.key.namespace;
        let namespaces = crate::Resource::new("", "namespaces");
        let Some(namespace) = self.store.get(&namespaces, &Key::new("", name)) else {
            return Err(Status::not_found("", "namespaces", name));
        };
        if !namespace.deleting {
            return Ok(());
        }
        let why = format!(
            "unable to create new content in namespace {name} because it is being terminated"
        );
        let resource = &request.kind.resource;
        let object_name = text(object, "/metadata/name");
        let mut status = Status::forbidden(&resource.group, &resource.plural, object_name, &why);
        if let Some(details) = &mut status.details {
            details.causes.push(Cause {
                reason: "NamespaceTerminating".into(),
                message: format!("namespace {name} is being terminated"),
                field: "metadata.namespace".into(),
            });
        }
        Err(status)
    }

    /// What only the server writes into the metadata of a new object.
    fn fill_metadata(&mut self, request: &Request<'_>, object: &mut Value) {
        let uid = self.ids.uid();
        let generate = text(object, "/metadata/generateName").to_owned();
        let unnamed = text(object, "/metadata/name").is_empty();
        let metadata = metadata_of(object);
        if unnamed && !generate.is_empty() {
            let mut name = self.ids.name(&generate);
            // The real server tries eight times before it gives up.
            for _ in 0..8 {
                let key = Key::new(&request.key.namespace, &name);
                if self.store.get(&request.kind.storage, &key).is_none() {
                    break;
                }
                name = self.ids.name(&generate);
            }
            metadata.insert("name".into(), name.into());
        }
        if request.kind.namespaced {
            metadata.insert("namespace".into(), Value::from(&*request.key.namespace));
        }
        metadata.insert("uid".into(), uid.into());
        metadata.insert("creationTimestamp".into(), request.time().into());
        metadata.remove("selfLink");
    }

    fn prepare_create(&mut self, request: &Request<'_>, object: &mut Value) {
        match &request.version.rules {
            Rules::BuiltIn(resource) => {
                let world = self.world(request.now);
                kinds::prepare_create(resource, object, &world);
            }
            Rules::Custom(_) => {
                if request.version.has_status()
                    && let Some(fields) = object.as_object_mut()
                {
                    fields.remove("status");
                }
                metadata_of(object).insert("generation".into(), 1.into());
            }
        }
    }

    pub(crate) fn update(
        &mut self,
        request: &Request<'_>,
        mut object: Value,
        text: &Text,
    ) -> Result<Outcome, Status> {
        decode::read(request, &mut object, text)?;
        rules::match_namespace(request, &mut object)?;
        rules::match_name(request, &object)?;
        owners::deduplicate(request, &mut object, false);
        let Some(live) = self.live(request)? else {
            if request.subresource.is_none() && rules::creates_on_update(request) {
                self.track(request, None, &mut object);
                return self.finish_create(request, object);
            }
            return Err(request.not_found());
        };
        rules::check_identity(request, &live, &object)?;
        let old = request_value(request, &live);
        self.track(request, Some(&old), &mut object);
        self.replace(request, &live, &old, object)
    }

    /// Stores a new version of an object that was read and whose managed fields are known.
    pub(crate) fn replace(
        &mut self,
        request: &Request<'_>,
        live: &Arc<Object>,
        old: &Value,
        mut new: Value,
    ) -> Result<Outcome, Status> {
        rules::check_version(request, live, &new)?;
        metadata_of(&mut new).insert("resourceVersion".into(), live.version.to_string().into());
<<<<<<< HEAD
        if request.dry_run || new == *old {
=======
        owners::deduplicate(request, &mut new, true);
        self.prepare_update(request, &mut new, old);
        let errors = rules::validate_update(request, &new, old);
        if !errors.is_empty() {
            return Err(request.invalid(&new, &errors));
        }
        request.warn(rules::warnings(request, &new, Some(old)));
        joiner_patch::keep_timestamps(old, &mut new, request.custom());
        if !request.dry_run {
            metadata_of(&mut new).remove("selfLink");
        }
        let outcome = |object| Outcome { object: Some(object), ..Outcome::default() };
        if request.dry_run || same_json(request, live, &new) {
>>>>>>> likeness
            return Ok(outcome(Arc::new(build(request, new, Some(live.version)))));
        }
        if is_finally_gone(request.kind, &new) {
            let gone = self.remove(request, new);
            return Ok(Outcome { deleted: true, ..outcome(gone) });
        }
        let stored = self.put(request, new)?;
        let stored = self.after_write(request, stored);
        Ok(outcome(stored))
    }

    fn prepare_update(&mut self, request: &Request<'_>, new: &mut Value, old: &Value) {
        match &request.version.rules {
            Rules::BuiltIn(resource) => {
                let world = self.world(request.now);
                kinds::prepare_update(resource, request.subresource, new, old, &world);
            }
            Rules::Custom(_) => rules::prepare_custom_update(request, new, old),
        }
        rules::keep_system_metadata(new, old);
    }
<<<<<<< HEAD

    pub(crate) fn patch(
        &mut self,
        request: &Request<'_>,
        kind: PatchKind,
        patch: &Value,
        duplicates: Vec<String>,
    ) -> Result<Outcome, Status> {
        if let PatchKind::Apply { force } = kind {
            return self.apply(request, patch, force, duplicates);
        }
        let live = self.live(request).ok_or_else(|| request.not_found())?;
        let old = request_value(request, &live);
        let mut noticed = Noticed { duplicates, ..Noticed::default() };
        let mut new = match kind {
            PatchKind::Json => {
                let patched = joiner_patch::json_patch(&old, patch).map_err(refused)?;
                noticed.unknown.extend(patched.unknown_fields);
                patched.document
            }
            PatchKind::Merge => joiner_patch::merge_patch(&old, patch).map_err(refused)?,
            PatchKind::Strategic | PatchKind::Apply { .. } => {
                joiner_patch::strategic_merge(&old, patch, &request.version.schema)
                    .map_err(refused)?
            }
        };
        decode::decode(request.kind, request.version, &mut new, &mut noticed)?;
        let warnings = decode::report(request.kind, request.version, noticed, request.validation)?;
        match_name(request, &new)?;
        match_namespace(request, &mut new)?;
        self.track(request, Some(&old), &mut new);
        self.replace(request, &live, &old, new, warnings)
    }

    fn apply(
        &mut self,
        request: &Request<'_>,
        applied: &Value,
        force: bool,
        duplicates: Vec<String>,
    ) -> Result<Outcome, Status> {
        let mut noticed = Noticed { duplicates, ..Noticed::default() };
        // What is applied is only looked at here: defaults must not become the manager's.
        let mut looked_at = applied.clone();
        let checked = decode::decode(request.kind, request.version, &mut looked_at, &mut noticed);
        let live = self.live(request);
        if live.is_none() && request.subresource.is_some() {
            return Err(request.not_found());
        }
        let old = live.as_ref().map(|live| request_value(request, live));
        let mut warnings = Vec::new();
        if checked.is_ok() {
            warnings = decode::report(request.kind, request.version, noticed, request.validation)?;
            if !text(applied, "/metadata/name").is_empty() {
                match_name(request, applied)?;
            }
        }
        let versions: Vec<&str> =
            request.kind.versions.iter().map(|version| &*version.api_version).collect();
        let reset = reset_fields(request);
        let endpoint = endpoint(request, &versions, &reset);
        let time = request.time();
        let result =
            joiner_patch::apply(&endpoint, old.as_ref(), applied, request.manager, force, &time)
                .map_err(refused)?;
        checked?;
        let mut new = result.object;
        let managed = new.pointer("/metadata/managedFields").cloned();
        decode::decode(request.kind, request.version, &mut new, &mut Noticed::default())?;
        if let Some(managed) = managed {
            metadata_of(&mut new).insert("managedFields".into(), managed);
        }
        match_namespace(request, &mut new)?;
        match (live, old) {
            (Some(live), Some(old)) => self.replace(request, &live, &old, new, warnings),
            _ => {
                metadata_of(&mut new).insert("name".into(), Value::from(&*request.key.name));
                self.finish_create(request, new, warnings)
            }
        }
    }

    /// The object as it is.
    pub(crate) fn live(&self, request: &Request<'_>) -> Option<Arc<Object>> {
        self.store.get(&request.kind.storage, request.key).cloned()
    }

    fn track(&self, request: &Request<'_>, old: Option<&Value>, new: &mut Value) {
        let versions: Vec<&str> =
            request.kind.versions.iter().map(|version| &*version.api_version).collect();
        let reset = reset_fields(request);
        let endpoint = endpoint(request, &versions, &reset);
        joiner_patch::track_update(&endpoint, old, new, request.manager, &request.time());
    }

    /// Writes an object into the store.
    pub(crate) fn put(
        &mut self,
        request: &Request<'_>,
        object: Value,
    ) -> Result<Arc<Object>, Status> {
        let mut object = object;
        if request.kind.storage != request.kind.resource {
            object = kinds::event_to_core(&object);
        }
        let built = build(request, object, Some(self.store.version() + 1));
        if built.json.len() > OBJECT_MAX {
            return Err(Status::plain(500, "", "etcdserver: request is too large"));
        }
        Ok(self.store.put(&request.kind.storage, request.now, |_| built))
    }

    /// Takes an object out of the store.
    pub(crate) fn remove(&mut self, request: &Request<'_>, last: Value) -> Arc<Object> {
        let version = self.store.version() + 1;
        let built = build(request, last, Some(version));
        let key = built.key.clone();
        let gone = self.store.remove(&request.kind.storage, &key, request.now, |_| built);
        self.after_removal(request, &gone);
        gone
    }
}

/// The largest object that etcd takes: its request limit of 1.5 MiB.
const OBJECT_MAX: usize = 3 * 512 * 1024;

/// The object as the caller's version of the API has it.
pub(crate) fn request_value(request: &Request<'_>, object: &Object) -> Value {
    let mut value = object.value();
    if request.kind.storage != request.kind.resource {
        value = kinds::event_from_core(&value);
    }
    value["apiVersion"] = Value::from(&*request.version.api_version);
    value["kind"] = Value::from(&*request.kind.kind);
    value
}

/// Makes the stored form of an object.
pub(crate) fn build(request: &Request<'_>, mut object: Value, version: Option<u64>) -> Object {
    if let Some(version) = version {
        metadata_of(&mut object).insert("resourceVersion".into(), version.to_string().into());
    }
    let fields = match &request.kind.stored().rules {
        Rules::BuiltIn(resource) => kinds::selectable_fields(resource, &object)
            .into_iter()
            .map(|(path, value)| (Arc::from(path), value.into()))
            .collect(),
        Rules::Custom(custom) => custom.selectable_values(&object),
    };
    if let Some(fields) = object.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    let metadata = &object["metadata"];
    let labels = metadata["labels"].as_object().into_iter().flatten();
    let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
    Object {
        key: Key::new(text(&object, "/metadata/namespace"), text(&object, "/metadata/name")),
        uid: text(&object, "/metadata/uid").into(),
        version: version.unwrap_or_default(),
        labels: labels
            .map(|(key, value)| (key.as_str().into(), value.as_str().unwrap_or_default().into()))
            .collect(),
        fields,
        owners: owners.filter_map(|owner| owner["uid"].as_str()).map(Into::into).collect(),
        deleting: metadata.get("deletionTimestamp").is_some(),
        json: serde_json::to_vec(&object).expect("a JSON value can be written").into(),
    }
}



pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The metadata of an object, which is made if there is none.
pub(crate) fn metadata_of(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = json!({});
    }
    let metadata = &mut object["metadata"];
    if !metadata.is_object() {
        *metadata = json!({});
    }
    metadata.as_object_mut().expect("made as an object above")
}

fn match_namespace(request: &Request<'_>, object: &mut Value) -> Result<(), Status> {
    let given = text(object, "/metadata/namespace");
    let expected = &*request.key.namespace;
    if given == expected {
        return Ok(());
    }
    if given.is_empty() {
        metadata_of(object).insert("namespace".into(), expected.into());
        return Ok(());
    }
    if !request.kind.namespaced {
        // Validation says that it is not allowed.
        return Ok(());
    }
    Err(Status::bad_request(
        "the namespace of the provided object does not match the namespace sent on the request",
    ))
}

fn match_name(request: &Request<'_>, object: &Value) -> Result<(), Status> {
    let (given, expected) = (text(object, "/metadata/name"), &*request.key.name);
    if given == expected {
        return Ok(());
    }
    if given.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({expected} based on URL) was undeterminable: name must be \
             provided"
        )));
    }
    Err(Status::bad_request(format!(
        "the name of the object ({given}) does not match the name on the URL ({expected})"
    )))
}

/// Kinds whose objects a replacement creates when they are not there.
fn creates_on_update(request: &Request<'_>) -> bool {
    matches!(request.version.rules, Rules::BuiltIn(_))
        && matches!(
            (&*request.kind.resource.group, &*request.kind.kind),
            ("" | "events.k8s.io", "Event")
                | ("", "Endpoints" | "LimitRange" | "Service")
                | ("coordination.k8s.io", "Lease")
                | ("node.k8s.io", "RuntimeClass")
                | ("rbac.authorization.k8s.io", _)
        )
}

/// Kinds whose objects may be replaced without saying which version was seen.
fn updates_unconditionally(request: &Request<'_>) -> bool {
    match &request.version.rules {
        Rules::Custom(_) => false,
        Rules::BuiltIn(_) => !matches!(
            (&*request.kind.resource.group, &*request.kind.kind),
            ("apiextensions.k8s.io" | "apiregistration.k8s.io" | "coordination.k8s.io", _)
                | (
                    "policy" | "storage.k8s.io",
                    "PodDisruptionBudget"
                        | "CSINode"
                        | "CSIDriver"
                        | "StorageClass"
                        | "VolumeAttachment"
                )
        ),
    }
}

/// A replacement that names a uid means the object with that uid.
fn check_identity(request: &Request<'_>, live: &Object, new: &Value) -> Result<(), Status> {
    let uid = text(new, "/metadata/uid");
    if uid.is_empty() || uid == &*live.uid {
        return Ok(());
    }
    let resource = &request.kind.resource;
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{}, ResourceVersion: 0, \
         AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
        storage_path(request),
        live.uid
    );
    Err(Status::conflict(&resource.group, &resource.plural, &request.key.name, &why))
}

/// Where etcd would have the object, which some refusals name.
fn storage_path(request: &Request<'_>) -> String {
    let resource = &request.kind.resource;
    let folder = match (&*resource.group, &*resource.plural) {
        ("", "nodes") => "minions".to_owned(),
        ("", "services") => "services/specs".to_owned(),
        ("", "endpoints") => "services/endpoints".to_owned(),
        ("", "replicationcontrollers") => "controllers".to_owned(),
        ("networking.k8s.io", "ingresses") => "ingress".to_owned(),
        (group, plural)
            if request.custom()
                || matches!(group, "apiextensions.k8s.io" | "apiregistration.k8s.io") =>
        {
            format!("{group}/{plural}")
        }
        (_, plural) => plural.to_owned(),
    };
    format!("{folder}/{}", request.key)
}

/// What an update cannot change in the metadata is taken from the old object if it is not given.
fn keep_system_metadata(new: &mut Value, old: &Value) {
    let metadata = metadata_of(new);
    metadata.remove("selfLink");
    for field in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let given = metadata.get(field).is_some_and(|value| !value.is_null());
        match old["metadata"].get(field) {
            Some(value) if !given => {
                metadata.insert(field.into(), value.clone());
            }
            None if field.starts_with("deletion") => {
                metadata.remove(field);
            }
            _ => {}
        }
    }
}

fn prepare_custom_update(request: &Request<'_>, new: &mut Value, old: &Value) {
    let status_apart = request.version.has_status();
    let Some(fields) = new.as_object_mut() else { return };
    if request.subresource == Some("status") {
        // Everything but the status stays, and of the metadata only managed fields move.
        let managed = fields.get("metadata").and_then(|m| m.get("managedFields")).cloned();
        let status = fields.remove("status");
        let mut kept = old.clone();
        if let Some(kept) = kept.as_object_mut() {
            match status {
                Some(status) => kept.insert("status".into(), status),
                None => kept.remove("status"),
            };
        }
        *new = kept;
        match managed {
            Some(managed) => metadata_of(new).insert("managedFields".into(), managed),
            None => metadata_of(new).remove("managedFields"),
        };
        return;
    }
    if status_apart {
        match old.get("status") {
            Some(status) => fields.insert("status".into(), status.clone()),
            None => fields.remove("status"),
        };
    }
    let changed = differ(new, old, status_apart);
    let generation = old.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
    let generation = generation + i64::from(changed);
    metadata_of(new).insert("generation".into(), generation.into());
}

/// Whether anything but metadata (and status, where that is apart) differs.
fn differ(new: &Value, old: &Value, status_apart: bool) -> bool {
    let relevant = |object: &Value| -> Map<String, Value> {
        let fields = object.as_object().into_iter().flatten();
        fields
            .filter(|(name, _)| *name != "metadata" && !(status_apart && *name == "status"))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    relevant(new) != relevant(old)
}

fn validate_create(request: &Request<'_>, object: &Value) -> Vec<FieldError> {
    let metadata = &object["metadata"];
    match &request.version.rules {
        Rules::BuiltIn(resource) => {
            let rule = kinds::validate::name_rule(resource.group, resource.kind);
            let mut errors =
                meta::validate_object_meta(metadata, request.kind.namespaced, rule, "metadata");
            errors.extend(kinds::validate::create(resource.group, resource.kind, object));
            errors.extend(crate::custom::check_definition(request.kind, object));
            errors
        }
        Rules::Custom(custom) => {
            let rule = joiner_schema::names::NameRule::DnsSubdomain;
            let mut errors =
                meta::validate_object_meta(metadata, request.kind.namespaced, rule, "metadata");
            errors.extend(custom.validator.validate(object, None));
            errors
        }
    }
}

fn validate_update(request: &Request<'_>, new: &Value, old: &Value) -> Vec<FieldError> {
    let (new_meta, old_meta) = (&new["metadata"], &old["metadata"]);
    let mut errors = meta::validate_object_meta_update(new_meta, old_meta, "metadata");
    match &request.version.rules {
        Rules::BuiltIn(resource) => {
            let (group, kind) = (resource.group, resource.kind);
            errors.extend(kinds::validate::update(group, kind, request.subresource, new, old));
            errors.extend(crate::custom::check_definition(request.kind, new));
        }
        Rules::Custom(custom) => errors.extend(custom.validator.validate(new, Some(old))),
    }
    errors
=======
>>>>>>> likeness
}

/// Whether an object that is being deleted has nothing left that holds it.
pub(crate) fn is_finally_gone(kind: &Kind, object: &Value) -> bool {
    let metadata = &object["metadata"];
    let held = metadata["finalizers"].as_array().is_some_and(|list| !list.is_empty());
    let grace = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    let namespace_held = kind.is("", "Namespace")
        && object["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty());
    metadata.get("deletionTimestamp").is_some() && !held && grace == 0 && !namespace_held
}
