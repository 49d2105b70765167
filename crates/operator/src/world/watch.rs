//! List and watch of one kind.
//!
//! Objects are passed on as text, so one unreadable object does not block the others. It also
//! bounds memory: of a page of hundreds, only one object is decoded in full at a time.

use std::{io, time::Duration};

use futures_util::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use joiner_clock::deadline;
use kube::{
    Client,
    api::{ListParams, WatchParams},
    core::{self, Request},
};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::text::{Head, Text};

/// The page size of a list; it bounds the memory that a list takes. It is client-go's default page
/// size.
pub(crate) const PAGE_SIZE: u32 = 500;
/// The `timeoutSeconds` of a watch: the API server ends it after this time. It is the default of
/// kube's watcher.
const WATCH_SECONDS: u32 = 290;
/// How long the API server may take to answer a list, or to start a watch. The value was chosen and
/// not measured separately.
const PATIENCE: Duration = Duration::from_mins(1);
/// A watch that lasts this much longer than its timeout is treated as broken. The value was chosen
/// and not measured separately.
const MARGIN: Duration = Duration::from_secs(30);
/// The buffer capacity that is kept between events of a watch. The value was chosen and not
/// measured separately.
const ROOM_KEPT: usize = 64 * 1024;

/// An event, in this order: the objects of the list, then the changes since the list.
#[derive(Debug)]
pub(super) enum Told<'t> {
    /// A list starts; objects that are missing from it are gone.
    ListBegins,
    /// An object of the list.
    Listed(Text<'t>),
    /// The list is complete.
    ListEnds,
    /// An object was created or changed.
    Changed(Text<'t>),
    /// An object was deleted.
    Gone(Head),
}

/// Why a list or a watch ended.
#[derive(Debug)]
pub(super) enum Failure {
    /// A list failed.
    List(kube::Error),
    /// A watch could not start.
    Watch(kube::Error),
    /// The connection of a running watch broke.
    Cut(io::Error),
    /// The API server ended a watch with this status.
    Ended(Box<core::Status>),
    /// The answer is not valid for the Kubernetes API.
    Nonsense {
        /// The verb of the request.
        verb: &'static str,
        /// The problem with the answer.
        problem: String,
    },
}

/// The list and watch of one kind.
pub(super) struct Watch {
    client: Client,
    /// The path of the kind's collection.
    path: String,
    /// The resource version to resume from; none before a list.
    version: Option<String>,
}

impl Watch {
    pub(super) fn new(client: Client, path: String) -> Self {
        Self { client, path, version: None }
    }

    /// Passes on events until there is a failure. The next call resumes from the last version.
    pub(super) async fn follow(&mut self, tell: &mut (dyn FnMut(Told<'_>) + Send)) -> Failure {
        loop {
            let done = match self.version.take() {
                None => self.list(tell).await,
                Some(version) => self.watch(version, tell).await,
            };
            if let Err(failure) = done {
                return failure;
            }
        }
    }

    async fn list(&mut self, tell: &mut (dyn FnMut(Told<'_>) + Send)) -> Result<(), Failure> {
        let mut params = ListParams::default().limit(PAGE_SIZE);
        loop {
            let bytes = self.page(&params).await?;
            let page: Page<'_> =
                serde_json::from_slice(&bytes).map_err(|error| nonsense("list", &error))?;
            if params.continue_token.is_none() {
                tell(Told::ListBegins);
            }
            for item in page.items.into_iter().flatten() {
                tell(Told::Listed(Text::of(item)));
            }
            match page.metadata.token.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => {
                    self.version = Some(page.metadata.resource_version);
                    tell(Told::ListEnds);
                    return Ok(());
                }
            }
        }
    }

    async fn page(&self, params: &ListParams) -> Result<Vec<u8>, Failure> {
        let request = Request::new(&self.path).list(params);
        let request = request.map_err(|error| Failure::List(kube::Error::BuildRequest(error)))?;
        let whole = async {
            let mut answer = self.client.request_stream(request).await?;
            let mut bytes = Vec::new();
            answer.read_to_end(&mut bytes).await.map_err(kube::Error::ReadEvents)?;
            Ok(bytes)
        };
        in_time(whole).await.map_err(Failure::List)
    }

    /// Passes on changes until the API server ends the watch, as it does every few minutes.
    async fn watch(
        &mut self,
        version: String,
        tell: &mut (dyn FnMut(Told<'_>) + Send),
    ) -> Result<(), Failure> {
        let params = WatchParams::default().timeout(WATCH_SECONDS);
        let request = Request::new(&self.path).watch(&params, &version);
        let request = request.map_err(|error| Failure::Watch(kube::Error::BuildRequest(error)))?;
        // The start of a watch is confirmed only by its first change. So a failed start drops
        // `version`, and a list follows that also shows missed changes.
        let begun = in_time(self.client.request_stream(request)).await;
        let mut lines = begun.map_err(Failure::Watch)?;
        self.version = Some(version);
        let mut line = Vec::new();
        while next_line(&mut lines, &mut line).await.map_err(Failure::Cut)? {
            let event = serde_json::from_slice(&line).map_err(|error| nonsense("watch", &error));
            self.take(event?, tell)?;
            line.clear();
            line.shrink_to(ROOM_KEPT);
        }
        Ok(())
    }

    fn take(
        &mut self,
        event: Event<'_>,
        tell: &mut (dyn FnMut(Told<'_>) + Send),
    ) -> Result<(), Failure> {
        if event.type_ == "ERROR" {
            let status = serde_json::from_str::<core::Status>(event.object.get());
            let status = status.map_err(|error| nonsense("watch", &error))?;
            if status.code == 410 {
                // The version is too old to resume from.
                self.version = None;
            }
            return Err(Failure::Ended(status.boxed()));
        }
        let text = Text::of(event.object);
        let version = text.head.resource_version.clone();
        match event.type_ {
            "BOOKMARK" => {}
            "DELETED" => tell(Told::Gone(text.head)),
            _ => tell(Told::Changed(text)),
        }
        if !version.is_empty() {
            self.version = Some(version);
        }
        Ok(())
    }
}

/// The answer, or a timeout.
async fn in_time<T>(answer: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
    deadline::until(|| Instant::now() + PATIENCE, answer).await.unwrap_or_else(|| {
        let late = format!("no answer within {} seconds", PATIENCE.as_secs());
        Err(kube::Error::ReadEvents(io::Error::new(io::ErrorKind::TimedOut, late)))
    })
}

/// Reads the next line; returns whether there was one. A watch that is silent past its timeout has
/// ended, whatever the connection reports.
async fn next_line(
    lines: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> io::Result<bool> {
    let patience = Duration::from_secs(u64::from(WATCH_SECONDS)) + MARGIN;
    match tokio::time::timeout(patience, lines.read_until(b'\n', line)).await {
        // The next watch repeats an event that was cut off in the middle of a line.
        Ok(read) => Ok(read? > 0 && line.ends_with(b"\n")),
        Err(_) => Ok(false),
    }
}

fn nonsense(verb: &'static str, error: &serde_json::Error) -> Failure {
    Failure::Nonsense { verb, problem: error.to_string() }
}

#[derive(Deserialize)]
struct Page<'t> {
    metadata: PageMetadata,
    #[serde(borrow)]
    items: Option<Vec<&'t RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMetadata {
    resource_version: String,
    #[serde(rename = "continue")]
    token: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
struct Event<'t> {
    #[serde(rename = "type")]
    type_: &'t str,
    #[serde(borrow)]
    object: &'t RawValue,
}
