//! A request to change something, after HTTP and before the rules.

use std::sync::Arc;

use serde_json::Value;

use crate::object::{Key, Object, Resource};

/// A request to change one object.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Which resource.
    pub resource: Resource,
    /// In which version of its API the caller speaks; none for the storage version.
    pub version: Option<Arc<str>>,
    /// Which object; an empty name when the server is to make one up.
    pub key: Key,
    /// Which part of it.
    pub subresource: Option<Box<str>>,
    /// What to do.
    pub action: Action,
    /// Nothing is stored.
    pub dry_run: bool,
    /// Who is recorded as the manager of the fields; the caller's name when none is given.
    pub field_manager: Option<Box<str>>,
    /// What happens to fields that the kind does not have.
    pub field_validation: FieldValidation,
}

/// What to do to an object.
#[derive(Clone, Debug)]
pub enum Action {
    /// Create it.
    Create(Value),
    /// Replace it.
    Update(Value),
    /// Change it by a patch.
    Patch(PatchKind, Value),
    /// Delete it.
    Delete(DeleteOptions),
}

/// The four kinds of patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Kubernetes' own, which knows what tells list entries apart.
    Strategic,
    /// Server-side apply.
    Apply {
        /// Take over fields that others manage.
        force: bool,
    },
}

/// What happens to fields that the kind does not have, or has twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// They are dropped.
    Ignore,
    /// They are dropped and the caller is warned.
    #[default]
    Warn,
    /// The request is refused.
    Strict,
}

/// How to delete an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// How long a pod may take to stop; the object's own when none is given.
    pub grace_period_seconds: Option<i64>,
    /// Only if it has this uid.
    pub uid: Option<Box<str>>,
    /// Only if it is at this version.
    pub resource_version: Option<Box<str>>,
    /// What happens to the objects that it owns; the kind's own when none is given.
    pub propagation: Option<Propagation>,
}

/// What happens to the objects that a deleted object owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// What became of an operation.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The object as it is now, or as it was last.
    pub object: Option<Arc<Object>>,
    /// An answer that is not the object itself: a token, a scale, a status.
    pub answer: Option<Value>,
    /// Whether the object was created by this operation.
    pub created: bool,
    /// Whether the object is gone (rather than waiting for finalizers or a grace period).
    pub deleted: bool,
    /// What the caller should know.
    pub warnings: Vec<String>,
}

impl Operation {
    fn new(resource: &Resource, key: Key, subresource: Option<&str>, action: Action) -> Self {
        Self {
            resource: resource.clone(),
            version: None,
            key,
            subresource: subresource.map(Into::into),
            action,
            dry_run: false,
            field_manager: None,
            field_validation: FieldValidation::Ignore,
        }
    }

    /// Creates an object in a namespace.
    pub fn create(resource: &Resource, namespace: &str, object: Value) -> Self {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        Self::new(resource, Key::new(namespace, name), None, Action::Create(object))
    }

    /// Creates a subresource: a binding, an eviction, a token.
    pub fn create_subresource(
        resource: &Resource,
        key: Key,
        subresource: &str,
        object: Value,
    ) -> Self {
        Self::new(resource, key, Some(subresource), Action::Create(object))
    }

    /// Replaces an object or one of its subresources.
    pub fn update(resource: &Resource, key: Key, subresource: Option<&str>, object: Value) -> Self {
        Self::new(resource, key, subresource, Action::Update(object))
    }

    /// Patches an object or one of its subresources.
    pub fn patch(
        resource: &Resource,
        key: Key,
        subresource: Option<&str>,
        kind: PatchKind,
        patch: Value,
    ) -> Self {
        Self::new(resource, key, subresource, Action::Patch(kind, patch))
    }

    /// Deletes an object.
    pub fn delete(resource: &Resource, key: Key, options: DeleteOptions) -> Self {
        Self::new(resource, key, None, Action::Delete(options))
    }
}
