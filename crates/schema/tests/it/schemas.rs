//! Schemas and objects against what the API server answered.

use std::sync::Arc;

use joiner_schema::{Schema, Validator, apply_defaults, prune};
use serde_json::{Value, json};

use crate::texts;

fn expected(case: &Value) -> Vec<String> {
    let errors = case["errors"].as_array().expect("a case has errors");
    let mut errors: Vec<String> =
        errors.iter().map(|error| error.as_str().expect("an error is text").to_owned()).collect();
    errors.sort();
    errors
}

fn object(name: &Value, spec: &Value) -> Value {
    let name = name.as_str().unwrap_or("test");
    json!({"apiVersion": "v1", "kind": "Test", "metadata": {"name": name}, "spec": spec})
}

/// What the API server does with an object before it validates it.
fn admitted(mut object: Value, schema: &Schema) -> Value {
    prune(&mut object, schema);
    apply_defaults(&mut object, schema);
    object
}

fn read(fixture: &str) -> (Arc<Schema>, Vec<Value>) {
    let fixture: Value = serde_json::from_str(fixture).expect("a fixture is JSON");
    let schema = Schema::from_json(&fixture["schema"]).expect("the schema is readable");
    let cases = fixture["cases"].as_array().expect("a fixture has cases").clone();
    (Arc::new(schema), cases)
}

#[test]
fn objects_have_the_shape_of_their_schema() {
    let (schema, cases) = read(include_str!("fixtures/shape.json"));
    let validator = Validator::new(&schema);
    for case in cases {
        let object = admitted(object(&case["name"], &case["spec"]), &schema);
        let errors = validator.validate(&object, None);
        assert_eq!(texts(&errors), expected(&case), "{}", case["spec"]);
        if errors.is_empty() {
            let stored = case.get("stored").unwrap_or(&case["spec"]);
            assert_eq!(&object["spec"], stored, "{}", case["spec"]);
        }
    }
}

#[test]
fn rules_are_kept() {
    let (schema, cases) = read(include_str!("fixtures/rules.json"));
    let validator = Validator::new(&schema);
    for case in cases {
        let object = admitted(object(&case["name"], &case["spec"]), &schema);
        let errors = validator.validate(&object, None);
        assert_eq!(texts(&errors), expected(&case), "{}", case["spec"]);
    }
}

#[test]
fn updates_may_keep_what_was_wrong() {
    let (schema, cases) = read(include_str!("fixtures/updates.json"));
    let validator = Validator::new(&schema);
    for case in cases {
        let old = admitted(object(&Value::Null, &case["old"]), &schema);
        let new = admitted(object(&Value::Null, &case["new"]), &schema);
        let errors = validator.validate(&new, Some(&old));
        assert_eq!(texts(&errors), expected(&case), "{} to {}", case["old"], case["new"]);
    }
}

#[test]
fn schemas_are_structural() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("fixtures/structural.json")).expect("a fixture is JSON");
    for case in cases {
        let errors = Schema::check_json(&case["schema"], "spec.validation.openAPIV3Schema");
        assert_eq!(texts(&errors), expected(&case), "{}", case["schema"]);
    }
}

#[test]
fn schemas_are_written_as_they_were_read() {
    let (schema, _) = read(include_str!("fixtures/rules.json"));
    let written = schema.to_json();
    assert_eq!(Schema::from_json(&written).as_ref(), Ok(&*schema));
}

#[test]
fn named_schemas_become_references() {
    let named = |name: &str, schema: Value| Schema {
        name: Some(name.into()),
        ..Schema::from_json(&schema).expect("readable")
    };
    let inner = named("io.example.Inner", json!({"type": "string"}));
    let mut outer = named("io.example.Outer", json!({"type": "object"}));
    outer.properties.insert("inner".to_owned(), Arc::new(inner));
    let components = serde_json::to_string(
        &outer.components().iter().map(|(name, value)| json!([&**name, value])).collect::<Vec<_>>(),
    );
    let expected = concat!(
        r#"[["io.example.Inner",{"type":"string"}],"#,
        r#"["io.example.Outer",{"properties":"#,
        r##"{"inner":{"$ref":"#/components/schemas/io.example.Inner"}},"type":"object"}]]"##,
    );
    assert_eq!(components.expect("JSON"), expected);
}

#[test]
fn what_is_pruned_is_told() {
    let schema = Schema::from_json(&json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "list": {"type": "array", "items": {"type": "object", "properties": {}}},
        }},
    }}))
    .expect("readable");
    let mut object = object(&Value::Null, &json!({"foo": 1, "list": [{}, {"bar": 2}]}));
    object["metadata"]["nonsense"] = json!(true);
    let pruned = prune(&mut object, &schema);
    assert_eq!(pruned, ["metadata.nonsense", "spec.foo", "spec.list[1].bar"]);
    assert_eq!(object["spec"], json!({"list": [{}, {}]}));
}

/// Expressions and whether they are true, as a rule on an object with `l: [1, 2, 3]`.
#[test]
fn expressions_have_the_values_that_the_api_server_gives_them() {
    for (rule, expected) in [
        ("self.l.transformList(i, v, v + i).sum() == 9", None),
        ("{'a': 1, 'b': 2}.transformMap(k, v, v + 1)['a'] == 2", None),
        ("['b', 'a'].sortBy(x, x) == ['a', 'b']", None),
        ("semver('1.2.3-alpha').compareTo(semver('1.2.3')) == -1", None),
        ("'%s %s'.format([{'a': 1}, ['b']]) == '{\"a\":1} [\"b\"]'", None),
        ("self.l.map(x, string(x)).join() == '123'", None),
        ("[1, 2][?5].orValue(9) == 9", None),
        ("self.l[5] == 1", Some("index out of bounds: 5")),
        ("1 / (self.l[0] - 1) == 1", Some("division by zero")),
        ("9223372036854775807 + self.l[0] > 0", Some("integer overflow")),
        ("'abc'.substring(5) == ''", Some("index out of range: 5")),
        (
            "lists.range(900).all(x, lists.range(900).all(y, lists.range(900).all(z, z >= 0)))",
            Some("operation cancelled: actual cost limit exceeded"),
        ),
    ] {
        let schema = Schema::from_json(&json!({"type": "object", "properties": {
            "l": {"type": "array", "items": {"type": "integer"}},
        }, "x-kubernetes-validations": [{"rule": rule}]}))
        .expect("readable");
        let errors = Validator::new(&Arc::new(schema)).validate(&json!({"l": [1, 2, 3]}), None);
        let texts = texts(&errors);
        let said = match (&texts[..], expected) {
            ([], None) => true,
            ([text], Some(words)) => text.contains(words),
            _ => false,
        };
        assert!(said, "{rule}: {texts:?}");
    }
}
