//! What goes wrong with a vCenter, besides what goes wrong with any simulated cloud.

mod script;

use std::time::Duration;

use joiner_sim::trouble::{self, CloudTrouble};

use crate::fault::Fault;

/// What goes wrong with a call.
pub(crate) type Effect = trouble::Effect<VCenterTrouble>;

/// What goes wrong with a call that has reached the vCenter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum VCenterTrouble {
    /// The call fails.
    Fault(Fault),
    /// The call begins a task, and that goes wrong.
    Task(TaskTrouble),
    /// All sessions are over, also the one of the call.
    ExpireSessions,
    /// Properties are read as if each of them were forbidden.
    AllMissing,
}

/// What goes wrong with a task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TaskTrouble {
    Fails {
        after: Duration,
        fault: Fault,
    },
    Lasts(Duration),
    NeverEnds,
    /// Its information cannot be made sense of.
    Garbage,
}

impl CloudTrouble for VCenterTrouble {
    const WORDS: &'static str = "`fault KIND`, `task fault KIND after TIME`, `task lasts TIME`, \
                                 `task never ends`, `task garbage`, `expire sessions`, `all missing`";

    const POSSIBLE: &'static str = "REST paths know no faults but `http STATUS`, tasks are begun \
                                    by methods that end in `_Task`, and `all missing` is an answer \
                                    to RetrievePropertiesEx";

    fn read<'a, 'w>(words: &'a [&'w str]) -> Result<Option<(Self, &'a [&'w str])>, String> {
        script::read(words)
    }

    /// Whether the trouble makes sense for a method, or for a verb and a path.
    fn can_happen_to(&self, call: &str) -> bool {
        match self {
            Self::Fault(_) => !call.contains('/'),
            Self::Task(_) => call.ends_with("_Task"),
            Self::AllMissing => call == "RetrievePropertiesEx",
            Self::ExpireSessions => true,
        }
    }
}
