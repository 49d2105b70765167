//! Properties of tasks.

use crate::{
    reference::Ref,
    task::State,
    wire::value::Value::{self, Bool, Data, Int, Ref as Named, Time},
    world::World,
};

pub(super) fn task<'w>(world: &'w World, object: Ref, name: &str) -> Option<Value<'w>> {
    let own = world.tasks.get(object)?;
    if name != "info" {
        return None;
    }
    let (error, result) = match &own.state {
        State::Failed(fault) => (fault.localized(), Value::Unset),
        State::Done(result) => (Value::Unset, Value::maybe(*result, |made| Named(made).any())),
        State::Queued | State::Running => (Value::Unset, Value::Unset),
    };
    let reason = vec![("userName", Value::text(&*own.user))];
    let time = |at| Time(world.moment(at));
    Some(Data(
        "TaskInfo",
        vec![
            ("key", Value::text(object.id())),
            ("task", Named(object)),
            ("description", Value::Unset),
            ("name", Value::text(own.method)),
            ("descriptionId", Value::text(own.description_id)),
            ("entity", Named(own.entity)),
            ("entityName", Value::text(&*own.entity_name)),
            ("state", Value::word("TaskInfoState", own.state.word())),
            ("cancelled", Bool(own.cancelled)),
            ("cancelable", Bool(own.is_cancelable())),
            ("error", error),
            ("result", result),
            ("progress", own.progress().map_or(Value::Unset, Int)),
            ("reason", Value::sub("TaskReasonUser", reason)),
            ("queueTime", time(own.queued)),
            ("startTime", Value::maybe(own.started, time)),
            ("completeTime", Value::maybe(own.completed, time)),
            ("eventChainId", Int(object.number as i32)),
        ],
    ))
}

/// An unreadable value in place of a task's information. It is well-formed, so only queries about
/// this task fail.
pub(super) fn unreadable(path: &str, tag: &str) -> String {
    if path != "info" {
        return format!("<{tag} xsi:type=\"TaskInfoState\">perhaps</{tag}>");
    }
    format!(
        "<{tag} xsi:type=\"TaskInfo\"><key/><state>perhaps</state><progress>many</progress>\
         <queueTime>yesterday</queueTime></{tag}>"
    )
}
