//! Refusing what is wrong.

mod embedded;
mod listtype;
mod node;
mod openapi;
mod rules;

use std::sync::Arc;

use serde_json::Value;

use node::Node;
pub(crate) use node::augmented;

use crate::{
    correlate::Pair,
    error::{ErrorKind, FieldError},
    path::Path,
    schema::Schema,
};

/// A schema made ready to validate many objects: regular expressions and rules are compiled.
#[derive(Debug)]
pub struct Validator {
    root: Arc<Node>,
}

impl Validator {
    /// Makes a schema ready for objects of its kind. A rule that does not compile is an error of
    /// every object, as it is for the API server; [`Schema::check_structural`] finds it earlier.
    pub fn new(schema: &Arc<Schema>) -> Self {
        Self { root: Node::compile(schema, true) }
    }

    /// Makes a schema ready for values that are no objects of their own.
    pub(crate) fn of_part(schema: &Arc<Schema>) -> Self {
        Self { root: Node::compile(schema, schema.embedded_resource) }
    }

    /// What is wrong with an object, `metadata` aside (see [`crate::meta`]): its shape, the
    /// resources in it, its sets and maps, its rules. On an update what did not change is let be,
    /// and rules may compare with the `old` object.
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        self.validate_after(Vec::new(), object, old)
    }

    /// The same where errors were found before, some of which keep rules from being checked.
    pub fn validate_after(
        &self,
        mut errors: Vec<FieldError>,
        object: &Value,
        old: Option<&Value>,
    ) -> Vec<FieldError> {
        errors.extend(self.shape_errors(object, old));
        self.validate_parts_after(errors, object, old)
    }

    /// The same for an object of which only the status is new: nobody looks at the shape of the
    /// rest again.
    pub fn validate_status(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.shape_errors(object, Some(old));
        errors.retain(|error| match &*error.field {
            "<nil>" => error.detail.contains("status."),
            field => field.strip_prefix("status").is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('.') || rest.starts_with('[')
            }),
        });
        self.validate_parts_after(errors, object, Some(old))
    }

    fn shape_errors(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let schema = &self.root.schema;
        let pair = old.map(|old| Pair { new: object, old, schema });
        openapi::validate(&self.root, object, &Path::root(""), pair)
    }

    /// The same where nobody looks at the shape of the object, as of one that says it is of
    /// another kind: resources in it, sets and maps, and rules, which may find the shape wrong.
    pub fn validate_parts_after(
        &self,
        mut errors: Vec<FieldError>,
        object: &Value,
        old: Option<&Value>,
    ) -> Vec<FieldError> {
        let schema = &self.root.schema;
        let pair = old.map(|old| Pair { new: object, old, schema });
        let root = Path::root("");
        if self.root.has_embedded {
            embedded::validate(&self.root.schema, object, &root, false, &mut errors);
        }
        if self.root.has_lists {
            let was_wrong = old.is_some_and(|old| {
                let mut before = Vec::new();
                listtype::validate(&self.root.schema, old, &root, &mut before);
                !before.is_empty()
            });
            if !was_wrong {
                listtype::validate(&self.root.schema, object, &root, &mut errors);
            }
        }
        if self.root.has_rules {
            if errors.iter().any(|error| blocks_rules(error.kind)) {
                errors.push(FieldError::invalid("<nil>", Value::Null, NOT_CHECKED));
            } else {
                rules::validate(&self.root, object, old, pair, &root, &mut errors);
            }
        }
        errors
    }

    /// What is wrong with a value that is no object of its own, such as a default at `base`.
    pub(crate) fn validate_part(&self, value: &Value, base: &str) -> Vec<FieldError> {
        let root = Path::root(base);
        let mut errors = Vec::new();
        let schema = &self.root.schema;
        embedded::validate(schema, value, &root, schema.embedded_resource, &mut errors);
        if errors.is_empty() {
            errors = openapi::validate(&self.root, value, &root, None);
        }
        if errors.is_empty() && self.root.has_rules {
            rules::validate(&self.root, value, Some(value), None, &root, &mut errors);
            if errors.is_empty() {
                rules::validate(&self.root, value, None, None, &root, &mut errors);
            }
        }
        errors
    }
}

/// What is wrong with an object, as [`Validator::validate`] says it; for one object only, as the
/// schema is made ready each time.
pub fn validate(object: &Value, old: Option<&Value>, schema: &Arc<Schema>) -> Vec<FieldError> {
    Validator::new(schema).validate(object, old)
}

const NOT_CHECKED: &str = "some validation rules were not checked because the object was invalid; \
    correct the existing errors to complete validation";

/// Whether rules cannot be evaluated on an object with such an error.
fn blocks_rules(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NotSupported
            | ErrorKind::Required
            | ErrorKind::TooLong
            | ErrorKind::TooMany
            | ErrorKind::TypeInvalid
    )
}
