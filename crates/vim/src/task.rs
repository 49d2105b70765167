//! Tasks: work that a server does after it has accepted a call.

mod info;
mod waiter;

use std::sync::Arc;

use tokio::sync::watch;

pub(crate) use waiter::Waiter;

use crate::{Element, Fault, MoRef, VimError};

/// A task of a server.
#[derive(Debug, Clone)]
pub struct Task {
    /// The task itself.
    pub reference: MoRef,
    /// What kind of task: the name of the call that started it.
    pub kind: Arc<str>,
    state: Arc<watch::Sender<TaskState>>,
}

/// What is known of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// Nothing yet, or nothing any more: the server cannot be asked.
    Unknown,
    /// It waits for its turn in the server.
    Queued,
    /// It is under way.
    Running {
        /// How far it is, in percent.
        progress: Option<u8>,
    },
    /// It is done.
    Success,
    /// It has failed.
    Error,
}

/// The result of a successful task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskResult {
    /// What the task returned: the new instance of a clone.
    pub result: Option<Element>,
}

impl TaskResult {
    /// The object that the task made.
    pub fn object(&self) -> Option<MoRef> {
        self.result.as_ref()?.reference()
    }
}

/// Why a task has no result. All but the first leave unknown whether it has an effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskFailed {
    /// The task ended in a fault.
    #[error("{0}")]
    Fault(Fault),
    /// The time is over and the task is not.
    #[error("the task is not over in time ({0:?})")]
    Deadline(TaskState),
    /// The server does not know the task any more: it ended some time ago, or the server forgot.
    #[error("vCenter does not know the task any more")]
    Disappeared,
    /// What the server says about this task cannot be read.
    #[error("what vCenter says about the task cannot be read: {0}")]
    Unreadable(String),
    /// The server cannot be asked, and will not be soon.
    #[error("{0}")]
    Vim(VimError),
}

impl Task {
    /// A task that was started earlier, perhaps by another process.
    pub fn new(reference: MoRef, kind: &str) -> Self {
        let state = Arc::new(watch::Sender::new(TaskState::Unknown));
        Self { reference, kind: kind.into(), state }
    }

    /// The known state of the task; kept up to date during a [wait](crate::Vim::wait).
    pub fn state(&self) -> TaskState {
        *self.state.borrow()
    }

    /// The same, to be told of changes.
    pub fn changes(&self) -> watch::Receiver<TaskState> {
        self.state.subscribe()
    }
}
