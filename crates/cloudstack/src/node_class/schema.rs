//! Schemas of fields whose types say too little. Rules are upstream's, word for word where they
//! are programs, because an object that one accepts must be accepted by the other.

use joiner_api::schema;
use joiner_cloud::spec::schema::RULES;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::{SelectorTerm, TemplateSelectorTerm};

/// How many terms a selector may have.
const TERMS_MAX: u32 = 30;
/// How many tags a term may name.
const TERM_TAGS_MAX: u32 = 20;
/// Tags that only the controller writes, as far as upstream's rules name them.
const RESTRICTED: [(&str, &str); 3] = [
    ("karpenter.sh/nodepool", "self.all(k, k != 'karpenter.sh/nodepool')"),
    ("karpenter.sh/nodeclaim", "self.all(k, k !='karpenter.sh/nodeclaim')"),
    ("karpenter.k8s.cloudstack/nodeclass", "self.all(k, k !='karpenter.k8s.cloudstack/nodeclass')"),
];

/// Tags of a term.
pub(super) fn term_tags(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {"type": "string"},
        "maxProperties": TERM_TAGS_MAX,
        RULES: [{
            "message": "empty tag keys or values aren't supported",
            "rule": "self.all(k, k != '' && self[k] != '')",
        }],
    })
}

/// Tags of instances.
pub(super) fn instance_tags(_: &mut SchemaGenerator) -> Schema {
    let mut rules = vec![json!({
        "message": "empty tag keys aren't supported",
        "rule": "self.all(k, k != '')",
    })];
    rules.extend(RESTRICTED.iter().map(|(tag, rule)| {
        json!({"message": format!("tag contains a restricted tag matching {tag}"), "rule": rule})
    }));
    json_schema!({
        "type": "object",
        "additionalProperties": {"type": "string"},
        RULES: rules,
    })
}

pub(super) fn network_terms(_: &mut SchemaGenerator) -> Schema {
    terms::<SelectorTerm>("networkSelectorTerms", false)
}

pub(super) fn service_offering_terms(_: &mut SchemaGenerator) -> Schema {
    terms::<SelectorTerm>("serviceOfferingSelectorTerms", false)
}

/// COMPAT: upstream refuses a term that says only an osType, which its own documentation has.
pub(super) fn template_terms(_: &mut SchemaGenerator) -> Schema {
    terms::<TemplateSelectorTerm>("templateSelectorTerms", true)
}

pub(super) fn additional_network_terms(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": TERMS_MAX,
        "items": schema::of::<SelectorTerm>(),
    })
}

/// Terms of a selector, of which there has to be one, and each of which has to say something.
fn terms<T: JsonSchema>(field: &str, has_os_type: bool) -> Schema {
    let (names, also) = if has_os_type {
        ("['tags', 'id', 'name', 'osType']", " || has(x.osType)")
    } else {
        ("['tags', 'id', 'name']", "")
    };
    let rules: Value = json!([
        {"message": format!("{field} cannot be empty"), "rule": "self.size() != 0"},
        {
            "message": format!("expected at least one, got none, {names}"),
            "rule": format!("self.all(x, has(x.tags) || has(x.id) || has(x.name){also})"),
        },
    ]);
    json_schema!({
        "type": "array",
        "maxItems": TERMS_MAX,
        "items": schema::of::<T>(),
        RULES: rules,
    })
}
