//! Cells that several kinds have.

use serde_json::Value;

use crate::fields::Fields;

pub(super) const NONE: &str = "<none>";

/// The text, or something else if it is empty.
pub(super) fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

/// Labels as `a=b,c=d`.
pub(super) fn labels(owner: &Value, field: &str) -> String {
    let mut parts: Vec<String> = owner
        .entries(field)
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    parts.sort_unstable();
    or(&parts.join(","), NONE).to_owned()
}

/// A label selector as it is written in a URL; empty if it selects everything or nothing.
pub(super) fn selector(selector: &Value) -> String {
    let plain = selector.entries("matchLabels").map(|(key, value)| {
        (key.to_owned(), format!("{key}={}", value.as_str().unwrap_or_default()))
    });
    let expressions = selector.list("matchExpressions").iter().map(|requirement| {
        let key = requirement.text("key");
        let mut values: Vec<&str> = requirement.texts("values").collect();
        values.sort_unstable();
        let values = values.join(",");
        let text = match requirement.text("operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        };
        (key.to_owned(), text)
    });
    let mut parts: Vec<(String, String)> = plain.chain(expressions).collect();
    parts.sort_by(|(a, _), (b, _)| a.cmp(b));
    parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}

/// The names and images of the containers in a pod spec.
pub(super) fn containers(spec: &Value) -> [Value; 2] {
    ["name", "image"].map(|field| {
        let all: Vec<&str> =
            spec.list("containers").iter().map(|container| container.text(field)).collect();
        Value::from(all.join(","))
    })
}

/// The first three of some texts, and how many more there are.
pub(super) fn first_three(all: &[String], if_none: &str) -> String {
    match all.len() {
        0 => if_none.to_owned(),
        1..=3 => all.join(","),
        count => format!("{} + {} more...", all[..3].join(","), count - 3),
    }
}

/// How volumes may be used, in short.
pub(super) fn access_modes(owner: &Value) -> String {
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let given = |mode: &str| owner.texts("accessModes").any(|other| other == mode);
    let parts: Vec<&str> =
        short.iter().filter(|(mode, _)| given(mode)).map(|(_, short)| *short).collect();
    parts.join(",")
}

/// Whether the condition is there and true.
pub(super) fn condition(object: &Value, kind: &str) -> bool {
    let mut conditions = object.part("status").list("conditions").iter();
    conditions
        .find(|condition| condition.text("type") == kind)
        .is_some_and(|condition| condition.text("status") == "True")
}
