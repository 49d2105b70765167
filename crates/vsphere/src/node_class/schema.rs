//! Schemas of fields whose types say too little.

use schemars::{Schema, SchemaGenerator, json_schema};

/// Category and tag, with upstream's rule, word for word: it is a program.
pub(super) fn tags(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {"type": "string"},
        "x-kubernetes-validations": [{
            "message": "empty tag keys or values aren't supported",
            "rule": "self.all(k, k != '' && self[k] != '')",
        }],
    })
}

/// A whole number, also as a text.
pub(super) fn int_or_string(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": true,
    })
}

/// Any number, also as a text: schemas have no word for it, so the reader looks.
pub(super) fn number_or_string(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-preserve-unknown-fields": true})
}

/// Amounts by name.
pub(super) fn quantities(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": true,
        },
    })
}
