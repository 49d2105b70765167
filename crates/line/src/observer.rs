//! What happens between a client and its server, for metrics.

use std::time::Duration;

/// Is told what happens. Each method may be left out, and none may block.
pub trait Observer: Send + Sync {
    /// A request was answered, or not. `code` is `200`, another status, the type of the refusal,
    /// or a word of the client's error.
    fn request(&self, _method: &str, _code: &str, _took: Duration) {}
    /// A login was tried; `kind` is the interface, such as `soap` or `rest`; `result` is `ok` or a
    /// code as above.
    fn login(&self, _kind: &str, _result: &str) {}
    /// A typed refusal came: of a call (`phase` is `call`) or of a task (`task`).
    fn fault(&self, _fault: &str, _phase: &str) {}
    /// One more task of a type is waited for.
    fn task_begins(&self, _kind: &str) {}
    /// A task of a type is no longer waited for; `result` is `success`, `error` or `unknown`.
    fn task_ends(&self, _kind: &str, _result: &str, _took: Duration) {}
}

/// Counts nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
