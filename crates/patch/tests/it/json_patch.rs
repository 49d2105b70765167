//! JSON patches as a kube-apiserver 1.36.3 answered them.

use expect_test::{Expect, expect};
use joiner_patch::json_patch;
use serde_json::{Value, json};

use crate::support::row;

/// Two lines per patch: the patch, and what it makes of the document.
fn check(document: &Value, patches: &[Value], expected: &Expect) {
    let rows = patches.iter().map(|patch| {
        let patched = json_patch(document, patch).map(|patched| {
            let warnings = patched.unknown_fields;
            if warnings.is_empty() {
                patched.document.to_string()
            } else {
                format!("{} and warns {warnings:?}", patched.document)
            }
        });
        row(patch, patched)
    });
    expected.assert_eq(&rows.collect::<Vec<_>>().concat());
}

#[test]
fn operations() {
    let patches = [
        json!(null),
        json!([{"op": "add", "path": "/a/x", "value": 1}]),
        json!([{"op": "add", "path": "/a/x"}]),
        json!([{"op": "add", "path": "/l/1", "value": 9}]),
        json!([{"op": "add", "path": "/l/-", "value": 9}]),
        json!([{"op": "add", "path": "/l/-1", "value": 9}]),
        json!([{"op": "remove", "path": "/l/-1"}]),
        json!([{"op": "remove", "path": "/a~1b"}]),
        json!([{"op": "replace", "path": "/a/new", "value": 1}]),
        json!([{"op": "replace", "path": "", "value": {"n": 1}}]),
        json!([{"op": "move", "from": "/l", "path": "/a/l"}]),
        json!([{"op": "copy", "from": "/nope", "path": "/a/x"}]),
        json!([{"op": "copy", "from": "/l/0", "path": "/l/-"}]),
        json!([{"op": "test", "path": "/a/nope", "value": null}]),
        json!([{"op": "test", "path": "/l", "value": [1, 2]}, {"op": "remove", "path": "/l"}]),
        json!([{"op": "add", "path": "/l", "value": 1, "foo": 1}]),
    ];
    check(
        &json!({"a": {"b": 1}, "l": [1, 2], "a/b": 0}),
        &patches,
        &expect![[r#"
        null
            {"a":{"b":1},"a/b":0,"l":[1,2]}
        [{"op":"add","path":"/a/x","value":1}]
            {"a":{"b":1,"x":1},"a/b":0,"l":[1,2]}
        [{"op":"add","path":"/a/x"}]
            {"a":{"b":1,"x":null},"a/b":0,"l":[1,2]}
        [{"op":"add","path":"/l/1","value":9}]
            {"a":{"b":1},"a/b":0,"l":[1,9,2]}
        [{"op":"add","path":"/l/-","value":9}]
            {"a":{"b":1},"a/b":0,"l":[1,2,9]}
        [{"op":"add","path":"/l/-1","value":9}]
            {"a":{"b":1},"a/b":0,"l":[1,2,9]}
        [{"op":"remove","path":"/l/-1"}]
            {"a":{"b":1},"a/b":0,"l":[1]}
        [{"op":"remove","path":"/a~1b"}]
            {"a":{"b":1},"l":[1,2]}
        [{"op":"replace","path":"/a/new","value":1}]
            {"a":{"b":1,"new":1},"a/b":0,"l":[1,2]}
        [{"op":"replace","path":"","value":{"n":1}}]
            {"n":1}
        [{"from":"/l","op":"move","path":"/a/l"}]
            {"a":{"b":1,"l":[1,2]},"a/b":0}
        [{"from":"/nope","op":"copy","path":"/a/x"}]
            {"a":{"b":1,"x":null},"a/b":0,"l":[1,2]}
        [{"from":"/l/0","op":"copy","path":"/l/-"}]
            {"a":{"b":1},"a/b":0,"l":[1,2,1]}
        [{"op":"test","path":"/a/nope","value":null}]
            {"a":{"b":1},"a/b":0,"l":[1,2]}
        [{"op":"test","path":"/l","value":[1,2]},{"op":"remove","path":"/l"}]
            {"a":{"b":1},"a/b":0}
        [{"foo":1,"op":"add","path":"/l","value":1}]
            {"a":{"b":1},"a/b":0,"l":1} and warns ["json patch unknown field \"[0].foo\""]
    "#]],
    );
}

#[test]
fn refusals() {
    let patches = [
        json!({}),
        json!(5),
        json!("x"),
        json!([5]),
        json!([null]),
        json!([{"op": 5, "path": "/a"}]),
        json!([{"op": "add", "path": "/a", "from": 5}]),
        json!([{"op": "foo", "path": "/a"}]),
        json!([{"op": "add", "value": 1}]),
        json!([{"op": "move", "path": "/a"}]),
        json!([{"op": "remove", "path": "/nope"}]),
        json!([{"op": "remove", "path": ""}]),
        json!([{"op": "add", "path": "/nope/x", "value": 1}]),
        json!([{"op": "add", "path": "/l/5", "value": 1}]),
        json!([{"op": "add", "path": "/l/x", "value": 1}]),
        json!([{"op": "add", "path": "/a/b/c", "value": 1}]),
        json!([{"op": "replace", "path": "/l/-", "value": 1}]),
        json!([{"op": "replace", "path": "", "value": 5}]),
        json!([{"op": "copy", "from": "/nope/x", "path": "/a/x"}]),
        json!([{"op": "test", "path": "/a/b", "value": 1.0}]),
        json!([{"op": "test", "path": "/nope/x", "value": null}]),
    ];
    check(
        &json!({"a": {"b": 1}, "l": [1, 2]}),
        &patches,
        &expect![[r#"
            {}
                400 BadRequest error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp
            5
                400 BadRequest error decoding patch: json: cannot unmarshal number into Go value of type []handlers.jsonPatchOp
            "x"
                400 BadRequest error decoding patch: json: cannot unmarshal string into Go value of type []handlers.jsonPatchOp
            [5]
                400 BadRequest error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp
            [null]
                422 Invalid the server rejected our request due to an error in our request: the operation unknown is none of add, remove, replace, move, copy and test
            [{"op":5,"path":"/a"}]
                400 BadRequest error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string
            [{"from":5,"op":"add","path":"/a"}]
                400 BadRequest error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.from of type string
            [{"op":"foo","path":"/a"}]
                422 Invalid the server rejected our request due to an error in our request: the operation foo is none of add, remove, replace, move, copy and test
            [{"op":"add","value":1}]
                422 Invalid the server rejected our request due to an error in our request: the operation add has no path; give it one
            [{"op":"move","path":"/a"}]
                422 Invalid the server rejected our request due to an error in our request: the operation move has no from; give it one
            [{"op":"remove","path":"/nope"}]
                422 Invalid the server rejected our request due to an error in our request: there is no "nope" to remove at "/nope"
            [{"op":"remove","path":""}]
                422 Invalid the server rejected our request due to an error in our request: "" does not lead into an object or array that is there
            [{"op":"add","path":"/nope/x","value":1}]
                422 Invalid the server rejected our request due to an error in our request: "/nope/x" does not lead into an object or array that is there
            [{"op":"add","path":"/l/5","value":1}]
                422 Invalid the server rejected our request due to an error in our request: position 5 is none of the 3 that are possible
            [{"op":"add","path":"/l/x","value":1}]
                422 Invalid the server rejected our request due to an error in our request: "x" is no position in an array
            [{"op":"add","path":"/a/b/c","value":1}]
                422 Invalid the server rejected our request due to an error in our request: "/a/b/c" does not lead into an object or array that is there
            [{"op":"replace","path":"/l/-","value":1}]
                422 Invalid the server rejected our request due to an error in our request: "-" is no position in an array
            [{"op":"replace","path":"","value":5}]
                422 Invalid the server rejected our request due to an error in our request: a whole document can only be replaced by an object or an array
            [{"from":"/nope/x","op":"copy","path":"/a/x"}]
                422 Invalid the server rejected our request due to an error in our request: "/nope/x" does not lead into an object or array that is there
            [{"op":"test","path":"/a/b","value":1.0}]
                422 Invalid the server rejected our request due to an error in our request: the value at "/a/b" is not 1.0
            [{"op":"test","path":"/nope/x","value":null}]
                422 Invalid the server rejected our request due to an error in our request: "/nope/x" does not lead into an object or array that is there
        "#]],
    );
}

#[test]
fn ten_thousand_operations_are_enough() {
    let operation = json!({"op": "test", "path": "/a", "value": 1});
    let patch = |count| Value::Array(vec![operation.clone(); count]);
    assert!(json_patch(&json!({"a": 1}), &patch(10_000)).is_ok());
    let error = json_patch(&json!({"a": 1}), &patch(10_001)).expect_err("too many");
    assert_eq!((error.code, error.reason), (413, "RequestEntityTooLarge"));
    expect!["Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"].assert_eq(&error.message);
}
