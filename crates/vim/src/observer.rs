//! What happens between us and a vCenter, for those who count it.

use std::time::Duration;

/// Is told what happens. Everything is optional, nothing may block.
pub trait Observer: Send + Sync {
    /// A request was answered, or not. `code` is `200`, another status, the fault's type, or
    /// [`crate::VimError::code`].
    fn request(&self, _method: &str, _code: &str, _took: Duration) {}
    /// A login was tried; `kind` is `soap` or `rest`, `result` is `ok` or a code as above.
    fn login(&self, _kind: &str, _result: &str) {}
    /// A typed refusal came: of a call (`phase` is `call`) or of a task (`task`).
    fn fault(&self, _fault: &str, _phase: &str) {}
    /// One more task of a type is waited for.
    fn task_begins(&self, _kind: &str) {}
    /// A task of a type is no longer waited for; `result` is `success`, `error` or `unknown`.
    fn task_ends(&self, _kind: &str, _result: &str, _took: Duration) {}
}

/// Nobody counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
