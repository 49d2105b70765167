//! The client: queries, calls, and their session.

mod keep;
mod login;
mod questions;

use std::{
    fmt::{self, Debug, Formatter},
    sync::Arc,
    time::Duration,
};

use http::HeaderValue;
use joiner_clock::Clock;
use joiner_line::{Account, Patience, retry, session::Shared};
pub(crate) use keep::forgotten;
pub use questions::Uuid;
pub(crate) use questions::shared;
use tokio::sync::OnceCell;

use crate::{
    Method, MoRef, ServiceContent, Tags, Task, TaskFailed, TaskResult, Transport, VimError,
    VimSettings,
    soap::{Answer, Call},
    tags::RestSession,
    task::Waiter,
    watch::Inventory,
    wire::Wire,
};

/// A vCenter to ask. Cheap to clone; all clones share one session.
#[derive(Clone)]
pub struct Vim(Arc<Inner>);

struct Inner {
    wire: Wire,
    /// The references of the services; read once.
    content: OnceCell<Arc<ServiceContent>>,
    session: Shared<SoapSession, VimError>,
    rest: Shared<RestSession, VimError>,
    /// All sessions share it: their logins count against the same account.
    account: Account,
    waiter: Waiter,
}

/// A session of SOAP calls.
pub(crate) struct SoapSession {
    cookie: HeaderValue,
    /// The account's name as the server knows it.
    user: String,
}

/// A session for calls. Objects of one session, such as views, do not exist in another.
#[derive(Clone)]
pub(crate) struct Seat {
    vim: Vim,
    session: Arc<SoapSession>,
    content: Arc<ServiceContent>,
}

impl Vim {
    /// A client without a session.
    pub fn new(settings: VimSettings, transport: Arc<dyn Transport>, clock: Clock) -> Self {
        let account = Account::new(Arc::clone(&settings.credentials), clock.clone());
        Self(Arc::new(Inner {
            wire: Wire::new(settings, transport, clock),
            content: OnceCell::new(),
            session: Shared::default(),
            rest: Shared::default(),
            account,
            waiter: Waiter::default(),
        }))
    }

    /// Tags, on the same credentials and limits.
    pub fn tags(&self) -> Tags {
        Tags::new(self.clone())
    }

    /// Follows properties of all objects of a kind in a container and everything below it.
    /// Nothing is asked before the first [`Inventory::next`].
    pub fn watch(&self, container: &MoRef, kind: &str, paths: &[&str]) -> Inventory {
        Inventory::new(self.clone(), container.clone(), kind, paths)
    }

    /// Starts a task. Never repeated after an answer was lost: whether it runs is then unknown.
    pub async fn start(&self, object: &MoRef, method: Method) -> Result<Task, VimError> {
        let call = Call::new(object, method.name(), |xml| method.write(xml));
        let call = &call;
        let started = self.in_session(async |seat| seat.call(call).await?.reference()).await?;
        Ok(Task::new(started, method.name()))
    }

    /// Waits for a task. The time counts from when the task leaves the server's queue. Dropping the
    /// future leaves the task running.
    pub async fn wait(&self, task: &Task, limit: Duration) -> Result<TaskResult, TaskFailed> {
        self.0.waiter.wait(self, task, limit).await
    }

    /// Asks the server to give a task up. A task that cannot be, or is over, is a fault.
    pub async fn cancel(&self, task: &Task) -> Result<(), VimError> {
        let call = Call::new(&task.reference, "CancelTask", |_| {});
        let call = &call;
        self.in_session(async |seat| seat.call(call).await).await.map(drop)
    }

    /// Asks a guest operating system to shut down; returns before it does.
    pub async fn shutdown_guest(&self, instance: &MoRef) -> Result<(), VimError> {
        let call = Call::new(instance, "ShutdownGuest", |_| {});
        let call = &call;
        self.in_session(async |seat| seat.call(call).await).await.map(drop)
    }

    /// A session to make calls in, new where there is none.
    pub(crate) async fn seat(&self) -> Result<Seat, VimError> {
        let content = self.service_content().await?;
        let session = self.0.session.get(self.login(&content)).await?;
        Ok(Seat { vim: self.clone(), session, content })
    }

    /// Does some work in a session; if the session has ended, once more in a new one. A call that is
    /// refused without a session had no effect.
    pub(crate) async fn in_session<T, F>(&self, work: impl Fn(Seat) -> F) -> Result<T, VimError>
    where
        F: Future<Output = Result<T, VimError>>,
    {
        let seat = self.seat().await?;
        match work(seat.clone()).await {
            Err(error) if error.session_ended() => {
                tracing::info!("the session in vCenter is over; a new one is begun");
                seat.ended();
                let seat = self.seat().await?;
                let result = work(seat.clone()).await;
                if result.as_ref().is_err_and(VimError::session_ended) {
                    seat.ended();
                }
                result
            }
            result => result,
        }
    }

    /// Makes a read-only query in a session, and repeats it while errors may be transient.
    pub(crate) async fn asked_in_session<T, F>(
        &self,
        question: impl Fn(Seat) -> F,
    ) -> Result<T, VimError>
    where
        F: Future<Output = Result<T, VimError>>,
    {
        self.asked(|| self.in_session(&question)).await
    }

    /// Makes a read-only query, and repeats it while errors may be transient.
    pub(crate) async fn asked<T, F>(&self, question: impl FnMut() -> F) -> Result<T, VimError>
    where
        F: Future<Output = Result<T, VimError>>,
    {
        let patience = Patience::of(self.settings().patience);
        retry::asked(self.clock(), &patience, "vCenter", VimError::passes, question).await
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.0.wire.clock
    }

    pub(crate) fn settings(&self) -> &VimSettings {
        &self.0.wire.settings
    }

    pub(crate) fn wire(&self) -> &Wire {
        &self.0.wire
    }

    pub(crate) fn rest(&self) -> &Shared<RestSession, VimError> {
        &self.0.rest
    }

    pub(crate) fn account(&self) -> &Account {
        &self.0.account
    }
}

impl Seat {
    /// Makes a call.
    pub(crate) async fn call(&self, call: &Call) -> Result<Answer, VimError> {
        self.vim.wire().call(Some(&self.session.cookie), call).await
    }

    /// Makes a long poll. It is answered on the first change, at the latest after the configured
    /// time.
    pub(crate) async fn long_call(&self, call: &Call) -> Result<Answer, VimError> {
        /// How long an answer may take after the server has stopped waiting.
        const AFTERWARDS: Duration = Duration::from_secs(30);
        let patience = self.vim.settings().long_poll + AFTERWARDS;
        self.vim.wire().call_within(Some(&self.session.cookie), call, patience).await
    }

    /// Where everything is found.
    pub(crate) fn content(&self) -> &ServiceContent {
        &self.content
    }

    pub(crate) fn clock(&self) -> &Clock {
        self.vim.clock()
    }

    /// How long the server may wait for something to tell.
    pub(crate) fn long_poll(&self) -> Duration {
        self.vim.settings().long_poll
    }

    /// The account's name as the server knows it.
    pub(crate) fn user(&self) -> &str {
        &self.session.user
    }

    /// Takes note that the session is over.
    pub(crate) fn ended(&self) {
        self.vim.0.session.ended(&self.session);
    }
}

impl Debug for Vim {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vim").field("settings", self.settings()).finish_non_exhaustive()
    }
}

impl Debug for Seat {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("user", &self.session.user).finish_non_exhaustive()
    }
}

impl Debug for SoapSession {
    /// Omits the cookie, because it grants access like a password.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("SoapSession").field("user", &self.user).finish_non_exhaustive()
    }
}
