//! Selectors as the API server reads them.

use std::collections::BTreeMap;

use joiner_schema::selector::{FieldSelector, LabelSelector, validate_label_selector};
use serde_json::json;

use crate::texts;

#[test]
fn label_selectors_are_read_or_refused() {
    let value = "a valid label must be an empty string or consist of alphanumeric characters, '-', \
        '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
        'my_value',  or '12345', regex used for validation is \
        '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    let dash = format!("unable to parse requirement: values[0][a]: Invalid value: \"-\": {value}");
    for (selector, expected) in [
        ("", Ok("")),
        ("a==b,c!=d,!e,f notin (g)", Ok("a==b,c!=d,!e,f notin (g)")),
        ("b in (z,y),a=1", Ok("a=1,b in (y,z)")),
        ("a in ()", Ok("a in ()")),
        ("a in (,)", Ok("a in ()")),
        ("a>5", Ok("a>5")),
        (
            "a b",
            Err("unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ),
        ("a=b c", Err("found 'c', expected: ',' or 'end of string'")),
        ("a in b", Err("unable to parse requirement: found 'b' expected: '('")),
        ("a in (", Err("unable to parse requirement: found '', expected: ',', ')' or identifier")),
        ("a in (b", Err("unable to parse requirement: found '', expected: ',' or ')'")),
        ("!", Err("unable to parse requirement: found '', expected: identifier")),
        ("!a=b", Err("found '=', expected: ',' or 'end of string'")),
        (
            "a>x",
            Err("unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' \
                 operators, the value must be an integer"),
        ),
        ("=", Err("found '=', expected: !, identifier, or 'end of string'")),
        ("a,,b", Err("found ',', expected: identifier after ','")),
        (
            "/a",
            Err("unable to parse requirement: <nil>: Invalid value: \"/a\": prefix part must be \
                 non-empty"),
        ),
        ("a=-", Err(dash.as_str())),
        ("a=b,", Err("found '', expected: identifier after ','")),
        ("a=!b", Err("unable to parse requirement: found '!', expected: identifier")),
        ("a in (x y)", Err("unable to parse requirement: found 'y', expected: ',' or ')'")),
        ("(a)", Err("found '(', expected: !, identifier, or 'end of string'")),
    ] {
        let read = LabelSelector::parse(selector).map(|selector| selector.to_string());
        assert_eq!(read.as_deref().map_err(String::as_str), expected, "{selector}");
    }
}

#[test]
fn labels_are_matched() {
    let labels = BTreeMap::from(
        [("app", "web"), ("size", "5")].map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    for (selector, expected) in [
        ("", true),
        ("app=web", true),
        ("app!=web", false),
        ("tier!=x", true),
        ("app in (db,web),size", true),
        ("app notin (db)", true),
        ("!app", false),
        ("size>4", true),
        ("size<4", false),
        ("app>1", false),
    ] {
        let selector = LabelSelector::parse(selector).expect("readable");
        assert_eq!(selector.matches(&labels), expected, "{selector}");
    }
    assert!(!LabelSelector::from_json(None).expect("readable").matches(&labels));
    let object = json!({"matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "size", "operator": "Exists"}]});
    let selector = LabelSelector::from_json(Some(&object)).expect("readable");
    assert_eq!(selector.to_string(), "app=web,size");
    assert!(selector.matches(&labels));
}

#[test]
fn selectors_in_objects_are_validated() {
    let selector = json!({"matchExpressions": [
        {"key": "a", "operator": "In"},
        {"key": "a", "operator": "Exists", "values": ["x"]},
        {"key": "a", "operator": "Near"},
    ]});
    assert_eq!(
        texts(&validate_label_selector(&selector, "spec.selector")),
        [
            "spec.selector.matchExpressions[0].values: Required value: must be specified when \
             `operator` is 'In' or 'NotIn'",
            "spec.selector.matchExpressions[1].values: Forbidden: may not be specified when \
             `operator` is 'Exists' or 'DoesNotExist'",
            "spec.selector.matchExpressions[2].operator: Invalid value: \"Near\": not a valid \
             selector operator",
        ]
    );
}

#[test]
fn field_selectors_are_read_or_refused() {
    for (selector, expected) in [
        ("metadata.name=a", Ok(1)),
        ("metadata.name!=a,metadata.name==b", Ok(2)),
        (r"metadata.name=a\,b", Ok(1)),
        ("a", Err("invalid selector: 'a'; can't understand 'a'")),
        ("metadata.name=a=b", Err("invalid field selector: unescaped character in value: 61")),
        (r"metadata.name=a\x", Err(r"invalid field selector: invalid escape sequence: \x")),
        (r"metadata.name=a\", Err(r"invalid field selector: invalid escape sequence: \")),
    ] {
        let read = FieldSelector::parse(selector).map(|selector| selector.terms.len());
        assert_eq!(read.as_ref().copied().map_err(String::as_str), expected, "{selector}");
    }
    let selector = FieldSelector::parse("spec.nodeName!=a,status.phase=Running").expect("readable");
    let field = |name: &str| (name == "status.phase").then_some("Running");
    assert!(selector.matches(field));
}
