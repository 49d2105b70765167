//! The conditions that a provider's judgement of a class sets.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;

use crate::{
    bootstrap::{Encoded, Error, Facts, Format},
    class::{BOOTSTRAP_READY, ClassCondition, ClassStatus, NodeClass},
    spec::Problem,
};

/// The condition that a class is valid by itself.
pub const VALIDATION: &str = "ValidationSucceeded";
/// The condition that the cloud accepts the orders of a class.
pub const ORDERS_ACCEPTED: &str = "OrdersAccepted";

/// After this many refused orders in a row, the class counts as invalid.
const INVALID_ORDERS_MAX: u32 = 3;
/// How long a class with refused orders stays unused, unless it changes. Afterwards one order is
/// tried, because an administrator may have corrected the cause.
pub const REFUSED_FOR: Duration = Duration::from_mins(15);

/// A condition that must be true before the class is used. `holds` is none while it is unknown.
pub fn condition(
    type_: &'static str,
    holds: Option<bool>,
    reason: &str,
    message: String,
) -> ClassCondition {
    ClassCondition { type_, holds, blocks: true, reason: reason.to_owned(), message }
}

/// The condition [`VALIDATION`]. `class` is the kind and name of the class; `ignored` are fields that
/// have no effect, each in a sentence.
pub fn validation(class: &str, problems: &[Problem], ignored: &[String]) -> ClassCondition {
    let Some(first) = problems.first() else {
        return condition(VALIDATION, Some(true), "", ignored.join("; "));
    };
    let texts: Vec<String> =
        problems.iter().map(|own| format!("{} {}", own.field, own.text)).collect();
    let message = format!("{class}: {}", texts.join("; "));
    condition(VALIDATION, Some(false), &first.reason.to_string(), message)
}

/// Says that a class is invalid, unless another problem is known.
pub fn refuse(status: &mut ClassStatus, reason: &str, message: String) {
    let validation = status.conditions.iter_mut().find(|own| own.type_ == VALIDATION);
    if let Some(validation) = validation.filter(|own| own.holds == Some(true)) {
        *validation = condition(VALIDATION, Some(false), reason, message);
    }
}

/// Whether a condition of a class had this status when the class was last judged.
pub fn was(class: &NodeClass, type_: &str, status: &str) -> bool {
    let conditions = class.status["conditions"].as_array();
    let mut said = conditions.into_iter().flatten();
    said.any(|own| own["type"] == type_ && own["status"] == status)
}

/// Adds the condition [`BOOTSTRAP_READY`] from the text of an example instance: none where the class
/// has no sizes. `untold` finds settings that guests of a format cannot receive. An invalid text
/// makes the class invalid; other errors make it unable to join instances.
pub fn add_bootstrap(
    status: &mut ClassStatus,
    trial: Option<Result<Encoded, Error>>,
    untold: impl FnOnce(Format) -> Option<Problem>,
) {
    let waits = |reason| {
        let why = "looked at once ValidationSucceeded is true".to_owned();
        condition(BOOTSTRAP_READY, None, reason, why)
    };
    let said = match trial {
        None => waits("WaitsForSizes"),
        Some(Ok(text)) if let Some(problem) = untold(text.format) => {
            condition(BOOTSTRAP_READY, Some(false), "InvalidNetwork", problem.to_string())
        }
        Some(Ok(text)) => {
            let warnings: Vec<String> = text
                .report
                .warnings
                .iter()
                .map(|warning| format!("{}: {}", warning.field, warning.text))
                .collect();
            condition(BOOTSTRAP_READY, Some(true), "", warnings.join("; "))
        }
        Some(Err(error)) if error.kind.condition() == VALIDATION => {
            refuse(status, error.kind.reason(), error.to_string());
            waits("WaitsForUserData")
        }
        Some(Err(error)) => {
            condition(BOOTSTRAP_READY, Some(false), error.kind.reason(), error.to_string())
        }
    };
    status.conditions.push(said);
}

/// Adds the field `kubernetesVersion`, as far as the version is known.
pub fn add_version(status: &mut ClassStatus, facts: Option<&Facts>) {
    let Some(version) = facts.and_then(|facts| facts.version.as_deref()) else { return };
    let version = version.trim_start_matches('v');
    let version = version.split_once('+').map_or(version, |(version, _)| version);
    status.fields.insert("kubernetesVersion".to_owned(), version.into());
}

/// The texts that were reported about objects, so that each is reported once.
#[derive(Debug, Default)]
pub struct ToldOnce(BTreeMap<String, String>);

impl ToldOnce {
    /// Whether a text about an object is new.
    pub fn is_new(&mut self, object: &str, text: &str) -> bool {
        let told = self.0.insert(object.to_owned(), text.to_owned());
        told.is_none_or(|told| told != text)
    }

    /// Forgets an object: the next text about it is new.
    pub fn forget(&mut self, object: &str) {
        self.0.remove(object);
    }
}

/// Orders of classes that the cloud refused as invalid, one after the other.
#[derive(Debug, Default)]
pub struct RefusedOrders(BTreeMap<String, Refusals>);

#[derive(Debug)]
struct Refusals {
    /// The version of the class that the orders were made of.
    generation: i64,
    count: u32,
    last: Timestamp,
    /// The cloud's message about the last order.
    why: String,
}

impl RefusedOrders {
    /// Counts one more refused order of a class.
    pub fn count(&mut self, class: &NodeClass, why: String, now: Timestamp) {
        let before = self.0.get(&class.name);
        let before = before.filter(|own| own.generation == class.generation);
        let count = before.map_or(0, |own| own.count) + 1;
        let refusals = Refusals { generation: class.generation, count, last: now, why };
        self.0.insert(class.name.clone(), refusals);
    }

    /// The cloud's message about the orders of a class, after it refused too many in a row.
    pub fn why(&self, class: &NodeClass, now: Timestamp) -> Option<&str> {
        let refusals = self.0.get(&class.name)?;
        let is_of_now = refusals.generation == class.generation
            && now.duration_since(refusals.last).unsigned_abs() < REFUSED_FOR;
        (is_of_now && refusals.count >= INVALID_ORDERS_MAX).then_some(refusals.why.as_str())
    }

    /// Forgets a class: one of its orders was accepted.
    pub fn forget(&mut self, class: &str) {
        self.0.remove(class);
    }
}

/// The condition [`ORDERS_ACCEPTED`]. `class` is the kind and name of the class, `cloud` the cloud's
/// name.
pub fn orders_accepted(class: &str, cloud: &str, why: Option<&str>) -> ClassCondition {
    match why {
        None => condition(ORDERS_ACCEPTED, Some(true), "", String::new()),
        Some(why) => {
            let message = format!(
                "{class}: {cloud} has refused its last instances as invalid; correct the class, or \
                 what it names: {why}"
            );
            condition(ORDERS_ACCEPTED, Some(false), "InvalidInstance", message)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::spec::Reason;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn a_class_is_not_used_after_three_refused_orders_until_it_changes_or_time_passes() {
        let class = NodeClass { name: "general".to_owned(), generation: 1, ..NodeClass::default() };
        let mut refused = RefusedOrders::default();
        for number in 1..=3 {
            assert_eq!(refused.why(&class, at(0)), None, "after {} orders", number - 1);
            refused.count(&class, format!("order {number}"), at(0));
        }
        assert_eq!(refused.why(&class, at(899)), Some("order 3"));
        assert_eq!(refused.why(&class, at(900)), None);
        let changed = NodeClass { generation: 2, ..class.clone() };
        assert_eq!(refused.why(&changed, at(1)), None);
        refused.forget("general");
        assert_eq!(refused.why(&class, at(1)), None);
    }

    #[test]
    fn a_text_is_told_once_until_it_changes() {
        let mut told = ToldOnce::default();
        assert!(told.is_new("general", "no image"));
        assert!(!told.is_new("general", "no image"));
        assert!(told.is_new("general", "no network"));
        told.forget("general");
        assert!(told.is_new("general", "no network"));
    }

    #[test]
    fn the_first_problem_names_the_reason_and_the_message_has_all() {
        let problems = [
            Problem::new(Reason::INVALID_ZONE, "spec.zones[0].name", "is empty; name the zone"),
            Problem::new(Reason::INVALID_KUBELET, "spec.kubelet", "is wrong; correct it"),
        ];
        let condition = validation("Class \"general\"", &problems, &[]);
        assert_eq!((condition.holds, condition.reason.as_str()), (Some(false), "InvalidZone"));
        assert!(condition.message.contains("spec.kubelet is wrong"), "{}", condition.message);
        let mut status = ClassStatus { conditions: vec![condition], ..ClassStatus::default() };
        refuse(&mut status, "InvalidUserData", "a later problem".to_owned());
        assert_eq!(status.conditions[0].reason, "InvalidZone", "the first problem stays");
    }

    #[test]
    fn the_last_status_of_a_condition_is_found() {
        let status = json!({"conditions": [{"type": "TagsReady", "status": "True"}]});
        let class = NodeClass { status, ..NodeClass::default() };
        assert!(was(&class, "TagsReady", "True"));
        assert!(!was(&class, "TagsReady", "False") && !was(&class, "ImageReady", "True"));
    }
}
