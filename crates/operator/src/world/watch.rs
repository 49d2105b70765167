//! What the API server tells of one kind: a list, and from then on every change.
//!
//! Objects stay the text they came as, so that one that cannot be read stands in nobody's way, and
//! so that of a page of hundreds never more than one is decoded and not yet made small.

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

/// How many objects a list asks for at once; it bounds the memory that a list takes.
pub(crate) const PAGE_SIZE: u32 = 500;
/// How long the API server lets a watch go on.
const WATCH_SECONDS: u32 = 290;
/// How long the API server may take to answer a list, or to begin a watch.
const PATIENCE: Duration = Duration::from_mins(1);
/// How much later than it should end a watch is believed to be dead.
const MARGIN: Duration = Duration::from_secs(30);
/// How much room is kept for the next event of a watch.
const ROOM_KEPT: usize = 64 * 1024;

/// What is told, in this order: what was there when the list was made, and what happened since.
#[derive(Debug)]
pub(super) enum Told<'t> {
    /// A list begins; objects of which it says nothing are gone.
    ListBegins,
    /// An object of the list.
    Listed(Text<'t>),
    /// That was the whole list.
    ListEnds,
    /// An object is new or has changed.
    Changed(Text<'t>),
    /// An object is gone.
    Gone(Head),
}

/// Why no more is told.
#[derive(Debug)]
pub(super) enum Failure {
    /// A list could not be had.
    List(kube::Error),
    /// A watch could not be begun.
    Watch(kube::Error),
    /// A watch had begun, and its connection broke.
    Cut(io::Error),
    /// The API server has ended a watch with these words.
    Ended(Box<core::Status>),
    /// What arrived is no answer of an API server.
    Nonsense {
        /// To what it should have been an answer.
        verb: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

/// A kind that is listed and watched.
pub(super) struct Watch {
    client: Client,
    /// Where all objects of the kind are.
    path: String,
    /// What was told already, as the API server calls it; nothing before a list.
    version: Option<String>,
}

impl Watch {
    pub(super) fn new(client: Client, path: String) -> Self {
        Self { client, path, version: None }
    }

    /// Tells whatever there is to tell, until something goes wrong. Afterwards it goes on from
    /// there.
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

    /// Tells of changes until the API server ends the watch, as it does every few minutes.
    async fn watch(
        &mut self,
        version: String,
        tell: &mut (dyn FnMut(Told<'_>) + Send),
    ) -> Result<(), Failure> {
        let params = WatchParams::default().timeout(WATCH_SECONDS);
        let request = Request::new(&self.path).watch(&params, &version);
        let request = request.map_err(|error| Failure::Watch(kube::Error::BuildRequest(error)))?;
        // That a watch has begun at last is only known after something has changed. So after a
        // failure there is a list first, which also tells what was missed: `version` is not kept.
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
                // What was told is too long ago to be continued from there.
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

/// The answer, if it comes in time.
async fn in_time<T>(answer: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
    deadline::until(|| Instant::now() + PATIENCE, answer).await.unwrap_or_else(|| {
        let late = format!("no answer within {} seconds", PATIENCE.as_secs());
        Err(kube::Error::ReadEvents(io::Error::new(io::ErrorKind::TimedOut, late)))
    })
}

/// Reads the next line; answers whether there was one. A watch that is silent for longer than it may
/// last is over, whatever the connection says.
async fn next_line(
    lines: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> io::Result<bool> {
    let patience = Duration::from_secs(u64::from(WATCH_SECONDS)) + MARGIN;
    match tokio::time::timeout(patience, lines.read_until(b'\n', line)).await {
        // What breaks off in the middle of a line is told again by the next watch.
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
