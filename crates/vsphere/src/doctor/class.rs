//! A class: what its conditions say, tag by tag and selector by selector.

use joiner_cloud::{
    class::ClassStatus,
    doctor::{Finding, Subject},
    judgement::VALIDATION,
};
use joiner_vim::{Object, VimError};

use crate::{
    places::{
        COMPUTE_READY, DATASTORE_READY, FOLDER_READY, IMAGE_READY, LedTo, NETWORK_READY, VCENTER,
        ZONES_READY,
    },
    tags::objections::Objections,
};

/// What `TagsReady` says, tag by tag.
pub(crate) fn tags(subject: Subject<'_>, objections: &Objections) -> Vec<Finding> {
    let Objections { of_class, others } = objections;
    let mut found: Vec<Finding> =
        of_class.iter().map(|own| subject.problem(own.reason, &own.message)).collect();
    found.extend(others.iter().map(|own| subject.warning(own.reason, &own.message)));
    if found.is_empty() {
        found.push(subject.fine("instances can carry all that they are to carry"));
    }
    found
}

/// Whether a network is there for instances.
pub(crate) fn network(
    subject: Subject<'_>,
    path: &str,
    read: &Result<Vec<Object>, VimError>,
) -> Finding {
    match read
        .as_ref()
        .map(|objects| objects.first().and_then(|own| own.parse("summary.accessible")))
    {
        Ok(Some(true)) => subject.fine(format!("{path} can be reached")),
        Ok(Some(false)) => subject.problem(
            "NetworkInaccessible",
            &format!(
                "{path} cannot be reached from any host; mend that, or choose another network"
            ),
        ),
        Ok(None) => subject.not_checked(format!("vCenter does not say whether {path} is reached")),
        Err(error) => subject.not_checked(error.to_string()),
    }
}

/// What the conditions of a class say, and where its selectors lead.
pub(crate) fn conditions(object: &str, status: &ClassStatus, led_to: &LedTo) -> Vec<Finding> {
    let mut found = Vec::new();
    for condition in &status.conditions {
        let check = match condition.type_ {
            COMPUTE_READY => "compute",
            DATASTORE_READY => "datastore",
            NETWORK_READY => "network",
            IMAGE_READY => "template",
            FOLDER_READY => "folder",
            VALIDATION | VCENTER => "places",
            // Of zones that nothing is wrong with nothing is said.
            ZONES_READY if condition.holds == Some(false) => "zones",
            _ => continue,
        };
        let subject = Subject::new(check, object);
        // What is wrong with the class itself was said of its fields, unless it is about the
        // datacenter.
        let is_said = condition.type_ == VALIDATION && !condition.reason.starts_with("Datacenter");
        if is_said || (check == "places" && condition.holds == Some(true)) {
            continue;
        }
        let paths: Vec<&str> =
            led_to.get(condition.type_).into_iter().flatten().map(String::as_str).collect();
        found.push(subject.condition(condition, format!("leads to {}", paths.join(", "))));
    }
    found
}
