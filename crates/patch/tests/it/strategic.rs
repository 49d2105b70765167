//! Strategic merge patches as a kube-apiserver 1.36.3 answered them.

use expect_test::{Expect, expect};
use joiner_patch::{strategic_merge, strategic_remainder};
use serde_json::{Value, json};

use crate::support::{DEPLOYMENT, row};

fn deployment() -> Value {
    json!({
        "metadata": {"labels": {"a": "b"}, "finalizers": ["x/a", "x/b"]},
        "spec": {
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            "template": {"spec": {
                "containers": [
                    {"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}]},
                    {"name": "d", "image": "i"},
                ],
                "tolerations": [{"key": "a"}],
            }},
        },
    })
}

/// Two lines per patch of a part of the Deployment: the patch, and what it makes of the part.
fn check(part: &str, patches: &[Value], expected: &Expect) {
    let rows = patches.iter().map(|patch| {
        let whole = part.rsplit('/').fold(patch.clone(), |patch, name| {
            if name.is_empty() { patch } else { json!({name: patch}) }
        });
        let merged = strategic_merge(&deployment(), &whole, &DEPLOYMENT);
        let show = |merged: Value| merged.pointer(part).map_or("gone".to_owned(), Value::to_string);
        row(patch, merged.map(show))
    });
    expected.assert_eq(&rows.collect::<Vec<_>>().concat());
}

#[test]
fn documents() {
    check(
        "",
        &[json!([]), json!(5), json!({"$patch": "delete"}), json!({"$patch": "replace", "n": 1})],
        &expect![[r#"
            []
                400 BadRequest json: cannot unmarshal array into Go value of type map[string]interface {}
            5
                400 BadRequest json: cannot unmarshal number into Go value of type map[string]interface {}
            {"$patch":"delete"}
                {}
            {"$patch":"replace","n":1}
                {"n":1}
        "#]],
    );
    assert_eq!(
        strategic_merge(&deployment(), &Value::Null, &DEPLOYMENT).expect("no patch at all"),
        deployment()
    );
}

#[test]
fn maps() {
    let patches = [
        json!({"labels": {"z": "y", "n": null}}),
        json!({"labels": {"a": null}}),
        json!({"labels": null}),
        json!({"labels": {"$patch": "replace", "z": "y"}}),
        json!({"labels": {"$patch": "delete"}}),
        json!({"labels": {"$patch": "merge", "z": "y"}}),
        json!({"labels": 5}),
        json!({"annotations": {"$patch": "replace", "z": "y"}}),
        json!({"annotations": {"z": "y", "n": null}}),
        json!({"labels": {"$setElementOrder/a": ["a"]}}),
    ];
    check(
        "/metadata",
        &patches,
        &expect![[r#"
        {"labels":{"n":null,"z":"y"}}
            {"finalizers":["x/a","x/b"],"labels":{"a":"b","z":"y"}}
        {"labels":{"a":null}}
            {"finalizers":["x/a","x/b"],"labels":{}}
        {"labels":null}
            {"finalizers":["x/a","x/b"]}
        {"labels":{"$patch":"replace","z":"y"}}
            {"finalizers":["x/a","x/b"],"labels":{"z":"y"}}
        {"labels":{"$patch":"delete"}}
            {"finalizers":["x/a","x/b"],"labels":{}}
        {"labels":{"$patch":"merge","z":"y"}}
            500  unknown patch type: merge in map: map[$patch:merge z:y]
        {"labels":5}
            {"finalizers":["x/a","x/b"],"labels":5}
        {"annotations":{"$patch":"replace","z":"y"}}
            {"finalizers":["x/a","x/b"],"labels":{"a":"b"}}
        {"annotations":{"n":null,"z":"y"}}
            {"annotations":{"z":"y"},"finalizers":["x/a","x/b"],"labels":{"a":"b"}}
        {"labels":{"$setElementOrder/a":["a"]}}
            500  expected a []interface {}, but received a string
    "#]],
    );
}

#[test]
fn lists_of_scalars() {
    let patches = [
        json!({"finalizers": ["x/c"]}),
        json!({"finalizers": ["x/c", "x/a", "x/c"]}),
        json!({"$deleteFromPrimitiveList/finalizers": ["x/a"]}),
        json!({"$deleteFromPrimitiveList/finalizers": ["x/a"], "finalizers": ["x/a", "x/c"]}),
        json!({"$setElementOrder/finalizers": ["x/b", "x/a"]}),
        json!({"$setElementOrder/finalizers": ["x/c", "x/b"], "finalizers": ["x/c"]}),
        json!({"$setElementOrder/finalizers": ["x/b"], "finalizers": ["x/c"]}),
        json!({"$deleteFromPrimitiveListfinalizers": []}),
        json!({"$setElementOrderfinalizers": []}),
        json!({"$setElementOrder/finalizers": 5}),
        json!({"$setElementOrder/finalizers": null}),
        json!({"$setElementOrder/labels": []}),
        json!({"$setElementOrder/foo": []}),
        json!({"finalizers": [5]}),
    ];
    check(
        "/metadata",
        &patches,
        &expect![[r#"
        {"finalizers":["x/c"]}
            {"finalizers":["x/c","x/a","x/b"],"labels":{"a":"b"}}
        {"finalizers":["x/c","x/a","x/c"]}
            {"finalizers":["x/c","x/a","x/b"],"labels":{"a":"b"}}
        {"$deleteFromPrimitiveList/finalizers":["x/a"]}
            {"finalizers":["x/b"],"labels":{"a":"b"}}
        {"$deleteFromPrimitiveList/finalizers":["x/a"],"finalizers":["x/a","x/c"]}
            {"finalizers":["x/c","x/b"],"labels":{"a":"b"}}
        {"$setElementOrder/finalizers":["x/b","x/a"]}
            {"finalizers":["x/b","x/a"],"labels":{"a":"b"}}
        {"$setElementOrder/finalizers":["x/c","x/b"],"finalizers":["x/c"]}
            {"finalizers":["x/c","x/a","x/b"],"labels":{"a":"b"}}
        {"$setElementOrder/finalizers":["x/b"],"finalizers":["x/c"]}
            500  The order in patch list:
        [x/c]
         doesn't match $setElementOrder list:
        [x/b]

        {"$deleteFromPrimitiveListfinalizers":[]}
            400 BadRequest invalid patch format of primitive list
        {"$setElementOrderfinalizers":[]}
            400 BadRequest invalid patch format of setElementOrder list
        {"$setElementOrder/finalizers":5}
            500  expected a []interface {}, but received a int64
        {"$setElementOrder/finalizers":null}
            500  expected a []interface {}, but received a %!s(<nil>)
        {"$setElementOrder/labels":[]}
            500  expected a []interface {}, but received a map[string]interface {}
        {"$setElementOrder/foo":[]}
            500  unable to find api field in struct ObjectMeta for the json field "foo"
        {"finalizers":[5]}
            500  list element types are not identical: [[x/a x/b] [5]]
    "#]],
    );
}

#[test]
fn lists_of_objects() {
    let patches = [
        json!([{"name": "d", "image": "x"}, {"name": "c", "image": "y"}]),
        json!([{"name": "e", "image": "x"}]),
        json!([{"name": "c", "env": [{"name": "B"}, {"name": "A", "value": null}]}]),
        json!([{"name": "c", "env": [{"name": "A", "$patch": "delete"}]}]),
        json!([{"name": "c", "$patch": "delete"}, {"name": "e"}]),
        json!([{"$patch": "replace"}, {"name": "e"}]),
        json!([{"$patch": "merge"}, {"name": "e"}]),
        json!([{"$patch": "foo", "name": "c"}]),
        json!([{"$patch": "delete"}]),
        json!([{"image": "x"}]),
        json!([{"name": "c"}, {"name": "c", "image": "q"}]),
        json!([5]),
        json!([null]),
        json!([[]]),
        json!([]),
        json!(5),
    ];
    check(
        "/spec/template/spec/containers",
        &patches,
        &expect![[r#"
        [{"image":"x","name":"d"},{"image":"y","name":"c"}]
            [{"image":"x","name":"d"},{"env":[{"name":"A","value":"1"}],"image":"y","name":"c"}]
        [{"image":"x","name":"e"}]
            [{"image":"x","name":"e"},{"env":[{"name":"A","value":"1"}],"image":"i","name":"c"},{"image":"i","name":"d"}]
        [{"env":[{"name":"B"},{"name":"A","value":null}],"name":"c"}]
            [{"env":[{"name":"B"},{"name":"A"}],"image":"i","name":"c"},{"image":"i","name":"d"}]
        [{"env":[{"$patch":"delete","name":"A"}],"name":"c"}]
            [{"env":[],"image":"i","name":"c"},{"image":"i","name":"d"}]
        [{"$patch":"delete","name":"c"},{"name":"e"}]
            [{"name":"e"},{"image":"i","name":"d"}]
        [{"$patch":"replace"},{"name":"e"}]
            [{"name":"e"}]
        [{"$patch":"merge"},{"name":"e"}]
            500  merging lists cannot yet be specified in the patch
        [{"$patch":"foo","name":"c"}]
            500  unknown patch type: foo in map: map[$patch:foo name:c]
        [{"$patch":"delete"}]
            500  map: map[$patch:delete] does not contain declared merge key: name
        [{"image":"x"}]
            500  map: map[image:x] does not contain declared merge key: name
        [{"name":"c"},{"image":"q","name":"c"}]
            [{"env":[{"name":"A","value":"1"}],"image":"q","name":"c"},{"image":"i","name":"d"}]
        [5]
            500  list element types are not identical: [[map[env:[map[name:A value:1]] image:i name:c] map[image:i name:d]] [5]]
        [null]
            500  list element types are not identical: [[map[env:[map[name:A value:1]] image:i name:c] map[image:i name:d]] [<nil>]]
        [[]]
            500  list element types are not identical: [[map[env:[map[name:A value:1]] image:i name:c] map[image:i name:d]] [[]]]
        []
            [{"env":[{"name":"A","value":"1"}],"image":"i","name":"c"},{"image":"i","name":"d"}]
        5
            5
    "#]],
    );
}

#[test]
fn order_of_lists_of_objects() {
    let patches = [
        json!({"$setElementOrder/containers": [{"name": "d"}, {"name": "c"}]}),
        json!({
            "$setElementOrder/containers": [{"name": "e"}, {"name": "d"}],
            "containers": [{"name": "e"}],
        }),
        json!({
            "$setElementOrder/containers": [{"name": "d"}, {"name": "e"}],
            "containers": [{"name": "c", "$patch": "delete"}, {"name": "e"}],
        }),
        json!({"$setElementOrder/containers": [{"name": "d"}], "containers": [{"name": "e"}]}),
        json!({"$setElementOrder/containers": [{"nam": "d"}], "containers": [{"name": "e"}]}),
        json!({"tolerations": [{"key": "b"}], "containers": []}),
    ];
    check(
        "/spec/template/spec",
        &patches,
        &expect![[r#"
        {"$setElementOrder/containers":[{"name":"d"},{"name":"c"}]}
            {"containers":[{"image":"i","name":"d"},{"env":[{"name":"A","value":"1"}],"image":"i","name":"c"}],"tolerations":[{"key":"a"}]}
        {"$setElementOrder/containers":[{"name":"e"},{"name":"d"}],"containers":[{"name":"e"}]}
            {"containers":[{"name":"e"},{"env":[{"name":"A","value":"1"}],"image":"i","name":"c"},{"image":"i","name":"d"}],"tolerations":[{"key":"a"}]}
        {"$setElementOrder/containers":[{"name":"d"},{"name":"e"}],"containers":[{"$patch":"delete","name":"c"},{"name":"e"}]}
            {"containers":[{"image":"i","name":"d"},{"name":"e"}],"tolerations":[{"key":"a"}]}
        {"$setElementOrder/containers":[{"name":"d"}],"containers":[{"name":"e"}]}
            500  The order in patch list:
        [map[name:e]]
         doesn't match $setElementOrder list:
        [map[name:d]]

        {"$setElementOrder/containers":[{"nam":"d"}],"containers":[{"name":"e"}]}
            500  map: map[nam:d] does not contain declared merge key: name
        {"containers":[],"tolerations":[{"key":"b"}]}
            {"containers":[{"env":[{"name":"A","value":"1"}],"image":"i","name":"c"},{"image":"i","name":"d"}],"tolerations":[{"key":"b"}]}
    "#]],
    );
}

#[test]
fn retained_keys() {
    let patches = [
        json!({"$retainKeys": ["type"], "type": "Recreate"}),
        json!({"type": "Recreate"}),
        json!({"$retainKeys": ["foo"], "type": "Recreate"}),
        json!({"$retainKeys": ["type"], "type": "Recreate", "rollingUpdate": null}),
        json!({"$retainKeys": "type", "type": "Recreate"}),
    ];
    check(
        "/spec/strategy",
        &patches,
        &expect![[r#"
        {"$retainKeys":["type"],"type":"Recreate"}
            {"type":"Recreate"}
        {"type":"Recreate"}
            {"rollingUpdate":{"maxSurge":1},"type":"Recreate"}
        {"$retainKeys":["foo"],"type":"Recreate"}
            400 BadRequest invalid patch format of retainKeys
        {"$retainKeys":["type"],"rollingUpdate":null,"type":"Recreate"}
            {"type":"Recreate"}
        {"$retainKeys":"type","type":"Recreate"}
            400 BadRequest invalid patch format of retainKeys
    "#]],
    );
}

/// Refusals show a patch as it is after the API server worked through it.
#[test]
fn what_was_followed_is_gone_from_what_is_shown_of_a_patch() {
    for (patch, left) in [
        (json!({"$patch": "replace", "data": {"z": null}}), json!({"data": {"z": null}})),
        (
            json!({"data": {"a": null, "y": "z"}, "spec": null}),
            json!({"data": {"y": "z"}, "spec": null}),
        ),
        (
            json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
            json!({"spec": {"strategy": {"type": "Recreate"}}}),
        ),
        (
            json!({"other": {"env": [{"$patch": "delete", "name": "A"}]}}),
            json!({"other": {"env": []}}),
        ),
        (
            json!({"secrets": [{"$patch": "delete", "name": "b"}]}),
            json!({"secrets": [{"$patch": "delete", "name": "b"}]}),
        ),
    ] {
        assert_eq!(strategic_remainder(&deployment(), &patch), left);
    }
}
