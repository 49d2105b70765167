//! Objects that nobody meant to write.

use proptest::{prelude::*, sample::select};
use serde_json::{Map, Value};

use crate::manifests::{all, rewritten};

const WORDS: &[&str] =
    &["", "Never", "720h", "1.5h", "9999999999h", "In", "10%", "64", "2026-03-01T10:00:05Z"];
const NAMES: &[&str] =
    &["spec", "key", "values", "group", "name", "nodes", "cpu", "type", "labels", "requests"];

/// JSON of any shape, made of names and words that mean something to some field.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(WORDS).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(select(NAMES).prop_map(str::to_owned), inner, 0..4)
                .prop_map(|fields| Value::Object(Map::from_iter(fields))),
        ]
    })
}

/// The value at one of the places of `document`, counted from the outside in.
fn place(document: &mut Value, index: usize) -> &mut Value {
    let mut pointers = vec![String::new()];
    let mut next = 0;
    while next < pointers.len() {
        let pointer = pointers[next].clone();
        let children: Vec<String> = match document.pointer(&pointer) {
            Some(Value::Array(items)) => (0..items.len()).map(|i| i.to_string()).collect(),
            Some(Value::Object(fields)) => fields.keys().cloned().collect(),
            _ => Vec::new(),
        };
        let escaped = children.iter().map(|child| child.replace('~', "~0").replace('/', "~1"));
        pointers.extend(escaped.map(|child| format!("{pointer}/{child}")));
        next += 1;
    }
    document.pointer_mut(&pointers[index % pointers.len()]).unwrap()
}

proptest! {
    /// Whatever stands in one place of a manifest, the object is refused or read; and what was read
    /// once is written and read again without a change.
    #[test]
    fn are_refused_or_read_for_good(
        manifest in select(all()),
        index in any::<usize>(),
        value in json(),
    ) {
        let mut object = manifest;
        *place(&mut object, index) = value;
        if let Ok(once) = rewritten(&object) {
            prop_assert_eq!(rewritten(&once), Ok(once));
        }
    }
}
