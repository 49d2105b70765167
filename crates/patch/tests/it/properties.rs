//! What holds for any input.

use std::sync::Arc;

use joiner_patch::{
    Endpoint, FieldSet, PathElement, apply, keep_timestamps, merge_patch, strategic_merge,
    track_update,
};
use joiner_schema::{Additional, ListType, Patch, Schema, Type};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Map, Value, json};

use crate::support::DEPLOYMENT;

const TIME: &str = "2026-01-01T00:00:00Z";

/// Names that are few, so that objects, patches and schemas meet.
fn name() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "name", "spec", "metadata", "managedFields", "$patch"])
        .prop_map(str::to_owned)
}

fn scalar() -> impl Strategy<Value = Value> {
    select(vec![
        json!(null),
        json!(true),
        json!(1),
        json!(1.0),
        json!(2),
        json!("x"),
        json!("delete"),
    ])
}

fn object_of(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    vec((name(), values), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![object_of(inner.clone()), vec(inner, 0..4).prop_map(Value::Array)]
    })
}

fn object() -> impl Strategy<Value = Value> {
    object_of(value())
}

fn schema() -> impl Strategy<Value = Schema> {
    let leaf = select(vec![
        Some(Type::String),
        Some(Type::Integer),
        Some(Type::Boolean),
        Some(Type::Object),
        None,
    ]);
    let leaf = leaf.prop_map(|kind| Schema { kind, ..Schema::default() });
    leaf.prop_recursive(4, 24, 4, |inner| {
        let fields = vec((name(), inner.clone()), 0..4);
        let objects = (fields, option::of(inner.clone()), any::<[bool; 3]>()).prop_map(
            |(fields, additional, [atomic_map, preserve_unknown_fields, zero])| Schema {
                kind: Some(Type::Object),
                properties: fields.into_iter().map(|(name, s)| (name, Arc::new(s))).collect(),
                additional: additional.map(|schema| Additional::Schema(Arc::new(schema))),
                atomic_map,
                preserve_unknown_fields,
                default: zero.then(|| json!({})),
                ..Schema::default()
            },
        );
        let kinds = vec![None, Some(ListType::Atomic), Some(ListType::Set), Some(ListType::Map)];
        let lists = (inner, select(kinds), vec(name(), 0..3), any::<bool>()).prop_map(
            |(items, list_type, list_map_keys, merge)| Schema {
                kind: Some(Type::Array),
                items: Some(Arc::new(items)),
                list_type,
                patch: Some(Patch {
                    merge,
                    retain_keys: false,
                    merge_key: list_map_keys.first().cloned(),
                }),
                list_map_keys,
                ..Schema::default()
            },
        );
        prop_oneof![objects, lists]
    })
}

fn endpoint<'a>(schema: &'a Schema, reset_fields: &'a FieldSet, custom: bool) -> Endpoint<'a> {
    Endpoint {
        schema,
        kind: "Thing",
        api_version: "v1",
        versions: &[],
        subresource: "",
        reset_fields,
        custom,
        empty: None,
    }
}

fn thing(fields: &Value) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "Thing"});
    let known = object.as_object_mut().expect("an object");
    known.extend(fields.as_object().cloned().unwrap_or_default());
    object
}

fn path() -> impl Strategy<Value = Vec<PathElement>> {
    let element = prop_oneof![
        name().prop_map(PathElement::Field),
        (name(), scalar()).prop_map(|field| PathElement::Key(vec![field])),
        scalar().prop_map(PathElement::Value),
        (0..3i64).prop_map(PathElement::Index),
    ];
    vec(element, 1..4)
}

fn set() -> impl Strategy<Value = FieldSet> {
    vec(path(), 0..8).prop_map(|paths| {
        let mut set = FieldSet::new();
        for path in paths {
            set.insert(path);
        }
        set
    })
}

/// Some distinct texts in any order.
fn some_of(texts: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    proptest::sample::subsequence(texts, 0..=texts.len()).prop_shuffle()
}

fn deployment() -> impl Strategy<Value = Value> {
    let names = &["a", "b", "c", "d"];
    let containers = (some_of(names), some_of(names)).prop_map(|(names, env)| {
        let env: Vec<Value> = env.iter().map(|name| json!({"name": name, "value": "1"})).collect();
        names.iter().map(|name| json!({"name": name, "env": env})).collect::<Vec<_>>()
    });
    (some_of(names), some_of(names), containers).prop_map(|(finalizers, labels, containers)| {
        let labels: Map<_, _> = labels.iter().map(|l| ((*l).to_owned(), json!("1"))).collect();
        json!({
            "metadata": {"finalizers": finalizers, "labels": labels},
            "spec": {"template": {"spec": {"containers": containers}}},
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(
        schema in schema(),
        one in value(),
        two in value(),
        set in set(),
        custom in any::<bool>(),
    ) {
        let endpoint = endpoint(&schema, &set, custom);
        for (live, applied) in [(one.clone(), two.clone()), (thing(&one), thing(&two))] {
            let _ = joiner_patch::json_patch(&live, &applied);
            let _ = merge_patch(&live, &applied);
            let _ = strategic_merge(&live, &applied, &schema);
            let mut new = applied.clone();
            track_update(&endpoint, None, &mut new, "m", TIME);
            track_update(&endpoint, Some(&live), &mut new, "m", TIME);
            let _ = apply(&endpoint, Some(&live), &applied, "kubectl", false, TIME);
            let _ = apply(&endpoint, Some(&new), &applied, "m", true, TIME);
            keep_timestamps(&live, &mut new, custom);
        }
    }

    #[test]
    fn applying_twice_is_applying_once(schema in schema(), fields in object()) {
        let nothing = FieldSet::new();
        let endpoint = endpoint(&schema, &nothing, true);
        let applied = thing(&fields);
        // Whoever applies nothing but empty lists owns nothing, and is not remembered.
        if let Ok(once) = apply(&endpoint, None, &applied, "m", false, TIME)
            && once.object.pointer("/metadata/managedFields").is_some()
        {
            let twice = apply(&endpoint, Some(&once.object), &applied, "m", false, "later");
            let twice = twice.expect("there is nobody to conflict with");
            prop_assert_eq!(&twice.object, &once.object);
            prop_assert!(!twice.changed);
        }
    }

    #[test]
    fn field_sets_survive_being_written(set in set()) {
        let written = set.to_value();
        prop_assert_eq!(&FieldSet::from_value(&written).expect("it was just written"), &set);
        let text: Value = serde_json::from_str(&set.to_json()).expect("it is JSON");
        prop_assert_eq!(text, written);
        prop_assert!(set.paths().iter().all(|path| set.contains(path)));
    }

    #[test]
    fn field_sets_are_sets(one in set(), two in set()) {
        let union = one.clone().union(two.clone());
        let rest = one.clone().difference(&two);
        let both = one.intersection(&two);
        prop_assert_eq!(&union, &two.clone().union(one.clone()));
        prop_assert_eq!(&union.clone().difference(&two), &rest);
        prop_assert_eq!(&both, &one.clone().difference(&rest));
        prop_assert_eq!(rest.clone().union(both), one.clone());
        prop_assert!(rest.intersection(&two).is_empty());
        let outside = one.recursive_difference(&two);
        prop_assert!(outside.difference(&rest).is_empty());
    }

    #[test]
    fn merging_an_object_with_itself_changes_nothing(object in deployment()) {
        let merged = strategic_merge(&object, &object, &DEPLOYMENT).expect("it fits itself");
        prop_assert_eq!(merged, object);
    }

    #[test]
    fn a_difference_leads_to_its_target(one in object(), two in object()) {
        let patch = serde_json::to_value(json_patch::diff(&one, &two)).expect("patches are JSON");
        let patched = joiner_patch::json_patch(&one, &patch).expect("it fits the object");
        prop_assert_eq!(patched.document, two);
    }

    #[test]
    fn who_changes_something_owns_it(schema in schema(), old in object(), new in object()) {
        let nothing = FieldSet::new();
        let endpoint = endpoint(&schema, &nothing, true);
        let (mut old, mut new) = (thing(&old), thing(&new));
        for object in [&mut old, &mut new] {
            object.as_object_mut().expect("an object").remove("metadata");
        }
        track_update(&endpoint, None, &mut old, "one", TIME);
        // Entries in another order are read anew, which must not make a difference.
        let mut entries = old["metadata"]["managedFields"].clone();
        let mut tracked = new.clone();
        tracked["metadata"] = json!({"managedFields": entries});
        track_update(&endpoint, Some(&old), &mut tracked, "two", TIME);
        if let Some(entries) = entries.as_array_mut() {
            entries.push(json!({"manager": "z", "operation": "Update", "apiVersion": "v1",
                "fieldsType": "FieldsV1", "fieldsV1": {}}));
        }
        let mut anew = new;
        anew["metadata"] = json!({"managedFields": entries});
        track_update(&endpoint, Some(&old), &mut anew, "two", TIME);
        prop_assert_eq!(anew, tracked);
    }
}
