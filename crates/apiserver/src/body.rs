//! Bodies of answers: whole ones, lists that are written as they are sent, and watches.

use std::{
    collections::VecDeque,
    fmt, io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::stream::BoxStream;
use http_body::Frame;
use serde_json::Value;

use crate::object::Object;

/// How much of a list is written at a time. Large enough to be cheap per byte, small enough that
/// a list of a hundred thousand pods never exists twice in memory.
const CHUNK: usize = 256 * 1024;

/// The body of an answer.
pub struct Body(Inner);

enum Inner {
    Chunks(VecDeque<Bytes>),
    List(ListWriter),
    Stream(BoxStream<'static, io::Result<Bytes>>),
}

impl Body {
    /// A body that is all there.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Inner::Chunks(VecDeque::from([bytes.into()])))
    }

    /// A body that comes piece by piece, such as a watch.
    pub fn stream(pieces: BoxStream<'static, io::Result<Bytes>>) -> Self {
        Self(Inner::Stream(pieces))
    }

    pub(crate) fn list(list: ListWriter) -> Self {
        Self(Inner::List(list))
    }

    /// The pieces of the body, for wrappers.
    pub fn into_stream(self) -> BoxStream<'static, io::Result<Bytes>> {
        match self.0 {
            Inner::Stream(pieces) => pieces,
            Inner::Chunks(chunks) => {
                Box::pin(futures_util::stream::iter(chunks.into_iter().map(Ok)))
            }
            Inner::List(list) => Box::pin(futures_util::stream::iter(list.map(Ok))),
        }
    }

    /// The same body in YAML. A watch stays what it is: there is no YAML for an endless list.
    pub(crate) fn into_yaml(self) -> Self {
        let json: Vec<u8> = match self.0 {
            Inner::Chunks(chunks) => chunks.into_iter().flatten().collect(),
            Inner::List(list) => list.flatten().collect(),
            Inner::Stream(_) => return self,
        };
        let value: Value = serde_json::from_slice(&json).unwrap_or_default();
        Self::whole(serde_saphyr::to_string(&value).unwrap_or_default())
    }

    /// Whether it goes on until the caller ends it.
    pub fn is_watch(&self) -> bool {
        matches!(self.0, Inner::Stream(_))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut self.0 {
            Inner::Chunks(chunks) => Poll::Ready(chunks.pop_front().map(|b| Ok(Frame::data(b)))),
            Inner::List(list) => Poll::Ready(list.next().map(|b| Ok(Frame::data(b)))),
            Inner::Stream(pieces) => {
                pieces.as_mut().poll_next(cx).map(|piece| piece.map(|b| b.map(Frame::data)))
            }
        }
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match &self.0 {
            Inner::Chunks(chunks) => {
                http_body::SizeHint::with_exact(chunks.iter().map(|b| b.len() as u64).sum())
            }
            Inner::List(_) | Inner::Stream(_) => http_body::SizeHint::default(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Inner::Chunks(_) => "Body",
            Inner::List(_) => "Body of a list",
            Inner::Stream(_) => "Body of a watch",
        })
    }
}

/// Writes a list around objects that are stored as JSON already.
pub(crate) struct ListWriter {
    /// What stands before the first object, up to and including `"items":[`.
    pub(crate) head: Bytes,
    /// What every object begins with, such as its kind, in place of its `{`.
    pub(crate) item_prefix: Bytes,
    /// The objects.
    pub(crate) objects: std::vec::IntoIter<Arc<Object>>,
    /// What has been written so far.
    pub(crate) progress: ListProgress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListProgress {
    Head,
    FirstItem,
    Items,
    Done,
}

impl Iterator for ListWriter {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.progress == ListProgress::Done {
            return None;
        }
        let mut chunk = BytesMut::with_capacity(4096);
        if self.progress == ListProgress::Head {
            chunk.put_slice(&self.head);
            self.progress = ListProgress::FirstItem;
        }
        while chunk.len() < CHUNK {
            let Some(object) = self.objects.next() else {
                chunk.put_slice(b"]}\n");
                self.progress = ListProgress::Done;
                break;
            };
            if self.progress == ListProgress::Items {
                chunk.put_u8(b',');
            }
            self.progress = ListProgress::Items;
            chunk.put_slice(&self.item_prefix);
            chunk.put_slice(&object.json[1..]);
        }
        Some(chunk.freeze())
    }
}
