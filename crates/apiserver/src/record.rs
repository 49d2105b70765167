//! What is told about every call.

use jiff::Timestamp;

use crate::{
    Status,
    object::{Change, Key, Resource},
    operation::{Action, Operation, Outcome, PatchKind},
};

/// A recorder of all calls and changes, in the order in which they took effect: the changes that a
/// call made come before the call itself. It must not call the server.
pub trait Recorder: Send + Sync {
    /// Takes note of a call.
    fn call(&self, call: &Call);

    /// Takes note of a new version of an object.
    fn change(&self, change: &Change);
}

/// A call and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// When it was carried out.
    pub at: Timestamp,
    /// Who called.
    pub caller: Box<str>,
    /// What was asked for: `create`, `update`, `patch`, `apply`, `delete`, `get`, `list`, `watch`.
    pub verb: &'static str,
    /// Of which resource.
    pub resource: Resource,
    /// Of which object; the name is empty for lists and watches.
    pub key: Key,
    /// Of which part.
    pub subresource: Option<Box<str>>,
    /// Nothing was to be stored.
    pub dry_run: bool,
    /// The HTTP status code of the answer.
    pub code: u16,
    /// Why it was refused.
    pub refusal: Option<Box<str>>,
    /// The version that the object has after a write.
    pub version: Option<u64>,
}

impl Call {
    pub(crate) fn of(operation: &Operation, caller: &str, at: Timestamp) -> Self {
        Self {
            at,
            caller: caller.into(),
            verb: match &operation.action {
                Action::Create(_) => "create",
                Action::Update(_) => "update",
                Action::Patch(PatchKind::Apply { .. }, _) => "apply",
                Action::Patch(..) => "patch",
                Action::Delete(_) => "delete",
            },
            resource: operation.resource.clone(),
            key: operation.key.clone(),
            subresource: operation.subresource.clone(),
            dry_run: operation.dry_run,
            code: 200,
            refusal: None,
            version: None,
        }
    }

    /// A call that changes nothing.
    pub(crate) fn reading(
        verb: &'static str,
        resource: &Resource,
        key: Key,
        caller: &str,
        at: Timestamp,
    ) -> Self {
        Self {
            at,
            caller: caller.into(),
            verb,
            resource: resource.clone(),
            key,
            subresource: None,
            dry_run: false,
            code: 200,
            refusal: None,
            version: None,
        }
    }

    pub(crate) fn finish(&mut self, result: &Result<Outcome, Status>) {
        match result {
            Ok(outcome) => {
                self.code = if outcome.created { 201 } else { 200 };
                if let Some(object) = &outcome.object {
                    self.version = (!self.dry_run).then_some(object.version);
                    // The server may have made up the name.
                    self.key = object.key.clone();
                }
            }
            Err(status) => self.refuse(status),
        }
    }

    pub(crate) fn refuse(&mut self, status: &Status) {
        self.code = status.code;
        self.refusal = Some(status.message.as_str().into());
    }
}
