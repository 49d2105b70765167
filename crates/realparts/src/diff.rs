//! Where two JSON values differ.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::Value;

/// One place where the answers differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The place: `spec.containers[0].image`.
    pub path: String,
    /// The place without which item it is: `spec.containers[*].image`.
    pub pattern: String,
    /// What the real server has there, if it has anything.
    pub real: Option<Value>,
    /// What the other server has there.
    pub lab: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {} → {}", self.path, short(self.real.as_ref()), short(self.lab.as_ref()))
    }
}

/// A value in one line that fits a report.
fn short(value: Option<&Value>) -> String {
    const WIDTH: usize = 300;
    let Some(value) = value else { return "(absent)".to_owned() };
    let text = value.to_string();
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// All places where two values differ, in the order of their paths.
pub fn differences(real: &Value, lab: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(&Place::default(), Some(real), Some(lab), &mut found);
    found
}

#[derive(Clone, Default)]
struct Place {
    path: String,
    pattern: String,
}

impl Place {
    fn field(&self, name: &str) -> Self {
        let join = |base: &str| {
            if base.is_empty() { name.to_owned() } else { format!("{base}.{name}") }
        };
        Self { path: join(&self.path), pattern: join(&self.pattern) }
    }

    fn item(&self, which: &str) -> Self {
        Self { path: format!("{}[{which}]", self.path), pattern: format!("{}[*]", self.pattern) }
    }
}

fn walk(place: &Place, real: Option<&Value>, lab: Option<&Value>, found: &mut Vec<Difference>) {
    match (real, lab) {
        (Some(Value::Object(real)), Some(Value::Object(lab))) => {
            let names: BTreeSet<&String> = real.keys().chain(lab.keys()).collect();
            for name in names {
                walk(&place.field(name), real.get(name), lab.get(name), found);
            }
        }
        (Some(Value::Array(real)), Some(Value::Array(lab))) => lists(place, real, lab, found),
        (real, lab) if real == lab => {}
        (real, lab) => found.push(Difference {
            path: place.path.clone(),
            pattern: place.pattern.clone(),
            real: real.cloned(),
            lab: lab.cloned(),
        }),
    }
}

/// Items that have names are compared by name, so that one item more is one difference.
fn lists(place: &Place, real: &[Value], lab: &[Value], found: &mut Vec<Difference>) {
    let (Some(real_names), Some(lab_names)) = (names(real), names(lab)) else {
        for index in 0..real.len().max(lab.len()) {
            walk(&place.item(&index.to_string()), real.get(index), lab.get(index), found);
        }
        return;
    };
    let all: BTreeSet<&String> = real_names.keys().chain(lab_names.keys()).collect();
    for name in all {
        let real = real_names.get(name).map(|index| &real[*index]);
        let lab = lab_names.get(name).map(|index| &lab[*index]);
        walk(&place.item(name), real, lab, found);
    }
    let order = |names: &BTreeMap<String, usize>| {
        let mut order: Vec<_> = names.iter().map(|(name, index)| (*index, name.clone())).collect();
        order.sort();
        Value::from(order.into_iter().map(|(_, name)| name).collect::<Vec<_>>())
    };
    if real_names.keys().eq(lab_names.keys()) && order(&real_names) != order(&lab_names) {
        let place = place.field("(order)");
        walk(
            &place,
            Some(&order(&real_names).to_string().into()),
            Some(&order(&lab_names).to_string().into()),
            found,
        );
    }
}

/// Where items are by their names, if each has one of its own.
fn names(items: &[Value]) -> Option<BTreeMap<String, usize>> {
    let named: Option<BTreeMap<String, usize>> =
        items.iter().enumerate().map(|(index, item)| Some((name(item)?, index))).collect();
    named.filter(|names| names.len() == items.len())
}

fn name(item: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(name) = text(&item["metadata"]["name"]) {
        let namespace = text(&item["metadata"]["namespace"]).unwrap_or_default();
        return Some(format!("{namespace}/{name}"));
    }
    if let Some(manager) = text(&item["manager"]) {
        let operation = text(&item["operation"]).unwrap_or_default();
        let subresource = text(&item["subresource"]).unwrap_or_default();
        return Some(format!("{manager} {operation} {subresource}"));
    }
    text(&item["name"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(real: &Value, lab: &Value) -> Vec<String> {
        differences(real, lab).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn equal_values_do_not_differ() {
        let value = json!({"a": [1, {"b": null}]});
        assert_eq!(lines(&value, &value), Vec::<String>::new());
    }

    #[test]
    fn each_place_is_named() {
        let real = json!({"a": {"b": 1, "c": [1, 2]}});
        let lab = json!({"a": {"b": "1", "c": [1]}, "d": null});
        assert_eq!(
            lines(&real, &lab),
            ["a.b: 1 → \"1\"", "a.c[1]: 2 → (absent)", "d: (absent) → null"]
        );
    }

    #[test]
    fn named_items_are_compared_by_name() {
        let item = |name: &str, value: u8| json!({"name": name, "value": value});
        let real = json!([item("a", 1), item("b", 2), item("c", 3)]);
        let lab = json!([item("b", 2), item("c", 4)]);
        assert_eq!(
            lines(&real, &lab),
            ["[a]: {\"name\":\"a\",\"value\":1} → (absent)", "[c].value: 3 → 4"]
        );
        assert_eq!(differences(&real, &lab)[1].pattern, "[*].value");
    }
}
