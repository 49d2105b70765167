//! Reading the few fields of an object that a decision needs, and writing only what changed.

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::Object;
use joiner_core::{
    label::Labels,
    taint::{Effect, Taint, Toleration, TolerationOperator},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::super::conditions;
pub(super) use super::super::{selection::selector, times::seconds as stamp};

/// The fields of an object that `T` names; all others are skipped unread.
pub(super) fn read<T: DeserializeOwned>(object: &Object) -> T {
    let read = match object.held() {
        Some(value) => T::deserialize(&*value),
        None => serde_json::from_slice(&object.json),
    };
    read.expect("the server stores only objects that fit their kind's schema")
}

/// The part of `metadata` that controllers look at.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Meta {
    pub(super) name: String,
    pub(super) generation: Option<i64>,
    pub(super) labels: Option<Labels>,
    pub(super) annotations: Option<Labels>,
    pub(super) finalizers: Option<Vec<String>>,
    pub(super) owner_references: Option<Vec<OwnerReference>>,
    creation_timestamp: Option<String>,
    deletion_timestamp: Option<String>,
}

impl Meta {
    /// When the object was created.
    pub(super) fn created(&self) -> Timestamp {
        moment(self.creation_timestamp.as_deref()).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// When the object is to be gone, if it is being deleted.
    pub(super) fn deleted(&self) -> Option<Timestamp> {
        moment(self.deletion_timestamp.as_deref())
    }

    /// The owner that controls it.
    pub(super) fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
    }

    /// The value of an annotation.
    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(key).map(String::as_str)
    }
}

/// A reference from an object to one that owns it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OwnerReference {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) controller: Option<bool>,
    pub(super) block_owner_deletion: Option<bool>,
}

/// One expression of a node selector term.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ExpressionJson {
    pub(super) key: String,
    pub(super) operator: String,
    pub(super) values: Option<Vec<String>>,
}

/// A toleration as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TolerationJson {
    key: Option<String>,
    operator: Option<String>,
    value: Option<String>,
    effect: Option<String>,
    pub(super) toleration_seconds: Option<i64>,
}

impl TolerationJson {
    /// The toleration, ready to be compared with taints.
    pub(super) fn toleration(&self) -> Toleration {
        Toleration {
            key: self.key.clone().unwrap_or_default(),
            operator: match self.operator.as_deref() {
                Some("Exists") => TolerationOperator::Exists,
                Some("Lt") => TolerationOperator::Lt,
                Some("Gt") => TolerationOperator::Gt,
                _ => TolerationOperator::Equal,
            },
            value: self.value.clone().unwrap_or_default(),
            effect: self.effect.clone().filter(|effect| !effect.is_empty()).map(Effect::from),
        }
    }
}

/// A taint as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaintJson {
    key: String,
    value: Option<String>,
    effect: String,
}

impl TaintJson {
    /// The taint, ready to be compared with tolerations.
    pub(super) fn taint(self) -> Taint {
        Taint { key: self.key, value: self.value.unwrap_or_default(), effect: self.effect.into() }
    }
}

/// A condition as every kind writes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConditionJson {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
    pub(super) reason: Option<String>,
    pub(super) last_heartbeat_time: Option<String>,
    pub(super) last_transition_time: Option<String>,
}

/// A moment as Kubernetes writes it; nothing when there is none.
pub(super) fn moment(text: Option<&str>) -> Option<Timestamp> {
    text?.parse().ok()
}

/// A moment some seconds later.
pub(super) fn later(moment: Timestamp, seconds: i64) -> Timestamp {
    moment.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
}

/// A number, or a percentage of `total`; nothing when it is neither.
pub(super) fn share(value: Option<&Value>, total: i64, round_up: bool) -> Option<i64> {
    match value? {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => {
            let percent: i64 = text.strip_suffix('%')?.parse().ok()?;
            let hundredfold = percent.saturating_mul(total);
            Some(if round_up { (hundredfold + 99).div_euclid(100) } else { hundredfold / 100 })
        }
        _ => None,
    }
}

/// The merge patch that makes `new` out of `old`; nothing when they are equal.
pub(super) fn merge_between(old: &Value, new: &Value) -> Option<Value> {
    if old == new {
        return None;
    }
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        return Some(new.clone());
    };
    let mut patch = Map::new();
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in after {
        match before.get(key) {
            None => {
                patch.insert(key.clone(), value.clone());
            }
            Some(previous) => {
                if let Some(difference) = merge_between(previous, value) {
                    patch.insert(key.clone(), difference);
                }
            }
        }
    }
    Some(Value::Object(patch))
}

/// What a condition says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition<'a> {
    pub(super) kind: &'a str,
    pub(super) status: &'a str,
    pub(super) reason: &'a str,
    pub(super) message: &'a str,
}

/// The condition of this type in a list of conditions.
pub(super) fn find_condition<'a>(conditions: &'a Value, kind: &str) -> Option<&'a Value> {
    conditions.as_array()?.iter().find(|condition| condition["type"] == kind)
}

/// Puts a condition into a list; its transition time moves only when its status changes. Says
/// whether the list changed.
pub(super) fn set_condition(conditions: &mut Value, wanted: Condition<'_>, now: Timestamp) -> bool {
    let condition = json!({
        "type": wanted.kind,
        "status": wanted.status,
        "reason": wanted.reason,
        "message": wanted.message,
    });
    match conditions::with(conditions, condition, now) {
        Some(list) => {
            *conditions = list;
            true
        }
        None => false,
    }
}

/// Takes the condition of this type out of a list. Says whether it was there.
pub(super) fn remove_condition(conditions: &mut Value, kind: &str) -> bool {
    let Some(list) = conditions.as_array_mut() else { return false };
    let before = list.len();
    list.retain(|condition| condition["type"] != kind);
    list.len() != before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_says_only_what_changed() {
        let old = json!({"replicas": 3, "ready": 1, "nested": {"a": 1, "b": 2}, "list": [1]});
        let new = json!({"replicas": 3, "nested": {"a": 1, "b": 3}, "list": [1, 2], "more": 1});
        assert_eq!(
            merge_between(&old, &new).unwrap(),
            json!({"ready": null, "nested": {"b": 3}, "list": [1, 2], "more": 1})
        );
        assert_eq!(merge_between(&new, &new.clone()), None);
    }

    #[test]
    fn shares_of_a_total() {
        for (value, up, share_of_ten) in [
            (json!(3), true, Some(3)),
            (json!("25%"), true, Some(3)),
            (json!("25%"), false, Some(2)),
            (json!("100%"), true, Some(10)),
            (json!("many"), true, None),
            (json!(true), true, None),
        ] {
            assert_eq!(share(Some(&value), 10, up), share_of_ten, "{value} {up}");
        }
    }

    #[test]
    fn a_conditions_time_moves_with_its_status_only() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut list = Value::Null;
        let yes = Condition { kind: "Ready", status: "True", reason: "Fine", message: "" };
        assert!(set_condition(&mut list, yes, at(1)));
        assert!(!set_condition(&mut list, yes, at(2)));
        assert!(set_condition(&mut list, Condition { reason: "Better", ..yes }, at(3)));
        assert_eq!(list[0]["lastTransitionTime"], "1970-01-01T00:00:01Z");
        assert!(set_condition(&mut list, Condition { status: "False", ..yes }, at(4)));
        assert_eq!(list[0]["lastTransitionTime"], "1970-01-01T00:00:04Z");
        assert!(remove_condition(&mut list, "Ready"));
        assert!(!remove_condition(&mut list, "Ready"));
    }
}
