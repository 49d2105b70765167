//! The class of the laboratory's instances: how long they take for everything, and their image.

use jiff::SignedDuration;
use joiner_cloud::class::{ClassKind, NodeClass, Role};
use serde_json::{Value, json};

/// The kind of class that the laboratory's cloud serves.
pub const LAB_NODE_CLASS: ClassKind = ClassKind {
    role: Role::NodeClass,
    group: "lab.joiner.sh",
    version: "v1alpha1",
    kind: "LabNodeClass",
    plural: "labnodeclasses",
};

/// The image of instances whose class names none.
const USUAL_IMAGE: &str = "lab-image";

/// A definition of [`LAB_NODE_CLASS`] for an API server.
pub fn lab_node_class_crd() -> Value {
    let duration = |what: &str| json!({"type": "string", "pattern": "^([0-9]+(s|m|h))+$", "description": what});
    LAB_NODE_CLASS.definition(&json!({
        "type": "object",
        "properties": {
            "image": {"type": "string", "description": "What instances run; another one is drift."},
            "bootDelay": duration("From being switched on to the start of the kubelet."),
            "joinDelay": duration("From the start of the kubelet to the registration of the node."),
            "readyDelay": duration("From the registration to being ready."),
            "removalDelay": duration("From being switched off to being gone."),
        },
    }))
}

/// What a class says about its instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LabClass {
    pub(super) image: String,
    pub(super) boot_delay: SignedDuration,
    pub(super) join_delay: SignedDuration,
    pub(super) ready_delay: SignedDuration,
    pub(super) removal_delay: SignedDuration,
}

impl LabClass {
    /// Reads a class, or says what is wrong with it.
    pub(super) fn read(class: &NodeClass) -> Result<Self, String> {
        let delay = |field: &str, usual_seconds: i64| match &class.spec[field] {
            Value::Null => Ok(SignedDuration::from_secs(usual_seconds)),
            given => {
                let read = given.as_str().and_then(|text| text.parse::<SignedDuration>().ok());
                read.filter(|delay| !delay.is_negative()).ok_or_else(|| {
                    let (kind, name) = (LAB_NODE_CLASS.kind, &class.name);
                    format!(
                        "{kind} {name:?}: spec.{field} is {given}: write a duration such as 30s or 2m"
                    )
                })
            }
        };
        Ok(Self {
            image: class.spec["image"].as_str().unwrap_or(USUAL_IMAGE).to_owned(),
            boot_delay: delay("bootDelay", 20)?,
            join_delay: delay("joinDelay", 10)?,
            ready_delay: delay("readyDelay", 5)?,
            removal_delay: delay("removalDelay", 5)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(spec: Value) -> Result<LabClass, String> {
        LabClass::read(&NodeClass { name: "default".to_owned(), spec, ..NodeClass::default() })
    }

    #[test]
    fn what_a_class_does_not_say_is_as_usual() {
        let class = read(json!({"bootDelay": "1m30s", "image": "new"})).unwrap();
        let seconds = SignedDuration::from_secs;
        assert_eq!((class.boot_delay, class.join_delay), (seconds(90), seconds(10)));
        assert_eq!(class.image, "new");
        assert_eq!(read(Value::Null).unwrap().image, USUAL_IMAGE);
    }

    #[test]
    fn a_delay_that_is_none_is_named() {
        for wrong in [json!("soon"), json!("-5s"), json!(5)] {
            assert_eq!(
                read(json!({"joinDelay": wrong})).unwrap_err(),
                format!(
                    "LabNodeClass \"default\": spec.joinDelay is {wrong}: write a duration such as \
                     30s or 2m"
                )
            );
        }
    }
}
