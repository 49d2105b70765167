//! Nothing panics, whatever schemas and objects are.

use std::sync::Arc;

use joiner_schema::{
    Schema, Validator, apply_defaults,
    meta::{validate_object_meta, validate_object_meta_update},
    names::NameRule,
    prune,
    selector::{FieldSelector, LabelSelector},
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Any JSON, with names that schemas below also use.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop_oneof!["[a-z0-9.:/-]{0,12}", "\\PC{0,6}", Just("2020-01-01T00:00:00Z".to_owned())]
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        let name = prop_oneof!["[a-d]", Just("metadata".to_owned()), "\\PC{0,3}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

const RULES: [&str; 12] = [
    "self == self",
    "has(self.a) && self.a == oldSelf.a",
    "self.all(x, x == self[0])",
    "size(self) > 0",
    "self.matches(self)",
    "self.substring(1, 3).indexOf('é', 2) > 0",
    "self.split('').join('-').charAt(3) == ''",
    "'%s %d %.3f %x'.format([self, self, self, self]) != ''",
    "quantity(self).add(5).isInteger() || ip(self).family() == 4 || cidr(self).masked() == cidr(self)",
    "url(self).getPort() == '' || duration(self) > duration('1h')",
    "self.map(x, x).sort().slice(1, 2).isSorted() || self + 1 > 9223372036854775807 || -self > 0",
    "(",
];

fn any_schema() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec![
        "object", "array", "string", "integer", "number", "boolean", "odd",
    ]);
    let format = prop::sample::select(vec![
        "date-time",
        "duration",
        "byte",
        "date",
        "int32",
        "ipv4",
        "cidr",
        "hostname",
        "uuid",
        "email",
        "uri",
        "isbn",
        "mac",
        "float",
    ]);
    let leaf = (kind, prop::option::of(format), any::<u8>(), any_json(), 0..RULES.len())
        .prop_map(|(kind, format, bits, value, rule)| {
            let mut schema = json!({"type": kind});
            let mut put = |bit: u8, field: &str, value: Value| {
                if bits & bit != 0 {
                    schema[field] = value;
                }
            };
            put(1, "nullable", json!(true));
            put(2, "default", value.clone());
            put(4, "enum", json!([value]));
            put(8, "pattern", json!("^[a-z]{1,3}$"));
            put(16, "minimum", json!(0.5));
            put(32, "x-kubernetes-int-or-string", json!(true));
            put(64, "x-kubernetes-validations", json!([{"rule": RULES[rule]}]));
            put(128, "x-kubernetes-embedded-resource", json!(true));
            if let Some(format) = format {
                schema["format"] = json!(format);
            }
            schema
        })
        .boxed();
    leaf.clone().prop_recursive(3, 24, 4, move |inner| {
        (
            leaf.clone(),
            prop::collection::btree_map("[a-d]", inner.clone(), 0..4),
            inner,
            any::<u8>(),
        )
            .prop_map(|(mut schema, properties, inner, bits)| {
                schema["properties"] = json!(properties);
                for (bit, field, value) in [
                    (1, "items", inner.clone()),
                    (2, "additionalProperties", inner.clone()),
                    (4, "anyOf", json!([inner])),
                    (8, "not", inner),
                    (16, "x-kubernetes-list-type", json!("map")),
                    (16, "x-kubernetes-list-map-keys", json!(["a", "b"])),
                    (32, "x-kubernetes-list-type", json!("set")),
                    (64, "required", json!(["a", "z"])),
                ] {
                    if bits & bit != 0 {
                        schema[field] = value;
                    }
                }
                schema
            })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn schemas_and_objects(schema in any_schema(), object in any_json(), old in any_json()) {
        Schema::check_json(&schema, "spec");
        if let Ok(schema) = Schema::from_json(&schema) {
            let schema = Arc::new(schema);
            let mut object = object;
            prune(&mut object, &schema);
            apply_defaults(&mut object, &schema);
            let validator = Validator::new(&schema);
            for old in [None, Some(&old), Some(&object)] {
                for error in validator.validate(&object, old) {
                    error.to_string();
                }
            }
            let written = schema.to_json();
            let again = Schema::from_json(&written);
            prop_assert_eq!(again.as_ref(), Ok(&*schema));
        }
    }

    #[test]
    fn metadata(new in any_json(), old in any_json()) {
        validate_object_meta(&new, true, NameRule::Dns1035Label, "metadata");
        validate_object_meta_update(&new, &old, "metadata");
    }

    #[test]
    fn selectors(text in "[a-c=!<>,() innot/.\\\\\\PC-]{0,24}") {
        if let Ok(selector) = LabelSelector::parse(&text) {
            let shown = selector.to_string();
            prop_assert_eq!(LabelSelector::parse(&shown).map(|again| again.to_string()), Ok(shown));
        }
        let _ = FieldSelector::parse(&text);
    }
}
