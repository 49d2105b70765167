//! What a server says of a task.

use super::{TaskFailed, TaskState};
use crate::{Element, Fault};

/// The state in a `TaskInfo`.
pub(super) fn state(info: &Element) -> Result<TaskState, String> {
    match info.text_at("state") {
        Some("queued") => Ok(TaskState::Queued),
        Some("running") => Ok(TaskState::Running { progress: info.parse_at("progress") }),
        Some("success") => Ok(TaskState::Success),
        Some("error") => Ok(TaskState::Error),
        Some(other) => Err(format!("no task is {other:?}")),
        None => Err("it has no state".to_owned()),
    }
}

/// Why the task of a `TaskInfo` has failed.
pub(super) fn failure(info: &Element) -> TaskFailed {
    match info.child("error") {
        Some(error) => TaskFailed::Fault(Fault::localized(error)),
        None => TaskFailed::Unreadable("it has failed and does not say why".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::Reader;

    fn info(text: &str) -> Element {
        let mut reader = Reader::new(text);
        let element = reader.next_child().unwrap().unwrap();
        reader.finish(element).unwrap()
    }

    #[test]
    fn states_are_read_with_their_progress() {
        for (inside, expected) in [
            ("<state>queued</state>", Ok(TaskState::Queued)),
            ("<state>running</state>", Ok(TaskState::Running { progress: None })),
            (
                "<state>running</state><progress>42</progress>",
                Ok(TaskState::Running { progress: Some(42) }),
            ),
            ("<state>success</state>", Ok(TaskState::Success)),
            ("<state>paused</state>", Err("no task is \"paused\"".to_owned())),
            ("", Err("it has no state".to_owned())),
        ] {
            assert_eq!(state(&info(&format!("<val>{inside}</val>"))), expected, "{inside}");
        }
    }

    #[test]
    fn a_failure_is_known_by_its_type_and_not_by_its_words() {
        let info = info(
            "<val xmlns:z=\"http://www.w3.org/2001/XMLSchema-instance\"><state>error</state><error>\
             <fault z:type=\"DuplicateName\"><name>n1</name><object type=\"VirtualMachine\">vm-7\
             </object></fault><localizedMessage>*types.DuplicateName</localizedMessage></error></val>",
        );
        let TaskFailed::Fault(fault) = failure(&info) else { panic!("it is a fault") };
        assert_eq!(fault.kind, "DuplicateName");
        assert_eq!(fault.object().unwrap().to_string(), "VirtualMachine:vm-7");
    }
}
