//! Work that is asked for again and again until it is done.

use std::time::Duration;

use joiner_core::label::Labels;

/// How far such work has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It is done, with what the claim learns from it: labels or annotations, as the call says.
    Done(Labels),
    /// It is not done; ask again after this time.
    NotYet(Duration),
}

impl Progress {
    /// Done, with nothing to write down.
    pub fn done() -> Self {
        Self::Done(Labels::new())
    }
}
