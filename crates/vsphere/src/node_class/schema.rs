//! Schemas of fields whose types say too little.

use schemars::{Schema, SchemaGenerator, json_schema};

pub(super) use joiner_cloud::spec::schema::{int_or_string, number_or_string, quantities};

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
