//! Creating and replacing objects.

use std::{
    borrow::Cow,
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

pub(crate) use crate::stored::{
    build, is_same, metadata_of, request_value, shared_request_value, text,
};

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
    /// Warnings for the caller, independent of the result of the request.
    pub(crate) warnings: &'a RefCell<Vec<String>>,
    /// Whether the object still has what only counts for who owns it.
    pub(crate) unsettled: &'a Cell<bool>,
    /// What the object was sent with that has nothing in it and is not stored.
    pub(crate) empty: &'a RefCell<Vec<(String, Value)>>,
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
        let group = match text(object, "/apiVersion").split_once('/') {
            Some((group, _)) if self.custom() => group,
            None if self.custom() => "",
            _ => self.kind_group(),
        };
        Status::invalid(group, kind, name, errors)
    }

    /// A plugin does not let an object in.
    fn refused(&self, object: &Value, refusal: &kinds::Refusal) -> Status {
        let (group, plural) = (&self.kind.resource.group, &self.kind.resource.plural);
        match refusal {
            kinds::Refusal::Forbidden(why) => {
                Status::forbidden(group, plural, text(object, "/metadata/name"), why)
            }
            kinds::Refusal::Failed(why) => Status::plain(500, "", why.clone()),
        }
    }

    /// The group of the kind that the server has inside, where all events are of one.
    pub(crate) fn kind_group(&self) -> &str {
        &self.kind.storage.group
    }

    /// The time as objects carry it.
    pub(crate) fn time(&self) -> String {
        seconds(self.now).to_string()
    }

    /// The object with what was sent empty, which is not stored but told in refusals.
    pub(crate) fn as_sent<'v>(&self, object: &'v Value) -> Cow<'v, Value> {
        kinds::as_sent(object, &self.empty.borrow())
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
        // The server writes these, so they have no owner.
        for field in [
            "creationTimestamp",
            "uid",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
        ] {
            metadata.remove(field);
        }
        rules::match_namespace(request, &mut object)?;
        owners::deduplicate(request, &mut object, false);
        crate::patching::track(request, None, &mut object);
        if let Some(answer) = review::answer(request.kind, &object) {
            return Ok(Outcome { answer: Some(answer?), created: true, ..Outcome::default() });
        }
        self.finish_create(request, object, true)
    }

    /// Stores a new object that was read and whose managed fields are known. Only one that is
    /// posted must not say of which version it is.
    pub(crate) fn finish_create(
        &mut self,
        request: &Request<'_>,
        mut object: Value,
        posted: bool,
    ) -> Result<Outcome, Status> {
        let kind = request.kind;
        self.check_namespace(request, &object)?;
        self.fill_metadata(request, &mut object);
        if let Rules::BuiltIn(resource) = &request.version.rules {
            let world = self.world(request.now);
            kinds::admit_create(resource, &mut object, &world)
                .map_err(|refusal| request.refused(&object, &refusal))?;
        }
        owners::deduplicate(request, &mut object, true);
        let unlabelled = object.pointer("/metadata/labels").is_none();
        self.prepare_create(request, &mut object);
        let errors = rules::validate_create(request, &object);
        if !errors.is_empty() {
            return Err(request.invalid(&object, &errors));
        }
        request.warn(rules::warnings(request, &object, None));
        if let Rules::BuiltIn(resource) = &request.version.rules {
            let world = self.world(request.now);
            kinds::admit_valid(resource, &request.as_sent(&object), &world)
                .map_err(|refusal| request.refused(&object, &refusal))?;
        }
        let name = text(&object, "/metadata/name").to_owned();
        let key = Key::new(&request.key.namespace, &name);
        let version = text(&object, "/metadata/resourceVersion");
        if posted && !request.dry_run && version.parse::<u64>().is_ok_and(|version| version != 0) {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Status::plain(500, "", message));
        }
        if !posted && !request.dry_run {
            rules::parse_version(version)?;
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
            return Ok(outcome(Arc::new(build(request, object, None).0)));
        }
        let written = match &request.version.rules {
            Rules::BuiltIn(resource) => kinds::as_written(resource, unlabelled, &object),
            Rules::Custom(_) => None,
        };
        let stored = self.put_as(request, object, written)?;
        let stored = self.after_write(request, stored);
        Ok(outcome(stored))
    }

    /// Namespaces must exist before what is in them, and take nothing new when they go.
    fn check_namespace(&self, request: &Request<'_>, object: &Value) -> Result<(), Status> {
        let name = &request.key.namespace;
        // No namespace at all is told together with what else is wrong.
        if !request.kind.namespaced || name.is_empty() {
            return Ok(());
        }
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
                rules::check_identity(request, "", &object)?;
                crate::patching::track(request, None, &mut object);
                return self.finish_create(request, object, false);
            }
            return Err(request.not_found());
        };
        rules::check_identity(request, &live.uid, &object)?;
        let old = shared_request_value(request, &live);
        crate::patching::track(request, Some(&old), &mut object);
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
        owners::deduplicate(request, &mut new, true);
        self.prepare_update(request, &mut new, old);
        let errors = rules::validate_update(request, &new, old);
        if !errors.is_empty() {
            return Err(request.invalid(&new, &errors));
        }
        request.warn(rules::warnings(request, &new, Some(old)));
        joiner_patch::keep_timestamps(old, &mut new, request.custom());
        let outcome = |object| Outcome { object: Some(object), ..Outcome::default() };
        if !request.dry_run && is_finally_gone(request.kind, &new) {
            // Callers see what they wrote, which never was a version of its own; watchers see what
            // was stored last.
            let (last, _) = build(request, new, Some(live.version));
            self.remove(request, old.clone());
            return Ok(Outcome { deleted: true, ..outcome(Arc::new(last)) });
        }
        if !request.dry_run {
            metadata_of(&mut new).remove("selfLink");
        }
        if request.dry_run || is_same(request, live, old, &new) {
            return Ok(outcome(Arc::new(build(request, new, Some(live.version)).0)));
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
