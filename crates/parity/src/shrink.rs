//! Makes a scenario smaller while it still shows what it showed.

use serde_json::Value;

use crate::scenario::Scenario;

/// Removes whatever can be removed from a scenario while `shows` holds: objects, instance types,
/// flags, and then fields, until nothing more can go.
pub fn shrink(scenario: &Scenario, shows: &mut dyn FnMut(&Scenario) -> bool) -> Scenario {
    let mut smallest = scenario.clone();
    loop {
        let before = weight(&smallest);
        remove_objects(&mut smallest, shows);
        remove_flags(&mut smallest, shows);
        for index in (0..smallest.objects.len()).rev() {
            if has_removable_fields(&smallest.objects[index]) {
                let object = Place { root: Root::Object(index), path: String::new() };
                remove_fields(&mut smallest, &object, shows);
            }
        }
        remove_types(&mut smallest, shows);
        if weight(&smallest) == before {
            return smallest;
        }
    }
}

/// Instances and types of which half is missing behave in ways that nobody would meet, and a
/// scenario would end up showing that instead.
fn has_removable_fields(object: &Value) -> bool {
    !matches!(object["kind"].as_str(), Some("Node" | "NodeClaim" | "PersistentVolume"))
}

/// Removes types, and offerings of types.
fn remove_types(scenario: &mut Scenario, shows: &mut dyn FnMut(&Scenario) -> bool) {
    let types = Place { root: Root::InstanceTypes, path: "/instanceTypes".to_owned() };
    remove_items(scenario, &types, shows);
    let count = scenario.instance_types["instanceTypes"].as_array().map_or(0, Vec::len);
    for index in 0..count {
        remove_items(scenario, &types.below(&index.to_string()).below("offerings"), shows);
    }
}

/// How much there is of a scenario.
fn weight(scenario: &Scenario) -> usize {
    fn of(value: &Value) -> usize {
        1 + match value {
            Value::Array(items) => items.iter().map(of).sum(),
            Value::Object(fields) => fields.values().map(of).sum(),
            _ => 0,
        }
    }
    scenario.objects.iter().map(of).sum::<usize>()
        + of(&scenario.instance_types)
        + scenario.flags.len()
}

/// Removes objects, many at once at first and then one by one.
fn remove_objects(scenario: &mut Scenario, shows: &mut dyn FnMut(&Scenario) -> bool) {
    let mut chunk = scenario.objects.len().div_ceil(2);
    while chunk > 0 {
        let mut start = 0;
        while start < scenario.objects.len() {
            let mut smaller = scenario.clone();
            let end = (start + chunk).min(smaller.objects.len());
            smaller.objects.drain(start..end);
            if shows(&smaller) {
                *scenario = smaller;
            } else {
                start += chunk;
            }
        }
        chunk /= 2;
    }
}

fn remove_flags(scenario: &mut Scenario, shows: &mut dyn FnMut(&Scenario) -> bool) {
    for flag in scenario.flags.keys().cloned().collect::<Vec<_>>() {
        let mut smaller = scenario.clone();
        smaller.flags.remove(&flag);
        if shows(&smaller) {
            *scenario = smaller;
        }
    }
}

/// A value somewhere in a scenario.
#[derive(Clone)]
struct Place {
    root: Root,
    /// A JSON pointer.
    path: String,
}

#[derive(Clone, Copy)]
enum Root {
    Object(usize),
    InstanceTypes,
}

impl Place {
    fn get<'s>(&self, scenario: &'s mut Scenario) -> Option<&'s mut Value> {
        let root = match self.root {
            Root::Object(index) => scenario.objects.get_mut(index)?,
            Root::InstanceTypes => &mut scenario.instance_types,
        };
        root.pointer_mut(&self.path)
    }

    fn below(&self, key: &str) -> Self {
        let escaped = key.replace('~', "~0").replace('/', "~1");
        Self { root: self.root, path: format!("{}/{escaped}", self.path) }
    }
}

/// Tries to remove each item of a list.
fn remove_items(scenario: &mut Scenario, list: &Place, shows: &mut dyn FnMut(&Scenario) -> bool) {
    let count = list.get(scenario).and_then(|list| list.as_array()).map_or(0, Vec::len);
    for index in (0..count).rev() {
        let mut smaller = scenario.clone();
        if let Some(Value::Array(items)) = list.get(&mut smaller) {
            items.remove(index);
        }
        if shows(&smaller) {
            *scenario = smaller;
        }
    }
}

/// Tries to remove each field or item below a place, and looks deeper where that would change what
/// is shown.
fn remove_fields(scenario: &mut Scenario, place: &Place, shows: &mut dyn FnMut(&Scenario) -> bool) {
    let keys: Vec<String> = match place.get(scenario) {
        Some(Value::Object(fields)) => fields.keys().cloned().collect(),
        // From the end, so that the places of what is left do not move.
        Some(Value::Array(items)) => {
            (0..items.len()).rev().map(|index| index.to_string()).collect()
        }
        _ => return,
    };
    for key in keys {
        let mut smaller = scenario.clone();
        match place.get(&mut smaller) {
            Some(Value::Object(fields)) => drop(fields.remove(&key)),
            Some(Value::Array(items)) => drop(key.parse().map(|index: usize| items.remove(index))),
            _ => return,
        }
        if shows(&smaller) {
            *scenario = smaller;
        } else {
            remove_fields(scenario, &place.below(&key), shows);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_matters_is_left() {
        let pod = |name: &str, cpu: &str| {
            let metadata = json!({"name": name, "labels": {"a/b": "c"}});
            json!({"kind": "Pod", "metadata": metadata, "spec": {"cpu": [cpu, "other"]}})
        };
        let scenario = Scenario {
            seed: 1,
            kinds: BTreeSet::new(),
            objects: vec![
                pod("a", "1"),
                pod("b", "7"),
                pod("c", "1"),
                pod("d", "1"),
                pod("e", "1"),
            ],
            instance_types: json!({"instanceTypes": [{"name": "x"}, {"name": "y"}]}),
            flags: BTreeMap::from([
                ("needed".to_owned(), json!(true)),
                ("idle".to_owned(), json!(true)),
            ]),
        };
        let mut shows = |scenario: &Scenario| {
            scenario.flags.contains_key("needed")
                && scenario.objects.iter().any(|pod| pod["spec"]["cpu"][0] == "7")
                && scenario.instance_types["instanceTypes"]
                    .as_array()
                    .is_some_and(|types| !types.is_empty())
        };
        let smallest = shrink(&scenario, &mut shows);
        assert_eq!(smallest.objects, [json!({"spec": {"cpu": ["7"]}})]);
        assert_eq!(smallest.instance_types, json!({"instanceTypes": [{"name": "x"}]}));
        assert_eq!(smallest.flags.keys().collect::<Vec<_>>(), ["needed"]);
    }
}
