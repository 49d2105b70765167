//! Objects out of the schemas of custom resource definitions: good ones, and ones with one thing
//! wrong.

use joiner_core::testing::rng::Rng;
use serde_json::{Value, json};

use super::{kind::Menu, pattern};

/// How deep objects are that need not be there.
const DEPTH: usize = 5;
/// How many values a menu has for each place.
const VALUES: usize = 4;

/// What can be put into objects with a schema.
#[derive(Debug, Default)]
pub struct Menus {
    /// The least that the schema accepts.
    pub base: Value,
    /// Values that the schema accepts; rules beyond the schema may still refuse them.
    pub good: Menu,
    /// Values that the schema refuses.
    pub bad: Menu,
    /// Values for the status, good and bad.
    pub status: Menu,
}

/// Makes menus out of the schema of a version.
pub fn menus(rng: &mut Rng, schema: &Value) -> Menus {
    let mut menus = Menus { base: minimal(rng, schema), ..Menus::default() };
    if menus.base.is_null() {
        menus.base = json!({});
    }
    for (name, part) in properties(schema) {
        if matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
            continue;
        }
        let pointer = format!("/{name}");
        if name == "status" {
            fill(rng, &pointer, part, &mut menus.status, 40, 1);
        } else {
            fill(rng, &pointer, part, &mut menus.good, 0, 1);
            fill(rng, &pointer, part, &mut menus.bad, 100, 1);
        }
    }
    menus
}

/// Fills a menu for a place and for the places in it, with so many percent of the values wrong.
fn fill(rng: &mut Rng, pointer: &str, schema: &Value, menu: &mut Menu, wrong: usize, depth: usize) {
    let mut values = Vec::new();
    for _ in 0..VALUES {
        let broken = rng.chance(wrong);
        values.push(if broken { self::wrong(rng, schema) } else { valid(rng, schema, depth) });
    }
    menu.insert(pointer.to_owned(), values);
    if depth < 3 {
        for (name, part) in properties(schema) {
            let name = name.replace('~', "~0").replace('/', "~1");
            fill(rng, &format!("{pointer}/{name}"), part, menu, wrong, depth + 1);
        }
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

fn required(schema: &Value) -> Vec<&str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The least that a schema accepts.
fn minimal(rng: &mut Rng, schema: &Value) -> Value {
    if schema["type"] != "object" {
        return valid(rng, schema, DEPTH);
    }
    let required = required(schema);
    let needed = properties(schema).filter(|(name, _)| required.contains(&name.as_str()));
    let mut object: serde_json::Map<String, Value> = needed
        .filter(|(name, _)| name.as_str() != "metadata")
        .map(|(name, part)| (name.clone(), minimal(rng, part)))
        .collect();
    if let Some(least) = schema["minProperties"].as_u64() {
        let more = properties(schema).filter(|(name, _)| !required.contains(&name.as_str()));
        for (name, part) in more.take((least as usize).saturating_sub(object.len())) {
            object.insert(name.clone(), valid(rng, part, DEPTH));
        }
    }
    Value::Object(object)
}

/// A value that a schema accepts.
fn valid(rng: &mut Rng, schema: &Value, depth: usize) -> Value {
    if let Some(values) = schema["enum"].as_array().filter(|values| !values.is_empty()) {
        return rng.pick(values).clone();
    }
    if schema["nullable"] == true && rng.chance(10) {
        return Value::Null;
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return valid_int_or_string(rng, schema);
    }
    match schema["type"].as_str() {
        Some("object") => valid_object(rng, schema, depth),
        Some("array") => {
            let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
            let most = schema["maxItems"].as_u64().map_or(least + 2, |most| most as usize);
            let count =
                if depth >= DEPTH { least } else { rng.between(least, most.min(least + 2)) };
            (0..count).map(|_| valid(rng, &schema["items"], depth + 1)).collect()
        }
        Some("string") => valid_string(rng, schema),
        Some("integer") => json!(whole_number(rng, schema)),
        Some("number") => json!(whole_number(rng, schema) as f64 + 0.5),
        Some("boolean") => json!(rng.chance(50)),
        _ => json!({"free": ["form", 1]}),
    }
}

fn valid_int_or_string(rng: &mut Rng, schema: &Value) -> Value {
    let text = schema["pattern"].as_str().and_then(|text| pattern::matching(rng, text));
    let choices = [json!(5), json!(text.unwrap_or_else(|| "10%".to_owned()))];
    rng.pick(&choices).clone()
}

fn valid_object(rng: &mut Rng, schema: &Value, depth: usize) -> Value {
    let Value::Object(mut object) = minimal(rng, schema) else { return json!({}) };
    if depth < DEPTH {
        for (name, part) in properties(schema) {
            if rng.chance(50 / depth.max(1)) {
                object.insert(name.clone(), valid(rng, part, depth + 1));
            }
        }
    }
    let additional = &schema["additionalProperties"];
    if additional.is_object() {
        for name in ["one", "example.com/two"].iter().take(rng.below(3)) {
            object.insert((*name).to_owned(), valid(rng, additional, depth + 1));
        }
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == true && rng.chance(60) {
        object.insert("free".into(), json!({"form": [1, "two", null]}));
    }
    if schema["x-kubernetes-embedded-resource"] == true {
        object.insert("apiVersion".into(), json!("v1"));
        object.insert("kind".into(), json!("ConfigMap"));
    }
    Value::Object(object)
}

fn valid_string(rng: &mut Rng, schema: &Value) -> Value {
    let pattern = schema["pattern"].as_str().and_then(|text| pattern::matching(rng, text));
    let mut text = pattern.unwrap_or_else(|| {
        let formats = match schema["format"].as_str() {
            Some("date-time") => ["2020-01-01T00:00:00Z", "2021-06-01T12:00:00Z"],
            Some("date") => ["2020-01-01", "2021-06-01"],
            Some("duration") => ["5m", "1h0m0s"],
            Some("ipv4" | "ip") => ["192.0.2.1", "10.0.0.1"],
            Some("cidr") => ["192.0.2.0/24", "10.0.0.0/8"],
            Some("byte") => ["Yg==", ""],
            Some("uuid") => ["11111111-2222-3333-4444-555555555555"; 2],
            _ => ["some-text", "other"],
        };
        (*rng.pick(&formats)).to_owned()
    });
    let least = schema["minLength"].as_u64().unwrap_or(0) as usize;
    while text.chars().count() < least {
        text.push('x');
    }
    if let Some(most) = schema["maxLength"].as_u64() {
        text = text.chars().take(most as usize).collect();
    }
    json!(text)
}

fn whole_number(rng: &mut Rng, schema: &Value) -> i64 {
    let least = schema["minimum"].as_f64().map_or(0, |least| least as i64);
    let most = schema["maximum"].as_f64().map_or(least + 10, |most| most as i64);
    let step = schema["multipleOf"].as_f64().map_or(1, |step| step as i64).max(1);
    let number = least + rng.below((most - least).clamp(1, 10) as usize) as i64;
    (number + step - 1) / step * step
}

/// A value that a schema refuses: it is good but for one thing, here or further inside.
fn wrong(rng: &mut Rng, schema: &Value) -> Value {
    let mut value = valid(rng, schema, 1);
    if let (Value::Object(object), true) = (&mut value, rng.chance(60)) {
        let present: Vec<(&String, &Value)> =
            properties(schema).filter(|(name, _)| object.contains_key(*name)).collect();
        if !present.is_empty() {
            let (name, part) = *rng.pick(&present);
            object.insert(name.clone(), wrong(rng, part));
            return value;
        }
    }
    if let (Value::Array(items), true) = (&mut value, rng.chance(60)) {
        items.push(wrong(rng, &schema["items"]));
        return value;
    }
    let mut choices = vec![of_another_type(rng, &value), Value::Null];
    if let Some(object) = value.as_object() {
        for name in required(schema) {
            let mut without = object.clone();
            without.remove(name);
            choices.push(Value::Object(without));
        }
        let mut more = object.clone();
        more.insert("bogus".into(), json!(1));
        choices.push(Value::Object(more));
    }
    if let Some(items) = value.as_array() {
        if let Some(most) = schema["maxItems"].as_u64().filter(|most| *most < 200) {
            choices.push((0..=most).map(|_| valid(rng, &schema["items"], DEPTH)).collect());
        }
        // Twice the same, for lists that are sets or maps.
        choices.push(items.iter().chain(items).cloned().collect());
        choices.push(json!([]));
    }
    choices.extend(out_of_bounds(schema, &value));
    rng.pick(&choices).clone()
}

fn of_another_type(rng: &mut Rng, value: &Value) -> Value {
    let choices = [json!("text"), json!(7), json!(1.5), json!(true), json!({"a": 1}), json!([1])];
    let others: Vec<&Value> = choices
        .iter()
        .filter(|other| std::mem::discriminant(*other) != std::mem::discriminant(value))
        .collect();
    (*rng.pick(&others)).clone()
}

/// Values of the right type that are too large, too small or of the wrong form.
fn out_of_bounds(schema: &Value, value: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    if value.is_string() {
        found.push(json!(""));
        found.push(json!("Not/What you Expect!"));
        if let Some(most) = schema["maxLength"].as_u64().filter(|most| *most < 10_000) {
            found.push(json!("x".repeat(most as usize + 1)));
        }
    }
    if value.is_number() {
        found.push(json!(schema["minimum"].as_f64().map_or(-1_000_000, |least| least as i64 - 1)));
        found.push(json!(schema["maximum"].as_f64().map_or(1 << 40, |most| most as i64 + 1)));
        found.push(json!(1.25));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        json!({"type": "object", "properties": {
            "spec": {"type": "object", "required": ["size"], "properties": {
                "size": {"type": "integer", "minimum": 3, "maximum": 9},
                "mode": {"type": "string", "enum": ["On", "Off"]},
                "names": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
            }},
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
        }, "required": ["spec"]})
    }

    #[test]
    fn the_least_has_what_is_required_and_nothing_more() {
        let base = menus(&mut Rng::new(1), &schema()).base;
        let spec = base["spec"].as_object().unwrap();
        assert_eq!(spec.keys().collect::<Vec<_>>(), ["size"]);
        assert!((3..=9).contains(&spec["size"].as_i64().unwrap()));
    }

    #[test]
    fn every_place_has_values_good_and_bad() {
        let menus = menus(&mut Rng::new(1), &schema());
        let places = ["/spec", "/spec/mode", "/spec/names", "/spec/size"];
        assert_eq!(menus.good.keys().collect::<Vec<_>>(), places);
        assert_eq!(menus.bad.keys().collect::<Vec<_>>(), places);
        assert_eq!(menus.status.keys().collect::<Vec<_>>(), ["/status", "/status/ready"]);
        for mode in &menus.good["/spec/mode"] {
            assert!(mode == "On" || mode == "Off");
        }
    }
}
