//! What happens between us and CloudStack, for metrics.

use std::time::Duration;

/// Is told what happens. Everything is optional, nothing may block.
pub trait Observer: Send + Sync {
    /// A request was answered, or not. `code` is `200` or [`ClientError::code`](super::ClientError::code).
    fn request(&self, _command: &str, _code: &str, _took: Duration) {}
    /// A job is no longer waited for; `result` is `success`, `error` or `unknown`.
    fn job(&self, _command: &str, _result: &str, _took: Duration) {}
}

/// Counts nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
