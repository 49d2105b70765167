//! How instances of a class join.

use serde_json::Value;

use super::{Finding, Subject};
use crate::class::{BOOTSTRAP_READY, NodeClass};

/// The condition `BootstrapReady` as the controller last wrote it for this version of the class.
pub fn joining(subject: Subject<'_>, class: &NodeClass) -> Finding {
    let conditions = class.status["conditions"].as_array();
    let said = conditions.into_iter().flatten().find(|own| own["type"] == BOOTSTRAP_READY);
    let is_of_now = |own: &&Value| {
        own["observedGeneration"].as_i64().is_none_or(|seen| seen == class.generation)
    };
    let text = |own: &Value, field: &str| own[field].as_str().unwrap_or_default().to_owned();
    match said.filter(is_of_now) {
        Some(own) if own["status"] == "True" => {
            subject.fine("the controller has all that instances join with")
        }
        Some(own) if own["status"] == "False" => {
            subject.problem(&text(own, "reason"), &text(own, "message"))
        }
        Some(own) => subject.not_checked(text(own, "message")),
        None => subject.not_checked(
            "no controller has looked at the class yet; its condition BootstrapReady says it once \
             joiner run is there",
        ),
    }
}
