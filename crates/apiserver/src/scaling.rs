//! Who owns the number of replicas of an object that is scaled.
//!
//! The real server gives the owners of that one field to the scale, lets the scale be written, and
//! takes the owners back. On the way some get a new name, because the version of a scale is another
//! one than that of the object, and the time of what was written is lost.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The version that every scale has.
const SCALE_VERSION: &str = "autoscaling/v1";

/// What makes an owner: two entries that agree in this are one. Versions do not matter to appliers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Owner {
    manager: String,
    operation: String,
    subresource: String,
    version: String,
}

impl Owner {
    fn of(entry: &Value, version: &str) -> Self {
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        let applies = entry["operation"] == "Apply";
        let version = if applies { String::new() } else { version.to_owned() };
        let (manager, operation) = (text("manager"), text("operation"));
        Self { manager, operation, subresource: text("subresource"), version }
    }
}

/// A number of replicas that is written through the scale of an object.
pub(crate) struct Scaling<'a> {
    /// The path of the number in each version of the object's API, such as `.spec.replicas`; none
    /// where a version has no scale.
    pub(crate) paths: BTreeMap<&'a str, Option<&'a str>>,
    /// The version that the caller speaks.
    pub(crate) version: &'a str,
    /// Who writes.
    pub(crate) manager: &'a str,
    /// The number before and after; zero goes without saying.
    pub(crate) before: i64,
    pub(crate) after: i64,
}

impl Scaling<'_> {
    /// The managed fields of the object afterwards.
    pub(crate) fn managed_fields(&self, entries: &[Value]) -> Vec<Value> {
        let known: BTreeMap<Owner, &Value> = entries
            .iter()
            .map(|entry| (Owner::of(entry, entry["apiVersion"].as_str().unwrap_or("")), entry))
            .collect();
        let path_of = |entry: &Value| {
            let version = entry["apiVersion"].as_str().unwrap_or_default();
            self.paths.get(version).copied()
        };
        let owns = |entry: &Value, path: &str| member(&entry["fieldsV1"], path).is_some();
        let owners = known
            .values()
            .filter(|entry| path_of(entry).flatten().is_some_and(|path| owns(entry, path)));
        let mut of_scale: Vec<Owner> =
            owners.map(|entry| Owner::of(entry, SCALE_VERSION)).collect();
        // Replicas without an owner are not tracked, like objects without managed fields.
        if !of_scale.is_empty() && self.before != self.after {
            of_scale.clear();
            if self.after != 0 {
                let writer = json!({
                    "manager": self.manager, "operation": "Update", "subresource": "scale",
                });
                of_scale.push(Owner::of(&writer, SCALE_VERSION));
            }
        }
        let mut result = Vec::new();
        for (owner, entry) in &known {
            let Some(path) = path_of(entry) else { continue };
            let mut entry = (*entry).clone();
            if let Some(path) = path.filter(|path| owns(&entry, path)) {
                if of_scale.contains(owner) {
                    of_scale.retain(|other| other != owner);
                } else if !forget(&mut entry["fieldsV1"], path) {
                    continue;
                }
            }
            result.push(entry);
        }
        let own_path = self.paths.get(self.version).copied().flatten().unwrap_or(".spec.replicas");
        for owner in of_scale {
            let mut entry = json!({
                "manager": owner.manager,
                "operation": owner.operation,
                "apiVersion": self.version,
                "fieldsType": "FieldsV1",
                "fieldsV1": only(own_path),
            });
            if !owner.subresource.is_empty() {
                entry["subresource"] = owner.subresource.into();
            }
            result.push(entry);
        }
        // Appliers first, then by time; what has none is older than anything.
        result.sort_by_key(|entry| {
            let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
            (text("operation"), text("time"), text("manager"), text("apiVersion"))
        });
        result
    }
}

fn steps(path: &str) -> impl DoubleEndedIterator<Item = String> {
    path.trim_start_matches('.').split('.').map(|step| format!("f:{step}"))
}

/// The field at a path in a set of fields, if it is in there.
fn member<'s>(set: &'s Value, path: &str) -> Option<&'s Value> {
    steps(path).try_fold(set, |set, step| set.get(step))
}

/// A set with nothing but the field at a path.
fn only(path: &str) -> Value {
    steps(path).rev().fold(json!({}), |inner, step| json!({ step: inner }))
}

/// Takes the field at a path out of a set. Returns whether anything is left.
fn forget(set: &mut Value, path: &str) -> bool {
    fn walk(set: &mut Map<String, Value>, steps: &[String]) {
        let Some((first, rest)) = steps.split_first() else { return };
        let empty = match set.get_mut(first).and_then(Value::as_object_mut) {
            Some(inner) => {
                walk(inner, rest);
                inner.is_empty()
            }
            None => false,
        };
        if empty {
            set.remove(first);
        }
    }
    let steps: Vec<String> = steps(path).collect();
    let Some(set) = set.as_object_mut() else { return false };
    walk(set, &steps);
    !set.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({
            "manager": manager, "operation": operation, "apiVersion": "apps/v1",
            "time": "2020-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields,
        })
    }

    fn scaled(entries: &[Value], before: i64, after: i64) -> Vec<String> {
        let scaling = Scaling {
            paths: BTreeMap::from([("apps/v1", Some(".spec.replicas"))]),
            version: "apps/v1",
            manager: "scaler",
            before,
            after,
        };
        let told = |entry: &Value| {
            let time = if entry.get("time").is_some() { "timed" } else { "untimed" };
            let text = |field: &str| entry[field].as_str().unwrap_or("-").to_owned();
            format!(
                "{} {} {} {time} {}",
                text("manager"),
                text("operation"),
                text("subresource"),
                entry["fieldsV1"]
            )
        };
        scaling.managed_fields(entries).iter().map(told).collect()
    }

    #[test]
    fn whoever_scales_takes_the_replicas_over_and_the_time_is_lost() {
        let old = entry("owner", "Update", &json!({"f:spec": {"f:paused": {}, "f:replicas": {}}}));
        assert_eq!(
            scaled(&[old], 1, 3),
            [
                r#"scaler Update scale untimed {"f:spec":{"f:replicas":{}}}"#,
                r#"owner Update - timed {"f:spec":{"f:paused":{}}}"#,
            ]
        );
    }

    #[test]
    fn nobody_owns_replicas_that_go_without_saying() {
        let old = entry("owner", "Update", &json!({"f:spec": {"f:replicas": {}}}));
        assert_eq!(scaled(&[old], 1, 0), [""; 0]);
    }

    #[test]
    fn a_scale_that_changes_nothing_splits_an_update_but_not_an_apply() {
        let fields = json!({"f:spec": {"f:paused": {}, "f:replicas": {}}});
        let (update, apply) = (entry("a", "Update", &fields), entry("b", "Apply", &fields));
        assert_eq!(
            scaled(&[update, apply], 2, 2),
            [
                r#"b Apply - timed {"f:spec":{"f:paused":{},"f:replicas":{}}}"#,
                r#"a Update - untimed {"f:spec":{"f:replicas":{}}}"#,
                r#"a Update - timed {"f:spec":{"f:paused":{}}}"#,
            ]
        );
    }

    #[test]
    fn replicas_that_nobody_owns_are_not_tracked() {
        let old = entry("owner", "Update", &json!({"f:spec": {"f:paused": {}}}));
        assert_eq!(scaled(&[old], 0, 3), [r#"owner Update - timed {"f:spec":{"f:paused":{}}}"#]);
    }
}
