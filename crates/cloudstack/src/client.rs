//! The client of CloudStack's API: signed requests, lists of any length, jobs.
//!
//! Requests go through a [`Transport`], time through a [`joiner_clock::Clock`], so that the same
//! client talks to a management server over HTTPS and to one inside a test, in virtual time. It
//! knows nothing of Kubernetes and of classes.

mod answer;
pub mod api;
mod class;
mod command;
mod error;
mod job;
mod limiter;
pub mod objects;
mod paging;
pub mod requests;
mod settings;
mod signature;
mod waiter;
mod wire;

use std::{
    fmt::{self, Debug, Formatter},
    sync::Arc,
    time::Duration,
};

use jiff::SignedDuration;
use joiner_clock::Clock;
use joiner_line::Transport;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use self::{
    class::ErrorClass,
    command::{Api, Command, Scope, Scoped},
    error::{ClientError, Refusal},
    job::{Job, JobFailed, Submitted},
    paging::Listed,
    settings::{ClientSettings, address},
    signature::SignatureVersion,
};
use self::{
    objects::Capabilities,
    paging::{PageSize, list, read},
    waiter::Waiter,
    wire::Wire,
};

/// A management server to ask. Cheap to clone; all clones share keys, limits and the waiting for
/// jobs.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    wire: Wire,
    page_size: PageSize,
    waiter: Waiter,
}

impl Client {
    /// A client that has not asked anything yet.
    pub fn new(settings: ClientSettings, transport: Arc<dyn Transport>, clock: Clock) -> Self {
        Self(Arc::new(Inner {
            wire: Wire::new(settings, transport, clock),
            page_size: PageSize::default(),
            waiter: Waiter::default(),
        }))
    }

    /// Reads all of a list: every page, or an error.
    pub async fn list<T: Listed>(&self, command: Command) -> Result<Vec<T>, ClientError> {
        let command = command.within(&self.settings().scope);
        list(&self.0.wire, &self.0.page_size, &command).await
    }

    /// Does something that is done when it is answered. Never repeated where it may have been done.
    pub async fn call(&self, command: Command) -> Result<Value, ClientError> {
        self.0.wire.answer(&command.within(&self.settings().scope)).await
    }

    /// Begins something. Never repeated where it may have begun: whether it has is then unknown.
    pub async fn submit(&self, command: Command) -> Result<Submitted, ClientError> {
        let command = command.within(&self.settings().scope);
        let answer = self.0.wire.answer(&command).await?;
        let text = |field: &str| answer[field].as_str().map(str::to_owned);
        let name = command.api.name;
        let no_job = || ClientError::Malformed(format!("{name}: no jobid"));
        Ok(Submitted { job: text("jobid").ok_or_else(no_job)?, command: name, object: text("id") })
    }

    /// What the server says of a job.
    pub async fn job(&self, id: &str) -> Result<Job, ClientError> {
        let command = Command::new(api::QUERY_ASYNC_JOB_RESULT).with("jobid", id);
        let answer = self.0.wire.answer(&command).await?;
        Job::read(&command, &answer)
    }

    /// Waits for a job, for so long at most. A caller that stops waiting does not stop the job.
    pub async fn wait(&self, of: &Submitted, limit: Duration) -> Result<Value, JobFailed> {
        self.0.waiter.wait(self, of, limit).await
    }

    /// What the server can do, and what it allows. Its limit on requests is kept from now on.
    pub async fn capabilities(&self) -> Result<Capabilities, ClientError> {
        let command = Command::new(api::LIST_CAPABILITIES);
        let mut answer = self.0.wire.answer(&command).await?;
        let capabilities: Capabilities = read(&command, answer["capability"].take())?;
        if let (Some(max), Some(seconds)) =
            (capabilities.api_limit_max, capabilities.api_limit_interval)
        {
            let number = |own| u32::try_from(own).unwrap_or_default();
            self.0.wire.limiter.learn(number(max), number(seconds));
        }
        Ok(capabilities)
    }

    /// How far the server's clock is ahead of ours, as its last answer said.
    pub fn skew(&self) -> Option<SignedDuration> {
        self.0.wire.skew()
    }

    /// Whose objects are meant.
    pub fn scope(&self) -> &Scope {
        &self.settings().scope
    }

    pub(crate) fn clock(&self) -> &Clock {
        self.0.wire.clock()
    }

    pub(crate) fn settings(&self) -> &ClientSettings {
        &self.0.wire.settings
    }

    fn wire(&self) -> &Wire {
        &self.0.wire
    }

    /// The time between two requests.
    fn interval(&self) -> Duration {
        self.0.wire.limiter.interval()
    }
}

impl Debug for Client {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("settings", self.settings()).finish_non_exhaustive()
    }
}

/// Reads the object that a job or a command made, under the name that answers have for it.
pub fn made<T: DeserializeOwned>(mut result: Value, object: &str) -> Result<T, ClientError> {
    serde_path_to_error::deserialize(result[object].take())
        .map_err(|error| ClientError::Malformed(format!("{object}: {error}")))
}
