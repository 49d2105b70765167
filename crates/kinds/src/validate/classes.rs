//! `PriorityClasses` and `RuntimeClasses`.

use serde_json::Value;

use super::{
    errors::{Errors, IMMUTABLE, Path},
    formats, internal, pod, selectors,
};
use crate::fields::Fields;

/// The largest priority of a class that is not the system's.
const HIGHEST: i64 = 1_000_000_000;
const SYSTEM_PREFIX: &str = "system-";
const SYSTEM_CLASSES: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

pub(super) fn create_priority_class(errors: &mut Errors, class: &Value) {
    let (name, value) = (class.part("metadata").text("name"), class.count("value"));
    if name.starts_with(SYSTEM_PREFIX) {
        let problem = match SYSTEM_CLASSES.iter().find(|(known, _)| *known == name) {
            None => Some(format!("{name} is not a known system priority class")),
            Some((_, known)) if *known != value => {
                Some(format!("value of {name} PriorityClass must be {known}"))
            }
            Some(_) if class.flag("globalDefault") => {
                Some(format!("globalDefault of {name} PriorityClass must be false"))
            }
            Some(_) => None,
        };
        if let Some(problem) = problem {
            let detail = format!(
                "priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use \
                 only. error: {problem}"
            );
            errors.forbidden(&Path::new("metadata.name"), detail);
        }
    } else if value > HIGHEST {
        let detail = format!("maximum allowed value of a user defined priority is {HIGHEST}");
        errors.forbidden(&Path::new("value"), detail);
    }
    if let Some(policy) = class.given_text("preemptionPolicy") {
        pod::preemption_policy(errors, &Path::new("preemptionPolicy"), policy);
    }
}

pub(super) fn update_priority_class(errors: &mut Errors, new: &Value, old: &Value) {
    if new.count("value") != old.count("value") {
        errors.forbidden(&Path::new("value"), "may not be changed in an update.");
    }
    if new.field("preemptionPolicy") != old.field("preemptionPolicy") {
        let policy = new.part("preemptionPolicy").clone();
        errors.invalid(&Path::new("preemptionPolicy"), policy, IMMUTABLE);
    }
}

pub(super) fn create_runtime_class(errors: &mut Errors, class: &Value) {
    let (path, handler) = (Path::new("handler"), class.text("handler"));
    if handler.is_empty() {
        errors.required(&path, "");
    } else {
        errors.invalid_each(&path, handler, formats::dns_label(handler));
    }
    if let Some(overhead) = class.field("overhead") {
        pod::overhead(errors, &Path::new("overhead"), overhead, "podFixed");
    }
    if let Some(scheduling) = class.field("scheduling") {
        let path = Path::new("scheduling");
        selectors::labels(errors, &path.child("nodeSelector"), scheduling, "nodeSelector");
        let path = path.child("tolerations");
        let tolerations = scheduling.list("tolerations");
        pod::scheduling::tolerations(errors, &path, tolerations);
        let key = |toleration: &Value| {
            ["key", "operator", "value", "effect"].map(|field| toleration.text(field).to_owned())
        };
        for (index, toleration) in tolerations.iter().enumerate() {
            if tolerations[..index].iter().any(|other| key(other) == key(toleration)) {
                let shown = internal::compact("Toleration", toleration);
                errors.duplicate_shown(&path.index(index), &shown);
            }
        }
    }
}

pub(super) fn update_runtime_class(errors: &mut Errors, new: &Value, old: &Value) {
    if new.text("handler") != old.text("handler") {
        errors.invalid(&Path::new("handler"), new.text("handler"), IMMUTABLE);
    }
}
