//! Work that is requested repeatedly until it is done.

use std::time::Duration;

use joiner_core::label::Labels;

/// How far such work has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The work is done. The claim gets these labels or annotations, depending on the call.
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
