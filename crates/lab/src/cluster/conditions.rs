//! Conditions in a status.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{selection::list, times::seconds};

/// A list of conditions with one of them set; none when it is there already. The moment of the last
/// transition is kept while the status stays the same.
pub(crate) fn with(conditions: &Value, condition: Value, now: Timestamp) -> Option<Value> {
    let conditions = list(conditions);
    let place = conditions.iter().position(|known| known["type"] == condition["type"]);
    let known = place.map(|place| &conditions[place]);
    let fields = ["status", "reason", "message"];
    if known.is_some_and(|known| fields.iter().all(|field| known[*field] == condition[*field])) {
        return None;
    }
    let mut condition = condition;
    condition["lastTransitionTime"] = match known {
        Some(known) if known["status"] == condition["status"] => {
            known["lastTransitionTime"].clone()
        }
        _ => json!(seconds(now)),
    };
    let mut conditions = conditions.to_vec();
    match place {
        Some(place) => conditions[place] = condition,
        None => conditions.push(condition),
    }
    Some(Value::Array(conditions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transition_is_kept_while_the_status_is() {
        let now: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
        let ready = |status: &str, reason: &str| json!({"type": "Ready", "status": status, "reason": reason});
        let first = with(&json!([{"type": "Other"}]), ready("False", "Starting"), now).unwrap();
        assert_eq!(first[1]["lastTransitionTime"], "2026-01-01T12:00:00Z");
        let noon: Timestamp = "2026-01-01T13:00:00Z".parse().unwrap();
        assert_eq!(with(&first, ready("False", "Starting"), noon), None);
        let second = with(&first, ready("False", "Slow"), noon).unwrap();
        assert_eq!(second[1]["lastTransitionTime"], "2026-01-01T12:00:00Z");
        let third = with(&second, ready("True", "Slow"), noon).unwrap();
        assert_eq!(third[1]["lastTransitionTime"], "2026-01-01T13:00:00Z");
        assert_eq!(third[0], json!({"type": "Other"}));
    }
}
