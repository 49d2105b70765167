//! Fields that a list or watch can be narrowed down by (`--field-selector`).

use serde_json::Value;

use crate::{Resource, edit::value_at};

/// A field that can be selected by: its name, and where it is.
type Selectable = (&'static str, &'static str);

const NAME: Selectable = ("metadata.name", "/metadata/name");
const NAMESPACE: Selectable = ("metadata.namespace", "/metadata/namespace");

/// The names and values of the fields that an object can be selected by.
pub fn selectable_fields(resource: &Resource, object: &Value) -> Vec<(&'static str, String)> {
    let fields = fields(resource).iter().map(|(name, place)| (*name, value(object, name, place)));
    fields.collect()
}

/// The field that a selector means, by the name that [`selectable_fields`] uses; the text with which
/// a selector is refused, if there is no such field.
pub fn selectable_field(resource: &Resource, name: &str) -> Result<&'static str, String> {
    let (name, supported) = match (resource.id(), name) {
        (("", "Pod"), "spec.host") => ("spec.nodeName", true),
        (("", "Node" | "Namespace") | ("certificates.k8s.io", _), "metadata.namespace") => {
            (name, false)
        }
        (("events.k8s.io", _), "reportingController") => ("reportingComponent", true),
        (("events.k8s.io", _), "reportingComponent" | "source") => (name, false),
        (("events.k8s.io", _), _) if name.starts_with("involvedObject.") => (name, false),
        _ => (name, true),
    };
    let stored = match name.strip_prefix("regarding.") {
        Some(field) if resource.group == "events.k8s.io" => format!("involvedObject.{field}"),
        _ => name.to_owned(),
    };
    let known = fields(resource).iter().find(|(field, _)| *field == stored);
    match known {
        Some((field, _)) if supported => Ok(field),
        _ => Err(refusal(resource, name)),
    }
}

fn refusal(resource: &Resource, name: &str) -> String {
    match resource.id() {
        (
            "",
            "Pod" | "Node" | "ReplicationController" | "Event" | "Namespace" | "Secret" | "Service",
        )
        | ("events.k8s.io" | "certificates.k8s.io", _)
        | ("resource.k8s.io", "ResourceSlice") => format!("field label not supported: {name}"),
        ("batch", "Job") => format!("field label {name:?} not supported for Job"),
        _ => format!(
            "{name:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        ),
    }
}

fn fields(resource: &Resource) -> &'static [Selectable] {
    match resource.id() {
        ("", "Pod") => &[
            NAME,
            NAMESPACE,
            ("spec.nodeName", "/spec/nodeName"),
            ("spec.restartPolicy", "/spec/restartPolicy"),
            ("spec.schedulerName", "/spec/schedulerName"),
            ("spec.serviceAccountName", "/spec/serviceAccountName"),
            ("spec.hostNetwork", "/spec/hostNetwork"),
            ("status.phase", "/status/phase"),
            ("status.podIP", "/status/podIP"),
            // May be selected by, but never has a value.
            ("status.podIPs", "/"),
            ("status.nominatedNodeName", "/status/nominatedNodeName"),
        ],
        ("", "Node") => &[NAME, ("spec.unschedulable", "/spec/unschedulable")],
        ("", "Namespace") => &[NAME, ("status.phase", "/status/phase")],
        ("", "Secret") => &[NAME, NAMESPACE, ("type", "/type")],
        ("", "Service") => {
            &[NAME, NAMESPACE, ("spec.clusterIP", "/spec/clusterIP"), ("spec.type", "/spec/type")]
        }
        ("", "ReplicationController") => {
            &[NAME, NAMESPACE, ("status.replicas", "/status/replicas")]
        }
        ("", "Event") => EVENT,
        ("events.k8s.io", _) => NEW_EVENT,
        ("batch", "Job") => &[NAME, NAMESPACE, ("status.successful", "/status/succeeded")],
        ("certificates.k8s.io", _) => &[NAME, ("spec.signerName", "/spec/signerName")],
        ("resource.k8s.io", "ResourceSlice") => {
            &[NAME, ("spec.nodeName", "/spec/nodeName"), ("spec.driver", "/spec/driver")]
        }
        _ => &[NAME, NAMESPACE],
    }
}

const EVENT: &[Selectable] = &[
    NAME,
    NAMESPACE,
    ("involvedObject.kind", "/involvedObject/kind"),
    ("involvedObject.namespace", "/involvedObject/namespace"),
    ("involvedObject.name", "/involvedObject/name"),
    ("involvedObject.uid", "/involvedObject/uid"),
    ("involvedObject.apiVersion", "/involvedObject/apiVersion"),
    ("involvedObject.resourceVersion", "/involvedObject/resourceVersion"),
    ("involvedObject.fieldPath", "/involvedObject/fieldPath"),
    ("reason", "/reason"),
    ("reportingComponent", "/reportingComponent"),
    ("source", "/source/component"),
    ("type", "/type"),
];

/// The same events in the newer group, under the names that the stored ones are selected by.
const NEW_EVENT: &[Selectable] = &[
    NAME,
    NAMESPACE,
    ("involvedObject.kind", "/regarding/kind"),
    ("involvedObject.namespace", "/regarding/namespace"),
    ("involvedObject.name", "/regarding/name"),
    ("involvedObject.uid", "/regarding/uid"),
    ("involvedObject.apiVersion", "/regarding/apiVersion"),
    ("involvedObject.resourceVersion", "/regarding/resourceVersion"),
    ("involvedObject.fieldPath", "/regarding/fieldPath"),
    ("reason", "/reason"),
    ("reportingComponent", "/reportingController"),
    ("source", "/deprecatedSource/component"),
    ("type", "/type"),
];

fn value(object: &Value, name: &str, place: &str) -> String {
    match value_at(object, place) {
        Some(Value::String(text)) if !text.is_empty() => text.clone(),
        Some(Value::Bool(flag)) => flag.to_string(),
        Some(Value::Number(number)) => number.to_string(),
        _ => match name {
            "spec.hostNetwork" | "spec.unschedulable" => "false".to_owned(),
            "status.replicas" | "status.successful" => "0".to_owned(),
            "source" => {
                let reporter = object.get("reportingComponent");
                let reporter = reporter.or_else(|| object.get("reportingController"));
                reporter.and_then(Value::as_str).unwrap_or_default().to_owned()
            }
            _ => String::new(),
        },
    }
}
