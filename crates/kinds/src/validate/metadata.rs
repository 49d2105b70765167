//! The metadata of built-in kinds.
//!
//! The API server checks metadata once for every object, and most kinds check it again: what is
//! wrong is found as often as they look, which clients see in the causes of a refusal.

use joiner_schema::{
    FieldError,
    meta::{validate_object_meta, validate_object_meta_update},
};
use serde_json::Value;

use super::{
    cluster,
    errors::{Errors, Path},
    name_rule,
};
use crate::{Resource, fields::Fields};

/// What is wrong with the metadata of a new object.
pub fn metadata(group: &str, kind: &str, namespaced: bool, object: &Value) -> Vec<FieldError> {
    // Some kinds leave their metadata to the rules for every object, and events look at it later.
    if matches!((group, kind), ("policy", "PodDisruptionBudget") | (_, "Event")) {
        return Vec::new();
    }
    checked(group, kind, namespaced, object)
}

/// The same, whenever the kind looks at it.
pub(super) fn checked(
    group: &str,
    kind: &str,
    namespaced: bool,
    object: &Value,
) -> Vec<FieldError> {
    let rule = name_rule(group, kind);
    let mut errors = Errors::default();
    errors.extend(validate_object_meta(object.part("metadata"), namespaced, rule, "metadata"));
    if knows_finalizers(group) {
        finalizers(&mut errors, object);
    }
    errors.into_vec()
}

/// An object that is changed, for kinds that look at its metadata.
#[derive(Clone, Copy)]
pub(super) struct Metadata<'a> {
    pub(super) resource: &'a Resource,
    pub(super) new: &'a Value,
    pub(super) old: &'a Value,
    pub(super) sent: &'a Value,
}

impl Metadata<'_> {
    /// Checks the metadata as that of a new object.
    pub(super) fn whole(self, errors: &mut Errors) {
        let Resource { group, kind, namespaced, .. } = self.resource;
        errors.extend(metadata(group, kind, *namespaced, self.new));
    }

    /// Checks what has become of the metadata.
    pub(super) fn change(self, errors: &mut Errors) {
        let (new, old) = (self.new.part("metadata"), self.old.part("metadata"));
        errors.extend(validate_object_meta_update(new, old, "metadata"));
        if knows_finalizers(self.resource.group) {
            finalizers(errors, self.new);
        }
    }
}

/// Whether kinds of a group look at finalizers more closely than the rules for every object do.
fn knows_finalizers(group: &str) -> bool {
    !matches!(group, "admissionregistration.k8s.io" | "apiextensions.k8s.io" | "node.k8s.io")
}

/// Finalizers are Kubernetes' own or somebody's who has a domain.
fn finalizers(errors: &mut Errors, object: &Value) {
    let path = Path::new("metadata.finalizers");
    for (index, name) in object.part("metadata").texts("finalizers").enumerate() {
        cluster::standard_or_qualified(errors, &path.index(index), name);
    }
}
