//! The node conditions that are tolerated only for a time.

use jiff::{SignedDuration, Timestamp};
use joiner_cloud::RepairPolicy;
use k8s_openapi::api::core::v1::Node;

/// When a node is to be replaced, unless it recovers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Because of which condition.
    pub condition: &'static str,
    /// At what time.
    pub at: Timestamp,
}

impl Due {
    /// The same, but not before this moment, if there is one.
    pub fn not_before(self, moment: Option<Timestamp>) -> Self {
        Self { at: moment.map_or(self.at, |moment| moment.max(self.at)), ..self }
    }
}

/// When a node is to be replaced: by whichever policy says so first. A condition that does not say
/// since when it holds has no time that could come.
pub fn due(node: &Node, policies: &[RepairPolicy]) -> Option<Due> {
    let dues = matching(node, policies).filter_map(|(policy, since)| {
        let toleration = SignedDuration::try_from(policy.toleration).ok()?;
        let at = since?.checked_add(toleration).ok()?;
        Some(Due { condition: policy.condition, at })
    });
    dues.min_by_key(|due| due.at)
}

/// Whether a node has a condition that is tolerated only for a time.
pub fn is_unhealthy(node: &Node, policies: &[RepairPolicy]) -> bool {
    matching(node, policies).next().is_some()
}

/// Policies that are about the node's conditions, and since when they are.
fn matching<'p>(
    node: &'p Node,
    policies: &'p [RepairPolicy],
) -> impl Iterator<Item = (&'p RepairPolicy, Option<Timestamp>)> {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.flat_map(move |condition| {
        let since = condition.last_transition_time.as_ref().map(|time| time.0);
        let about = policies.iter().filter(|policy| {
            policy.condition == condition.type_ && policy.status == condition.status
        });
        about.map(move |policy| (policy, since))
    })
}

/// A condition's name as metrics write it: `DiskPressure` is `disk_pressure`.
pub fn snake_case(name: &str) -> String {
    let mut text = String::new();
    let mut was_lower = false;
    for letter in name.chars() {
        if letter.is_uppercase() && was_lower {
            text.push('_');
        }
        was_lower = letter.is_lowercase() || letter.is_ascii_digit();
        text.extend(letter.to_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    const POLICIES: &[RepairPolicy] = &[
        RepairPolicy { condition: "Ready", status: "False", toleration: Duration::from_mins(30) },
        RepairPolicy { condition: "Disk", status: "Bad", toleration: Duration::from_mins(10) },
    ];

    fn node(conditions: &serde_json::Value) -> Node {
        serde_json::from_value(json!({"status": {"conditions": conditions}})).unwrap()
    }

    #[test]
    fn the_policy_whose_time_comes_first_counts() {
        let node = node(&json!([
            {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "Disk", "status": "Bad", "lastTransitionTime": "2026-01-01T00:25:00Z"},
        ]));
        let first = due(&node, POLICIES).unwrap();
        assert_eq!(
            (first.condition, first.at.to_string().as_str()),
            ("Ready", "2026-01-01T00:30:00Z")
        );
    }

    #[test]
    fn a_condition_without_a_time_is_unhealthy_but_never_due() {
        let node = node(&json!([{"type": "Ready", "status": "False"}]));
        assert_eq!(due(&node, POLICIES), None);
        assert!(is_unhealthy(&node, POLICIES));
    }

    #[test]
    fn other_conditions_and_other_statuses_are_nobodys_business() {
        let since = "2026-01-01T00:00:00Z";
        let node = node(&json!([
            {"type": "Ready", "status": "Unknown", "lastTransitionTime": since},
            {"type": "Network", "status": "Bad", "lastTransitionTime": since},
        ]));
        assert_eq!(due(&node, POLICIES), None);
        assert!(!is_unhealthy(&node, POLICIES));
    }

    #[test]
    fn names_of_conditions_become_words_of_metrics() {
        assert_eq!(snake_case("BadNode"), "bad_node");
        assert_eq!(snake_case("Ready"), "ready");
        assert_eq!(snake_case("PIDPressure"), "pidpressure");
    }
}
