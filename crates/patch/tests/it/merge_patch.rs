//! Merge patches as a kube-apiserver 1.36.3 answered them.

use expect_test::expect;
use joiner_patch::merge_patch;
use serde_json::json;

use crate::support::row;

#[test]
fn patches() {
    let object = json!({"a": {"b": 1, "c": [1]}, "l": [{"x": 1}], "n": null});
    let mut table = Vec::new();
    for patch in [
        json!({"a": {"b": null, "d": 2}}),
        json!({"a": 5}),
        json!({"a": null}),
        json!({"a": [{"k": null}]}),
        json!({"l": [{"x": null, "y": [{"z": null}, null]}]}),
        json!({"new": {"k": null, "l": [{"m": null}]}}),
        json!({"n": {"k": null}}),
        json!({}),
        json!(null),
        json!([]),
        json!("x"),
    ] {
        table.push(row(&patch, merge_patch(&object, &patch).map(|merged| merged.to_string())));
    }
    expect![[r#"
        {"a":{"b":null,"d":2}}
            {"a":{"c":[1],"d":2},"l":[{"x":1}],"n":null}
        {"a":5}
            {"a":5,"l":[{"x":1}],"n":null}
        {"a":null}
            {"l":[{"x":1}],"n":null}
        {"a":[{"k":null}]}
            {"a":[{"k":null}],"l":[{"x":1}],"n":null}
        {"l":[{"x":null,"y":[{"z":null},null]}]}
            {"a":{"b":1,"c":[1]},"l":[{"y":[{},null]}],"n":null}
        {"new":{"k":null,"l":[{"m":null}]}}
            {"a":{"b":1,"c":[1]},"l":[{"x":1}],"n":null,"new":{"l":[{}]}}
        {"n":{"k":null}}
            {"a":{"b":1,"c":[1]},"l":[{"x":1}],"n":{}}
        {}
            {"a":{"b":1,"c":[1]},"l":[{"x":1}],"n":null}
        null
            400 BadRequest Invalid JSON Patch
        []
            400 BadRequest error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}
        "x"
            400 BadRequest error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}
    "#]].assert_eq(&table.concat());
}
